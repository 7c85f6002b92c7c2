//! Endpoints and deliveries as members see them, and redelivery.

use super::{
    DeliveryDetail, DeliveryFilter, DeliveryRow, DeliveryState, EndpointHealth, PastDelivery,
    SecretsState, WebhookContext, WebhookRequest, WebhookTx, Webhooks,
    deliveries::{RedeliveryStep, first_id},
    endpoints::{authorize, endpoint_not_found},
    postgres, sqlite,
};
use crate::{
    Result,
    actor::AuthorizedActor,
    audit_log::NewAuditEntry,
    engine::{dispatch, impl_work},
    idempotency::{self, Outcome},
    list_pages::{ListCursors, Page, SortKey, SortValue},
    secret_encryption::SecretsToEncrypt,
};
use groma_domain::{
    DeliveryId, DomainError, EndpointId, Timestamp, Violation, WorkspaceId,
    webhook::{self, DeliveryDocument, DeliveryStatus},
};
use std::sync::Arc;
use uuid::Uuid;

/// Which deliveries of an endpoint to send again: all in this state that were created at this time or later.
#[derive(Clone, Copy, Debug)]
pub struct RedeliverySince {
    /// The endpoint.
    pub endpoint: EndpointId,
    /// The status. Waiting ones are due now; the schedule of others starts over.
    pub status: DeliveryStatus,
    /// When they were created, at the earliest.
    pub since: Timestamp,
}

/// The delivery that a cursor is beside.
fn delivery_of(value: Option<&SortValue>) -> Option<DeliveryId> {
    match value {
        Some(SortValue::Text(id)) => id.parse().ok(),
        _ => None,
    }
}

fn delivery_not_found(delivery: DeliveryId) -> DomainError {
    DomainError::NotFound { resource: "delivery", key: delivery.to_string() }
}

impl_work! {
    RedeliverOne => Outcome<DeliveryDocument>;
    BeginRedelivery => Outcome<()>;
    EndRedelivery => ();
}

impl Webhooks {
    /// The endpoints of a workspace, oldest first.
    pub(crate) async fn endpoints(&self, workspace: WorkspaceId) -> Result<Vec<EndpointHealth>> {
        let stored = dispatch!(&self.engine, endpoints(workspace))?;
        Ok(stored.into_iter().map(EndpointHealth::from).collect())
    }

    /// One endpoint.
    pub(crate) async fn endpoint(
        &self,
        workspace: WorkspaceId,
        endpoint: EndpointId,
    ) -> Result<EndpointHealth> {
        let mut all = self.endpoints(workspace).await?.into_iter();
        let found = all.find(|health| health.endpoint.id == endpoint);
        found.ok_or_else(|| endpoint_not_found(endpoint).into())
    }

    /// Deliveries of an endpoint, newest first.
    pub(crate) async fn deliveries(
        &self,
        workspace: WorkspaceId,
        filter: DeliveryFilter,
    ) -> Result<Vec<DeliveryRow>> {
        self.endpoint(workspace, filter.endpoint).await?;
        dispatch!(&self.engine, deliveries(workspace, filter))
    }

    /// A page of the deliveries of an endpoint, newest first; without a cursor, the one that the filter names.
    pub(crate) async fn delivery_page(
        &self,
        workspace: WorkspaceId,
        mut filter: DeliveryFilter,
        cursor: Option<&str>,
        now: Timestamp,
    ) -> Result<Page> {
        let total = self.count_deliveries(workspace, filter.clone()).await?;
        let cursors = ListCursors::new(workspace, &format!("deliveries {}", filter.endpoint));
        let place = cursor.map(|text| cursors.decode(text, |value| delivery_of(value).is_some()));
        let (place, limit) = (place.transpose()?, filter.limit);
        if let Some(place) = &place {
            let beside = place.beside.as_ref().and_then(|key| delivery_of(key.value.as_ref()));
            // One more shows whether there is another page.
            (filter.limit, filter.offset) = (limit + 1, 0);
            if place.is_backward {
                // The page ends at the cursor. What is created from now on does not move it.
                (filter.after, filter.until) = (beside, Some(now));
                let newer = self.count_deliveries(workspace, filter.clone()).await?;
                filter.offset = newer.saturating_sub(u64::from(filter.limit));
            } else {
                filter.before = beside;
            }
        }
        let mut rows = self.deliveries(workspace, filter).await?;
        if place.as_ref().is_some_and(|place| place.is_backward) {
            rows.reverse();
        }
        let documents = rows.iter().map(|row| serde_json::to_vec(&row.document()));
        let documents = documents.collect::<serde_json::Result<_>>()?;
        let Some(place) = place else { return Ok(Page::new(documents, total)) };
        let keys = rows
            .iter()
            .map(|row| SortKey { value: Some(SortValue::Text(row.id.to_string())), position: 0 });
        Ok(cursors.page(&place, limit, total, keys.collect(), documents))
    }

    /// How many deliveries of an endpoint there are, whatever the limit of the filter.
    async fn count_deliveries(
        &self,
        workspace: WorkspaceId,
        filter: DeliveryFilter,
    ) -> Result<u64> {
        dispatch!(&self.engine, count_deliveries(workspace, filter))
    }

    /// One delivery with its body and every attempt.
    pub(crate) async fn delivery(
        &self,
        workspace: WorkspaceId,
        delivery: DeliveryId,
    ) -> Result<DeliveryDetail> {
        let found = dispatch!(&self.engine, delivery(workspace, delivery))?;
        let (row, event, attempts) = found.ok_or_else(|| delivery_not_found(delivery))?;
        let name = row.event.name();
        let body = webhook::payload(row.id, name, workspace, event.at, &event.document);
        Ok(DeliveryDetail { delivery: row, body, attempts })
    }

    /// Sends a delivery again: if it waits, it is due now; if it has ended, its schedule starts over.
    pub(crate) async fn redeliver(
        &self,
        request: WebhookRequest,
        delivery: DeliveryId,
    ) -> Result<Outcome<DeliveryDocument>> {
        let context = self.context.clone();
        self.engine.transact(RedeliverOne { request, delivery, context }).await
    }

    /// Sends deliveries of an endpoint again; returns how many.
    pub(crate) async fn redeliver_since(
        &self,
        request: WebhookRequest,
        which: RedeliverySince,
    ) -> Result<Outcome<u64>> {
        let (workspace, now) = (request.workspace, request.now);
        self.endpoint(workspace, which.endpoint).await?;
        let context = self.context.clone();
        let begin = BeginRedelivery { request: request.clone(), which, context: context.clone() };
        if let Outcome::Replayed(response) = self.engine.transact(begin).await? {
            return Ok(Outcome::Replayed(response));
        }
        // Those that are created from now on are sent anyway.
        let last = first_id(now.plus_millis(1)).0;
        let mut first = first_id(which.since).0;
        let mut sent = 0;
        loop {
            // In small steps, so that others can write in between.
            let RedeliverySince { endpoint, status, .. } = which;
            let step = RedeliveryStep { endpoint, status, ids: (first, last) };
            let ids = dispatch!(&self.engine, redeliver(&self.context, workspace, step, now))?;
            let Some(max) = ids.iter().max() else { break };
            sent += ids.len() as u64;
            first = Uuid::from_u128(max.as_u128().saturating_add(1));
        }
        self.engine.transact(EndRedelivery { request, sent, context }).await?;
        Ok(Outcome::First(sent))
    }

    /// Writes past deliveries of an endpoint into the log.
    pub(crate) async fn insert_past_deliveries(
        &self,
        workspace: WorkspaceId,
        endpoint: EndpointId,
        past: Vec<PastDelivery>,
    ) -> Result<()> {
        self.endpoint(workspace, endpoint).await?;
        dispatch!(&self.engine, insert_past_deliveries(workspace, endpoint, past))
    }

    /// How webhook secrets are stored.
    pub(crate) async fn secrets_state(&self) -> Result<SecretsState> {
        dispatch!(&self.engine, secrets_state(&self.context))
    }

    /// Encrypts secrets: the unencrypted ones, or all with the current key. Returns how many.
    pub(crate) async fn encrypt_secrets(&self, which: SecretsToEncrypt) -> Result<u64> {
        dispatch!(&self.engine, encrypt_secrets(&self.context, which))
    }
}

#[derive(Clone)]
struct RedeliverOne {
    request: WebhookRequest,
    delivery: DeliveryId,
    context: Arc<WebhookContext>,
}

impl RedeliverOne {
    async fn run<T: WebhookTx>(self, tx: &mut T) -> Result<Outcome<DeliveryDocument>> {
        let Self { request, delivery, context } = self;
        let WebhookRequest { workspace, actor, now, idempotent } = request;
        let cipher = context.cipher();
        let (_, actor) = authorize(tx, workspace, actor, now).await?;
        let replayed = idempotency::find(tx, workspace, idempotent.as_ref(), cipher, now).await?;
        if let Some(response) = replayed {
            return Ok(Outcome::Replayed(response));
        }
        let find = tx.delivery(workspace, delivery).await?;
        let row = find.ok_or_else(|| delivery_not_found(delivery))?;
        if row.erased_at.is_some() {
            return Err(DomainError::invalid("delivery", Violation::EventErased).into());
        }
        let what = serde_json::json!({ "delivery": delivery });
        tx.log(workspace, entry(actor, now, row.endpoint, &what)).await?;
        let mut document = row.document();
        if row.state != DeliveryState::Sending {
            tx.redeliver(workspace, delivery, now, &context).await?;
            document.status = DeliveryStatus::Waiting;
            document.next_attempt_at = Some(now);
            document.delivered_at = None;
        }
        let response = serde_json::to_vec(&document)?;
        idempotency::save(tx, workspace, idempotent, &response, cipher, now).await?;
        Ok(Outcome::First(document))
    }
}

/// Logs who sends deliveries again, unless the same request was handled before.
#[derive(Clone)]
struct BeginRedelivery {
    request: WebhookRequest,
    which: RedeliverySince,
    context: Arc<WebhookContext>,
}

impl BeginRedelivery {
    async fn run<T: WebhookTx>(self, tx: &mut T) -> Result<Outcome<()>> {
        let Self { request, which, context } = self;
        let WebhookRequest { workspace, actor, now, idempotent } = request;
        let cipher = context.cipher();
        let (_, actor) = authorize(tx, workspace, actor, now).await?;
        let replayed = idempotency::find(tx, workspace, idempotent.as_ref(), cipher, now).await?;
        if let Some(response) = replayed {
            return Ok(Outcome::Replayed(response));
        }
        let what = serde_json::json!({ "status": which.status, "since": which.since });
        tx.log(workspace, entry(actor, now, which.endpoint, &what)).await?;
        Ok(Outcome::First(()))
    }
}

/// Keeps the response of a request that sent deliveries again. A request that is repeated before that finds
/// nothing left to send.
#[derive(Clone)]
struct EndRedelivery {
    request: WebhookRequest,
    sent: u64,
    context: Arc<WebhookContext>,
}

impl EndRedelivery {
    async fn run<T: WebhookTx>(self, tx: &mut T) -> Result<()> {
        let Self { request, sent, context } = self;
        let WebhookRequest { workspace, now, idempotent, .. } = request;
        let response = redelivered(sent).to_string();
        let cipher = context.cipher();
        idempotency::save(tx, workspace, idempotent, response.as_bytes(), cipher, now).await
    }
}

/// How many deliveries are sent again, as JSON.
pub fn redelivered(count: u64) -> serde_json::Value {
    serde_json::json!({ "redelivered": count })
}

fn entry(
    actor: AuthorizedActor,
    at: Timestamp,
    endpoint: EndpointId,
    what: &serde_json::Value,
) -> NewAuditEntry {
    NewAuditEntry {
        at,
        actor: actor.into(),
        action: "webhook.redelivered",
        subject: endpoint.0,
        before: None,
        after: Some(what.to_string()),
    }
}
