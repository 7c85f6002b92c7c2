//! The office's webhooks: endpoints of three other systems, with what was delivered to them in the last
//! weeks. All are switched off, and their names are those that are reserved for examples, so that
//! nothing leaves a demonstration.

use crate::{Error, rng::Chance};
use groma_domain::{
    Event, Timestamp, WorkspaceId,
    webhook::{EndpointDraft, EndpointUrl, EventFilter},
};
use groma_store::{
    Actor, ChangeRow, EndpointChange, EndpointOutcome, NewEndpoint, PastAttempt, PastDelivery,
    Store,
};

const SEED: u64 = 4_822;
/// The delays of the real retry schedule, in seconds.
const RETRY_DELAYS: [i64; 10] = [5, 60, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400];
const DAY: i64 = 86_400_000;
/// How many lines of the audit trail are read at a time.
const PAGE: u32 = 1_000;

/// Another system that hears of the office's work.
struct Listener {
    url: &'static str,
    description: &'static str,
    events: &'static [&'static str],
    /// For how many days it has been told, and since when it has not.
    days: (i64, i64),
    temper: Temper,
    disabled: &'static str,
}

/// How a system answers.
#[derive(Clone, Copy)]
enum Temper {
    /// Well, but for a moment now and then.
    Steady,
    /// Slowly, and for some hours not at all.
    Overworked,
    /// Well, until it was taken down.
    Retired,
}

const SWITCHED_OFF: &str = "Switched off: this is a demonstration, and nothing leaves it";

const LISTENERS: [Listener; 3] = [
    Listener {
        url: "https://ledger.example.com/hooks/groma",
        description: "Ledger: expenses and budgets",
        events: &["expense.*", "budget.*"],
        days: (21, 0),
        temper: Temper::Steady,
        disabled: SWITCHED_OFF,
    },
    Listener {
        url: "https://chat.example.net/incoming/field-crews",
        description: "Messages for the field crews",
        events: &["folder.created", "folder.archived", "assignment.created"],
        days: (14, 0),
        temper: Temper::Overworked,
        disabled: SWITCHED_OFF,
    },
    Listener {
        url: "https://portal.example.org/notify",
        description: "The old client portal",
        events: &["folder.*"],
        days: (28, 9),
        temper: Temper::Retired,
        disabled: "The endpoint answered 410 Gone",
    },
];

/// Makes the endpoints, with their history up to `now`.
pub(super) async fn install(
    store: &Store,
    workspace: WorkspaceId,
    now: Timestamp,
) -> Result<(), Error> {
    let since = LISTENERS.iter().map(|listener| listener.days.0).max().unwrap_or_default();
    let recent = recent_events(store, workspace, now.plus_millis(-since * DAY)).await?;
    let mut chance = Chance::new(SEED);
    for listener in &LISTENERS {
        listener.install(store, workspace, now, &recent, chance.branch()).await?;
    }
    Ok(())
}

/// The events since a moment: of each the line of the audit trail.
async fn recent_events(
    store: &Store,
    workspace: WorkspaceId,
    since: Timestamp,
) -> Result<Vec<(i64, Event, Timestamp)>, Error> {
    let mut recent = Vec::new();
    let mut after = 0;
    loop {
        let page = store.changes(workspace, after, PAGE).await?;
        let Some(last) = page.last() else { return Ok(recent) };
        after = last.id;
        let event = |row: &ChangeRow| Some((row.id, Event::named(&row.action)?, row.at));
        recent.extend(page.iter().filter(|row| row.at >= since).filter_map(event));
    }
}

impl Listener {
    async fn install(
        &self,
        store: &Store,
        workspace: WorkspaceId,
        now: Timestamp,
        recent: &[(i64, Event, Timestamp)],
        mut chance: Chance,
    ) -> Result<(), Error> {
        let events = EventFilter::parse(self.events)
            .map_err(|_| Error::invalid_data("unknown webhook event"))?;
        let (first, last) =
            (now.plus_millis(-self.days.0 * DAY), now.plus_millis(-self.days.1 * DAY));
        let draft = EndpointDraft {
            url: Some(EndpointUrl::parse(self.url, false).map_err(Error::invalid_data)?),
            events: Some(events.clone()),
            description: Some(self.description.to_owned()),
            secret: None,
        };
        let new =
            NewEndpoint { workspace, actor: Actor::Operator, now: first, draft, request: None };
        let EndpointOutcome::Created(endpoint, _) = store.create_endpoint(new).await? else {
            return Ok(());
        };
        let told = recent
            .iter()
            .filter(|(_, event, at)| events.wants(*event) && *at >= first && *at <= last);
        let mut past: Vec<PastDelivery> = told
            .map(|(change, event, at)| PastDelivery {
                change: *change,
                event: *event,
                at: *at,
                attempts: self.temper.answers(&mut chance, *at),
            })
            .collect();
        if let (Temper::Retired, Some(end)) = (self.temper, past.last_mut()) {
            let at = end.at.plus_millis(210);
            end.attempts = vec![attempt(at, 64, Some(410), "This portal has been retired.")];
        }
        store.remember_deliveries(workspace, endpoint.id, past).await?;
        let disable = EndpointChange::Disable(self.disabled.to_owned());
        store.change_endpoint(workspace, Actor::Operator, endpoint.id, disable, last).await?;
        Ok(())
    }
}

impl Temper {
    /// The attempts at a delivery that was made at this moment.
    fn answers(self, chance: &mut Chance, at: Timestamp) -> Vec<PastAttempt> {
        let millis = chance.between(18, 90);
        let at = at.plus_millis(chance.between(2, 9));
        match self {
            Self::Steady if chance.happens(3) => vec![
                attempt(at, millis, Some(503), "Service Unavailable"),
                attempt(at.plus_millis(5_100), millis, Some(200), "ok"),
            ],
            Self::Overworked if chance.happens(2) => gave_up(chance, at),
            Self::Overworked if chance.happens(12) => vec![
                attempt(at, 15_000, None, ""),
                attempt(at.plus_millis(20_300), 15_000, None, ""),
                attempt(at.plus_millis(81_000), millis * 40, Some(202), "queued"),
            ],
            Self::Overworked => vec![attempt(at, millis * 20, Some(202), "queued")],
            Self::Steady | Self::Retired => vec![attempt(at, millis, Some(200), "ok")],
        }
    }
}

/// Tried along the whole schedule, to no avail.
fn gave_up(chance: &mut Chance, at: Timestamp) -> Vec<PastAttempt> {
    let mut at = at;
    let mut attempts = vec![attempt(at, 15_000, None, "")];
    for seconds in RETRY_DELAYS {
        let millis = seconds * 1_000;
        at = at.plus_millis(15_000 + millis * chance.between(90, 110) / 100);
        attempts.push(attempt(at, chance.between(40, 200), Some(502), "Bad Gateway"));
    }
    attempts
}

fn attempt(at: Timestamp, millis: i64, status: Option<u16>, answer: &str) -> PastAttempt {
    let error = match status {
        None => Some("no answer within 15 seconds".to_owned()),
        Some(200..300) => None,
        Some(status) => Some(format!("answered {status}")),
    };
    PastAttempt { at, millis: millis.unsigned_abs(), status, error, answer: answer.to_owned() }
}
