//! Logging in: accounts, throttling of attempts, sessions, passwords.

use super::{
    Account, AccountTx, Accounts, NewSession, Preferences, Session, SessionRow, UserWrite,
    email_links::{EmailLinkTx, EmailLinkWrite, delete_reset_links},
    postgres, sqlite,
    user_tokens::{self, RevokedBy},
};
use crate::{
    NewSecurityEntry, Result,
    engine::{dispatch, impl_work, random},
};
use groma_domain::{
    DomainError, Email, SessionId, Timestamp, UserId, WorkspaceId, secret::SecretHash,
};

impl_work! {
    SetPreferences => ();
    EndSessions => ();
    ChangePassword => ();
    SetPassword => ();
}

impl Accounts {
    /// Whether there is any user.
    pub(crate) async fn has_users(&self) -> Result<bool> {
        dispatch!(&self.engine, has_users())
    }

    /// Whether there is a user with this email address.
    pub(crate) async fn has_user(&self, email: &Email) -> Result<bool> {
        dispatch!(&self.engine, has_user(email))
    }

    /// The account of this email address.
    pub(crate) async fn account(&self, email: &Email) -> Result<Option<Account>> {
        dispatch!(&self.engine, account(email))
    }

    /// Whether this user has logged in with this device before.
    pub(crate) async fn is_known_device(&self, user: UserId, device: &SecretHash) -> Result<bool> {
        dispatch!(&self.engine, is_known_device(user, device))
    }

    /// Creates a session, and remembers its device.
    pub(crate) async fn create_session(
        &self,
        session: NewSession,
        device: Option<SecretHash>,
    ) -> Result<SessionId> {
        let id = SessionId::new(session.now, random());
        dispatch!(&self.engine, create_session(id, session, device))?;
        Ok(id)
    }

    /// The open session of this cookie.
    pub(crate) async fn session(
        &self,
        hash: &SecretHash,
        now: Timestamp,
    ) -> Result<Option<Session>> {
        dispatch!(&self.engine, session(hash, now))
    }

    /// Records that a session is used, and when it ends now.
    pub(crate) async fn touch_session(
        &self,
        session: SessionId,
        now: Timestamp,
        ends_at: Timestamp,
    ) -> Result<()> {
        dispatch!(&self.engine, touch_session(session, now, ends_at))
    }

    /// Records that the user of a session proved again who they are.
    pub(crate) async fn confirm_session(
        &self,
        session: SessionId,
        has_second_factor: bool,
        now: Timestamp,
    ) -> Result<()> {
        dispatch!(&self.engine, confirm_session(session, has_second_factor, now))
    }

    /// Sets how the user of a session wants the web application.
    pub(crate) async fn set_preferences(
        &self,
        session: SessionId,
        preferences: Preferences,
        now: Timestamp,
    ) -> Result<()> {
        self.engine.transact(SetPreferences { session, preferences, now }).await
    }

    /// Selects the workspace of a session.
    pub(crate) async fn select_workspace(
        &self,
        session: SessionId,
        user: UserId,
        workspace: WorkspaceId,
    ) -> Result<()> {
        dispatch!(&self.engine, select_workspace(session, user, workspace))
    }

    /// The open sessions of a user, most recently used first.
    pub(crate) async fn sessions(&self, user: UserId, now: Timestamp) -> Result<Vec<SessionRow>> {
        dispatch!(&self.engine, sessions(user, now))
    }

    /// The number of open sessions.
    pub(crate) async fn count_sessions(&self, now: Timestamp) -> Result<u64> {
        dispatch!(&self.engine, count_sessions(now))
    }

    /// Ends a session of a user at once.
    pub(crate) async fn end_session(&self, user: UserId, session: SessionId) -> Result<()> {
        dispatch!(&self.engine, end_session(user, session))
    }

    /// Ends all sessions of the user of a session, with that one or without it, and logins that have begun.
    pub(crate) async fn end_sessions(
        &self,
        session: SessionId,
        keep_own: bool,
        address: String,
        now: Timestamp,
    ) -> Result<()> {
        self.engine.transact(EndSessions { session, keep_own, address, now }).await
    }

    /// Changes the password of a user with a session, and ends all their other sessions.
    pub(crate) async fn change_password(&self, change: PasswordChange) -> Result<()> {
        self.engine.transact(ChangePassword(change)).await?;
        self.authentication.clear_cache();
        Ok(())
    }

    /// Sets the password of a user and ends all their sessions.
    pub(crate) async fn set_password(
        &self,
        email: Email,
        hash: String,
        revoke_tokens: bool,
        now: Timestamp,
    ) -> Result<()> {
        let not_found = || DomainError::NotFound { resource: "user", key: email.to_string() };
        let user = self.account(&email).await?.ok_or_else(not_found)?.user;
        self.engine.transact(SetPassword { user, hash, revoke_tokens, now }).await?;
        self.authentication.clear_cache();
        Ok(())
    }
}

/// A new password, chosen by the user of a session.
#[derive(Clone, Debug)]
pub struct PasswordChange {
    /// The session, which goes on.
    pub session: SessionId,
    /// Its user.
    pub user: UserId,
    /// The hash of the new password.
    pub hash: String,
    /// Whether to revoke the access tokens of the user in all workspaces.
    pub revoke_tokens: bool,
    /// The address of the client.
    pub address: String,
    /// When.
    pub now: Timestamp,
}

/// The user of a session that must not have ended.
pub(super) async fn find_user<T: AccountTx>(
    tx: &mut T,
    session: SessionId,
    now: Timestamp,
) -> Result<UserId> {
    Ok(tx.user_of_session(session, now).await?.ok_or(DomainError::AccessEnded)?)
}

#[derive(Clone)]
struct SetPreferences {
    session: SessionId,
    preferences: Preferences,
    now: Timestamp,
}

impl SetPreferences {
    async fn run<T: AccountTx>(self, tx: &mut T) -> Result<()> {
        let Self { session, preferences, now } = self;
        let user = find_user(tx, session, now).await?;
        tx.write_user(UserWrite::SetPreferences { user, preferences }).await
    }
}

#[derive(Clone)]
struct EndSessions {
    session: SessionId,
    keep_own: bool,
    address: String,
    now: Timestamp,
}

impl EndSessions {
    async fn run<T: AccountTx>(self, tx: &mut T) -> Result<()> {
        let Self { session, keep_own, address, now } = self;
        let user = find_user(tx, session, now).await?;
        let except = keep_own.then_some(session);
        tx.write_user(UserWrite::EndSessions { user, except }).await?;
        let action = if keep_own { "session.othersEnded" } else { "session.allEnded" };
        tx.log_security(NewSecurityEntry::new(action, now).by(user).from_address(&address)).await
    }
}

#[derive(Clone)]
struct ChangePassword(PasswordChange);

impl ChangePassword {
    async fn run<T: EmailLinkTx>(self, tx: &mut T) -> Result<()> {
        let PasswordChange { session, user, hash, revoke_tokens, address, now } = self.0;
        // First, because a reset locks the link before everything else.
        delete_reset_links(tx, user).await?;
        if revoke_tokens {
            user_tokens::revoke(tx, user, RevokedBy::User, now).await?;
        }
        if find_user(tx, session, now).await? != user {
            return Err(DomainError::AccessEnded.into());
        }
        tx.write_user(UserWrite::SetPassword { user, hash }).await?;
        tx.write_user(UserWrite::EndSessions { user, except: Some(session) }).await?;
        let entry = NewSecurityEntry::new("password.changed", now).by(user).from_address(&address);
        tx.log_security(entry).await
    }
}

#[derive(Clone)]
struct SetPassword {
    user: UserId,
    hash: String,
    revoke_tokens: bool,
    now: Timestamp,
}

impl SetPassword {
    async fn run<T: EmailLinkTx>(self, tx: &mut T) -> Result<()> {
        let Self { user, hash, revoke_tokens, now } = self;
        // First, because a reset locks the link before everything else.
        delete_reset_links(tx, user).await?;
        if revoke_tokens {
            user_tokens::revoke(tx, user, RevokedBy::Operator, now).await?;
        }
        tx.write_user(UserWrite::SetPassword { user, hash }).await?;
        tx.write_user(UserWrite::EndSessions { user, except: None }).await?;
        // Whoever knew the old password may have logged in with one of them.
        tx.write_email_link(EmailLinkWrite::ForgetDevices { user }).await?;
        tx.log_security(NewSecurityEntry::new("password.changed", now).about(user)).await
    }
}
