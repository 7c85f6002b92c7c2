//! Creating, changing, archiving and deleting records.

use super::{delete, patch, post, send, start, text, totals};
use crate::{on_both_engines, sample_records, sample_records::is_uuid_v7};
use groma_testkit::{API, Engine, http::Request};
use serde_json::{Value, json};

on_both_engines! {
    created_record_is_returned_as_it_is_read
    record_that_was_read_can_be_sent_back_unchanged
    records_link_by_key_or_id_and_unknown_people_are_created
    folder_is_archived_and_restored_once
    deleted_folder_takes_its_records_with_it
    empty_optional_fields_have_their_defaults
}

fn created_record_is_returned_as_it_is_read(engine: Engine) {
    let (server, token) = start(engine);
    for (kind, rows) in sample_records::records() {
        for row in rows {
            let path = format!("/{kind}");
            let response = post(&server, &token, &path, &row);
            let created = response.ok();
            assert!(is_uuid_v7(&created["id"]), "{created}");
            let read = server.get(&format!("{path}/{}", text(&created, "id")), &token);
            assert_eq!(read.ok(), created);
            assert_eq!(read.header("etag"), response.header("etag"));
            let changed = json!({ "externalId": "changed" });
            let path = format!("{path}/{}", text(&created, "reference"));
            let updated = patch(&server, &token, &path, &changed).ok();
            assert_eq!(updated["externalId"], "changed");
            assert_eq!(updated["version"], 2);
            assert_eq!(server.get(&path, &token).ok(), updated);
        }
    }
}

fn record_that_was_read_can_be_sent_back_unchanged(engine: Engine) {
    let (server, token) = start(engine);
    sample_records::fill(&server);
    for (kind, _) in sample_records::records() {
        for record in server.get(&format!("/{kind}"), &token).content() {
            let path = format!("/{kind}/{}", text(&record, "id"));
            let response = patch(&server, &token, &path, &record);
            assert_eq!(response.ok(), record, "nothing changes, the version neither");
            let mut copy = record.clone();
            copy["reference"] = json!(format!("copy of {}", text(&record, "reference")));
            let copied = post(&server, &token, &format!("/{kind}"), &copy).ok();
            assert_ne!(copied["id"], record["id"]);
            assert_eq!(copied["customFields"], record["customFields"]);
        }
    }
    for status in server.get("/statuses", &token).content() {
        let path = format!("/statuses/{}", text(&status, "id"));
        assert_eq!(patch(&server, &token, &path, &status).ok(), status);
    }
}

fn records_link_by_key_or_id_and_unknown_people_are_created(engine: Engine) {
    let (server, token) = start(engine);
    let folder = post(&server, &token, "/folders", &json!({ "name": "A", "reference": "A" })).ok();
    let new = |folder: Value| {
        let people = json!(["new.crew@example.test", { "email": "other@example.test" }]);
        let mut body = json!({ "title": "T", "assignees": people, "status": "in progress" });
        body.as_object_mut().unwrap().extend(folder.as_object().unwrap().clone());
        post(&server, &token, "/assignments", &body).ok()
    };
    let by_key = new(json!({ "folder": "A" }));
    let by_id = new(json!({ "folderId": folder["id"] }));
    assert_eq!((&by_key["folderId"], &by_id["folderId"]), (&folder["id"], &folder["id"]));
    assert_eq!(by_key["assignees"], by_id["assignees"]);
    assert_eq!(by_key["statusId"], by_id["statusId"]);
    assert_eq!(by_key["assignees"][0]["name"], "New crew");
    // What is null is not given.
    let email = by_key["assignees"][1]["email"].clone();
    let sent =
        json!({ "folder": "A", "assignees": [{ "id": null, "name": null, "email": email }] });
    assert_eq!(new(sent)["assignees"][0], by_key["assignees"][1]);
    // An id is exact, whatever address comes with it.
    let person = json!({ "id": by_key["assignees"][1]["id"], "email": "moved@example.test" });
    let path = format!("/assignments/{}", text(&by_key, "id"));
    let changed = patch(&server, &token, &path, &json!({ "assignees": [person] })).ok();
    assert_eq!(changed["assignees"], json!([by_key["assignees"][1]]));
}

fn folder_is_archived_and_restored_once(engine: Engine) {
    let (server, token) = start(engine);
    let folder = post(&server, &token, "/folders", &json!({ "name": "A" })).ok();
    let act = |action: &str| {
        let path = format!("{API}/folders/{}/{action}", text(&folder, "reference"));
        send(&server, &Request::new("POST", &path).token(&token)).ok()
    };
    let archived = act("archive");
    assert!(archived["archivedAt"].is_string() && archived["version"] == 2, "{archived}");
    assert_eq!(act("archive"), archived);
    let restored = act("unarchive");
    assert!(restored["archivedAt"].is_null() && restored["version"] == 3, "{restored}");
    assert_eq!(act("unarchive"), restored);
    // Only these routes archive.
    let path = format!("/folders/{}", text(&folder, "id"));
    let sent = json!({ "archivedAt": "2026-01-01T00:00:00.000Z" });
    assert_eq!(patch(&server, &token, &path, &sent).ok(), restored);
    // There is nothing to send.
    let archive = format!("{path}/archive");
    for (body, pointers) in
        [(json!({ "at": 1, "a/b": 2 }), vec!["/at", "/a~1b"]), (json!([]), vec![""])]
    {
        assert_eq!(post(&server, &token, &archive, &body).error_pointers(), pointers, "{body}");
    }
    assert_eq!(server.get(&path, &token).ok(), restored);
    let missing = Request::new("POST", &format!("{API}/folders/F-999999/archive")).token(&token);
    send(&server, &missing).assert_error(404, "folder `F-999999` not found");
}

fn deleted_folder_takes_its_records_with_it(engine: Engine) {
    let (server, token) = start(engine);
    sample_records::fill(&server);
    assert_eq!(totals(&server, &token), json!([2, 2, 2, 2, 18]));
    let path = format!("/folders/{}", sample_records::FOLDER);
    let deleted = delete(&server, &token, &path);
    assert_eq!((deleted.status, deleted.text().as_str()), (204, ""));
    assert_eq!(totals(&server, &token), json!([1, 1, 1, 1, 18]));
    let message = format!("folder `{}` not found", sample_records::FOLDER);
    delete(&server, &token, &path).assert_error(404, &message);
    patch(&server, &token, &path, &json!({ "name": "x" })).assert_error(404, &message);
}

fn empty_optional_fields_have_their_defaults(engine: Engine) {
    let (server, token) = start(engine);
    let empty = json!({ "name": "A", "reference": null, "description": "", "owner": null,
        "currency": null, "tags": null, "customFields": null, "status": null });
    let folder = post(&server, &token, "/folders", &empty).ok();
    assert_eq!(folder["reference"], "F-000001");
    assert_eq!((&folder["currency"], &folder["tags"]), (&json!("EUR"), &json!([])));
    assert_eq!((&folder["description"], &folder["statusId"]), (&Value::Null, &Value::Null));
}
