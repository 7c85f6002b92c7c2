//! Receivers that misbehave: endless, hanging and slow responses, and deleted endpoints.

use super::{
    create_endpoint, delete, event_names, id, save_folder, start, wait_for_delivery, webhook,
    webhook_json,
};
use crate::on_both_engines;
use groma_testkit::{Engine, Receiver, receiver::Reply, wait::PATIENCE, wait_until};
use serde_json::{Value, json};

on_both_engines! {
    endless_successful_response_is_delivered_once
    endpoint_that_responds_410_is_disabled
    deliveries_of_a_deleted_endpoint_are_not_sent
    hanging_endpoints_do_not_delay_others
}

fn endless_successful_response_is_delivered_once(engine: Engine) {
    let server = start(engine);
    let receiver = Receiver::with_handler(|_| Reply::Endless);
    create_endpoint(&server, &receiver.url("/"), &[]);
    save_folder(&server, "F", "x");
    let delivery = receiver.wait_for(1)[0].id();
    let found = wait_for_delivery(&server, &delivery, |found| found["state"] == "delivered");
    assert_eq!((&found["attempts"], &found["lastStatus"]), (&json!(1), &json!(200)));
    // The next delivery succeeds, and neither is repeated.
    receiver.set_handler(|_| Reply::status(200));
    save_folder(&server, "G", "x");
    assert_eq!(receiver.wait_for(2).iter().filter(|request| request.id() == delivery).count(), 1);
}

fn endpoint_that_responds_410_is_disabled(engine: Engine) {
    let server = start(engine);
    let receiver = Receiver::with_handler(|_| Reply::status(410));
    let endpoint = create_endpoint(&server, &receiver.url("/"), &[]);
    save_folder(&server, "F", "x");
    let delivery = receiver.wait_for(1)[0].id();
    let disabled = wait_until(PATIENCE, || {
        let found = webhook_json(&server, &["list"]);
        if found[0]["enabled"] == false { Ok(found[0].clone()) } else { Err(found.to_string()) }
    });
    assert_eq!(disabled["disabledReason"], "The endpoint responded 410 Gone");
    // Nothing is queued for a disabled endpoint.
    save_folder(&server, "G", "x");
    let found = wait_for_delivery(&server, &delivery, |found| found["attempts"] == 1);
    assert_eq!(found["state"], "waiting");
    webhook(&server, &["redeliver", &delivery]).expect_success();
    let other = Receiver::start();
    create_endpoint(&server, &other.url("/"), &[]);
    save_folder(&server, "H", "x");
    other.wait_for(1);
    assert_eq!(receiver.requests().len(), 1);
    // After it is enabled, the waiting delivery continues.
    receiver.set_handler(|_| Reply::status(200));
    webhook(&server, &["enable", id(&endpoint)]).expect_success();
    wait_for_delivery(&server, &delivery, |found| found["state"] == "delivered");
    save_folder(&server, "I", "x");
    let requests = receiver.wait_for(3);
    assert_eq!(requests.len(), 3, "{:?}", event_names(&requests));
    assert_eq!(webhook_json(&server, &["list"])[0]["disabledReason"], Value::Null);
}

fn deliveries_of_a_deleted_endpoint_are_not_sent(engine: Engine) {
    let server = start(engine);
    let token = server.create_token(&["MANAGE_WEBHOOK"]);
    let receiver = Receiver::with_handler(|_| Reply::status(500));
    let endpoint = create_endpoint(&server, &receiver.url("/"), &[]);
    for n in 0..5 {
        save_folder(&server, &format!("F{n}"), "x");
    }
    let requests = receiver.wait_for(5);
    wait_for_delivery(&server, &requests[4].id(), |found| found["attempts"] == 1);
    assert_eq!(delete(&server, &token, id(&endpoint)).status, 204);
    let not_found = format!("delivery `{}` not found", requests[0].id());
    wait_until(PATIENCE, || {
        let output = webhook(&server, &["redeliver", &requests[0].id()]);
        if output.code == Some(1) {
            output.expect_error(&not_found);
            Ok(())
        } else {
            Err(output.stdout)
        }
    });
    let other = Receiver::start();
    create_endpoint(&server, &other.url("/"), &[]);
    save_folder(&server, "Z", "x");
    other.wait_for(1);
    assert_eq!(receiver.requests().len(), 5);
}

fn hanging_endpoints_do_not_delay_others(engine: Engine) {
    let server = start(engine);
    let dead = Receiver::with_handler(|_| Reply::Hang);
    for n in 0..10 {
        create_endpoint(&server, &dead.url(&format!("/{n}")), &[]);
    }
    let live = Receiver::start();
    create_endpoint(&server, &live.url("/"), &[]);
    let rows: Vec<_> = (0..300).map(|n| json!({ "name": format!("Folder {n}") })).collect();
    server.import("folders", &rows);
    // `make chaos` tests that an attempt ends after 15 seconds.
    live.wait_for(300);
    let delivered =
        webhook_json(&server, &["deliveries", "--state", "delivered", "--limit", "10000"]);
    assert!(delivered.as_array().unwrap().len() <= 300);
    dead.wait_for(1);
}
