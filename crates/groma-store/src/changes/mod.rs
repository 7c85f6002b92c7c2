//! The change feed: the events of a workspace in the order of their commits.
//!
//! Entries of the audit log are numbered while their workspace is locked. So the numbers of a workspace rise
//! with its commits, and once a number is visible, no smaller one appears. A consumer continues after the last
//! number that it has read; outside of the program it is wrapped in a cursor.

mod cursor;
mod live;
pub(crate) mod postgres;
pub(crate) mod sqlite;

pub use cursor::Cursors;
pub use live::LiveChanges;

use crate::{
    Result,
    audit_log::{EventSignal, event_number},
    engine::{Engine, dispatch},
};
use groma_domain::{Event, PersonId, Timestamp, TokenId, WorkspaceId};
use live::Hubs;
use std::sync::Arc;
use tokio::sync::OnceCell;

/// A page ends before its documents exceed this size, but has at least one change.
const MAX_PAGE_BYTES: usize = 8 << 20;
/// The number of entries that a page looks for changes in.
const SCAN_LIMIT: i64 = 10_000;

/// An event with who caused it.
#[derive(Clone, Debug)]
pub struct Change {
    /// Its number. Numbers of a workspace rise in the order of the commits.
    pub number: i64,
    /// When it happened.
    pub at: Timestamp,
    /// What happened.
    pub event: Event,
    /// Who caused it.
    pub actor: ChangeActor,
    /// The document after the change; of what was deleted, before it.
    pub document: String,
}

/// Who caused a change.
#[derive(Clone, Debug)]
pub enum ChangeActor {
    /// A member in the web application.
    Member(PersonId, Option<String>),
    /// A script with a token. Its name is unknown once it is deleted.
    Token(TokenId, Option<String>),
    /// A command, or the program itself.
    System,
}

impl ChangeActor {
    fn new(
        person: Option<PersonId>,
        person_name: Option<String>,
        token: Option<TokenId>,
        token_name: Option<String>,
    ) -> Self {
        match (token, person) {
            (Some(token), _) => Self::Token(token, token_name),
            (None, Some(person)) => Self::Member(person, person_name),
            (None, None) => Self::System,
        }
    }
}

/// Some changes of a workspace, oldest first.
#[derive(Debug)]
pub struct ChangePage {
    /// The changes.
    pub changes: Vec<Change>,
    /// The number after which to continue.
    pub next: i64,
    /// Whether there are more changes after `next`, or entries that were not looked at yet. They may all be of
    /// other events.
    pub has_more: bool,
}

impl ChangePage {
    /// A page without changes, at whose end to continue.
    #[must_use]
    pub fn empty(next: i64) -> Self {
        Self { changes: Vec::new(), next, has_more: false }
    }
}

/// Which changes to read.
#[derive(Clone, Debug)]
pub struct ChangeQuery {
    /// The workspace.
    pub workspace: WorkspaceId,
    /// Changes after this number.
    pub after: i64,
    /// Of these events.
    pub events: Vec<Event>,
    /// How many at most.
    pub limit: u32,
}

/// The change feed of a database.
#[derive(Clone)]
pub struct ChangeFeed {
    engine: Engine,
    identity: Arc<OnceCell<Vec<u8>>>,
    hubs: Arc<Hubs>,
}

impl ChangeFeed {
    pub(crate) fn new(engine: &Engine, signal: &EventSignal) -> Self {
        if let Engine::Sqlite(sqlite) = engine {
            let signal = signal.clone();
            sqlite.on_commit(move || signal.notify());
        }
        let hubs = Arc::new(Hubs::new(engine, signal));
        Self { engine: engine.clone(), identity: Arc::default(), hubs }
    }

    /// What turns numbers of a workspace into cursors.
    pub async fn cursors(&self, workspace: WorkspaceId) -> Result<Cursors> {
        let identity =
            self.identity.get_or_try_init(|| async { dispatch!(&self.engine, identity()) });
        Ok(Cursors::new(identity.await?, workspace))
    }

    /// The number of the last entry of a workspace; 0 if there is none.
    pub async fn head(&self, workspace: WorkspaceId) -> Result<i64> {
        head(&self.engine, workspace).await
    }

    /// A page of changes.
    pub async fn page(&self, query: &ChangeQuery) -> Result<ChangePage> {
        let head = self.head(query.workspace).await?;
        page(&self.engine, query, head).await
    }

    /// The number after which all changes are younger than `since`.
    pub async fn start(&self, workspace: WorkspaceId, since: Timestamp) -> Result<i64> {
        let (mut low, mut high) = (0, self.head(workspace).await?);
        // Every change up to `low` is older; every one after `high` is not.
        while low < high {
            let middle = low + (high - low) / 2;
            match self.first_after(workspace, middle).await? {
                Some((number, at)) if at < since => low = number,
                _ => high = middle,
            }
        }
        Ok(low)
    }

    /// The first event after a number, and its time.
    pub async fn first_after(
        &self,
        workspace: WorkspaceId,
        number: i64,
    ) -> Result<Option<(i64, Timestamp)>> {
        dispatch!(&self.engine, first_after(workspace, number))
    }

    /// Follows the changes of a workspace as they are committed.
    pub fn follow(&self, workspace: WorkspaceId) -> LiveChanges {
        self.hubs.follow(workspace)
    }
}

async fn head(engine: &Engine, workspace: WorkspaceId) -> Result<i64> {
    dispatch!(engine, head(workspace))
}

/// A page of the changes up to `head`.
async fn page(engine: &Engine, query: &ChangeQuery, head: i64) -> Result<ChangePage> {
    if query.after >= head {
        return Ok(ChangePage::empty(query.after));
    }
    let events: Vec<i16> = query.events.iter().copied().map(event_number).collect();
    let Scan { changes, scanned_to, is_cut } = dispatch!(engine, scan(query, events, head))?;
    let is_full = is_cut || changes.len() >= query.limit as usize;
    let next = match changes.last() {
        Some(last) if is_full => last.number,
        _ => scanned_to,
    };
    Ok(ChangePage { changes, next, has_more: is_cut || scanned_to < head })
}

/// What was found among the next entries.
struct Scan {
    changes: Vec<Change>,
    /// The last entry that was looked at.
    scanned_to: i64,
    /// Whether there may be more changes up to that entry.
    is_cut: bool,
}
