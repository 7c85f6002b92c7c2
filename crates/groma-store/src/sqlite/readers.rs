//! Connections that read. One stays in its transaction from read to read, which spares each the locks
//! of a transaction of its own, until something is committed or a moment has passed. So every read is
//! of one state of the database: what this program wrote before is in it, and what another wrote, a
//! moment later. What nearly every read of a state asks for is asked for once, and states are numbered,
//! so that what was read of one can be kept for as long as it lasts.

use super::{connect, sql};
use crate::{Edition, Result, tx::kind_number};
use groma_domain::{Kind, LayerId};
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
    /// The transaction that began last.
    latest: Mutex<Begun>,
    idle: Mutex<Vec<Reader>>,
}

struct Reader {
    state: State,
    begun: Begun,
    /// What its connection called the content of the file then.
    version: Option<i64>,
}

/// How a transaction began.
#[derive(Clone, Copy)]
struct Begun {
    /// After so many commits.
    commits: u64,
    at: Instant,
    /// Of transactions of one edition, none sees anything that another does not.
    edition: Edition,
}

/// A connection in one state of the database.
pub(super) struct State {
    connection: Connection,
    edition: Edition,
    /// The last answers to the questions below.
    people: Cell<Option<(i64, u64)>>,
    collection: Cell<Option<((i64, Kind), CollectionNow)>>,
    layer: Cell<Option<((i64, LayerId), u64)>>,
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
        Self {
            connection,
            edition: Edition(0),
            people: Cell::default(),
            collection: Cell::default(),
            layer: Cell::default(),
        }
    }

    /// Which state it is.
    pub(super) fn edition(&self) -> Edition {
        self.edition
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

    /// The revision of a layer; `None` when there is no such layer.
    pub(super) fn layer_revision(&self, ws: i64, layer: LayerId) -> Result<Option<u64>> {
        if let Some((_, known)) = self.layer.get().filter(|(of, _)| *of == (ws, layer)) {
            return Ok(Some(known));
        }
        let mut statement = self.prepare_cached(sql::LAYER_REVISION)?;
        let found: Option<i64> = statement.query_row((ws, layer.0), |row| row.get(0)).optional()?;
        let found = found.map(i64::unsigned_abs);
        self.layer.set(found.map(|revision| ((ws, layer), revision)));
        Ok(found)
    }
}

impl Readers {
    pub(super) fn new(path: PathBuf) -> Self {
        Self {
            path,
            commits: AtomicU64::new(0),
            is_committing: AtomicBool::new(false),
            latest: Mutex::new(Begun { commits: 0, at: Instant::now(), edition: Edition(0) }),
            idle: Mutex::default(),
        }
    }

    /// What a read would be of now, unless it had to begin anew.
    pub(super) fn edition(&self) -> Option<Edition> {
        let is_committing = self.is_committing.load(Ordering::Acquire);
        let now = (self.commits.load(Ordering::Acquire), Instant::now());
        let latest = *self.latest.lock();
        (!is_committing && latest.is_of(now)).then_some(latest.edition)
    }

    /// Reads from one state of the database.
    pub(super) fn read<R>(&self, read: impl FnOnce(&State) -> Result<R>) -> Result<R> {
        // In this order: what is not being committed any more is in the number already.
        let is_committing = self.is_committing.load(Ordering::Acquire);
        let now = (self.commits.load(Ordering::Acquire), Instant::now());
        let idle = self.idle.lock().pop();
        let mut reader = match idle {
            Some(reader) => reader,
            None => Reader::new(connect(&self.path)?, now.1),
        };
        if is_committing || !reader.begun.is_of(now) {
            reader.end()?;
        }
        if reader.state.is_autocommit() {
            reader.begin(now, &mut self.latest.lock())?;
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
        self.idle.lock().retain_mut(|reader| reader.begun.is_of(now) || reader.end().is_ok());
    }
}

impl Begun {
    /// Whether one goes on reading in it.
    fn is_of(&self, (commits, at): (u64, Instant)) -> bool {
        self.commits == commits && at.saturating_duration_since(self.at) < MOMENT
    }
}

impl Reader {
    fn new(connection: Connection, at: Instant) -> Self {
        let begun = Begun { commits: 0, at, edition: Edition(0) };
        Self { state: State::new(connection), begun, version: None }
    }

    /// Begins a transaction, one reader at a time, so that editions come in the order of the states. The
    /// edition stays when this connection has seen nothing new since its own last transaction: every
    /// reader goes on from where it was, and a new one begins another edition, so nothing was
    /// committed since the edition began.
    fn begin(&mut self, (commits, at): (u64, Instant), latest: &mut Begun) -> Result<()> {
        self.state.prepare_cached(sql::BEGIN)?.execute([])?;
        let mut statement = self.state.prepare_cached(sql::DATA_VERSION)?;
        let version = Some(statement.query_row([], |row| row.get(0))?);
        drop(statement);
        let is_new = self.version != version;
        let edition = if is_new { Edition(latest.edition.0 + 1) } else { latest.edition };
        *latest = Begun { commits, at, edition };
        (self.begun, self.version) = (*latest, version);
        self.state.edition = edition;
        if is_new {
            self.state.people.set(None);
            self.state.collection.set(None);
            self.state.layer.set(None);
        }
        Ok(())
    }

    fn end(&self) -> Result<()> {
        if !self.state.is_autocommit() {
            self.state.prepare_cached(sql::COMMIT)?.execute([])?;
        }
        Ok(())
    }
}
