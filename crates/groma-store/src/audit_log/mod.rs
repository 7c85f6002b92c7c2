//! The audit log: who changed what, when. An entry whose action is the name of an event is that event.

pub(crate) mod postgres;
pub(crate) mod sqlite;

use crate::{
    Result,
    engine::{Engine, dispatch},
    people::PeopleTx,
};
use groma_domain::{PersonId, Timestamp, WorkspaceId};
use uuid::Uuid;

/// An entry of the audit log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditEntry {
    /// Its number; numbers rise in commit order.
    pub id: i64,
    /// When it happened.
    pub at: Timestamp,
    /// Who did it; `None` for the command line.
    pub actor: Option<PersonId>,
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
    pub(crate) actor: Option<PersonId>,
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
}

/// Operations of a transaction on the audit log.
pub(crate) trait AuditLogTx: PeopleTx {
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
