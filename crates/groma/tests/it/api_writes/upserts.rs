//! `POST ?match=`: updates the record with the same value, or creates one.

use super::{post, start, text};
use crate::on_both_engines;
use groma_testkit::Engine;
use serde_json::json;

on_both_engines! {
    upsert_creates_updates_or_leaves_the_record
    upsert_needs_the_value_and_one_match
    concurrent_upserts_create_one_record
}

fn upsert_creates_updates_or_leaves_the_record(engine: Engine) {
    let (server, token) = start(engine);
    for (field, value) in [("externalId", "erp-1"), ("reference", "ERP 2")] {
        let path = format!("/folders?match={field}");
        let upsert = |body: serde_json::Value| {
            let response = post(&server, &token, &path, &body);
            (response.ok(), response.header("x-groma-result").unwrap().to_owned())
        };
        let body = json!({ (field): value, "name": "A", "customFields": { "a": 1, "b": null } });
        let (created, result) = upsert(body.clone());
        assert_eq!((result.as_str(), &created["version"]), ("created", &json!(1)));
        assert_eq!(upsert(body), (created.clone(), "unchanged".to_owned()));
        let (updated, result) = upsert(json!({ (field): value, "customFields": { "a": 2 } }));
        assert_eq!((result.as_str(), &updated["id"]), ("updated", &created["id"]));
        assert_eq!(updated["name"], "A", "the rest stays");
        assert_eq!(updated["customFields"], json!({ "a": 2, "b": null }));
    }
    assert_eq!(server.get("/folders", &token).ok()["total"], 2);
    // The same value in another kind is another record.
    let body = json!({ "externalId": "erp-1", "folder": "ERP 2", "title": "T" });
    let response = post(&server, &token, "/assignments?match=externalId", &body);
    assert_eq!(response.header("x-groma-result"), Some("created"));
    let plain = post(&server, &token, "/folders", &json!({ "name": "B" }));
    assert_eq!((plain.status, plain.header("x-groma-result")), (200, None));
}

fn upsert_needs_the_value_and_one_match(engine: Engine) {
    let (server, token) = start(engine);
    let body = json!({ "name": "A", "externalId": "twice" });
    for _ in 0..2 {
        post(&server, &token, "/folders", &body).ok();
    }
    let several = post(&server, &token, "/folders?match=externalId", &body);
    assert_eq!(several.error_pointers_with(409), ["/externalId"]);
    for (path, pointer) in
        [("/folders?match=externalId", "/externalId"), ("/folders?match=reference", "/reference")]
    {
        for body in [json!({ "name": "B" }), json!({ "name": "B", "externalId": null })] {
            assert_eq!(post(&server, &token, path, &body).error_pointers(), [pointer]);
        }
    }
    for path in ["/folders?match=name", "/folders?match=", "/folders?match=id"] {
        let message = "match must be one of externalId, reference";
        post(&server, &token, path, &body).assert_error(400, message);
    }
    let message = "match must be given once";
    post(&server, &token, "/folders?match=reference&match=reference", &body)
        .assert_error(400, message);
    assert_eq!(server.get("/folders", &token).ok()["total"], 2);
}

fn concurrent_upserts_create_one_record(engine: Engine) {
    let (server, token) = start(engine);
    std::thread::scope(|scope| {
        for client in 0..4 {
            let (server, token) = (&server, &token);
            scope.spawn(move || {
                for round in 0..10 {
                    let body =
                        json!({ "externalId": format!("e-{round}"), "name": client.to_string() });
                    let folder = post(server, token, "/folders?match=externalId", &body).ok();
                    assert_eq!(text(&folder, "name"), client.to_string());
                }
            });
        }
    });
    assert_eq!(server.get("/folders", &token).ok()["total"], 10);
}
