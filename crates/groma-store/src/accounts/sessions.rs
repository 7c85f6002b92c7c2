//! Logging in: accounts, throttling of attempts, sessions, passwords.

use super::{
    Account, AccountTx, Accounts, NewSession, Preferences, Session, SessionRow, ThrottleBucket,
    UserWrite, postgres, sqlite,
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

    /// Counts a login attempt before it is made; `false` when one of the buckets is full, and the attempt
    /// must not be made.
    pub(crate) async fn begin_login_attempt(
        &self,
        buckets: Vec<ThrottleBucket>,
        now: Timestamp,
    ) -> Result<bool> {
        dispatch!(&self.engine, begin_login_attempt(buckets, now))
    }

    /// Removes the attempt counted at `at`, because it succeeded. The first bucket is emptied.
    pub(crate) async fn clear_login_attempt(
        &self,
        buckets: Vec<ThrottleBucket>,
        at: Timestamp,
    ) -> Result<()> {
        dispatch!(&self.engine, clear_login_attempt(buckets, at))
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

    /// Changes the password of the user of a session, and ends all their other sessions.
    pub(crate) async fn change_password(
        &self,
        session: SessionId,
        hash: String,
        address: &str,
        now: Timestamp,
    ) -> Result<()> {
        let address = address.to_owned();
        self.engine.transact(ChangePassword { session, hash, address, now }).await
    }

    /// Sets the password of a user and ends all their sessions.
    pub(crate) async fn set_password(
        &self,
        email: Email,
        hash: String,
        now: Timestamp,
    ) -> Result<()> {
        self.engine.transact(SetPassword { email, hash, now }).await
    }
}

/// The user of a session that must not have ended.
async fn find_user<T: AccountTx>(tx: &mut T, session: SessionId, now: Timestamp) -> Result<UserId> {
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
struct ChangePassword {
    session: SessionId,
    hash: String,
    address: String,
    now: Timestamp,
}

impl ChangePassword {
    async fn run<T: AccountTx>(self, tx: &mut T) -> Result<()> {
        let Self { session, hash, address, now } = self;
        let user = find_user(tx, session, now).await?;
        tx.write_user(UserWrite::SetPassword { user, hash }).await?;
        tx.write_user(UserWrite::EndSessions { user, except: Some(session) }).await?;
        let entry = NewSecurityEntry::new("password.changed", now).by(user).from_address(&address);
        tx.log_security(entry).await
    }
}

#[derive(Clone)]
struct SetPassword {
    email: Email,
    hash: String,
    now: Timestamp,
}

impl SetPassword {
    async fn run<T: AccountTx>(self, tx: &mut T) -> Result<()> {
        let Self { email, hash, now } = self;
        let not_found = || DomainError::NotFound { resource: "user", key: email.to_string() };
        let user = tx.user_by_email(&email).await?.ok_or_else(not_found)?.id;
        tx.write_user(UserWrite::SetPassword { user, hash }).await?;
        tx.write_user(UserWrite::EndSessions { user, except: None }).await?;
        tx.log_security(NewSecurityEntry::new("password.changed", now).about(user)).await
    }
}
