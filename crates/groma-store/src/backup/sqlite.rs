//! Backup and restore of SQLite files.
//!
//! A backup copies pages within one read transaction, so writers do not wait, and memory holds few pages
//! at a time. The copy is verified before it gets its name.

use super::{BackupReport, Progress, RestoreReport};
use crate::{
    Error, Result,
    engine::{
        sqlite::{
            OPEN_FLAGS, canonical_path, file_error, has_migrations, known_migrations, lock_file,
            serving_lock,
        },
        statements,
    },
    security_log::{self, NewSecurityEntry},
};
use groma_domain::Timestamp;
use rusqlite::{
    Connection, ErrorCode, OpenFlags,
    backup::{Backup, StepResult},
};
use std::{
    fs::File,
    io::{ErrorKind, Read},
    os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
    time::Duration,
};

statements! {
    BEGIN = "BEGIN";
    NAMED_MIGRATIONS = "SELECT version, name FROM refinery_schema_history ORDER BY version";
    TABLES = "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table'
        AND name NOT LIKE 'sqlite_%' AND name NOT IN ('refinery_schema_history', 'database_identity') ORDER BY name";
    INTEGRITY = "PRAGMA integrity_check(1)";
    EXCLUSIVE_LOCKING = "PRAGMA locking_mode = EXCLUSIVE";
    RENEW_IDENTITY = "UPDATE database_identity SET id = randomblob(16)";
    ROLLBACK_JOURNAL = "PRAGMA journal_mode = DELETE";
}

/// The settings of a connection that fills a new file: if it fails, the file is deleted.
pub(crate) const FILL_PRAGMAS: [&str; 6] = [
    "PRAGMA page_size = 16384",
    "PRAGMA locking_mode = EXCLUSIVE",
    "PRAGMA journal_mode = OFF",
    "PRAGMA synchronous = OFF",
    "PRAGMA temp_store = MEMORY",
    "PRAGMA cache_size = -16384",
];

/// Counts the rows of a table. The name comes from the database itself.
fn count_sql(table: &str) -> String {
    format!("SELECT count(*) FROM \"{table}\"")
}

/// Pages per step. Progress is reported after each step.
const STEP: i32 = 1_024;

/// The first bytes of a SQLite file.
const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// Suffixes of the files that SQLite keeps next to a database.
const COMPANION_SUFFIXES: [&str; 3] = ["-wal", "-shm", "-journal"];

/// Writes a backup of a database without migrating it, so that a backup can precede a migration.
pub(crate) fn backup(
    database: &Path,
    file: &Path,
    overwrite: bool,
    now: Timestamp,
    progress: &dyn Fn(Progress),
) -> Result<BackupReport> {
    let database = canonical_path(database)?;
    check_target(file, &database, overwrite)?;
    // The backup is made whether or not the entry can be written: the disk may be full.
    log_security(&database, NewSecurityEntry::new("backup.started", now));
    let from = open(&database, OPEN_FLAGS)?;
    from.execute_batch(BEGIN)?;
    check_migrations(&from, &database)?;
    let counts = count_rows(&from)?;
    let part = PartialFile::beside(file)?;
    copy_pages(&from, part.path(), progress)?;
    drop(from);
    check(part.path(), &counts, progress)?;
    let bytes = part.finish(file)?;
    Ok(BackupReport { bytes, rows: counts.iter().map(|(_, rows)| rows).sum() })
}

/// Writes to the security log of a file, if it has one: a database of an older version does not.
fn log_security(database: &Path, entry: NewSecurityEntry) {
    let action = entry.action;
    let written = open(database, OPEN_FLAGS)
        .and_then(|connection| security_log::sqlite::write_to(&connection, entry));
    if let Err(error) = written {
        tracing::warn!(%error, action, "could not write to the security log");
    }
}

/// Replaces a database by a backup. The replaced file is kept under a name that ends with `stamp`.
pub(crate) fn restore(
    file: &Path,
    database: &Path,
    overwrite: bool,
    stamp: &str,
    now: Timestamp,
    progress: &dyn Fn(Progress),
) -> Result<RestoreReport> {
    let from = open_backup(file)?;
    let locked = LockedFile::claim(database)?;
    if let Some(old) = &locked.old {
        if old.ino() == metadata(file)?.ino() && old.dev() == metadata(file)?.dev() {
            return Err(invalid_file(file, "is the database itself"));
        }
        if !overwrite {
            let reason = "already exists; use --overwrite to replace it, and the old file is kept";
            return Err(invalid_file(&locked.path, reason));
        }
    }
    let name = file.display().to_string();
    let counts = count_rows(&from).map_err(|error| damaged(&name, error))?;
    let part = PartialFile::beside(&locked.path)?;
    copy_pages(&from, part.path(), progress).map_err(|error| damaged(&name, error))?;
    check(part.path(), &counts, progress)?;
    log_security(part.path(), NewSecurityEntry::new("backup.restored", now));
    let kept = with_suffix(&locked.path, &format!(".replaced-{stamp}"));
    let kept = locked.replace(part, Some(&kept))?;
    Ok(RestoreReport { rows: counts.iter().map(|(_, rows)| rows).sum(), kept })
}

/// A database file that is to be filled or replaced. It is locked: no server and no other command opens it
/// meanwhile.
pub(crate) struct LockedFile {
    pub(crate) path: PathBuf,
    /// The existing file.
    old: Option<std::fs::Metadata>,
    _locks: [File; 2],
}

impl LockedFile {
    pub(crate) fn claim(database: &Path) -> Result<Self> {
        let (path, old) = match canonical_path(database) {
            Ok(path) => (path.clone(), Some(metadata(&path)?)),
            Err(Error::Missing(_)) => {
                if let Some(folder) = folder_of(database) {
                    std::fs::create_dir_all(folder).map_err(|error| file_error(folder, error))?;
                }
                (database.to_owned(), None)
            }
            Err(error) => return Err(error),
        };
        let (migrating, lock_path) = lock_file(&path, "migrating")?;
        migrating.lock().map_err(|source| file_error(&lock_path, source))?;
        let serving = serving_lock(&path)?;
        Ok(Self { path, old, _locks: [serving, migrating] })
    }

    /// Whether the file exists and has rows.
    pub(crate) fn has_rows(&self) -> Result<bool> {
        if self.old.as_ref().is_none_or(|old| old.len() == 0) {
            return Ok(false);
        }
        let counts = count_rows(&open(&self.path, OPEN_FLAGS)?)?;
        Ok(counts.iter().any(|(_, rows)| *rows > 0))
    }

    /// Replaces the file by a complete one. The old file is renamed to `kept`, or deleted.
    pub(crate) fn replace(self, part: PartialFile, kept: Option<&Path>) -> Result<Option<PathBuf>> {
        let Some(old) = &self.old else {
            part.finish(&self.path)?;
            return Ok(None);
        };
        merge_log(&self.path)?;
        part.set_owner_like(old)?;
        for suffix in COMPANION_SUFFIXES {
            // Left over only if the database is damaged.
            let beside = with_suffix(&self.path, suffix);
            match kept {
                Some(kept) if beside.exists() => {
                    let name = with_suffix(kept, suffix);
                    std::fs::rename(&beside, name).map_err(|error| file_error(&beside, error))?;
                }
                _ => {
                    let _ = std::fs::remove_file(&beside);
                }
            }
        }
        // Link before renaming, so that the database exists at every moment. After a crash in between,
        // it is rejected because of its two names; without the link, an empty one would be created.
        if let Some(kept) = kept {
            match std::fs::hard_link(&self.path, kept) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(error),
                // Some file systems have no links.
                Err(_) => std::fs::rename(&self.path, kept),
                Ok(()) => Ok(()),
            }
            .map_err(|error| file_error(kept, error))?;
        }
        part.finish(&self.path)?;
        Ok(kept.map(Path::to_owned))
    }
}

/// An incomplete file next to its final path, readable by its owner only. It is deleted unless finished;
/// what a killed program left behind is overwritten.
pub(crate) struct PartialFile {
    path: PathBuf,
    file: File,
    is_finished: bool,
}

impl PartialFile {
    pub(crate) fn beside(file: &Path) -> Result<Self> {
        let path = with_suffix(file, ".part");
        let failed = |error| file_error(&path, error);
        let options = File::options().read(true).write(true).create(true).mode(0o600).clone();
        let opened = options.open(&path).map_err(failed)?;
        let is_ours = opened.try_lock().is_ok()
            && metadata(&path)?.ino() == opened.metadata().map_err(failed)?.ino();
        if !is_ours {
            return Err(invalid_file(&path, "is being written by another Groma process"));
        }
        opened.set_permissions(std::fs::Permissions::from_mode(0o600)).map_err(failed)?;
        opened.set_len(0).map_err(failed)?;
        let part = Self { path, file: opened, is_finished: false };
        part.delete_companions();
        Ok(part)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Sets the owner and the permissions of the file that it replaces.
    fn set_owner_like(&self, old: &std::fs::Metadata) -> Result<()> {
        let failed = |error| file_error(&self.path, error);
        let own = self.file.metadata().map_err(failed)?;
        if (own.uid(), own.gid()) != (old.uid(), old.gid()) {
            std::os::unix::fs::fchown(&self.file, Some(old.uid()), Some(old.gid()))
                .map_err(failed)?;
        }
        self.file.set_permissions(old.permissions()).map_err(failed)
    }

    /// Syncs the file, renames it to its final path and returns its size.
    pub(crate) fn finish(mut self, file: &Path) -> Result<u64> {
        self.delete_companions();
        let failed = |error| file_error(file, error);
        self.file.sync_all().map_err(failed)?;
        std::fs::rename(&self.path, file).map_err(failed)?;
        self.is_finished = true;
        let folder = folder_of(file).unwrap_or(Path::new("."));
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed)?;
        Ok(self.file.metadata().map_err(failed)?.len())
    }

    fn delete_companions(&self) {
        for suffix in COMPANION_SUFFIXES {
            let _ = std::fs::remove_file(with_suffix(&self.path, suffix));
        }
    }
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        if !self.is_finished {
            let _ = std::fs::remove_file(&self.path);
            self.delete_companions();
        }
    }
}

/// Copies a database as the transaction of `from` sees it.
fn copy_pages(from: &Connection, to: &Path, progress: &dyn Fn(Progress)) -> Result<()> {
    let mut to = open(to, OPEN_FLAGS)?;
    for pragma in FILL_PRAGMAS {
        to.prepare(pragma)?.query([])?.next()?;
    }
    let copying = Backup::new(from, &mut to)?;
    loop {
        let step = copying.step(STEP)?;
        let pages = copying.progress();
        let count = |pages: i32| u64::try_from(pages).unwrap_or_default();
        let (total, left) = (count(pages.pagecount), count(pages.remaining));
        progress(Progress::Copying { done: total.saturating_sub(left), total });
        match step {
            StepResult::Done => return Ok(()),
            StepResult::More => {}
            // Cannot happen: the transaction has begun, and the target is our own file.
            _ => return Err(Error::Maintenance("the database is locked".to_owned())),
        }
    }
}

/// Verifies the copy, including its indexes, gives it an identity of its own, and leaves a single file.
pub(crate) fn check(
    path: &Path,
    counts: &[(String, u64)],
    progress: &dyn Fn(Progress),
) -> Result<()> {
    progress(Progress::Checking);
    let inspect = || {
        let copied = open(path, OPEN_FLAGS)?;
        copied.query_row(EXCLUSIVE_LOCKING, [], |_| Ok(()))?;
        copied.query_row(ROLLBACK_JOURNAL, [], |_| Ok(()))?;
        let found: String = copied.query_row(INTEGRITY, [], |row| row.get(0))?;
        if found == "ok" {
            copied.execute(RENEW_IDENTITY, [])?;
        }
        Ok((found, count_rows(&copied)?))
    };
    let (found, copied) = inspect().map_err(|error| damaged("the copy", error))?;
    if found != "ok" {
        return Err(Error::Maintenance(format!("the copy is damaged: {found}")));
    }
    if copied != counts {
        return Err(Error::Maintenance("the copy has fewer rows than the database".to_owned()));
    }
    Ok(())
}

/// Opens a backup if it is complete and not of a newer version.
fn open_backup(file: &Path) -> Result<Connection> {
    let failed = |error| file_error(file, error);
    let mut head = [0_u8; 100];
    let mut opened = File::open(file).map_err(failed)?;
    match opened.read_exact(&mut head) {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
            return Err(invalid_file(file, "is not a Groma backup"));
        }
        outcome => outcome.map_err(failed)?,
    }
    if !head.starts_with(MAGIC) {
        return Err(invalid_file(file, "is not a Groma backup"));
    }
    // The page size, where 1 means 65,536, and the number of pages.
    let page = match u16::from_be_bytes([head[16], head[17]]) {
        1 => 65_536,
        size => u64::from(size),
    };
    let pages = u64::from(u32::from_be_bytes([head[28], head[29], head[30], head[31]]));
    let has_log = with_suffix(file, "-wal").exists();
    if !has_log && metadata(file)?.len() < page * pages {
        return Err(invalid_file(file, "is truncated"));
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = open(file, flags)?;
    connection.execute_batch(BEGIN)?;
    let known = known_migrations();
    for (version, name) in check_migrations(&connection, file)? {
        if !known.get_migrations().iter().any(|known| known.version() == version) {
            let reason = format!(
                "was written by a newer version: its migration V{version}__{name} is unknown here"
            );
            return Err(invalid_file(file, &reason));
        }
    }
    Ok(connection)
}

/// The migrations that were applied to a database. Fails if it is not a database of this program.
fn check_migrations(connection: &Connection, path: &Path) -> Result<Vec<(i32, String)>> {
    let read = || {
        if !has_migrations(connection)? {
            return Ok(None);
        }
        let mut statement = connection.prepare(NAMED_MIGRATIONS)?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(Some(rows.collect::<rusqlite::Result<_>>()?))
    };
    let known = read().map_err(|error| damaged(&path.display().to_string(), error))?;
    known.ok_or_else(|| invalid_file(path, "is not a Groma database"))
}

/// Reports a SQLite error as damage, unless the disk is full.
fn damaged(what: &str, error: Error) -> Error {
    match error {
        Error::Sqlite(error) if error.sqlite_error_code() != Some(ErrorCode::DiskFull) => {
            Error::Maintenance(format!("{what} is damaged: {error}"))
        }
        other => other,
    }
}

/// The number of rows of each table.
pub(crate) fn count_rows(connection: &Connection) -> Result<Vec<(String, u64)>> {
    let mut statement = connection.prepare(TABLES)?;
    let names: Vec<String> =
        statement.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    let mut counts = Vec::with_capacity(names.len());
    for name in names {
        let rows: i64 = connection.query_row(&count_sql(&name), [], |row| row.get(0))?;
        counts.push((name, rows.unsigned_abs()));
    }
    Ok(counts)
}

/// Moves the write-ahead log into the database file. Fails if another program has the database open. A
/// damaged one stays as it is.
fn merge_log(path: &Path) -> Result<()> {
    let in_use = || invalid_file(path, "is open in another program");
    let mut head = [0_u8; MAGIC.len()];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut head));
    if read.is_err() || head != *MAGIC {
        return Ok(());
    }
    let connection = open(path, OPEN_FLAGS)?;
    match connection.query_row(ROLLBACK_JOURNAL, [], |row| row.get::<_, String>(0)) {
        Ok(mode) if mode == "delete" => Ok(()),
        Ok(_) => Err(in_use()),
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => Err(in_use()),
        Err(_) => Ok(()),
    }
}

/// Rejects an existing file unless `overwrite` is set, and always the database itself.
fn check_target(file: &Path, database: &Path, overwrite: bool) -> Result<()> {
    let existing = match std::fs::metadata(file) {
        Ok(existing) => existing,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(file_error(file, error)),
    };
    let own = metadata(database)?;
    if (existing.dev(), existing.ino()) == (own.dev(), own.ino()) {
        return Err(invalid_file(file, "is the database itself"));
    }
    if !existing.is_file() {
        return Err(invalid_file(file, "is not a regular file"));
    }
    if !overwrite {
        return Err(invalid_file(file, "already exists; use --overwrite to replace it"));
    }
    if COMPANION_SUFFIXES.iter().any(|suffix| with_suffix(file, suffix).exists()) {
        return Err(invalid_file(file, "is open in another program, or was not closed by it"));
    }
    Ok(())
}

fn open(path: &Path, flags: OpenFlags) -> Result<Connection> {
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(Duration::from_secs(5))?;
    Ok(connection)
}

fn metadata(path: &Path) -> Result<std::fs::Metadata> {
    std::fs::metadata(path).map_err(|error| file_error(path, error))
}

fn folder_of(path: &Path) -> Option<&Path> {
    path.parent().filter(|folder| !folder.as_os_str().is_empty())
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn invalid_file(path: &Path, reason: &str) -> Error {
    Error::Maintenance(format!("{} {reason}", path.display()))
}
