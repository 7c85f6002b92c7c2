//! What an operator keeps: backups and how they come back, and the move from one engine to the other.

mod backup;
mod copy;
mod drill;
pub(crate) mod lived_in;
mod restore;
pub(crate) mod rows;

use crate::office::{Done, Office};
use std::path::{Path, PathBuf};

/// The file of an office's database.
pub(crate) fn path(office: &Office) -> PathBuf {
    office.database().strip_prefix("sqlite:").expect("a SQLite file").into()
}

fn backup(office: &Office, file: &Path, more: &[&str]) -> Done {
    office.groma(&[&["backup", file.to_str().unwrap()], more].concat())
}

fn restore(office: &Office, file: &Path, more: &[&str]) -> Done {
    office.groma(&[&["restore", file.to_str().unwrap()], more].concat())
}

pub(crate) fn copy(from: &Office, to: &Office, more: &[&str]) -> Done {
    to.groma(&[&["copy", "--from", from.database(), "--to", to.database()], more].concat())
}

/// The names of what is in a folder, sorted.
fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}
