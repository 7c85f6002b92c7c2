//! The rate limit: an exact number of accepted requests in any 60 seconds, reported in every response.
//!
//! The length of the window is not a setting, so no test here waits for its end: the store's tests do
//! with their own clock, and `make chaos` does with the real one.

use crate::{on_both_engines, sample_records, sample_records::FOLDER};
use groma_testkit::{API, Client, Engine, Response, TestServer, server::NO_RATE_LIMIT};
use std::time::{SystemTime, UNIX_EPOCH};

const RATE_LIMIT: &str = "GROMA_LIMITS__REQUESTS_PER_MINUTE";

fn number(response: &Response, name: &str) -> u64 {
    let text = response.header(name).unwrap_or_else(|| panic!("{name} is missing"));
    text.parse().unwrap_or_else(|_| panic!("{name}: {text}"))
}

fn remaining(response: &Response) -> u64 {
    number(response, "x-ratelimit-remaining")
}

/// Asserts that all rate limit headers are present and consistent.
fn assert_headers(response: &Response, limit: u64) {
    assert_eq!(number(response, "x-ratelimit-limit"), limit);
    assert_eq!(
        response.header("ratelimit-policy"),
        Some(format!("\"default\";q={limit};w=60").as_str())
    );
    let left = remaining(response);
    assert!(left < limit, "this request counts");
    let standing = response.header("ratelimit").unwrap();
    let seconds = standing
        .strip_prefix(&format!("\"default\";r={left};t="))
        .unwrap_or_else(|| panic!("{standing}"));
    let seconds: u64 = seconds.parse().unwrap();
    assert!(seconds <= 60, "{seconds}");
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let reset = number(response, "x-ratelimit-reset");
    assert!((now..=now + 61).contains(&reset), "reset is {reset} at {now}");
    assert!(reset.abs_diff(now + seconds) <= 2, "reset {reset} differs from {now} + {seconds}");
}

/// Sends requests concurrently, spread over the clients.
fn send_concurrently(clients: &[&Client], token: &str, count: usize) -> Vec<Response> {
    let path = format!("{API}/folders");
    std::thread::scope(|scope| {
        let senders: Vec<_> = (0..count)
            .map(|index| {
                let (client, path) = (clients[index % clients.len()], &path);
                scope.spawn(move || client.request("GET", path).token(token).send())
            })
            .collect();
        senders.into_iter().map(|sender| sender.join().unwrap()).collect()
    })
}

/// Asserts that exactly `limit` requests passed and the others were rejected.
fn assert_limited(responses: &[Response], limit: usize) {
    let (passed, rejected): (Vec<_>, Vec<_>) =
        responses.iter().partition(|response| response.status == 200);
    assert_eq!(passed.len(), limit);
    let mut left: Vec<_> = passed.iter().map(|response| remaining(response)).collect();
    left.sort_unstable();
    let expected: Vec<_> = (0..limit as u64).collect();
    assert_eq!(left, expected, "every accepted request has one fewer remaining");
    for response in responses {
        assert_headers(response, limit as u64);
    }
    for response in passed {
        assert_eq!(response.header("retry-after"), None);
    }
    for response in rejected {
        response.assert_error(429, &format!("Rate limit exceeded: {limit} requests per minute"));
        assert_eq!(remaining(response), 0);
        assert!((1..=60).contains(&number(response, "retry-after")));
    }
}

on_both_engines! {
    exactly_100_of_150_concurrent_requests_pass
    headers_report_the_remaining_requests
    every_response_to_a_valid_token_counts
    requests_without_authentication_do_not_count
    rejected_request_does_not_count
    restart_keeps_the_window
    each_token_has_its_own_window
    zero_disables_the_limit_and_its_headers
}

fn exactly_100_of_150_concurrent_requests_pass(engine: Engine) {
    let server = TestServer::start(engine);
    let token = server.create_token(&["READ_FOLDER"]);
    assert_limited(&send_concurrently(&[server.main()], &token, 150), 100);
}

fn headers_report_the_remaining_requests(engine: Engine) {
    let server = TestServer::start(engine);
    let token = server.create_token(&["READ_FOLDER"]);
    for left in (97..100).rev() {
        let response = server.get("/folders", &token);
        assert_headers(&response, 100);
        assert_eq!(remaining(&response), left);
        assert_eq!(response.header("retry-after"), None);
    }
}

fn every_response_to_a_valid_token_counts(engine: Engine) {
    let server = TestServer::start(engine);
    sample_records::fill(&server);
    let token = server.create_token(&["READ_FOLDER"]);
    let etag = server.get("/folders", &token).header("etag").unwrap().to_owned();
    let list = format!("{API}/folders");
    let mut left = 99;
    let mut counts = |response: Response, status: u16| {
        left -= 1;
        assert_eq!((response.status, remaining(&response)), (status, left));
        assert_headers(&response, 100);
    };
    counts(
        server.main().request("GET", &list).token(&token).header("If-None-Match", etag).send(),
        304,
    );
    counts(server.get("/folders?page=0", &token), 400);
    counts(server.get("/folders/%FF", &token), 400);
    counts(server.get("/expenses", &token), 403);
    counts(server.get("/folders/missing", &token), 404);
    counts(server.get(&format!("/folders/{FOLDER}"), &token), 200);
    counts(server.get("/statuses", &token), 200);
    counts(server.main().request("HEAD", &list).token(&token).send(), 200);
}

fn requests_without_authentication_do_not_count(engine: Engine) {
    let server = TestServer::start(engine);
    let token = server.create_token(&["READ_FOLDER"]);
    assert_eq!(remaining(&server.get("/folders", &token)), 99);
    for (method, path) in [
        ("GET", "/api/public/v1/openapi.json"),
        ("GET", "/docs/"),
        ("GET", "/docs"),
        ("OPTIONS", "/api/public/v1/folders"),
        ("GET", "/api/public/v1/nowhere"),
        ("DELETE", "/api/public/v1/folders"),
    ] {
        let response = server.main().request(method, path).token(&token).send();
        assert_eq!(response.header("x-ratelimit-limit"), None, "{method} {path}");
        let geo = server.geo().request(method, path).token(&token).send();
        assert_eq!(geo.header("x-ratelimit-limit"), None, "{method} {path}");
    }
    server.get("/folders", "malformed").error(401);
    server.get("/folders", &format!("svc_{}", "0".repeat(48))).error(401);
    assert_eq!(remaining(&server.get("/folders", &token)), 98);
}

fn rejected_request_does_not_count(engine: Engine) {
    let server = TestServer::start_with(engine, &[(RATE_LIMIT, "3")]);
    let token = server.create_token(&["READ_FOLDER"]);
    let first = number(&server.get("/folders", &token), "x-ratelimit-reset");
    server.get("/folders", &token).ok();
    server.get("/folders", &token).ok();
    for _ in 0..20 {
        let rejected = server.get("/folders", &token);
        rejected.error(429);
        let reset = number(&rejected, "x-ratelimit-reset");
        assert!(reset.abs_diff(first) <= 1, "{reset} has moved from {first}");
    }
}

fn restart_keeps_the_window(engine: Engine) {
    let mut server = TestServer::start_with(engine, &[(RATE_LIMIT, "3")]);
    let (one, two) = (server.create_token(&["READ_FOLDER"]), server.create_token(&["READ_FOLDER"]));
    let first = number(&server.get("/folders", &one), "x-ratelimit-reset");
    server.get("/folders", &one).ok();
    for _ in 0..2 {
        assert_eq!(server.stop(), Some(0));
        server.serve();
    }
    let third = server.get("/folders", &one);
    assert_eq!(remaining(&third), 0);
    assert!(number(&third, "x-ratelimit-reset").abs_diff(first) <= 1);
    server.get("/folders", &one).error(429);
    assert_eq!(remaining(&server.get("/folders", &two)), 2);
}

fn each_token_has_its_own_window(engine: Engine) {
    let server = TestServer::start_with(engine, &[(RATE_LIMIT, "2")]);
    let (one, two) = (server.create_token(&["READ_FOLDER"]), server.create_token(&["READ_FOLDER"]));
    server.get("/folders", &one).ok();
    server.get("/folders", &one).ok();
    server.get("/folders", &one).error(429);
    assert_eq!(remaining(&server.get("/folders", &two)), 1);
    server.get("/folders", &two).ok();
    server.get("/folders", &two).error(429);
}

fn zero_disables_the_limit_and_its_headers(engine: Engine) {
    let server = TestServer::start_with(engine, &[NO_RATE_LIMIT]);
    let token = server.create_token(&["READ_FOLDER"]);
    for response in send_concurrently(&[server.main()], &token, 120) {
        response.ok();
        for name in [
            "x-ratelimit-limit",
            "x-ratelimit-remaining",
            "x-ratelimit-reset",
            "ratelimit",
            "ratelimit-policy",
            "retry-after",
        ] {
            assert_eq!(response.header(name), None, "{name}");
        }
    }
}

#[test]
fn replicas_share_the_window() {
    let server = TestServer::start(Engine::Postgres);
    let second = server.start_replica();
    let token = server.create_token(&["READ_FOLDER"]);
    assert_limited(&send_concurrently(&[server.main(), second.main()], &token, 150), 100);
}
