//! Connections for reading. A connection stays in its read transaction from one read to the next, which
//! spares each the file locks of a transaction of its own, until something is committed or a moment has
//! passed. So every read sees one snapshot: with everything this program committed before, and with what
//! other processes committed up to a moment ago.

use super::{connect, sql};
use crate::{Error, Result};
use parking_lot::Mutex;
use rusqlite::{Connection, ErrorCode};
use std::{
    path::PathBuf,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::{Duration, Instant},
};

/// How long a snapshot is read when this program commits nothing. Commands beside a server commit too; a
/// caller that has seen one end cannot reach the server sooner than this.
const MAX_AGE: Duration = Duration::from_millis(1);

/// After how many instructions of the database the time of a read is checked: well below a millisecond.
const PROGRESS_INTERVAL: i32 = 10_000;

pub(super) struct ReaderPool {
    path: PathBuf,
    /// How many times this program has committed.
    commits: AtomicU64,
    /// Whether a commit is under way: some readers already see it then, and no later reader may see the
    /// state before it.
    is_committing: AtomicBool,
    idle: Mutex<Vec<Reader>>,
}

struct Reader {
    connection: Connection,
    /// When its transaction began, and after how many commits.
    began: (u64, Instant),
}

impl ReaderPool {
    pub(super) fn new(path: PathBuf) -> Self {
        Self {
            path,
            commits: AtomicU64::new(0),
            is_committing: AtomicBool::new(false),
            idle: Mutex::default(),
        }
    }

    /// Reads from one snapshot of the database.
    pub(super) fn read<R>(&self, read: impl FnOnce(&Connection) -> Result<R>) -> Result<R> {
        self.read_with(|connection| read(connection))
    }

    /// Reads from one snapshot of the database; a read that takes longer than `timeout` is ended.
    pub(super) fn read_within<R>(
        &self,
        timeout: Duration,
        read: impl FnOnce(&Connection) -> Result<R>,
    ) -> Result<R> {
        self.read_with(|connection| {
            let end = Instant::now() + timeout;
            let is_over = move || Instant::now() >= end;
            connection.progress_handler(PROGRESS_INTERVAL, Some(is_over))?;
            let outcome = read(connection);
            connection.progress_handler(0, None::<fn() -> bool>)?;
            outcome.map_err(|error| match error {
                Error::Sqlite(error)
                    if error.sqlite_error_code() == Some(ErrorCode::OperationInterrupted) =>
                {
                    Error::SearchTimeout
                }
                other => other,
            })
        })
    }

    fn read_with<R>(&self, read: impl FnOnce(&mut Connection) -> Result<R>) -> Result<R> {
        // In this order: a commit that is no longer under way is in the count.
        let is_committing = self.is_committing.load(Ordering::Acquire);
        let now = (self.commits.load(Ordering::Acquire), Instant::now());
        let idle = self.idle.lock().pop();
        let mut reader = match idle {
            Some(reader) => reader,
            None => Reader { connection: connect(&self.path)?, began: now },
        };
        if is_committing || !reader.is_current(now) {
            reader.end()?;
        }
        if reader.connection.is_autocommit() {
            reader.connection.prepare_cached(sql::BEGIN)?.execute([])?;
            reader.began = now;
        }
        let outcome = read(&mut reader.connection);
        // A connection whose transaction the database has ended is not used again.
        if !reader.connection.is_autocommit() {
            self.idle.lock().push(reader);
        }
        outcome
    }

    /// Must be called before a commit.
    pub(super) fn begin_commit(&self) {
        self.is_committing.store(true, Ordering::Release);
    }

    /// Must be called after a commit or its failure, before the caller learns of it.
    pub(super) fn end_commit(&self) {
        self.commits.fetch_add(1, Ordering::Release);
        self.is_committing.store(false, Ordering::Release);
        self.end_stale_transactions();
    }

    /// Ends the transactions of idle connections that no read would continue. While one is open, the
    /// write-ahead log cannot be reset.
    pub(super) fn end_stale_transactions(&self) {
        let now = (self.commits.load(Ordering::Acquire), Instant::now());
        self.idle.lock().retain_mut(|reader| reader.is_current(now) || reader.end().is_ok());
    }
}

impl Reader {
    /// Whether the snapshot can be read on.
    fn is_current(&self, (commits, now): (u64, Instant)) -> bool {
        self.began.0 == commits && now.saturating_duration_since(self.began.1) < MAX_AGE
    }

    fn end(&self) -> Result<()> {
        if !self.connection.is_autocommit() {
            self.connection.prepare_cached(sql::COMMIT)?.execute([])?;
        }
        Ok(())
    }
}
