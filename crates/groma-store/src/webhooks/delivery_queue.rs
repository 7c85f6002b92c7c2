//! The queue of due deliveries: leases for the delivery loop, and the record of its attempts.

use super::{
    Attempt, Delivery, DeliveryCounts, DueEndpoint, EndpointChange, LeaseRequest, NextStep,
    WebhookTarget, Webhooks,
    deliveries::{Listener, outcomes},
    outbox::Outbox,
    postgres, sqlite,
};
use crate::{
    Actor, Result,
    engine::{Engine, dispatch},
};
use groma_domain::{DeliveryId, EndpointId, Timestamp, WorkspaceId, webhook::DISABLE_AFTER_MILLIS};
use std::sync::Arc;
use tokio::sync::mpsc;

/// The delivery loop's end of the outbox: deliveries of committed changes, and notice of waiting ones.
pub struct DeliveryFeed {
    outbox: Outbox,
    deliveries: mpsc::UnboundedReceiver<Delivery>,
    /// On PostgreSQL, listens for notifications of other programs.
    _listener: Option<Listener>,
}

impl Drop for DeliveryFeed {
    fn drop(&mut self) {
        self.outbox.close();
    }
}

/// A message to the delivery loop.
#[derive(Debug)]
pub enum FeedMessage {
    /// Deliveries of committed changes, leased to this program.
    Deliveries(Vec<Delivery>),
    /// Endpoints that have more waiting than is held, and whether anything else changed.
    Waiting(Vec<EndpointId>, bool),
}

impl DeliveryFeed {
    /// The next message. Cancelling the future loses nothing.
    pub async fn next(&mut self) -> FeedMessage {
        let mut deliveries = Vec::new();
        tokio::select! {
            biased;
            count = self.deliveries.recv_many(&mut deliveries, 256) => match count {
                0 => std::future::pending().await,
                _ => FeedMessage::Deliveries(deliveries),
            },
            () = self.outbox.changed() => {
                let (waiting, is_woken) = self.outbox.take_changes();
                FeedMessage::Waiting(waiting, is_woken)
            }
        }
    }

    /// How many more deliveries may be held: for this endpoint, and overall.
    #[must_use]
    pub fn room(&self, endpoint: EndpointId) -> (usize, usize) {
        self.outbox.room(endpoint)
    }

    /// Sets whether more is waiting for an endpoint than is held. While it is, changes write their
    /// deliveries as waiting instead of passing them to the loop.
    pub fn set_overflowed(&self, endpoint: EndpointId, has_more: bool) {
        self.outbox.set_overflowed(endpoint, has_more);
    }

    /// Accepts no more deliveries; returns those that were passed on before.
    pub fn close(&mut self) -> Vec<Delivery> {
        self.outbox.close();
        let mut left = Vec::new();
        while let Ok(delivery) = self.deliveries.try_recv() {
            left.push(delivery);
        }
        left
    }
}

/// Why an endpoint that responded 410 is disabled.
pub const GONE: &str = "The endpoint responded 410 Gone";
/// Why an endpoint that fails for days is disabled.
pub const FAILING: &str = "No delivery has succeeded for five days";
/// Why an endpoint with an http URL is disabled while the operator does not allow http.
pub const HTTP_NOT_ALLOWED: &str = "The operator does not allow http URLs";

impl Webhooks {
    /// Opens the feed of the delivery loop. On SQLite, where one program serves, the leases of the
    /// previous program are released.
    pub(crate) async fn delivery_feed(&self, now: Timestamp) -> Result<DeliveryFeed> {
        let outbox = self.context.outbox.clone();
        let listener = match &self.engine {
            Engine::Sqlite(engine) => {
                sqlite::release_all_leases(engine, now).await?;
                None
            }
            Engine::Postgres(engine) => Some(postgres::listen(engine, outbox.clone())),
        };
        let deliveries = outbox.open();
        Ok(DeliveryFeed { outbox, deliveries, _listener: listener })
    }

    /// Adjusts due times after the clock of this machine was set back, so that deliveries do not wait
    /// longer. On PostgreSQL the clock of the database counts.
    pub(crate) async fn adjust_to_clock(&self, millis: i64, now: Timestamp) -> Result<()> {
        match &self.engine {
            Engine::Sqlite(engine) => sqlite::bring_forward(engine, millis, now).await,
            Engine::Postgres(_) => Ok(()),
        }
    }

    /// The enabled endpoints with waiting deliveries. Expired leases are released first.
    pub(crate) async fn due_endpoints(&self, now: Timestamp) -> Result<Vec<DueEndpoint>> {
        dispatch!(&self.engine, due_endpoints(now))
    }

    /// Leases due deliveries to this program.
    pub(crate) async fn lease_deliveries(
        &self,
        requests: Vec<LeaseRequest>,
        now: Timestamp,
    ) -> Result<Vec<Delivery>> {
        dispatch!(&self.engine, lease(&self.context, requests, now))
    }

    /// The current state of endpoints, without those that are deleted or disabled.
    pub(crate) async fn targets(
        &self,
        endpoints: Vec<(WorkspaceId, EndpointId)>,
    ) -> Result<Vec<Arc<WebhookTarget>>> {
        dispatch!(&self.engine, enabled_targets(&self.context, endpoints))
    }

    /// Releases the leases of deliveries that were not attempted.
    pub(crate) async fn release(
        &self,
        deliveries: Vec<(WorkspaceId, DeliveryId)>,
        now: Timestamp,
    ) -> Result<()> {
        dispatch!(&self.engine, release(deliveries, now))
    }

    /// Records attempts and what follows from them. Returns the endpoints that were disabled.
    pub(crate) async fn record_attempts(
        &self,
        attempts: Arc<Vec<Attempt>>,
    ) -> Result<Vec<EndpointId>> {
        let mut disabled = Vec::new();
        for attempt in attempts.iter() {
            if matches!(attempt.next, NextStep::Gone { .. })
                && !disabled.contains(&attempt.target.endpoint)
            {
                disabled.push(attempt.target.endpoint);
                self.disable(&attempt.target, GONE, attempt.at).await?;
            }
        }
        let outcomes = outcomes(&attempts);
        let last = attempts.iter().map(|attempt| attempt.at).max();
        let failing = dispatch!(&self.engine, record_attempts(attempts.clone()))?;
        for (endpoint, since) in failing {
            let Some((target, _)) = outcomes.get(&endpoint) else { continue };
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
        target: &WebhookTarget,
        reason: &'static str,
        now: Timestamp,
    ) -> Result<()> {
        let change = EndpointChange::GiveUp(reason);
        let (workspace, endpoint) = (target.workspace, target.endpoint);
        match self.change(workspace, Actor::Operator, endpoint, change, now).await {
            // Deleted in the meantime.
            Err(error) if error.domain_error().is_some() => Ok(()),
            changed => changed.map(drop),
        }
    }

    /// How many deliveries wait, by state.
    pub(crate) async fn delivery_counts(&self, now: Timestamp) -> Result<DeliveryCounts> {
        dispatch!(&self.engine, delivery_counts(now))
    }

    /// Deletes some rows of deleted endpoints; returns how many.
    pub(crate) async fn purge_deleted_endpoints(&self) -> Result<u64> {
        dispatch!(&self.engine, purge_deleted_endpoints())
    }

    /// Deletes deliveries that ended before `before`, with their attempts, in one small step after the
    /// delivery `after`. Returns where to continue, or `None` when nothing is left.
    pub(crate) async fn delete_old_deliveries(
        &self,
        before: Timestamp,
        after: Option<(WorkspaceId, DeliveryId)>,
    ) -> Result<Option<(WorkspaceId, DeliveryId)>> {
        dispatch!(&self.engine, delete_old_deliveries(before, after))
    }
}
