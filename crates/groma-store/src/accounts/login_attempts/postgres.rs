//! Login attempts on PostgreSQL.

use super::{Decision, LoginAttemptOutcome, Rejection, ThrottleBucket};
use crate::{
    Result,
    engine::{postgres::Postgres, statements},
};
use groma_domain::Timestamp;
use std::sync::Arc;
use tokio_postgres::types::ToSql;

statements! {
    LOCK_ATTEMPTS = "SELECT pg_advisory_xact_lock(7203013)";
    FAILURES = "SELECT at FROM login_attempts WHERE bucket = $1 AND expires_at > $2 ORDER BY at DESC LIMIT $3";
    INSERT_ATTEMPT = "INSERT INTO login_attempts (bucket, at, expires_at) VALUES ($1, $2, $3)";
    DELETE_ATTEMPTS = "DELETE FROM login_attempts WHERE bucket = $1 AND at >= $2 AND at <= $3";
    DELETE_EXPIRED_ATTEMPTS = "DELETE FROM login_attempts WHERE expires_at <= $1";
}

pub(crate) async fn begin_login_attempt(
    engine: &Arc<Postgres>,
    buckets: Vec<ThrottleBucket>,
    now: Timestamp,
) -> Result<LoginAttemptOutcome> {
    let mut decision = Decision::new(now);
    let now = now.as_millis();
    let mut client = engine.client().await?;
    let transaction = client.transaction().await?;
    // One at a time: concurrent attempts would all find room.
    transaction.execute(LOCK_ATTEMPTS, &[]).await?;
    transaction.execute(DELETE_EXPIRED_ATTEMPTS, &[&now]).await?;
    for bucket in &buckets {
        let ThrottleBucket { name, rule } = bucket;
        let rows = transaction.query(FAILURES, &[name, &now, &rule.horizon()]).await?;
        let failures: Result<Vec<i64>, _> = rows.iter().map(|row| row.try_get(0)).collect();
        decision.add(bucket, &failures?);
    }
    let mut is_first = false;
    for Rejection { marker, retry_at } in &decision.rejections {
        if transaction.query(FAILURES, &[marker, &now, &1_i64]).await?.is_empty() {
            transaction.execute(INSERT_ATTEMPT, &[marker, &now, retry_at]).await?;
            is_first = true;
        }
    }
    let outcome = decision.outcome(is_first);
    if outcome == LoginAttemptOutcome::Accepted {
        for ThrottleBucket { name, rule } in &buckets {
            let expires_at = now + rule.window_millis();
            transaction.execute(INSERT_ATTEMPT, &[name, &now, &expires_at]).await?;
        }
    }
    transaction.commit().await?;
    Ok(outcome)
}

pub(crate) async fn clear_login_attempt(
    engine: &Arc<Postgres>,
    buckets: Vec<ThrottleBucket>,
    at: Timestamp,
) -> Result<()> {
    for (index, bucket) in buckets.iter().enumerate() {
        let from = if index == 0 { 0 } else { at.as_millis() };
        let values: [&(dyn ToSql + Sync); 3] = [&bucket.name, &from, &at.as_millis()];
        engine.execute(DELETE_ATTEMPTS, &values).await?;
    }
    Ok(())
}
