//! Login attempts on SQLite.

use super::{Decision, LoginAttemptOutcome, ThrottleBucket};
use crate::{
    Result,
    engine::{sqlite::Sqlite, statements},
};
use groma_domain::Timestamp;
use rusqlite::{Connection, params};
use std::sync::Arc;

statements! {
    FAILURES = "SELECT at FROM login_attempts WHERE bucket = ?1 AND expires_at > ?2 ORDER BY at DESC LIMIT ?3";
    INSERT_ATTEMPT = "INSERT INTO login_attempts (bucket, at, expires_at) VALUES (?1, ?2, ?3)";
    DELETE_ATTEMPTS = "DELETE FROM login_attempts WHERE bucket = ?1 AND at >= ?2 AND at <= ?3";
    DELETE_EXPIRED_ATTEMPTS = "DELETE FROM login_attempts WHERE expires_at <= ?1";
}

pub(crate) async fn begin_login_attempt(
    engine: &Arc<Sqlite>,
    buckets: Vec<ThrottleBucket>,
    now: Timestamp,
) -> Result<LoginAttemptOutcome> {
    let begin = move |connection: &Connection| {
        let mut decision = Decision::new(now);
        let now = now.as_millis();
        connection.prepare_cached(DELETE_EXPIRED_ATTEMPTS)?.execute([now])?;
        for ThrottleBucket { name, rule } in &buckets {
            let mut statement = connection.prepare_cached(FAILURES)?;
            let failures =
                statement.query_map(params![name, now, rule.horizon()], |row| row.get(0))?;
            decision.add(*rule, &failures.collect::<rusqlite::Result<Vec<i64>>>()?);
        }
        let outcome = decision.outcome();
        if outcome == LoginAttemptOutcome::Accepted {
            for ThrottleBucket { name, rule } in &buckets {
                let mut statement = connection.prepare_cached(INSERT_ATTEMPT)?;
                statement.execute(params![name, now, now + rule.window_millis()])?;
            }
        }
        Ok(outcome)
    };
    engine.write(begin).await
}

pub(crate) async fn clear_login_attempt(
    engine: &Arc<Sqlite>,
    buckets: Vec<ThrottleBucket>,
    at: Timestamp,
) -> Result<()> {
    let clear = move |connection: &Connection| {
        for (index, bucket) in buckets.iter().enumerate() {
            let from = if index == 0 { 0 } else { at.as_millis() };
            let mut statement = connection.prepare_cached(DELETE_ATTEMPTS)?;
            statement.execute(params![bucket.name, from, at.as_millis()])?;
        }
        Ok(())
    };
    engine.write(clear).await
}
