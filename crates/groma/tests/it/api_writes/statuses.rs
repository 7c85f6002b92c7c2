//! Statuses: created, changed and deleted through the API.

use super::{delete, patch, post, send, start, text};
use crate::on_both_engines;
use groma_testkit::{Engine, http::Request};
use serde_json::{Value, json};

on_both_engines! {
    status_is_created_changed_and_deleted
    status_in_use_needs_a_replacement
    rules_of_statuses_hold
}

fn status_is_created_changed_and_deleted(engine: Engine) {
    let (server, token) = start(engine);
    let body = json!({ "name": "On hold", "appliesTo": "folder", "group": "inProgress",
        "color": "#ABCDEF", "position": 9 });
    let created = post(&server, &token, "/statuses", &body);
    let status = created.ok();
    assert_eq!((&status["color"], &status["isDefault"]), (&json!("#abcdef"), &json!(false)));
    let path = format!("/statuses/{}", text(&status, "id"));
    let read = server.get(&path, &token);
    assert_eq!((read.ok(), read.header("etag")), (status.clone(), created.header("etag")));
    let etag = read.header("etag").unwrap();
    let renamed = Request::patch(&path, &token, &json!({ "name": "Waiting" }));
    let renamed = renamed.header("If-Match", etag);
    assert_eq!(send(&server, &renamed).ok()["name"], "Waiting");
    let message = format!("status `{}` has changed since it was read", text(&status, "id"));
    send(&server, &renamed).assert_error(412, &message);
    let stale = Request::delete(&path, &token).header("If-Match", etag);
    send(&server, &stale).assert_error(412, &message);
    assert_eq!(delete(&server, &token, &path).status, 204);
    for path in [&*path, "/statuses/x", "/statuses/F-000001"] {
        let key = path.rsplit('/').next().unwrap();
        let message = format!("status `{key}` not found");
        server.get(path, &token).assert_error(404, &message);
        delete(&server, &token, path).assert_error(404, &message);
        patch(&server, &token, path, &json!({})).assert_error(404, &message);
    }
}

fn status_in_use_needs_a_replacement(engine: Engine) {
    let (server, token) = start(engine);
    let folder = json!({ "name": "A", "status": "Review" });
    let folder = post(&server, &token, "/folders", &folder).ok();
    let statuses = server.get("/statuses", &token).content();
    let named = |name: &str| {
        let found = statuses.iter().find(|s| s["name"] == name && s["appliesTo"] == "folder");
        found.unwrap().clone()
    };
    let path = format!("/statuses/{}", text(&folder, "statusId"));
    let message = delete(&server, &token, &path).error_message(409);
    assert!(message.contains("this status is in use"), "{message}");
    for wrong in ["Review", "No such", "Done"] {
        let path = format!("{path}?replacement={}", wrong.replace(' ', "%20"));
        let response = delete(&server, &token, &path);
        assert_eq!(response.status, 400, "{wrong}: {}", response.text());
    }
    let replaced = format!("{path}?replacement={}", text(&named("Delivered"), "id"));
    assert_eq!(delete(&server, &token, &replaced).status, 204);
    let folder = server.get(&format!("/folders/{}", text(&folder, "id")), &token).ok();
    assert_eq!((&folder["statusId"], &folder["version"]), (&named("Delivered")["id"], &json!(2)));
    // The default needs one too, by name here.
    let path = format!("/statuses/{}", text(&named("Quoted"), "id"));
    let message = delete(&server, &token, &path).error_message(409);
    assert!(message.contains("this status is the default"), "{message}");
    assert_eq!(delete(&server, &token, &format!("{path}?replacement=drawing")).status, 204);
    let path = format!("/statuses/{}", text(&named("Drawing"), "id"));
    assert_eq!(server.get(&path, &token).ok()["isDefault"], true);
}

fn rules_of_statuses_hold(engine: Engine) {
    let (server, token) = start(engine);
    let before: Value = server.get("/statuses", &token).ok();
    let body = json!({ "name": "  DELIVERED ", "appliesTo": "folder" });
    let taken = post(&server, &token, "/statuses", &body);
    assert_eq!(taken.error_pointers_with(409), ["/name"]);
    let body = json!({ "name": "quoted", "appliesTo": "folder", "color": "red" });
    let mut found = post(&server, &token, "/statuses", &body).error_pointers();
    found.sort();
    assert_eq!(found, ["/color", "/name"], "all problems at once");
    let status = before["content"][0].clone();
    let path = format!("/statuses/{}", text(&status, "id"));
    for (body, pointer) in [
        (json!({ "appliesTo": "budget" }), "/appliesTo"),
        (json!({ "isDefault": false }), "/isDefault"),
        (json!({ "name": null }), "/name"),
    ] {
        let found = patch(&server, &token, &path, &body).error_pointers();
        assert_eq!(found, [pointer], "{body}");
    }
    assert_eq!(server.get("/statuses", &token).ok(), before);
}
