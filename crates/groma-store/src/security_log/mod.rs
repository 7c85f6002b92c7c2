//! The security log of the installation: logins, tokens, roles, settings, exports. Entries hold ids, and names
//! are looked up when they are read, so that erasing a person leaves nothing behind. A log line with the target
//! `security` goes with every entry.

pub(crate) mod postgres;
pub(crate) mod sqlite;

use crate::{
    Result,
    engine::{Engine, dispatch, impl_work},
    people::PeopleTx,
};
use groma_domain::{
    PersonId, SecurityEntryId, Timestamp, UserId, WorkspaceId, person::is_erased_address,
};
use serde_json::Value;
use uuid::Uuid;

/// An entry to be written.
#[derive(Clone, Debug)]
pub struct NewSecurityEntry {
    /// When it happened.
    pub at: Timestamp,
    /// What happened, for example `login.failed`.
    pub action: &'static str,
    /// The user who did it; `None` for the operator and for strangers.
    pub user: Option<UserId>,
    /// The workspace it concerns.
    pub workspace: Option<WorkspaceId>,
    /// The session, token or file it was done to.
    pub subject: Option<Uuid>,
    /// The user it was done to, if that is another one.
    pub subject_user: Option<UserId>,
    /// The address of the client.
    pub address: Option<String>,
    /// More about it, without personal data.
    pub details: Option<Value>,
}

impl NewSecurityEntry {
    /// An entry about an action.
    #[must_use]
    pub fn new(action: &'static str, at: Timestamp) -> Self {
        Self {
            at,
            action,
            user: None,
            workspace: None,
            subject: None,
            subject_user: None,
            address: None,
            details: None,
        }
    }

    /// Sets the user who did it.
    #[must_use]
    pub fn by(self, user: UserId) -> Self {
        Self { user: Some(user), ..self }
    }

    /// Sets the address of the client.
    #[must_use]
    pub fn from_address(self, address: &str) -> Self {
        Self { address: Some(address.to_owned()), ..self }
    }

    /// Sets the workspace.
    #[must_use]
    pub fn in_workspace(self, workspace: WorkspaceId) -> Self {
        Self { workspace: Some(workspace), ..self }
    }

    /// Sets the user it was done to.
    #[must_use]
    pub fn about(self, user: UserId) -> Self {
        Self { subject_user: Some(user), ..self }
    }

    /// Sets the details.
    #[must_use]
    pub fn with_details(self, details: Value) -> Self {
        Self { details: Some(details), ..self }
    }
}

/// An entry of the security log.
#[derive(Clone, Debug)]
pub struct SecurityEntry {
    /// Identifier; later entries have higher ones.
    pub id: SecurityEntryId,
    /// When it happened.
    pub at: Timestamp,
    /// What happened.
    pub action: String,
    /// The user who did it.
    pub user: Option<UserId>,
    /// The current email address of who did it. `None` for the operator and for strangers, and once the
    /// person is deleted.
    pub email: Option<String>,
    /// The workspace it concerns.
    pub workspace: Option<WorkspaceId>,
    /// The workspace's name, while it exists.
    pub workspace_name: Option<String>,
    /// What it was done to.
    pub subject: Option<Uuid>,
    /// The user it was done to.
    pub subject_user: Option<UserId>,
    /// The email address of whom it was done to.
    pub subject_email: Option<String>,
    /// Whether who did it was deleted or erased.
    pub is_by_former: bool,
    /// Whether whom it was done to was deleted or erased.
    pub is_about_former: bool,
    /// The address of the client.
    pub address: Option<String>,
    /// More about it, a JSON object.
    pub details: Option<String>,
}

impl SecurityEntry {
    /// Replaces the addresses of people who were erased by the fact that they were.
    fn without_erased(self) -> Self {
        let is_former = |email: &Option<String>, has_user: bool| match email {
            Some(email) => is_erased_address(email),
            None => has_user,
        };
        let is_by_former = is_former(&self.email, self.user.is_some());
        let is_about_former = is_former(&self.subject_email, self.subject_user.is_some());
        Self {
            email: self.email.filter(|_| !is_by_former),
            subject_email: self.subject_email.filter(|_| !is_about_former),
            is_by_former,
            is_about_former,
            ..self
        }
    }
}

/// Which entries are read.
#[derive(Clone, Debug, Default)]
pub struct SecurityLogFilter {
    /// Those of a workspace, and those that concern no workspace: of its members, of former members until
    /// they were removed, and of the operator.
    pub workspace: Option<WorkspaceId>,
    /// Those that a user did, or that were done to the user.
    pub user: Option<UserId>,
    /// Those whose action begins with this text.
    pub action: Option<String>,
    /// Those at this time or later.
    pub since: Option<Timestamp>,
    /// Those before this time.
    pub until: Option<Timestamp>,
    /// Those older than this entry.
    pub before: Option<SecurityEntryId>,
}

/// What a person, or the operator, changed in a workspace.
pub(crate) struct WorkspaceChange {
    pub(crate) at: Timestamp,
    pub(crate) action: &'static str,
    pub(crate) actor: Option<PersonId>,
    pub(crate) subject: Uuid,
    pub(crate) details: Option<String>,
}

/// Operations of a transaction on the security log.
pub(crate) trait SecurityLogTx: PeopleTx {
    fn log_security(&mut self, entry: NewSecurityEntry) -> impl Future<Output = Result<()>> + Send;

    /// Writes an entry about a change in a workspace, with the users behind its people.
    fn log_workspace_change(
        &mut self,
        workspace: WorkspaceId,
        change: WorkspaceChange,
    ) -> impl Future<Output = Result<()>> + Send;
}

/// The security log of a database.
#[derive(Clone)]
pub(crate) struct SecurityLog {
    engine: Engine,
}

impl_work! {
    WriteEntry => ();
}

#[derive(Clone)]
struct WriteEntry(NewSecurityEntry);

impl WriteEntry {
    async fn run<T: SecurityLogTx>(self, tx: &mut T) -> Result<()> {
        tx.log_security(self.0).await
    }
}

impl SecurityLog {
    pub(crate) fn new(engine: &Engine) -> Self {
        Self { engine: engine.clone() }
    }

    /// Writes an entry.
    pub(crate) async fn write(&self, entry: NewSecurityEntry) -> Result<()> {
        self.engine.transact(WriteEntry(entry)).await
    }

    /// Up to `limit` entries, newest first.
    pub(crate) async fn recent(
        &self,
        filter: SecurityLogFilter,
        limit: u32,
    ) -> Result<Vec<SecurityEntry>> {
        dispatch!(&self.engine, recent(filter, limit))
    }

    /// Deletes up to a thousand entries older than `before`; returns how many.
    pub(crate) async fn delete_older(&self, before: Timestamp) -> Result<u64> {
        dispatch!(&self.engine, delete_older(before))
    }
}

const DELETE_BATCH: i64 = 1_000;

/// Writes the log line of an entry.
fn write_line(entry: &NewSecurityEntry) {
    let NewSecurityEntry { action, user, workspace, subject_user, address, details, .. } = entry;
    tracing::info!(
        target: "security",
        action,
        user = user.map(tracing::field::display),
        workspace = workspace.map(tracing::field::display),
        subject_user = subject_user.map(tracing::field::display),
        client = address,
        details = details.as_ref().map(tracing::field::display),
    );
}

/// Writes the log line of a change in a workspace.
fn write_change_line(workspace: WorkspaceId, change: &WorkspaceChange) {
    let WorkspaceChange { action, actor, subject, details, .. } = change;
    tracing::info!(
        target: "security",
        action,
        person = actor.map(tracing::field::display),
        %workspace,
        %subject,
        details,
    );
}
