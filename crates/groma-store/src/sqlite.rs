//! SQLite: one file, many readers, one writer that commits waiting changes in groups.
//!
//! Key look-ups and short pages are read where they are asked for, on a connection taken from a
//! pool; they take microseconds. Searches and long reads go to threads of their own.

mod access;
pub(crate) mod backup;
mod browse;
mod bundles;
pub(crate) mod copy;
mod derived;
mod layers;
mod read;
mod readers;
pub(crate) mod sql;
mod tx;
mod vitals;
mod webhooks;
mod writer;

use crate::{
    Edition, Error, Result,
    admission::{LastUses, RateWindows, TokenCache},
    blocks::BlockCache,
    long::long,
    people::PeopleCache,
    store::{not_among, tell_of_migrating},
    tiles::LayerCache,
    tx::Work,
    webhooks::{Desk, Handed},
};
use derived::Derived;
use groma_domain::WorkspaceId;
use parking_lot::{Mutex, RwLock};
use readers::{Readers, State};
use rusqlite::{Connection, OpenFlags, config::DbConfig};
use rustc_hash::FxHashMap;
use std::{
    fs::File,
    io::ErrorKind,
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use tx::SqliteTx;
use writer::Writer;

/// A SQLite database.
pub struct Sqlite {
    path: PathBuf,
    /// Which file that was.
    identity: (u64, u64),
    writer: Writer,
    readers: Arc<Readers>,
    /// Sees with its `data_version` that something was committed.
    watcher: Mutex<(Connection, i64)>,
    claim: Mutex<Option<File>>,
    numbers: RwLock<FxHashMap<WorkspaceId, i64>>,
    people: PeopleCache,
    blocks: BlockCache,
    layers: LayerCache,
    tokens: TokenCache,
    rates: RateWindows,
    last_uses: LastUses,
    pub(crate) desk: Arc<Desk>,
}

impl Sqlite {
    /// Opens a database file, and makes it when there is none.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder).map_err(|source| file_error(folder, source))?;
        }
        // For its owner alone; what SQLite puts beside it has the same mode.
        match File::options().write(true).create_new(true).mode(0o600).open(path) {
            Err(source) if source.kind() != ErrorKind::AlreadyExists => {
                Err(file_error(path, source))
            }
            _ => Self::open_existing(path),
        }
    }

    /// Opens a database file that there must be, and brings its schema up to date.
    pub(crate) fn open_existing(path: &Path) -> Result<Self> {
        let path = &only_name(path)?;
        let connection = migrate(path)?;
        let readers = Arc::new(Readers::new(path.clone()));
        Ok(Self {
            path: path.clone(),
            identity: identity(path).unwrap_or_default(),
            writer: Writer::start(connection, readers.clone())?,
            readers,
            watcher: Mutex::new((connect(path)?, 0)),
            claim: Mutex::default(),
            numbers: RwLock::default(),
            people: PeopleCache::default(),
            blocks: BlockCache::default(),
            layers: LayerCache::default(),
            tokens: TokenCache::default(),
            rates: RateWindows::new(),
            last_uses: LastUses::default(),
            desk: Arc::default(),
        })
    }

    /// Locks a file beside the database for as long as this program lives, and takes up what the
    /// last one to serve it has left.
    pub(crate) fn claim(&self) -> Result<()> {
        *self.claim.lock() = Some(serving_lock(&self.path)?);
        self.take_up_rates()
    }

    /// Forgets what is remembered of tokens when anybody, this program or a command beside it, has
    /// committed something.
    pub(crate) fn notice_changes(&self) {
        self.readers.let_go();
        let mut watcher = self.watcher.lock();
        let version = watcher.0.query_row(sql::DATA_VERSION, [], |row| row.get(0));
        match version {
            Ok(version) if version == watcher.1 => {}
            Ok(version) => {
                watcher.1 = version;
                self.tokens.clear();
                self.desk.outbox.stir();
            }
            Err(error) => {
                tracing::warn!(%error, "the database could not be asked for changes");
                self.tokens.clear();
            }
        }
    }

    pub(crate) fn forget_tokens(&self) {
        self.tokens.clear();
    }

    pub(crate) fn edition(&self) -> Option<Edition> {
        self.readers.edition()
    }

    /// Reads here and now, from one state of the database; for what takes microseconds.
    fn read<R>(&self, read: impl FnOnce(&State) -> Result<R>) -> Result<R> {
        self.readers.read(read)
    }

    /// Reads on a thread for that; for what may take longer.
    async fn read_long<R: Send + 'static>(
        self: &Arc<Self>,
        read: impl FnOnce(&Self) -> Result<R> + Send + 'static,
    ) -> Result<R> {
        let store = self.clone();
        long(move || read(&store)).await?
    }

    pub(crate) async fn transact<W: Work>(&self, work: W) -> Result<W::Output> {
        let desk = self.desk.clone();
        let outbox = self.desk.outbox.clone();
        let (output, _) = self
            .writer
            .write_then(
                move |connection, derived| {
                    let (output, handed, noted) = run_now(work.clone(), connection, &desk)?;
                    derived.append(noted);
                    Ok((output, handed))
                },
                move |(_, handed)| outbox.hand_over(std::mem::take(handed)),
            )
            .await?;
        Ok(output)
    }

    /// Runs work that writes nothing, beside the writer.
    pub(crate) async fn look<W: Work>(self: &Arc<Self>, work: W) -> Result<W::Output> {
        self.read_long(move |store| {
            let mut connection = connect(&store.path)?;
            connection.execute_batch(sql::BEGIN)?;
            run_now(work, &mut connection, &store.desk).map(|(output, ..)| output)
        })
        .await
    }

    /// The number of a workspace; numbers are never given twice.
    fn number(&self, connection: &Connection, workspace: WorkspaceId) -> Result<Option<i64>> {
        if let Some(number) = self.numbers.read().get(&workspace) {
            return Ok(Some(*number));
        }
        let number = tx::workspace_number(connection, workspace)?;
        if let Some(number) = number {
            self.numbers.write().insert(workspace, number);
        }
        Ok(number)
    }
}

/// Runs work whose every step is done at once.
fn run_now<W: Work>(
    work: W,
    connection: &mut Connection,
    desk: &Desk,
) -> Result<(W::Output, Handed, Derived)> {
    let mut tx = SqliteTx::new(connection, desk);
    let outcome = futures_util::FutureExt::now_or_never(work.run(&mut tx));
    // No operation of `SqliteTx` waits for anything.
    let output = outcome.unwrap_or(Err(Error::Closed))?;
    let (handed, derived) = tx.into_parts();
    Ok((output, handed, derived))
}

/// No connection makes the file: whether there is one is decided once.
const OPEN: OpenFlags = OpenFlags::SQLITE_OPEN_READ_WRITE.union(OpenFlags::SQLITE_OPEN_NO_MUTEX);

fn connect(path: &Path) -> Result<Connection> {
    let connection = Connection::open_with_flags(path, OPEN)?;
    connection.set_prepared_statement_cache_capacity(256);
    // Plans do not depend on bound values. Without this a statement is prepared anew with every
    // value it is given, since this build of SQLite could use statistics about them.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    for pragma in sql::PRAGMAS {
        // Some answer with a row, some do not.
        connection.prepare(pragma)?.query([])?.next()?;
    }
    Ok(connection)
}

mod embedded {
    refinery::embed_migrations!("migrations/sqlite");
}

/// The migrations that a database file still lacks. Nothing is written.
pub(crate) fn pending_migrations(path: &Path) -> Result<Vec<String>> {
    let connection = Connection::open_with_flags(only_name(path)?, OPEN)?;
    connection.busy_timeout(Duration::from_secs(10))?;
    Ok(not_among(&applied_migrations(&connection)?, &embedded::migrations::runner()))
}

/// The versions of the migrations that a database has seen.
fn applied_migrations(connection: &Connection) -> Result<Vec<i32>> {
    if !connection.prepare(sql::HAS_MIGRATIONS)?.exists([])? {
        return Ok(Vec::new());
    }
    let mut statement = connection.prepare(sql::MIGRATIONS)?;
    let rows = statement.query_map([], |row| row.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// The one name of an existing database file, whatever links lead to it.
fn only_name(path: &Path) -> Result<PathBuf> {
    let metadata = std::fs::metadata(path).map_err(|source| match source.kind() {
        ErrorKind::NotFound => Error::Missing(path.display().to_string()),
        _ => file_error(path, source),
    })?;
    if metadata.is_file() && metadata.nlink() > 1 {
        return Err(Error::Linked(path.display().to_string()));
    }
    path.canonicalize().map_err(|source| file_error(path, source))
}

/// What tells a file from every other: its device and number there.
fn identity(path: &Path) -> Option<(u64, u64)> {
    std::fs::metadata(path).ok().map(|file| (file.dev(), file.ino()))
}

/// Opens the database and brings its schema up to date. A lock keeps two programs that start
/// together apart.
fn migrate(path: &Path) -> Result<Connection> {
    let (file, lock_path) = lock_file(path, "migrating")?;
    file.lock().map_err(|source| file_error(&lock_path, source))?;
    let mut connection = connect(path)?;
    let known = embedded::migrations::runner();
    tell_of_migrating(&applied_migrations(&connection)?, &known);
    known.run(&mut connection)?;
    Ok(connection)
}

/// The lock that stands for serving a database.
fn serving_lock(path: &Path) -> Result<File> {
    let (file, lock_path) = lock_file(path, "serving")?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(std::fs::TryLockError::WouldBlock) => {
            Err(Error::AlreadyServed(path.display().to_string()))
        }
        Err(std::fs::TryLockError::Error(source)) => Err(file_error(&lock_path, source)),
    }
}

/// A file beside the database that stands for one of its locks.
fn lock_file(path: &Path, purpose: &str) -> Result<(File, PathBuf)> {
    let lock_path = PathBuf::from(format!("{}.{purpose}", path.display()));
    let file = File::create(&lock_path).map_err(|source| file_error(&lock_path, source))?;
    Ok((file, lock_path))
}

fn file_error(path: &Path, source: std::io::Error) -> Error {
    Error::File { path: path.display().to_string(), source }
}
