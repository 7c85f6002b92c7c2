//! Creating, changing and deleting workspaces.

use super::{
    AccountTx, Accounts, entry,
    members::{AddMember, NewUser},
    postgres, sqlite,
};
use crate::{
    Actor, Result,
    engine::{dispatch, impl_work, random},
    records::RecordWrite,
    security_log::WorkspaceChange,
    workspaces::{self, WorkspaceWrite},
};
use groma_domain::{
    Currency, DomainError, Kind, Permission, PersonId, Role, Status, StatusId, Timestamp,
    Violation, WorkspaceId,
    layer::LayerKey,
    status,
    workspace::{OfferedCrs, Workspace, WorkspaceName},
};

impl_work! {
    CreateWorkspace => Workspace;
    SetUp => Workspace;
    ChangeWorkspace => Workspace;
    AuthorizeDeletion => ();
    SetMaxTokenDays => ();
    SetOfferedCrs => ();
    RequireSecondFactor => ();
}

impl Accounts {
    /// Creates a workspace with its owner and its initial statuses.
    pub(crate) async fn create_workspace(
        &self,
        name: WorkspaceName,
        currency: Currency,
        owner: NewUser,
        now: Timestamp,
    ) -> Result<Workspace> {
        self.engine.transact(CreateWorkspace { name, currency, owner, now }).await
    }

    /// Creates the first workspace with its owner; rejected once there is a user.
    pub(crate) async fn set_up(
        &self,
        name: WorkspaceName,
        currency: Currency,
        owner: NewUser,
        now: Timestamp,
    ) -> Result<Workspace> {
        self.engine.transact(SetUp(CreateWorkspace { name, currency, owner, now })).await
    }

    /// Changes the name or currency of a workspace.
    pub(crate) async fn change_workspace(
        &self,
        workspace: WorkspaceId,
        actor: Actor,
        name: WorkspaceName,
        currency: Currency,
        now: Timestamp,
    ) -> Result<Workspace> {
        self.engine.transact(ChangeWorkspace { workspace, actor, name, currency, now }).await
    }

    /// Sets how many days tokens of a workspace are valid at most, existing ones too; `None` for no limit.
    pub(crate) async fn set_max_token_days(
        &self,
        workspace: WorkspaceId,
        actor: Actor,
        days: Option<u32>,
        now: Timestamp,
    ) -> Result<()> {
        self.engine.transact(SetMaxTokenDays { workspace, actor, days, now }).await?;
        self.authentication.clear_cache();
        Ok(())
    }

    /// Sets the reference systems that the OGC API offers for every collection of a workspace.
    pub(crate) async fn set_offered_crs(
        &self,
        workspace: WorkspaceId,
        actor: Actor,
        crs: OfferedCrs,
        now: Timestamp,
    ) -> Result<()> {
        self.engine.transact(SetOfferedCrs { workspace, actor, crs, now }).await
    }

    /// Sets whether only sessions with a second factor may use a workspace. Whoever requires one must have
    /// logged in with one.
    pub(crate) async fn require_second_factor(
        &self,
        workspace: WorkspaceId,
        actor: Actor,
        required: bool,
        now: Timestamp,
    ) -> Result<()> {
        self.engine.transact(RequireSecondFactor { workspace, actor, required, now }).await
    }

    /// Deletes a workspace and everything in it. Its tokens end at once; its records are deleted in small
    /// steps, so that others can write in between.
    pub(crate) async fn delete_workspace(
        &self,
        workspace: WorkspaceId,
        actor: Actor,
        now: Timestamp,
    ) -> Result<()> {
        self.engine.transact(AuthorizeDeletion { workspace, actor, now }).await?;
        for layer in self.layers.all(workspace).await? {
            let key = LayerKey::Id(layer.id);
            self.layers.delete(workspace, Actor::Operator, key, now).await?;
        }
        self.layers.discard_loads(workspace).await?;
        dispatch!(&self.engine, delete_workspace(&self.authentication, workspace))
    }
}

/// Creates a workspace with its owner and its initial statuses.
#[derive(Clone)]
struct CreateWorkspace {
    name: WorkspaceName,
    currency: Currency,
    owner: NewUser,
    now: Timestamp,
}

impl CreateWorkspace {
    async fn run<T: AccountTx>(self, tx: &mut T) -> Result<Workspace> {
        let Self { name, currency, owner, now } = self;
        if tx.is_workspace_name_taken(&name.key()).await? {
            return Err(DomainError::invalid(
                "name",
                format!("`{}` is already in use", name.as_str()),
            )
            .into());
        }
        let workspace =
            Workspace { id: WorkspaceId::new(now, random()), name, currency, created_at: now };
        tx.write_workspace(WorkspaceWrite::Insert(workspace.clone())).await?;
        let mut writes = Vec::new();
        for (position, (kind, name, group, color)) in (0..).zip(status::INITIAL_STATUSES) {
            writes.push(RecordWrite::SaveStatus(Status {
                id: StatusId::new(now, random()),
                name: name.to_owned(),
                applies_to: kind,
                group,
                color: color.to_owned(),
                position,
                is_default: is_first_of(kind, name),
                created_at: now,
                updated_at: now,
            }));
        }
        tx.write_records(workspace.id, writes).await?;
        let created = workspace_entry(None, "workspace.created", &workspace, now);
        tx.log_workspace_change(workspace.id, created).await?;
        AddMember {
            workspace: workspace.id,
            actor: Actor::Operator,
            user: owner,
            role: Role::Owner,
            now,
        }
        .run(tx)
        .await?;
        Ok(workspace)
    }
}

fn is_first_of(kind: Kind, name: &str) -> bool {
    status::INITIAL_STATUSES
        .iter()
        .find(|initial| initial.0 == kind)
        .is_some_and(|first| first.1 == name)
}

#[derive(Clone)]
struct SetUp(CreateWorkspace);

impl SetUp {
    async fn run<T: AccountTx>(self, tx: &mut T) -> Result<Workspace> {
        if tx.has_users().await? {
            return Err(
                DomainError::invalid("code", "is no longer valid: the service is set up").into()
            );
        }
        self.0.run(tx).await
    }
}

#[derive(Clone)]
struct ChangeWorkspace {
    workspace: WorkspaceId,
    actor: Actor,
    name: WorkspaceName,
    currency: Currency,
    now: Timestamp,
}

impl ChangeWorkspace {
    async fn run<T: AccountTx>(self, tx: &mut T) -> Result<Workspace> {
        let Self { workspace, actor, name, currency, now } = self;
        let (locked, actor) = workspaces::authorize(tx, workspace, actor, now).await?;
        actor.require(Permission::Administer)?;
        let before = locked.workspace;
        if before.name.key() != name.key() && tx.is_workspace_name_taken(&name.key()).await? {
            return Err(DomainError::invalid(
                "name",
                format!("`{}` is already in use", name.as_str()),
            )
            .into());
        }
        let after = Workspace { name, currency, ..before.clone() };
        if after.name == before.name && after.currency == before.currency {
            return Ok(after);
        }
        let json = |workspace: &Workspace| {
            let (name, currency) = (workspace.name.as_str(), workspace.currency);
            Some(serde_json::json!({ "name": name, "currency": currency }).to_string())
        };
        let entry =
            entry(actor, now, "workspace.updated", workspace.0, json(&before), json(&after));
        tx.write_workspace(WorkspaceWrite::Update(after.clone())).await?;
        tx.log(workspace, entry).await?;
        Ok(after)
    }
}

/// Checks that the actor may delete the workspace. Later steps of the deletion do not check again.
#[derive(Clone)]
struct AuthorizeDeletion {
    workspace: WorkspaceId,
    actor: Actor,
    now: Timestamp,
}

impl AuthorizeDeletion {
    async fn run<T: AccountTx>(self, tx: &mut T) -> Result<()> {
        let Self { workspace, actor, now } = self;
        if tx.lock_workspace(workspace).await?.is_none() {
            // Another request deleted it.
            return Ok(());
        }
        let (locked, actor) = workspaces::authorize(tx, workspace, actor, now).await?;
        actor.require(Permission::Own)?;
        let deleted = workspace_entry(actor.person, "workspace.deleted", &locked.workspace, now);
        tx.log_workspace_change(workspace, deleted).await
    }
}

/// An entry of the security log about a workspace, with its name.
fn workspace_entry(
    actor: Option<PersonId>,
    action: &'static str,
    workspace: &Workspace,
    now: Timestamp,
) -> WorkspaceChange {
    let details = serde_json::json!({ "name": workspace.name.as_str() }).to_string();
    WorkspaceChange { at: now, action, actor, subject: workspace.id.0, details: Some(details) }
}

#[derive(Clone)]
struct SetMaxTokenDays {
    workspace: WorkspaceId,
    actor: Actor,
    days: Option<u32>,
    now: Timestamp,
}

impl SetMaxTokenDays {
    async fn run<T: AccountTx>(self, tx: &mut T) -> Result<()> {
        let Self { workspace, actor, days, now } = self;
        let (locked, actor) = workspaces::authorize(tx, workspace, actor, now).await?;
        actor.require(Permission::Administer)?;
        if locked.max_token_days == days {
            return Ok(());
        }
        let json =
            |days: Option<u32>| Some(serde_json::json!({ "maxTokenDays": days }).to_string());
        let (before, after) = (json(locked.max_token_days), json(days));
        let entry = entry(actor, now, "workspace.updated", workspace.0, before, after);
        tx.write_workspace(WorkspaceWrite::SetMaxTokenDays(workspace, days)).await?;
        tx.log(workspace, entry).await
    }
}

#[derive(Clone)]
struct SetOfferedCrs {
    workspace: WorkspaceId,
    actor: Actor,
    crs: OfferedCrs,
    now: Timestamp,
}

impl SetOfferedCrs {
    async fn run<T: AccountTx>(self, tx: &mut T) -> Result<()> {
        let Self { workspace, actor, crs, now } = self;
        let (locked, actor) = workspaces::authorize(tx, workspace, actor, now).await?;
        actor.require(Permission::Administer)?;
        if locked.offered_crs == crs {
            return Ok(());
        }
        let json = |crs: &OfferedCrs| {
            Some(serde_json::json!({ "offeredCrs": crs.to_string() }).to_string())
        };
        let (before, after) = (json(&locked.offered_crs), json(&crs));
        let entry = entry(actor, now, "workspace.updated", workspace.0, before, after);
        tx.write_workspace(WorkspaceWrite::SetOfferedCrs(workspace, crs)).await?;
        tx.log(workspace, entry).await
    }
}

#[derive(Clone)]
struct RequireSecondFactor {
    workspace: WorkspaceId,
    actor: Actor,
    required: bool,
    now: Timestamp,
}

impl RequireSecondFactor {
    async fn run<T: AccountTx>(self, tx: &mut T) -> Result<()> {
        let Self { workspace, actor, required, now } = self;
        let (_, authorized) = workspaces::authorize(tx, workspace, actor, now).await?;
        authorized.require(Permission::Administer)?;
        let before = tx.requires_second_factor(workspace).await?;
        if before == required {
            return Ok(());
        }
        tx.write_workspace(WorkspaceWrite::RequireSecondFactor(workspace, required)).await?;
        // Checked with the new rule: it must not exclude the one who sets it.
        if workspaces::authorize(tx, workspace, actor, now).await.is_err() {
            let missing = Violation::SecondFactorMissing;
            return Err(DomainError::invalid("requiresSecondFactor", missing).into());
        }
        let json = |required: bool| {
            Some(serde_json::json!({ "requiresSecondFactor": required }).to_string())
        };
        let (before, after) = (json(before), json(required));
        let entry = entry(authorized, now, "workspace.updated", workspace.0, before, after);
        tx.log(workspace, entry).await
    }
}
