//! Pending logins on PostgreSQL.

use super::{LoginStep, MAX_PENDING, PendingLogin};
use crate::{
    Result,
    engine::{postgres::Postgres, statements},
};
use groma_domain::{Timestamp, UserId, secret::SecretHash};
use std::sync::Arc;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

statements! {
    DELETE_LOGINS_OF_USER = "DELETE FROM pending_logins WHERE user_id = $1";
    DELETE_EXPIRED_LOGINS = "DELETE FROM pending_logins WHERE expires_at <= $1";
    SAVE_PENDING_LOGIN = "INSERT INTO pending_logins (hash, step, user_id, data, expires_at)
        SELECT $1, $2, $3, $4, $5 WHERE (SELECT count(*) FROM pending_logins) < $6";
    PENDING_LOGIN = "SELECT user_id, data, expires_at FROM pending_logins
        WHERE hash = $1 AND step = $2 AND expires_at > $3";
    TAKE_PENDING_LOGIN = "DELETE FROM pending_logins WHERE hash = $1 AND step = $2 AND expires_at > $3
        RETURNING user_id, data, expires_at";
}

pub(crate) async fn save_pending_login(
    engine: &Arc<Postgres>,
    hash: &SecretHash,
    pending: PendingLogin,
    now: Timestamp,
) -> Result<bool> {
    engine.execute(DELETE_EXPIRED_LOGINS, &[&now.as_millis()]).await?;
    let limit = if pending.user.is_none() { MAX_PENDING } else { i64::MAX };
    let values: [&(dyn ToSql + Sync); 6] = [
        &&hash.0[..],
        &pending.step.name(),
        &pending.user.map(|user| user.0),
        &pending.data,
        &pending.expires_at.as_millis(),
        &limit,
    ];
    Ok(engine.execute(SAVE_PENDING_LOGIN, &values).await? > 0)
}

pub(crate) async fn pending_login(
    engine: &Arc<Postgres>,
    hash: &SecretHash,
    step: LoginStep,
    now: Timestamp,
) -> Result<Option<PendingLogin>> {
    find(engine, PENDING_LOGIN, hash, step, now).await
}

pub(crate) async fn take_pending_login(
    engine: &Arc<Postgres>,
    hash: &SecretHash,
    step: LoginStep,
    now: Timestamp,
) -> Result<Option<PendingLogin>> {
    find(engine, TAKE_PENDING_LOGIN, hash, step, now).await
}

async fn find(
    engine: &Arc<Postgres>,
    sql: &'static str,
    hash: &SecretHash,
    step: LoginStep,
    now: Timestamp,
) -> Result<Option<PendingLogin>> {
    let values: [&(dyn ToSql + Sync); 3] = [&&hash.0[..], &step.name(), &now.as_millis()];
    let rows = engine.rows(sql, &values).await?;
    let Some(row) = rows.first() else { return Ok(None) };
    Ok(Some(PendingLogin {
        step,
        user: row.try_get::<_, Option<Uuid>>(0)?.map(UserId),
        data: row.try_get(1)?,
        expires_at: Timestamp::from_millis(row.try_get(2)?),
    }))
}
