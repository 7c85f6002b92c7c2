//! Requests that wait to be let in ask the database together: while one question is on its way, those
//! that come meanwhile gather for the next. So a busy program asks a few times a millisecond at most,
//! and the row of a busy token is locked once for many requests.

use super::{Postgres, sql};
use crate::{Admission, Bearer, Error, Result};
use futures_util::FutureExt;
use groma_domain::{
    PersonId, Role, Timestamp, TokenId, WorkspaceId, rate_limit::RateLimitStatus, scope::Scopes,
    token::TokenHash,
};
use parking_lot::Mutex;
use std::{panic::AssertUnwindSafe, sync::Arc};
use tokio::sync::oneshot;
use tokio_postgres::Row;
use uuid::Uuid;

/// The requests that wait, and whether a task sees to them.
#[derive(Default)]
pub(super) struct Admissions(Mutex<(bool, Vec<Waiting>)>);

struct Waiting {
    hash: TokenHash,
    limit: u32,
    now: Timestamp,
    answer: oneshot::Sender<Result<Admission>>,
}

impl Postgres {
    pub(crate) async fn admit(
        self: &Arc<Self>,
        hash: TokenHash,
        limit: u32,
        now: Timestamp,
    ) -> Result<Admission> {
        let (answer, answered) = oneshot::channel();
        let is_first = {
            let mut admissions = self.admissions.0.lock();
            admissions.1.push(Waiting { hash, limit, now, answer });
            !std::mem::replace(&mut admissions.0, true)
        };
        if is_first {
            let store = self.clone();
            tokio::spawn(async move { store.let_in().await });
        }
        answered.await.map_err(|_| Error::Closed)?
    }

    /// Answers those who wait until nobody does.
    async fn let_in(&self) {
        loop {
            let waiting = {
                let mut admissions = self.admissions.0.lock();
                admissions.0 = !admissions.1.is_empty();
                std::mem::take(&mut admissions.1)
            };
            if waiting.is_empty() {
                return;
            }
            // Whoever is dropped by a panic is told that there is no answer.
            let _ = AssertUnwindSafe(self.let_in_together(waiting)).catch_unwind().await;
        }
    }

    async fn let_in_together(&self, mut waiting: Vec<Waiting>) {
        // In one order everywhere, so that no two programs wait for each other's tokens.
        waiting.sort_by_key(|one| (one.hash.0, one.limit));
        let groups: Vec<&[Waiting]> =
            waiting.chunk_by(|a, b| (a.hash, a.limit) == (b.hash, b.limit)).collect();
        let counts: Vec<usize> = groups.iter().map(|group| group.len()).collect();
        let found = self.ask(&groups).await.map_err(|error| error.to_string());
        let mut waiting = waiting.into_iter();
        for (number, count) in counts.into_iter().enumerate() {
            let known = found.as_deref().map_err(String::clone).and_then(|rows| {
                let row = rows.get(number).ok_or(Error::Closed);
                row.and_then(Known::read).map_err(|error| error.to_string())
            });
            let told = (0_i32..).zip(waiting.by_ref().take(count));
            for (place, Waiting { limit, now, answer, .. }) in told {
                let admission = match &known {
                    Ok(Some(known)) => Ok(known.admission(place, limit, now)),
                    Ok(None) => Ok(Admission::Unknown),
                    Err(reason) => Err(Error::Pool(reason.clone())),
                };
                if let Ok(Admission::Known { bearer, rate }) = &admission
                    && rate.is_none_or(|rate| rate.accepted)
                {
                    self.last_uses.note(bearer.token, now);
                }
                // The one who asked may have gone away; the request counts all the same.
                let _ = answer.send(admission);
            }
        }
    }

    /// A row for each group, in their order.
    async fn ask(&self, groups: &[&[Waiting]]) -> Result<Vec<Row>> {
        let of = |group: &&[Waiting]| group.last().map(|one| (one.limit, one.now));
        let hashes: Vec<&[u8]> = groups.iter().map(|group| &group[0].hash.0[..]).collect();
        let wanted: Vec<i32> = groups.iter().map(|group| number(group.len())).collect();
        let (allowed, moments): (Vec<i32>, Vec<i64>) = groups
            .iter()
            .filter_map(of)
            .map(|(limit, now)| (number(limit as usize), now.as_millis()))
            .unzip();
        self.rows(sql::ADMIT, &[&hashes, &wanted, &allowed, &moments]).await
    }
}

/// What the database says of the requests of one token.
struct Known {
    bearer: Arc<Bearer>,
    /// How many of them were accepted, how many there are in the window then, and when its first
    /// leaves it; nothing when there is no limit.
    rate: Option<(i32, i32, u64)>,
}

impl Known {
    /// `None` for a token that is nobody's.
    fn read(row: &Row) -> Result<Option<Self>> {
        let Some(token) = row.try_get::<_, Option<Uuid>>(0)?.map(TokenId) else { return Ok(None) };
        let bearer = Bearer {
            token,
            workspace: WorkspaceId(row.try_get(1)?),
            person: PersonId(row.try_get(2)?),
            role: row.try_get::<_, &str>(3)?.parse::<Role>().map_err(Error::Damaged)?,
            scopes: Scopes::parse(row.try_get(4)?).map_err(Error::Damaged)?,
            expires_at: row.try_get::<_, Option<i64>>(5)?.map(Timestamp::from_millis),
        };
        let rate = match row.try_get::<_, Option<i32>>(6)? {
            Some(accepted) => {
                let reset = u64::try_from(row.try_get::<_, i64>(8)?).unwrap_or_default();
                Some((accepted, row.try_get(7)?, reset))
            }
            None => None,
        };
        Ok(Some(Self { bearer: Arc::new(bearer), rate }))
    }

    /// The answer to the request that is the `place`-th of them.
    fn admission(&self, place: i32, limit: u32, now: Timestamp) -> Admission {
        if self.bearer.expires_at.is_some_and(|end| end <= now) {
            return Admission::Expired;
        }
        let rate = self.rate.map(|(accepted, used, reset_micros)| {
            let is_accepted = place < accepted;
            let used = if is_accepted { used - accepted + place + 1 } else { used };
            RateLimitStatus {
                limit,
                remaining: limit.saturating_sub(used.unsigned_abs()),
                reset_micros,
                accepted: is_accepted,
            }
        });
        Admission::Known { bearer: self.bearer.clone(), rate }
    }
}

fn number(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}
