//! Logins that wait for their next step: for a second factor, for the answer of an identity provider or of a
//! passkey. The browser holds the secret of a pending login in a cookie; only its hash is stored.

pub(crate) mod postgres;
pub(crate) mod sqlite;

use super::Accounts;
use crate::{Result, engine::dispatch};
use groma_domain::{Timestamp, UserId, secret::SecretHash};

/// How many logins can be pending before those of strangers are rejected.
const MAX_PENDING: i64 = 20_000;

/// What a pending login waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoginStep {
    /// A code or a passkey, after the password or the identity provider.
    SecondFactor,
    /// The answer of an identity provider.
    Provider,
    /// The answer of a passkey.
    Passkey,
    /// The answer of a new passkey, or the first code of an authenticator app.
    Registration,
}

impl LoginStep {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::SecondFactor => "second-factor",
            Self::Provider => "provider",
            Self::Passkey => "passkey",
            Self::Registration => "registration",
        }
    }
}

/// A pending login.
#[derive(Clone, Debug)]
pub struct PendingLogin {
    /// What it waits for.
    pub step: LoginStep,
    /// Whose login it is, if that is known.
    pub user: Option<UserId>,
    /// What the next step needs, as JSON.
    pub data: String,
    /// When it is no longer valid.
    pub expires_at: Timestamp,
}

impl Accounts {
    /// Saves a pending login; `false` if its user is not known and too many are pending.
    pub(crate) async fn save_pending_login(
        &self,
        hash: &SecretHash,
        pending: PendingLogin,
        now: Timestamp,
    ) -> Result<bool> {
        dispatch!(&self.engine, save_pending_login(hash, pending, now))
    }

    /// The pending login of a cookie, which stays pending.
    pub(crate) async fn pending_login(
        &self,
        hash: &SecretHash,
        step: LoginStep,
        now: Timestamp,
    ) -> Result<Option<PendingLogin>> {
        dispatch!(&self.engine, pending_login(hash, step, now))
    }

    /// The pending login of a cookie, which is used up: only one of two who take it gets it.
    pub(crate) async fn take_pending_login(
        &self,
        hash: &SecretHash,
        step: LoginStep,
        now: Timestamp,
    ) -> Result<Option<PendingLogin>> {
        dispatch!(&self.engine, take_pending_login(hash, step, now))
    }
}
