//! `Idempotency-Key` on every POST that writes.

use super::{send, start, text, totals};
use crate::on_both_engines;
use groma_testkit::{API, Engine, Response, http::Request};
use serde_json::{Value, json};

on_both_engines! {
    repeated_posts_return_the_first_response
    key_belongs_to_one_body_and_one_path
}

fn with_key(request: Request, key: &str) -> Request {
    request.header("Idempotency-Key", key)
}

fn repeated_posts_return_the_first_response(engine: Engine) {
    let (server, token) = start(engine);
    let folder = Request::post("/folders", &token, &json!({ "name": "A", "reference": "A" }));
    let folder = send(&server, &with_key(folder, "folder")).ok();
    let id = text(&folder, "id");
    let status = json!({ "name": "On hold", "appliesTo": "folder" });
    let bulk = json!([{ "op": "create", "kind": "folder", "data": { "name": "C" } }]);
    let requests = [
        Request::post("/folders", &token, &json!({ "name": "A", "reference": "A" })),
        Request::post(
            "/folders?match=reference",
            &token,
            &json!({ "name": "B", "reference": "A" }),
        ),
        Request::post("/assignments", &token, &json!({ "title": "T", "folder": "A" })),
        Request::post(
            "/expenses",
            &token,
            &json!({ "folder": "A", "unitAmount": "1.00", "incurredOn": "2026-11-18" }),
        ),
        Request::post("/budgets", &token, &json!({ "name": "B", "folder": "A", "amount": 7 })),
        Request::post("/statuses", &token, &status),
        Request::post("/bulk", &token, &bulk),
        Request::new("POST", &format!("{API}/folders/{id}/archive")).token(&token),
        Request::new("POST", &format!("{API}/folders/{id}/unarchive")).token(&token),
    ];
    for (index, request) in requests.into_iter().enumerate() {
        let key = if index == 0 { "folder".to_owned() } else { format!("key-{index}") };
        let request = with_key(request, &key);
        let first = send(&server, &request);
        first.ok();
        let before = totals(&server, &token);
        let again = send(&server, &request);
        assert_eq!(again.header("idempotent-replayed"), Some("true"));
        let headers = |response: &Response| {
            ["etag", "x-groma-result", "content-type"]
                .map(|name| response.header(name).map(str::to_owned))
        };
        assert_eq!((again.text(), headers(&again)), (first.text(), headers(&first)));
        assert_eq!(totals(&server, &token), before);
    }
    let now = server.get(&format!("/folders/{id}"), &token).ok();
    assert_eq!((&now["name"], &now["archivedAt"]), (&json!("B"), &Value::Null));
}

fn key_belongs_to_one_body_and_one_path(engine: Engine) {
    let (server, token) = start(engine);
    let post = |path: &str, body: Value| {
        send(&server, &with_key(Request::post(path, &token, &body), "key"))
    };
    // A rejected request leaves the key unused.
    assert_eq!(post("/folders", json!({})).error_pointers(), ["/name"]);
    post("/folders", json!({ "name": "A" })).ok();
    let message = post("/folders", json!({ "name": "B" })).error(400);
    assert_eq!(message, "Idempotency-Key was used for another body within the last 24 hours");
    post("/folders?match=reference", json!({ "name": "B", "reference": "B" })).ok();
    let long = Request::post("/folders", &token, &json!({ "name": "C" }));
    send(&server, &with_key(long, &"k".repeat(256))).error(400);
    assert_eq!(server.get("/folders", &token).ok()["total"], 2);
}
