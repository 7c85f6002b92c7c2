//! Parameters of the change feed, and bodies of webhook endpoints with their filters.

use super::{changed, fuzz, is_accepted, percent_encode_query, post_geojson, server};
use groma_testkit::{API, http::Request};
use serde_json::json;

#[test]
fn parameters_of_the_change_feed_break_nothing() {
    let (server, token) = server();
    server.import("folders", &[json!({ "name": "Chêne" })]);
    post_geojson(&server, &token, br#"{"type":"Point","coordinates":[2,48]}"#);
    let cursor = server.get("/changes?after=now", &token).ok()["next"].as_str().unwrap().to_owned();
    // Without `wait`, which would only take time.
    let words = [
        "after=",
        "after=now",
        cursor.as_str(),
        "kinds=",
        "folder",
        "geometry",
        "layer",
        "expense,budget",
        "limit=",
        "1000",
        "1001",
        "0",
        "-1",
        ",",
        "&",
        "=",
        "%",
        "%00",
        "%FF",
        "+",
        "_",
        "AAAA",
    ];
    fuzz(
        "changes",
        300,
        |corpus| changed(corpus, &words),
        |query| {
            let Some(query) = percent_encode_query(query) else { return };
            let path = format!("{API}/changes?{query}");
            let response = server.main().get_raw(path.as_bytes(), &token);
            if is_accepted(&response, &[400]) {
                let page = response.json();
                assert!(page["next"].is_string() && page["more"].is_boolean(), "{page}");
                assert!(page["content"].as_array().unwrap().len() <= 1_000, "{page}");
            }
        },
    );
}

#[test]
fn bodies_of_webhook_endpoints_break_nothing() {
    let (server, token) = server();
    let url = "https://receiver.example.test/";
    let create = Request::post("/webhooks/endpoints", &token, &json!({ "url": url }));
    let created = server.main().send(&create).unwrap().ok();
    let path = format!("/webhooks/endpoints/{}", created["id"].as_str().unwrap());
    let words = [
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "null",
        "true",
        "1e400",
        "-180",
        "90.0001",
        "\"filter\":{",
        "\"bbox\":[",
        "\"folderIds\":[",
        "\"layerIds\":[",
        "\"01a1f24f-bed8-7c91-995d-25e03dd2fe2e\"",
        "\"events\":[\"geometry.*\"]",
        "\"layer.*\"",
        "\"enabled\":",
        "\"description\":",
        "\\u0000",
        "\\ud800",
    ];
    fuzz(
        "webhook-endpoints",
        300,
        |corpus| changed(corpus, &words),
        |body| {
            let before = server.get(&path, &token).ok();
            let request = Request::new("PATCH", &format!("{API}{path}")).token(&token);
            let request = request.header("Content-Type", "application/merge-patch+json").body(body);
            let response = server.main().send(&request).unwrap();
            let after = server.get(&path, &token).ok();
            match is_accepted(&response, &[400]) {
                true => assert_eq!(after, response.json()),
                false => assert_eq!(after, before, "a rejected request changed something"),
            }
        },
    );
}
