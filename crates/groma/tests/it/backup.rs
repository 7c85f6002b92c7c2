//! Backup, restore, and copying a database from one engine to the other.

mod backup_command;
mod copy;
mod engine_migration;
pub(crate) mod populated;
mod restore;
pub(crate) mod table_rows;

use groma_testkit::{CommandOutput, TestServer};
use std::path::{Path, PathBuf};

/// The SQLite file of a server.
pub(crate) fn sqlite_path(server: &TestServer) -> PathBuf {
    server.database_url().strip_prefix("sqlite:").expect("a SQLite file").into()
}

fn backup(server: &TestServer, file: &Path, more: &[&str]) -> CommandOutput {
    server.run(&[&["backup", file.to_str().unwrap()], more].concat())
}

fn restore(server: &TestServer, file: &Path, more: &[&str]) -> CommandOutput {
    server.run(&[&["restore", file.to_str().unwrap()], more].concat())
}

pub(crate) fn copy(from: &TestServer, to: &TestServer, more: &[&str]) -> CommandOutput {
    to.run(&[&["copy", "--from", from.database_url(), "--to", to.database_url()], more].concat())
}

/// The sorted names of the files in a directory.
fn file_names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}
