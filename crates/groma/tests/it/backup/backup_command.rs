//! `groma backup`: a consistent copy while the server writes, or nothing.

use super::{backup, file_names, restore, sqlite_path, table_rows};
use crate::sample_records;
use groma_testkit::{API, Engine, TestServer, server::NO_RATE_LIMIT, wait_until};
use rusqlite::Connection;
use serde_json::json;
use std::{
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::Duration,
};

/// A running server, and a directory for its backups.
fn start_with_backup_directory() -> (TestServer, PathBuf) {
    let server = TestServer::start_with(Engine::Sqlite, &[NO_RATE_LIMIT]);
    sample_records::fill(&server);
    let folder = server.directory().join("backups");
    std::fs::create_dir(&folder).unwrap();
    (server, folder)
}

fn number(file: &Path, query: &str) -> u64 {
    let connection = Connection::open(file).unwrap();
    connection.query_row(query, [], |row| row.get::<_, i64>(0)).unwrap().unsigned_abs()
}

/// Posts geometries until `stop` is set, and counts the acknowledged ones.
fn write(server: &TestServer, token: &str, acknowledged: &AtomicU64, stop: &AtomicBool) {
    let post = format!("{API}/geometries/geojson");
    while !stop.load(Ordering::Relaxed) {
        let number = acknowledged.load(Ordering::Relaxed);
        let x = (number % 360) as f64 - 180.0;
        let body = json!({ "type": "Point", "coordinates": [x, 1.0] }).to_string();
        let request = server.geo().request("POST", &post).token(token).body(body);
        request.header("Content-Type", "application/geo+json").send().ok();
        acknowledged.fetch_add(1, Ordering::Relaxed);
    }
}

/// Backs up a server during writes, and asserts that the backup is one consistent state.
#[track_caller]
fn back_up_under_writes(server: &TestServer, file: &Path) {
    let token = server.create_token(&[]);
    let (acknowledged, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| write(server, &token, &acknowledged, &stop));
        wait_until(Duration::from_secs(30), || match acknowledged.load(Ordering::Relaxed) {
            0..10 => Err("too few writes".to_owned()),
            _ => Ok(()),
        });
        let before = acknowledged.load(Ordering::Relaxed);
        let report = backup(server, file, &["--json"]);
        let after = acknowledged.load(Ordering::Relaxed);
        stop.store(true, Ordering::Relaxed);
        writer.join().unwrap();
        let report = report.json();
        assert_eq!(report["bytes"].as_u64().unwrap(), std::fs::metadata(file).unwrap().len());
        let key = sqlite_path(server).with_added_extension("key");
        assert_eq!(report["keyFile"], key.to_str().unwrap(), "the key is kept apart");
        let held = number(file, "SELECT count(*) FROM features");
        // One more write may be committed but not acknowledged yet.
        assert!((before..=after + 1).contains(&held), "{before} ≤ {held} ≤ {after}");
        println!("{before} acknowledged before, {after} after, {held} in the backup");
    });
    // A transaction is in the backup completely or not at all.
    let counted = number(file, "SELECT sum(state ->> '$.counts.points') FROM layers");
    assert_eq!(counted, number(file, "SELECT count(*) FROM features"));
}

#[test]
fn backup_during_writes_is_consistent_and_restores_every_row() {
    let (server, folder) = start_with_backup_directory();
    let file = folder.join("groma.db");
    back_up_under_writes(&server, &file);
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(file_names(&folder), ["groma.db"], "the backup is one file");
    let taken = table_rows::of_sqlite(&file);
    let mut other = TestServer::stopped(Engine::Sqlite, &[NO_RATE_LIMIT]);
    restore(&other, &file, &[]).expect_success();
    table_rows::assert_equal_rows(&taken, &table_rows::of_sqlite(&sqlite_path(&other)));
    other.serve();
    let token = other.create_token(&["READ_FOLDER"]);
    assert_eq!(other.get("/folders", &token).ok()["total"], 2);
}

#[test]
fn large_database_can_be_backed_up_during_writes() {
    let (server, folder) = start_with_backup_directory();
    // Inserted directly, because this test needs only their number.
    let connection = Connection::open(sqlite_path(&server)).unwrap();
    connection.busy_timeout(Duration::from_secs(30)).unwrap();
    let fill = "WITH RECURSIVE n (n) AS (SELECT 1000 UNION ALL SELECT n + 1 FROM n WHERE n < 100999)
        INSERT INTO folders (position, ws, id, reference, reference_key, status_id, doc, people, title, updated_at)
        SELECT f.ws << 40 | n, f.ws, unhex(printf('%032x', n)), 'X-' || n, 'x-' || n, f.status_id,
            json_set(f.doc, '$.reference', 'X-' || n), x'', f.title, f.updated_at FROM n, (SELECT * FROM folders ORDER BY position DESC LIMIT 1) f";
    assert_eq!(connection.execute(fill, []).unwrap(), 100_000);
    drop(connection);
    let file = folder.join("groma.db");
    back_up_under_writes(&server, &file);
    assert!(number(&file, "SELECT count(*) FROM folders") > 100_000);
}

#[test]
fn existing_file_is_overwritten_only_on_request() {
    let (server, folder) = start_with_backup_directory();
    let file = folder.join("groma.db");
    backup(&server, &file, &[]).expect_success();
    let first = std::fs::read(&file).unwrap();
    server.import("folders", &sample_records::many_folders(3));
    let display = file.display();
    backup(&server, &file, &[])
        .expect_error(&format!("{display} already exists; use --overwrite to replace it"));
    assert_eq!(std::fs::read(&file).unwrap(), first);
    // An open file is not replaced, because the new one would be read with the old file's WAL.
    let log = folder.join("groma.db-wal");
    std::fs::write(&log, "x").unwrap();
    let in_use = format!("{display} is open in another program, or was not closed by it");
    backup(&server, &file, &["--overwrite"]).expect_error(&in_use);
    std::fs::remove_file(log).unwrap();
    backup(&server, &file, &["--overwrite"]).expect_success();
    assert_eq!(number(&file, "SELECT count(*) FROM folders"), 5);
    let own = sqlite_path(&server);
    for more in [&[][..], &["--overwrite"]] {
        backup(&server, &own, more)
            .expect_error(&format!("{} is the database itself", own.display()));
    }
    backup(&server, &folder, &["--overwrite"])
        .expect_error(&format!("{} is not a regular file", folder.display()));
    assert_eq!(file_names(&folder), ["groma.db"]);
    backup(&server, &folder.join("none/groma.db"), &[]).expect_failure();
}

#[test]
fn backup_replaces_the_remains_of_a_killed_one() {
    let (server, folder) = start_with_backup_directory();
    std::fs::write(folder.join("groma.db.part"), "half of something").unwrap();
    let file = folder.join("groma.db");
    backup(&server, &file, &[]).expect_success();
    assert_eq!(file_names(&folder), ["groma.db"]);
    // The file of a running backup is not touched.
    let part = std::fs::File::create(folder.join("groma.db.part")).unwrap();
    part.lock().unwrap();
    let display = folder.join("groma.db.part");
    let busy = format!("{} is being written by another Groma process", display.display());
    backup(&server, &file, &["--overwrite"]).expect_error(&busy);
    assert_eq!(file_names(&folder), ["groma.db", "groma.db.part"]);
}

#[test]
fn backup_does_not_migrate_the_database() {
    let server = TestServer::stopped(Engine::Sqlite, &[]);
    let own = sqlite_path(&server);
    Connection::open(&own).unwrap().execute_batch("CREATE TABLE x (y)").unwrap();
    let file = server.directory().join("backup.db");
    backup(&server, &file, &[]).expect_error(&format!("{} is not a Groma database", own.display()));
    std::fs::remove_file(&own).unwrap();
    backup(&server, &file, &[]).expect_failure();
    assert!(!own.exists() && !file.exists());
    server.create_workspace("One");
    let forget = "DELETE FROM refinery_schema_history";
    Connection::open(&own).unwrap().execute(forget, []).unwrap();
    backup(&server, &file, &[]).expect_success();
    assert_eq!(
        number(&file, "SELECT count(*) FROM refinery_schema_history"),
        0,
        "no migration was run"
    );
}

#[test]
fn postgresql_error_names_the_tools_to_use() {
    let server = TestServer::stopped(Engine::Postgres, &[]);
    let file = server.directory().join("x");
    let instead =
        "`groma backup` works on SQLite only; for PostgreSQL use pg_dump or pg_basebackup";
    backup(&server, &file, &[]).expect_error(instead);
    restore(&server, &file, &[])
        .expect_error("`groma restore` works on SQLite only; for PostgreSQL use pg_restore");
    assert_eq!(file_names(server.directory()), [""; 0]);
}

/// A small file system in memory, unmounted when dropped.
struct SmallFileSystem(PathBuf);

impl SmallFileSystem {
    fn mount(at: &Path, size: &str) -> Option<Self> {
        std::fs::create_dir(at).unwrap();
        let mount = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"])
            .arg(at)
            .output();
        mount.ok().filter(|mount| mount.status.success()).map(|_| Self(at.to_owned()))
    }
}

impl Drop for SmallFileSystem {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn full_disk_leaves_no_partial_backup() {
    let (server, _) = start_with_backup_directory();
    let Some(small) = SmallFileSystem::mount(&server.directory().join("small"), "200k") else {
        eprintln!("skipped: a small file system cannot be mounted here");
        return;
    };
    let file = small.0.join("groma.db");
    let message = backup(&server, &file, &[]).expect_failure();
    assert!(message.contains("full"), "{message}");
    assert_eq!(file_names(&small.0), [""; 0]);
    // A failed replacement keeps the older backup.
    std::fs::write(&file, "older").unwrap();
    backup(&server, &file, &["--overwrite"]).expect_failure();
    assert_eq!(file_names(&small.0), ["groma.db"]);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "older");
    server.get("/folders", &server.create_token(&["READ_FOLDER"])).ok();
}
