//! `groma copy`: copies everything into an empty database, or nothing.

use super::{copy, file_names, populated::PopulatedServer, sqlite_path, table_rows};
use crate::{on_both_engines, sample_records};
use groma_testkit::{Engine, TestServer, postgres, server::WORKSPACE};
use rusqlite::Connection;
use serde_json::json;

fn other(engine: Engine) -> Engine {
    match engine {
        Engine::Sqlite => Engine::Postgres,
        Engine::Postgres => Engine::Sqlite,
    }
}

on_both_engines! {
    target_database_must_be_empty
    database_in_use_can_only_be_copied_as_a_rehearsal
    extents_of_folders_are_copied
    failed_copy_leaves_the_target_empty
}

fn target_database_must_be_empty(engine: Engine) {
    let from = TestServer::stopped(engine, &[]);
    from.create_workspace(WORKSPACE);
    let to = TestServer::stopped(other(engine), &[]);
    to.create_workspace("Another");
    let before = table_rows::of(&to);
    let message = copy(&from, &to, &[]).expect_failure();
    assert!(message.ends_with("is not empty; a copy goes into an empty database"), "{message}");
    table_rows::assert_equal_rows(&table_rows::of(&to), &before);
    // A migrated database without rows is empty.
    let mut empty = TestServer::stopped(other(engine), &[]);
    empty.serve();
    let served = copy(&from, &empty, &[]).expect_failure();
    assert!(served.contains("another Groma process"), "{served}");
    assert_eq!(empty.stop(), Some(0));
    copy(&from, &empty, &[]).expect_success();
    assert_eq!(empty.run(&["workspace", "list", "--json"]).json()[0]["name"], WORKSPACE);
}

fn database_in_use_can_only_be_copied_as_a_rehearsal(engine: Engine) {
    let from = PopulatedServer::open(engine);
    let mut to = TestServer::stopped(other(engine), &crate::backup::populated::ENVIRONMENT);
    let message = copy(&from.server, &to, &[]).expect_failure();
    assert!(message.contains("another Groma process"), "{message}");
    copy(&from.server, &to, &["--rehearsal"]).expect_success();
    let endpoints = to.run(&["webhook", "list", "--workspace", WORKSPACE, "--json"]).json();
    let endpoints = endpoints.as_array().unwrap();
    assert_eq!(endpoints.len(), 3);
    for endpoint in endpoints {
        assert_eq!(endpoint["enabled"], false, "{endpoint}");
    }
    let reasons: Vec<_> =
        endpoints.iter().filter_map(|one| one["disabledReason"].as_str()).collect();
    assert!(
        reasons.contains(&"This database is a copy, made while the original was in use"),
        "{reasons:?}"
    );
    let rows = table_rows::of(&to);
    assert!(!rows["mails"].is_empty());
    assert!(rows["mails"].iter().all(|mail| !mail.contains("http")), "no mail is sent twice");
    to.serve();
    from.assert_known_to(&to);
}

fn extents_of_folders_are_copied(engine: Engine) {
    let from = TestServer::stopped(engine, &[]);
    from.create_workspace(WORKSPACE);
    from.import("folders", &[json!({ "reference": "BOX", "name": "Box" })]);
    from.write_file("one.geojson", r#"{"type":"Point","coordinates":[1,2]}"#);
    from.run(&["import", "layer", "one.geojson", "--folder", "BOX"]).expect_success();
    let mut to = TestServer::stopped(other(engine), &[]);
    copy(&from, &to, &[]).expect_success();
    to.serve();
    let token = to.create_token(&["READ_FOLDER"]);
    let found = |bbox| to.get(&format!("/folders?bbox={bbox}"), &token).ok()["total"].clone();
    assert_eq!([found("0,1,2,3"), found("3,1,4,3")], [1, 0]);
}

fn failed_copy_leaves_the_target_empty(engine: Engine) {
    let from = TestServer::stopped(engine, &[]);
    from.create_workspace(WORKSPACE);
    sample_records::fill(&from);
    // An invalid geometry or a repeated id, which the copy finds after many valid rows.
    from.write_file("one.geojson", r#"{"type":"Point","coordinates":[1,2]}"#);
    from.run(&["import", "layer", "one.geojson"]).expect_success();
    match engine {
        Engine::Sqlite => {
            let connection = Connection::open(sqlite_path(&from)).unwrap();
            assert_eq!(
                connection.execute("UPDATE features SET geometry = x'0101'", []).unwrap(),
                1
            );
        }
        Engine::Postgres => {
            let repeat = "DROP INDEX features_by_external_id;
                UPDATE features SET external_id = 'same';
                INSERT INTO features SELECT workspace_id, layer, position + 1, gen_random_uuid(), 'same', NULL, NULL,
                    geom, NULL, NULL, properties, 0, 0 FROM features";
            postgres::execute(from.database_url(), repeat).unwrap();
        }
    }
    let to = TestServer::stopped(other(engine), &[]);
    copy(&from, &to, &[]).expect_failure();
    match other(engine) {
        Engine::Sqlite => {
            let left = file_names(to.directory());
            assert!(
                left.iter().all(|name| name.ends_with(".serving") || name.ends_with(".migrating")),
                "{left:?}"
            );
        }
        Engine::Postgres => {
            let left: usize = table_rows::of(&to)
                .iter()
                .filter(|(name, _)| *name != "sequences")
                .map(|(_, rows)| rows.len())
                .sum();
            assert_eq!(left, 0);
        }
    }
}

#[test]
fn invalid_arguments_are_usage_errors() {
    let server = TestServer::stopped(Engine::Sqlite, &[]);
    let own = server.database_url();
    for words in [
        &["copy"][..],
        &["copy", "--from", own],
        &["copy", "--to", own],
        &["copy", "--from", own, "--to", own],
        &["copy", "--from", "mysql://x", "--to", own],
        &["backup"],
        &["restore"],
    ] {
        server.run(words).expect_usage_error();
    }
    assert_eq!(file_names(server.directory()), [""; 0]);
}
