//! `Idempotency-Key`: a repeated POST returns the first response.

use super::{GEOJSON, Map, feature, point};
use crate::on_both_engines;
use groma_testkit::{API, Engine, Response};
use serde_json::{Value, json};

fn post(map: &Map, key: &str, query: &str, body: &Value) -> Response {
    let headers = [("Content-Type", "application/geo+json"), ("Idempotency-Key", key)];
    map.post_as(query, body.to_string(), &headers)
}

/// Asserts that the response is not a replayed one.
#[track_caller]
fn assert_not_replayed(response: &Response) {
    response.ok();
    assert_eq!(response.header("idempotent-replayed"), None);
}

#[track_caller]
fn assert_replayed(response: &Response, first: &Response) {
    response.ok();
    assert_eq!(response.header("idempotent-replayed"), Some("true"));
    assert_eq!(response.text(), first.text());
}

on_both_engines! {
    repeated_request_returns_the_first_response
    key_with_a_different_body_is_rejected
    key_belongs_to_its_token
    rejected_request_can_be_corrected_with_the_same_key
    key_must_be_short_and_printable
    concurrent_requests_with_one_key_run_once
}

fn repeated_request_returns_the_first_response(engine: Engine) {
    let mut map = Map::open(engine);
    let body = feature(Value::Null, point(2.0, 48.0), json!({}));
    let first = post(&map, "one", "", &body);
    assert_not_replayed(&first);
    for _ in 0..3 {
        assert_replayed(&post(&map, "one", "", &body), &first);
    }
    assert_eq!(map.count(), 1);
    // A request with another key or no key is a new request.
    assert_not_replayed(&post(&map, "two", "", &body));
    map.post("", &body);
    assert_eq!(map.count(), 3);
    // The response survives a restart.
    map.server.kill();
    map.server.serve();
    assert_replayed(&post(&map, "one", "", &body), &first);
    assert_eq!(map.count(), 3);
}

fn key_with_a_different_body_is_rejected(engine: Engine) {
    let map = Map::open(engine);
    let first = post(&map, "one", "", &point(2.0, 48.0));
    assert_not_replayed(&first);
    let message = post(&map, "one", "", &point(3.0, 48.0)).error(400);
    assert!(message.starts_with("Idempotency-Key "), "{message}");
    // Bodies are compared after decompression.
    post(&map, "one", "", &json!({ "coordinates": [2.0, 48.0], "type": "Point" })).error(400);
    assert_replayed(&post(&map, "one", "", &point(2.0, 48.0)), &first);
    let packed = zstd::encode_all(point(2.0, 48.0).to_string().as_bytes(), 1).unwrap();
    let headers = [
        ("Content-Type", "application/geo+json"),
        ("Idempotency-Key", "one"),
        ("Content-Encoding", "zstd"),
    ];
    assert_replayed(&map.post_as("", packed, &headers), &first);
    assert_eq!(map.count(), 1);
}

fn key_belongs_to_its_token(engine: Engine) {
    let mut map = Map::open(engine);
    assert_not_replayed(&post(&map, "one", "", &point(2.0, 48.0)));
    let other = map.server.create_token(&[]);
    let mine = std::mem::replace(&mut map.token, other);
    assert_not_replayed(&post(&map, "one", "", &point(3.0, 48.0)));
    map.token = mine;
    let again = post(&map, "one", "", &point(2.0, 48.0));
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    assert_eq!(map.count(), 2);
}

fn rejected_request_can_be_corrected_with_the_same_key(engine: Engine) {
    let map = Map::open(engine);
    map.post("", &point(2.0, 48.0));
    post(&map, "one", "", &json!({})).error_pointers();
    post(&map, "one", "?layer=nowhere", &point(2.0, 48.0)).error(400);
    assert_not_replayed(&post(&map, "one", "", &point(2.0, 48.0)));
    assert_eq!(map.count(), 2);
}

fn key_must_be_short_and_printable(engine: Engine) {
    let map = Map::open(engine);
    let longest = "x".repeat(255);
    for key in ["1", "a-b_c.~!", "\"quoted\"", &longest] {
        assert_not_replayed(&post(&map, key, "", &point(2.0, 48.0)));
    }
    let too_long = "x".repeat(256);
    for key in ["", "a b", &too_long] {
        let message = post(&map, key, "", &point(2.0, 48.0)).error(400);
        assert!(
            message.starts_with("Idempotency-Key must be 1 to 255 visible characters"),
            "{message}"
        );
    }
    let twice =
        [("Content-Type", "application/json"), ("Idempotency-Key", "a"), ("Idempotency-Key", "a")];
    map.post_as("", point(2.0, 48.0).to_string(), &twice).error(400);
    assert_eq!(map.count(), 4);
}

fn concurrent_requests_with_one_key_run_once(engine: Engine) {
    let map = Map::open(engine);
    let body = feature(Value::Null, point(2.0, 48.0), json!({}));
    let responses: Vec<Response> = std::thread::scope(|scope| {
        let (map, body) = (&map, &body);
        let sent: Vec<_> =
            (0..16).map(|_| scope.spawn(move || post(map, "one", "", body))).collect();
        sent.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let (first, others): (Vec<_>, Vec<_>) =
        responses.iter().partition(|response| response.header("idempotent-replayed").is_none());
    assert_eq!(first.len(), 1);
    others.into_iter().for_each(|response| assert_replayed(response, first[0]));
    assert_eq!(map.count(), 1);
}

#[test]
fn another_replica_returns_the_first_response() {
    let map = Map::open(Engine::Postgres);
    let second = map.server.start_replica();
    let body = point(2.0, 48.0);
    let first = post(&map, "one", "", &body);
    assert_not_replayed(&first);
    let path = format!("{API}{GEOJSON}");
    let request =
        second.geo().request("POST", &path).token(&map.token).header("Idempotency-Key", "one");
    let again =
        request.header("Content-Type", "application/geo+json").body(body.to_string()).send();
    assert_replayed(&again, &first);
    assert_eq!(map.count(), 1);
}
