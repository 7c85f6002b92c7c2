//! The operator's commands, metrics and replicas.

use super::{
    LOCAL_RECEIVERS, create_endpoint, event_names, id, save_folder, start, wait_for_delivery,
    webhook, webhook_json,
};
use crate::on_both_engines;
use groma_testkit::{
    Client, Engine, Receiver, TestServer, receiver::ReceivedRequest, receiver::Reply,
    server::WORKSPACE, wait::PATIENCE, wait_until,
};
use serde_json::{Value, json};

on_both_engines! {
    deliveries_are_listed_newest_first_and_filtered_by_state_event_and_time
    changed_endpoint_applies_to_queued_deliveries
    disabled_endpoint_gets_no_events_and_resumes_its_queue_when_enabled
    graceful_shutdown_neither_loses_nor_repeats_deliveries
    admin_address_serves_health_and_metrics
}

fn deliveries_are_listed_newest_first_and_filtered_by_state_event_and_time(engine: Engine) {
    let server = start(engine);
    let receiver = Receiver::with_handler(|request| {
        Reply::status(if request.json()["event"] == "folder.deleted" { 500 } else { 200 })
    });
    let endpoint = create_endpoint(&server, &receiver.url("/"), &[]);
    save_folder(&server, "F", "x");
    save_folder(&server, "F", "y");
    server.run(&["delete", "folder", "F", "--workspace", WORKSPACE]).expect_success();
    let requests = receiver.wait_for(3);
    let deleted =
        requests.iter().find(|request| request.json()["event"] == "folder.deleted").unwrap().id();
    wait_for_delivery(&server, &deleted, |found| {
        found["attempts"] == 1 && found["state"] == "waiting"
    });
    let list = |more: &[&str]| -> Vec<String> {
        let found = webhook_json(&server, &[&["deliveries", id(&endpoint)], more].concat());
        found
            .as_array()
            .unwrap()
            .iter()
            .map(|row| row["event"].as_str().unwrap().to_owned())
            .collect()
    };
    wait_until(PATIENCE, || {
        let delivered = list(&["--state", "delivered"]);
        if delivered.len() == 2 { Ok(()) } else { Err(format!("{delivered:?}")) }
    });
    assert_eq!(list(&[]), ["folder.deleted", "folder.updated", "folder.created"]);
    assert_eq!(list(&["--limit", "1"]), ["folder.deleted"]);
    assert_eq!(list(&["--state", "waiting"]), ["folder.deleted"]);
    assert_eq!(list(&["--state", "failed"]), [""; 0]);
    assert_eq!(list(&["--event", "folder.updated"]), ["folder.updated"]);
    assert_eq!(list(&["--since", "1h"]).len(), 3);
    assert_eq!(list(&["--until", "1h"]).len(), 0);
    assert_eq!(list(&["--since", "2099-01-01T00:00:00Z"]).len(), 0);
    let all = webhook_json(&server, &["deliveries"]);
    assert_eq!(all.as_array().unwrap().len(), 3);
    webhook(&server, &["deliveries", "--state", "lost"]).expect_usage_error();
    webhook(&server, &["deliveries", "--event", "folder.moved"]).expect_usage_error();
    let table = webhook(&server, &["deliveries"]).expect_success();
    assert!(table.contains("folder.deleted") && table.contains("waiting"), "{table}");
}

fn changed_endpoint_applies_to_queued_deliveries(engine: Engine) {
    let server = start(engine);
    let old = Receiver::with_handler(|_| Reply::status(500));
    let new = Receiver::start();
    let endpoint = create_endpoint(&server, &old.url("/"), &["--description", "Ledger"]);
    save_folder(&server, "F", "x");
    let delivery = old.wait_for(1)[0].id();
    wait_for_delivery(&server, &delivery, |found| found["attempts"] == 1);
    webhook(
        &server,
        &["update", id(&endpoint), "--url", &new.url("/new"), "--events", "folder.updated"],
    )
    .expect_success();
    webhook(&server, &["redeliver", &delivery]).expect_success();
    assert_eq!(new.wait_for(1)[0].id(), delivery);
    save_folder(&server, "G", "x");
    save_folder(&server, "G", "y");
    assert_eq!(event_names(&new.wait_for(2)), ["folder.created", "folder.updated"]);
    let found = webhook_json(&server, &["list"]);
    assert_eq!((&found[0]["description"], &found[0]["name"]), (&json!("Ledger"), &json!("Ledger")));
    webhook(&server, &["update", id(&endpoint), "--description", ""]).expect_success();
    assert_eq!(webhook_json(&server, &["list"])[0]["description"], Value::Null);
    webhook(&server, &["update", id(&endpoint), "--url", "ftp://x"]).expect_usage_error();
}

fn disabled_endpoint_gets_no_events_and_resumes_its_queue_when_enabled(engine: Engine) {
    let server = start(engine);
    let receiver = Receiver::with_handler(|_| Reply::status(500));
    let endpoint = create_endpoint(&server, &receiver.url("/"), &[]);
    save_folder(&server, "F", "x");
    let delivery = receiver.wait_for(1)[0].id();
    wait_for_delivery(&server, &delivery, |found| {
        found["attempts"] == 1 && found["state"] == "waiting"
    });
    webhook(&server, &["disable", id(&endpoint), "--reason", "Being moved"]).expect_success();
    let found = webhook_json(&server, &["list"]);
    assert_eq!(
        (&found[0]["enabled"], &found[0]["disabledReason"]),
        (&json!(false), &json!("Being moved"))
    );
    save_folder(&server, "G", "x");
    receiver.set_handler(|_| Reply::status(200));
    webhook(&server, &["enable", id(&endpoint)]).expect_success();
    save_folder(&server, "H", "x");
    let requests =
        receiver.wait_until("the waiting and the new deliveries", |requests| requests.len() >= 3);
    let references: Vec<_> =
        requests.iter().map(|request| request.json()["data"]["reference"].clone()).collect();
    assert!(
        references.contains(&json!("H")) && !references.contains(&json!("G")),
        "{references:?}"
    );
    wait_for_delivery(&server, &delivery, |found| found["state"] == "delivered");
}

fn graceful_shutdown_neither_loses_nor_repeats_deliveries(engine: Engine) {
    let mut server = start(engine);
    let receiver = Receiver::start();
    create_endpoint(&server, &receiver.url("/"), &[]);
    let rows: Vec<_> = (0..400).map(|n| json!({ "name": format!("Folder {n}") })).collect();
    server.import("folders", &rows);
    receiver.wait_for(20);
    assert_eq!(server.stop(), Some(0));
    server.serve();
    let requests = receiver.wait_until("every delivery", |requests| {
        let mut ids: Vec<_> = requests.iter().map(ReceivedRequest::id).collect();
        ids.sort();
        ids.dedup();
        ids.len() == 400
    });
    assert_eq!(requests.len(), 400);
}

fn admin_address_serves_health_and_metrics(engine: Engine) {
    let admin = ("GROMA_SERVER__ADMIN_LISTEN", "127.0.0.1:0");
    let server = TestServer::start_with(engine, &[&LOCAL_RECEIVERS[..], &[admin]].concat());
    let client = operators(&server);
    for path in ["/healthz", "/readyz"] {
        assert_eq!(client.request("GET", path).send().status, 200);
    }
    let receiver = Receiver::with_handler(|request| {
        Reply::status(if request.path == "/bad" { 500 } else { 200 })
    });
    create_endpoint(&server, &receiver.url("/"), &[]);
    let bad = create_endpoint(&server, &receiver.url("/bad"), &[]);
    save_folder(&server, "F", "x");
    let requests = receiver.wait_for(2);
    let failed = requests.iter().find(|request| request.path == "/bad").unwrap().id();
    wait_for_delivery(&server, &failed, |found| {
        found["attempts"] == 1 && found["state"] == "waiting"
    });
    webhook(&server, &["disable", id(&bad)]).expect_success();
    let metrics = client.request("GET", "/metrics").send();
    assert!(metrics.header("content-type").unwrap().starts_with("text/plain"));
    let text = metrics.text();
    for line in [
        "groma_webhook_attempts_total{outcome=\"delivered\"} 1",
        "groma_webhook_attempts_total{outcome=\"retry\"} 1",
        "groma_webhook_attempt_seconds_count 2",
        "groma_webhook_due 0",
        "groma_webhook_leased 0",
        "groma_webhook_later 1",
        "groma_webhook_oldest_due_seconds 0",
    ] {
        assert!(text.lines().any(|known| known == line), "{line} is not in {text}");
    }
    assert!(text.contains("groma_webhook_wait_seconds_bucket"));
}

#[test]
fn killed_replicas_deliveries_are_taken_over() {
    let mut server = start(Engine::Postgres);
    let receiver = Receiver::start();
    create_endpoint(&server, &receiver.url("/"), &[]);
    let second = server.start_replica();
    let rows: Vec<_> = (0..2_000).map(|n| json!({ "name": format!("Folder {n}") })).collect();
    server.import("folders", &rows);
    receiver.wait_for(200);
    server.kill();
    let requests = receiver.wait_until("every delivery", |requests| {
        let mut ids: Vec<_> = requests.iter().map(ReceivedRequest::id).collect();
        ids.sort();
        ids.dedup();
        ids.len() == 2_000
    });
    let repeats = requests.len() - 2_000;
    assert!(repeats <= 64, "{repeats} repeats, but at most 64 deliveries were in flight");
    drop(second);
}

/// A client of the operator's address.
fn operators(server: &TestServer) -> Client {
    // The addresses are known before the line is in the log.
    let entry: Value = wait_until(PATIENCE, || {
        let log = server.process().log();
        let mut entries = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        entries.find(|entry| entry["message"] == "serving").ok_or(log)
    });
    Client::new(entry["admin"].as_str().unwrap().parse().unwrap())
}

#[test]
fn server_is_healthy_but_not_ready_without_its_database() {
    let admin = ("GROMA_SERVER__ADMIN_LISTEN", "127.0.0.1:0");
    let server = TestServer::start_with(groma_testkit::Engine::Postgres, &[admin]);
    let client = operators(&server);
    let responses = |path: &str| client.request("GET", path).send().status;
    server
        .without_database(|| assert_eq!((responses("/healthz"), responses("/readyz")), (200, 503)));
    wait_until(PATIENCE, || match responses("/readyz") {
        200 => Ok(()),
        status => Err(format!("answered {status}")),
    });
}
