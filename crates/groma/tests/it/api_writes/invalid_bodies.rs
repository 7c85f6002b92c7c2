//! Invalid bodies: all problems at once, each with its pointer, and nothing is written.

use super::{patch, post, send, start, totals};
use crate::{on_both_engines, sample_records};
use groma_testkit::{API, Engine, http::Request};
use serde_json::{Value, json};

on_both_engines! {
    problems_are_reported_together
    values_of_another_json_type_are_rejected
    values_that_contradict_other_records_are_conflicts
    text_that_is_not_one_json_object_is_rejected
}

fn problems_are_reported_together(engine: Engine) {
    let (server, token) = start(engine);
    sample_records::fill(&server);
    let before = totals(&server, &token);
    for (path, body, pointers) in [
        ("/folders", json!({}), vec!["/name"]),
        ("/folders", json!({ "nam": 1, "name": "A", "x/y~z": 2 }), vec!["/nam", "/x~1y~0z"]),
        (
            "/folders",
            json!({ "name": "", "dueDate": "18.11.2026", "currency": "euro", "owner": "nobody",
                "status": "No such", "customFields": { "a": [1], "": 2 } }),
            vec![
                "/currency",
                "/customFields/",
                "/customFields/a",
                "/dueDate",
                "/name",
                "/owner",
                "/status",
            ],
        ),
        (
            "/assignments",
            json!({ "folder": "F-999999", "statusId": "No such", "startDate": "2026-02-01",
                "dueDate": "2026-01-01", "spentHours": -1 }),
            vec!["/dueDate", "/folder", "/spentHours", "/statusId", "/title"],
        ),
        (
            "/expenses",
            json!({ "folderId": "F-999999", "assignmentId": "A-999999", "budget": "B-999999",
                "incurredOn": "2026-02-30", "quantity": "1e3x" }),
            vec![
                "/assignmentId",
                "/budget",
                "/folderId",
                "/incurredOn",
                "/quantity",
                "/unitAmount",
            ],
        ),
        (
            "/budgets",
            json!({ "folder": "F-000001", "amount": "1.234", "endDate": "2026-01-01", "startDate": "2026-02-01" }),
            vec!["/amount", "/endDate", "/name"],
        ),
        (
            "/statuses",
            json!({ "group": "later", "color": "red", "position": -1, "isDefault": "yes", "x": 1 }),
            vec!["/appliesTo", "/color", "/group", "/isDefault", "/name", "/position", "/x"],
        ),
    ] {
        let mut found = post(&server, &token, path, &body).error_pointers();
        found.sort();
        assert_eq!(found, pointers, "{path} {body}");
        assert_eq!(totals(&server, &token), before, "{path} {body}");
    }
    // Each invalid item of a list has its own pointer.
    let unknown = "0190b3c4-2222-7000-8000-000000000003";
    for (path, body, pointers) in [
        (
            "/folders",
            json!({ "name": "A", "tags": ["ok", 1, "", "x".repeat(65)] }),
            vec!["/tags/1", "/tags/2", "/tags/3"],
        ),
        (
            "/assignments",
            json!({ "folder": "F-000001", "title": "T", "assignees": ["a@example.test", "nobody", {}, 1] }),
            vec!["/assignees/1", "/assignees/2", "/assignees/3"],
        ),
        (
            "/assignments",
            json!({ "folder": "F-000001", "title": "T",
                "assignees": [{ "id": unknown }, "a@example.test", unknown] }),
            vec!["/assignees/0", "/assignees/2"],
        ),
    ] {
        assert_eq!(post(&server, &token, path, &body).error_pointers(), pointers, "{body}");
    }
    // A folder of another workspace does not exist here.
    server.create_workspace("Other");
    server.import_into("Other", "folders", &[json!({ "name": "Theirs", "reference": "THEIRS" })]);
    let body = json!({ "title": "T", "folder": "THEIRS" });
    assert_eq!(post(&server, &token, "/assignments", &body).error_pointers(), ["/folder"]);
}

fn values_of_another_json_type_are_rejected(engine: Engine) {
    let (server, token) = start(engine);
    sample_records::fill(&server);
    for (path, body) in [
        ("/folders/CHENE-1", json!({ "name": 5 })),
        ("/folders/CHENE-1", json!({ "description": true })),
        ("/folders/CHENE-1", json!({ "tags": "a, b" })),
        ("/folders/CHENE-1", json!({ "owner": 7 })),
        ("/folders/CHENE-1", json!({ "owner": { "name": "Survey lead" } })),
        ("/folders/CHENE-1", json!({ "owner": ["survey.lead@example.test"] })),
        ("/folders/CHENE-1", json!({ "dueDate": 20261118 })),
        ("/folders/CHENE-1", json!({ "dueDate": "" })),
        ("/folders/CHENE-1", json!({ "customFields": "{}" })),
        ("/folders/CHENE-1", json!({ "customFields": [] })),
        ("/folders/CHENE-1", json!({ "reference": "" })),
        ("/folders/CHENE-1", json!({ "reference": 12 })),
        ("/assignments/STAKE-1", json!({ "assignees": "field.crew@example.test" })),
        ("/assignments/STAKE-1", json!({ "estimatedHours": true })),
        ("/assignments/STAKE-1", json!({ "priority": 1 })),
        ("/assignments/STAKE-1", json!({ "folder": 1 })),
        ("/expenses/FUEL-1", json!({ "billable": "yes" })),
        ("/expenses/FUEL-1", json!({ "billable": 1 })),
        ("/expenses/FUEL-1", json!({ "quantity": "" })),
        ("/expenses/FUEL-1", json!({ "unitAmount": [1] })),
        ("/budgets/FIELD-2026", json!({ "amount": { "value": 1 } })),
    ] {
        let field = body.as_object().unwrap().keys().next().unwrap().clone();
        let before = server.get(path, &token).ok();
        let found = patch(&server, &token, path, &body).error_pointers();
        assert_eq!(found, [format!("/{field}")], "{body}");
        assert_eq!(server.get(path, &token).ok(), before);
    }
    // Columns of a file are no fields.
    let body = json!({ "customFields.parcel": "x" });
    let found = patch(&server, &token, "/folders/CHENE-1", &body).error_pointers();
    assert_eq!(found, ["/customFields.parcel"]);
}

fn values_that_contradict_other_records_are_conflicts(engine: Engine) {
    let (server, token) = start(engine);
    sample_records::fill(&server);
    for (path, body, pointer) in [
        ("/folders/F-000001", json!({ "reference": "CHENE-1" }), "/reference"),
        ("/budgets/FIELD-2026", json!({ "folder": "F-000001" }), "/folder"),
        ("/budgets/FIELD-2026", json!({ "currency": "CHF" }), "/currency"),
        ("/assignments/STAKE-1", json!({ "folder": "F-000001" }), "/folder"),
    ] {
        let response = patch(&server, &token, path, &body);
        assert_eq!(response.error_pointers_with(409), [pointer], "{body}");
    }
    let body = json!({ "name": "A", "reference": "CHENE-1" });
    let response = post(&server, &token, "/folders", &body);
    assert_eq!(response.error_pointers_with(409), ["/reference"]);
    // With an invalid value besides, the request is invalid.
    let body = json!({ "name": "", "reference": "CHENE-1" });
    let mut found = post(&server, &token, "/folders", &body).error_pointers();
    found.sort();
    assert_eq!(found, ["/name", "/reference"]);
}

fn text_that_is_not_one_json_object_is_rejected(engine: Engine) {
    let (server, token) = start(engine);
    let send_text = |body: &[u8], media_type: &str| {
        let request = Request::new("POST", &format!("{API}/folders")).token(&token);
        send(&server, &request.header("Content-Type", media_type).body(body))
    };
    let json = "application/json";
    for (body, pointer) in [
        (&b""[..], ""),
        (b"[]", ""),
        (b"null", ""),
        (b"{\"name\":\"A\"", ""),
        (b"{\"name\":\"A\"}{}", ""),
        (b"{\"name\":\"\xff\"}", ""),
        (b"{\"name\":\"\\ud800\"}", "/name"),
        (b"{\"name\":\"a\\u0000b\"}", "/name"),
        (b"{\"name\":\"A\",\"name\":\"A\"}", "/name"),
        (b"{\"name\":\"A\",\"customFields\":{\"a\":1,\"\\u0061\":1}}", "/customFields/a"),
        (b"{\"name\":\"A\",\"customFields\":{\"a\":1e400}}", "/customFields/a"),
    ] {
        let found = send_text(body, json).error_pointers();
        assert_eq!(found, [pointer], "{}", String::from_utf8_lossy(body));
    }
    send_text(b"{\"name\":\"A\"}", "text/plain")
        .assert_error(400, "Content-Type must be application/json");
    let large = json!({ "name": "A", "description": "x".repeat(1 << 20) }).to_string();
    send_text(large.as_bytes(), json).assert_error(400, "The body is larger than 1048576 bytes");
    let many: serde_json::Map<String, Value> =
        (0..500).map(|number| (format!("x{number}"), json!(1))).collect();
    let response = send_text(Value::Object(many).to_string().as_bytes(), json);
    assert_eq!(response.error_pointers().len(), 100, "the list of problems is limited");
    assert_eq!(server.get("/folders", &token).ok()["total"], 0);
}
