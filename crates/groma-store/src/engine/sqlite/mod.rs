//! SQLite: one file, many readers, one writer that commits waiting changes in groups.
//!
//! Key lookups and short pages are read on the calling thread, on a connection taken from a pool; they
//! take microseconds. Searches and long reads go to the blocking pool.

mod full_text;
mod readers;
mod sql;
mod transaction;
mod writer;

pub(crate) use full_text::FullTextEntry;
#[cfg(test)]
pub(crate) use sql::ALL;
pub(crate) use sql::token_end;
pub(crate) use transaction::{SqliteTransaction, SqliteWork};

use super::{blocking_pool::run_blocking, migrations};
use crate::{Error, Result};
use groma_domain::WorkspaceId;
use parking_lot::{Mutex, RwLock};
use readers::ReaderPool;
use rusqlite::{Connection, OpenFlags, OptionalExtension, Row, config::DbConfig};
use rustc_hash::FxHashMap;
use std::{
    fs::File,
    io::ErrorKind,
    ops::Deref,
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
    time::Duration,
};
use writer::Writer;

/// An open SQLite database.
pub(crate) struct Sqlite {
    path: PathBuf,
    /// Device and inode of the file that was opened.
    identity: (u64, u64),
    writer: Writer,
    readers: Arc<ReaderPool>,
    /// Detects commits of other processes by its `data_version`.
    watcher: Mutex<(Connection, i64)>,
    serving_lock: Mutex<Option<File>>,
    workspace_numbers: RwLock<FxHashMap<WorkspaceId, i64>>,
    search_timeout: OnceLock<Duration>,
    /// Called when anyone, this program or a command beside it, has committed something.
    on_commit: RwLock<Vec<Box<dyn Fn() + Send + Sync>>>,
}

impl Sqlite {
    /// Opens a database file, and creates it if there is none.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder).map_err(|source| file_error(folder, source))?;
        }
        // Readable by its owner only; SQLite gives the files beside it the same mode.
        match File::options().write(true).create_new(true).mode(0o600).open(path) {
            Err(source) if source.kind() != ErrorKind::AlreadyExists => {
                Err(file_error(path, source))
            }
            _ => Self::open_existing(path),
        }
    }

    /// Opens an existing database file and migrates its schema.
    pub(crate) fn open_existing(path: &Path) -> Result<Self> {
        let path = &canonical_path(path)?;
        let connection = migrate(path)?;
        let readers = Arc::new(ReaderPool::new(path.clone()));
        Ok(Self {
            path: path.clone(),
            identity: identity(path).unwrap_or_default(),
            writer: Writer::start(connection, readers.clone())?,
            readers,
            watcher: Mutex::new((connect(path)?, 0)),
            serving_lock: Mutex::default(),
            workspace_numbers: RwLock::default(),
            search_timeout: OnceLock::new(),
            on_commit: RwLock::default(),
        })
    }

    /// The path of the database file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Locks a file beside the database for as long as this program lives.
    pub(crate) fn claim(&self) -> Result<()> {
        *self.serving_lock.lock() = Some(serving_lock(&self.path)?);
        Ok(())
    }

    /// Registers what [`Self::notice_commits`] calls. The first call comes at the first check.
    pub(crate) fn on_commit(&self, hook: impl Fn() + Send + Sync + 'static) {
        self.on_commit.write().push(Box::new(hook));
    }

    /// Calls the registered hooks if this program or another process has committed since the last call.
    pub(crate) fn notice_commits(&self) {
        self.readers.end_stale_transactions();
        let mut watcher = self.watcher.lock();
        let version = watcher.0.query_row(sql::DATA_VERSION, [], |row| row.get(0));
        match version {
            Ok(version) if version == watcher.1 => return,
            Ok(version) => watcher.1 = version,
            Err(error) => tracing::warn!(%error, "failed to check the database for changes"),
        }
        drop(watcher);
        self.on_commit.read().iter().for_each(|hook| hook());
    }

    /// Reads from one snapshot of the database, on the calling thread; for reads of microseconds.
    pub(crate) fn read<R>(&self, read: impl FnOnce(&Snapshot<'_>) -> Result<R>) -> Result<R> {
        self.readers.read(|connection| read(&Snapshot { engine: self, connection }))
    }

    /// Reads from one snapshot of the database, in the blocking pool; for reads that may take longer.
    pub(crate) async fn read_blocking<R: Send + 'static>(
        self: &Arc<Self>,
        read: impl FnOnce(&Snapshot<'_>) -> Result<R> + Send + 'static,
    ) -> Result<R> {
        let engine = self.clone();
        run_blocking(move || engine.read(read)).await?
    }

    /// Ends searches that take longer than this.
    pub(crate) fn limit_searches(&self, timeout: Duration) {
        let _ = self.search_timeout.set(timeout);
    }

    /// Reads in the blocking pool, for searches: a read that takes too long is ended.
    pub(crate) async fn search<R: Send + 'static>(
        self: &Arc<Self>,
        read: impl FnOnce(&Snapshot<'_>) -> Result<R> + Send + 'static,
    ) -> Result<R> {
        let Some(timeout) = self.search_timeout.get().copied() else {
            return self.read_blocking(read).await;
        };
        let engine = self.clone();
        let search = move || {
            let read = |connection: &Connection| read(&Snapshot { engine: &engine, connection });
            engine.readers.read_within(timeout, read)
        };
        run_blocking(search).await?
    }

    /// Runs `work` in the writer's next transaction; returns when it is committed and on the disk, or
    /// rolled back. It may run more than once.
    pub(crate) async fn write<R: Send + 'static>(
        &self,
        mut work: impl FnMut(&Connection) -> Result<R> + Send + 'static,
    ) -> Result<R> {
        self.writer.write(move |tx| work(tx.connection())).await
    }

    /// Runs work in one transaction.
    pub(crate) async fn transact<W: SqliteWork>(&self, work: W) -> Result<W::Output> {
        self.writer.write(move |tx| work.clone().run_on_sqlite(tx)).await
    }

    /// Runs work that writes nothing, beside the writer.
    pub(crate) async fn dry_run<W: SqliteWork>(self: &Arc<Self>, work: W) -> Result<W::Output> {
        let engine = self.clone();
        let run = move || {
            let mut connection = connect(&engine.path)?;
            connection.execute_batch(sql::BEGIN)?;
            work.run_on_sqlite(&mut SqliteTransaction::new(&mut connection))
        };
        run_blocking(run).await?
    }

    pub(crate) async fn ping(&self) -> Result<()> {
        self.read(|connection| {
            Ok(connection.prepare_cached(sql::PING)?.query_row([], |_| Ok(()))?)
        })
    }

    /// The migrations that the database lacks now. Fails when the file was moved or replaced: changes
    /// written to it would be lost.
    pub(crate) async fn missing_migrations(&self) -> Result<Vec<String>> {
        if identity(&self.path).is_none_or(|now| now != self.identity) {
            return Err(Error::Replaced(self.path.display().to_string()));
        }
        let applied = self.read(|snapshot| applied_migrations(snapshot))?;
        Ok(migrations::pending(&applied, &embedded::migrations::runner()))
    }
}

/// A connection in a read transaction: everything read from it is of one state of the database.
pub(crate) struct Snapshot<'s> {
    engine: &'s Sqlite,
    connection: &'s Connection,
}

impl Deref for Snapshot<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.connection
    }
}

impl Snapshot<'_> {
    /// The number of a workspace, by which tables refer to it. A number is never used again, so it can be
    /// cached.
    pub(crate) fn workspace_number(&self, workspace: WorkspaceId) -> Result<Option<i64>> {
        let numbers = &self.engine.workspace_numbers;
        if let Some(number) = numbers.read().get(&workspace) {
            return Ok(Some(*number));
        }
        let number = workspace_number(self.connection, workspace)?;
        if let Some(number) = number {
            numbers.write().insert(workspace, number);
        }
        Ok(number)
    }
}

/// Rows are numbered by two numbers in one key: the owner's (a workspace, a layer) in the bits above, the
/// position in its order of creation in the bits below.
const POSITION_BITS: u32 = 40;

/// The key of a position of an owner.
pub(crate) fn row_key(owner: i64, position: u64) -> i64 {
    owner << POSITION_BITS | super::int(position)
}

/// The position in a key.
pub(crate) fn position_of(key: i64) -> u64 {
    key.unsigned_abs() & ((1 << POSITION_BITS) - 1)
}

/// The owner's number in a key.
pub(crate) fn owner_of(key: i64) -> i64 {
    key >> POSITION_BITS
}

/// The first and the last key of an owner.
pub(crate) fn key_range(owner: i64) -> (i64, i64) {
    (row_key(owner, 0), row_key(owner + 1, 0) - 1)
}

/// The number of a workspace.
pub(crate) fn workspace_number(
    connection: &Connection,
    workspace: WorkspaceId,
) -> Result<Option<i64>> {
    let mut statement = connection.prepare_cached(sql::WORKSPACE_NUMBER)?;
    Ok(statement.query_row([workspace.0], |row| row.get(0)).optional()?)
}

/// The bytes of a column, without copying them.
pub(crate) fn bytes<'r>(row: &'r Row<'_>, column: usize) -> Result<&'r [u8]> {
    Ok(row.get_ref(column)?.as_bytes().map_err(rusqlite::Error::from)?)
}

/// The error for a column whose content cannot be read back.
pub(crate) fn damaged(
    column: usize,
    error: impl std::error::Error + Send + Sync + 'static,
) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, Box::new(error))
}

/// No connection creates the file: that is decided once, in [`Sqlite::open`].
pub(crate) const OPEN_FLAGS: OpenFlags =
    OpenFlags::SQLITE_OPEN_READ_WRITE.union(OpenFlags::SQLITE_OPEN_NO_MUTEX);

fn connect(path: &Path) -> Result<Connection> {
    let mut connection = Connection::open_with_flags(path, OPEN_FLAGS)?;
    connection.set_prepared_statement_cache_capacity(256);
    connection.busy_handler(Some(wait_for_lock))?;
    // Plans do not depend on bound values. Without this, SQLite prepares a statement again for every
    // value it is given, because this build could use statistics about them.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    for pragma in sql::PRAGMAS {
        // Some return a row, some do not.
        connection.prepare(pragma)?.query([])?.next()?;
    }
    Ok(connection)
}

/// Waits while another process holds the lock of the database, for about ten seconds. SQLite's own handler pauses
/// for up to 100 ms, in which an import can end many transactions and begin the next.
#[expect(clippy::disallowed_methods, reason = "SQLite calls it where it blocks")]
fn wait_for_lock(attempts: i32) -> bool {
    std::thread::sleep(Duration::from_millis(1));
    attempts < 10_000
}

mod embedded {
    refinery::embed_migrations!("migrations/sqlite");
}

/// The migrations this program knows.
pub(crate) fn known_migrations() -> refinery::Runner {
    embedded::migrations::runner()
}

/// The migrations that a database file still lacks. Writes nothing.
pub(crate) fn pending_migrations(path: &Path) -> Result<Vec<String>> {
    let connection = Connection::open_with_flags(canonical_path(path)?, OPEN_FLAGS)?;
    connection.busy_timeout(Duration::from_secs(10))?;
    Ok(migrations::pending(&applied_migrations(&connection)?, &embedded::migrations::runner()))
}

/// Whether a database has a history of migrations.
pub(crate) fn has_migrations(connection: &Connection) -> Result<bool> {
    Ok(connection.prepare(sql::HAS_MIGRATIONS)?.exists([])?)
}

/// The versions of the migrations that were applied to a database.
fn applied_migrations(connection: &Connection) -> Result<Vec<i32>> {
    if !has_migrations(connection)? {
        return Ok(Vec::new());
    }
    let mut statement = connection.prepare(sql::MIGRATIONS)?;
    let rows = statement.query_map([], |row| row.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// The canonical path of an existing database file. SQLite names its log after the database, so a file
/// with hard links is rejected.
pub(crate) fn canonical_path(path: &Path) -> Result<PathBuf> {
    let metadata = std::fs::metadata(path).map_err(|source| match source.kind() {
        ErrorKind::NotFound => Error::Missing(path.display().to_string()),
        _ => file_error(path, source),
    })?;
    if metadata.is_file() && metadata.nlink() > 1 {
        return Err(Error::HardLinked(path.display().to_string()));
    }
    path.canonicalize().map_err(|source| file_error(path, source))
}

/// The device and inode of a file.
fn identity(path: &Path) -> Option<(u64, u64)> {
    std::fs::metadata(path).ok().map(|file| (file.dev(), file.ino()))
}

/// Opens the database and migrates its schema. A lock serialises programs that start at the same time.
pub(crate) fn migrate(path: &Path) -> Result<Connection> {
    let (file, lock_path) = lock_file(path, "migrating")?;
    file.lock().map_err(|source| file_error(&lock_path, source))?;
    let mut connection = connect(path)?;
    let known = embedded::migrations::runner();
    migrations::log_pending(&applied_migrations(&connection)?, &known);
    known.run(&mut connection)?;
    Ok(connection)
}

/// Takes the lock of the program that serves a database.
pub(crate) fn serving_lock(path: &Path) -> Result<File> {
    let (file, lock_path) = lock_file(path, "serving")?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(std::fs::TryLockError::WouldBlock) => {
            Err(Error::AlreadyServed(path.display().to_string()))
        }
        Err(std::fs::TryLockError::Error(source)) => Err(file_error(&lock_path, source)),
    }
}

/// A lock file beside the database.
pub(crate) fn lock_file(path: &Path, purpose: &str) -> Result<(File, PathBuf)> {
    let lock_path = PathBuf::from(format!("{}.{purpose}", path.display()));
    let file = File::create(&lock_path).map_err(|source| file_error(&lock_path, source))?;
    Ok((file, lock_path))
}

pub(crate) fn file_error(path: &Path, source: std::io::Error) -> Error {
    Error::File { path: path.display().to_string(), source }
}
