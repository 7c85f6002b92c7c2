//! The office's webhooks: three endpoints with the deliveries of the last weeks. All are disabled
//! and use reserved example domains, so that the demo sends nothing.

use crate::{Error, rng::Rng};
use groma_domain::{
    Event, Timestamp, WorkspaceId,
    input::Field,
    webhook::{EndpointInput, EndpointUrl, EventFilter},
};
use groma_store::{
    Actor, AuditEntry, EndpointChange, EndpointOutcome, NewEndpoint, PastAttempt, PastDelivery,
    Store,
};

const SEED: u64 = 4_822;
const DAY_MILLIS: i64 = 86_400_000;
const TIMEOUT_MILLIS: i64 = 15_000;
/// The delays of the real retry schedule, in seconds.
const RETRY_DELAYS: [i64; 10] = [5, 60, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400];
/// How many rows of the audit log are read at a time.
const PAGE_SIZE: u32 = 1_000;

struct DemoEndpoint {
    url: &'static str,
    description: &'static str,
    events: &'static [&'static str],
    /// How many days ago it was created, and disabled.
    active_days: (i64, i64),
    behaviour: Behaviour,
    disabled_reason: &'static str,
}

/// How an endpoint responds.
#[derive(Clone, Copy)]
enum Behaviour {
    /// Almost always at once.
    Reliable,
    /// Slowly, with occasional outages.
    Slow,
    /// Reliably, until it returned 410 Gone.
    Retired,
}

const DEMO_REASON: &str = "Disabled because the demo does not send webhooks";

const ENDPOINTS: [DemoEndpoint; 3] = [
    DemoEndpoint {
        url: "https://ledger.example.com/hooks/groma",
        description: "Ledger: expenses and budgets",
        events: &["expense.*", "budget.*"],
        active_days: (21, 0),
        behaviour: Behaviour::Reliable,
        disabled_reason: DEMO_REASON,
    },
    DemoEndpoint {
        url: "https://chat.example.net/incoming/field-crews",
        description: "Chat messages for the field crews",
        events: &["folder.created", "folder.archived", "assignment.created"],
        active_days: (14, 0),
        behaviour: Behaviour::Slow,
        disabled_reason: DEMO_REASON,
    },
    DemoEndpoint {
        url: "https://portal.example.org/notify",
        description: "Former client portal",
        events: &["folder.*"],
        active_days: (28, 9),
        behaviour: Behaviour::Retired,
        disabled_reason: groma_store::disabled_reason::GONE,
    },
];

/// An event in the audit log.
struct LoggedEvent {
    audit_entry: i64,
    event: Event,
    at: Timestamp,
}

/// Creates the endpoints with their deliveries up to `now`.
pub(super) async fn create(
    store: &Store,
    workspace: WorkspaceId,
    now: Timestamp,
) -> Result<(), Error> {
    let days = ENDPOINTS.iter().map(|endpoint| endpoint.active_days.0).max().unwrap_or_default();
    let events = events_since(store, workspace, now.plus_millis(-days * DAY_MILLIS)).await?;
    let mut rng = Rng::new(SEED);
    for endpoint in &ENDPOINTS {
        endpoint.create(store, workspace, now, &events, rng.fork()).await?;
    }
    Ok(())
}

async fn events_since(
    store: &Store,
    workspace: WorkspaceId,
    since: Timestamp,
) -> Result<Vec<LoggedEvent>, Error> {
    let mut events = Vec::new();
    let mut after = 0;
    loop {
        let page = store.audit_entries(workspace, after, PAGE_SIZE).await?;
        let Some(last) = page.last() else { return Ok(events) };
        after = last.id;
        let event = |row: &AuditEntry| {
            Some(LoggedEvent {
                audit_entry: row.id,
                event: Event::from_name(&row.action)?,
                at: row.at,
            })
        };
        events.extend(page.iter().filter(|row| row.at >= since).filter_map(event));
    }
}

impl DemoEndpoint {
    async fn create(
        &self,
        store: &Store,
        workspace: WorkspaceId,
        now: Timestamp,
        events: &[LoggedEvent],
        mut rng: Rng,
    ) -> Result<(), Error> {
        let filter = EventFilter::parse(self.events)
            .map_err(|_| Error::invalid_data("unknown webhook event"))?;
        let (created, disabled) = self.active_days;
        let created_at = now.plus_millis(-created * DAY_MILLIS);
        let disabled_at = now.plus_millis(-disabled * DAY_MILLIS);
        let draft = EndpointInput {
            url: Some(EndpointUrl::parse(self.url, false).map_err(Error::invalid_data)?),
            events: Some(filter.clone()),
            description: Field::Set(Some(self.description.to_owned())),
            ..EndpointInput::default()
        };
        let new = NewEndpoint {
            workspace,
            actor: Actor::Operator,
            now: created_at,
            draft,
            request: None,
        };
        let EndpointOutcome::Created(endpoint, _) = store.create_endpoint(new).await? else {
            return Ok(());
        };
        let mut deliveries: Vec<PastDelivery> = events
            .iter()
            .filter(|logged| filter.matches(logged.event))
            .filter(|logged| (created_at..=disabled_at).contains(&logged.at))
            .map(|logged| PastDelivery {
                audit_entry: logged.audit_entry,
                event: logged.event,
                at: logged.at,
                attempts: self.behaviour.attempts(&mut rng, logged.at),
            })
            .collect();
        if let (Behaviour::Retired, Some(last)) = (self.behaviour, deliveries.last_mut()) {
            let at = last.at.plus_millis(210);
            last.attempts = vec![response(at, 64, 410, "This portal has been retired.")];
        }
        store.insert_past_deliveries(workspace, endpoint.id, deliveries).await?;
        let disable = EndpointChange::Disable(self.disabled_reason.to_owned());
        store
            .change_endpoint(workspace, Actor::Operator, endpoint.id, disable, disabled_at)
            .await?;
        Ok(())
    }
}

impl Behaviour {
    /// The attempts to deliver an event that occurred at this time.
    fn attempts(self, rng: &mut Rng, at: Timestamp) -> Vec<PastAttempt> {
        let millis = rng.int(18, 90);
        let at = at.plus_millis(rng.int(2, 9));
        match self {
            Self::Reliable if rng.chance(3) => vec![
                response(at, millis, 503, "Service Unavailable"),
                response(at.plus_millis(5_100), millis, 200, "ok"),
            ],
            Self::Slow if rng.chance(2) => failed_attempts(rng, at),
            Self::Slow if rng.chance(12) => vec![
                timeout(at),
                timeout(at.plus_millis(20_300)),
                response(at.plus_millis(81_000), millis * 40, 202, "queued"),
            ],
            Self::Slow => vec![response(at, millis * 20, 202, "queued")],
            Self::Reliable | Self::Retired => vec![response(at, millis, 200, "ok")],
        }
    }
}

/// A delivery that failed after all retries.
fn failed_attempts(rng: &mut Rng, mut at: Timestamp) -> Vec<PastAttempt> {
    let mut attempts = vec![timeout(at)];
    for delay in RETRY_DELAYS {
        at = at.plus_millis(TIMEOUT_MILLIS + delay * 1_000 * rng.int(90, 110) / 100);
        attempts.push(response(at, rng.int(40, 200), 502, "Bad Gateway"));
    }
    attempts
}

fn timeout(at: Timestamp) -> PastAttempt {
    PastAttempt {
        at,
        millis: TIMEOUT_MILLIS.unsigned_abs(),
        status: None,
        error: Some("no response within 15 seconds".to_owned()),
        response: String::new(),
    }
}

fn response(at: Timestamp, millis: i64, status: u16, body: &str) -> PastAttempt {
    let is_success = (200..300).contains(&status);
    PastAttempt {
        at,
        millis: millis.unsigned_abs(),
        status: Some(status),
        error: (!is_success).then(|| format!("returned status {status}")),
        response: body.to_owned(),
    }
}
