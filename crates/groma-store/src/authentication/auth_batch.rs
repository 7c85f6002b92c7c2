//! Requests on PostgreSQL are authenticated together: while one call of the database is under way, those
//! that arrive wait for the next. So a busy program calls it a few times a millisecond at most, and the row
//! of a busy token is locked once for many requests.

use super::{AuthOutcome, AuthState, AuthenticatedToken, postgres};
use crate::{Error, Result, engine::postgres::Postgres};
use futures_util::FutureExt;
use groma_domain::{
    PersonId, Role, Timestamp, TokenId, WorkspaceId, rate_limit::RateLimitStatus, scope::Scopes,
    token::TokenHash,
};
use parking_lot::Mutex;
use std::{net::IpAddr, panic::AssertUnwindSafe, sync::Arc};
use tokio::sync::oneshot;
use tokio_postgres::Row;
use uuid::Uuid;

/// The requests that wait for the next call.
#[derive(Default)]
pub(super) struct AuthBatch(Mutex<Queue>);

#[derive(Default)]
struct Queue {
    /// Whether a task works on the queue.
    has_task: bool,
    requests: Vec<AuthRequest>,
}

struct AuthRequest {
    hash: TokenHash,
    limit: u32,
    client: Option<IpAddr>,
    now: Timestamp,
    response: oneshot::Sender<Result<AuthOutcome>>,
}

/// Authenticates a request with the next batch.
pub(super) async fn authenticate(
    engine: &Arc<Postgres>,
    state: &Arc<AuthState>,
    hash: TokenHash,
    limit: u32,
    client: Option<IpAddr>,
    now: Timestamp,
) -> Result<AuthOutcome> {
    let (response, received) = oneshot::channel();
    let starts_task = {
        let mut queue = state.batch.0.lock();
        queue.requests.push(AuthRequest { hash, limit, client, now, response });
        !std::mem::replace(&mut queue.has_task, true)
    };
    if starts_task {
        let (engine, state) = (engine.clone(), state.clone());
        tokio::spawn(async move { drain(&engine, &state).await });
    }
    received.await.map_err(|_| Error::Closed)?
}

/// Runs batches until no request waits.
async fn drain(engine: &Postgres, state: &AuthState) {
    loop {
        let requests = {
            let mut queue = state.batch.0.lock();
            queue.has_task = !queue.requests.is_empty();
            std::mem::take(&mut queue.requests)
        };
        if requests.is_empty() {
            return;
        }
        // After a panic the callers see their channels close.
        let _ = AssertUnwindSafe(run_batch(engine, state, requests)).catch_unwind().await;
    }
}

async fn run_batch(engine: &Postgres, state: &AuthState, mut requests: Vec<AuthRequest>) {
    // In the same order everywhere, so that no two programs wait for each other's tokens.
    requests.sort_by_key(|request| (request.hash.0, request.limit));
    let groups: Vec<&[AuthRequest]> =
        requests.chunk_by(|a, b| (a.hash, a.limit) == (b.hash, b.limit)).collect();
    let sizes: Vec<usize> = groups.iter().map(|group| group.len()).collect();
    let max_days = state.max_token_days.get().copied();
    let rows = call(engine, &groups, max_days).await.map_err(|error| error.to_string());
    let mut requests = requests.into_iter();
    for (number, size) in sizes.into_iter().enumerate() {
        let token = rows.as_deref().map_err(String::clone).and_then(|rows| {
            let row = rows.get(number).ok_or(Error::Closed);
            row.and_then(TokenState::read).map_err(|error| error.to_string())
        });
        let group = (0_i32..).zip(requests.by_ref().take(size));
        for (index, AuthRequest { limit, client, now, response, .. }) in group {
            let outcome = match &token {
                Ok(Some(token)) => Ok(token.outcome(index, limit, now)),
                Ok(None) => Ok(AuthOutcome::Unknown),
                Err(reason) => Err(Error::Pool(reason.clone())),
            };
            if let Ok(AuthOutcome::Valid { token, rate }) = &outcome
                && rate.is_none_or(|rate| rate.accepted)
            {
                state.last_uses.record(token.token, client, now);
            }
            // The caller may have gone away; the request counts all the same.
            let _ = response.send(outcome);
        }
    }
}

/// A row for each group, in their order.
async fn call(
    engine: &Postgres,
    groups: &[&[AuthRequest]],
    max_days: Option<u32>,
) -> Result<Vec<Row>> {
    let hashes: Vec<&[u8]> = groups.iter().map(|group| &group[0].hash.0[..]).collect();
    let sizes: Vec<i32> = groups.iter().map(|group| number(group.len())).collect();
    let last = |group: &&[AuthRequest]| group.last().map(|last| (last.limit, last.now));
    let (limits, times): (Vec<i32>, Vec<i64>) = groups
        .iter()
        .filter_map(last)
        .map(|(limit, now)| (number(limit as usize), now.as_millis()))
        .unzip();
    let max_days = max_days.map(i64::from);
    engine.rows(postgres::AUTHENTICATE, &[&hashes, &sizes, &limits, &times, &max_days]).await
}

/// The rate window of a token after the requests of a group.
struct GroupRate {
    /// How many of the requests were accepted.
    accepted: i32,
    /// How many requests are in the window now.
    used: i32,
    /// When the first leaves the window.
    reset_micros: u64,
    /// The time of the requests.
    at: u64,
}

/// A token and its rate window after the requests of a group.
struct TokenState {
    token: Arc<AuthenticatedToken>,
    /// `None` when there is no limit.
    rate: Option<GroupRate>,
}

impl TokenState {
    /// `None` for an unknown token.
    fn read(row: &Row) -> Result<Option<Self>> {
        let Some(token) = row.try_get::<_, Option<Uuid>>(0)?.map(TokenId) else { return Ok(None) };
        let token = AuthenticatedToken {
            token,
            workspace: WorkspaceId(row.try_get(1)?),
            person: PersonId(row.try_get(2)?),
            role: row.try_get::<_, &str>(3)?.parse::<Role>().map_err(Error::Damaged)?,
            scopes: Scopes::parse(row.try_get(4)?).map_err(Error::Damaged)?,
            expires_at: row.try_get::<_, Option<i64>>(5)?.map(Timestamp::from_millis),
            is_read_only: row.try_get(6)?,
        };
        let rate = match row.try_get::<_, Option<i32>>(7)? {
            Some(accepted) => {
                let micros = |column: usize| -> Result<u64> {
                    Ok(u64::try_from(row.try_get::<_, i64>(column)?).unwrap_or_default())
                };
                let (used, reset_micros, at) = (row.try_get(8)?, micros(9)?, micros(10)?);
                Some(GroupRate { accepted, used, reset_micros, at })
            }
            None => None,
        };
        Ok(Some(Self { token: Arc::new(token), rate }))
    }

    /// The outcome of the request with this index in the group.
    fn outcome(&self, index: i32, limit: u32, now: Timestamp) -> AuthOutcome {
        if self.token.expires_at.is_some_and(|end| end <= now) {
            return AuthOutcome::Expired;
        }
        let rate = self.rate.as_ref().map(|&GroupRate { accepted, used, reset_micros, at }| {
            let is_accepted = index < accepted;
            let used = if is_accepted { used - accepted + index + 1 } else { used };
            RateLimitStatus {
                limit,
                remaining: limit.saturating_sub(used.unsigned_abs()),
                reset_micros,
                accepted: is_accepted,
                at,
            }
        });
        AuthOutcome::Valid { token: self.token.clone(), rate }
    }
}

fn number(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}
