//! Bulk requests that are rejected: the status of the first failed operation, and pointers to all.

use super::{post, send, start, totals};
use crate::{on_both_engines, sample_records};
use groma_testkit::{Engine, http::Request};
use serde_json::{Value, json};

on_both_engines! {
    operation_that_cannot_be_read_is_rejected
    rejected_operation_decides_the_status
    each_operation_needs_its_scope
}

fn operation_that_cannot_be_read_is_rejected(engine: Engine) {
    let (server, token) = start(engine);
    for (operation, pointers) in [
        (json!(1), vec!["/0"]),
        (json!({}), vec!["/0/kind", "/0/op"]),
        (json!({ "op": "move", "kind": "layer" }), vec!["/0/kind", "/0/op"]),
        (json!({ "op": "create", "kind": "status", "data": {} }), vec!["/0/kind"]),
        (json!({ "op": "archive", "kind": "budget", "key": "B-000001" }), vec!["/0/kind"]),
        (json!({ "op": "create", "kind": "folder" }), vec!["/0/data"]),
        (json!({ "op": "create", "kind": "folder", "data": [] }), vec!["/0/data"]),
        (
            json!({ "op": "create", "kind": "folder", "data": { "name": 1, "x": 2 } }),
            vec!["/0/data/name", "/0/data/x"],
        ),
        (
            json!({ "op": "create", "kind": "folder", "key": "F-1", "data": { "name": "A" } }),
            vec!["/0/key"],
        ),
        (
            json!({ "op": "create", "kind": "budget", "data": { "name": "B", "amount": 1, "folderId": null } }),
            vec!["/0/data/folderId"],
        ),
        (json!({ "op": "update", "kind": "folder", "data": {} }), vec!["/0/key"]),
        (json!({ "op": "update", "kind": "folder", "key": 7, "data": {} }), vec!["/0/key"]),
        (
            json!({ "op": "update", "kind": "folder", "key": "F-1", "ifVersion": 0, "data": {} }),
            vec!["/0/ifVersion"],
        ),
        (
            json!({ "op": "update", "kind": "folder", "key": "F-1", "ifVersion": "1", "data": {} }),
            vec!["/0/ifVersion"],
        ),
        (json!({ "op": "upsert", "kind": "folder", "data": { "name": "A" } }), vec!["/0/match"]),
        (
            json!({ "op": "upsert", "kind": "folder", "match": "name", "data": { "name": "A" } }),
            vec!["/0/match"],
        ),
        (
            json!({ "op": "upsert", "kind": "folder", "match": "externalId", "data": { "name": "A" } }),
            vec!["/0/data/externalId"],
        ),
        (json!({ "op": "delete", "kind": "folder", "key": "F-1", "data": {} }), vec!["/0/data"]),
        (
            json!({ "op": "delete", "kind": "folder", "key": "F-1", "atomic": true }),
            vec!["/0/atomic"],
        ),
    ] {
        let mut found = post(&server, &token, "/bulk", &json!([operation])).error_pointers();
        found.sort();
        assert_eq!(found, pointers, "{operation}");
    }
    for body in [json!({}), json!("x"), json!(null)] {
        assert_eq!(post(&server, &token, "/bulk", &body).error_pointers(), [""]);
    }
    let request = Request::post("/bulk", &token, &json!([])).header("If-Match", "*");
    send(&server, &request).assert_error(400, "If-Match is not possible here");
}

fn rejected_operation_decides_the_status(engine: Engine) {
    let (server, token) = start(engine);
    sample_records::fill(&server);
    let before = totals(&server, &token);
    let create = json!({ "op": "create", "kind": "folder", "data": { "name": "A" } });
    for (operation, status, pointer) in [
        (
            json!({ "op": "create", "kind": "assignment", "data": { "title": "T", "folderId": "F-999999" } }),
            400,
            "/1/data/folderId",
        ),
        (json!({ "op": "delete", "kind": "folder", "key": "F-999999" }), 404, "/1/key"),
        (
            json!({ "op": "create", "kind": "folder", "data": { "name": "A", "reference": "CHENE-1" } }),
            409,
            "/1/data/reference",
        ),
        (
            json!({ "op": "delete", "kind": "folder", "key": "CHENE-1", "ifVersion": 7 }),
            412,
            "/1/ifVersion",
        ),
    ] {
        let body = json!([create, operation, create]);
        let response = post(&server, &token, "/bulk", &body);
        assert_eq!(response.error_pointers_with(status), [pointer], "{operation}");
    }
    let missing = json!({ "op": "archive", "kind": "folder", "key": "F-999999" });
    let response = post(&server, &token, "/bulk", &json!([missing, create, missing]));
    assert_eq!(response.error_pointers_with(404), ["/0/key", "/2/key"], "all problems are listed");
    assert_eq!(totals(&server, &token), before);
}

fn each_operation_needs_its_scope(engine: Engine) {
    let (server, token) = start(engine);
    let writer = server.create_token(&["WRITE_FOLDER"]);
    let body = json!([
        { "op": "create", "kind": "folder", "data": { "name": "A", "reference": "A" } },
        { "op": "create", "kind": "assignment", "data": { "title": "T", "folder": "A" } },
    ]);
    let response = post(&server, &writer, "/bulk", &body);
    assert_eq!(response.error_pointers_with(403), ["/1"]);
    let message = "Token missing required scope: WRITE_ASSIGNMENT";
    assert_eq!(response.json()["message"], message);
    assert_eq!(totals(&server, &token), json!([0, 0, 0, 0, 18]));
    // The scope is checked before the values.
    let body_with_problems = json!([
        { "op": "create", "kind": "folder", "data": { "name": 1 } },
        { "op": "create", "kind": "budget", "data": { "name": 1 } },
    ]);
    let response = post(&server, &writer, "/bulk", &body_with_problems);
    assert_eq!(response.error_pointers_with(403), ["/1"]);
    assert_eq!(response.json()["message"], "Token missing required scope: WRITE_BUDGET");
    let response = post(&server, &writer, "/bulk?atomic=false", &body).ok();
    assert_eq!(response["results"][1]["error"]["message"], Value::from(message));
    assert_eq!(totals(&server, &token), json!([1, 0, 0, 0, 18]));
}
