//! Writing through the API: records and statuses, one by one and in bulk.

mod bulk;
mod bulk_errors;
mod bulk_stream;
mod examples;
mod idempotency;
mod invalid_bodies;
mod members;
mod merge_patch;
mod preconditions;
mod records;
mod rights;
mod statuses;
mod upserts;

use groma_testkit::{
    Engine, Response, TestServer,
    http::Request,
    server::{NO_RATE_LIMIT, SCOPES},
};
use serde_json::{Value, json};

fn start(engine: Engine) -> (TestServer, String) {
    let server = TestServer::start_with(engine, &[NO_RATE_LIMIT]);
    let token = server.create_token(&SCOPES);
    (server, token)
}

#[track_caller]
fn send(server: &TestServer, request: &Request) -> Response {
    server.main().send(request).unwrap()
}

#[track_caller]
fn post(server: &TestServer, token: &str, path: &str, body: &Value) -> Response {
    send(server, &Request::post(path, token, body))
}

#[track_caller]
fn patch(server: &TestServer, token: &str, path: &str, body: &Value) -> Response {
    send(server, &Request::patch(path, token, body))
}

#[track_caller]
fn delete(server: &TestServer, token: &str, path: &str) -> Response {
    send(server, &Request::delete(path, token))
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_else(|| panic!("{field} in {value}"))
}

/// How many records of each kind there are.
fn totals(server: &TestServer, token: &str) -> Value {
    let total = |path: &str| server.get(path, token).ok()["total"].clone();
    json!(["/folders", "/assignments", "/expenses", "/budgets", "/statuses"].map(total))
}
