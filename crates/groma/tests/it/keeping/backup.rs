//! `groma backup`: while the program serves and is written to, whole or not at all.

use super::{backup, names, path, restore, rows};
use crate::{
    client::API,
    database::Engine,
    office::{NO_LIMIT, Office, wait_until},
    sample,
};
use rusqlite::Connection;
use serde_json::json;
use std::{
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::Duration,
};

/// A small office that serves, and a folder for its backups.
fn office() -> (Office, PathBuf) {
    let office = Office::start_with(Engine::Sqlite, &[NO_LIMIT]);
    sample::fill(&office);
    let folder = office.folder().join("backups");
    std::fs::create_dir(&folder).unwrap();
    (office, folder)
}

fn number(file: &Path, query: &str) -> u64 {
    let connection = Connection::open(file).unwrap();
    connection.query_row(query, [], |row| row.get::<_, i64>(0)).unwrap().unsigned_abs()
}

/// Posts geometries one after the other until told to stop; counts those that were acknowledged.
fn write(office: &Office, token: &str, acknowledged: &AtomicU64, stop: &AtomicBool) {
    let post = format!("{API}/geometries/geojson");
    while !stop.load(Ordering::Relaxed) {
        let number = acknowledged.load(Ordering::Relaxed);
        let x = (number % 360) as f64 - 180.0;
        let body = json!({ "type": "Point", "coordinates": [x, 1.0] }).to_string();
        let ask = office.geo().ask("POST", &post).token(token).body(body);
        ask.header("Content-Type", "application/geo+json").send().ok();
        acknowledged.fetch_add(1, Ordering::Relaxed);
    }
}

/// Backs an office up while it is written to, and checks that what came out is one moment of it.
#[track_caller]
fn back_up_under_writes(office: &Office, file: &Path) {
    let token = office.token(&[]);
    let (acknowledged, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| write(office, &token, &acknowledged, &stop));
        wait_until(Duration::from_secs(30), || match acknowledged.load(Ordering::Relaxed) {
            0..10 => Err("too few writes".to_owned()),
            _ => Ok(()),
        });
        let before = acknowledged.load(Ordering::Relaxed);
        let report = backup(office, file, &["--json"]);
        let after = acknowledged.load(Ordering::Relaxed);
        stop.store(true, Ordering::Relaxed);
        writer.join().unwrap();
        let report = report.json();
        assert_eq!(report["bytes"].as_u64().unwrap(), std::fs::metadata(file).unwrap().len());
        let held = number(file, "SELECT count(*) FROM features");
        // One more may have been committed and not yet been acknowledged.
        assert!((before..=after + 1).contains(&held), "{before} ≤ {held} ≤ {after}");
        println!("{before} acknowledged before, {after} after, {held} in the backup");
    });
    // The parts of one transaction are all in it, or none.
    let counted = number(file, "SELECT sum(state ->> '$.counts.points') FROM layers");
    assert_eq!(counted, number(file, "SELECT count(*) FROM features"));
}

#[test]
fn a_backup_under_writes_is_one_moment_and_comes_back_row_by_row() {
    let (office, folder) = office();
    let file = folder.join("groma.db");
    back_up_under_writes(&office, &file);
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(names(&folder), ["groma.db"], "nothing lies beside it");
    let taken = rows::of_sqlite(&file);
    let mut other = Office::closed(Engine::Sqlite, &[NO_LIMIT]);
    restore(&other, &file, &[]).succeeds();
    rows::are_equal(&taken, &rows::of_sqlite(&path(&other)));
    other.open();
    let token = other.token(&["READ_FOLDER"]);
    assert_eq!(other.get("/folders", &token).ok()["total"], 2);
}

#[test]
fn a_hundred_thousand_records_are_backed_up_while_a_writer_goes_on() {
    let (office, folder) = office();
    // As many rows as that, put there without the rules, which are not what this is about.
    let connection = Connection::open(path(&office)).unwrap();
    connection.busy_timeout(Duration::from_secs(30)).unwrap();
    let fill = "WITH RECURSIVE n (n) AS (SELECT 1000 UNION ALL SELECT n + 1 FROM n WHERE n < 100999)
        INSERT INTO folders (place, ws, id, reference, status_id, doc, people)
        SELECT f.ws << 40 | n, f.ws, unhex(printf('%032x', n)), 'X-' || n, f.status_id,
            json_set(f.doc, '$.reference', 'X-' || n), x'' FROM n, (SELECT * FROM folders ORDER BY place DESC LIMIT 1) f";
    assert_eq!(connection.execute(fill, []).unwrap(), 100_000);
    drop(connection);
    let file = folder.join("groma.db");
    back_up_under_writes(&office, &file);
    assert!(number(&file, "SELECT count(*) FROM folders") > 100_000);
}

#[test]
fn nothing_is_overwritten_unless_told() {
    let (office, folder) = office();
    let file = folder.join("groma.db");
    backup(&office, &file, &[]).succeeds();
    let first = std::fs::read(&file).unwrap();
    office.import("folders", &sample::many_folders(3));
    let shown = file.display();
    backup(&office, &file, &[])
        .fails_with(&format!("{shown} is there already; --overwrite replaces it"));
    assert_eq!(std::fs::read(&file).unwrap(), first);
    // Someone has it open: the new one would be read with the log of the old.
    let log = folder.join("groma.db-wal");
    std::fs::write(&log, "x").unwrap();
    let in_use = format!("{shown} is open in another program, or was not closed by it");
    backup(&office, &file, &["--overwrite"]).fails_with(&in_use);
    std::fs::remove_file(log).unwrap();
    backup(&office, &file, &["--overwrite"]).succeeds();
    assert_eq!(number(&file, "SELECT count(*) FROM folders"), 5);
    let own = path(&office);
    for more in [&[][..], &["--overwrite"]] {
        backup(&office, &own, more)
            .fails_with(&format!("{} is the database itself", own.display()));
    }
    backup(&office, &folder, &["--overwrite"])
        .fails_with(&format!("{} is no file", folder.display()));
    assert_eq!(names(&folder), ["groma.db"]);
    backup(&office, &folder.join("none/groma.db"), &[]).fails();
}

#[test]
fn what_a_killed_backup_left_is_begun_anew() {
    let (office, folder) = office();
    std::fs::write(folder.join("groma.db.part"), "half of something").unwrap();
    let file = folder.join("groma.db");
    backup(&office, &file, &[]).succeeds();
    assert_eq!(names(&folder), ["groma.db"]);
    // Another that is at work is left alone.
    let part = std::fs::File::create(folder.join("groma.db.part")).unwrap();
    part.lock().unwrap();
    let shown = folder.join("groma.db.part");
    let busy = format!("{} is being written by another groma", shown.display());
    backup(&office, &file, &["--overwrite"]).fails_with(&busy);
    assert_eq!(names(&folder), ["groma.db", "groma.db.part"]);
}

#[test]
fn a_backup_is_taken_as_it_is_before_an_upgrade() {
    let office = Office::closed(Engine::Sqlite, &[]);
    let own = path(&office);
    Connection::open(&own).unwrap().execute_batch("CREATE TABLE x (y)").unwrap();
    let file = office.folder().join("backup.db");
    backup(&office, &file, &[]).fails_with(&format!("{} is no database of groma", own.display()));
    std::fs::remove_file(&own).unwrap();
    backup(&office, &file, &[]).fails();
    assert!(!own.exists() && !file.exists());
    office.create_workspace("One");
    let forget = "DELETE FROM refinery_schema_history WHERE version > 3";
    Connection::open(&own).unwrap().execute(forget, []).unwrap();
    backup(&office, &file, &[]).succeeds();
    assert_eq!(number(&file, "SELECT count(*) FROM refinery_schema_history"), 3, "none was run");
}

#[test]
fn on_postgresql_the_line_says_what_to_use() {
    let office = Office::closed(Engine::Postgres, &[]);
    let file = office.folder().join("x");
    let instead = "`groma backup` is for SQLite; PostgreSQL has pg_dump or pg_basebackup";
    backup(&office, &file, &[]).fails_with(instead);
    restore(&office, &file, &[])
        .fails_with("`groma restore` is for SQLite; PostgreSQL has pg_restore");
    assert_eq!(names(office.folder()), [""; 0]);
}

/// A file system of its own, in memory, gone when dropped.
struct Small(PathBuf);

impl Small {
    fn mount(at: &Path, size: &str) -> Option<Self> {
        std::fs::create_dir(at).unwrap();
        let mount = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"])
            .arg(at)
            .output();
        mount.ok().filter(|mount| mount.status.success()).map(|_| Self(at.to_owned()))
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn a_full_disk_leaves_nothing_half() {
    let (office, _) = office();
    let Some(small) = Small::mount(&office.folder().join("small"), "200k") else {
        eprintln!("skipped: a small file system cannot be mounted here");
        return;
    };
    let file = small.0.join("groma.db");
    let message = backup(&office, &file, &[]).fails();
    assert!(message.contains("full"), "{message}");
    assert_eq!(names(&small.0), [""; 0]);
    // An older backup outlives the attempt to replace it.
    std::fs::write(&file, "older").unwrap();
    backup(&office, &file, &["--overwrite"]).fails();
    assert_eq!(names(&small.0), ["groma.db"]);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "older");
    office.get("/folders", &office.token(&["READ_FOLDER"])).ok();
}
