//! Cursors belong to one workspace of one database, and every replica accepts them.

use super::{create_folder, events, now, read_all, rename_folder, start, text};
use crate::{backup, on_both_engines};
use groma_testkit::{
    Engine, TestServer,
    http::Request,
    server::{NO_RATE_LIMIT, SCOPES},
};
use rusqlite::Connection;
use serde_json::json;

on_both_engines! {
    invalid_cursor_tells_how_to_start_over
    cursor_of_another_workspace_is_rejected
    copied_database_rejects_cursors
}

const HOW_TO_START_OVER: &str = "to start over, get the current cursor with after=now";

#[track_caller]
fn assert_rejected(server: &TestServer, token: &str, cursor: &str) {
    for path in ["/changes", "/changes/stream"] {
        let message = server.get(&format!("{path}?after={cursor}"), token).error(400);
        assert!(message.contains("after is not a cursor of this workspace"), "{message}");
        assert!(message.contains(HOW_TO_START_OVER), "{message}");
    }
}

fn invalid_cursor_tells_how_to_start_over(engine: Engine) {
    let (server, token) = start(engine);
    create_folder(&server, &token, "A");
    let valid = now(&server, &token);
    let first = if valid.starts_with('A') { 'B' } else { 'A' };
    let changed = format!("{first}{}", &valid[1..]);
    for cursor in ["1", "NOW", "AAAAAAAAAAAAAAAAAAAAAA", &changed, &format!("{valid}A")] {
        assert_rejected(&server, &token, cursor);
    }
}

fn cursor_of_another_workspace_is_rejected(engine: Engine) {
    let (server, token) = start(engine);
    server.create_workspace("Other");
    let other = server.create_token_in("Other", &SCOPES);
    create_folder(&server, &token, "A");
    create_folder(&server, &other, "B");
    assert_rejected(&server, &other, &now(&server, &token));
    let changes = read_all(&server, &other, "folder", "", 10);
    assert_eq!(events(&changes, "name"), ["folder.created \"B\""]);
}

fn copied_database_rejects_cursors(engine: Engine) {
    let (mut server, token) = start(engine);
    create_folder(&server, &token, "A");
    let cursor = now(&server, &token);
    assert_eq!(server.stop(), Some(0));
    let other = match engine {
        Engine::Sqlite => Engine::Postgres,
        Engine::Postgres => Engine::Sqlite,
    };
    let mut copy = TestServer::stopped(other, &[NO_RATE_LIMIT]);
    backup::copy(&server, &copy, &[]).expect_success();
    copy.serve();
    assert_rejected(&copy, &token, &cursor);
    // All changes can be read again.
    let changes = read_all(&copy, &token, "folder", "", 10);
    assert_eq!(events(&changes, "name"), ["folder.created \"A\""]);
}

#[test]
fn restored_database_rejects_cursors() {
    let (mut server, token) = start(Engine::Sqlite);
    create_folder(&server, &token, "A");
    let file = server.directory().join("backup.db");
    server.run(&["backup", file.to_str().unwrap()]).expect_success();
    let early = now(&server, &token);
    create_folder(&server, &token, "lost with the restored backup");
    let late = now(&server, &token);
    assert_eq!(server.stop(), Some(0));
    server.run(&["restore", file.to_str().unwrap(), "--overwrite"]).expect_success();
    server.serve();
    for cursor in [early, late] {
        assert_rejected(&server, &token, &cursor);
    }
    let changes = read_all(&server, &token, "folder", "", 10);
    assert_eq!(events(&changes, "name"), ["folder.created \"A\""]);
}

#[test]
fn file_that_was_put_back_by_hand_rejects_later_cursors() {
    let (mut server, token) = start(Engine::Sqlite);
    let folder = create_folder(&server, &token, "A");
    assert_eq!(server.stop(), Some(0));
    let path = backup::sqlite_path(&server);
    Connection::open(&path).unwrap().pragma_update(None, "wal_checkpoint", "TRUNCATE").unwrap();
    let copy = std::fs::read(&path).unwrap();
    server.serve();
    rename_folder(&server, &token, &folder, "B");
    let cursor = now(&server, &token);
    assert_eq!(server.stop(), Some(0));
    std::fs::write(&path, copy).unwrap();
    server.serve();
    assert_rejected(&server, &token, &cursor);
}

#[test]
fn cursor_continues_at_another_replica() {
    let (server, token) = start(Engine::Postgres);
    let replicas = [server.start_replica(), server.start_replica()];
    let clients = [server.main(), replicas[0].main(), replicas[1].main()];
    let get = |turn: usize, query: &str| {
        let request = Request::get(&format!("/changes?{query}"), &token);
        clients[turn % 3].send(&request).unwrap().ok()
    };
    let mut names = Vec::new();
    let mut after = String::new();
    for turn in 0..9 {
        let folder =
            Request::post("/folders", &token, &json!({ "name": format!("Folder {turn}") }));
        clients[turn % 3].send(&folder).unwrap().ok();
        // A change that one replica has acknowledged is in the feed of all others.
        let body = get(turn + 1, &format!("limit=1&after={after}"));
        let content = body["content"].as_array().unwrap();
        names.extend(events(content, "name"));
        after = text(&body["next"]).to_owned();
    }
    let expected: Vec<_> = (0..9).map(|n| format!("folder.created \"Folder {n}\"")).collect();
    assert_eq!(names, expected);
}
