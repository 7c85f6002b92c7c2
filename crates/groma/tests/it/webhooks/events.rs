//! What is announced: every event, with the record as its GET answers, to those who asked for it.

use super::{Receiver, change, create, id, names, open, webhook};
use crate::{
    office::{Office, WORKSPACE},
    on_both_engines, sample,
};
use serde_json::{Value, json};

/// Waits for one more delivery than `seen`; gives its body.
#[track_caller]
fn next(receiver: &Receiver, seen: usize) -> Value {
    let hits = receiver.wait_for(seen + 1);
    assert_eq!(hits.len(), seen + 1, "{:?}", names(&hits));
    hits[seen].json()
}

fn shown(office: &Office, token: &str, path: &str) -> Value {
    office.get(path, token).ok()
}

on_both_engines! {
    fn all_thirteen_come_with_the_record_as_its_get_answers(engine: Engine) {
        let office = open(engine);
        sample::fill(&office);
        let token = office.master_token();
        let receiver = Receiver::start();
        create(&office, &receiver.url("/"), &[]);
        let mut seen = 0;
        let mut announced = |event: &str, wanted: Option<&Value>| {
            let body = next(&receiver, seen);
            seen += 1;
            assert_eq!(body["event"], event);
            if let Some(wanted) = wanted {
                assert_eq!(&body["data"], wanted, "{event}");
            }
            body
        };
        for (plural, kind, new, edit) in [
            ("folders", "folder", json!({ "reference": "NEW", "name": "x", "owner": "lead@example.test" }), json!({ "description": "y" })),
            ("assignments", "assignment", json!({ "reference": "NEW", "folder": sample::FOLDER, "title": "x", "assignees": ["a@b.test", "c@d.test"] }), json!({ "description": "y" })),
            ("budgets", "budget", json!({ "reference": "NEW", "folder": sample::FOLDER, "name": "x", "amount": 7 }), json!({ "description": "y" })),
            ("expenses", "expense", json!({ "reference": "NEW", "folder": sample::FOLDER, "unitAmount": 5, "incurredOn": "2026-03-01", "submittedBy": "lead@example.test" }), json!({ "description": "y" })),
        ] {
            let path = format!("/{plural}/NEW");
            office.import(plural, &[new]);
            let body = announced(&format!("{kind}.created"), Some(&shown(&office, &token, &path)));
            assert_eq!(body["data"]["version"], 1);
            assert_eq!(body["occurredAt"], body["data"]["createdAt"]);
            let mut edit = edit;
            edit["reference"] = json!("NEW");
            office.import(plural, &[edit]);
            let body = announced(&format!("{kind}.updated"), Some(&shown(&office, &token, &path)));
            assert_eq!(body["data"]["version"], 2);
            if kind == "folder" {
                office.groma(&["archive", "folder", "NEW", "--workspace", WORKSPACE]).succeeds();
                announced("folder.archived", Some(&shown(&office, &token, &path)));
            }
            let last = shown(&office, &token, &path);
            office.groma(&["delete", kind, "NEW", "--workspace", WORKSPACE]).succeeds();
            announced(&format!("{kind}.deleted"), Some(&last));
        }
        assert_eq!(seen, 13);
    }

    fn a_body_has_the_five_fields_and_its_headers_name_it(engine: Engine) {
        let office = open(engine);
        let receiver = Receiver::start();
        create(&office, &receiver.url("/hook?a=b"), &[]);
        change(&office, "F", "x");
        let hit = receiver.wait_for(1).remove(0);
        assert_eq!(hit.path, "/hook?a=b");
        let body = hit.json();
        let fields: Vec<_> = body.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(fields, ["id", "event", "workspaceKey", "occurredAt", "data"]);
        assert!(sample::is_uuid_v7(&body["id"]) && sample::is_time(&body["occurredAt"]));
        assert_eq!(body["workspaceKey"], body["data"]["workspaceKey"]);
        assert_eq!(hit.header("content-type"), Some("application/json"));
        assert_eq!(hit.header("user-agent"), Some(concat!("Groma/", env!("CARGO_PKG_VERSION"))));
        assert_eq!(hit.header("x-service-event"), Some("folder.created"));
        assert_eq!(hit.header("x-service-delivery"), body["id"].as_str());
        assert_eq!(hit.header("webhook-id"), body["id"].as_str());
        assert_eq!(hit.header("x-service-test"), None);
        let signature = hit.header("x-service-signature").unwrap();
        let hex = signature.strip_prefix("sha256=").unwrap();
        assert!(hex.len() == 64 && hex.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b)));
        let mut known: Vec<_> = hit.headers.iter().map(|(name, _)| name.to_lowercase()).collect();
        known.sort();
        assert_eq!(known, ["content-length", "content-type", "host", "user-agent", "webhook-id",
            "webhook-signature", "webhook-timestamp", "x-service-delivery", "x-service-event",
            "x-service-signature"]);
    }

    fn each_endpoint_gets_what_it_asked_for(engine: Engine) {
        let office = open(engine);
        let all = Receiver::start();
        let some = Receiver::start();
        create(&office, &all.url("/"), &[]);
        create(&office, &some.url("/"), &["--events", "budget.*,folder.deleted"]);
        change(&office, "F", "x");
        office.import("budgets", &[json!({ "folder": "F", "name": "x", "amount": 7 })]);
        office.groma(&["delete", "folder", "F", "--workspace", WORKSPACE]).succeeds();
        assert_eq!(names(&all.wait_for(4)), ["budget.created", "budget.deleted", "folder.created", "folder.deleted"]);
        assert_eq!(names(&some.wait_for(3)), ["budget.created", "budget.deleted", "folder.deleted"]);
        // The same event has another delivery at each.
        let deleted = |receiver: &Receiver| {
            let hits = receiver.hits();
            hits.iter().find(|hit| hit.json()["event"] == "folder.deleted").unwrap().id()
        };
        assert_ne!(deleted(&all), deleted(&some));
    }

    fn a_test_event_is_a_folders_update_that_says_so(engine: Engine) {
        let office = open(engine);
        let receiver = Receiver::start();
        let endpoint = create(&office, &receiver.url("/"), &["--events", "budget.created"]);
        let delivery = webhook(&office, &["test", id(&endpoint)]).succeeds();
        let hit = receiver.wait_for(1).remove(0);
        assert_eq!(hit.header("x-service-test"), Some("true"));
        assert_eq!(hit.header("x-service-event"), Some("folder.updated"));
        assert_eq!(hit.id(), delivery);
        change(&office, "F", "x");
        let token = office.master_token();
        let folder = shown(&office, &token, "/folders/F");
        let fields = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        assert_eq!(fields(&hit.json()["data"]), fields(&folder));
        webhook(&office, &["disable", id(&endpoint)]).succeeds();
        webhook(&office, &["test", id(&endpoint)]).fails_with("endpoint is disabled; enable it first");
    }

    fn a_write_that_changes_nothing_and_a_changed_name_announce_nothing(engine: Engine) {
        let office = open(engine);
        office.import("folders", &[json!({ "reference": "F", "name": "x", "owner": crate::office::OWNER })]);
        let receiver = Receiver::start();
        create(&office, &receiver.url("/"), &[]);
        change(&office, "F", "x");
        let rename = ["user", "add", crate::office::OWNER, "--workspace", WORKSPACE, "--role", "owner", "--name", "Another name"];
        office.groma(&rename).succeeds();
        change(&office, "F", "y");
        let hits = receiver.wait_for(1);
        assert_eq!(names(&hits), ["folder.updated"]);
        assert_eq!(hits[0].json()["data"]["owner"]["name"], "Another name");
    }
}
