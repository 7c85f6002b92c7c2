//! `If-Match`: two clients cannot overwrite each other unseen.

use super::{post, send, start, text};
use crate::on_both_engines;
use groma_testkit::{API, Engine, http::Request};
use serde_json::json;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

on_both_engines! {
    etag_of_any_encoding_is_accepted_while_it_is_current
    clients_that_send_if_match_lose_no_update
    changed_name_of_a_person_changes_the_etag
    if_match_is_rejected_where_it_has_no_meaning
}

fn etag_of_any_encoding_is_accepted_while_it_is_current(engine: Engine) {
    let (server, token) = start(engine);
    // Long enough to be compressed.
    let body = json!({ "name": "A", "description": "text ".repeat(1_000) });
    let folder = post(&server, &token, "/folders", &body).ok();
    let path = format!("/folders/{}", text(&folder, "id"));
    let etag = |encoding: &str| {
        let request = Request::get(&path, &token).header("Accept-Encoding", encoding);
        send(&server, &request).header("etag").unwrap().to_owned()
    };
    let rename = |if_match: &str, name: &str| {
        let request = Request::patch(&path, &token, &json!({ "name": name }));
        send(&server, &request.header("If-Match", if_match))
    };
    let mut old = Vec::new();
    for encoding in ["identity", "gzip", "br", "zstd"] {
        let current = etag(encoding);
        rename(&current, encoding).ok();
        old.push(current);
    }
    old.dedup();
    assert_eq!(old.len(), 4);
    let id = text(&folder, "id");
    let message = format!("folder `{id}` has changed since it was read");
    rename(&old.join(", "), "x").assert_error(412, &message);
    rename("\"x\"", "x").assert_error(412, &message);
    rename(&format!("W/{}", etag("gzip")), "x").assert_error(412, &message);
    rename(&format!("{}, {}", old[0], etag("br")), "y").ok();
    rename("*", "z").ok();
    let stale = Request::delete(&path, &token).header("If-Match", &*old[0]);
    send(&server, &stale).assert_error(412, &message);
    let archive = |etag: &str| {
        let request = Request::new("POST", &format!("{API}{path}/archive")).token(&token);
        send(&server, &request.header("If-Match", etag))
    };
    archive(&old[0]).assert_error(412, &message);
    let archived = archive(&etag("identity"));
    assert_eq!(archived.ok()["name"], "z");
    let current = archived.header("etag").unwrap();
    let delete = Request::delete(&path, &token).header("If-Match", current);
    assert_eq!(send(&server, &delete).status, 204);
    // The record is looked up first.
    send(&server, &delete).assert_error(404, &format!("folder `{id}` not found"));
}

fn clients_that_send_if_match_lose_no_update(engine: Engine) {
    let (server, token) = start(engine);
    let folder = json!({ "name": "A", "customFields": { "count": 0 } });
    let folder = post(&server, &token, "/folders", &folder).ok();
    let path = format!("/folders/{}", text(&folder, "id"));
    let conflicts = AtomicU32::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..25 {
                    loop {
                        let read = server.get(&path, &token);
                        let etag = read.header("etag").unwrap();
                        let count = read.json()["customFields"]["count"].as_u64().unwrap() + 1;
                        let body = json!({ "customFields": { "count": count } });
                        let request = Request::patch(&path, &token, &body).header("If-Match", etag);
                        let response = send(&server, &request);
                        if response.status == 200 {
                            break;
                        }
                        response.error(412);
                        conflicts.fetch_add(1, Relaxed);
                    }
                }
            });
        }
    });
    let folder = server.get(&path, &token).ok();
    assert_eq!(folder["customFields"]["count"], 50, "after {conflicts:?} conflicts");
    assert_eq!(folder["version"], 51);
}

fn changed_name_of_a_person_changes_the_etag(engine: Engine) {
    let (server, token) = start(engine);
    let body = json!({ "name": "A", "owner": "survey.lead@example.test" });
    let created = post(&server, &token, "/folders", &body);
    let path = format!("/folders/{}", text(&created.ok(), "id"));
    let etag = created.header("etag").unwrap().to_owned();
    let request = |etag: &str| {
        let request = Request::patch(&path, &token, &json!({ "name": "B" }));
        send(&server, &request.header("If-Match", etag))
    };
    // The person becomes a member with a name of their own.
    let add = ["user", "add", "survey.lead@example.test", "--workspace", "Cadastre"];
    let add = [&add[..], &["--role", "editor", "--name", "Lead"]].concat();
    server.run(&add).expect_success();
    server.get_until(&path, &token, |folder| folder.ok()["owner"]["name"] == "Lead");
    request(&etag).error(412);
    request(server.get(&path, &token).header("etag").unwrap()).ok();
}

fn if_match_is_rejected_where_it_has_no_meaning(engine: Engine) {
    let (server, token) = start(engine);
    for path in ["/folders", "/folders?match=reference", "/statuses"] {
        let request = Request::post(path, &token, &json!({ "name": "A", "reference": "A" }));
        let response = send(&server, &request.header("If-Match", "*"));
        response.assert_error(400, "If-Match is not possible here");
    }
}
