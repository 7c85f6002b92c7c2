//! The parameters of the change feed.

use super::super::{ApiState, params::parse_query};
use crate::{clock, http::HttpError};
use groma_domain::{
    DomainError, Event, FieldError, Scope, WorkspaceId,
    event::{EventAction, Topic},
    scope::Scopes,
};
use groma_store::Cursors;
use std::time::Duration;

pub(in crate::api) const DEFAULT_LIMIT: u32 = 100;
pub(in crate::api) const MAX_LIMIT: u32 = 1_000;
/// The longest time to wait, in seconds.
pub(in crate::api) const MAX_WAIT: u32 = 30;

const MILLIS_PER_DAY: i64 = 86_400_000;

/// What a consumer asks for.
pub(super) struct FeedRequest {
    after: Option<String>,
    pub(super) kinds: Kinds,
    pub(super) limit: u32,
    pub(super) wait: Duration,
}

/// The kinds of resources whose changes a consumer reads.
pub(super) struct Kinds(Vec<Topic>);

impl FeedRequest {
    /// Parses the parameters. Like everywhere, the scopes of the token come before the values.
    pub(super) fn parse(query: &str, scopes: Scopes) -> Result<Self, HttpError> {
        let [after, kinds, limit, wait] = parse_query(query, ["after", "kinds", "limit", "wait"])
            .map_err(|problem| HttpError::bad_parameter(&problem))?;
        let kinds = Kinds::parse(kinds.as_deref())?;
        kinds.events(scopes)?;
        Ok(Self {
            after: after.filter(|after| !after.is_empty()),
            kinds,
            limit: number("limit", limit, 1, MAX_LIMIT)?.unwrap_or(DEFAULT_LIMIT),
            wait: Duration::from_secs(number("wait", wait, 0, MAX_WAIT)?.unwrap_or(0).into()),
        })
    }

    /// The same request, continued after the last event that a stream has sent.
    pub(super) fn continued(self, last_event_id: Option<String>) -> Self {
        Self { after: last_event_id.filter(|id| !id.is_empty()).or(self.after), ..self }
    }

    /// Whether it asks only where to continue from now on.
    pub(super) fn is_now(&self) -> bool {
        self.after.as_deref() == Some("now")
    }

    /// The number of the change after which to start.
    pub(super) async fn start(
        &self,
        api: &ApiState,
        cursors: &Cursors,
        workspace: WorkspaceId,
    ) -> Result<i64, HttpError> {
        let feed = api.store.change_feed();
        let days = i64::from(api.feed_days.unwrap_or(0));
        let since = (days > 0).then(|| clock::now().plus_millis(-days * MILLIS_PER_DAY));
        let Some(after) = &self.after else {
            return Ok(match since {
                Some(since) => feed.start(workspace, since).await?,
                None => 0,
            });
        };
        if after == "now" {
            return Ok(feed.head(workspace).await?);
        }
        let number = cursors.decode(after);
        // A number that was not reached yet is of a database that has been rolled back.
        let head = feed.head(workspace).await?;
        let number = number.filter(|number| *number <= head).ok_or_else(|| {
            invalid_cursor("is not a cursor of this workspace and database, which may have been restored or copied")
        })?;
        if let Some(since) = since
            && let Some((_, at)) = feed.first_after(workspace, number).await?
            && at < since
        {
            return Err(invalid_cursor(&format!(
                "is followed by changes older than {days} days, which are not listed"
            )));
        }
        Ok(number)
    }
}

fn invalid_cursor(problem: &str) -> HttpError {
    HttpError::bad_parameter(&FieldError::new(
        "after",
        format!(
            "{problem}; to start over, get the current cursor with after=now, then read everything, and continue \
             with that cursor"
        ),
    ))
}

fn number(name: &str, value: Option<String>, min: u32, max: u32) -> Result<Option<u32>, HttpError> {
    let Some(text) = value else { return Ok(None) };
    let is_digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse().ok().filter(|number| is_digits && (min..=max).contains(number));
    let message = || format!("must be a whole number from {min} to {max}");
    let invalid = || HttpError::bad_parameter(&FieldError::new(name, message()));
    number.ok_or_else(invalid).map(Some)
}

impl Kinds {
    /// Parses names separated by commas; by default the kinds of records.
    fn parse(text: Option<&str>) -> Result<Self, HttpError> {
        let Some(text) = text else {
            let records = Topic::ALL.into_iter().filter(|topic| matches!(topic, Topic::Record(_)));
            return Ok(Self(records.collect()));
        };
        let topic = |name: &str| Topic::ALL.into_iter().find(|topic| topic.name() == name.trim());
        let topics: Option<Vec<Topic>> = text.split(',').map(topic).collect();
        let names = Topic::ALL.map(Topic::name).join(", ");
        let message = format!("must be names separated by commas, of {names}");
        let invalid = || HttpError::bad_parameter(&FieldError::new("kinds", message));
        topics.map(Self).ok_or_else(invalid)
    }

    /// The events that a token with these scopes may read. An error if it may read none of the kinds.
    pub(super) fn events(&self, scopes: Scopes) -> Result<Vec<Event>, HttpError> {
        let scope = |topic: Topic| match topic {
            Topic::Record(kind) => Some(Scope::read(kind)),
            Topic::Geometry | Topic::Layer => None,
        };
        let can_read = |topic: &&Topic| scope(**topic).is_none_or(|scope| scopes.contains(scope));
        let readable: Vec<Topic> = self.0.iter().filter(can_read).copied().collect();
        if let (true, Some(missing)) = (readable.is_empty(), self.0.iter().find_map(|t| scope(*t)))
        {
            return Err(HttpError::forbidden(DomainError::MissingScope(missing).to_string()));
        }
        let mut events: Vec<Event> = readable.iter().copied().flat_map(Topic::events).collect();
        if readable.contains(&Topic::Geometry) {
            // It stands for the changes of many features.
            events.push(Event { topic: Topic::Layer, action: EventAction::Updated });
        }
        Ok(events)
    }
}
