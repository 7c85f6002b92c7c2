//! The order of checks: route, token, rate limit, scope, parameters, record. The response reports the
//! first one that fails.

use crate::{on_both_engines, sample_records};
use groma_testkit::{API, Engine, TestServer};

on_both_engines! {
    unknown_route_is_reported_before_a_missing_token
    wrong_method_is_an_unknown_route
    token_is_checked_before_scope_parameters_and_record
    rate_limit_is_checked_before_scope_parameters_and_record
    scope_is_checked_before_parameters_and_record
    parameters_are_checked_before_the_record
}

fn unknown_route_is_reported_before_a_missing_token(engine: Engine) {
    let server = TestServer::start(engine);
    let unknown = [
        "/",
        "/api",
        "/api/public/v1",
        "/api/public/v1/",
        "/api/public/v2/folders",
        "/api/public/v1/folder",
        "/api/public/v1/folders/",
        "/api/public/v1/folders/a/b",
        "/api/public/v1/Folders",
        "/api/public/v1/statuses/x/y",
        "/api/public/v1/layer",
        "/api/public/v1//folders",
        "/api/public/v1/%66olders/",
    ];
    for path in unknown.into_iter().skip(1) {
        for client in [server.main(), server.geo()] {
            client.request("GET", path).send().assert_error(404, "No such route");
            client.request("GET", path).header("Authorization", "Bearer x").send().error(404);
        }
    }
    for path in ["/", "/api/public/v1/folders", "/api/public/v1/openapi.json", "/docs/"] {
        server.geo().request("GET", path).send().assert_error(404, "No such route");
    }
}

fn wrong_method_is_an_unknown_route(engine: Engine) {
    let server = TestServer::start(engine);
    let token = server.create_full_token();
    let wrong = [
        ("folders", vec!["PUT", "PATCH", "DELETE", "TRACE"]),
        ("folders/x", vec!["POST", "PUT", "TRACE"]),
        ("folders/x/archive", vec!["PUT", "PATCH", "DELETE"]),
        ("statuses", vec!["PUT", "PATCH", "DELETE"]),
        ("bulk", vec!["PUT", "PATCH", "DELETE"]),
        ("me", vec!["POST", "PATCH", "DELETE"]),
        ("members", vec!["POST", "PATCH", "DELETE"]),
        ("openapi.json", vec!["POST", "PUT", "PATCH", "DELETE", "TRACE"]),
    ];
    for (path, methods) in wrong {
        for method in methods {
            let request = format!(
                "{method} {API}/{path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 0\r\n"
            );
            let bare = server.main().send_raw(format!("{request}\r\n").as_bytes());
            bare.assert_error(404, "No such route");
            let with_token = format!("{request}Authorization: Bearer {token}\r\n\r\n");
            let response = server.main().send_raw(with_token.as_bytes());
            response.assert_error(404, "No such route");
            assert_eq!(
                response.header("x-ratelimit-limit"),
                None,
                "the request does not count against the rate limit"
            );
        }
    }
    server.main().request("DELETE", "/docs/").send().error(404);
}

fn token_is_checked_before_scope_parameters_and_record(engine: Engine) {
    let server = TestServer::start(engine);
    for path in ["/folders?page=0", "/folders/missing", "/expenses?limit=abc&page=0"] {
        server.get(path, "svc_nonsense").assert_error(401, "Malformed token");
    }
}

fn rate_limit_is_checked_before_scope_parameters_and_record(engine: Engine) {
    let server = TestServer::start_with(engine, &[("GROMA_LIMITS__REQUESTS_PER_MINUTE", "2")]);
    let token = server.create_token(&["READ_FOLDER"]);
    server.get("/folders", &token).ok();
    server.get("/statuses", &token).ok();
    for path in ["/folders", "/folders?page=0", "/folders/missing", "/expenses", "/expenses?page=0"]
    {
        let message = "Rate limit exceeded: 2 requests per minute";
        server.get(path, &token).assert_error(429, message);
    }
    let unknown = format!("svc_{}", "0".repeat(48));
    server.get("/folders", &unknown).error(401);
    server.get("/nowhere", &token).error(404);
}

fn scope_is_checked_before_parameters_and_record(engine: Engine) {
    let server = TestServer::start(engine);
    let token = server.create_token(&["READ_FOLDER"]);
    for path in ["/expenses?page=0", "/expenses?term=%FF", "/expenses/missing", "/expenses/%FF"] {
        server.get(path, &token).assert_error(403, "Token missing required scope: READ_EXPENSE");
    }
}

fn parameters_are_checked_before_the_record(engine: Engine) {
    let server = TestServer::start(engine);
    sample_records::fill(&server);
    let token = server.create_full_token();
    server.get("/folders/%FF", &token).assert_error(400, "key must be valid UTF-8");
    server.get("/folders/missing?page=0", &token).assert_error(404, "folder `missing` not found");
}
