//! Second factors: authenticator apps, passkeys, and the recovery codes for those who lost theirs.

pub(crate) mod postgres;
pub(crate) mod sqlite;

use super::{
    Accounts, UserWrite,
    email_links::{EmailLinkTx, delete_reset_links},
    sessions::find_user,
    user_tokens::{self, RevokedBy},
};
use crate::{
    NewMail, NewSecurityEntry, Result,
    engine::{dispatch, impl_work, random},
    mail,
    secret_encryption::SecretsToEncrypt,
};
use groma_domain::{
    DomainError, Email, PasskeyId, SessionId, Timestamp, UserId, Violation, secret::SecretHash,
};

/// The second factors of a user.
#[derive(Clone, Debug, Default)]
pub struct SecondFactors {
    /// The app that generates codes.
    pub authenticator_app: Option<AuthenticatorApp>,
    /// The passkeys, oldest first.
    pub passkeys: Vec<StoredPasskey>,
    /// The number of unused recovery codes.
    pub recovery_codes: u64,
}

impl SecondFactors {
    /// Whether logins need a second factor.
    #[must_use]
    pub fn exist(&self) -> bool {
        self.authenticator_app.is_some() || !self.passkeys.is_empty()
    }
}

/// An app that generates one-time codes. `Debug` does not print its secret.
#[derive(Clone)]
pub struct AuthenticatorApp {
    /// The shared secret.
    pub secret: Vec<u8>,
    /// When it was set up.
    pub created_at: Timestamp,
}

impl std::fmt::Debug for AuthenticatorApp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AuthenticatorApp(…)")
    }
}

/// A passkey.
#[derive(Clone, Debug)]
pub struct StoredPasskey {
    /// Its id.
    pub id: PasskeyId,
    /// The id that the authenticator knows it by.
    pub credential_id: Vec<u8>,
    /// Its public key and counter as JSON.
    pub credential: String,
    /// What its owner calls it.
    pub name: String,
    /// When it was registered.
    pub created_at: Timestamp,
    /// When it was last used.
    pub last_used_at: Option<Timestamp>,
}

/// A change of the ways in which a user logs in.
#[derive(Clone)]
pub enum FactorChange {
    /// Sets up an authenticator app, in place of an earlier one.
    AddAuthenticatorApp {
        /// The shared secret.
        secret: Vec<u8>,
        /// The time step of the code that proved it.
        step: u64,
    },
    /// Removes the authenticator app.
    RemoveAuthenticatorApp,
    /// Adds a passkey.
    AddPasskey(StoredPasskey),
    /// Removes a passkey.
    RemovePasskey(PasskeyId),
    /// Invalidates the recovery codes; the new ones come with the change.
    ReplaceRecoveryCodes,
    /// Removes the password: only passkeys or an identity provider log the user in.
    RemovePassword {
        /// The user of the session.
        user: UserId,
        /// Whether their access tokens are revoked with it.
        revoke_tokens: bool,
    },
}

impl FactorChange {
    fn action(&self) -> &'static str {
        match self {
            Self::AddAuthenticatorApp { .. } => "factor.appAdded",
            Self::RemoveAuthenticatorApp => "factor.appRemoved",
            Self::AddPasskey(_) => "factor.passkeyAdded",
            Self::RemovePasskey(_) => "factor.passkeyRemoved",
            Self::ReplaceRecoveryCodes => "factor.recoveryCodesReplaced",
            Self::RemovePassword { .. } => "password.removed",
        }
    }
}

/// A change of factors by their owner.
#[derive(Clone)]
pub struct OwnFactorChange {
    /// The session of the owner.
    pub session: SessionId,
    /// What changes.
    pub change: FactorChange,
    /// The hashes of new recovery codes. They are used if the user has none, or asked for new ones.
    pub recovery_codes: Vec<SecretHash>,
    /// The mail that tells the user.
    pub notice: Option<NewMail>,
    /// The address of the client.
    pub address: String,
}

/// How a user can log in.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LoginMethods {
    pub(crate) has_password: bool,
    pub(crate) has_app: bool,
    pub(crate) passkeys: u64,
    pub(crate) identities: u64,
    pub(crate) recovery_codes: u64,
    /// Whether a workspace of the user requires a second factor.
    pub(crate) requires_second_factor: bool,
}

/// Operations of a transaction on second factors.
pub(crate) trait FactorTx: EmailLinkTx {
    /// How a user can log in. Locks the user until the transaction ends.
    fn login_methods(&mut self, user: UserId) -> impl Future<Output = Result<LoginMethods>> + Send;

    fn write_factor(&mut self, write: FactorWrite) -> impl Future<Output = Result<()>> + Send;
}

/// A write to second factors.
pub(crate) enum FactorWrite {
    /// The secret is encrypted already.
    SaveApp {
        user: UserId,
        secret: Vec<u8>,
        step: u64,
        at: Timestamp,
    },
    DeleteApp(UserId),
    InsertPasskey(UserId, StoredPasskey),
    DeletePasskey(UserId, PasskeyId),
    DeletePasskeys(UserId),
    ReplaceRecoveryCodes(UserId, Vec<SecretHash>),
    RemovePassword(UserId),
    /// The session now has a second factor.
    RaiseSession(SessionId),
}

impl_work! {
    ChangeFactors => bool;
    RemoveFactors => ();
}

impl Accounts {
    /// The second factors of a user.
    pub(crate) async fn second_factors(&self, user: UserId) -> Result<SecondFactors> {
        let mut factors = dispatch!(&self.engine, second_factors(user))?;
        if let Some(app) = &mut factors.authenticator_app {
            app.secret = self.webhooks.cipher().decrypt(user.0.as_bytes(), &app.secret)?;
        }
        Ok(factors)
    }

    /// Changes the factors of the user of a session. Returns whether the new recovery codes are in use.
    pub(crate) async fn change_factors(
        &self,
        change: OwnFactorChange,
        now: Timestamp,
    ) -> Result<bool> {
        let webhooks = self.webhooks.clone();
        let uses_new_codes = self.engine.transact(ChangeFactors { change, webhooks, now }).await?;
        self.authentication.clear_cache();
        Ok(uses_new_codes)
    }

    /// Removes all second factors of a user who lost them, and ends their sessions.
    pub(crate) async fn remove_factors(&self, email: Email, now: Timestamp) -> Result<()> {
        self.engine.transact(RemoveFactors { email, now }).await
    }

    /// Uses a code of the authenticator app of a user; `false` if it, or a later one, was used before.
    pub(crate) async fn use_authenticator_code(&self, user: UserId, step: u64) -> Result<bool> {
        dispatch!(&self.engine, use_authenticator_code(user, step))
    }

    /// Uses up a recovery code; `false` if the user has no such code.
    pub(crate) async fn use_recovery_code(&self, user: UserId, code: &SecretHash) -> Result<bool> {
        dispatch!(&self.engine, use_recovery_code(user, code))
    }

    /// Records that a passkey was used, and its new counter.
    pub(crate) async fn use_passkey(
        &self,
        passkey: PasskeyId,
        credential: &str,
        now: Timestamp,
    ) -> Result<()> {
        dispatch!(&self.engine, use_passkey(passkey, credential, now))
    }

    /// Encrypts the secrets of authenticator apps: the unencrypted ones, or all with the current key.
    pub(crate) async fn encrypt_secrets(&self, which: SecretsToEncrypt) -> Result<u64> {
        dispatch!(&self.engine, encrypt_secrets(&self.webhooks, which))
    }
}

#[derive(Clone)]
struct ChangeFactors {
    change: OwnFactorChange,
    webhooks: std::sync::Arc<crate::webhooks::WebhookContext>,
    now: Timestamp,
}

impl ChangeFactors {
    async fn run<T: FactorTx>(self, tx: &mut T) -> Result<bool> {
        let Self { change, webhooks, now } = self;
        let OwnFactorChange { session, change, recovery_codes, notice, address } = change;
        if let FactorChange::RemovePassword { user, revoke_tokens } = change {
            // First, because a reset locks the link before everything else.
            delete_reset_links(tx, user).await?;
            if revoke_tokens {
                user_tokens::revoke(tx, user, RevokedBy::User, now).await?;
            }
        }
        let user = find_user(tx, session, now).await?;
        if matches!(change, FactorChange::RemovePassword { user: of, .. } if of != user) {
            return Err(DomainError::AccessEnded.into());
        }
        let before = tx.login_methods(user).await?;
        let after = before.after(&change);
        check(before, after)?;
        let action = change.action();
        let replaces_codes = matches!(change, FactorChange::ReplaceRecoveryCodes);
        let raises = matches!(
            change,
            FactorChange::AddAuthenticatorApp { .. } | FactorChange::AddPasskey(_)
        );
        let write = match change {
            FactorChange::AddAuthenticatorApp { secret, step } => {
                let secret = webhooks.cipher().encrypt(user.0.as_bytes(), &secret)?;
                Some(FactorWrite::SaveApp { user, secret, step, at: now })
            }
            FactorChange::RemoveAuthenticatorApp => Some(FactorWrite::DeleteApp(user)),
            FactorChange::AddPasskey(passkey) => Some(FactorWrite::InsertPasskey(user, passkey)),
            FactorChange::RemovePasskey(id) => Some(FactorWrite::DeletePasskey(user, id)),
            FactorChange::RemovePassword { .. } => Some(FactorWrite::RemovePassword(user)),
            FactorChange::ReplaceRecoveryCodes => None,
        };
        if let Some(write) = write {
            tx.write_factor(write).await?;
        }
        if raises {
            tx.write_factor(FactorWrite::RaiseSession(session)).await?;
        }
        let has_factor = after.has_second_factor();
        let uses_new_codes = has_factor && (replaces_codes || before.recovery_codes == 0);
        if uses_new_codes {
            let replace = FactorWrite::ReplaceRecoveryCodes(user, recovery_codes);
            tx.write_factor(replace).await?;
        } else if !has_factor {
            tx.write_factor(FactorWrite::ReplaceRecoveryCodes(user, Vec::new())).await?;
        }
        let entry = NewSecurityEntry::new(action, now).by(user).from_address(&address);
        tx.log_security(entry).await?;
        mail::enqueue_notice(tx, notice, now).await?;
        Ok(uses_new_codes)
    }
}

impl LoginMethods {
    pub(crate) fn has_second_factor(self) -> bool {
        self.has_app || self.passkeys > 0
    }

    pub(super) fn can_log_in(self) -> bool {
        self.has_password || self.passkeys > 0 || self.identities > 0
    }

    fn after(self, change: &FactorChange) -> Self {
        let mut after = self;
        match change {
            FactorChange::AddAuthenticatorApp { .. } => after.has_app = true,
            FactorChange::RemoveAuthenticatorApp => after.has_app = false,
            FactorChange::AddPasskey(_) => after.passkeys += 1,
            FactorChange::RemovePasskey(_) => after.passkeys = after.passkeys.saturating_sub(1),
            FactorChange::RemovePassword { .. } => after.has_password = false,
            FactorChange::ReplaceRecoveryCodes => {}
        }
        after
    }
}

/// A user must stay able to log in, also to workspaces that require a second factor.
pub(super) fn check(before: LoginMethods, after: LoginMethods) -> Result<()> {
    if before.can_log_in() && !after.can_log_in() {
        return Err(DomainError::invalid("factor", Violation::LastLoginMethod).into());
    }
    let loses_factor = before.has_second_factor() && !after.has_second_factor();
    if loses_factor && after.requires_second_factor {
        return Err(DomainError::invalid("factor", Violation::SecondFactorRequired).into());
    }
    Ok(())
}

#[derive(Clone)]
struct RemoveFactors {
    email: Email,
    now: Timestamp,
}

impl RemoveFactors {
    async fn run<T: FactorTx>(self, tx: &mut T) -> Result<()> {
        let Self { email, now } = self;
        let not_found = || DomainError::NotFound { resource: "user", key: email.to_string() };
        let user = tx.user_by_email(&email).await?.ok_or_else(not_found)?.id;
        for write in [
            FactorWrite::DeleteApp(user),
            FactorWrite::DeletePasskeys(user),
            FactorWrite::ReplaceRecoveryCodes(user, Vec::new()),
        ] {
            tx.write_factor(write).await?;
        }
        tx.write_user(UserWrite::EndSessions { user, except: None }).await?;
        tx.log_security(NewSecurityEntry::new("factor.allRemoved", now).about(user)).await
    }
}

/// The id of a new passkey.
#[must_use]
pub fn new_passkey_id(now: Timestamp) -> PasskeyId {
    PasskeyId::new(now, random())
}
