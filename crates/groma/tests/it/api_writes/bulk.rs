//! `POST /bulk`: operations in one transaction, or each on its own.

use super::{post, send, start, text, totals};
use crate::{on_both_engines, sample_records};
use groma_testkit::{API, Engine, http::Request};
use serde_json::{Value, json};

on_both_engines! {
    operations_are_applied_in_their_order
    operations_see_those_before_them
    failed_operations_leave_nothing_behind
    lines_are_accepted_and_returned
    a_thousand_operations_are_accepted_and_no_more
    members_without_a_value_are_absent
    operations_that_revert_each_other_change_nothing
    empty_request_changes_nothing
}

/// The status of each result.
fn statuses(response: &Value) -> Vec<&str> {
    let results = response["results"].as_array().unwrap().iter().enumerate();
    results
        .map(|(index, result)| {
            assert_eq!(result["index"], index);
            text(result, "status")
        })
        .collect()
}

fn operations_are_applied_in_their_order(engine: Engine) {
    let (server, token) = start(engine);
    sample_records::fill(&server);
    let budget = || server.get("/budgets/FIELD-2026", &token).ok();
    let version = budget()["version"].as_u64().unwrap();
    let response = post(&server, &token, "/bulk", &json!([
        { "op": "create", "kind": "folder", "data": { "name": "New", "reference": "N" } },
        { "op": "upsert", "kind": "folder", "match": "externalId",
            "data": { "externalId": "erp-77", "name": "Renamed" } },
        { "op": "upsert", "kind": "folder", "match": "reference",
            "data": { "reference": "F-000001", "name": "Bare" } },
        { "op": "update", "kind": "budget", "key": "FIELD-2026", "ifVersion": version, "data": { "name": "B" } },
        { "op": "delete", "kind": "expense", "key": "FUEL-1" },
        { "op": "archive", "kind": "folder", "key": "N" },
        { "op": "unarchive", "kind": "folder", "key": "F-000001" },
    ]))
    .ok();
    let expected =
        ["created", "updated", "unchanged", "updated", "deleted", "updated", "unchanged"];
    assert_eq!(statuses(&response), expected);
    assert_eq!((&response["applied"], &response["failed"]), (&json!(7), &json!(0)));
    let created = server.get("/folders/N", &token).ok();
    assert!(created["archivedAt"].is_string() && created["version"] == 1);
    let first = json!({ "index": 0, "status": "created", "id": created["id"], "reference": "N", "version": 1 });
    assert_eq!(response["results"][0], first);
    assert_eq!(server.get("/folders/CHENE-1", &token).ok()["name"], "Renamed");
    // The budget was renamed and its only expense deleted: one change.
    assert_eq!((&budget()["version"], &budget()["spent"]), (&json!(version + 1), &json!("0.00")));
    assert_eq!(response["results"][3]["version"], version + 1);
    server.get("/expenses/FUEL-1", &token).error(404);
}

fn operations_see_those_before_them(engine: Engine) {
    let (server, token) = start(engine);
    let upsert = json!({ "op": "upsert", "kind": "folder", "match": "externalId",
        "data": { "externalId": "x", "name": "A" } });
    let response = post(&server, &token, "/bulk", &json!([
        upsert, upsert,
        { "op": "create", "kind": "folder", "data": { "name": "B", "reference": "F-000002" } },
        { "op": "create", "kind": "folder", "data": { "name": "C" } },
        { "op": "create", "kind": "assignment", "data": { "folder": "F-000002", "title": "T" } },
        { "op": "delete", "kind": "folder", "key": "F-000002" },
    ]))
    .ok();
    let expected = ["created", "unchanged", "created", "created", "created", "deleted"];
    assert_eq!(statuses(&response), expected, "each operation has its own result");
    let ids: Vec<_> = (0..2).map(|index| response["results"][index]["id"].clone()).collect();
    assert_eq!(ids[0], ids[1]);
    // A reference that a later operation sets is not generated for an earlier one.
    assert_eq!(response["results"][3]["reference"], "F-000003");
    assert_eq!(totals(&server, &token), json!([2, 0, 0, 0, 18]));
}

fn failed_operations_leave_nothing_behind(engine: Engine) {
    let (server, token) = start(engine);
    let body = json!([
        { "op": "create", "kind": "folder", "data": { "name": "A", "owner": "first@example.test" } },
        { "op": "create", "kind": "folder",
            "data": { "name": "B", "owner": "second@example.test", "startDate": "2026-02-01", "dueDate": "2026-01-01" } },
        { "op": "update", "kind": "folder", "key": "F-999999", "data": {} },
        { "op": "create", "kind": "folder", "data": { "nam": "C" } },
        { "op": "create", "kind": "folder", "data": { "name": "D" } },
    ]);
    let atomic = post(&server, &token, "/bulk", &body);
    // All problems at once, also those of operations that can be read.
    assert_eq!(atomic.error_pointers(), ["/1/data/dueDate", "/3/data/nam", "/3/data/name"]);
    assert_eq!(totals(&server, &token), json!([0, 0, 0, 0, 18]));
    let response = post(&server, &token, "/bulk?atomic=false", &body).ok();
    assert_eq!(statuses(&response), ["created", "failed", "failed", "failed", "created"]);
    assert_eq!((&response["applied"], &response["failed"]), (&json!(2), &json!(3)));
    assert_eq!(
        response["results"][1]["error"],
        json!({
            "statusCode": 400, "error": "Bad Request",
            "message": "/1/data/dueDate: must not be before startDate",
            "details": [{ "pointer": "/1/data/dueDate", "message": "must not be before startDate" }],
        })
    );
    assert_eq!(response["results"][2]["error"]["statusCode"], 404);
    assert_eq!(response["results"][4]["reference"], "F-000002", "no reference is lost");
    assert_eq!(totals(&server, &token), json!([2, 0, 0, 0, 18]));
    // The failed operation created no person.
    let known = ["first@example.test", "second@example.test"].map(|email| {
        let body = json!({ "name": "E", "owner": email });
        let owner = post(&server, &token, "/folders", &body).ok()["owner"].clone();
        server.get("/folders/F-000001", &token).ok()["owner"] == owner
    });
    assert_eq!(known, [true, false]);
}

fn lines_are_accepted_and_returned(engine: Engine) {
    let (server, token) = start(engine);
    let lines = "{\"op\":\"create\",\"kind\":\"folder\",\"data\":{\"name\":\"A\"}}\r\n\n\
                 {\"op\":\"create\"\n\
                 {\"op\":\"create\",\"kind\":\"folder\",\"data\":{\"name\":\"B\"}}\n";
    let request = |path: &str| {
        let request = Request::new("POST", &format!("{API}{path}")).token(&token);
        request.header("Content-Type", "application/x-ndjson").body(lines)
    };
    assert_eq!(send(&server, &request("/bulk")).error_pointers(), ["/1"]);
    let accepting = request("/bulk?atomic=false").header("Accept", "application/x-ndjson");
    let response = send(&server, &accepting);
    assert_eq!(response.header("content-type"), Some("application/x-ndjson"));
    let results: Vec<Value> =
        response.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(statuses(&json!({ "results": results })), ["created", "failed", "created"]);
    assert_eq!(totals(&server, &token)[0], 2);
}

fn a_thousand_operations_are_accepted_and_no_more(engine: Engine) {
    let (server, token) = start(engine);
    let operations = |count: usize| -> Value {
        let create = |number: usize| {
            json!({ "op": "create", "kind": "folder",
            "data": { "name": format!("Folder {number}"), "externalId": number.to_string() } })
        };
        (0..count).map(create).collect()
    };
    let message = "The body must have at most 1000 operations";
    let response = post(&server, &token, "/bulk", &operations(1_001));
    assert_eq!(response.error_pointers(), [""]);
    assert_eq!(response.json()["message"], message);
    let response = post(&server, &token, "/bulk", &operations(1_000)).ok();
    assert_eq!(response["applied"], 1_000);
    assert_eq!(server.get("/folders?limit=1&page=1000", &token).column("externalId"), ["999"]);
    let large =
        json!([{ "op": "create", "kind": "folder", "data": { "name": "x".repeat(17 << 20) } }]);
    let response = post(&server, &token, "/bulk", &large);
    response.assert_error(400, "The body is larger than 16777216 bytes");
}

fn members_without_a_value_are_absent(engine: Engine) {
    let (server, token) = start(engine);
    let response = post(
        &server,
        &token,
        "/bulk",
        &json!([
            { "op": "create", "kind": "folder", "key": null, "match": null, "ifVersion": null,
                "data": { "name": "A", "reference": "A" } },
            { "op": "update", "kind": "folder", "key": "A", "ifVersion": null, "data": { "name": "B" } },
            { "op": "update", "kind": "folder", "key": "A", "data": { "name": "A" } },
            { "op": "archive", "kind": "folder", "key": "A", "data": null },
        ]),
    );
    assert_eq!(statuses(&response.ok()), ["created", "updated", "updated", "updated"]);
    let body = json!([{ "op": "create", "kind": "folder", "data": null, "name": null }]);
    let mut pointers = post(&server, &token, "/bulk", &body).error_pointers();
    pointers.sort();
    assert_eq!(pointers, ["/0/data", "/0/name"]);
}

fn operations_that_revert_each_other_change_nothing(engine: Engine) {
    let (server, token) = start(engine);
    post(&server, &token, "/folders", &json!({ "name": "A", "reference": "A" })).ok();
    let rename = |name: &str| json!({ "op": "update", "kind": "folder", "key": "A", "data": { "name": name } });
    let body = json!([rename("B"), rename("A")]);
    let response = post(&server, &token, "/bulk", &body).ok();
    assert_eq!(statuses(&response), ["unchanged", "unchanged"]);
    assert_eq!(response["results"][1]["version"], 1);
}

fn empty_request_changes_nothing(engine: Engine) {
    let (server, token) = start(engine);
    let response = post(&server, &token, "/bulk", &json!([])).ok();
    assert_eq!(response, json!({ "applied": 0, "failed": 0, "results": [] }));
    post(&server, &token, "/bulk?atomic=1", &json!([]))
        .assert_error(400, "atomic must be true or false");
}
