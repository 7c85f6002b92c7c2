//! Retries: the schedule, `Retry-After`, and the last attempt.

use super::{
    create_endpoint, detail, id, save_folder, start, wait_for_delivery, webhook, webhook_json,
};
use crate::on_both_engines;
use groma_testkit::{Engine, Receiver, receiver::Reply, server::OWNER, server::WORKSPACE};
use serde_json::Value;

/// The delays of the schedule in seconds.
const DELAYS: [f64; 10] =
    [5.0, 60.0, 300.0, 1_800.0, 7_200.0, 18_000.0, 36_000.0, 50_400.0, 72_000.0, 86_400.0];

/// The seconds from the last attempt to the next.
#[track_caller]
fn delay_of(found: &Value) -> f64 {
    let moment = |value: &Value| {
        value.as_str().unwrap().parse::<jiff::Timestamp>().unwrap().as_millisecond() as f64
            / 1_000.0
    };
    let last = found["tried"].as_array().unwrap().last().unwrap();
    moment(&found["dueAt"]) - moment(&last["at"])
}

on_both_engines! {
    failing_delivery_follows_the_schedule_with_an_identical_body
    closed_connection_is_a_failed_attempt
    renaming_a_person_does_not_change_a_queued_body
    longer_retry_after_delays_the_next_attempt
    redirect_is_a_failure_and_is_not_followed
    every_attempt_is_stored_with_its_response
}

fn failing_delivery_follows_the_schedule_with_an_identical_body(engine: Engine) {
    let server = start(engine);
    let receiver = Receiver::with_handler(|_| Reply::status(500));
    let endpoint = create_endpoint(&server, &receiver.url("/"), &[]);
    save_folder(&server, "F", "x");
    let delivery = receiver.wait_for(1)[0].id();
    for (tries, delay) in (1..).zip(DELAYS) {
        let found = wait_for_delivery(&server, &delivery, |found| {
            found["state"] == "waiting" && found["attempts"] == tries
        });
        let wait = delay_of(&found);
        // The attempt itself takes some time too.
        assert!((delay * 0.9 - 0.1..delay * 1.1 + 2.0).contains(&wait), "{tries}: {wait} {found}");
        // Redelivery makes the attempt due now, so the test does not wait for it.
        assert_eq!(webhook(&server, &["redeliver", &delivery]).expect_success(), "1");
    }
    let found = wait_for_delivery(&server, &delivery, |found| found["state"] == "failed");
    assert_eq!((&found["attempts"], &found["dueAt"]), (&Value::from(11), &Value::Null));
    let requests = receiver.wait_for(11);
    assert!(requests.iter().all(|request| request.body == requests[0].body));
    assert_eq!(found["body"].as_str().unwrap().as_bytes(), requests[0].body);
    let listed = webhook_json(&server, &["deliveries", id(&endpoint), "--state", "failed"]);
    assert_eq!(listed[0]["id"], delivery.as_str());
    // Redelivery starts the schedule again.
    receiver.set_handler(|_| Reply::status(204));
    let since = ["redeliver", "--endpoint", id(&endpoint), "--failed-since", "1h"];
    assert_eq!(webhook(&server, &since).expect_success(), "1");
    let found = wait_for_delivery(&server, &delivery, |found| found["state"] == "delivered");
    assert_eq!((&found["attempts"], &found["lastStatus"]), (&Value::from(12), &Value::from(204)));
    assert_eq!(receiver.wait_for(12)[11].body, requests[0].body);
    assert_eq!(webhook(&server, &since).expect_success(), "0");
}

fn closed_connection_is_a_failed_attempt(engine: Engine) {
    let server = start(engine);
    let receiver = Receiver::with_handler(|_| Reply::Close);
    create_endpoint(&server, &receiver.url("/"), &[]);
    save_folder(&server, "F", "x");
    receiver.wait_for(1);
    let delivery = receiver.requests()[0].id();
    let found = wait_for_delivery(&server, &delivery, |found| {
        found["attempts"] == 1 && found["state"] == "waiting"
    });
    let error = found["tried"][0]["error"].as_str().unwrap();
    assert!(error.starts_with("invalid HTTP response"), "{error}");
}

fn renaming_a_person_does_not_change_a_queued_body(engine: Engine) {
    let server = start(engine);
    let receiver = Receiver::with_handler(|_| Reply::status(503));
    create_endpoint(&server, &receiver.url("/"), &[]);
    let owner = OWNER;
    server.import("folders", &[serde_json::json!({ "name": "x", "owner": owner })]);
    let first = receiver.wait_for(1).remove(0);
    wait_for_delivery(&server, &first.id(), |found| found["attempts"] == 1);
    let rename =
        ["user", "add", owner, "--workspace", WORKSPACE, "--role", "owner", "--name", "Renamed"];
    server.run(&rename).expect_success();
    webhook(&server, &["redeliver", &first.id()]).expect_success();
    let requests = receiver.wait_for(2);
    assert_eq!(requests[1].body, first.body);
    assert_eq!(requests[1].header("x-service-signature"), first.header("x-service-signature"));
}

fn longer_retry_after_delays_the_next_attempt(engine: Engine) {
    let server = start(engine);
    let receiver = Receiver::with_handler(|request| {
        let wait = request.path.trim_start_matches('/').replace('_', " ");
        Reply::Response(503, vec![("Retry-After", wait)], "later".to_owned())
    });
    let soon = jiff::Timestamp::now() + jiff::SignedDuration::from_hours(3);
    let date = soon.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
    for (path, least, most) in [
        ("/1".to_owned(), 4.0, 8.0),
        ("/3600".to_owned(), 3_599.0, 3_605.0),
        ("/999999".to_owned(), 86_399.0, 86_405.0),
        (format!("/{}", date.replace(' ', "_")), 10_700.0, 10_805.0),
    ] {
        let endpoint =
            create_endpoint(&server, &receiver.url(&path), &["--events", "folder.created"]);
        let count = receiver.requests().len();
        save_folder(&server, &format!("F{count}"), "x");
        let delivery = receiver.wait_for(count + 1)[count].id();
        let found = wait_for_delivery(&server, &delivery, |found| {
            found["attempts"] == 1 && found["state"] == "waiting"
        });
        let wait = delay_of(&found);
        assert!((least..most).contains(&wait), "{path}: {wait}");
        webhook(&server, &["delete", id(&endpoint)]).expect_success();
    }
}

fn redirect_is_a_failure_and_is_not_followed(engine: Engine) {
    let server = start(engine);
    let other = Receiver::start();
    let elsewhere = other.url("/stolen");
    let receiver = Receiver::with_handler(move |_| {
        Reply::Response(302, vec![("Location", elsewhere.clone())], String::new())
    });
    create_endpoint(&server, &receiver.url("/"), &[]);
    save_folder(&server, "F", "x");
    let delivery = receiver.wait_for(1)[0].id();
    let found = wait_for_delivery(&server, &delivery, |found| {
        found["attempts"] == 1 && found["state"] == "waiting"
    });
    assert_eq!(
        (&found["lastStatus"], &found["lastError"]),
        (&Value::from(302), &Value::from("redirects are not followed"))
    );
    assert_eq!(other.connections(), 0);
}

fn every_attempt_is_stored_with_its_response(engine: Engine) {
    let server = start(engine);
    let receiver = Receiver::with_handler(|_| Reply::with_body(418, "short and stout"));
    create_endpoint(&server, &receiver.url("/"), &[]);
    save_folder(&server, "F", "x");
    let delivery = receiver.wait_for(1)[0].id();
    wait_for_delivery(&server, &delivery, |found| {
        found["attempts"] == 1 && found["state"] == "waiting"
    });
    receiver.set_handler(|_| Reply::with_body(200, "at last"));
    webhook(&server, &["redeliver", &delivery]).expect_success();
    let found = wait_for_delivery(&server, &delivery, |found| found["state"] == "delivered");
    let tried = found["tried"].as_array().unwrap();
    let attempts: Vec<_> = tried
        .iter()
        .map(|a| (a["no"].as_u64(), a["status"].as_u64(), a["answer"].as_str()))
        .collect();
    assert_eq!(
        attempts,
        [(Some(1), Some(418), Some("short and stout")), (Some(2), Some(200), Some("at last"))]
    );
    assert_eq!(tried[0]["error"], "received HTTP status 418");
    assert!(tried.iter().all(|attempt| attempt["millis"].is_u64()));
    // A successful delivery can be redelivered too, with the same id.
    webhook(&server, &["redeliver", &delivery]).expect_success();
    let requests = receiver.wait_for(3);
    assert!(
        requests.iter().all(|request| request.id() == delivery && request.body == requests[0].body)
    );
    assert_eq!(detail(&server, &delivery)["event"], "folder.created");
}
