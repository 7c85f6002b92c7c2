//! Authentication on SQLite.

use super::{AuthOutcome, AuthState, AuthenticatedToken, LastUse};
use crate::{
    Error, Result,
    engine::{
        sqlite::{Sqlite, damaged, token_end},
        statements,
    },
    idempotency,
    people::sqlite::read_role,
};
use groma_domain::{
    PersonId, Timestamp, TokenId, WorkspaceId,
    scope::Scopes,
    token::{PresentedToken, TokenHash},
};
use rusqlite::{Connection, OptionalExtension, Row, params};
use std::{net::IpAddr, sync::Arc};

statements! {
    TOKEN_BY_HASH = concat!("SELECT t.id, w.id, t.person_id, p.role, t.scopes, ", token_end!("?2"), ", t.read_only
        FROM tokens t JOIN people p ON p.ws = t.ws AND p.id = t.person_id JOIN workspaces w ON w.no = t.ws
        WHERE t.hash = ?1 AND t.revoked_at IS NULL AND p.role IS NOT NULL");
    SET_LAST_USED = "UPDATE tokens SET last_used_at = ?2, last_used_from = coalesce(?3, last_used_from)
        WHERE id = ?1 AND coalesce(last_used_at, 0) <= ?2";
    RATE_WINDOWS = "SELECT token_id, accepted FROM rate_windows";
    SAVE_RATE_WINDOW = "INSERT INTO rate_windows (token_id, accepted) VALUES (?1, ?2)";
    DELETE_RATE_WINDOWS = "DELETE FROM rate_windows";
}

pub(super) fn authenticate(
    engine: &Sqlite,
    state: &AuthState,
    token: PresentedToken<'_>,
    limit: u32,
    client: Option<IpAddr>,
    now: Timestamp,
) -> Result<AuthOutcome> {
    let hash = token.hash();
    let token = match state.tokens.get(&hash) {
        Some(token) => token,
        None => {
            let generation = state.tokens.generation();
            let max_days = state.max_token_days.get().copied();
            let found = engine.read(|connection| read_token(connection, &hash, max_days))?;
            let Some(token) = found else { return Ok(AuthOutcome::Unknown) };
            let token = Arc::new(token);
            state.tokens.put(generation, hash, token.clone());
            token
        }
    };
    if token.expires_at.is_some_and(|end| end <= now) {
        return Ok(AuthOutcome::Expired);
    }
    let rate = state.rates.count(token.token, limit);
    if rate.is_none_or(|rate| rate.accepted) {
        state.last_uses.record(token.token, client, now);
    }
    Ok(AuthOutcome::Valid { token, rate })
}

pub(super) fn restore_rate_windows(engine: &Sqlite, state: &AuthState) -> Result<()> {
    // They stay in the database: should this program not end in order, they are not lost.
    let windows = engine.read(|connection| {
        let mut statement = connection.prepare_cached(RATE_WINDOWS)?;
        let rows = statement.query_map([], |row| Ok((TokenId(row.get(0)?), row.get(1)?)))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    })?;
    state.rates.import(windows);
    Ok(())
}

pub(super) async fn save_rate_windows(engine: &Sqlite, state: &AuthState) -> Result<()> {
    let windows = state.rates.export();
    let save = move |connection: &Connection| {
        connection.prepare_cached(DELETE_RATE_WINDOWS)?.execute([])?;
        let mut statement = connection.prepare_cached(SAVE_RATE_WINDOW)?;
        for (token, times) in &windows {
            statement.execute(params![token.0, times])?;
        }
        Ok(())
    };
    engine.write(save).await
}

pub(super) async fn flush(engine: &Arc<Sqlite>, state: &AuthState, now: Timestamp) -> Result<()> {
    state.rates.prune();
    let uses = state.last_uses.take();
    let expired = now.as_millis() - idempotency::RETENTION_MILLIS;
    let has_expired = engine.read(|connection| {
        Ok(connection.prepare_cached(idempotency::sqlite::HAS_EXPIRED)?.exists([expired])?)
    })?;
    // Without a write, readers keep their snapshot.
    if uses.is_empty() && !has_expired {
        return Ok(());
    }
    let write = move |connection: &Connection| {
        let mut statement = connection.prepare_cached(SET_LAST_USED)?;
        for (token, LastUse { at, from }) in &uses {
            let from = from.map(|from| from.to_string());
            statement.execute(params![token.0, at.as_millis(), from])?;
        }
        connection.prepare_cached(idempotency::sqlite::DELETE_EXPIRED)?.execute([expired])?;
        Ok(())
    };
    engine.write(write).await
}

fn read_token(
    connection: &Connection,
    hash: &TokenHash,
    max_days: Option<u32>,
) -> Result<Option<AuthenticatedToken>> {
    let mut statement = connection.prepare_cached(TOKEN_BY_HASH)?;
    let found = statement.query_row(params![&hash.0[..], max_days], |row| {
        Ok(AuthenticatedToken {
            token: TokenId(row.get(0)?),
            workspace: WorkspaceId(row.get(1)?),
            person: PersonId(row.get(2)?),
            role: read_role(row, 3)?,
            scopes: read_scopes(row, 4)?,
            expires_at: row.get::<_, Option<i64>>(5)?.map(Timestamp::from_millis),
            is_read_only: row.get(6)?,
        })
    });
    Ok(found.optional()?)
}

pub(crate) fn read_scopes(row: &Row<'_>, column: usize) -> rusqlite::Result<Scopes> {
    let text: String = row.get(column)?;
    Scopes::parse(&text).map_err(|error| damaged(column, Error::Damaged(error)))
}
