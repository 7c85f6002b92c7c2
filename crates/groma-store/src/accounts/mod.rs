//! Accounts: users and their sessions, login throttling, members, invitations, tokens, and the creation
//! and deletion of workspaces. None of this is an event; what changes a workspace is in its audit log.

mod invitations;
mod members;
pub(crate) mod postgres;
mod sessions;
pub(crate) mod sqlite;
mod tokens;
mod workspaces;

pub use invitations::{Invitation, NewInvitation};
pub use members::{KnownPerson, Member, NewUser};
pub use sessions::{
    Account, LOGIN_ATTEMPT_WINDOW_MILLIS, Membership, NewSession, Session, SessionRow,
    ThrottleBucket,
};
pub use tokens::{NewToken, TokenRow};

use crate::{
    Actor, Result,
    audit_log::NewAuditEntry,
    authentication::Authentication,
    engine::Engine,
    layers::{LayerTx, Layers},
};
use groma_domain::{
    Email, InvitationId, Permission, PersonId, Role, SessionId, Timestamp, TokenId, UserId,
    WorkspaceId, scope::Scopes, secret::SecretHash, token::TokenHash,
};
use uuid::Uuid;

/// Accounts of a database.
#[derive(Clone)]
pub(crate) struct Accounts {
    engine: Engine,
    authentication: Authentication,
    layers: Layers,
}

impl Accounts {
    pub(crate) fn new(engine: &Engine, authentication: &Authentication, layers: &Layers) -> Self {
        Self {
            engine: engine.clone(),
            authentication: authentication.clone(),
            layers: layers.clone(),
        }
    }
}

/// Operations of a transaction on accounts.
pub(crate) trait AccountTx: LayerTx {
    /// A user by email address. Locks names until the transaction ends.
    fn user_by_email(
        &mut self,
        email: &Email,
    ) -> impl Future<Output = Result<Option<StoredUser>>> + Send;

    /// Whether there is a user. Locks names until the transaction ends.
    fn has_users(&mut self) -> impl Future<Output = Result<bool>> + Send;

    /// The invitation of a link.
    fn invitation(
        &mut self,
        hash: &SecretHash,
    ) -> impl Future<Output = Result<Option<StoredInvitation>>> + Send;

    /// The owner of a token.
    fn token_owner(
        &mut self,
        workspace: WorkspaceId,
        token: TokenId,
    ) -> impl Future<Output = Result<Option<PersonId>>> + Send;

    fn write_user(&mut self, write: UserWrite) -> impl Future<Output = Result<()>> + Send;

    fn write_membership(
        &mut self,
        workspace: WorkspaceId,
        write: MembershipWrite,
    ) -> impl Future<Output = Result<()>> + Send;
}

/// A user as it is stored.
#[derive(Clone, Debug)]
pub(crate) struct StoredUser {
    id: UserId,
    email: Email,
    name: String,
}

/// An invitation as it is stored.
#[derive(Clone, Debug)]
pub(crate) struct StoredInvitation {
    id: InvitationId,
    workspace: WorkspaceId,
    hash: SecretHash,
    role: Role,
    email: Option<String>,
    invited_by: Option<PersonId>,
    created_at: Timestamp,
    expires_at: Timestamp,
}

/// A token to be written.
pub(crate) struct TokenInsert {
    id: TokenId,
    person: PersonId,
    name: String,
    hash: TokenHash,
    hint: String,
    scopes: Scopes,
    created_at: Timestamp,
    expires_at: Option<Timestamp>,
}

/// A write to users and their sessions.
pub(crate) enum UserWrite {
    Save { user: StoredUser, at: Timestamp },
    SetPassword { user: UserId, hash: String },
    EndSessions { user: UserId, except: Option<SessionId> },
}

/// A write to invitations and tokens of a workspace.
pub(crate) enum MembershipWrite {
    InsertInvitation(StoredInvitation),
    DeleteInvitation(InvitationId),
    InsertToken(TokenInsert),
    RevokeToken { token: TokenId, at: Timestamp },
    RevokeTokensOf { person: PersonId, at: Timestamp },
}

/// The permission to give someone this role.
fn permission_to_grant(role: Role) -> Permission {
    if role == Role::Owner { Permission::Own } else { Permission::Administer }
}

fn entry(
    actor: Actor,
    at: Timestamp,
    action: &'static str,
    subject: Uuid,
    before: Option<String>,
    after: Option<String>,
) -> NewAuditEntry {
    NewAuditEntry { at, actor: actor.person(), action, subject, before, after }
}
