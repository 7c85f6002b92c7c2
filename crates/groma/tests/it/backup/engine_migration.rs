//! A workspace is copied to the other engine and back, and every row and response stays the same.

use super::{copy, populated, populated::PopulatedServer, table_rows};
use crate::on_both_engines;
use groma_testkit::{Engine, TestServer, receiver::ReceivedRequest, receiver::Reply};
use serde_json::Value;

fn other(engine: Engine) -> Engine {
    match engine {
        Engine::Sqlite => Engine::Postgres,
        Engine::Postgres => Engine::Sqlite,
    }
}

/// Copies a stopped server's database to the other engine and back, and returns both copies.
#[track_caller]
fn copy_there_and_back(server: &TestServer, engine: Engine) -> [TestServer; 2] {
    let [other_copy, copy_back] =
        [other(engine), engine].map(|engine| TestServer::stopped(engine, &populated::ENVIRONMENT));
    copy(server, &other_copy, &[]).expect_success();
    copy(&other_copy, &copy_back, &[]).expect_success();
    table_rows::assert_equal_rows(&table_rows::of(server), &table_rows::of(&copy_back));
    // Once more, to compare the other engine with itself too.
    let third_copy = TestServer::stopped(other(engine), &populated::ENVIRONMENT);
    copy(&copy_back, &third_copy, &[]).expect_success();
    table_rows::assert_equal_rows(&table_rows::of(&other_copy), &table_rows::of(&third_copy));
    [other_copy, copy_back]
}

on_both_engines! {
    copy_to_the_other_engine_and_back_keeps_everything
}

fn copy_to_the_other_engine_and_back_keeps_everything(engine: Engine) {
    let mut original = PopulatedServer::open(engine);
    let responses = original.responses();
    let waiting = original.receiver.wait_for(1);
    assert_eq!(original.server.stop(), Some(0));
    let tried = TestServer::stopped(other(engine), &[]);
    let report = copy(&original.server, &tried, &["--json"]).json();
    for (table, rows) in report["tables"].as_object().unwrap() {
        assert_ne!(rows, &Value::from(0), "the table {table} is empty");
    }
    for mut copied in copy_there_and_back(&original.server, engine) {
        original.receiver.set_handler(|_| Reply::status(500));
        let count = original.receiver.requests().len();
        copied.serve();
        populated::assert_equal_responses(
            &responses,
            &populated::responses(&copied, &original.token),
        );
        original.assert_known_to(&copied);
        // A waiting delivery continues with the same body and secret.
        copied.run(&["webhook", "redeliver", &waiting[0].id()]).expect_success();
        let requests = original.receiver.wait_for(count + 1);
        let content = |request: &ReceivedRequest| {
            (
                request.path.clone(),
                request.id(),
                request.body.clone(),
                request.header("x-service-signature").map(str::to_owned),
            )
        };
        assert_eq!(content(&requests[count]), content(&waiting[0]));
        // Sequences and positions continue after the copied ones.
        copied.import("folders", &[serde_json::json!({ "reference": "LATER", "name": "Later" })]);
        let folders = copied.get("/folders?limit=100", &original.token).column("reference");
        assert_eq!(folders.last().map(String::as_str), Some("LATER"));
        copied.run(&["layer", "create", "Later"]).expect_success();
        assert_eq!(copied.stop(), Some(0));
    }
}

#[test]
fn demo_survives_backup_restore_and_copies_between_engines() {
    let mut server = TestServer::stopped(Engine::Sqlite, &populated::ENVIRONMENT);
    let token = server.serve_demo();
    let responses = populated::responses(&server, &token);
    let file = server.directory().join("backup.db");
    super::backup(&server, &file, &[]).expect_success();
    assert_eq!(server.stop(), Some(0));
    let mut restored = TestServer::stopped(Engine::Sqlite, &populated::ENVIRONMENT);
    super::restore(&restored, &file, &[]).expect_success();
    table_rows::assert_equal_rows(&table_rows::of_sqlite(&file), &table_rows::of(&restored));
    restored.serve();
    populated::assert_equal_responses(&responses, &populated::responses(&restored, &token));
    for mut copied in copy_there_and_back(&server, Engine::Sqlite) {
        copied.serve();
        populated::assert_equal_responses(&responses, &populated::responses(&copied, &token));
    }
}
