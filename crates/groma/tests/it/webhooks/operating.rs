//! What an operator sees and does.

use super::{
    Hit, LOCAL, Receiver, Reply, change, create, id, names, open, receiver::PATIENCE, wait_for,
    webhook, webhook_json,
};
use crate::{
    client::Client,
    database::Engine,
    office::{Office, WORKSPACE},
    on_both_engines,
};
use serde_json::{Value, json};

on_both_engines! {
    fn deliveries_are_listed_newest_first_and_by_state_event_and_time(engine: Engine) {
        let office = open(engine);
        let receiver = Receiver::answering(|hit| {
            Reply::status(if hit.json()["event"] == "folder.deleted" { 500 } else { 200 })
        });
        let endpoint = create(&office, &receiver.url("/"), &[]);
        change(&office, "F", "x");
        change(&office, "F", "y");
        office.groma(&["delete", "folder", "F", "--workspace", WORKSPACE]).succeeds();
        let hits = receiver.wait_for(3);
        let deleted = hits.iter().find(|hit| hit.json()["event"] == "folder.deleted").unwrap().id();
        wait_for(&office, &deleted, |shown| shown["attempts"] == 1 && shown["state"] == "waiting");
        let list = |more: &[&str]| -> Vec<String> {
            let shown = webhook_json(&office, &[&["deliveries", id(&endpoint)], more].concat());
            shown.as_array().unwrap().iter().map(|row| row["event"].as_str().unwrap().to_owned()).collect()
        };
        crate::office::wait_until(PATIENCE, || {
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
        let all = webhook_json(&office, &["deliveries"]);
        assert_eq!(all.as_array().unwrap().len(), 3);
        webhook(&office, &["deliveries", "--state", "lost"]).is_wrong_usage();
        webhook(&office, &["deliveries", "--event", "folder.moved"]).is_wrong_usage();
        let table = webhook(&office, &["deliveries"]).succeeds();
        assert!(table.contains("folder.deleted") && table.contains("waiting"), "{table}");
    }

    fn an_endpoint_can_be_changed_and_what_is_queued_follows(engine: Engine) {
        let office = open(engine);
        let old = Receiver::answering(|_| Reply::status(500));
        let new = Receiver::start();
        let endpoint = create(&office, &old.url("/"), &["--description", "Ledger"]);
        change(&office, "F", "x");
        let delivery = old.wait_for(1)[0].id();
        wait_for(&office, &delivery, |shown| shown["attempts"] == 1);
        webhook(&office, &["update", id(&endpoint), "--url", &new.url("/new"), "--events", "folder.updated"]).succeeds();
        webhook(&office, &["redeliver", &delivery]).succeeds();
        assert_eq!(new.wait_for(1)[0].id(), delivery);
        change(&office, "G", "x");
        change(&office, "G", "y");
        assert_eq!(names(&new.wait_for(2)), ["folder.created", "folder.updated"]);
        let shown = webhook_json(&office, &["list"]);
        assert_eq!((&shown[0]["description"], &shown[0]["name"]), (&json!("Ledger"), &json!("Ledger")));
        webhook(&office, &["update", id(&endpoint), "--description", ""]).succeeds();
        assert_eq!(webhook_json(&office, &["list"])[0]["description"], Value::Null);
        webhook(&office, &["update", id(&endpoint), "--url", "ftp://x"]).is_wrong_usage();
    }

    fn a_disabled_endpoint_gets_nothing_and_what_waited_goes_on(engine: Engine) {
        let office = open(engine);
        let receiver = Receiver::answering(|_| Reply::status(500));
        let endpoint = create(&office, &receiver.url("/"), &[]);
        change(&office, "F", "x");
        let delivery = receiver.wait_for(1)[0].id();
        wait_for(&office, &delivery, |shown| shown["attempts"] == 1 && shown["state"] == "waiting");
        webhook(&office, &["disable", id(&endpoint), "--reason", "Being moved"]).succeeds();
        let shown = webhook_json(&office, &["list"]);
        assert_eq!((&shown[0]["enabled"], &shown[0]["disabledReason"]), (&json!(false), &json!("Being moved")));
        change(&office, "G", "x");
        receiver.answer(|_| Reply::status(200));
        webhook(&office, &["enable", id(&endpoint)]).succeeds();
        change(&office, "H", "x");
        let hits = receiver.wait_until("what waited and what is new", |hits| hits.len() >= 3);
        let references: Vec<_> = hits.iter().map(|hit| hit.json()["data"]["reference"].clone()).collect();
        assert!(references.contains(&json!("H")) && !references.contains(&json!("G")), "{references:?}");
        wait_for(&office, &delivery, |shown| shown["state"] == "delivered");
    }

    fn a_stop_in_order_loses_nothing_and_sends_nothing_twice(engine: Engine) {
        let mut office = open(engine);
        let receiver = Receiver::start();
        create(&office, &receiver.url("/"), &[]);
        let rows: Vec<_> = (0..400).map(|n| json!({ "name": format!("Folder {n}") })).collect();
        office.import("folders", &rows);
        receiver.wait_for(20);
        assert_eq!(office.close(), Some(0));
        office.open();
        let hits = receiver.wait_until("every delivery", |hits| {
            let mut ids: Vec<_> = hits.iter().map(Hit::id).collect();
            ids.sort();
            ids.dedup();
            ids.len() == 400
        });
        assert_eq!(hits.len(), 400);
    }

    fn the_operators_address_tells_health_and_counts(engine: Engine) {
        let admin = ("GROMA_SERVER__ADMIN_LISTEN", "127.0.0.1:0");
        let office = Office::start_with(engine, &[&LOCAL[..], &[admin]].concat());
        let client = operators(&office);
        for path in ["/healthz", "/readyz"] {
            assert_eq!(client.ask("GET", path).send().status, 200);
        }
        let receiver = Receiver::answering(|hit| Reply::status(if hit.path == "/bad" { 500 } else { 200 }));
        create(&office, &receiver.url("/"), &[]);
        let bad = create(&office, &receiver.url("/bad"), &[]);
        change(&office, "F", "x");
        let hits = receiver.wait_for(2);
        let failed = hits.iter().find(|hit| hit.path == "/bad").unwrap().id();
        wait_for(&office, &failed, |shown| shown["attempts"] == 1 && shown["state"] == "waiting");
        webhook(&office, &["disable", id(&bad)]).succeeds();
        let metrics = client.ask("GET", "/metrics").send();
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
}

#[test]
fn a_replica_that_is_killed_is_taken_over_by_another() {
    let mut office = open(Engine::Postgres);
    let receiver = Receiver::start();
    create(&office, &receiver.url("/"), &[]);
    let second = office.another_program();
    let rows: Vec<_> = (0..2_000).map(|n| json!({ "name": format!("Folder {n}") })).collect();
    office.import("folders", &rows);
    receiver.wait_for(200);
    office.kill();
    let hits = receiver.wait_until("every delivery", |hits| {
        let mut ids: Vec<_> = hits.iter().map(Hit::id).collect();
        ids.sort();
        ids.dedup();
        ids.len() == 2_000
    });
    let repeats = hits.len() - 2_000;
    assert!(repeats <= 64, "{repeats} repeats: no more than were under way");
    drop(second);
}

/// A client of the operator's address.
fn operators(office: &Office) -> Client {
    // The addresses are told before the line is in the log.
    let entry: Value = crate::office::wait_until(PATIENCE, || {
        let log = office.program().log();
        let mut entries = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        entries.find(|entry| entry["message"] == "serving").ok_or(log)
    });
    Client::new(entry["admin"].as_str().unwrap().parse().unwrap())
}

#[test]
fn without_its_database_it_is_healthy_and_not_ready() {
    let admin = ("GROMA_SERVER__ADMIN_LISTEN", "127.0.0.1:0");
    let office = Office::start_with(crate::database::Engine::Postgres, &[admin]);
    let client = operators(&office);
    let answers = |path: &str| client.ask("GET", path).send().status;
    office.without_database(|| assert_eq!((answers("/healthz"), answers("/readyz")), (200, 503)));
    crate::office::wait_until(PATIENCE, || match answers("/readyz") {
        200 => Ok(()),
        status => Err(format!("answered {status}")),
    });
}
