//! Connections that read. One stays in its transaction from read to read, which spares each the locks
//! of a transaction of its own, until something is committed or a moment has passed. So every read is
//! of one state of the database: what this program wrote before is in it, and what another wrote, a
//! moment later.

use super::{connect, sql};
use crate::Result;
use parking_lot::Mutex;
use rusqlite::Connection;
use std::{
    path::PathBuf,
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

/// How long a state is read when nothing was committed here. Commands beside a server commit too, and
/// who sees one end can ask the server no sooner than this.
const MOMENT: Duration = Duration::from_millis(1);

pub(super) struct Readers {
    path: PathBuf,
    /// How often something was committed.
    commits: AtomicU64,
    idle: Mutex<Vec<Reader>>,
}

struct Reader {
    connection: Connection,
    /// The number of commits before its transaction began, and when that was.
    begun: (u64, Instant),
}

impl Readers {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, commits: AtomicU64::new(0), idle: Mutex::default() }
    }

    /// Reads from one state of the database.
    pub(super) fn read<R>(&self, read: impl FnOnce(&Connection) -> Result<R>) -> Result<R> {
        let now = (self.commits.load(Ordering::Acquire), Instant::now());
        let idle = self.idle.lock().pop();
        let mut reader = match idle {
            Some(reader) => reader,
            None => Reader { connection: connect(&self.path)?, begun: now },
        };
        if !reader.is_of(now) {
            reader.end()?;
        }
        if reader.connection.is_autocommit() {
            reader.connection.prepare_cached(sql::BEGIN)?.execute([])?;
            reader.begun = now;
        }
        let outcome = read(&reader.connection);
        // One whose transaction the database has ended is not used again.
        if !reader.connection.is_autocommit() {
            self.idle.lock().push(reader);
        }
        outcome
    }

    /// To be called when something was committed, before anybody is told.
    pub(super) fn note_commit(&self) {
        self.commits.fetch_add(1, Ordering::Release);
        self.let_go();
    }

    /// Ends the transactions of idle connections that nobody would go on reading in. As long as one
    /// lasts, the log of the database cannot begin anew.
    pub(super) fn let_go(&self) {
        let now = (self.commits.load(Ordering::Acquire), Instant::now());
        self.idle.lock().retain_mut(|reader| reader.is_of(now) || reader.end().is_ok());
    }
}

impl Reader {
    fn is_of(&self, (commits, at): (u64, Instant)) -> bool {
        self.begun.0 == commits && at.saturating_duration_since(self.begun.1) < MOMENT
    }

    fn end(&self) -> Result<()> {
        if !self.connection.is_autocommit() {
            self.connection.prepare_cached(sql::COMMIT)?.execute([])?;
        }
        Ok(())
    }
}
