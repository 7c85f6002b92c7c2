//! `:key` in paths: an id or a percent-encoded reference of a record in the workspace.

use crate::{
    on_both_engines, sample_records, sample_records::FOLDER, sample_records::KINDS,
    sample_records::text,
};
use groma_testkit::{
    API, Engine, TestServer, http::percent_encode, server::NO_RATE_LIMIT, server::SCOPES,
};
use serde_json::json;

fn start_with_folders(engine: Engine, references: &[&str]) -> (TestServer, String) {
    let server = TestServer::start_with(engine, &[NO_RATE_LIMIT]);
    let row = |reference: &&str| json!({ "reference": reference, "name": "x" });
    server.import("folders", &references.iter().map(row).collect::<Vec<_>>());
    let token = server.create_token(&["READ_FOLDER"]);
    (server, token)
}

on_both_engines! {
    record_is_found_by_id_and_by_reference
    key_can_be_percent_encoded
    reference_is_compared_in_composed_form_and_case_sensitively
    unknown_key_always_returns_the_same_404
    key_that_is_not_utf8_returns_400
    key_finds_only_records_of_its_kind
    record_of_another_workspace_returns_the_same_404
}

fn record_is_found_by_id_and_by_reference(engine: Engine) {
    let server = TestServer::start_with(engine, &[NO_RATE_LIMIT]);
    sample_records::fill(&server);
    let token = server.create_full_token();
    for (path, _, reference) in KINDS {
        let by_reference = server.get(&format!("{path}/{reference}"), &token);
        let record = by_reference.ok();
        assert_eq!(record["reference"], reference);
        let id = text(&record["id"]);
        let upper = id.to_uppercase();
        for id in [id, &upper] {
            assert_eq!(server.get(&format!("{path}/{id}"), &token).body, by_reference.body);
        }
    }
}

fn key_can_be_percent_encoded(engine: Engine) {
    let references = [
        "a/b",
        "with space",
        "Chêne 🦀",
        "100%",
        "%2F",
        "a?b#c",
        "plus+",
        "dot.",
        "..",
        "'q\"",
        "a%00b",
        "tilde~_-",
        "\\back",
        "{key}",
        "back`tick",
    ];
    let (server, token) = start_with_folders(engine, &references);
    for reference in references {
        let response = server.get(&format!("/folders/{}", percent_encode(reference)), &token);
        assert_eq!(response.ok()["reference"], reference);
    }
    for (path, reference) in [("plus+", "plus+"), ("tilde~_%2d", "tilde~_-"), ("%61%2fb", "a/b")] {
        let response = server.main().get_raw(format!("{API}/folders/{path}").as_bytes(), &token);
        assert_eq!(response.ok()["reference"], reference);
    }
    server.get("/folders/a/b", &token).assert_error(404, "No such route");
}

fn reference_is_compared_in_composed_form_and_case_sensitively(engine: Engine) {
    let (server, token) = start_with_folders(engine, &["CHE\u{302}NE", "F-1"]);
    for sent in ["CHÊNE", "CHE\u{302}NE"] {
        let response = server.get(&format!("/folders/{}", percent_encode(sent)), &token);
        assert_eq!(response.ok()["reference"], "CHÊNE");
    }
    server.get("/folders/f-1", &token).assert_error(404, "folder `f-1` not found");
    server.get("/folders/CHENE", &token).error(404);
}

fn unknown_key_always_returns_the_same_404(engine: Engine) {
    let (server, token) = start_with_folders(engine, &["F-1"]);
    let missing = "019a8b7c-0000-7000-8000-000000000000";
    let long = "x".repeat(65);
    for key in [
        "missing",
        missing,
        "00000000-0000-0000-0000-000000000000",
        "%20",
        "%00",
        "F-1%00",
        "nul%00byte",
        &long,
        "%2F",
        "%E2%80%AE",
        "F-1%20",
        "%20F-1",
        "F-1%09",
        "F-1%C2%A0",
    ] {
        let response = server.get(&format!("/folders/{key}"), &token);
        let message = response.error(404);
        assert!(message.starts_with("folder `") && message.ends_with("` not found"), "{message}");
        assert!(!message.chars().any(char::is_control), "{message:?}");
        assert!(response.header("x-ratelimit-remaining").is_none(), "the rate limit is off");
    }
    server
        .get(&format!("/folders/{missing}"), &token)
        .assert_error(404, &format!("folder `{missing}` not found"));
}

fn key_that_is_not_utf8_returns_400(engine: Engine) {
    let (server, token) = start_with_folders(engine, &[]);
    for key in ["%FF", "%C3%28", "a%80", "%ED%A0%80"] {
        server.get(&format!("/folders/{key}"), &token).assert_error(400, "key must be valid UTF-8");
    }
}

fn key_finds_only_records_of_its_kind(engine: Engine) {
    let server = TestServer::start(engine);
    sample_records::fill(&server);
    let token = server.create_full_token();
    let id = server.get(&format!("/folders/{FOLDER}"), &token).ok()["id"].clone();
    for path in ["/assignments", "/expenses", "/budgets"] {
        server.get(&format!("{path}/{}", text(&id)), &token).error(404);
        server.get(&format!("{path}/{FOLDER}"), &token).error(404);
    }
}

fn record_of_another_workspace_returns_the_same_404(engine: Engine) {
    let server = TestServer::start_with(engine, &[NO_RATE_LIMIT]);
    sample_records::fill(&server);
    server.create_workspace("Other");
    let ours = server.create_full_token();
    let theirs = server.create_token_in("Other", &SCOPES);
    for (path, _, reference) in KINDS {
        let record = server.get(&format!("{path}/{reference}"), &ours).ok();
        let kind = &path[1..path.len() - 1];
        for key in [text(&record["id"]), reference] {
            server
                .get(&format!("{path}/{key}"), &theirs)
                .assert_error(404, &format!("{kind} `{key}` not found"));
        }
        let empty = server.get(path, &theirs).ok();
        assert_eq!(empty["total"], 0);
        assert_eq!(server.get(&format!("{path}?term={reference}"), &theirs).ok()["total"], 0);
    }
    // The same reference can exist in both workspaces.
    server.import_into("Other", "folders", &[json!({ "reference": FOLDER, "name": "Theirs" })]);
    let name = |token: &str| server.get(&format!("/folders/{FOLDER}"), token).ok()["name"].clone();
    assert_eq!((name(&ours), name(&theirs)), (json!("Chêne, boundary survey"), json!("Theirs")));
    let statuses = |token: &str| server.get("/statuses", token).column("id");
    assert!(statuses(&ours).iter().all(|id| !statuses(&theirs).contains(id)));
}
