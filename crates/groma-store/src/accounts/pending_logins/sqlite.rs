//! Pending logins on SQLite.

use super::{LoginStep, MAX_PENDING, PendingLogin};
use crate::{
    Result,
    engine::{sqlite::Sqlite, statements},
};
use groma_domain::{Timestamp, UserId, secret::SecretHash};
use rusqlite::{Connection, OptionalExtension, Row, params};
use std::sync::Arc;
use uuid::Uuid;

statements! {
    DELETE_LOGINS_OF_USER = "DELETE FROM pending_logins WHERE user_id = ?1";
    DELETE_EXPIRED_LOGINS = "DELETE FROM pending_logins WHERE expires_at <= ?1";
    COUNT_PENDING_LOGINS = "SELECT count(*) FROM pending_logins";
    SAVE_PENDING_LOGIN = "INSERT INTO pending_logins (hash, step, user_id, data, expires_at)
        VALUES (?1, ?2, ?3, ?4, ?5)";
    PENDING_LOGIN = "SELECT user_id, data, expires_at FROM pending_logins
        WHERE hash = ?1 AND step = ?2 AND expires_at > ?3";
    TAKE_PENDING_LOGIN = "DELETE FROM pending_logins WHERE hash = ?1 AND step = ?2 AND expires_at > ?3
        RETURNING user_id, data, expires_at";
}

pub(crate) async fn save_pending_login(
    engine: &Arc<Sqlite>,
    hash: &SecretHash,
    pending: PendingLogin,
    now: Timestamp,
) -> Result<bool> {
    let hash = *hash;
    let save = move |connection: &Connection| {
        connection.prepare_cached(DELETE_EXPIRED_LOGINS)?.execute([now.as_millis()])?;
        let mut statement = connection.prepare_cached(COUNT_PENDING_LOGINS)?;
        let count: i64 = statement.query_row([], |row| row.get(0))?;
        if pending.user.is_none() && count >= MAX_PENDING {
            return Ok(false);
        }
        connection.prepare_cached(SAVE_PENDING_LOGIN)?.execute(params![
            hash.0,
            pending.step.name(),
            pending.user.map(|user| user.0),
            pending.data,
            pending.expires_at.as_millis()
        ])?;
        Ok(true)
    };
    engine.write(save).await
}

pub(crate) async fn pending_login(
    engine: &Arc<Sqlite>,
    hash: &SecretHash,
    step: LoginStep,
    now: Timestamp,
) -> Result<Option<PendingLogin>> {
    engine.read(|connection| find(connection, PENDING_LOGIN, hash, step, now))
}

pub(crate) async fn take_pending_login(
    engine: &Arc<Sqlite>,
    hash: &SecretHash,
    step: LoginStep,
    now: Timestamp,
) -> Result<Option<PendingLogin>> {
    let hash = *hash;
    let take =
        move |connection: &Connection| find(connection, TAKE_PENDING_LOGIN, &hash, step, now);
    engine.write(take).await
}

fn find(
    connection: &Connection,
    sql: &str,
    hash: &SecretHash,
    step: LoginStep,
    now: Timestamp,
) -> Result<Option<PendingLogin>> {
    let read = |row: &Row<'_>| {
        Ok(PendingLogin {
            step,
            user: row.get::<_, Option<Uuid>>(0)?.map(UserId),
            data: row.get(1)?,
            expires_at: Timestamp::from_millis(row.get(2)?),
        })
    };
    let mut statement = connection.prepare_cached(sql)?;
    Ok(statement.query_row(params![hash.0, step.name(), now.as_millis()], read).optional()?)
}
