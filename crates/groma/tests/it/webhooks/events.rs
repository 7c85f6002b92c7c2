//! Events: each one is sent to the subscribed endpoints, with the record as GET returns it.

use super::{create_endpoint, event_names, id, save_folder, start, webhook};
use crate::{on_both_engines, sample_records};
use groma_testkit::{Engine, Receiver, TestServer, server::OWNER, server::WORKSPACE};
use serde_json::{Value, json};

/// Waits for the delivery after the first `seen` ones and returns its body.
#[track_caller]
fn next(receiver: &Receiver, count: usize) -> Value {
    let requests = receiver.wait_for(count + 1);
    assert_eq!(requests.len(), count + 1, "{:?}", event_names(&requests));
    requests[count].json()
}

fn get(server: &TestServer, token: &str, path: &str) -> Value {
    server.get(path, token).ok()
}

on_both_engines! {
    every_event_has_the_record_as_get_returns_it
    delivery_has_the_body_and_headers_of_the_contract
    each_endpoint_gets_its_subscribed_events
    test_event_is_a_marked_folder_update
    unchanged_records_and_renamed_people_send_no_event
}

fn every_event_has_the_record_as_get_returns_it(engine: Engine) {
    let server = start(engine);
    sample_records::fill(&server);
    let token = server.create_full_token();
    let receiver = Receiver::start();
    create_endpoint(&server, &receiver.url("/"), &[]);
    let mut count = 0;
    let mut expect_event = |event: &str, expected: Option<&Value>| {
        let body = next(&receiver, count);
        count += 1;
        assert_eq!(body["event"], event);
        if let Some(expected) = expected {
            assert_eq!(&body["data"], expected, "{event}");
        }
        body
    };
    for (plural, kind, new, edit) in [
        (
            "folders",
            "folder",
            json!({ "reference": "NEW", "name": "x", "owner": "lead@example.test" }),
            json!({ "description": "y" }),
        ),
        (
            "assignments",
            "assignment",
            json!({ "reference": "NEW", "folder": sample_records::FOLDER, "title": "x", "assignees": ["a@b.test", "c@d.test"] }),
            json!({ "description": "y" }),
        ),
        (
            "budgets",
            "budget",
            json!({ "reference": "NEW", "folder": sample_records::FOLDER, "name": "x", "amount": 7 }),
            json!({ "description": "y" }),
        ),
        (
            "expenses",
            "expense",
            json!({ "reference": "NEW", "folder": sample_records::FOLDER, "unitAmount": 5, "incurredOn": "2026-03-01", "submittedBy": "lead@example.test" }),
            json!({ "description": "y" }),
        ),
    ] {
        let path = format!("/{plural}/NEW");
        server.import(plural, &[new]);
        let body = expect_event(&format!("{kind}.created"), Some(&get(&server, &token, &path)));
        assert_eq!(body["data"]["version"], 1);
        assert_eq!(body["occurredAt"], body["data"]["createdAt"]);
        let mut edit = edit;
        edit["reference"] = json!("NEW");
        server.import(plural, &[edit]);
        let body = expect_event(&format!("{kind}.updated"), Some(&get(&server, &token, &path)));
        assert_eq!(body["data"]["version"], 2);
        if kind == "folder" {
            server.run(&["archive", "folder", "NEW", "--workspace", WORKSPACE]).expect_success();
            expect_event("folder.archived", Some(&get(&server, &token, &path)));
        }
        let last = get(&server, &token, &path);
        server.run(&["delete", kind, "NEW", "--workspace", WORKSPACE]).expect_success();
        expect_event(&format!("{kind}.deleted"), Some(&last));
    }
    assert_eq!(count, 13);
}

fn delivery_has_the_body_and_headers_of_the_contract(engine: Engine) {
    let server = start(engine);
    let receiver = Receiver::start();
    create_endpoint(&server, &receiver.url("/hook?a=b"), &[]);
    save_folder(&server, "F", "x");
    let request = receiver.wait_for(1).remove(0);
    assert_eq!(request.path, "/hook?a=b");
    let body = request.json();
    let fields: Vec<_> = body.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(fields, ["id", "event", "workspaceKey", "occurredAt", "data"]);
    assert!(
        sample_records::is_uuid_v7(&body["id"]) && sample_records::is_time(&body["occurredAt"])
    );
    assert_eq!(body["workspaceKey"], body["data"]["workspaceKey"]);
    assert_eq!(request.header("content-type"), Some("application/json"));
    assert_eq!(request.header("user-agent"), Some(concat!("Groma/", env!("CARGO_PKG_VERSION"))));
    assert_eq!(request.header("x-service-event"), Some("folder.created"));
    assert_eq!(request.header("x-service-delivery"), body["id"].as_str());
    assert_eq!(request.header("webhook-id"), body["id"].as_str());
    assert_eq!(request.header("x-service-test"), None);
    let signature = request.header("x-service-signature").unwrap();
    let hex = signature.strip_prefix("sha256=").unwrap();
    assert!(
        hex.len() == 64 && hex.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
    );
    let mut known: Vec<_> = request.headers.iter().map(|(name, _)| name.to_lowercase()).collect();
    known.sort();
    assert_eq!(
        known,
        [
            "content-length",
            "content-type",
            "host",
            "user-agent",
            "webhook-id",
            "webhook-signature",
            "webhook-timestamp",
            "x-service-delivery",
            "x-service-event",
            "x-service-signature"
        ]
    );
}

fn each_endpoint_gets_its_subscribed_events(engine: Engine) {
    let server = start(engine);
    let all = Receiver::start();
    let some = Receiver::start();
    create_endpoint(&server, &all.url("/"), &[]);
    create_endpoint(&server, &some.url("/"), &["--events", "budget.*,folder.deleted"]);
    save_folder(&server, "F", "x");
    server.import("budgets", &[json!({ "folder": "F", "name": "x", "amount": 7 })]);
    server.run(&["delete", "folder", "F", "--workspace", WORKSPACE]).expect_success();
    assert_eq!(
        event_names(&all.wait_for(4)),
        ["budget.created", "budget.deleted", "folder.created", "folder.deleted"]
    );
    assert_eq!(
        event_names(&some.wait_for(3)),
        ["budget.created", "budget.deleted", "folder.deleted"]
    );
    // Each endpoint has its own delivery of the event.
    let deleted = |receiver: &Receiver| {
        let requests = receiver.requests();
        requests.iter().find(|request| request.json()["event"] == "folder.deleted").unwrap().id()
    };
    assert_ne!(deleted(&all), deleted(&some));
}

fn test_event_is_a_marked_folder_update(engine: Engine) {
    let server = start(engine);
    let receiver = Receiver::start();
    let endpoint = create_endpoint(&server, &receiver.url("/"), &["--events", "budget.created"]);
    let delivery = webhook(&server, &["test", id(&endpoint)]).expect_success();
    let request = receiver.wait_for(1).remove(0);
    assert_eq!(request.header("x-service-test"), Some("true"));
    assert_eq!(request.header("x-service-event"), Some("folder.updated"));
    assert_eq!(request.id(), delivery);
    save_folder(&server, "F", "x");
    let token = server.create_full_token();
    let folder = get(&server, &token, "/folders/F");
    let fields = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(fields(&request.json()["data"]), fields(&folder));
    webhook(&server, &["disable", id(&endpoint)]).expect_success();
    webhook(&server, &["test", id(&endpoint)])
        .expect_error("webhook endpoint is disabled; enable it first");
}

fn unchanged_records_and_renamed_people_send_no_event(engine: Engine) {
    let server = start(engine);
    server.import("folders", &[json!({ "reference": "F", "name": "x", "owner": OWNER })]);
    let receiver = Receiver::start();
    create_endpoint(&server, &receiver.url("/"), &[]);
    save_folder(&server, "F", "x");
    let rename = [
        "user",
        "add",
        OWNER,
        "--workspace",
        WORKSPACE,
        "--role",
        "owner",
        "--name",
        "Another name",
    ];
    server.run(&rename).expect_success();
    save_folder(&server, "F", "y");
    let requests = receiver.wait_for(1);
    assert_eq!(event_names(&requests), ["folder.updated"]);
    assert_eq!(requests[0].json()["data"]["owner"]["name"], "Another name");
}
