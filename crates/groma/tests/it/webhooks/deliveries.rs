//! Trying again: the schedule, what a receiver may ask for, when it ends.

use super::{Receiver, Reply, change, create, detail, id, open, wait_for, webhook, webhook_json};
use crate::{office::WORKSPACE, on_both_engines};
use serde_json::Value;

/// How many seconds each wait is to be.
const DELAYS: [f64; 10] =
    [5.0, 60.0, 300.0, 1_800.0, 7_200.0, 18_000.0, 36_000.0, 50_400.0, 72_000.0, 86_400.0];

/// Seconds from the last attempt to the next.
#[track_caller]
fn wait_of(shown: &Value) -> f64 {
    let moment = |value: &Value| {
        value.as_str().unwrap().parse::<jiff::Timestamp>().unwrap().as_millisecond() as f64
            / 1_000.0
    };
    let last = shown["tried"].as_array().unwrap().last().unwrap();
    moment(&shown["dueAt"]) - moment(&last["at"])
}

on_both_engines! {
    fn a_failing_delivery_goes_along_the_whole_schedule_with_the_same_bytes(engine: Engine) {
        let office = open(engine);
        let receiver = Receiver::answering(|_| Reply::status(500));
        let endpoint = create(&office, &receiver.url("/"), &[]);
        change(&office, "F", "x");
        let delivery = receiver.wait_for(1)[0].id();
        for (tries, delay) in (1..).zip(DELAYS) {
            let shown = wait_for(&office, &delivery, |shown| {
                shown["state"] == "waiting" && shown["attempts"] == tries
            });
            let wait = wait_of(&shown);
            // The attempt itself takes a moment too.
            assert!((delay * 0.9 - 0.1..delay * 1.1 + 2.0).contains(&wait), "{tries}: {wait} {shown}");
            // Its time is moved to now instead of being waited for.
            assert_eq!(webhook(&office, &["redeliver", &delivery]).succeeds(), "1");
        }
        let shown = wait_for(&office, &delivery, |shown| shown["state"] == "failed");
        assert_eq!((&shown["attempts"], &shown["dueAt"]), (&Value::from(11), &Value::Null));
        let hits = receiver.wait_for(11);
        assert!(hits.iter().all(|hit| hit.body == hits[0].body));
        assert_eq!(shown["body"].as_str().unwrap().as_bytes(), hits[0].body);
        let listed = webhook_json(&office, &["deliveries", id(&endpoint), "--state", "failed"]);
        assert_eq!(listed[0]["id"], delivery.as_str());
        // Sent again, it begins anew.
        receiver.answer(|_| Reply::status(204));
        let since = ["redeliver", "--endpoint", id(&endpoint), "--failed-since", "1h"];
        assert_eq!(webhook(&office, &since).succeeds(), "1");
        let shown = wait_for(&office, &delivery, |shown| shown["state"] == "delivered");
        assert_eq!((&shown["attempts"], &shown["lastStatus"]), (&Value::from(12), &Value::from(204)));
        assert_eq!(receiver.wait_for(12)[11].body, hits[0].body);
        assert_eq!(webhook(&office, &since).succeeds(), "0");
    }

    fn the_first_wait_of_five_seconds_ends_by_itself(engine: Engine) {
        let office = open(engine);
        let receiver = Receiver::answering(|_| Reply::Reset);
        create(&office, &receiver.url("/"), &[]);
        change(&office, "F", "x");
        receiver.wait_for(1);
        receiver.answer(|_| Reply::status(200));
        let hits = receiver.wait_for(2);
        let shown = wait_for(&office, &hits[0].id(), |shown| shown["state"] == "delivered");
        assert_eq!(shown["attempts"], 2);
        let error = shown["tried"][0]["error"].as_str().unwrap();
        assert!(error.starts_with("no HTTP answer"), "{error}");
    }

    fn a_person_renamed_in_between_leaves_the_bytes_as_they_were(engine: Engine) {
        let office = open(engine);
        let receiver = Receiver::answering(|_| Reply::status(503));
        create(&office, &receiver.url("/"), &[]);
        let owner = crate::office::OWNER;
        office.import("folders", &[serde_json::json!({ "name": "x", "owner": owner })]);
        let first = receiver.wait_for(1).remove(0);
        wait_for(&office, &first.id(), |shown| shown["attempts"] == 1);
        let rename = ["user", "add", owner, "--workspace", WORKSPACE, "--role", "owner", "--name", "Renamed"];
        office.groma(&rename).succeeds();
        webhook(&office, &["redeliver", &first.id()]).succeeds();
        let hits = receiver.wait_for(2);
        assert_eq!(hits[1].body, first.body);
        assert_eq!(hits[1].header("x-service-signature"), first.header("x-service-signature"));
    }

    fn a_longer_retry_after_is_honoured(engine: Engine) {
        let office = open(engine);
        let receiver = Receiver::answering(|hit| {
            let wait = hit.path.trim_start_matches('/').replace('_', " ");
            Reply::Whole(503, vec![("Retry-After", wait)], "later")
        });
        let soon = jiff::Timestamp::now() + jiff::SignedDuration::from_hours(3);
        let date = soon.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
        for (path, least, most) in [
            ("/1".to_owned(), 4.0, 8.0),
            ("/3600".to_owned(), 3_599.0, 3_605.0),
            ("/999999".to_owned(), 86_399.0, 86_405.0),
            (format!("/{}", date.replace(' ', "_")), 10_700.0, 10_805.0),
        ] {
            let endpoint = create(&office, &receiver.url(&path), &["--events", "folder.created"]);
            let seen = receiver.hits().len();
            change(&office, &format!("F{seen}"), "x");
            let delivery = receiver.wait_for(seen + 1)[seen].id();
            let shown = wait_for(&office, &delivery, |shown| shown["attempts"] == 1 && shown["state"] == "waiting");
            let wait = wait_of(&shown);
            assert!((least..most).contains(&wait), "{path}: {wait}");
            webhook(&office, &["delete", id(&endpoint)]).succeeds();
        }
    }

    fn a_redirect_is_a_failure_and_is_not_followed(engine: Engine) {
        let office = open(engine);
        let other = Receiver::start();
        let elsewhere = other.url("/stolen");
        let receiver = Receiver::answering(move |_| Reply::Whole(302, vec![("Location", elsewhere.clone())], ""));
        create(&office, &receiver.url("/"), &[]);
        change(&office, "F", "x");
        let delivery = receiver.wait_for(1)[0].id();
        let shown = wait_for(&office, &delivery, |shown| shown["attempts"] == 1 && shown["state"] == "waiting");
        assert_eq!((&shown["lastStatus"], &shown["lastError"]), (&Value::from(302), &Value::from("redirects are not followed")));
        assert_eq!(other.connections(), 0);
    }

    fn every_attempt_is_kept_with_its_answer(engine: Engine) {
        let office = open(engine);
        let receiver = Receiver::answering(|_| Reply::Whole(418, vec![], "short and stout"));
        create(&office, &receiver.url("/"), &[]);
        change(&office, "F", "x");
        let delivery = receiver.wait_for(1)[0].id();
        wait_for(&office, &delivery, |shown| shown["attempts"] == 1 && shown["state"] == "waiting");
        receiver.answer(|_| Reply::Whole(200, vec![], "at last"));
        webhook(&office, &["redeliver", &delivery]).succeeds();
        let shown = wait_for(&office, &delivery, |shown| shown["state"] == "delivered");
        let tried = shown["tried"].as_array().unwrap();
        let told: Vec<_> = tried.iter().map(|a| (a["no"].as_u64(), a["status"].as_u64(), a["answer"].as_str())).collect();
        assert_eq!(told, [(Some(1), Some(418), Some("short and stout")), (Some(2), Some(200), Some("at last"))]);
        assert_eq!(tried[0]["error"], "answered 418");
        assert!(tried.iter().all(|attempt| attempt["millis"].is_u64()));
        // A delivered one can be sent again too, as the same delivery.
        webhook(&office, &["redeliver", &delivery]).succeeds();
        let hits = receiver.wait_for(3);
        assert!(hits.iter().all(|hit| hit.id() == delivery && hit.body == hits[0].body));
        assert_eq!(detail(&office, &delivery)["event"], "folder.created");
    }
}
