//! Temporary folders for files that are imported. A server that is killed leaves them behind, so each has a locked
//! file: a folder whose file is not locked belongs to no process.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};
use tempfile::TempDir;

const PREFIX: &str = "groma-import-";
const LOCK_FILE: &str = "lock";
const FILES: &str = "files";

/// A folder for the files of one import, deleted with its content when it is dropped.
pub(super) struct UploadFolder {
    files: PathBuf,
    /// Locked.
    _lock: File,
    _folder: TempDir,
}

impl UploadFolder {
    pub(super) fn new() -> io::Result<Self> {
        Self::new_in(&std::env::temp_dir())
    }

    fn new_in(parent: &Path) -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(parent)?;
        let files = folder.path().join(FILES);
        fs::create_dir(&files)?;
        // Renamed once it is locked, so that another server never finds it unlocked.
        let new = folder.path().join("new-lock");
        let lock = File::create_new(&new)?;
        lock.try_lock()?;
        fs::rename(&new, folder.path().join(LOCK_FILE))?;
        Ok(Self { files, _lock: lock, _folder: folder })
    }

    /// Where the files are.
    pub(super) fn files(&self) -> &Path {
        &self.files
    }
}

/// Deletes the folders of servers that were killed.
pub(super) fn delete_abandoned() {
    if let Err(error) = delete_abandoned_in(&std::env::temp_dir()) {
        tracing::warn!(%error, "cannot look for the files of imports that were interrupted");
    }
}

fn delete_abandoned_in(parent: &Path) -> io::Result<()> {
    for entry in fs::read_dir(parent)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(PREFIX) && is_abandoned(&entry.path()) {
            // Another server can delete it at the same time.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
    Ok(())
}

/// Whether no process has locked the folder. One that is just being created has no file yet.
fn is_abandoned(folder: &Path) -> bool {
    File::open(folder.join(LOCK_FILE)).is_ok_and(|lock| lock.try_lock().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_killed_servers_are_deleted() {
        let parent = tempfile::tempdir().unwrap();
        let live = UploadFolder::new_in(parent.path()).unwrap();
        fs::write(live.files().join("a.csv"), "name\n").unwrap();
        // A process that is killed deletes nothing, and its locks end.
        let [killed, new, foreign] = ["groma-import-killed", "groma-import-new", "other"]
            .map(|name| parent.path().join(name));
        for folder in [&killed, &new, &foreign] {
            fs::create_dir_all(folder.join(FILES)).unwrap();
        }
        fs::write(killed.join(LOCK_FILE), "").unwrap();
        delete_abandoned_in(parent.path()).unwrap();
        assert!(!killed.exists());
        assert!(live.files().join("a.csv").exists() && foreign.exists() && new.exists());
        drop(live);
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 2);
    }
}
