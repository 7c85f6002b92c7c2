//! Endpoints and deliveries as members see them, and redelivery.

use super::{
    DeliveryDetail, DeliveryFilter, DeliveryRow, EndpointHealth, PastDelivery, SecretsState,
    WebhookTx, Webhooks,
    endpoints::{authorize, endpoint_not_found},
    postgres, sqlite,
};
use crate::{
    Actor, Result,
    audit_log::NewAuditEntry,
    engine::{dispatch, impl_work},
    secret_encryption::SecretsToEncrypt,
};
use groma_domain::{
    DeliveryId, DomainError, EndpointId, Timestamp, WorkspaceId,
    webhook::{self},
};

/// Which deliveries to send again.
#[derive(Clone, Copy, Debug)]
pub enum Redeliver {
    /// This one. If it waits, it is due now; if it has ended, its schedule starts over.
    One(DeliveryId),
    /// Every failed delivery of an endpoint that was created at this time or later.
    FailedSince(EndpointId, Timestamp),
}

fn delivery_not_found(delivery: DeliveryId) -> DomainError {
    DomainError::NotFound { resource: "delivery", key: delivery.to_string() }
}

impl_work! {
    LogRedelivery => ();
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

    /// Sends deliveries again; returns how many.
    pub(crate) async fn redeliver(
        &self,
        workspace: WorkspaceId,
        actor: Actor,
        which: Redeliver,
        now: Timestamp,
    ) -> Result<u64> {
        let endpoint = match which {
            Redeliver::One(delivery) => self.delivery(workspace, delivery).await?.delivery.endpoint,
            Redeliver::FailedSince(endpoint, _) => {
                self.endpoint(workspace, endpoint).await?;
                endpoint
            }
        };
        self.engine.transact(LogRedelivery { workspace, actor, endpoint, which, now }).await?;
        match which {
            Redeliver::One(delivery) => {
                dispatch!(&self.engine, redeliver_one(&self.context, workspace, delivery, now))
            }
            Redeliver::FailedSince(endpoint, since) => {
                let mut sent = 0;
                loop {
                    // In small steps, so that others can write in between.
                    let step = dispatch!(
                        &self.engine,
                        redeliver_failed(&self.context, workspace, endpoint, since, now)
                    )?;
                    sent += step;
                    if step == 0 {
                        return Ok(sent);
                    }
                }
            }
        }
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

    /// Encrypts every unencrypted secret; returns how many there were.
    pub(crate) async fn encrypt_secrets(&self) -> Result<u64> {
        dispatch!(&self.engine, encrypt_secrets(&self.context, SecretsToEncrypt::Plain))
    }

    /// Encrypts every secret again, with the current key; returns how many.
    pub(crate) async fn reencrypt_secrets(&self) -> Result<u64> {
        dispatch!(&self.engine, encrypt_secrets(&self.context, SecretsToEncrypt::All))
    }
}

/// Logs who sent deliveries again.
#[derive(Clone)]
struct LogRedelivery {
    workspace: WorkspaceId,
    actor: Actor,
    endpoint: EndpointId,
    which: Redeliver,
    now: Timestamp,
}

impl LogRedelivery {
    async fn run<T: WebhookTx>(self, tx: &mut T) -> Result<()> {
        let Self { workspace, actor, endpoint, which, now } = self;
        let (_, actor) = authorize(tx, workspace, actor, now).await?;
        let what = match which {
            Redeliver::One(delivery) => serde_json::json!({ "delivery": delivery }),
            Redeliver::FailedSince(_, since) => serde_json::json!({ "failedSince": since }),
        };
        let entry = NewAuditEntry {
            at: now,
            actor: actor.person,
            action: "webhook.redelivered",
            subject: endpoint.0,
            before: None,
            after: Some(what.to_string()),
        };
        tx.log(workspace, entry).await
    }
}
