//! What is stored and listed of users, sessions, members, invitations and tokens.

use crate::people::StoredPerson;
use groma_domain::{
    Email, InvitationId, Person, PersonId, Role, SessionId, Timestamp, TokenId, UserId,
    WorkspaceId, scope::Scopes, secret::SecretHash, token::TokenHash, workspace::Workspace,
};

/// A user and their password hash.
#[derive(Clone, Debug)]
pub struct Account {
    /// The user.
    pub user: UserId,
    /// The hash of their password; without one they cannot log in.
    pub password_hash: Option<String>,
    /// Their email address.
    pub email: Email,
    /// The language that they chose, if any.
    pub language: Option<String>,
    /// When they proved to receive mail at the address.
    pub email_verified_at: Option<Timestamp>,
    /// Since when they cannot log in.
    pub disabled_at: Option<Timestamp>,
}

/// A session to be created.
#[derive(Clone, Debug)]
pub struct NewSession {
    /// The hash of its cookie.
    pub hash: SecretHash,
    /// Its user.
    pub user: UserId,
    /// The browser's user agent.
    pub user_agent: String,
    /// The client address.
    pub address: String,
    /// Whether the user logged in with a second factor.
    pub has_second_factor: bool,
    /// The identity provider that logged the user in.
    pub provider: Option<String>,
    /// When it begins.
    pub now: Timestamp,
    /// When it ends.
    pub ends_at: Timestamp,
}

/// An open session and the memberships of its user.
#[derive(Clone, Debug)]
pub struct Session {
    /// Its id.
    pub id: SessionId,
    /// Its user.
    pub user: UserId,
    /// The user's email address.
    pub email: Email,
    /// The user's name.
    pub name: String,
    /// The selected workspace, if any.
    pub workspace: Option<WorkspaceId>,
    /// When it began.
    pub created_at: Timestamp,
    /// When it was last used, approximately.
    pub last_seen_at: Timestamp,
    /// When it ends.
    pub ends_at: Timestamp,
    /// How the user wants the web application.
    pub preferences: Preferences,
    /// When the user last proved who they are.
    pub authenticated_at: Timestamp,
    /// Whether the user logged in with a second factor.
    pub has_second_factor: bool,
    /// The identity provider that logged the user in.
    pub provider: Option<String>,
    /// The workspaces of the user, by name.
    pub memberships: Vec<Membership>,
}

/// How a user wants the web application. `None`: as the browser asks for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preferences {
    /// The language tag, for example `fr`.
    pub language: Option<String>,
    /// `light` or `dark`.
    pub theme: Option<String>,
}

/// A membership of a user in a workspace.
#[derive(Clone, Debug)]
pub struct Membership {
    /// The workspace.
    pub workspace: Workspace,
    /// The user as a person of the workspace.
    pub person: Person,
    /// The user's role.
    pub role: Role,
    /// Whether the workspace requires a second factor.
    pub requires_second_factor: bool,
}

/// A session in a list.
#[derive(Clone, Debug)]
pub struct SessionRow {
    /// Its id.
    pub id: SessionId,
    /// When it began.
    pub created_at: Timestamp,
    /// When it was last used, approximately.
    pub last_seen_at: Timestamp,
    /// When it ends.
    pub ends_at: Timestamp,
    /// The browser's user agent.
    pub user_agent: String,
    /// The client address.
    pub address: String,
}

/// How long a device is remembered after its last login.
pub(super) const DEVICE_RETENTION_MILLIS: i64 = 400 * 24 * 60 * 60 * 1_000;

/// A person of a workspace.
#[derive(Clone, Debug)]
pub struct KnownPerson {
    /// The person.
    pub person: Person,
    /// The role; `None` for a person who is not a member.
    pub role: Option<Role>,
    /// Whether the person used to be a member.
    pub is_removed: bool,
    /// Whether it is a service account: a member without a login.
    pub is_service_account: bool,
    /// The account that the person logs in with.
    pub user: Option<UserId>,
}

impl From<StoredPerson> for KnownPerson {
    fn from(stored: StoredPerson) -> Self {
        let is_service_account = stored.is_service_account();
        let StoredPerson { person, user, role } = stored;
        let is_removed = role.is_none() && (user.is_some() || person.is_erased());
        Self { person, role, is_removed, is_service_account, user }
    }
}

/// An open invitation.
#[derive(Clone, Debug)]
pub struct Invitation {
    /// Its id.
    pub id: InvitationId,
    /// The role of the new member.
    pub role: Role,
    /// The email address it is for.
    pub email: String,
    /// Who created it; `None` for the command line.
    pub invited_by: Option<PersonId>,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it expires.
    pub expires_at: Timestamp,
}

impl From<StoredInvitation> for Invitation {
    fn from(stored: StoredInvitation) -> Self {
        let StoredInvitation { id, role, email, invited_by, created_at, expires_at, .. } = stored;
        Self { id, role, email, invited_by, created_at, expires_at }
    }
}

/// A token in a list.
#[derive(Clone, Debug)]
pub struct TokenRow {
    /// The token's id.
    pub id: TokenId,
    /// Its workspace's name.
    pub workspace: String,
    /// Its name.
    pub name: String,
    /// Its last characters.
    pub hint: Option<String>,
    /// Its owner.
    pub person: PersonId,
    /// Its owner's name.
    pub owner_name: String,
    /// Its owner's email address.
    pub owner: String,
    /// Its scopes.
    pub scopes: Scopes,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it expires, by itself or by the longest lifetime of tokens.
    pub expires_at: Option<Timestamp>,
    /// Whether the longest lifetime ends it earlier than it would by itself.
    pub is_shortened: bool,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
    /// When it was last used.
    pub last_used_at: Option<Timestamp>,
    /// The address of the client that used it last.
    pub last_used_from: Option<String>,
    /// Whether it cannot change anything.
    pub is_read_only: bool,
}

/// A user as it is stored.
#[derive(Clone, Debug)]
pub(crate) struct StoredUser {
    pub(super) id: UserId,
    pub(super) email: Email,
    pub(super) name: String,
    pub(super) disabled_at: Option<Timestamp>,
}

/// An invitation as it is stored.
#[derive(Clone, Debug)]
pub(crate) struct StoredInvitation {
    pub(super) id: InvitationId,
    pub(super) workspace: WorkspaceId,
    pub(super) hash: SecretHash,
    pub(super) role: Role,
    pub(super) email: String,
    /// Whether only a mail to that address contains the link.
    pub(super) is_mailed: bool,
    pub(super) invited_by: Option<PersonId>,
    pub(super) created_at: Timestamp,
    pub(super) expires_at: Timestamp,
}

/// A token to be written.
pub(crate) struct TokenInsert {
    pub(super) id: TokenId,
    pub(super) person: PersonId,
    pub(super) name: String,
    pub(super) hash: TokenHash,
    pub(super) hint: String,
    pub(super) scopes: Scopes,
    pub(super) created_at: Timestamp,
    pub(super) expires_at: Option<Timestamp>,
    pub(super) is_read_only: bool,
}

/// A write to users and their sessions.
pub(crate) enum UserWrite {
    Save { user: StoredUser, at: Timestamp },
    SetPassword { user: UserId, hash: String },
    SetPreferences { user: UserId, preferences: Preferences },
    EndSessions { user: UserId, except: Option<SessionId> },
    VerifyEmail { email: Email, at: Timestamp },
    SetDisabled { user: UserId, at: Option<Timestamp> },
}

/// A write to invitations and tokens of a workspace.
pub(crate) enum MembershipWrite {
    InsertInvitation(StoredInvitation),
    DeleteInvitation(InvitationId),
    InsertToken(TokenInsert),
    RevokeToken { token: TokenId, at: Timestamp },
    RevokeTokensOf { person: PersonId, at: Timestamp },
}
