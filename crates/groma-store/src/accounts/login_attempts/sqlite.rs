//! Login attempts on SQLite.

use super::{Decision, LoginAttemptOutcome, Rejection, ThrottleBucket};
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
        for bucket in &buckets {
            let ThrottleBucket { name, rule } = bucket;
            let mut statement = connection.prepare_cached(FAILURES)?;
            let failures =
                statement.query_map(params![name, now, rule.horizon()], |row| row.get(0))?;
            decision.add(bucket, &failures.collect::<rusqlite::Result<Vec<i64>>>()?);
        }
        let mut is_first = false;
        for Rejection { marker, retry_at } in &decision.rejections {
            if !connection.prepare_cached(FAILURES)?.exists(params![marker, now, 1])? {
                let mut statement = connection.prepare_cached(INSERT_ATTEMPT)?;
                statement.execute(params![marker, now, retry_at])?;
                is_first = true;
            }
        }
        let outcome = decision.outcome(is_first);
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
