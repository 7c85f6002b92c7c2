//! Webhook endpoints and the deliveries to them: what is kept, what one sees of it, and how it is
//! mended. The loop that sends is in another crate; it asks here for what is due and tells here what
//! came of it.

mod endpoints;
mod loop_side;
mod seeing;

pub use endpoints::{EndpointChange, EndpointOutcome, NewEndpoint, Rotated, shown_with_secret};
pub use loop_side::{Ask, Attempted, Counts, Due, Handovers, News, Next};
pub(crate) use loop_side::{Listener, fared};
pub use seeing::{
    AttemptRow, DeliveryDetail, DeliveryFilter, DeliveryRow, DeliveryState, EndpointHealth,
    PastAttempt, PastDelivery, Redeliver, SecretsState,
};
pub(crate) use seeing::{Told, first_id};

use crate::{
    Error, Result,
    outbox::{Outbox, Place},
    seal::{SealKey, Sealer},
    tx::{LogRow, random},
};
use groma_domain::{
    DeliveryId, EndpointId, Event, Timestamp, WorkspaceId,
    webhook::{self, Endpoint, EventFilter, SigningSecret},
};
use std::{
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

/// How long a lease lasts: longer than an attempt can.
pub const LEASE: Duration = Duration::from_secs(20);
pub(crate) const LEASE_MILLIS: i64 = 20_000;

/// An endpoint as it is stored.
#[derive(Clone, Debug)]
pub(crate) struct StoredEndpoint {
    /// Its number, on SQLite.
    pub(crate) no: i64,
    pub(crate) endpoint: Endpoint,
    pub(crate) failing_since: Option<Timestamp>,
    pub(crate) last_success_at: Option<Timestamp>,
    pub(crate) secret: Vec<u8>,
    /// The secret before this one, and until when it signs too.
    pub(crate) previous: Option<(Vec<u8>, Timestamp)>,
}

/// What an attempt needs of an endpoint.
#[derive(Debug)]
pub struct Addressee {
    /// Its number, on SQLite.
    pub(crate) no: i64,
    /// The workspace.
    pub workspace: WorkspaceId,
    /// The endpoint.
    pub endpoint: EndpointId,
    /// Where it is.
    pub url: String,
    /// What it asks for.
    pub events: EventFilter,
    /// Its secret; `None` when what is stored does not open with this program's key.
    pub secret: Option<SigningSecret>,
    /// The secret before this one, and until when it signs too.
    pub previous: Option<(SigningSecret, Timestamp)>,
}

impl Addressee {
    pub(crate) fn of(workspace: WorkspaceId, stored: StoredEndpoint, sealer: &Sealer) -> Self {
        let id = stored.endpoint.id;
        let previous = stored
            .previous
            .and_then(|(secret, until)| Some((open(sealer, id, &secret).ok()?, until)));
        Self {
            no: stored.no,
            workspace,
            endpoint: id,
            url: stored.endpoint.url.as_str().to_owned(),
            events: stored.endpoint.events,
            secret: open(sealer, id, &stored.secret).ok(),
            previous,
        }
    }
}

fn open(sealer: &Sealer, endpoint: EndpointId, stored: &[u8]) -> Result<SigningSecret> {
    let plain = sealer.open(endpoint.0.as_bytes(), stored)?;
    let text = String::from_utf8(plain).map_err(|_| Error::Sealed)?;
    SigningSecret::parse(&text).map_err(|violation| Error::Damaged(violation.to_string()))
}

fn seal(sealer: &Sealer, endpoint: EndpointId, secret: &SigningSecret) -> Result<Vec<u8>> {
    sealer.seal(endpoint.0.as_bytes(), secret.reveal().as_bytes())
}

/// The enabled endpoints of a workspace, as remembered by the mark that its row had.
#[derive(Default)]
pub(crate) struct AddresseeCache {
    known: parking_lot::Mutex<std::collections::HashMap<WorkspaceId, (i64, Addressees)>>,
}

pub(crate) type Addressees = Arc<[Arc<Addressee>]>;

/// What every transaction of a store shares.
#[derive(Default)]
pub(crate) struct Desk {
    pub(crate) targets: AddresseeCache,
    pub(crate) outbox: Outbox,
    sealer: OnceLock<Sealer>,
}

impl Desk {
    pub(crate) fn sealer(&self) -> &Sealer {
        self.sealer.get_or_init(Sealer::default)
    }

    /// Sets the key; the first one counts.
    pub(crate) fn set_key(&self, key: Option<SealKey>) {
        let _ = self.sealer.set(Sealer::new(key));
    }

    /// The targets of endpoints, those that are enabled.
    pub(crate) fn targets_of(
        &self,
        workspace: WorkspaceId,
        stored: Vec<StoredEndpoint>,
    ) -> Addressees {
        let enabled = stored.into_iter().filter(|stored| stored.endpoint.enabled);
        enabled.map(|stored| Arc::new(Addressee::of(workspace, stored, self.sealer()))).collect()
    }
}

impl AddresseeCache {
    pub(crate) fn get(&self, workspace: WorkspaceId, mark: i64) -> Option<Addressees> {
        let known = self.known.lock();
        known.get(&workspace).filter(|(of, _)| *of == mark).map(|(_, targets)| targets.clone())
    }

    pub(crate) fn put(&self, workspace: WorkspaceId, mark: i64, targets: Addressees) {
        self.known.lock().insert(workspace, (mark, targets));
    }
}

/// A new mark. It is random, so that a change that is rolled back never shares one with another.
pub(crate) fn new_mark() -> i64 {
    i64::from_le_bytes(random()) | 1
}

/// A delivery on its way.
pub struct Delivery {
    /// Its id, the same in every attempt.
    pub id: DeliveryId,
    /// Where it goes.
    pub target: Arc<Addressee>,
    /// What happened.
    pub event: Event,
    /// Whether it only tries the endpoint out.
    pub is_test: bool,
    /// When it happened.
    pub occurred_at: Timestamp,
    /// The document.
    pub data: Arc<str>,
    /// How often it was tried on its way along the schedule.
    pub tries: u32,
    /// When the lease ends.
    pub lease_end: Instant,
    #[expect(dead_code, reason = "its worth is in being dropped: that gives the place back")]
    pub(crate) place: Place,
}

impl Delivery {
    /// The body, the same bytes at every attempt.
    #[must_use]
    pub fn body(&self) -> Vec<u8> {
        let Self { id, target, event, occurred_at, data, .. } = self;
        webhook::payload(*id, event.name(), target.workspace, *occurred_at, data)
    }

    /// Takes it along to another version of its endpoint.
    #[must_use]
    pub fn with_target(self, target: Arc<Addressee>) -> Self {
        Self { target, ..self }
    }
}

impl std::fmt::Debug for Delivery {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Delivery").field("id", &self.id).field("event", &self.event).finish()
    }
}

/// A line of the audit trail with the deliveries that announce it.
pub(crate) struct EventWrite {
    pub(crate) log: LogRow,
    pub(crate) event: Event,
    pub(crate) is_test: bool,
    pub(crate) deliveries: Vec<NewDelivery>,
}

/// A delivery to be written.
pub(crate) struct NewDelivery {
    pub(crate) id: DeliveryId,
    pub(crate) target: Arc<Addressee>,
    /// Its place with the loop of this program; without one it waits.
    pub(crate) place: Option<Place>,
}

impl EventWrite {
    /// The event of `log` to each of `targets` that wants it; `reserve` gives places.
    pub(crate) fn new(
        log: LogRow,
        event: Event,
        targets: &[Arc<Addressee>],
        mut reserve: impl FnMut(EndpointId, usize) -> Option<Place>,
    ) -> Self {
        let bytes = log.document().map_or(0, str::len);
        let wanting = targets.iter().filter(|target| target.events.matches(event));
        let deliveries = wanting
            .map(|target| NewDelivery {
                id: DeliveryId::new(log.at, random()),
                target: target.clone(),
                place: reserve(target.endpoint, bytes),
            })
            .collect();
        Self { log, event, is_test: false, deliveries }
    }

    /// What is handed over once this is committed: the deliveries that have a place, and the
    /// endpoints of those that wait.
    pub(crate) fn into_handed(self) -> Handed {
        let Self { log, event, is_test, deliveries } = self;
        let mut handed = Handed::default();
        let occurred_at = log.at;
        let mut data: Option<Arc<str>> = None;
        for NewDelivery { id, target, place } in deliveries {
            let Some(place) = place else {
                handed.waiting.push(target.endpoint);
                continue;
            };
            let data = data.get_or_insert_with(|| log.document().unwrap_or_default().into());
            handed.leased.push(Delivery {
                id,
                target,
                event,
                is_test,
                occurred_at,
                data: data.clone(),
                tries: 0,
                lease_end: Instant::now() + LEASE,
                place,
            });
        }
        handed
    }
}

/// What a transaction hands over when it is committed.
#[derive(Default)]
pub(crate) struct Handed {
    pub(crate) leased: Vec<Delivery>,
    pub(crate) waiting: Vec<EndpointId>,
    /// Something else changed that the loop should look at.
    pub(crate) stirs: bool,
}

impl Handed {
    pub(crate) fn add(&mut self, more: Self) {
        self.leased.extend(more.leased);
        self.waiting.extend(more.waiting);
        self.stirs |= more.stirs;
    }
}

/// The number of an event in the database.
pub(crate) fn event_number(event: Event) -> i16 {
    let place = Event::all().position(|known| known == event).unwrap_or_default();
    i16::try_from(place).unwrap_or_default()
}

/// The event of a number in the database.
pub(crate) fn numbered_event(number: i16) -> Result<Event> {
    let place = usize::try_from(number).unwrap_or(usize::MAX);
    Event::all().nth(place).ok_or_else(|| Error::Damaged(format!("no event {number}")))
}
