//! `groma restore`: only what is whole, only where nobody is, and what was there is kept.

use super::{backup, names, path, restore, rows};
use crate::{database::Engine, office::Office, sample};
use rusqlite::Connection;
use std::path::PathBuf;

/// An office that has ended serving, and a backup of it.
fn backed_up() -> (Office, PathBuf) {
    let office = Office::closed(Engine::Sqlite, &[]);
    office.create_workspace(crate::office::WORKSPACE);
    sample::fill(&office);
    let file = office.folder().join("backup.db");
    backup(&office, &file, &[]).succeeds();
    (office, file)
}

#[test]
fn the_replaced_database_is_kept() {
    let (mut office, file) = backed_up();
    let taken = rows::of(&office);
    office.import("folders", &sample::many_folders(7));
    let later = rows::of(&office);
    let own = path(&office);
    let refused = "is there already; with --overwrite it is replaced, and kept beside";
    restore(&office, &file, &[]).fails_with(&format!("{} {refused}", own.display()));
    rows::are_equal(&rows::of(&office), &later);
    let report = restore(&office, &file, &["--overwrite", "--json"]).json();
    rows::are_equal(&rows::of(&office), &taken);
    let kept = PathBuf::from(report["kept"].as_str().unwrap());
    assert!(kept.starts_with(office.folder()));
    rows::are_equal(&rows::of_sqlite(&kept), &later);
    let mut beside = names(office.folder());
    beside.retain(|name| !name.ends_with(".migrating") && !name.ends_with(".serving"));
    let kept_name = kept.file_name().unwrap().to_str().unwrap();
    assert_eq!(beside, ["backup.db", "groma.db", kept_name, "rows.ndjson"]);
    office.open();
    assert_eq!(office.get("/folders", &office.token(&["READ_FOLDER"])).ok()["total"], 2);
    // What was kept is a backup too.
    assert_eq!(office.close(), Some(0));
    restore(&office, &kept, &["--overwrite"]).succeeds();
    rows::are_equal(&rows::of(&office), &later);
}

#[test]
fn while_someone_serves_or_has_it_open_it_is_refused() {
    let (mut office, file) = backed_up();
    office.open();
    let own = path(&office);
    let before = rows::of(&office);
    let served = format!("{} is served by another groma already", own.display());
    restore(&office, &file, &["--overwrite"]).fails_with(&served);
    assert_eq!(office.close(), Some(0));
    let reader = Connection::open(&own).unwrap();
    reader.pragma_update(None, "journal_mode", "WAL").unwrap();
    reader.query_row("SELECT count(*) FROM folders", [], |row| row.get::<_, i64>(0)).unwrap();
    let open = format!("{} is open in another program", own.display());
    restore(&office, &file, &["--overwrite"]).fails_with(&open);
    drop(reader);
    rows::are_equal(&rows::of(&office), &before);
    assert!(
        names(office.folder())
            .iter()
            .all(|name| !name.contains("part") && !name.contains("replaced"))
    );
    restore(&office, &file, &["--overwrite"]).succeeds();
}

#[test]
fn a_backup_that_is_cut_short_or_damaged_is_refused() {
    let (office, file) = backed_up();
    let whole = std::fs::read(&file).unwrap();
    let other = Office::closed(Engine::Sqlite, &[]);
    let try_with = |bytes: &[u8]| {
        let wrong = other.file("wrong.db", bytes);
        let message = restore(&other, &wrong, &[]).fails();
        assert!(!path(&other).exists(), "{message}");
        message
    };
    for length in [whole.len() - 1, whole.len() - 16_384, whole.len() / 2, 20_000, 100] {
        let message = try_with(&whole[..length]);
        assert!(message.ends_with("is cut short"), "{length}: {message}");
    }
    for length in [0, 99] {
        assert!(try_with(&whole[..length]).ends_with("is no backup of groma"));
    }
    assert!(try_with("a text ".repeat(99).as_bytes()).ends_with("is no backup of groma"));
    // Damage anywhere in what holds something.
    for page in 1..whole.len() / 16_384 {
        let mut damaged = whole.clone();
        let page = &mut damaged[page * 16_384..(page + 1) * 16_384];
        page[..64].fill(0x5a);
        let message = try_with(&damaged);
        assert!(message.contains(" is damaged: "), "{message}");
    }
    let parts = names(other.folder()).into_iter().filter(|name| name.contains("part"));
    assert_eq!(parts.count(), 0);
    drop(office);
}

#[test]
fn a_backup_of_a_newer_program_is_refused() {
    let (_office, file) = backed_up();
    let newer = "INSERT INTO refinery_schema_history (version, name, applied_on, checksum)
        VALUES (99, 'tomorrow', '2030-01-01T00:00:00Z', '1')";
    Connection::open(&file).unwrap().execute(newer, []).unwrap();
    let other = Office::closed(Engine::Sqlite, &[]);
    let reason = "was written by a newer groma: its migration V99__tomorrow is unknown here";
    restore(&other, &file, &[]).fails_with(&format!("{} {reason}", file.display()));
    assert_eq!(names(other.folder()), [""; 0]);
}

#[test]
fn a_damaged_database_is_replaced_and_kept_with_its_log() {
    let (office, file) = backed_up();
    let taken = rows::of(&office);
    let own = path(&office);
    std::fs::write(&own, "no database any more").unwrap();
    std::fs::write(own.with_extension("db-wal"), "a log").unwrap();
    let report = restore(&office, &file, &["--overwrite", "--json"]).json();
    rows::are_equal(&rows::of(&office), &taken);
    let kept = report["kept"].as_str().unwrap();
    assert_eq!(std::fs::read_to_string(kept).unwrap(), "no database any more");
    assert_eq!(std::fs::read_to_string(format!("{kept}-wal")).unwrap(), "a log");
}

#[test]
fn a_restore_of_the_database_onto_itself_is_refused() {
    let (office, _) = backed_up();
    let own = path(&office);
    let message = format!("{} is the database itself", own.display());
    restore(&office, &own, &["--overwrite"]).fails_with(&message);
    restore(&office, &office.folder().join("none.db"), &[]).fails();
    let folder = office.folder().join("new/place");
    let elsewhere = format!("sqlite:{}", folder.join("groma.db").display());
    let file = office.folder().join("backup.db");
    let restore = ["restore", file.to_str().unwrap(), "--database", &elsewhere];
    office.groma(&restore).succeeds();
    rows::are_equal(&rows::of(&office), &rows::of_sqlite(&folder.join("groma.db")));
}
