//! Who may write: scopes, roles and read-only tokens.

use super::{delete, patch, post, send, start, totals};
use crate::{on_both_engines, sample_records};
use groma_testkit::{
    API, Engine, TestServer,
    http::Request,
    server::{NO_RATE_LIMIT, SCOPES, WORKSPACE},
    wait::{PATIENCE, wait_until},
};
use serde_json::{Value, json};

on_both_engines! {
    each_route_needs_its_scope
    token_never_exceeds_the_role_of_its_owner
    scopes_are_granted_by_role
    read_only_token_writes_nothing
}

/// Every request that writes, valid for the sample records, with the scope that it needs.
fn writes(server: &TestServer, token: &str) -> Vec<(&'static str, Request)> {
    let status = server.get("/statuses", token).column("id")[4].clone();
    let mut requests = vec![
        ("WRITE_FOLDER", Request::post("/folders", token, &json!({ "name": "A" }))),
        (
            "WRITE_FOLDER",
            Request::new("POST", &format!("{API}/folders/F-000001/archive")).token(token),
        ),
        (
            "WRITE_FOLDER",
            Request::new("POST", &format!("{API}/folders/F-000001/unarchive")).token(token),
        ),
        (
            "WRITE_ASSIGNMENT",
            Request::post("/assignments", token, &json!({ "title": "A", "folder": "F-000001" })),
        ),
        (
            "WRITE_EXPENSE",
            Request::post(
                "/expenses",
                token,
                &json!({ "folder": "F-000001", "unitAmount": 1, "incurredOn": "2026-11-18" }),
            ),
        ),
        (
            "WRITE_BUDGET",
            Request::post(
                "/budgets",
                token,
                &json!({ "name": "A", "folder": "F-000001", "amount": 1 }),
            ),
        ),
        (
            "MANAGE_STATUS",
            Request::post("/statuses", token, &json!({ "name": "New", "appliesTo": "budget" })),
        ),
        (
            "MANAGE_STATUS",
            Request::patch(&format!("/statuses/{status}"), token, &json!({ "color": "#000000" })),
        ),
        ("MANAGE_STATUS", Request::delete(&format!("/statuses/{status}"), token)),
    ];
    for (scope, path) in [
        ("WRITE_EXPENSE", "/expenses/FUEL-1"),
        ("WRITE_BUDGET", "/budgets/FIELD-2026"),
        ("WRITE_ASSIGNMENT", "/assignments/STAKE-1"),
        ("WRITE_FOLDER", "/folders/CHENE-1"),
    ] {
        requests.push((scope, Request::patch(path, token, &json!({ "externalId": "x" }))));
        requests.push((scope, Request::delete(path, token)));
        let kind = &scope["WRITE_".len()..].to_lowercase();
        let key = path.rsplit('/').next().unwrap();
        let bulk = json!([{ "op": "update", "kind": kind, "key": key, "data": {} }]);
        requests.push((scope, Request::post("/bulk", token, &bulk)));
    }
    requests
}

fn each_route_needs_its_scope(engine: Engine) {
    let (server, token) = start(engine);
    sample_records::fill(&server);
    let before = totals(&server, &token);
    for scope in SCOPES {
        let others: Vec<_> = SCOPES.into_iter().filter(|other| *other != scope).collect();
        let without = server.create_token(&others);
        let message = format!("Token missing required scope: {scope}");
        for (needed, request) in writes(&server, &without) {
            if needed == scope {
                let response = send(&server, &request);
                assert_eq!(response.status, 403, "{request:?}");
                assert_eq!(response.json()["message"], message, "{request:?}");
            }
        }
    }
    assert_eq!(totals(&server, &token), before);
    // Writing does not include reading, but the response shows the record.
    let writer = server.create_token(&["WRITE_FOLDER"]);
    let folder = post(&server, &writer, "/folders", &json!({ "name": "A" })).ok();
    assert_eq!(folder["name"], "A");
    server.get("/folders", &writer).assert_error(403, "Token missing required scope: READ_FOLDER");
}

fn add_member(server: &TestServer, email: &str, role: &str) {
    let add = ["user", "add", email, "--workspace", WORKSPACE, "--role", role];
    server.run(&add).expect_success();
}

fn token_never_exceeds_the_role_of_its_owner(engine: Engine) {
    let (server, owner) = start(engine);
    sample_records::fill(&server);
    let email = "member@example.test";
    add_member(&server, email, "admin");
    let token = server.create_token_for(WORKSPACE, email, &SCOPES);
    post(&server, &token, "/folders", &json!({ "name": "A" })).ok();
    for (role, allowed) in [("viewer", vec![]), ("editor", vec!["WRITE"])] {
        add_member(&server, email, role);
        wait_until(PATIENCE, || {
            let me = server.get("/me", &token).ok();
            if me["user"]["role"] == role { Ok(()) } else { Err(me.to_string()) }
        });
        let before = totals(&server, &owner);
        for (scope, request) in writes(&server, &token) {
            if allowed.iter().any(|allowed| scope.starts_with(allowed)) {
                continue;
            }
            let response = send(&server, &request);
            assert_eq!(response.status, 403, "{role}: {request:?}");
            let message = response.json()["message"].to_string();
            assert!(message.contains("this action requires the"), "{message}");
        }
        assert_eq!(totals(&server, &owner), before);
    }
    post(&server, &token, "/folders", &json!({ "name": "B" })).ok();
}

fn scopes_are_granted_by_role(engine: Engine) {
    let server = TestServer::start_with(engine, &[NO_RATE_LIMIT]);
    for role in ["viewer", "editor", "admin"] {
        let email = format!("{role}@example.test");
        add_member(&server, &email, role);
        for scope in SCOPES {
            let create = ["token", "create", "--workspace", WORKSPACE, "--user", &email];
            let output = server.run(&[&create[..], &["--name", "x", "--scopes", scope]].concat());
            let needed = match scope {
                scope if scope.starts_with("READ") => None,
                scope if scope.starts_with("WRITE") => Some("editor"),
                _ => Some("admin"),
            };
            match (needed, role) {
                (Some("editor"), "viewer") | (Some("admin"), "viewer" | "editor") => {
                    let needed = needed.unwrap();
                    let message = format!("this action requires the {needed} role");
                    assert_eq!(output.expect_failure(), message, "{role} {scope}");
                }
                _ => drop(output.expect_success()),
            }
        }
    }
}

fn read_only_token_writes_nothing(engine: Engine) {
    let (server, token) = start(engine);
    sample_records::fill(&server);
    let scopes = SCOPES.join(",");
    let create = ["token", "create", "--workspace", WORKSPACE, "--user", "owner@example.test"];
    let create = [&create[..], &["--name", "x", "--read-only", "--scopes", &scopes]].concat();
    let read_only = server.run(&create).expect_success();
    let before: Vec<Value> =
        ["/folders", "/statuses"].map(|path| server.get(path, &token).ok()).into();
    for (_, request) in writes(&server, read_only.trim()) {
        send(&server, &request).assert_error(403, "Token is read-only");
    }
    let after: Vec<Value> =
        ["/folders", "/statuses"].map(|path| server.get(path, &token).ok()).into();
    assert_eq!(after, before);
    patch(&server, &token, "/folders/CHENE-1", &json!({ "name": "x" })).ok();
    assert_eq!(delete(&server, &token, "/folders/CHENE-1").status, 204);
}
