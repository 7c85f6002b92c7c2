//! Webhook endpoints and the deliveries to them. The loop that sends them is in another crate; it takes
//! due deliveries from here and reports the attempts.

mod deliveries;
mod delivery_log;
mod delivery_queue;
mod endpoints;
mod outbox;
pub(crate) mod postgres;
mod request;
pub(crate) mod sqlite;

pub use deliveries::{
    Attempt, AttemptRow, DeliveryCounts, DeliveryDetail, DeliveryFilter, DeliveryRow,
    DeliveryState, DueEndpoint, EndpointHealth, LeaseRequest, NextStep, PastAttempt, PastDelivery,
    SecretsState,
};
pub use delivery_log::{RedeliverySince, redelivered};
pub use delivery_queue::{DeliveryFeed, FAILING, FeedMessage, GONE, HTTP_NOT_ALLOWED};
pub use endpoints::{
    DISABLED_BY_API, EndpointChange, EndpointOutcome, NewEndpoint, RotatedSecret,
    endpoint_with_secret,
};
pub use outbox::{MAX_HELD, MAX_HELD_PER_ENDPOINT};
pub use request::WebhookRequest;

use crate::{
    Error, Result,
    audit_log::{EventSignal, NewAuditEntry},
    engine::{Engine, random},
    idempotency::IdempotencyTx,
    secret_encryption::{EncryptionKeys, SecretCipher},
};
use groma_domain::{
    DeliveryId, EndpointId, Event, Timestamp, WorkspaceId,
    event::EventScope,
    webhook::{self, Endpoint, EndpointFilter, EventFilter, SigningSecret},
};
use outbox::{Outbox, OutboxSlot};
use parking_lot::RwLock;
use std::{
    collections::HashSet,
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};
use uuid::Uuid;

/// Webhook endpoints and deliveries of a database.
#[derive(Clone)]
pub(crate) struct Webhooks {
    engine: Engine,
    context: Arc<WebhookContext>,
}

impl Webhooks {
    pub(crate) fn new(engine: &Engine) -> Self {
        let context: Arc<WebhookContext> = Arc::default();
        if let Engine::Sqlite(sqlite) = engine {
            let context = context.clone();
            sqlite.on_commit(move || context.outbox.wake());
        }
        Self { engine: engine.clone(), context }
    }

    /// What changes need to create deliveries.
    pub(crate) fn context(&self) -> &Arc<WebhookContext> {
        &self.context
    }

    /// Sets the keys that encrypt secrets. Only the first call has an effect.
    pub(crate) fn set_encryption_keys(&self, keys: EncryptionKeys) {
        let _ = self.context.cipher.set(SecretCipher::new(keys));
    }

    /// Sets the public URL of the Geo API.
    pub(crate) fn set_geo_url(&self, url: String) {
        *self.context.geo_url.write() = url;
    }
}

/// A write to webhook endpoints.
pub(crate) enum WebhookWrite {
    Insert(StoredEndpoint),
    Update(StoredEndpoint),
    Delete { endpoint: EndpointId, at: Timestamp },
}

/// Operations of a transaction on webhooks.
pub(crate) trait WebhookTx: IdempotencyTx {
    /// The endpoints of the workspace, in the order of creation.
    fn endpoints(
        &mut self,
        workspace: WorkspaceId,
    ) -> impl Future<Output = Result<Vec<StoredEndpoint>>> + Send;

    /// Those of these folders and layers that exist.
    fn existing_ids(
        &mut self,
        workspace: WorkspaceId,
        folders: Vec<Uuid>,
        layers: Vec<Uuid>,
    ) -> impl Future<Output = Result<HashSet<Uuid>>> + Send;

    /// Writes an endpoint, gives the workspace a new version of its endpoints, and wakes the delivery
    /// loops after the commit.
    fn write_endpoint(
        &mut self,
        workspace: WorkspaceId,
        write: WebhookWrite,
        context: &Arc<WebhookContext>,
    ) -> impl Future<Output = Result<()>> + Send;

    /// One delivery.
    fn delivery(
        &mut self,
        workspace: WorkspaceId,
        delivery: DeliveryId,
    ) -> impl Future<Output = Result<Option<DeliveryRow>>> + Send;

    /// Makes a delivery due now, unless it is being sent. If it has ended, its schedule starts over.
    fn redeliver(
        &mut self,
        workspace: WorkspaceId,
        delivery: DeliveryId,
        now: Timestamp,
        context: &Arc<WebhookContext>,
    ) -> impl Future<Output = Result<()>> + Send;

    /// Writes events to the audit log with their deliveries, which go to the outbox after the commit.
    fn log_events(
        &mut self,
        workspace: WorkspaceId,
        events: Vec<NewEvent>,
        context: &Arc<WebhookContext>,
    ) -> impl Future<Output = Result<()>> + Send;
}

/// How long a lease lasts: longer than an attempt can take.
pub const LEASE: Duration = Duration::from_secs(20);
pub(crate) const LEASE_MILLIS: i64 = 20_000;

/// An endpoint as it is stored.
#[derive(Clone, Debug)]
pub(crate) struct StoredEndpoint {
    /// The number of its row, on SQLite.
    pub(crate) no: i64,
    pub(crate) endpoint: Endpoint,
    pub(crate) failing_since: Option<Timestamp>,
    pub(crate) last_success_at: Option<Timestamp>,
    pub(crate) secret: Vec<u8>,
    /// The previous secret, and until when deliveries are signed with it too.
    pub(crate) previous: Option<(Vec<u8>, Timestamp)>,
}

/// An enabled endpoint, with what an attempt needs.
#[derive(Debug)]
pub struct WebhookTarget {
    /// The number of its row, on SQLite.
    pub(crate) no: i64,
    /// The workspace.
    pub workspace: WorkspaceId,
    /// The endpoint.
    pub endpoint: EndpointId,
    /// Its address.
    pub url: String,
    /// The events it subscribes to.
    pub events: EventFilter,
    /// Which of these events it receives; `None` for all.
    pub filter: Option<EndpointFilter>,
    /// Its secret; `None` when it does not decrypt with this program's key.
    pub secret: Option<SigningSecret>,
    /// The previous secret, and until when deliveries are signed with it too.
    pub previous: Option<(SigningSecret, Timestamp)>,
}

impl WebhookTarget {
    pub(crate) fn new(
        workspace: WorkspaceId,
        stored: StoredEndpoint,
        cipher: &SecretCipher,
    ) -> Self {
        let id = stored.endpoint.id;
        let previous = stored
            .previous
            .and_then(|(secret, until)| Some((decrypt(cipher, id, &secret).ok()?, until)));
        Self {
            no: stored.no,
            workspace,
            endpoint: id,
            url: stored.endpoint.url.as_str().to_owned(),
            events: stored.endpoint.events,
            filter: stored.endpoint.filter,
            secret: decrypt(cipher, id, &stored.secret).ok(),
            previous,
        }
    }
}

fn decrypt(cipher: &SecretCipher, endpoint: EndpointId, stored: &[u8]) -> Result<SigningSecret> {
    let plain = cipher.decrypt(endpoint.0.as_bytes(), stored)?;
    let text = String::from_utf8(plain).map_err(|_| Error::Undecryptable)?;
    SigningSecret::parse(&text).map_err(|error| Error::Damaged(error.to_string()))
}

fn encrypt(cipher: &SecretCipher, endpoint: EndpointId, secret: &SigningSecret) -> Result<Vec<u8>> {
    cipher.encrypt(endpoint.0.as_bytes(), secret.reveal().as_bytes())
}

/// The enabled endpoints of a workspace.
pub(crate) type WebhookTargets = Arc<[Arc<WebhookTarget>]>;

/// What the changes of a program share about webhooks.
#[derive(Default)]
pub(crate) struct WebhookContext {
    targets: TargetCache,
    outbox: Outbox,
    cipher: OnceLock<SecretCipher>,
    /// The public URL of the Geo API, which documents of layers contain.
    geo_url: RwLock<String>,
    /// Notified of committed events.
    pub(crate) signal: EventSignal,
}

impl WebhookContext {
    pub(crate) fn geo_url(&self) -> String {
        self.geo_url.read().clone()
    }

    pub(crate) fn cipher(&self) -> &SecretCipher {
        self.cipher.get_or_init(SecretCipher::default)
    }

    /// The enabled endpoints of a workspace that is locked, by the version that its row has.
    pub(crate) async fn targets<T: WebhookTx>(
        &self,
        tx: &mut T,
        workspace: WorkspaceId,
        version: i64,
    ) -> Result<WebhookTargets> {
        if let Some(targets) = self.targets.get(workspace, version) {
            return Ok(targets);
        }
        let stored = tx.endpoints(workspace).await?.into_iter();
        let enabled = stored.filter(|stored| stored.endpoint.enabled);
        let target = |stored| Arc::new(WebhookTarget::new(workspace, stored, self.cipher()));
        let targets: WebhookTargets = enabled.map(target).collect();
        self.targets.put(workspace, version, targets.clone());
        Ok(targets)
    }

    /// The event of an audit entry, with a delivery to each of `targets` that subscribes to it and whose
    /// filter it passes.
    pub(crate) fn event(
        &self,
        entry: NewAuditEntry,
        event: Event,
        scope: &EventScope<'_>,
        targets: &[Arc<WebhookTarget>],
    ) -> NewEvent {
        let subscribed = targets.iter().filter(|target| {
            let passes = |filter: &EndpointFilter| filter.matches(event, scope);
            target.events.matches(event) && target.filter.as_ref().is_none_or(passes)
        });
        let bytes = entry.document().map_or(0, str::len);
        let deliveries = subscribed
            .map(|target| NewDelivery {
                id: DeliveryId::new(entry.at, random()),
                target: target.clone(),
                slot: self.outbox.reserve(target.endpoint, bytes),
            })
            .collect();
        NewEvent { entry, event, is_test: false, deliveries }
    }
}

/// The enabled endpoints of workspaces, by the version of their endpoints.
#[derive(Default)]
struct TargetCache {
    cached: parking_lot::Mutex<std::collections::HashMap<WorkspaceId, (i64, WebhookTargets)>>,
}

impl TargetCache {
    fn get(&self, workspace: WorkspaceId, version: i64) -> Option<WebhookTargets> {
        let cached = self.cached.lock();
        let (of, targets) = cached.get(&workspace)?;
        (*of == version).then(|| targets.clone())
    }

    fn put(&self, workspace: WorkspaceId, version: i64, targets: WebhookTargets) {
        self.cached.lock().insert(workspace, (version, targets));
    }
}

/// A new version of a workspace's endpoints. It is random, so that a change that is rolled back never
/// shares its version with another.
fn new_endpoints_version() -> i64 {
    i64::from_le_bytes(random()) | 1
}

/// A delivery that is leased to this program.
pub struct Delivery {
    /// Its id, the same in every attempt.
    pub id: DeliveryId,
    /// Its endpoint.
    pub target: Arc<WebhookTarget>,
    /// What happened.
    pub event: Event,
    /// Whether it only tests the endpoint.
    pub is_test: bool,
    /// When it happened.
    pub occurred_at: Timestamp,
    /// The document.
    pub data: Arc<str>,
    /// How many attempts of the retry schedule were made.
    pub tries: u32,
    /// When the lease ends.
    pub lease_end: Instant,
    #[expect(dead_code, reason = "dropping it releases the room in the outbox")]
    slot: OutboxSlot,
}

impl Delivery {
    /// The body, the same bytes at every attempt.
    #[must_use]
    pub fn body(&self) -> Vec<u8> {
        let Self { id, target, event, occurred_at, data, .. } = self;
        webhook::payload(*id, event.name(), target.workspace, *occurred_at, data)
    }

    /// The same delivery to another version of its endpoint.
    #[must_use]
    pub fn with_target(self, target: Arc<WebhookTarget>) -> Self {
        Self { target, ..self }
    }
}

impl std::fmt::Debug for Delivery {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Delivery").field("id", &self.id).field("event", &self.event).finish()
    }
}

/// An event to be written, with its deliveries.
pub(crate) struct NewEvent {
    entry: NewAuditEntry,
    event: Event,
    is_test: bool,
    deliveries: Vec<NewDelivery>,
}

/// A delivery to be written.
struct NewDelivery {
    id: DeliveryId,
    target: Arc<WebhookTarget>,
    /// Its slot in the outbox of this program; without one it waits for a sweep.
    slot: Option<OutboxSlot>,
}

impl NewDelivery {
    /// The state in which it is written.
    fn state(&self) -> DeliveryState {
        if self.slot.is_some() { DeliveryState::Sending } else { DeliveryState::Waiting }
    }
}

impl NewEvent {
    /// The event that the audit log and the change feed show; a test is none.
    fn logged_event(&self) -> Option<Event> {
        (!self.is_test).then_some(self.event)
    }

    /// What goes to the outbox once the event is committed.
    fn into_deliveries(self) -> NewDeliveries {
        let Self { entry, event, is_test, deliveries } = self;
        let mut new = NewDeliveries::default();
        let occurred_at = entry.at;
        let mut data: Option<Arc<str>> = None;
        for NewDelivery { id, target, slot } in deliveries {
            let Some(slot) = slot else {
                new.waiting.push(target.endpoint);
                continue;
            };
            let data = data.get_or_insert_with(|| entry.document().unwrap_or_default().into());
            new.leased.push(Delivery {
                id,
                target,
                event,
                is_test,
                occurred_at,
                data: data.clone(),
                tries: 0,
                lease_end: Instant::now() + LEASE,
                slot,
            });
        }
        new
    }
}

/// The deliveries of a committed transaction.
#[derive(Default)]
struct NewDeliveries {
    /// Leased to this program.
    leased: Vec<Delivery>,
    /// The endpoints of deliveries that wait for a sweep.
    waiting: Vec<EndpointId>,
}
