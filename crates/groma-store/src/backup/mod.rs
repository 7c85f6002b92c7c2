//! Backups of a SQLite database. PostgreSQL has its own tools.

pub(crate) mod sqlite;

use crate::{DatabaseUrl, Error, Result};
use groma_domain::Timestamp;
use std::path::{Path, PathBuf};

/// The progress of a backup, a restore or a copy.
#[derive(Clone, Copy, Debug)]
pub enum Progress {
    /// Copying pages of a file, or rows of all tables.
    Copying {
        /// How many are copied.
        done: u64,
        /// How many there are.
        total: u64,
    },
    /// Checking the result.
    Checking,
}

/// The result of a backup.
#[derive(Clone, Copy, Debug)]
pub struct BackupReport {
    /// Its size in bytes.
    pub bytes: u64,
    /// The number of rows in all tables.
    pub rows: u64,
}

/// The result of a restore.
#[derive(Clone, Debug)]
pub struct RestoreReport {
    /// The number of rows in all tables.
    pub rows: u64,
    /// Where the replaced database is now.
    pub kept: Option<PathBuf>,
}

/// Writes a backup of a database, which may be served meanwhile.
pub(crate) async fn backup(
    url: &DatabaseUrl,
    file: &Path,
    overwrite: bool,
    now: Timestamp,
    progress: impl Fn(Progress) + Send + 'static,
) -> Result<BackupReport> {
    let (database, file) =
        (sqlite_path(url, "backup", "pg_dump or pg_basebackup")?, file.to_owned());
    spawn_blocking(move || sqlite::backup(&database, &file, overwrite, now, &progress)).await
}

/// Replaces a database that is not served by a backup. The replaced file is kept, with `stamp` appended to
/// its name.
pub(crate) async fn restore(
    url: &DatabaseUrl,
    file: &Path,
    overwrite: bool,
    stamp: String,
    now: Timestamp,
    progress: impl Fn(Progress) + Send + 'static,
) -> Result<RestoreReport> {
    let (database, file) = (sqlite_path(url, "restore", "pg_restore")?, file.to_owned());
    spawn_blocking(move || sqlite::restore(&file, &database, overwrite, &stamp, now, &progress))
        .await
}

fn sqlite_path(url: &DatabaseUrl, command: &str, instead: &str) -> Result<PathBuf> {
    match url {
        DatabaseUrl::Sqlite(path) => Ok(path.clone()),
        DatabaseUrl::Postgres(_) => Err(Error::Maintenance(format!(
            "`groma {command}` works on SQLite only; for PostgreSQL use {instead}"
        ))),
    }
}

/// Runs long work on a thread of its own.
pub(crate) async fn spawn_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(|_| Error::Closed)?
}
