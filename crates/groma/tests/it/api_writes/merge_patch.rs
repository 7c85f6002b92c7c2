//! JSON merge patches: what null does, and patches of different fields.

use super::{patch, post, start, text};
use crate::on_both_engines;
use groma_testkit::{API, Engine, http::Request};
use serde_json::{Value, json};

on_both_engines! {
    null_clears_a_field_and_removes_a_custom_field
    patches_of_different_fields_merge
}

fn null_clears_a_field_and_removes_a_custom_field(engine: Engine) {
    let (server, token) = start(engine);
    let body = json!({ "name": "A", "description": "text", "dueDate": "2026-12-18",
        "customFields": { "a": 1, "b": null, "c": "x", "d/e~f": true } });
    let folder = post(&server, &token, "/folders", &body).ok();
    assert_eq!(folder["customFields"], body["customFields"], "a new record stores nulls");
    let path = format!("/folders/{}", text(&folder, "id"));
    let change = |body: Value| patch(&server, &token, &path, &body).ok();
    let changed = change(json!({ "dueDate": null,
        "customFields": { "a": null, "c": "y", "n": 2.50, "gone": null } }));
    assert_eq!((&changed["dueDate"], &changed["description"]), (&Value::Null, &json!("text")));
    let fields = json!({ "b": null, "c": "y", "d/e~f": true, "n": 2.50 });
    assert_eq!(changed["customFields"], fields);
    let unchanged = change(json!({ "dueDate": null, "customFields": { "b": null } }));
    assert_eq!(unchanged, changed, "a stored null that is sent back changes nothing");
    let unchanged = change(json!({ "customFields": { "n": 2.5 } }));
    assert_eq!(unchanged, changed, "another spelling of a number changes nothing");
    assert_eq!(change(json!({ "customFields": null }))["customFields"], json!({}));
    assert_eq!(change(json!({}))["version"], 3, "an empty patch changes nothing");
    let problem = patch(&server, &token, &path, &json!({ "name": null }));
    assert_eq!(problem.error_pointers(), ["/name"]);
}

fn patches_of_different_fields_merge(engine: Engine) {
    let (server, token) = start(engine);
    let folder = post(&server, &token, "/folders", &json!({ "name": "A" })).ok();
    let path = format!("/folders/{}", text(&folder, "id"));
    std::thread::scope(|scope| {
        for (client, field) in ["clientName", "description", "externalId"].iter().enumerate() {
            let (path, token, server) = (&path, &token, &server);
            scope.spawn(move || {
                for round in 0..20 {
                    let body = json!({ (*field): format!("{client} {round}") });
                    patch(server, token, path, &body).ok();
                }
            });
        }
    });
    let merged = server.get(&path, &token).ok();
    for (client, field) in ["clientName", "description", "externalId"].iter().enumerate() {
        assert_eq!(merged[*field], format!("{client} 19"));
    }
    assert_eq!(merged["version"], 61);
    // Plain JSON is a merge patch too; other types are not.
    let request = |media_type: &str| {
        let request = Request::new("PATCH", &format!("{API}{path}")).token(&token);
        let request = request.header("Content-Type", media_type).body(r#"{"name":"B"}"#);
        super::send(&server, &request)
    };
    assert_eq!(request("application/json; charset=utf-8").ok()["name"], "B");
    let message = "Content-Type must be application/merge-patch+json or application/json";
    request("application/json-patch+json").assert_error(400, message);
}
