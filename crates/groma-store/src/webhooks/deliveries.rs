//! Deliveries and their attempts, as the delivery queue and the delivery log exchange them with the database.

use super::{StoredEndpoint, WebhookTarget};
use crate::secret_encryption::{SecretCipher, is_encrypted};
use groma_domain::{
    DeliveryId, EndpointId, Event, Timestamp, WorkspaceId,
    webhook::{DeliveryDocument, DeliveryStatus, Endpoint},
};
use std::{collections::HashMap, sync::Arc};
use uuid::Uuid;

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
    /// It is not sent, because personal data was erased from its event.
    Cancelled,
}

impl DeliveryState {
    /// Every state with its name.
    pub const NAMES: [(&'static str, Self); 5] = [
        ("waiting", Self::Waiting),
        ("sending", Self::Sending),
        ("delivered", Self::Delivered),
        ("failed", Self::Failed),
        ("cancelled", Self::Cancelled),
    ];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize].0
    }

    /// The status that the API shows.
    #[must_use]
    pub fn status(self) -> DeliveryStatus {
        match self {
            Self::Waiting | Self::Sending => DeliveryStatus::Waiting,
            Self::Delivered => DeliveryStatus::Delivered,
            Self::Failed => DeliveryStatus::Failed,
            Self::Cancelled => DeliveryStatus::Cancelled,
        }
    }

    pub(crate) fn number(self) -> i16 {
        self as i16
    }

    pub(crate) fn from_number(number: i16) -> Self {
        match number {
            0 => Self::Waiting,
            1 => Self::Sending,
            2 => Self::Delivered,
            4 => Self::Cancelled,
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
    /// With this status.
    pub status: Option<DeliveryStatus>,
    /// Of this event.
    pub event: Option<Event>,
    /// Created at this time or later.
    pub since: Option<Timestamp>,
    /// Created before this time.
    pub until: Option<Timestamp>,
    /// Before this one, to continue a list.
    pub before: Option<DeliveryId>,
    /// After this one.
    pub after: Option<DeliveryId>,
    /// How many at most.
    pub limit: u32,
    /// How many to leave out first.
    pub offset: u64,
}

impl DeliveryFilter {
    /// All deliveries of an endpoint, page by page.
    #[must_use]
    pub fn of(endpoint: EndpointId) -> Self {
        Self {
            endpoint,
            state: None,
            status: None,
            event: None,
            since: None,
            until: None,
            before: None,
            after: None,
            limit: 50,
            offset: 0,
        }
    }

    /// The numbers of the first and the last state, both included.
    pub(crate) fn states(&self) -> (i16, i16) {
        let of_status = self.status.map(|status| {
            let states = DeliveryState::NAMES.map(|(_, state)| state).into_iter();
            let numbers = states.filter(|state| state.status() == status);
            let numbers: Vec<i16> = numbers.map(DeliveryState::number).collect();
            let first = numbers.first().copied().unwrap_or_default();
            (first, numbers.last().copied().unwrap_or_default())
        });
        let of_state = self.state.map(|state| (state.number(), state.number()));
        of_state.or(of_status).unwrap_or((0, i16::MAX))
    }

    /// The first and the last id in the range, both included. Ids rise with time.
    pub(crate) fn bounds(&self) -> (Uuid, Uuid) {
        let least = self.since.map_or(Uuid::nil(), |since| first_id(since).0);
        let least = match self.after {
            Some(after) => least.max(Uuid::from_u128(after.0.as_u128().saturating_add(1))),
            None => least,
        };
        let most = self.until.map_or(Uuid::max(), |until| first_id(until).0);
        let most = match self.before {
            Some(before) => most.min(Uuid::from_u128(before.0.as_u128().saturating_sub(1))),
            None => most,
        };
        (least, most)
    }
}

/// The lowest id that a delivery created at this time can have.
pub(super) fn first_id(time: Timestamp) -> DeliveryId {
    let millis = u128::from(u64::try_from(time.as_millis()).unwrap_or_default());
    DeliveryId(Uuid::from_u128(millis << 80))
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
    /// The record, feature or layer that the event is about. For a test, the endpoint.
    pub subject: Uuid,
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
    /// When personal data was erased from its event. It is not sent again: its body has changed.
    pub erased_at: Option<Timestamp>,
}

impl DeliveryRow {
    /// The delivery as the API shows it.
    #[must_use]
    pub fn document(&self) -> DeliveryDocument {
        let status = self.state.status();
        DeliveryDocument {
            id: self.id,
            event: self.event.name(),
            record_id: (!self.is_test).then_some(self.subject),
            status,
            attempts: self.attempts,
            next_attempt_at: self.due_at,
            created_at: self.created_at,
            delivered_at: self.finished_at.filter(|_| status == DeliveryStatus::Delivered),
        }
    }
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

/// A step of sending deliveries again.
#[derive(Clone, Copy, Debug)]
pub(super) struct RedeliveryStep {
    pub(super) endpoint: EndpointId,
    pub(super) status: DeliveryStatus,
    /// The first and the last id, both included.
    pub(super) ids: (Uuid, Uuid),
}

/// The event of a delivery, from which its body is made.
pub(super) struct EventData {
    pub(super) at: Timestamp,
    pub(super) document: String,
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

impl SecretsState {
    /// Adds one stored secret.
    pub(super) fn count(&mut self, cipher: &SecretCipher, endpoint: Uuid, secret: &[u8]) {
        if !is_encrypted(secret) {
            self.plain += 1;
        } else if cipher.decrypt(endpoint.as_bytes(), secret).is_ok() {
            self.encrypted += 1;
        } else {
            self.unreadable += 1;
        }
    }
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

/// A task that is aborted when dropped.
pub(crate) struct Listener(pub(crate) tokio::task::JoinHandle<()>);

impl Drop for Listener {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// An endpoint with waiting deliveries.
#[derive(Clone, Copy, Debug)]
pub struct DueEndpoint {
    /// The workspace.
    pub workspace: WorkspaceId,
    /// The endpoint.
    pub endpoint: EndpointId,
    /// Milliseconds until its first delivery is due; zero or negative when it is due.
    pub in_millis: i64,
}

/// A request to lease deliveries of an endpoint.
#[derive(Clone, Copy, Debug)]
pub struct LeaseRequest {
    /// The workspace.
    pub workspace: WorkspaceId,
    /// The endpoint.
    pub endpoint: EndpointId,
    /// How many deliveries at most.
    pub limit: usize,
}

/// An attempt to deliver.
#[derive(Debug)]
pub struct Attempt {
    /// The delivery.
    pub delivery: DeliveryId,
    /// Its endpoint.
    pub target: Arc<WebhookTarget>,
    /// When it began.
    pub at: Timestamp,
    /// When it ended, by the clock at that time; the wait for the next attempt starts here.
    pub ended: Timestamp,
    /// Milliseconds until the response.
    pub millis: u64,
    /// The status of the response.
    pub status: Option<u16>,
    /// What went wrong.
    pub error: Option<String>,
    /// The beginning of the response body.
    pub response: Vec<u8>,
    /// What follows.
    pub next: NextStep,
}

/// What follows an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextStep {
    /// Nothing: the event was delivered.
    Delivered,
    /// Another attempt.
    Retry {
        /// Milliseconds after this attempt.
        after_millis: i64,
    },
    /// The endpoint is gone: another attempt only after a member enables it again.
    Gone {
        /// Milliseconds after this attempt, at the earliest.
        after_millis: i64,
    },
    /// Nothing: this was the last attempt.
    Failed,
}

impl NextStep {
    /// The state of the delivery after the attempt, and how long it waits.
    pub(crate) fn state(self) -> (i16, i64) {
        match self {
            Self::Retry { after_millis } | Self::Gone { after_millis } => (0, after_millis),
            Self::Delivered => (2, 0),
            Self::Failed => (3, 0),
        }
    }
}

/// The outcome of a group of attempts for one endpoint.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct EndpointOutcomes {
    /// The last success.
    pub(super) success: Option<Timestamp>,
    /// The first failure after the last success.
    pub(super) failure: Option<Timestamp>,
}

/// The outcomes for each endpoint, from the attempts in their order.
pub(super) fn outcomes(
    attempts: &[Attempt],
) -> HashMap<EndpointId, (Arc<WebhookTarget>, EndpointOutcomes)> {
    let mut all: HashMap<EndpointId, (Arc<WebhookTarget>, EndpointOutcomes)> = HashMap::new();
    for attempt in attempts {
        let target = &attempt.target;
        let (_, outcomes) = all
            .entry(target.endpoint)
            .or_insert_with(|| (target.clone(), EndpointOutcomes::default()));
        if attempt.next == NextStep::Delivered {
            *outcomes = EndpointOutcomes { success: Some(attempt.at), failure: None };
        } else if outcomes.failure.is_none() {
            outcomes.failure = Some(attempt.at);
        }
    }
    all
}

/// How many deliveries wait, by state.
#[derive(Clone, Copy, Debug, Default)]
pub struct DeliveryCounts {
    /// Deliveries that are due.
    pub due: u64,
    /// Deliveries that are being sent.
    pub leased: u64,
    /// Deliveries that wait for their next attempt, or for their endpoint to be enabled.
    pub later: u64,
    /// How long the oldest due delivery has been due, in milliseconds.
    pub oldest_due_millis: u64,
}
