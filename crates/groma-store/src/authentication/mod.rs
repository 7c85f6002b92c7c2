//! Authentication of a request: the token, its owner and scopes, and its rate limit.
//!
//! On SQLite, where one program serves, tokens are cached and rate windows are in memory; they are handed
//! to the next program through the database. On PostgreSQL one SQL function does both, so that all replicas
//! count together, and concurrent requests share its calls.

mod auth_batch;
pub(crate) mod postgres;
mod rate_limit;
pub(crate) mod sqlite;
mod token_cache;

use crate::{
    Result,
    engine::{Engine, dispatch},
};
use auth_batch::AuthBatch;
use groma_domain::{
    PersonId, Role, Timestamp, TokenId, WorkspaceId, rate_limit::RateLimitStatus, scope::Scopes,
    token::PresentedToken,
};
use parking_lot::Mutex;
use rate_limit::RateWindows;
use rustc_hash::FxHashMap;
use std::{
    net::IpAddr,
    sync::{Arc, OnceLock},
};
use token_cache::TokenCache;

/// A valid token and what it may do.
#[derive(Clone, Debug)]
pub struct AuthenticatedToken {
    /// The token.
    pub token: TokenId,
    /// Its workspace.
    pub workspace: WorkspaceId,
    /// Its owner.
    pub person: PersonId,
    /// Its owner's current role.
    pub role: Role,
    /// Its scopes.
    pub scopes: Scopes,
    /// When it expires, by itself or by the longest lifetime of tokens.
    pub expires_at: Option<Timestamp>,
    /// Whether it cannot change anything.
    pub is_read_only: bool,
}

/// The outcome of authenticating a token.
#[derive(Debug)]
pub enum AuthOutcome {
    /// The token does not exist, is revoked, or its owner is no longer a member.
    Unknown,
    /// The token has expired.
    Expired,
    /// The token is valid. `rate` is `None` when there is no limit; otherwise it says whether this request
    /// is within it.
    Valid {
        /// The token.
        token: Arc<AuthenticatedToken>,
        /// Its rate limit.
        rate: Option<RateLimitStatus>,
    },
}

/// Authentication against a database.
#[derive(Clone)]
pub(crate) struct Authentication {
    engine: Engine,
    state: Arc<AuthState>,
}

/// What is in memory.
struct AuthState {
    /// Tokens that were used, on SQLite.
    tokens: TokenCache,
    /// The rate windows, on SQLite.
    rates: RateWindows,
    /// Requests that wait for the next call of the database, on PostgreSQL.
    batch: AuthBatch,
    last_uses: LastUses,
    /// How many days tokens of this installation are valid at most.
    max_token_days: OnceLock<u32>,
}

impl Authentication {
    pub(crate) fn new(engine: &Engine) -> Self {
        let state = Arc::new(AuthState {
            tokens: TokenCache::default(),
            rates: RateWindows::new(),
            batch: AuthBatch::default(),
            last_uses: LastUses::default(),
            max_token_days: OnceLock::new(),
        });
        if let Engine::Sqlite(sqlite) = engine {
            let state = state.clone();
            sqlite.on_commit(move || state.tokens.clear());
        }
        Self { engine: engine.clone(), state }
    }

    /// Ends all tokens this many days after they were created.
    pub(crate) fn limit_tokens(&self, max_days: u32) {
        let _ = self.state.max_token_days.set(max_days);
        self.clear_cache();
    }

    /// How many days tokens of this installation are valid at most.
    pub(crate) fn max_token_days(&self) -> Option<u32> {
        self.state.max_token_days.get().copied()
    }

    /// Looks up a token and counts a request against its rate limit.
    pub(crate) async fn authenticate(
        &self,
        token: PresentedToken<'_>,
        limit: u32,
        client: Option<IpAddr>,
        now: Timestamp,
    ) -> Result<AuthOutcome> {
        match &self.engine {
            Engine::Sqlite(engine) => {
                sqlite::authenticate(engine, &self.state, token, limit, client, now)
            }
            Engine::Postgres(engine) => {
                auth_batch::authenticate(engine, &self.state, token.hash(), limit, client, now)
                    .await
            }
        }
    }

    /// Takes back an accepted request, so that it does not count against the rate limit.
    pub(crate) async fn release_request(
        &self,
        token: TokenId,
        rate: RateLimitStatus,
    ) -> Result<()> {
        match &self.engine {
            Engine::Sqlite(_) => {
                self.state.rates.release(token, rate.at);
                Ok(())
            }
            Engine::Postgres(engine) => postgres::release_request(engine, token, rate.at).await,
        }
    }

    /// Forgets cached tokens, so that a change takes effect at once.
    pub(crate) fn clear_cache(&self) {
        self.state.tokens.clear();
    }

    /// Restores the rate windows that the last program saved.
    pub(crate) fn restore_rate_windows(&self) -> Result<()> {
        match &self.engine {
            Engine::Sqlite(engine) => sqlite::restore_rate_windows(engine, &self.state),
            Engine::Postgres(_) => Ok(()),
        }
    }

    /// Saves the rate windows for the next program.
    pub(crate) async fn save_rate_windows(&self) -> Result<()> {
        match &self.engine {
            Engine::Sqlite(engine) => sqlite::save_rate_windows(engine, &self.state).await,
            Engine::Postgres(_) => Ok(()),
        }
    }

    /// Writes when tokens were last used, and deletes expired idempotency keys and rate windows.
    pub(crate) async fn flush(&self, now: Timestamp) -> Result<()> {
        dispatch!(&self.engine, flush(&self.state, now))
    }
}

/// When and from where a token was last used.
struct LastUse {
    at: Timestamp,
    from: Option<IpAddr>,
}

/// The last uses of tokens, written periodically instead of with every request.
#[derive(Default)]
struct LastUses(Mutex<FxHashMap<TokenId, LastUse>>);

impl LastUses {
    fn record(&self, token: TokenId, from: Option<IpAddr>, at: Timestamp) {
        self.0.lock().insert(token, LastUse { at, from });
    }

    fn take(&self) -> Vec<(TokenId, LastUse)> {
        std::mem::take(&mut *self.0.lock()).into_iter().collect()
    }
}
