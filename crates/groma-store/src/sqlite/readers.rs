//! Connections that read. One stays in its transaction from read to read, which spares each the locks
//! of a transaction of its own, until something is committed or a moment has passed. So every read is
//! of one state of the database: what this program wrote before is in it, and what another wrote, a
//! moment later. What nearly every read of a state asks for is asked for once.

use super::{connect, sql};
use crate::{Result, tx::kind_number};
use groma_domain::Kind;
use parking_lot::Mutex;
use rusqlite::{Connection, OptionalExtension};
use std::{
    cell::Cell,
    ops::Deref,
    path::PathBuf,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::{Duration, Instant},
};

/// How long a state is read when nothing was committed here. Commands beside a server commit too, and
/// who sees one end can ask the server no sooner than this.
const MOMENT: Duration = Duration::from_millis(1);

pub(super) struct Readers {
    path: PathBuf,
    /// How often something was committed.
    commits: AtomicU64,
    /// Whether something is being committed: some see it already then, and nobody who comes after
    /// them may be shown the state before.
    is_committing: AtomicBool,
    idle: Mutex<Vec<Reader>>,
}

struct Reader {
    state: State,
    /// The number of commits before its transaction began, and when that was.
    begun: (u64, Instant),
}

/// A connection in one state of the database.
pub(super) struct State {
    connection: Connection,
    /// The last answers to the questions below.
    people: Cell<Option<(i64, u64)>>,
    collection: Cell<Option<((i64, Kind), CollectionNow)>>,
}

/// How far a collection has come.
#[derive(Clone, Copy)]
pub(super) struct CollectionNow {
    pub(super) total: u64,
    pub(super) generation: u64,
}

impl Deref for State {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.connection
    }
}

impl State {
    fn new(connection: Connection) -> Self {
        Self { connection, people: Cell::default(), collection: Cell::default() }
    }

    fn forget(&self) {
        self.people.set(None);
        self.collection.set(None);
    }

    /// The generation of the names of a workspace's people.
    pub(super) fn people_generation(&self, ws: i64) -> Result<u64> {
        if let Some((_, known)) = self.people.get().filter(|(of, _)| *of == ws) {
            return Ok(known);
        }
        let mut statement = self.prepare_cached(sql::PEOPLE_GENERATION)?;
        let generation: Option<i64> = statement.query_row([ws], |row| row.get(0)).optional()?;
        let generation = generation.unwrap_or_default().unsigned_abs();
        self.people.set(Some((ws, generation)));
        Ok(generation)
    }

    /// A collection; `None` when nothing was ever in it.
    pub(super) fn collection(&self, ws: i64, kind: Kind) -> Result<Option<CollectionNow>> {
        if let Some((_, known)) = self.collection.get().filter(|(of, _)| *of == (ws, kind)) {
            return Ok(Some(known));
        }
        let mut statement = self.prepare_cached(sql::COLLECTION_NOW)?;
        let found = statement.query_row((ws, kind_number(kind)), |row| {
            let number = |column: usize| row.get(column).map(i64::unsigned_abs);
            Ok(CollectionNow { total: number(0)?, generation: number(1)? })
        });
        let found = found.optional()?;
        self.collection.set(found.map(|now| ((ws, kind), now)));
        Ok(found)
    }
}

impl Readers {
    pub(super) fn new(path: PathBuf) -> Self {
        Self {
            path,
            commits: AtomicU64::new(0),
            is_committing: AtomicBool::new(false),
            idle: Mutex::default(),
        }
    }

    /// Reads from one state of the database.
    pub(super) fn read<R>(&self, read: impl FnOnce(&State) -> Result<R>) -> Result<R> {
        // In this order: what is not being committed any more is in the number already.
        let is_committing = self.is_committing.load(Ordering::Acquire);
        let now = (self.commits.load(Ordering::Acquire), Instant::now());
        let idle = self.idle.lock().pop();
        let mut reader = match idle {
            Some(reader) => reader,
            None => Reader { state: State::new(connect(&self.path)?), begun: now },
        };
        if is_committing || !reader.is_of(now) {
            reader.end()?;
        }
        if reader.state.is_autocommit() {
            reader.state.forget();
            reader.state.prepare_cached(sql::BEGIN)?.execute([])?;
            reader.begun = now;
        }
        let outcome = read(&reader.state);
        // One whose transaction the database has ended is not used again.
        if !reader.state.is_autocommit() {
            self.idle.lock().push(reader);
        }
        outcome
    }

    /// To be called before something is committed.
    pub(super) fn await_commit(&self) {
        self.is_committing.store(true, Ordering::Release);
    }

    /// To be called when something was committed, or was not after all, before anybody is told.
    pub(super) fn note_commit(&self) {
        self.commits.fetch_add(1, Ordering::Release);
        self.is_committing.store(false, Ordering::Release);
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
        if !self.state.is_autocommit() {
            self.state.prepare_cached(sql::COMMIT)?.execute([])?;
        }
        Ok(())
    }
}
