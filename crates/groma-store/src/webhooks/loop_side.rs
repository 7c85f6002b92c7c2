//! What the loop that delivers asks the store for, and tells it.

use super::{Addressee, Delivery, EndpointChange};
use crate::{Actor, Result, Store, outbox::Outbox, store::on_engine};
use groma_domain::{DeliveryId, EndpointId, Timestamp, WorkspaceId, webhook::DISABLE_AFTER_MILLIS};
use std::{collections::HashMap, sync::Arc};
use tokio::sync::mpsc;

/// The loop's end of the outbox: what changes hand over, and news of what waits.
pub struct Handovers {
    outbox: Outbox,
    handed: mpsc::UnboundedReceiver<Delivery>,
    /// Listens to other programs, where the database tells of them.
    _listener: Option<Listener>,
}

/// A task that ends with its owner.
pub(crate) struct Listener(pub(crate) tokio::task::JoinHandle<()>);

impl Drop for Listener {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Drop for Handovers {
    fn drop(&mut self) {
        self.outbox.close();
    }
}

/// What the loop hears.
#[derive(Debug)]
pub enum News {
    /// Deliveries that were handed over, leased to this program.
    Handed(Vec<Delivery>),
    /// Endpoints that have more waiting than is held, and whether anything else changed.
    Waiting(Vec<EndpointId>, bool),
}

impl Handovers {
    /// The next news. Cancelling it loses nothing.
    pub async fn next(&mut self) -> News {
        let mut handed = Vec::new();
        tokio::select! {
            biased;
            count = self.handed.recv_many(&mut handed, 256) => match count {
                0 => std::future::pending().await,
                _ => News::Handed(handed),
            },
            () = self.outbox.changed() => {
                let (waiting, stirred) = self.outbox.take_changes();
                News::Waiting(waiting, stirred)
            }
        }
    }

    /// How many more deliveries may be held: for this endpoint, and overall.
    #[must_use]
    pub fn room(&self, endpoint: EndpointId) -> (usize, usize) {
        self.outbox.room(endpoint)
    }

    /// Notes whether more is waiting for an endpoint than is held. While it is, changes write their
    /// deliveries behind the others instead of handing them over.
    pub fn set_overflowed(&self, endpoint: EndpointId, has_more: bool) {
        self.outbox.set_overflowed(endpoint, has_more);
    }

    /// Takes nothing more in; what was handed over before can still be had.
    pub fn close(&mut self) -> Vec<Delivery> {
        self.outbox.close();
        let mut left = Vec::new();
        while let Ok(delivery) = self.handed.try_recv() {
            left.push(delivery);
        }
        left
    }
}

/// An endpoint with something waiting.
#[derive(Clone, Copy, Debug)]
pub struct Due {
    /// The workspace.
    pub workspace: WorkspaceId,
    /// The endpoint.
    pub endpoint: EndpointId,
    /// In how many milliseconds its first delivery is due; not positive when it is.
    pub in_millis: i64,
}

/// How many deliveries are wanted of an endpoint.
#[derive(Clone, Copy, Debug)]
pub struct Ask {
    /// The workspace.
    pub workspace: WorkspaceId,
    /// The endpoint.
    pub endpoint: EndpointId,
    /// How many.
    pub limit: usize,
}

/// An attempt that was made.
#[derive(Debug)]
pub struct Attempted {
    /// The delivery.
    pub delivery: DeliveryId,
    /// Where it went.
    pub target: Arc<Addressee>,
    /// When it began.
    pub at: Timestamp,
    /// When it was over, by the clock as it then was; the wait for the next begins here.
    pub ended: Timestamp,
    /// How long it took to the answer, in milliseconds.
    pub millis: u64,
    /// The status of the answer.
    pub status: Option<u16>,
    /// What went wrong.
    pub error: Option<String>,
    /// The beginning of the answer's body.
    pub answer: Vec<u8>,
    /// What follows.
    pub next: Next,
}

/// What follows an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Nothing: it is delivered.
    Delivered,
    /// Another attempt, after so many milliseconds.
    Again {
        /// How long after this one.
        after_millis: i64,
    },
    /// Another attempt when someone enables the endpoint, which asked for no more.
    Gone {
        /// How long after this one, at the earliest.
        after_millis: i64,
    },
    /// Nothing: it was the last.
    Failed,
}

impl Next {
    /// The state that a delivery then has, and how long it waits.
    pub(crate) fn state(self) -> (i16, i64) {
        match self {
            Self::Again { after_millis } | Self::Gone { after_millis } => (0, after_millis),
            Self::Delivered => (2, 0),
            Self::Failed => (3, 0),
        }
    }
}

/// How one endpoint fared in a group of attempts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Fared {
    /// The last success.
    pub(crate) success: Option<Timestamp>,
    /// The first failure after the last success.
    pub(crate) failure: Option<Timestamp>,
}

/// How each endpoint fared, from the attempts in their order.
pub(crate) fn fared(attempts: &[Attempted]) -> HashMap<EndpointId, (Arc<Addressee>, Fared)> {
    let mut all: HashMap<EndpointId, (Arc<Addressee>, Fared)> = HashMap::new();
    for attempt in attempts {
        let target = &attempt.target;
        let (_, fared) =
            all.entry(target.endpoint).or_insert_with(|| (target.clone(), Fared::default()));
        if attempt.next == Next::Delivered {
            *fared = Fared { success: Some(attempt.at), failure: None };
        } else if fared.failure.is_none() {
            fared.failure = Some(attempt.at);
        }
    }
    all
}

/// What there is to be delivered.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Deliveries that could be tried now.
    pub due: u64,
    /// Deliveries that are being tried.
    pub leased: u64,
    /// Deliveries that wait for another time, or for their endpoint.
    pub later: u64,
    /// For how long the oldest that could be tried now has waited, in milliseconds.
    pub oldest_due_millis: u64,
}

/// Why an endpoint that answered 410 is disabled.
const GONE: &str = "The endpoint answered 410 Gone";
/// Why an endpoint that fails for days is disabled.
const FAILING: &str = "No delivery has succeeded for five days";

impl Store {
    /// Opens the way from changes to a loop that delivers. On SQLite, where one program serves, the
    /// leases of the one before are free again.
    pub async fn handovers(&self, now: Timestamp) -> Result<Handovers> {
        let (outbox, listener) = match self {
            Self::Sqlite(sqlite) => {
                sqlite.free_all_leases(now).await?;
                (sqlite.desk.outbox.clone(), None)
            }
            Self::Postgres(postgres) => (postgres.desk.outbox.clone(), Some(postgres.listen())),
        };
        let handed = outbox.open();
        Ok(Handovers { outbox, handed, _listener: listener })
    }

    /// The clock of this machine was set back by so many milliseconds: what waits would wait for as much
    /// longer, and is due as much earlier instead. On PostgreSQL the clock of the database counts.
    pub async fn clock_was_set_back(&self, millis: i64, now: Timestamp) -> Result<()> {
        match self {
            Self::Sqlite(sqlite) => sqlite.bring_forward(millis, now).await,
            Self::Postgres(_) => Ok(()),
        }
    }

    /// The enabled endpoints with something waiting. Leases that have ended are free again first.
    pub async fn due_endpoints(&self, now: Timestamp) -> Result<Vec<Due>> {
        on_engine!(self, engine => engine.due_endpoints(now).await)
    }

    /// Leases deliveries that are due to this program.
    pub async fn lease_deliveries(&self, asks: Vec<Ask>, now: Timestamp) -> Result<Vec<Delivery>> {
        on_engine!(self, engine => engine.lease(asks, now).await)
    }

    /// The endpoints as they are now; those that are deleted or disabled are left out.
    pub async fn targets(
        &self,
        endpoints: Vec<(WorkspaceId, EndpointId)>,
    ) -> Result<Vec<Arc<Addressee>>> {
        on_engine!(self, engine => engine.targets_now(endpoints).await)
    }

    /// Gives leases back: these deliveries were not tried.
    pub async fn release(
        &self,
        deliveries: Vec<(WorkspaceId, DeliveryId)>,
        now: Timestamp,
    ) -> Result<()> {
        on_engine!(self, engine => engine.release(deliveries, now).await)
    }

    /// Writes down attempts, with what follows from them. Gives the endpoints that were disabled.
    pub async fn record_attempts(&self, attempts: Arc<Vec<Attempted>>) -> Result<Vec<EndpointId>> {
        let mut disabled = Vec::new();
        for attempt in attempts.iter() {
            if matches!(attempt.next, Next::Gone { .. })
                && !disabled.contains(&attempt.target.endpoint)
            {
                disabled.push(attempt.target.endpoint);
                self.disable(&attempt.target, GONE, attempt.at).await?;
            }
        }
        let fared = fared(&attempts);
        let last = attempts.iter().map(|attempt| attempt.at).max();
        let failing = on_engine!(self, engine => engine.record_attempts(attempts.clone()).await?);
        for (endpoint, since) in failing {
            let Some((target, _)) = fared.get(&endpoint) else { continue };
            let now = last.unwrap_or(since);
            if now.as_millis() - since.as_millis() >= DISABLE_AFTER_MILLIS
                && !disabled.contains(&endpoint)
            {
                disabled.push(endpoint);
                self.disable(target, FAILING, now).await?;
            }
        }
        Ok(disabled)
    }

    async fn disable(
        &self,
        target: &Addressee,
        reason: &'static str,
        now: Timestamp,
    ) -> Result<()> {
        let change = EndpointChange::GiveUp(reason);
        let (workspace, endpoint) = (target.workspace, target.endpoint);
        let done = self.change_endpoint(workspace, Actor::Operator, endpoint, change, now).await;
        match done {
            // Deleted meanwhile.
            Err(error) if error.domain_error().is_some() => Ok(()),
            done => done.map(drop),
        }
    }

    /// What there is to be delivered.
    pub async fn delivery_counts(&self, now: Timestamp) -> Result<Counts> {
        on_engine!(self, engine => engine.delivery_counts(now).await)
    }

    /// Clears away some of what is left of deleted endpoints; gives how many rows.
    pub async fn purge_deleted_endpoints(&self) -> Result<u64> {
        on_engine!(self, engine => engine.purge_deleted_endpoints().await)
    }

    /// Forgets deliveries that ended before `before`, with their attempts: one small step, behind the
    /// delivery `after`. Gives where to go on, or `None` when there is nothing more to do.
    pub async fn forget_deliveries(
        &self,
        before: Timestamp,
        after: Option<(WorkspaceId, DeliveryId)>,
    ) -> Result<Option<(WorkspaceId, DeliveryId)>> {
        on_engine!(self, engine => engine.forget_deliveries(before, after).await)
    }
}
