//! The accounts of the installation: listing, disabling and enabling them.

pub(crate) mod postgres;
pub(crate) mod sqlite;

use super::{
    Accounts, StoredUser, UserWrite,
    email_links::{EmailLinkTx, EmailLinkWrite, LinkPurpose},
    user_tokens,
};
use crate::{
    Actor, NewSecurityEntry, Result,
    engine::{dispatch, impl_work},
    mail::MailKind,
    people::StoredPerson,
    workspaces,
};
use groma_domain::{
    DomainError, Email, Permission, PersonId, Role, SessionId, Timestamp, UserId, Violation,
    WorkspaceId, workspace::WorkspaceName,
};
use serde_json::json;

/// A user in a list.
#[derive(Clone, Debug)]
pub struct UserRow {
    /// Its id.
    pub id: UserId,
    /// The email address.
    pub email: Email,
    /// The name.
    pub name: String,
    /// When the account was created.
    pub created_at: Timestamp,
    /// When the user was last logged in, approximately.
    pub last_seen_at: Option<Timestamp>,
    /// When the user proved to receive mail at the address.
    pub email_verified_at: Option<Timestamp>,
    /// Since when the user cannot log in.
    pub disabled_at: Option<Timestamp>,
    /// The workspaces that the user belongs to or used to belong to, by name.
    pub workspaces: Vec<UserWorkspace>,
}

/// A workspace of a user.
#[derive(Clone, Debug)]
pub struct UserWorkspace {
    /// The workspace.
    pub id: WorkspaceId,
    /// Its name.
    pub name: String,
    /// The user's role; `None` for a former member.
    pub role: Option<Role>,
}

/// Which users are listed.
#[derive(Clone, Copy, Debug)]
pub enum UserFilter {
    /// Every user of the installation.
    All,
    /// This one.
    User(UserId),
    /// The members and former members of a workspace.
    Workspace(WorkspaceId),
}

impl UserFilter {
    /// The user and the workspace that rows must have.
    fn columns(self) -> (Option<uuid::Uuid>, Option<uuid::Uuid>) {
        match self {
            Self::All => (None, None),
            Self::User(user) => (Some(user.0), None),
            Self::Workspace(workspace) => (None, Some(workspace.0)),
        }
    }
}

/// Who may change an account.
#[derive(Clone, Copy, Debug)]
pub enum AccountAuthority {
    /// The operator, or an owner of all workspaces of the user.
    Actor(Actor),
    /// The user.
    Own(SessionId),
}

/// An account to be disabled.
#[derive(Clone, Debug)]
pub struct DisableUser {
    /// The user.
    pub user: UserId,
    /// Who disables it: the operator, or an owner of all workspaces of the user.
    pub actor: Actor,
    /// Whether to revoke the access tokens of the user in all workspaces.
    pub revoke_tokens: bool,
    /// When.
    pub now: Timestamp,
}

/// Operations of a transaction on users.
pub(crate) trait UserTx: EmailLinkTx {
    /// A user by id.
    fn user(&mut self, user: UserId) -> impl Future<Output = Result<Option<StoredUser>>> + Send;

    /// Whom a user is or was in workspaces, in the order of the workspaces' ids.
    fn people_of_user(
        &mut self,
        user: UserId,
    ) -> impl Future<Output = Result<Vec<(WorkspaceId, PersonId)>>> + Send;
}

impl_work! {
    DisableUser => ();
    EnableUser => ();
}

impl Accounts {
    /// Users by address.
    pub(crate) async fn users(&self, filter: UserFilter) -> Result<Vec<UserRow>> {
        dispatch!(&self.engine, users(filter))
    }

    /// Disables an account: its sessions end at once, and the user can no longer log in.
    pub(crate) async fn disable_user(&self, disable: DisableUser) -> Result<()> {
        self.engine.transact(disable).await?;
        self.authentication.clear_cache();
        Ok(())
    }

    /// Enables a disabled account.
    pub(crate) async fn enable_user(
        &self,
        user: UserId,
        actor: Actor,
        now: Timestamp,
    ) -> Result<()> {
        self.engine.transact(EnableUser { user, actor, now }).await
    }
}

/// A user whose workspaces are locked.
pub(super) struct LockedUser {
    pub(super) user: StoredUser,
    pub(super) people: Vec<LockedPerson>,
    /// The user who changes the account; `None` for the operator.
    pub(super) by: Option<UserId>,
}

/// Whom a user is or was in a locked workspace.
pub(super) struct LockedPerson {
    pub(super) workspace: WorkspaceId,
    name: WorkspaceName,
    pub(super) person: StoredPerson,
    /// Who changes the account, as a person of this workspace.
    pub(super) actor: Option<PersonId>,
}

/// Locks the workspaces of a user and checks that the account may be changed.
pub(super) async fn lock_user<T: UserTx>(
    tx: &mut T,
    user: UserId,
    authority: AccountAuthority,
    now: Timestamp,
) -> Result<LockedUser> {
    let not_found = || DomainError::NotFound { resource: "user", key: user.to_string() };
    let known = tx.people_of_user(user).await?;
    if known.is_empty() && matches!(authority, AccountAuthority::Actor(Actor::Session(_))) {
        return Err(not_found().into());
    }
    let mut people = Vec::with_capacity(known.len());
    for (workspace, person) in &known {
        let (workspace, person) = (*workspace, *person);
        let actor = match authority {
            AccountAuthority::Actor(actor) => actor,
            // The session is checked below, after all workspaces are locked.
            AccountAuthority::Own(_) => Actor::Operator,
        };
        let (locked, actor) = workspaces::authorize(tx, workspace, actor, now).await?;
        actor.require(Permission::Own)?;
        let Some(stored) = tx.person(workspace, person).await? else { continue };
        let actor = match authority {
            AccountAuthority::Actor(_) => actor.person,
            AccountAuthority::Own(_) => Some(person),
        };
        people.push(LockedPerson { workspace, name: locked.workspace.name, person: stored, actor });
    }
    let by = match authority {
        AccountAuthority::Actor(Actor::Session(session)) | AccountAuthority::Own(session) => {
            Some(tx.user_of_session(session, now).await?.ok_or(DomainError::AccessEnded)?)
        }
        AccountAuthority::Actor(_) => None,
    };
    if matches!(authority, AccountAuthority::Own(_)) && by != Some(user) {
        return Err(DomainError::AccessEnded.into());
    }
    // The same lock as that of changes that make someone a member.
    let email = tx.user(user).await?.ok_or_else(not_found)?.email;
    let user = tx.user_by_email(&email).await?.ok_or_else(not_found)?;
    if tx.people_of_user(user.id).await? != known {
        let message = "has just joined a workspace: try again";
        return Err(DomainError::invalid("user", message).into());
    }
    Ok(LockedUser { user, people, by })
}

/// Returns an error if a workspace would be left without an owner who can log in.
pub(super) async fn check_other_owners<T: UserTx>(tx: &mut T, locked: &LockedUser) -> Result<()> {
    let mut workspaces = Vec::new();
    for LockedPerson { workspace, name, person, .. } in &locked.people {
        if person.role == Some(Role::Owner)
            && !tx.has_other_owner(*workspace, person.person.id).await?
        {
            workspaces.push(name.as_str());
        }
    }
    if workspaces.is_empty() {
        return Ok(());
    }
    let workspaces = workspaces.join(", ");
    Err(DomainError::invalid("user", Violation::LastOwnerOf { workspaces }).into())
}

/// Revokes the tokens of a locked user; returns how many.
pub(super) async fn revoke_tokens<T: UserTx>(
    tx: &mut T,
    locked: &LockedUser,
    now: Timestamp,
) -> Result<u64> {
    let tokens = tx.tokens_of_user(locked.user.id).await?;
    let count = tokens.len() as u64;
    for token in tokens {
        let person = locked.people.iter().find(|person| person.workspace == token.workspace);
        let actor = person.and_then(|person| person.actor);
        user_tokens::revoke_one(tx, token.workspace, token.token, actor, now).await?;
    }
    Ok(count)
}

/// An entry of the security log about a user.
pub(super) fn security_entry(
    action: &'static str,
    locked: &LockedUser,
    now: Timestamp,
) -> NewSecurityEntry {
    let entry = NewSecurityEntry::new(action, now).about(locked.user.id);
    NewSecurityEntry { user: locked.by, ..entry }
}

impl DisableUser {
    async fn run<T: UserTx>(self, tx: &mut T) -> Result<()> {
        let Self { user, actor, revoke_tokens: has_to_revoke, now } = self;
        let locked = lock_user(tx, user, AccountAuthority::Actor(actor), now).await?;
        check_other_owners(tx, &locked).await?;
        if locked.user.disabled_at.is_none() {
            // Other transactions lock a session before its user.
            tx.write_user(UserWrite::EndSessions { user, except: None }).await?;
            tx.write_user(UserWrite::SetDisabled { user, at: Some(now) }).await?;
            // A session that began before the user was locked.
            tx.write_user(UserWrite::EndSessions { user, except: None }).await?;
            for purpose in [LinkPurpose::ResetPassword, LinkPurpose::VerifyEmail] {
                tx.write_email_link(EmailLinkWrite::Delete { user, purpose }).await?;
            }
            tx.strip_mails_to(user, MailKind::PasswordReset).await?;
            tx.strip_mails_to(user, MailKind::Verification).await?;
        }
        let revoked = if has_to_revoke { revoke_tokens(tx, &locked, now).await? } else { 0 };
        let entry = security_entry("user.disabled", &locked, now);
        tx.log_security(entry.with_details(json!({ "revokedTokens": revoked }))).await
    }
}

#[derive(Clone)]
struct EnableUser {
    user: UserId,
    actor: Actor,
    now: Timestamp,
}

impl EnableUser {
    async fn run<T: UserTx>(self, tx: &mut T) -> Result<()> {
        let Self { user, actor, now } = self;
        let locked = lock_user(tx, user, AccountAuthority::Actor(actor), now).await?;
        if locked.user.disabled_at.is_none() {
            return Ok(());
        }
        tx.write_user(UserWrite::SetDisabled { user, at: None }).await?;
        tx.log_security(security_entry("user.enabled", &locked, now)).await
    }
}
