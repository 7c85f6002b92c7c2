//! Workspaces: the row that every change of a workspace locks, and its name and currency. Creating and
//! deleting a workspace involves other topics and is in `accounts`.

pub(crate) mod postgres;
pub(crate) mod sqlite;

use crate::{
    Actor, Result,
    actor::{ActorRights, AuthorizedActor},
    engine::{Engine, dispatch},
};
use groma_domain::{
    DomainError, Timestamp, WorkspaceId,
    workspace::{OfferedCrs, Workspace, WorkspaceName},
};

/// How a command names a workspace.
#[derive(Clone, Debug)]
pub enum WorkspaceFilter {
    /// By its key.
    Id(WorkspaceId),
    /// By its name.
    Name(WorkspaceName),
}

/// A workspace whose row is locked against other changes until the transaction ends.
#[derive(Clone, Debug)]
pub(crate) struct LockedWorkspace {
    pub(crate) workspace: Workspace,
    /// Changes whenever a webhook endpoint of the workspace does.
    pub(crate) endpoints_version: i64,
    /// How many days tokens are valid at most.
    pub(crate) max_token_days: Option<u32>,
    /// The reference systems that the OGC API offers.
    pub(crate) offered_crs: OfferedCrs,
}

/// A write to the workspaces table.
pub(crate) enum WorkspaceWrite {
    Insert(Workspace),
    Update(Workspace),
    SetMaxTokenDays(WorkspaceId, Option<u32>),
    SetOfferedCrs(WorkspaceId, OfferedCrs),
    RequireSecondFactor(WorkspaceId, bool),
}

/// Operations of a transaction on workspaces.
pub(crate) trait WorkspaceTx: Send {
    /// Locks a workspace; `None` when there is no such workspace.
    fn lock_workspace(
        &mut self,
        workspace: WorkspaceId,
    ) -> impl Future<Output = Result<Option<LockedWorkspace>>> + Send;

    /// The rights of an actor who is not the operator; `None` when their session or token has ended. A
    /// session cannot end before the transaction does.
    fn rights(
        &mut self,
        workspace: WorkspaceId,
        actor: Actor,
        now: Timestamp,
    ) -> impl Future<Output = Result<Option<ActorRights>>> + Send;

    /// Whether a workspace has this name. Locks names until the transaction ends.
    fn is_workspace_name_taken(
        &mut self,
        name_key: &str,
    ) -> impl Future<Output = Result<bool>> + Send;

    fn write_workspace(&mut self, write: WorkspaceWrite)
    -> impl Future<Output = Result<()>> + Send;
}

/// Locks a workspace that must exist.
pub(crate) async fn lock<T: WorkspaceTx>(
    tx: &mut T,
    workspace: WorkspaceId,
) -> Result<LockedWorkspace> {
    let not_found = || DomainError::NotFound { resource: "workspace", key: workspace.to_string() };
    Ok(tx.lock_workspace(workspace).await?.ok_or_else(not_found)?)
}

/// Locks a workspace for a change, and reads the rights of its actor. Whatever ends or changes rights
/// locks the workspace too, so they hold until the transaction ends.
pub(crate) async fn authorize<T: WorkspaceTx>(
    tx: &mut T,
    workspace: WorkspaceId,
    actor: Actor,
    now: Timestamp,
) -> Result<(LockedWorkspace, AuthorizedActor)> {
    let locked = lock(tx, workspace).await?;
    match actor {
        Actor::Operator => return Ok((locked, AuthorizedActor::OPERATOR)),
        Actor::Token { ends_at: Some(end), .. } if end <= now => {
            return Err(DomainError::AccessEnded.into());
        }
        Actor::Member(_) | Actor::Session(_) | Actor::Token { .. } => {}
    }
    let rights = tx.rights(workspace, actor, now).await?;
    Ok((locked, AuthorizedActor::new(actor, rights)?))
}

/// Reads of workspaces.
#[derive(Clone)]
pub(crate) struct Workspaces {
    engine: Engine,
}

impl Workspaces {
    pub(crate) fn new(engine: &Engine) -> Self {
        Self { engine: engine.clone() }
    }

    /// Every workspace, oldest first.
    pub(crate) async fn all(&self) -> Result<Vec<Workspace>> {
        dispatch!(&self.engine, all())
    }

    /// How many days tokens of a workspace are valid at most; `None` for no limit.
    pub(crate) async fn max_token_days(&self, workspace: WorkspaceId) -> Result<Option<u32>> {
        dispatch!(&self.engine, max_token_days(workspace))
    }

    /// The reference systems that the OGC API offers for every collection of a workspace.
    pub(crate) async fn offered_crs(&self, workspace: WorkspaceId) -> Result<OfferedCrs> {
        dispatch!(&self.engine, offered_crs(workspace))
    }

    /// Whether only sessions with a second factor may use a workspace.
    pub(crate) async fn requires_second_factor(&self, workspace: WorkspaceId) -> Result<bool> {
        dispatch!(&self.engine, requires_second_factor(workspace))
    }

    /// The workspace of this key or name.
    pub(crate) async fn find(&self, filter: &WorkspaceFilter) -> Result<Workspace> {
        let workspaces = self.all().await?;
        let (found, key) = match filter {
            WorkspaceFilter::Id(id) => {
                (workspaces.into_iter().find(|w| w.id == *id), id.to_string())
            }
            WorkspaceFilter::Name(name) => {
                let key = name.key();
                let found = workspaces.into_iter().find(|w| w.name.key() == key);
                (found, name.as_str().to_owned())
            }
        };
        found.ok_or_else(|| DomainError::NotFound { resource: "workspace", key }.into())
    }
}
