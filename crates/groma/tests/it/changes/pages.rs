//! Pages of changes: their order, their fields, who made them, and who may read them.

use super::{create_folder, events, now, page, read_all, rename_folder, start, text, write};
use crate::{on_both_engines, sample_records};
use groma_testkit::{
    Engine, TestServer,
    http::Request,
    server::{NO_RATE_LIMIT, RATE_LIMIT, WORKSPACE},
};
use serde_json::{Value, json};
use std::{
    collections::HashSet,
    thread,
    time::{Duration, Instant},
};

on_both_engines! {
    changes_are_listed_in_the_order_of_their_commits
    documents_equal_those_of_the_api
    changes_tell_who_made_them
    full_page_without_others_behind_it_is_the_last
    kinds_without_a_scope_are_left_out
    invalid_parameters_are_rejected
    waiting_request_returns_with_the_next_change
    waiting_request_ends_without_a_change
    waiting_counts_once_and_ends_with_the_token
    old_changes_can_be_left_out
    actions_that_are_no_events_are_skipped
}

fn changes_are_listed_in_the_order_of_their_commits(engine: Engine) {
    let (server, token) = start(engine);
    let first = create_folder(&server, &token, "A");
    let second = create_folder(&server, &token, "B");
    rename_folder(&server, &token, &first, "C");
    let path = format!("/folders/{}", text(&second["id"]));
    assert_eq!(server.main().send(&Request::delete(&path, &token)).unwrap().status, 204);
    let expected = [
        "folder.created \"A\"",
        "folder.created \"B\"",
        "folder.updated \"C\"",
        "folder.deleted \"B\"",
    ];
    for limit in [1, 2, 3, 1000] {
        let changes = read_all(&server, &token, "folder", "", limit);
        assert_eq!(events(&changes, "name"), expected);
        let cursors: HashSet<&str> = changes.iter().map(|change| text(&change["cursor"])).collect();
        let ids: HashSet<&str> = changes.iter().map(|change| text(&change["id"])).collect();
        assert_eq!((cursors.len(), ids.len()), (4, 4));
        for (index, change) in changes.iter().enumerate() {
            let later = read_all(&server, &token, "folder", text(&change["cursor"]), limit);
            assert_eq!(later, changes[index + 1..], "the feed is the same from every cursor");
        }
    }
    assert_eq!(read_all(&server, &token, "folder", &now(&server, &token), 10), [] as [Value; 0]);
}

fn documents_equal_those_of_the_api(engine: Engine) {
    let (server, token) = start(engine);
    sample_records::fill(&server);
    let changes = read_all(&server, &token, "folder,assignment,expense,budget", "", 3);
    for (kind, _) in sample_records::records() {
        for record in server.get(&format!("/{kind}"), &token).content() {
            let of_record = |change: &&Value| change["data"]["id"] == record["id"];
            let last = changes.iter().rev().find(of_record).unwrap();
            assert_eq!(last["data"], record);
            assert_eq!(last["workspaceKey"], record["workspaceKey"]);
            assert_eq!(last["occurredAt"], record["updatedAt"]);
        }
    }
}

fn changes_tell_who_made_them(engine: Engine) {
    let (server, token) = start(engine);
    create_folder(&server, &token, "By a token");
    server.import("folders", &[json!({ "name": "By a command" })]);
    let me = server.get("/me", &token).ok();
    let changes = read_all(&server, &token, "folder", "", 10);
    let token_actor = json!({ "type": "token", "id": me["token"]["id"], "name": "test" });
    assert_eq!(changes[0]["actor"], token_actor);
    assert_eq!(changes[1]["actor"], json!({ "type": "system", "id": null, "name": null }));
}

fn full_page_without_others_behind_it_is_the_last(engine: Engine) {
    let (server, token) = start(engine);
    create_folder(&server, &token, "One");
    create_folder(&server, &token, "Two");
    // An entry of the audit log that is no change.
    server.create_token(&["READ_FOLDER"]);
    let body = page(&server, &token, "limit=2").ok();
    assert_eq!(body["content"].as_array().unwrap().len(), 2);
    assert_eq!((&body["more"], &body["next"]), (&json!(false), &body["content"][1]["cursor"]));
    let rest = page(&server, &token, &format!("after={}", text(&body["next"]))).ok();
    assert_eq!((&rest["content"], &rest["more"]), (&json!([]), &json!(false)));
    assert_eq!(page(&server, &token, "limit=1").ok()["more"], true);
}

fn kinds_without_a_scope_are_left_out(engine: Engine) {
    let (server, _) = start(engine);
    sample_records::fill(&server);
    let token = server.create_token(&["READ_EXPENSE"]);
    for kinds in ["", "&kinds=expense", "&kinds=folder,expense,geometry"] {
        let body = page(&server, &token, &format!("limit=1000{kinds}")).ok();
        let content = body["content"].as_array().unwrap();
        assert!(!content.is_empty());
        assert!(content.iter().all(|change| text(&change["event"]).starts_with("expense.")));
        // The cursor moves past what is left out.
        let rest = page(&server, &token, &format!("after={}{kinds}", text(&body["next"]))).ok();
        assert_eq!((&rest["content"], &rest["more"]), (&json!([]), &json!(false)));
        assert_eq!(rest["next"], body["next"]);
    }
    let missing = "Token missing required scope: READ_FOLDER";
    page(&server, &token, "kinds=folder,budget").assert_error(403, missing);
    let without = server.create_token(&[]);
    page(&server, &without, "").assert_error(403, missing);
    page(&server, &without, "kinds=geometry").ok();
}

fn invalid_parameters_are_rejected(engine: Engine) {
    let (server, token) = start(engine);
    for query in ["limit=0", "limit=1001", "limit=x", "limit=", "limit=1&limit=1", "limit=%2B1"] {
        let message = page(&server, &token, query).error(400);
        assert!(message.contains("limit"), "{query}: {message}");
    }
    for query in ["wait=31", "wait=-1", "wait=1.5"] {
        let message = page(&server, &token, query).error(400);
        assert!(message.contains("wait must be a whole number from 0 to 30"), "{query}: {message}");
    }
    for query in ["kinds=", "kinds=status", "kinds=folder,,budget"] {
        let message = page(&server, &token, query).error(400);
        assert!(message.contains("kinds must be names"), "{query}: {message}");
    }
}

fn waiting_request_returns_with_the_next_change(engine: Engine) {
    let (server, token) = start(engine);
    let after = now(&server, &token);
    thread::scope(|scope| {
        let waiting = scope.spawn(|| page(&server, &token, &format!("wait=30&after={after}")).ok());
        // A change of another kind does not end the wait, and is passed over.
        post_point(&server, &token);
        create_folder(&server, &token, "A");
        let body = waiting.join().unwrap();
        assert_eq!(events(body["content"].as_array().unwrap(), "name"), ["folder.created \"A\""]);
    });
    // A command is another program.
    let after = now(&server, &token);
    thread::scope(|scope| {
        let waiting = scope.spawn(|| page(&server, &token, &format!("wait=30&after={after}")).ok());
        server.import("folders", &[json!({ "name": "B" })]);
        let body = waiting.join().unwrap();
        assert_eq!(events(body["content"].as_array().unwrap(), "name"), ["folder.created \"B\""]);
    });
}

fn post_point(server: &TestServer, token: &str) {
    super::post_features(server, token, "", &super::point(1, 2.0));
}

fn waiting_request_ends_without_a_change(engine: Engine) {
    let (server, token) = start(engine);
    let after = now(&server, &token);
    let start = Instant::now();
    let body = page(&server, &token, &format!("wait=1&after={after}")).ok();
    assert!(start.elapsed() >= Duration::from_secs(1));
    assert_eq!(body, json!({ "content": [], "next": after, "more": false }));
}

fn waiting_counts_once_and_ends_with_the_token(engine: Engine) {
    let server = TestServer::start_with(engine, &[(RATE_LIMIT, "50")]);
    let token = server.create_full_token();
    let after = now(&server, &token);
    thread::scope(|scope| {
        let waiting = scope.spawn(|| page(&server, &token, &format!("wait=30&after={after}")));
        for n in 0..3 {
            // Each wakes the waiting request, which looks for folders.
            super::post_features(&server, &token, "", &super::point(n, 2.0));
        }
        let me = server.get("/me", &token).ok();
        // The cursor, the waiting request, three posts and this request.
        assert_eq!(me["rate"]["remaining"], 50 - 6);
        let revoke = ["token", "revoke", text(&me["token"]["id"])];
        server.run(&revoke).expect_success();
        server.import("folders", &[json!({ "name": "B" })]);
        assert_eq!(waiting.join().unwrap().status, 401);
    });
}

fn old_changes_can_be_left_out(engine: Engine) {
    let mut server = TestServer::stopped(engine, &[NO_RATE_LIMIT]);
    server.create_workspace(WORKSPACE);
    server.set_env("GROMA_CHANGES__FEED_DAYS", "3");
    server.serve();
    let token = server.create_full_token();
    create_folder(&server, &token, "A");
    assert_eq!(read_all(&server, &token, "folder", "", 10).len(), 1);
    assert_eq!(server.stop(), Some(0));
    server.set_env("GROMA_CHANGES__FEED_DAYS", "-1");
    let message = server.run(&["serve"]).expect_failure();
    assert!(message.contains("changes.feed_days"), "{message}");
}

fn actions_that_are_no_events_are_skipped(engine: Engine) {
    let (server, token) = start(engine);
    let other = server.create_token(&["READ_FOLDER"]);
    create_folder(&server, &token, "A");
    server.run(&["user", "add", "crew@example.test", "--workspace", WORKSPACE, "--role", "viewer"]);
    let named = write(
        &server,
        &Request::post(
            "/statuses",
            &token,
            &json!({ "name": "Checked", "appliesTo": "folder", "group": "done" }),
        ),
    );
    assert_eq!(named["name"], "Checked");
    let changes = read_all(&server, &other, "folder", "", 10);
    assert_eq!(events(&changes, "name"), ["folder.created \"A\""]);
}
