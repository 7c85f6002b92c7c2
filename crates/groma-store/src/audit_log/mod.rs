//! The audit log: who changed what, when. An entry whose action is the name of an event is that event.

pub(crate) mod postgres;
pub(crate) mod sqlite;

use crate::{
    Error, Result,
    actor::LoggedActor,
    engine::{Engine, dispatch},
    security_log::{SecurityLogTx, WorkspaceChange},
};
use groma_domain::{Event, PersonId, Timestamp, TokenId, WorkspaceId};
use serde_json::{Map, Value};
use tokio::sync::watch;
use uuid::Uuid;

/// Entries whose actions begin with these words are also in the security log. Browsers of all members load
/// from the servers of base maps.
const SECURITY_TOPICS: [&str; 6] =
    ["token", "member", "invitation", "workspace", "webhook", "baseMap"];
/// The values of an entry that the security log repeats. None of them is personal.
const SECURITY_VALUES: [&str; 11] = [
    "role",
    "scopes",
    "readOnly",
    "expiresAt",
    "url",
    "hosts",
    "events",
    "enabled",
    "currency",
    "maxTokenDays",
    "requiresSecondFactor",
];

/// An entry of the audit log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditEntry {
    /// Its number; numbers rise in commit order.
    pub id: i64,
    /// When it happened.
    pub at: Timestamp,
    /// Who did it; `None` for the command line.
    pub actor: Option<PersonId>,
    /// The token they used.
    pub token: Option<TokenId>,
    /// What was done: the name of an event, or of another action.
    pub action: String,
    /// The record, status, member, token, layer or endpoint it was done to.
    pub subject: Uuid,
    /// The changed fields before the change.
    pub before: Option<String>,
    /// The public document after the change.
    pub after: Option<String>,
}

/// An entry to be written.
#[derive(Clone)]
pub(crate) struct NewAuditEntry {
    pub(crate) at: Timestamp,
    pub(crate) actor: LoggedActor,
    pub(crate) action: &'static str,
    pub(crate) subject: Uuid,
    pub(crate) before: Option<String>,
    pub(crate) after: Option<String>,
}

impl NewAuditEntry {
    /// The document that an event shows: after the change, or before it if nothing is left.
    pub(crate) fn document(&self) -> Option<&str> {
        self.after.as_deref().or(self.before.as_deref())
    }

    /// What the security log keeps of the entry; `None` if it does not concern security.
    pub(crate) fn security_change(&self) -> Option<WorkspaceChange> {
        let (topic, verb) = self.action.split_once('.')?;
        let is_logged =
            SECURITY_TOPICS.contains(&topic) && !matches!(verb, "tested" | "redelivered");
        is_logged.then(|| WorkspaceChange {
            at: self.at,
            action: self.action,
            actor: self.actor.person,
            subject: self.subject,
            details: self.security_details(),
        })
    }

    /// The values before and after a change that the security log keeps, and the token that made it.
    fn security_details(&self) -> Option<String> {
        let kept = |document: Option<&str>| -> Option<Value> {
            let mut values: Map<String, Value> = serde_json::from_str(document?).ok()?;
            values.retain(|name, _| SECURITY_VALUES.contains(&name.as_str()));
            if let Some(Value::String(url)) = values.get_mut("url") {
                *url = without_path(url);
            }
            (!values.is_empty()).then_some(Value::Object(values))
        };
        let parts = [
            ("before", kept(self.before.as_deref())),
            ("after", kept(self.after.as_deref())),
            ("token", self.actor.token.map(|token| token.to_string().into())),
        ];
        let details: Map<String, Value> =
            parts.into_iter().filter_map(|(name, part)| Some((name.to_owned(), part?))).collect();
        (!details.is_empty()).then(|| Value::Object(details).to_string())
    }
}

/// The scheme and the host of a URL. The rest often contains a secret, which log lines must not repeat.
fn without_path(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    format!("{scheme}://{host}")
}

/// The number that stands for an event in the database.
pub(crate) fn event_number(event: Event) -> i16 {
    let index = Event::all().position(|known| known == event).unwrap_or_default();
    i16::try_from(index).unwrap_or_default()
}

/// The event that a number in the database stands for.
pub(crate) fn event_of_number(number: i16) -> Result<Event> {
    let index = usize::try_from(number).unwrap_or(usize::MAX);
    Event::all().nth(index).ok_or_else(|| Error::Damaged(format!("no event {number}")))
}

/// Notifies the change feed of committed events of this program.
#[derive(Clone)]
pub(crate) struct EventSignal(watch::Sender<()>);

impl Default for EventSignal {
    fn default() -> Self {
        Self(watch::Sender::new(()))
    }
}

impl EventSignal {
    pub(crate) fn notify(&self) {
        self.0.send_replace(());
    }

    pub(crate) fn subscribe(&self) -> watch::Receiver<()> {
        self.0.subscribe()
    }
}

/// Operations of a transaction on the audit log.
pub(crate) trait AuditLogTx: SecurityLogTx {
    /// Writes an entry that is no event.
    fn log(
        &mut self,
        workspace: WorkspaceId,
        entry: NewAuditEntry,
    ) -> impl Future<Output = Result<()>> + Send;
}

/// Reads of the audit log.
#[derive(Clone)]
pub(crate) struct AuditLog {
    engine: Engine,
}

impl AuditLog {
    pub(crate) fn new(engine: &Engine) -> Self {
        Self { engine: engine.clone() }
    }

    /// Up to `limit` entries after `after`, oldest first.
    pub(crate) async fn after(
        &self,
        workspace: WorkspaceId,
        after: i64,
        limit: u32,
    ) -> Result<Vec<AuditEntry>> {
        dispatch!(&self.engine, after(workspace, after, limit))
    }

    /// Up to `limit` entries before `before`, newest first: of the whole workspace, or of these subjects.
    /// Events about features and layers are left out, because other entries report them.
    pub(crate) async fn recent(
        &self,
        workspace: WorkspaceId,
        subjects: Option<&[Uuid]>,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<AuditEntry>> {
        let before = before.unwrap_or(i64::MAX);
        let subjects = subjects.map(<[Uuid]>::to_vec);
        dispatch!(&self.engine, recent(workspace, subjects, before, limit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_of_a_url_is_left_out() {
        for url in [
            "https://hooks.test:8443",
            "https://hooks.test:8443/services/secret",
            "https://hooks.test:8443?key=secret",
            "https://user:secret@hooks.test:8443/#secret",
        ] {
            assert_eq!(without_path(url), "https://hooks.test:8443");
        }
    }
}
