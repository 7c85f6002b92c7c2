//! Backups of a SQLite file. PostgreSQL has means of its own, made for this and well known.

use crate::{DatabaseUrl, Error, Result, Store, sqlite};
use std::path::{Path, PathBuf};

/// How far a backup, a restore or a copy has come.
#[derive(Clone, Copy, Debug)]
pub enum Progress {
    /// So many pages of a file, or rows of all tables.
    Copying {
        /// Those that are there.
        done: u64,
        /// All.
        total: u64,
    },
    /// All is there, and is looked through.
    Checking,
}

/// A backup that was written.
#[derive(Clone, Copy, Debug)]
pub struct BackupReport {
    /// Its size.
    pub bytes: u64,
    /// The rows of all its tables.
    pub rows: u64,
}

/// A backup that was put in place.
#[derive(Clone, Debug)]
pub struct RestoreReport {
    /// The rows of all tables.
    pub rows: u64,
    /// The name that the replaced database has now.
    pub kept: Option<PathBuf>,
}

impl Store {
    /// Writes a backup of a database, beside whatever serves it.
    pub async fn backup(
        url: &DatabaseUrl,
        file: &Path,
        overwrite: bool,
        tell: impl Fn(Progress) + Send + 'static,
    ) -> Result<BackupReport> {
        let (database, file) =
            (sqlite_path(url, "backup", "pg_dump or pg_basebackup")?, file.to_owned());
        apart(move || sqlite::backup::backup(&database, &file, overwrite, &tell)).await
    }

    /// Puts a backup in the place of a database that nobody serves. The replaced one keeps its name
    /// with `stamp` at the end.
    pub async fn restore(
        url: &DatabaseUrl,
        file: &Path,
        overwrite: bool,
        stamp: String,
        tell: impl Fn(Progress) + Send + 'static,
    ) -> Result<RestoreReport> {
        let (database, file) = (sqlite_path(url, "restore", "pg_restore")?, file.to_owned());
        apart(move || sqlite::backup::restore(&file, &database, overwrite, &stamp, &tell)).await
    }
}

fn sqlite_path(url: &DatabaseUrl, command: &str, instead: &str) -> Result<PathBuf> {
    match url {
        DatabaseUrl::Sqlite(path) => Ok(path.clone()),
        DatabaseUrl::Postgres(_) => Err(Error::Keeping(format!(
            "`groma {command}` is for SQLite; PostgreSQL has {instead}"
        ))),
    }
}

/// Runs what takes long on a thread of its own.
pub(crate) async fn apart<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(|_| Error::Closed)?
}
