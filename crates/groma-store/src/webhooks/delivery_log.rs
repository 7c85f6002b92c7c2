//! Endpoints and deliveries as members see them, and redelivery.

use super::{StoredEndpoint, WebhookTx, Webhooks, endpoints::lock, postgres, sqlite};
use crate::{
    Actor, Result,
    audit_log::NewAuditEntry,
    engine::{dispatch, impl_work},
    secret_encryption::{SecretCipher, is_encrypted},
};
use groma_domain::{
    DeliveryId, DomainError, EndpointId, Event, Timestamp, WorkspaceId,
    webhook::{self, Endpoint},
};

/// An endpoint and its health.
#[derive(Clone, Debug)]
pub struct EndpointHealth {
    /// The endpoint.
    pub endpoint: Endpoint,
    /// The last successful delivery, accurate to a few seconds.
    pub last_success_at: Option<Timestamp>,
    /// Since when every attempt has failed.
    pub failing_since: Option<Timestamp>,
    /// Until when deliveries are signed with the previous secret too.
    pub previous_secret_until: Option<Timestamp>,
}

impl From<StoredEndpoint> for EndpointHealth {
    fn from(stored: StoredEndpoint) -> Self {
        Self {
            endpoint: stored.endpoint,
            last_success_at: stored.last_success_at,
            failing_since: stored.failing_since,
            previous_secret_until: stored.previous.map(|(_, until)| until),
        }
    }
}

/// The state of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryState {
    /// It waits for its next attempt, or for its endpoint to be enabled.
    Waiting,
    /// It is being sent.
    Sending,
    /// An attempt succeeded.
    Delivered,
    /// The last attempt failed.
    Failed,
}

impl DeliveryState {
    /// Every state with its name.
    pub const NAMES: [(&'static str, Self); 4] = [
        ("waiting", Self::Waiting),
        ("sending", Self::Sending),
        ("delivered", Self::Delivered),
        ("failed", Self::Failed),
    ];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize].0
    }

    pub(crate) fn number(self) -> i16 {
        self as i16
    }

    pub(crate) fn from_number(number: i16) -> Self {
        match number {
            0 => Self::Waiting,
            1 => Self::Sending,
            2 => Self::Delivered,
            _ => Self::Failed,
        }
    }
}

/// A filter for deliveries, newest first.
#[derive(Clone, Debug)]
pub struct DeliveryFilter {
    /// Of this endpoint.
    pub endpoint: EndpointId,
    /// In this state.
    pub state: Option<DeliveryState>,
    /// Of this event.
    pub event: Option<Event>,
    /// Created at this time or later.
    pub since: Option<Timestamp>,
    /// Created before this time.
    pub until: Option<Timestamp>,
    /// Before this one, to continue a list.
    pub before: Option<DeliveryId>,
    /// How many at most.
    pub limit: u32,
}

impl DeliveryFilter {
    /// All deliveries of an endpoint, page by page.
    #[must_use]
    pub fn of(endpoint: EndpointId) -> Self {
        let (state, event, since, until, before) = (None, None, None, None, None);
        Self { endpoint, state, event, since, until, before, limit: 50 }
    }

    /// The first and the last id in the range, both included. Ids rise with time.
    pub(crate) fn bounds(&self) -> (uuid::Uuid, uuid::Uuid) {
        let least = self.since.map_or(uuid::Uuid::nil(), |since| first_id(since).0);
        let most = self.until.map_or(uuid::Uuid::max(), |until| first_id(until).0);
        let most = match self.before {
            Some(before) => most.min(uuid::Uuid::from_u128(before.0.as_u128().saturating_sub(1))),
            None => most,
        };
        (least, most)
    }
}

/// The lowest id that a delivery created at this time can have.
pub(super) fn first_id(time: Timestamp) -> DeliveryId {
    let millis = u128::from(u64::try_from(time.as_millis()).unwrap_or_default());
    DeliveryId(uuid::Uuid::from_u128(millis << 80))
}

/// A delivery in a list.
#[derive(Clone, Debug)]
pub struct DeliveryRow {
    /// Its id.
    pub id: DeliveryId,
    /// Its endpoint.
    pub endpoint: EndpointId,
    /// Its event.
    pub event: Event,
    /// Whether it only tests the endpoint.
    pub is_test: bool,
    /// Its state.
    pub state: DeliveryState,
    /// The number of attempts.
    pub attempts: u32,
    /// When it was created.
    pub created_at: Timestamp,
    /// When the next attempt is due, if it waits.
    pub due_at: Option<Timestamp>,
    /// When it ended.
    pub finished_at: Option<Timestamp>,
    /// The status of the last response.
    pub last_status: Option<u16>,
    /// The last error.
    pub last_error: Option<String>,
}

/// An attempt in the log.
#[derive(Clone, Debug)]
pub struct AttemptRow {
    /// Its number, from 1.
    pub no: u32,
    /// When it began.
    pub at: Timestamp,
    /// Milliseconds until the response.
    pub millis: u64,
    /// The status of the response.
    pub status: Option<u16>,
    /// The error.
    pub error: Option<String>,
    /// The beginning of the response body.
    pub response: Vec<u8>,
}

/// A delivery with its body and attempts.
#[derive(Clone, Debug)]
pub struct DeliveryDetail {
    /// The delivery.
    pub delivery: DeliveryRow,
    /// The body that is sent.
    pub body: Vec<u8>,
    /// Every attempt, oldest first.
    pub attempts: Vec<AttemptRow>,
}

/// The event of a delivery, from which its body is made.
pub(super) struct EventData {
    pub(super) at: Timestamp,
    pub(super) document: String,
}

/// Which deliveries to send again.
#[derive(Clone, Copy, Debug)]
pub enum Redeliver {
    /// This one. If it waits, it is due now; if it has ended, its schedule starts over.
    One(DeliveryId),
    /// Every failed delivery of an endpoint that was created at this time or later.
    FailedSince(EndpointId, Timestamp),
}

/// How webhook secrets are stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SecretsState {
    /// Whether there is an encryption key.
    pub has_key: bool,
    /// How many are stored unencrypted.
    pub plain: usize,
    /// How many are encrypted and decrypt with the key.
    pub encrypted: usize,
    /// How many are encrypted and do not decrypt.
    pub unreadable: usize,
}

/// A delivery of the past, to fill the log of a demonstration.
#[derive(Clone, Debug)]
pub struct PastDelivery {
    /// The audit entry of its event.
    pub audit_entry: i64,
    /// Its event.
    pub event: Event,
    /// When it was created.
    pub at: Timestamp,
    /// Its attempts. The status of the last one decides whether it was delivered.
    pub attempts: Vec<PastAttempt>,
}

/// An attempt of the past.
#[derive(Clone, Debug)]
pub struct PastAttempt {
    /// When it began.
    pub at: Timestamp,
    /// Milliseconds until the response.
    pub millis: u64,
    /// The status of the response.
    pub status: Option<u16>,
    /// The error.
    pub error: Option<String>,
    /// The response body.
    pub response: String,
}

pub(super) fn endpoint_not_found(endpoint: EndpointId) -> DomainError {
    DomainError::NotFound { resource: "webhook endpoint", key: endpoint.to_string() }
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
        dispatch!(&self.engine, encrypt_secrets(&self.context))
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
        lock(tx, self.workspace, self.actor).await?;
        let what = match self.which {
            Redeliver::One(delivery) => serde_json::json!({ "delivery": delivery }),
            Redeliver::FailedSince(_, since) => serde_json::json!({ "failedSince": since }),
        };
        let entry = NewAuditEntry {
            at: self.now,
            actor: self.actor.person(),
            action: "webhook.redelivered",
            subject: self.endpoint.0,
            before: None,
            after: Some(what.to_string()),
        };
        tx.log(self.workspace, entry).await
    }
}

impl PastDelivery {
    /// Its final state, and when it was reached.
    pub(crate) fn outcome(&self) -> (DeliveryState, Timestamp) {
        let last = self.attempts.last();
        let status = last.and_then(|attempt| attempt.status).unwrap_or_default();
        let state = match status {
            200..300 => DeliveryState::Delivered,
            _ => DeliveryState::Failed,
        };
        (state, last.map_or(self.at, |attempt| attempt.at))
    }
}

impl SecretsState {
    /// Adds one stored secret.
    pub(super) fn count(&mut self, cipher: &SecretCipher, endpoint: uuid::Uuid, secret: &[u8]) {
        if !is_encrypted(secret) {
            self.plain += 1;
        } else if cipher.decrypt(endpoint.as_bytes(), secret).is_ok() {
            self.encrypted += 1;
        } else {
            self.unreadable += 1;
        }
    }
}
