//! `groma restore`: accepts only an intact backup and an unused database, and keeps the replaced one.

use super::{backup, file_names, restore, sqlite_path, table_rows};
use crate::sample_records;
use groma_testkit::{Engine, TestServer, server::WORKSPACE};
use rusqlite::Connection;
use std::path::PathBuf;

/// A stopped server and its backup.
fn stopped_with_backup() -> (TestServer, PathBuf) {
    let server = TestServer::stopped(Engine::Sqlite, &[]);
    server.create_workspace(WORKSPACE);
    sample_records::fill(&server);
    let file = server.directory().join("backup.db");
    backup(&server, &file, &[]).expect_success();
    (server, file)
}

#[test]
fn replaced_database_is_kept() {
    let (mut server, file) = stopped_with_backup();
    let taken = table_rows::of(&server);
    server.import("folders", &sample_records::many_folders(7));
    let later = table_rows::of(&server);
    let own = sqlite_path(&server);
    let message = "already exists; use --overwrite to replace it, and the old file is kept";
    restore(&server, &file, &[]).expect_error(&format!("{} {message}", own.display()));
    table_rows::assert_equal_rows(&table_rows::of(&server), &later);
    let report = restore(&server, &file, &["--overwrite", "--json"]).json();
    table_rows::assert_equal_rows(&table_rows::of(&server), &taken);
    let kept = PathBuf::from(report["kept"].as_str().unwrap());
    assert!(kept.starts_with(server.directory()));
    table_rows::assert_equal_rows(&table_rows::of_sqlite(&kept), &later);
    let mut beside = file_names(server.directory());
    let is_kept_apart =
        |name: &str| [".migrating", ".serving", ".key"].iter().any(|suffix| name.ends_with(suffix));
    beside.retain(|name| !is_kept_apart(name));
    let kept_name = kept.file_name().unwrap().to_str().unwrap();
    assert_eq!(beside, ["backup.db", "groma.db", kept_name, "rows.ndjson"]);
    server.serve();
    assert_eq!(server.get("/folders", &server.create_token(&["READ_FOLDER"])).ok()["total"], 2);
    // The replaced database can be restored as well.
    assert_eq!(server.stop(), Some(0));
    restore(&server, &kept, &["--overwrite"]).expect_success();
    table_rows::assert_equal_rows(&table_rows::of(&server), &later);
}

#[test]
fn database_in_use_is_not_replaced() {
    let (mut server, file) = stopped_with_backup();
    server.serve();
    let own = sqlite_path(&server);
    let before = table_rows::of(&server);
    let served = format!("{} is already in use by another Groma process", own.display());
    restore(&server, &file, &["--overwrite"]).expect_error(&served);
    assert_eq!(server.stop(), Some(0));
    let reader = Connection::open(&own).unwrap();
    reader.pragma_update(None, "journal_mode", "WAL").unwrap();
    reader.query_row("SELECT count(*) FROM folders", [], |row| row.get::<_, i64>(0)).unwrap();
    let open = format!("{} is open in another program", own.display());
    restore(&server, &file, &["--overwrite"]).expect_error(&open);
    drop(reader);
    table_rows::assert_equal_rows(&table_rows::of(&server), &before);
    assert!(
        file_names(server.directory())
            .iter()
            .all(|name| !name.contains("part") && !name.contains("replaced"))
    );
    restore(&server, &file, &["--overwrite"]).expect_success();
}

#[test]
fn truncated_or_damaged_backup_is_rejected() {
    let (server, file) = stopped_with_backup();
    let whole = std::fs::read(&file).unwrap();
    let other = TestServer::stopped(Engine::Sqlite, &[]);
    let try_with = |bytes: &[u8]| {
        let wrong = other.write_file("wrong.db", bytes);
        let message = restore(&other, &wrong, &[]).expect_failure();
        assert!(!sqlite_path(&other).exists(), "{message}");
        message
    };
    for length in [whole.len() - 1, whole.len() - 16_384, whole.len() / 2, 20_000, 100] {
        let message = try_with(&whole[..length]);
        assert!(message.ends_with("is truncated"), "{length}: {message}");
    }
    for length in [0, 99] {
        assert!(try_with(&whole[..length]).ends_with("is not a Groma backup"));
    }
    assert!(try_with("a text ".repeat(99).as_bytes()).ends_with("is not a Groma backup"));
    // Damage in any used page.
    for page in 1..whole.len() / 16_384 {
        let mut damaged = whole.clone();
        let page = &mut damaged[page * 16_384..(page + 1) * 16_384];
        page[..64].fill(0x5a);
        let message = try_with(&damaged);
        assert!(message.contains(" is damaged: "), "{message}");
    }
    let parts = file_names(other.directory()).into_iter().filter(|name| name.contains("part"));
    assert_eq!(parts.count(), 0);
    drop(server);
}

#[test]
fn backup_of_a_newer_version_is_rejected() {
    let (_office, file) = stopped_with_backup();
    let newer = "INSERT INTO refinery_schema_history (version, name, applied_on, checksum)
        VALUES (99, 'tomorrow', '2030-01-01T00:00:00Z', '1')";
    Connection::open(&file).unwrap().execute(newer, []).unwrap();
    let other = TestServer::stopped(Engine::Sqlite, &[]);
    let reason = "was written by a newer version: its migration V99__tomorrow is unknown here";
    restore(&other, &file, &[]).expect_error(&format!("{} {reason}", file.display()));
    assert_eq!(file_names(other.directory()), [""; 0]);
}

#[test]
fn damaged_database_is_replaced_and_kept_with_its_wal() {
    let (server, file) = stopped_with_backup();
    let taken = table_rows::of(&server);
    let own = sqlite_path(&server);
    std::fs::write(&own, "no database any more").unwrap();
    std::fs::write(own.with_extension("db-wal"), "a log").unwrap();
    let report = restore(&server, &file, &["--overwrite", "--json"]).json();
    table_rows::assert_equal_rows(&table_rows::of(&server), &taken);
    let kept = report["kept"].as_str().unwrap();
    assert_eq!(std::fs::read_to_string(kept).unwrap(), "no database any more");
    assert_eq!(std::fs::read_to_string(format!("{kept}-wal")).unwrap(), "a log");
}

#[test]
fn restoring_the_database_from_itself_is_rejected() {
    let (server, _) = stopped_with_backup();
    let own = sqlite_path(&server);
    let message = format!("{} is the database itself", own.display());
    restore(&server, &own, &["--overwrite"]).expect_error(&message);
    restore(&server, &server.directory().join("none.db"), &[]).expect_failure();
    let folder = server.directory().join("new/place");
    let elsewhere = format!("sqlite:{}", folder.join("groma.db").display());
    let file = server.directory().join("backup.db");
    let restore = ["restore", file.to_str().unwrap(), "--database", &elsewhere];
    server.run(&restore).expect_success();
    table_rows::assert_equal_rows(
        &table_rows::of(&server),
        &table_rows::of_sqlite(&folder.join("groma.db")),
    );
}
