//! Behaviour of every response of the listeners: request id, CORS, error body, HEAD.

use crate::{on_both_engines, sample_records, sample_records::FOLDER, sample_records::is_uuid_v7};
use groma_testkit::{
    API, Engine, Response, TestServer, server::ADMIN_LISTENER, server::NO_RATE_LIMIT,
};
use serde_json::json;
use std::io::{Read, Write};

const FOLDERS: &str = "/api/public/v1/folders";

fn request_id(response: &Response) -> String {
    let ids: Vec<_> = response.headers.get_all("x-request-id").iter().collect();
    assert_eq!(ids.len(), 1);
    ids[0].to_str().unwrap().to_owned()
}

fn exposes(response: &Response, name: &str) -> bool {
    let exposed = response.header("access-control-expose-headers").unwrap_or_default();
    exposed.split(',').any(|one| one.trim().eq_ignore_ascii_case(name))
}

on_both_engines! {
    head_responds_like_get_without_a_body
    every_response_has_a_request_id
    valid_request_id_is_kept_and_an_invalid_one_replaced
    header_names_begin_with_capitals
    every_response_forbids_guessing_the_content_type
    every_api_response_allows_other_origins
    preflight_request_needs_no_token
    options_on_an_unknown_route_returns_404
    body_of_a_get_is_ignored
    main_routes_are_not_on_the_geo_listener
    very_long_url_gets_a_regular_error_response
}

/// QGIS 3.40 finds the address of a new feature only in `Location`, not in `location`.
fn header_names_begin_with_capitals(engine: Engine) {
    let server = TestServer::start(engine);
    for client in [server.main(), server.geo()] {
        let mut stream = client.connect();
        let request = format!("GET {FOLDERS} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        assert!(response.contains("\r\nContent-Type: application/json\r\n"), "{response}");
    }
}

fn head_responds_like_get_without_a_body(engine: Engine) {
    let server = TestServer::start_with(engine, &[NO_RATE_LIMIT]);
    sample_records::fill(&server);
    let token = server.create_full_token();
    for path in [
        "/folders",
        "/folders/CHENE-1",
        "/statuses",
        "/folders/missing",
        "/folders?page=0",
        "/openapi.json",
        "/nowhere",
    ] {
        let path = format!("{API}{path}");
        let get = server.main().request("GET", &path).token(&token).send();
        let head = server.main().request("HEAD", &path).token(&token).send();
        assert_eq!((head.status, head.body.len()), (get.status, 0), "{path}");
        for name in ["content-type", "etag", "vary", "content-length", "cache-control"] {
            assert_eq!(head.header(name), get.header(name), "{name} of {path}");
        }
    }
    let head = server.main().request("HEAD", FOLDERS).send();
    assert_eq!((head.status, head.header("www-authenticate")), (401, Some("Bearer")));
    let tag = server.get("/folders", &token).header("etag").unwrap().to_owned();
    let head =
        server.main().request("HEAD", FOLDERS).token(&token).header("If-None-Match", tag).send();
    assert_eq!(head.status, 304);
}

fn every_response_has_a_request_id(engine: Engine) {
    let server = TestServer::start(engine);
    let token = server.create_token(&["READ_FOLDER"]);
    let mut ids = Vec::new();
    for (client, method, path) in [
        (server.main(), "GET", FOLDERS),
        (server.main(), "GET", "/api/public/v1/expenses"),
        (server.main(), "GET", "/api/public/v1/folders?page=0"),
        (server.main(), "GET", "/api/public/v1/folders/x"),
        (server.main(), "GET", "/nowhere"),
        (server.main(), "OPTIONS", FOLDERS),
        (server.main(), "GET", "/api/public/v1/openapi.json"),
        (server.main(), "GET", "/docs/"),
        (server.geo(), "GET", "/api/public/v1/layers"),
        (server.geo(), "GET", "/"),
    ] {
        let id = request_id(&client.request(method, path).token(&token).send());
        assert!(is_uuid_v7(&json!(id)), "{id}");
        assert!(!ids.contains(&id));
        ids.push(id);
    }
    let id = request_id(&server.main().request("GET", FOLDERS).send());
    assert!(is_uuid_v7(&json!(id)));
}

fn valid_request_id_is_kept_and_an_invalid_one_replaced(engine: Engine) {
    let server = TestServer::start(engine);
    let longest = "x".repeat(128);
    for sane in ["abc", "a-b_c.d", "019a8b7c-0000-7000-8000-000000000000", "1", &longest] {
        for client in [server.main(), server.geo()] {
            let response = client.request("GET", "/nowhere").header("X-Request-Id", sane).send();
            assert_eq!(request_id(&response), sane);
        }
    }
    let too_long = "x".repeat(129);
    for insane in ["", " ", "a b", "<script>", "a\"b", "{}", "a;b", "a,b", &too_long] {
        let response =
            server.main().request("GET", "/nowhere").header("X-Request-Id", insane).send();
        assert!(is_uuid_v7(&json!(request_id(&response))), "{insane}");
    }
    let request = b"GET /nowhere HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Request-Id: caf\xC3\xA9\r\n\r\n";
    assert!(is_uuid_v7(&json!(request_id(&server.main().send_raw(request)))));
}

fn every_response_forbids_guessing_the_content_type(engine: Engine) {
    let server = TestServer::start_with(engine, &[ADMIN_LISTENER]);
    let token = server.create_token(&["READ_FOLDER"]);
    let login = server.main().request("GET", "/login").send().text();
    let asset = login.split("\"/assets/").nth(1).unwrap().split('"').next().unwrap();
    let asset = format!("/assets/{asset}");
    for (client, method, path, status) in [
        (server.main(), "GET", FOLDERS, 200),
        (server.main(), "HEAD", FOLDERS, 200),
        (server.main(), "GET", "/api/public/v1/folders?page=0", 400),
        (server.main(), "GET", "/api/public/v1/expenses", 403),
        (server.main(), "GET", "/api/public/v1/folders/x", 404),
        (server.main(), "OPTIONS", FOLDERS, 204),
        (server.main(), "GET", "/api/public/v1/openapi.json", 200),
        (server.main(), "GET", "/docs/", 200),
        (server.main(), "GET", "/login", 200),
        (server.main(), "GET", "/", 303),
        (server.main(), "GET", "/nowhere", 404),
        (server.main(), "GET", &asset, 200),
        (server.main(), "GET", "/assets/nothing.css", 404),
        (server.geo(), "GET", "/api/public/v1/layers", 200),
        (server.geo(), "GET", "/maps/x/0/0/0.mvt", 404),
        (server.geo(), "GET", "/nowhere", 404),
        (server.admin(), "GET", "/healthz", 200),
        (server.admin(), "GET", "/metrics", 200),
        (server.admin(), "GET", "/nowhere", 404),
    ] {
        let response = client.request(method, path).token(&token).send();
        assert_eq!(response.status, status, "{path}");
        assert_eq!(response.header("x-content-type-options"), Some("nosniff"), "{path}");
    }
    let response = server.main().request("GET", FOLDERS).send();
    assert_eq!(response.status, 401);
    assert_eq!(response.header("x-content-type-options"), Some("nosniff"));
}

fn every_api_response_allows_other_origins(engine: Engine) {
    let server = TestServer::start(engine);
    sample_records::fill(&server);
    let token = server.create_token(&["READ_FOLDER"]);
    let responses = [
        server.get("/folders", &token),
        server.get(&format!("/folders/{FOLDER}"), &token),
        server.get("/folders?page=0", &token),
        server.get("/folders", "nonsense"),
        server.get("/expenses", &token),
        server.get("/folders/missing", &token),
        server.get("/nowhere", &token),
        server.get("/openapi.json", &token),
        server.geo().request("GET", "/api/public/v1/layers").send(),
        server.main().request("GET", FOLDERS).token(&token).header("If-None-Match", "*").send(),
    ];
    for response in responses {
        assert_eq!(response.header("access-control-allow-origin"), Some("*"), "{response:?}");
        assert_eq!(response.header("access-control-allow-credentials"), None);
        for name in [
            "ETag",
            "X-Request-Id",
            "X-RateLimit-Limit",
            "X-RateLimit-Remaining",
            "X-RateLimit-Reset",
            "RateLimit",
            "RateLimit-Policy",
            "Retry-After",
        ] {
            assert!(exposes(&response, name), "{name}");
        }
    }
    let docs = server.main().request("GET", "/docs/").send();
    assert_eq!(
        docs.header("access-control-allow-origin"),
        None,
        "only the API allows other origins"
    );
}

fn preflight_request_needs_no_token(engine: Engine) {
    let server = TestServer::start(engine);
    for (client, path) in [
        (server.main(), FOLDERS),
        (server.main(), "/api/public/v1/folders/x"),
        (server.main(), "/api/public/v1/openapi.json"),
        (server.geo(), "/api/public/v1/layers"),
        (server.geo(), "/api/public/v1/geometries/geojson"),
    ] {
        let response = client
            .request("OPTIONS", path)
            .header("Origin", "https://app.example.test")
            .header("Access-Control-Request-Method", "GET")
            .header("Access-Control-Request-Headers", "authorization")
            .send();
        assert!([200, 204].contains(&response.status), "{response:?}");
        assert_eq!(response.body.len(), 0);
        assert_eq!(response.header("access-control-allow-origin"), Some("*"));
        assert_eq!(response.header("access-control-allow-credentials"), None);
        let allowed = |header: &str, word: &str| {
            let words = response.header(header).unwrap_or_default();
            words.split(',').any(|one| one.trim().eq_ignore_ascii_case(word))
        };
        for name in ["Authorization", "Content-Type", "If-None-Match", "Idempotency-Key"] {
            assert!(allowed("access-control-allow-headers", name), "{name}");
        }
        for method in ["GET", "POST", "PATCH", "DELETE"] {
            assert!(allowed("access-control-allow-methods", method), "{method}");
        }
    }
}

fn options_on_an_unknown_route_returns_404(engine: Engine) {
    let server = TestServer::start(engine);
    for (client, path) in [
        (server.main(), "/api/public/v1/nowhere"),
        (server.main(), "/api/public/v1/folders/a/b"),
        (server.main(), "/api/public/"),
        (server.main(), "/api/public/v1/layers"),
        (server.geo(), "/api/public/v1/folders"),
        (server.main(), "/docs/"),
        (server.main(), "/nowhere"),
    ] {
        client.request("OPTIONS", path).send().assert_error(404, "No such route");
    }
}

fn body_of_a_get_is_ignored(engine: Engine) {
    let server = TestServer::start(engine);
    let token = server.create_token(&["READ_FOLDER"]);
    let request = format!(
        "GET {FOLDERS} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer {token}\r\n\
         Content-Type: application/json\r\nContent-Length: 5\r\n\r\n{{}}}}}}"
    );
    let response = server.main().send_raw(request.as_bytes());
    assert_eq!(response.ok()["total"], 0);
}

fn main_routes_are_not_on_the_geo_listener(engine: Engine) {
    let server = TestServer::start(engine);
    let token = server.create_full_token();
    for path in ["/folders", "/statuses", "/openapi.json"] {
        let path = format!("{API}{path}");
        let response = server.geo().request("GET", &path).token(&token).send();
        response.assert_error(404, "No such route");
    }
}

fn very_long_url_gets_a_regular_error_response(engine: Engine) {
    let server = TestServer::start(engine);
    let token = server.create_token(&["READ_FOLDER"]);
    let long = "x".repeat(60_000);
    server.get(&format!("/folders/{long}"), &token).error(404);
    let message = server.get(&format!("/folders?term={long}"), &token).error(400);
    assert_eq!(message, "term must have at most 200 characters");
    server.get(&format!("/folders?other={long}"), &token).ok();
}
