//! The change feed: pages, waiting, cursors, and the stream of server-sent events.

mod cursors;
mod features;
mod pages;
mod stream;

use groma_testkit::{
    API, Engine, Response, TestServer,
    http::Request,
    server::{NO_RATE_LIMIT, SCOPES},
};
use serde_json::{Value, json};

/// All kinds of changes.
const ALL_KINDS: &str = "folder,assignment,expense,budget,geometry,layer";

fn start(engine: Engine) -> (TestServer, String) {
    let server = TestServer::start_with(engine, &[NO_RATE_LIMIT]);
    let token = server.create_token(&SCOPES);
    (server, token)
}

/// Creates or changes a record.
#[track_caller]
fn write(server: &TestServer, request: &Request) -> Value {
    server.main().send(request).unwrap().ok()
}

#[track_caller]
fn create_folder(server: &TestServer, token: &str, name: &str) -> Value {
    write(server, &Request::post("/folders", token, &json!({ "name": name })))
}

#[track_caller]
fn rename_folder(server: &TestServer, token: &str, folder: &Value, name: &str) -> Value {
    let path = format!("/folders/{}", folder["id"].as_str().unwrap());
    write(server, &Request::patch(&path, token, &json!({ "name": name })))
}

/// Posts GeoJSON.
#[track_caller]
fn post_features(server: &TestServer, token: &str, query: &str, body: &Value) -> Value {
    let request = Request::post(&format!("/geometries/geojson{query}"), token, body);
    server.geo().send(&request).unwrap().ok()
}

fn point(id: usize, x: f64) -> Value {
    json!({ "type": "Feature", "id": id, "properties": { "n": id },
        "geometry": { "type": "Point", "coordinates": [x, 48.0] } })
}

fn collection(features: &[Value]) -> Value {
    json!({ "type": "FeatureCollection", "features": features })
}

/// A page of changes, or why there is none.
fn page(server: &TestServer, token: &str, query: &str) -> Response {
    server.get(&format!("/changes?{query}"), token)
}

/// The cursor of the last change.
#[track_caller]
fn now(server: &TestServer, token: &str) -> String {
    let body = page(server, token, "after=now").ok();
    assert_eq!((&body["content"], &body["more"]), (&json!([]), &json!(false)));
    text(&body["next"]).to_owned()
}

/// All changes after a cursor, read by pages of this size.
#[track_caller]
fn read_all(
    server: &TestServer,
    token: &str,
    kinds: &str,
    after: &str,
    limit: usize,
) -> Vec<Value> {
    let (mut after, mut changes) = (after.to_owned(), Vec::new());
    loop {
        let body = page(server, token, &format!("kinds={kinds}&limit={limit}&after={after}")).ok();
        let content = body["content"].as_array().unwrap();
        assert!(content.len() <= limit);
        changes.extend(content.iter().cloned());
        if let Some(last) = content.last().filter(|_| content.len() == limit) {
            assert_eq!(last["cursor"], body["next"]);
        }
        after = text(&body["next"]).to_owned();
        if body["more"] == false {
            return changes;
        }
    }
}

/// The events of changes, with a field of their data.
fn events(changes: &[Value], field: &str) -> Vec<String> {
    let event = |change: &Value| format!("{} {}", text(&change["event"]), change["data"][field]);
    changes.iter().map(event).collect()
}

#[track_caller]
fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value} is not a string"))
}

/// The path of a resource of the public API.
fn api(path: &str) -> String {
    format!("{API}{path}")
}
