//! Authentication on PostgreSQL: statements, and what is flushed. Requests are in [`super::auth_batch`].

use super::AuthState;
use crate::{
    Result,
    engine::{postgres::Postgres, statements},
    idempotency,
};
use groma_domain::{Timestamp, TokenId};
use std::sync::Arc;
use uuid::Uuid;

statements! {
    AUTHENTICATE = "SELECT a.token_id, a.workspace_id, a.person_id, a.role, a.scopes, a.expires_at,
            a.read_only, a.accepted, a.used, a.reset_micros, a.counted_at
        FROM unnest($1::bytea[], $2::integer[], $3::integer[], $4::bigint[])
            WITH ORDINALITY AS r (hash, requests, allowed, now_millis, no)
        CROSS JOIN LATERAL authenticate(r.hash, r.requests, r.allowed, r.now_millis, $5) a ORDER BY r.no";
    RELEASE_REQUEST = "UPDATE rate_windows
        SET accepted = accepted[:array_position(accepted, $2) - 1] || accepted[array_position(accepted, $2) + 1:]
        WHERE token_id = $1 AND array_position(accepted, $2) IS NOT NULL";
    SET_LAST_USED = "UPDATE tokens t SET last_used_at = u.at, last_used_from = coalesce(u.client, t.last_used_from)
        FROM unnest($1::uuid[], $2::bigint[], $3::text[]) AS u (id, at, client)
        WHERE t.id = u.id AND coalesce(t.last_used_at, 0) <= u.at";
    PRUNE_RATE_WINDOWS = "DELETE FROM rate_windows
        WHERE accepted[cardinality(accepted)] < (extract(epoch FROM clock_timestamp()) * 1000000)::bigint - 3600000000";
    DELETE_RATE_WINDOWS = "DELETE FROM rate_windows WHERE token_id IN (SELECT id FROM tokens WHERE workspace_id = $1)";
}

pub(super) async fn release_request(engine: &Postgres, token: TokenId, at: u64) -> Result<()> {
    let at = i64::try_from(at).unwrap_or(i64::MAX);
    engine.execute(RELEASE_REQUEST, &[&token.0, &at]).await.map(drop)
}

pub(super) async fn flush(engine: &Arc<Postgres>, state: &AuthState, now: Timestamp) -> Result<()> {
    let uses = state.last_uses.take();
    if !uses.is_empty() {
        let tokens: Vec<Uuid> = uses.iter().map(|(token, _)| token.0).collect();
        let times: Vec<i64> = uses.iter().map(|(_, last)| last.at.as_millis()).collect();
        let clients = uses.iter().map(|(_, last)| last.from.map(|from| from.to_string()));
        let clients: Vec<Option<String>> = clients.collect();
        engine.execute(SET_LAST_USED, &[&tokens, &times, &clients]).await?;
    }
    let expired = now.as_millis() - idempotency::RETENTION_MILLIS;
    engine.execute(idempotency::postgres::DELETE_EXPIRED, &[&expired]).await?;
    engine.execute(PRUNE_RATE_WINDOWS, &[]).await.map(drop)
}
