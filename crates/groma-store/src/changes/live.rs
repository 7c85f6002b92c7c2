//! Following changes as they are committed. All who follow a workspace share one task that looks for new
//! entries, and mostly one query that reads them.

use super::{Change, ChangePage, ChangeQuery, head, page};
use crate::{Result, audit_log::EventSignal, engine::Engine};
use groma_domain::{Event, WorkspaceId};
use parking_lot::Mutex;
use std::{
    collections::HashMap,
    sync::{Arc, Weak},
    time::Duration,
};
use tokio::sync::{self, watch};

/// How often the database is asked for commits of other programs.
const POLL_POSTGRES: Duration = Duration::from_millis(20);
/// On SQLite, the maintenance of the store notices them.
const POLL_SQLITE: Duration = Duration::from_secs(5);
/// The number of changes that are read at a time.
const BATCH: u32 = 256;

/// The workspaces that are followed.
pub(super) struct Hubs {
    engine: Engine,
    signal: EventSignal,
    hubs: Mutex<HashMap<WorkspaceId, Weak<Hub>>>,
}

/// What all who follow a workspace share.
struct Hub {
    engine: Engine,
    workspace: WorkspaceId,
    /// The number of the last entry.
    head: watch::Sender<i64>,
    /// The newest changes.
    recent: sync::Mutex<Recent>,
}

/// All changes after one number, up to another.
#[derive(Clone, Default)]
struct Recent {
    after: i64,
    to: i64,
    changes: Arc<[Change]>,
}

/// The changes of a workspace, as they are committed.
pub struct LiveChanges {
    hub: Arc<Hub>,
    head: watch::Receiver<i64>,
}

impl Hubs {
    pub(super) fn new(engine: &Engine, signal: &EventSignal) -> Self {
        Self { engine: engine.clone(), signal: signal.clone(), hubs: Mutex::default() }
    }

    pub(super) fn follow(&self, workspace: WorkspaceId) -> LiveChanges {
        let mut hubs = self.hubs.lock();
        let hub = hubs.get(&workspace).and_then(Weak::upgrade).unwrap_or_else(|| {
            let hub = Arc::new(Hub {
                engine: self.engine.clone(),
                workspace,
                head: watch::Sender::new(0),
                recent: sync::Mutex::default(),
            });
            hubs.retain(|_, hub| hub.strong_count() > 0);
            hubs.insert(workspace, Arc::downgrade(&hub));
            tokio::spawn(watch_head(Arc::downgrade(&hub), self.signal.clone()));
            hub
        });
        let head = hub.head.subscribe();
        LiveChanges { hub, head }
    }
}

/// Notifies the followers of a workspace of new entries. Ends with the last follower.
async fn watch_head(hub: Weak<Hub>, signal: EventSignal) {
    let mut commits = signal.subscribe();
    loop {
        let poll = {
            let Some(hub) = hub.upgrade() else { return };
            commits.mark_unchanged();
            match head(&hub.engine, hub.workspace).await {
                Ok(number) => {
                    hub.head.send_if_modified(|head| {
                        let is_new = *head != number;
                        *head = number;
                        is_new
                    });
                }
                Err(error) => tracing::warn!(%error, "failed to look for new changes"),
            }
            match &hub.engine {
                Engine::Sqlite(_) => POLL_SQLITE,
                Engine::Postgres(_) => POLL_POSTGRES,
            }
        };
        tokio::select! {
            changed = commits.changed() => if changed.is_err() { return },
            () = tokio::time::sleep(poll) => {}
        }
    }
}

impl LiveChanges {
    /// Completes when there are entries after a number.
    pub async fn wait(&mut self, after: i64) {
        // The sender lives in the hub, which this keeps alive.
        let _ = self.head.wait_for(|head| *head > after).await;
    }

    /// The next changes after a number, of these events.
    pub async fn read(&mut self, after: i64, events: &[Event]) -> Result<ChangePage> {
        let head = *self.head.borrow_and_update();
        let recent = self.hub.recent(after, head).await?;
        let is_wanted = |change: &&Change| change.number > after && events.contains(&change.event);
        let changes: Vec<Change> = recent.changes.iter().filter(is_wanted).cloned().collect();
        let next = recent.to.max(after);
        Ok(ChangePage { changes, next, has_more: next < head })
    }
}

impl Hub {
    /// Changes from `after` on; those of before are left in if they are known.
    async fn recent(&self, after: i64, head: i64) -> Result<Recent> {
        let mut recent = self.recent.lock().await;
        if recent.after <= after && after < recent.to {
            return Ok(recent.clone());
        }
        if after < recent.after {
            // Someone catches up: the others do not wait for that, and do not need these changes.
            drop(recent);
            return self.load(after, head).await;
        }
        *recent = self.load(after, head).await?;
        Ok(recent.clone())
    }

    async fn load(&self, after: i64, head: i64) -> Result<Recent> {
        let query = ChangeQuery {
            workspace: self.workspace,
            after,
            events: Event::all().collect(),
            limit: BATCH,
        };
        let ChangePage { changes, next, .. } = page(&self.engine, &query, head).await?;
        Ok(Recent { after, to: next, changes: changes.into() })
    }
}
