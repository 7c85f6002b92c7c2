//! What one sees of endpoints and deliveries, and how they are mended.

use super::{NewDelivery, StoredEndpoint, endpoints::lock};
use crate::{
    Actor, Result, Store,
    seal::{Sealer, is_sealed},
    store::on_engine,
    tx::{LogRow, Tx, Work, Write},
};
use groma_domain::{
    DeliveryId, DomainError, EndpointId, Event, Timestamp, WorkspaceId,
    webhook::{self, Endpoint},
};

/// An endpoint with how it fares.
#[derive(Clone, Debug)]
pub struct EndpointHealth {
    /// The endpoint.
    pub endpoint: Endpoint,
    /// The last success, to a few seconds.
    pub last_success_at: Option<Timestamp>,
    /// Since when every attempt has failed.
    pub failing_since: Option<Timestamp>,
    /// Until when the secret before the present one signs too.
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

/// Where a delivery stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryState {
    /// It waits for its time, or for its endpoint to be enabled.
    Waiting,
    /// It is being tried.
    Sending,
    /// An attempt succeeded.
    Delivered,
    /// The last attempt failed.
    Failed,
}

impl DeliveryState {
    /// Every state with its name.
    pub const WORDS: [(&'static str, Self); 4] = [
        ("waiting", Self::Waiting),
        ("sending", Self::Sending),
        ("delivered", Self::Delivered),
        ("failed", Self::Failed),
    ];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::WORDS[self as usize].0
    }

    pub(crate) fn number(self) -> i16 {
        self as i16
    }

    pub(crate) fn numbered(number: i16) -> Self {
        match number {
            0 => Self::Waiting,
            1 => Self::Sending,
            2 => Self::Delivered,
            _ => Self::Failed,
        }
    }
}

/// Which deliveries are asked for: newest first.
#[derive(Clone, Debug)]
pub struct DeliveryFilter {
    /// Of this endpoint.
    pub endpoint: EndpointId,
    /// In this state.
    pub state: Option<DeliveryState>,
    /// Of this event.
    pub event: Option<Event>,
    /// Made at this moment or later.
    pub since: Option<Timestamp>,
    /// Made before this moment.
    pub until: Option<Timestamp>,
    /// Behind this one, to go on.
    pub before: Option<DeliveryId>,
    /// How many.
    pub limit: u32,
}

impl DeliveryFilter {
    /// Everything of an endpoint, page by page.
    #[must_use]
    pub fn of(endpoint: EndpointId) -> Self {
        let (state, event, since, until, before) = (None, None, None, None, None);
        Self { endpoint, state, event, since, until, before, limit: 50 }
    }

    /// The first and the last id that fit, both included. Ids rise with time.
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

/// The least id that a delivery made at this moment can have.
pub(crate) fn first_id(moment: Timestamp) -> DeliveryId {
    let millis = u128::from(u64::try_from(moment.as_millis()).unwrap_or_default());
    DeliveryId(uuid::Uuid::from_u128(millis << 80))
}

/// A delivery as it is listed.
#[derive(Clone, Debug)]
pub struct DeliveryRow {
    /// Its id.
    pub id: DeliveryId,
    /// Its endpoint.
    pub endpoint: EndpointId,
    /// What it announces.
    pub event: Event,
    /// Whether it only tries the endpoint out.
    pub is_test: bool,
    /// Where it stands.
    pub state: DeliveryState,
    /// How often it was tried.
    pub attempts: u32,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it is tried next, if it waits.
    pub due_at: Option<Timestamp>,
    /// When it ended.
    pub finished_at: Option<Timestamp>,
    /// The status of the last answer.
    pub last_status: Option<u16>,
    /// What went wrong last.
    pub last_error: Option<String>,
}

/// An attempt, as it was.
#[derive(Clone, Debug)]
pub struct AttemptRow {
    /// Its number, from 1.
    pub no: u32,
    /// When it began.
    pub at: Timestamp,
    /// How long it took to the answer, in milliseconds.
    pub millis: u64,
    /// The status of the answer.
    pub status: Option<u16>,
    /// What went wrong.
    pub error: Option<String>,
    /// The beginning of the answer's body.
    pub answer: Vec<u8>,
}

/// A delivery with all that is known of it.
#[derive(Clone, Debug)]
pub struct DeliveryDetail {
    /// The delivery.
    pub delivery: DeliveryRow,
    /// What is sent.
    pub body: Vec<u8>,
    /// Every attempt, the first one first.
    pub attempts: Vec<AttemptRow>,
}

/// What makes a delivery's body.
pub(crate) struct Told {
    pub(crate) at: Timestamp,
    pub(crate) document: String,
}

/// Which deliveries are to be sent again.
#[derive(Clone, Copy, Debug)]
pub enum Redeliver {
    /// This one. When it waits, its time is now; when it has ended, its schedule begins anew.
    One(DeliveryId),
    /// Every failed one of an endpoint that was made at this moment or later.
    FailedSince(EndpointId, Timestamp),
}

/// How secrets lie in the database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SecretsState {
    /// Whether there is a key.
    pub has_key: bool,
    /// How many lie open.
    pub plain: usize,
    /// How many are sealed and open with the key.
    pub sealed: usize,
    /// How many are sealed and do not open.
    pub unreadable: usize,
}

/// A delivery of the past, for a history that is told.
#[derive(Clone, Debug)]
pub struct PastDelivery {
    /// The line of the audit trail that it announced.
    pub change: i64,
    /// What happened.
    pub event: Event,
    /// When.
    pub at: Timestamp,
    /// How it was tried. The last attempt's status tells whether it was delivered.
    pub attempts: Vec<PastAttempt>,
}

/// An attempt of the past.
#[derive(Clone, Debug)]
pub struct PastAttempt {
    /// When it began.
    pub at: Timestamp,
    /// How long it took, in milliseconds.
    pub millis: u64,
    /// The status of the answer.
    pub status: Option<u16>,
    /// What went wrong.
    pub error: Option<String>,
    /// The answer's body.
    pub answer: String,
}

pub(crate) fn no_endpoint(endpoint: EndpointId) -> DomainError {
    DomainError::NotFound { resource: "webhook endpoint", key: endpoint.to_string() }
}

fn no_delivery(delivery: DeliveryId) -> DomainError {
    DomainError::NotFound { resource: "delivery", key: delivery.to_string() }
}

impl Store {
    /// The endpoints of a workspace, oldest first.
    pub async fn endpoints(&self, workspace: WorkspaceId) -> Result<Vec<EndpointHealth>> {
        let stored = on_engine!(self, engine => engine.endpoints(workspace).await?);
        Ok(stored.into_iter().map(EndpointHealth::from).collect())
    }

    /// One endpoint.
    pub async fn endpoint(
        &self,
        workspace: WorkspaceId,
        endpoint: EndpointId,
    ) -> Result<EndpointHealth> {
        let mut all = self.endpoints(workspace).await?.into_iter();
        let found = all.find(|health| health.endpoint.id == endpoint);
        found.ok_or_else(|| no_endpoint(endpoint).into())
    }

    /// Deliveries of an endpoint, newest first.
    pub async fn deliveries(
        &self,
        workspace: WorkspaceId,
        filter: DeliveryFilter,
    ) -> Result<Vec<DeliveryRow>> {
        self.endpoint(workspace, filter.endpoint).await?;
        on_engine!(self, engine => engine.deliveries(workspace, filter).await)
    }

    /// One delivery with what is sent and every attempt.
    pub async fn delivery(
        &self,
        workspace: WorkspaceId,
        delivery: DeliveryId,
    ) -> Result<DeliveryDetail> {
        let found = on_engine!(self, engine => engine.delivery(workspace, delivery).await?);
        let (row, told, attempts) = found.ok_or_else(|| no_delivery(delivery))?;
        let body = webhook::payload(row.id, row.event.name(), workspace, told.at, &told.document);
        Ok(DeliveryDetail { delivery: row, body, attempts })
    }

    /// Sends deliveries again; gives how many.
    pub async fn redeliver(
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
        self.transact(NoteRedelivery { workspace, actor, endpoint, which, now }).await?;
        match which {
            Redeliver::One(delivery) => {
                on_engine!(self, engine => engine.redeliver_one(workspace, delivery, now).await)
            }
            Redeliver::FailedSince(endpoint, since) => {
                let mut sent = 0;
                loop {
                    // In small steps, so that others can write meanwhile.
                    let step = on_engine!(self, engine =>
                        engine.redeliver_failed(workspace, endpoint, since, now).await?);
                    sent += step;
                    if step == 0 {
                        return Ok(sent);
                    }
                }
            }
        }
    }

    /// Writes down a history of deliveries to an endpoint, as it is told.
    pub async fn remember_deliveries(
        &self,
        workspace: WorkspaceId,
        endpoint: EndpointId,
        past: Vec<PastDelivery>,
    ) -> Result<()> {
        self.endpoint(workspace, endpoint).await?;
        on_engine!(self, engine => engine.remember_deliveries(workspace, endpoint, past).await)
    }

    /// Gives the key with which secrets are sealed, before anything else is done.
    pub fn set_seal_key(&self, key: Option<crate::SealKey>) {
        on_engine!(self, engine => engine.desk.set_key(key));
    }

    /// How secrets lie in the database.
    pub async fn secrets_state(&self) -> Result<SecretsState> {
        on_engine!(self, engine => engine.secrets_state().await)
    }

    /// Seals every secret that lies open; gives how many there were.
    pub async fn seal_secrets(&self) -> Result<u64> {
        on_engine!(self, engine => engine.seal_secrets().await)
    }
}

/// Lines of the audit trail: who sent what again.
#[derive(Clone)]
struct NoteRedelivery {
    workspace: WorkspaceId,
    actor: Actor,
    endpoint: EndpointId,
    which: Redeliver,
    now: Timestamp,
}

impl Work for NoteRedelivery {
    type Output = ();

    async fn run<T: Tx>(self, tx: &mut T) -> Result<()> {
        lock(tx, self.workspace, self.actor).await?;
        let what = match self.which {
            Redeliver::One(delivery) => serde_json::json!({ "delivery": delivery }),
            Redeliver::FailedSince(_, since) => serde_json::json!({ "failedSince": since }),
        };
        let log = LogRow {
            at: self.now,
            actor: self.actor.person(),
            action: "webhook.redelivered",
            subject: self.endpoint.0,
            before: None,
            after: Some(what.to_string()),
        };
        tx.write(self.workspace, vec![Write::LogChange(log)]).await
    }
}

impl NewDelivery {
    /// The state in which it is written.
    pub(crate) fn state(&self) -> DeliveryState {
        if self.place.is_some() { DeliveryState::Sending } else { DeliveryState::Waiting }
    }
}

impl PastDelivery {
    /// How it ended, and when.
    pub(crate) fn ended(&self) -> (DeliveryState, Timestamp) {
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
    /// Counts one secret in.
    pub(crate) fn count(&mut self, sealer: &Sealer, endpoint: uuid::Uuid, secret: &[u8]) {
        if !is_sealed(secret) {
            self.plain += 1;
        } else if sealer.open(endpoint.as_bytes(), secret).is_ok() {
            self.sealed += 1;
        } else {
            self.unreadable += 1;
        }
    }
}
