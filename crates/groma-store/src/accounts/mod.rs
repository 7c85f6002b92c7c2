//! Accounts: users and their sessions, login throttling, members, invitations, tokens, and the creation
//! and deletion of workspaces. None of this is an event; what changes a workspace is in its audit log.

pub(crate) mod email_links;
pub(crate) mod erasure;
pub(crate) mod identities;
mod invitations;
pub(crate) mod login_attempts;
mod members;
pub(crate) mod pending_logins;
pub(crate) mod postgres;
pub(crate) mod second_factors;
mod sessions;
pub(crate) mod sqlite;
pub(crate) mod token_expiry;
mod tokens;
mod types;
pub(crate) mod user_tokens;
pub(crate) mod users;
mod workspaces;

pub use email_links::{LinkPurpose, NewEmailLink, PasswordReset};
pub use identities::{
    Identity, IdentityChange, ProviderAccess, ProviderAccount, ProviderLogin, ProviderOutcome,
};
pub use invitations::NewInvitation;
pub use login_attempts::{LoginAttemptOutcome, ThrottleBucket, ThrottleRule};
pub use members::{Member, NewUser};
pub use pending_logins::{LoginStep, PendingLogin};
pub use second_factors::{
    AuthenticatorApp, FactorChange, OwnFactorChange, SecondFactors, StoredPasskey, new_passkey_id,
};
pub use sessions::PasswordChange;
pub use token_expiry::{ExpiringToken, TokenRecipient};
pub use tokens::NewToken;
pub use types::{
    Account, Invitation, KnownPerson, Membership, NewSession, Preferences, Session, SessionRow,
    TokenRow,
};
pub(crate) use types::{MembershipWrite, StoredInvitation, StoredUser, TokenInsert, UserWrite};
pub use users::{AccountAuthority, DisableUser, UserFilter, UserRow, UserWorkspace};

use crate::{
    Result,
    actor::AuthorizedActor,
    audit_log::NewAuditEntry,
    authentication::Authentication,
    engine::Engine,
    layers::{LayerTx, Layers},
    mail::MailTx,
    webhooks::WebhookContext,
};
use groma_domain::{
    Email, InvitationId, Permission, PersonId, Role, SessionId, Timestamp, TokenId, UserId,
    WorkspaceId, secret::SecretHash,
};
use std::sync::Arc;
use uuid::Uuid;

/// Accounts of a database.
#[derive(Clone)]
pub(crate) struct Accounts {
    engine: Engine,
    authentication: Authentication,
    layers: Layers,
    webhooks: Arc<WebhookContext>,
}

impl Accounts {
    pub(crate) fn new(
        engine: &Engine,
        authentication: &Authentication,
        layers: &Layers,
        webhooks: &Arc<WebhookContext>,
    ) -> Self {
        Self {
            engine: engine.clone(),
            authentication: authentication.clone(),
            layers: layers.clone(),
            webhooks: webhooks.clone(),
        }
    }
}

/// Operations of a transaction on accounts.
pub(crate) trait AccountTx: LayerTx + MailTx {
    /// A user by email address. Locks names until the transaction ends.
    fn user_by_email(
        &mut self,
        email: &Email,
    ) -> impl Future<Output = Result<Option<StoredUser>>> + Send;

    /// The user of a session that has not ended. It cannot end before the transaction does.
    fn user_of_session(
        &mut self,
        session: SessionId,
        now: Timestamp,
    ) -> impl Future<Output = Result<Option<UserId>>> + Send;

    /// Whether there is a user. Locks names until the transaction ends.
    fn has_users(&mut self) -> impl Future<Output = Result<bool>> + Send;

    /// The invitation of a link.
    fn invitation(
        &mut self,
        hash: &SecretHash,
    ) -> impl Future<Output = Result<Option<StoredInvitation>>> + Send;

    /// Whether a workspace has an open invitation with this id.
    fn has_invitation(
        &mut self,
        workspace: WorkspaceId,
        invitation: InvitationId,
    ) -> impl Future<Output = Result<bool>> + Send;

    /// Whether only sessions with a second factor may use a workspace.
    fn requires_second_factor(
        &mut self,
        workspace: WorkspaceId,
    ) -> impl Future<Output = Result<bool>> + Send;

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

/// The permission to give someone this role.
fn permission_to_grant(role: Role) -> Permission {
    if role == Role::Owner { Permission::Own } else { Permission::Administer }
}

fn entry(
    actor: AuthorizedActor,
    at: Timestamp,
    action: &'static str,
    subject: Uuid,
    before: Option<String>,
    after: Option<String>,
) -> NewAuditEntry {
    NewAuditEntry { at, actor: actor.into(), action, subject, before, after }
}
