//! The change feed on PostgreSQL.

use super::{Change, ChangeActor, ChangeQuery, MAX_PAGE_BYTES, SCAN_LIMIT, Scan};
use crate::{
    Result,
    audit_log::event_of_number,
    engine::{postgres::Postgres, statements},
};
use groma_domain::{PersonId, Timestamp, TokenId, WorkspaceId};
use std::sync::Arc;
use tokio_postgres::Row;
use uuid::Uuid;

statements! {
    // A restored dump has another table, and a database restored to a point in time another timeline.
    IDENTITY = "SELECT concat_ws('/', id, 'audit_log'::regclass::oid, substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))
        FROM database_identity";
    HEAD = "SELECT coalesce(max(id), 0) FROM audit_log WHERE workspace_id = $1";
    FIRST_AFTER = "SELECT id, at FROM audit_log
        WHERE workspace_id = $1 AND id > $2 AND event IS NOT NULL ORDER BY id LIMIT 1";
    SCANNED_TO = "SELECT max(id) FROM (SELECT id FROM audit_log
        WHERE workspace_id = $1 AND id > $2 AND id <= $3 ORDER BY id LIMIT $4) s";
    CHANGES = "SELECT c.id, c.at, c.event, c.actor, p.name, c.token, t.name, c.document
        FROM (
            SELECT s.*, sum(octet_length(s.document)) OVER (ORDER BY s.id) - octet_length(s.document) AS before
            FROM (
                SELECT id, at, event, actor, token, coalesce(after, before) AS document FROM audit_log
                WHERE workspace_id = $1 AND id > $2 AND id <= $3 AND event = ANY ($4) ORDER BY id LIMIT $5
            ) s
        ) c
        LEFT JOIN people p ON p.workspace_id = $1 AND p.id = c.actor
        LEFT JOIN tokens t ON t.id = c.token
        WHERE c.before < $6 ORDER BY c.id";
}

pub(super) async fn identity(engine: &Arc<Postgres>) -> Result<Vec<u8>> {
    let rows = engine.rows(IDENTITY, &[]).await?;
    let identity: Option<String> = rows.first().map(|row| row.try_get(0)).transpose()?;
    Ok(identity.unwrap_or_default().into_bytes())
}

pub(super) async fn head(engine: &Arc<Postgres>, workspace: WorkspaceId) -> Result<i64> {
    let rows = engine.rows(HEAD, &[&workspace.0]).await?;
    Ok(rows.first().map(|row| row.try_get(0)).transpose()?.unwrap_or_default())
}

pub(super) async fn first_after(
    engine: &Arc<Postgres>,
    workspace: WorkspaceId,
    number: i64,
) -> Result<Option<(i64, Timestamp)>> {
    let rows = engine.rows(FIRST_AFTER, &[&workspace.0, &number]).await?;
    let read = |row: &Row| Ok((row.try_get(0)?, Timestamp::from_millis(row.try_get(1)?)));
    rows.first().map(read).transpose()
}

pub(super) async fn scan(
    engine: &Arc<Postgres>,
    query: &ChangeQuery,
    events: Vec<i16>,
    head: i64,
) -> Result<Scan> {
    let (ws, after, limit) = (query.workspace.0, query.after, query.limit as usize);
    let rows = engine.rows(SCANNED_TO, &[&ws, &after, &head, &SCAN_LIMIT]).await?;
    let scanned_to: Option<i64> = rows.first().map(|row| row.try_get(0)).transpose()?.flatten();
    let scanned_to = scanned_to.unwrap_or(head);
    // PostgreSQL adds up integers as `bigint`.
    let bytes = MAX_PAGE_BYTES as i64;
    // One more shows whether there are others.
    let most = i64::from(query.limit) + 1;
    let rows = engine.rows(CHANGES, &[&ws, &after, &scanned_to, &events, &most, &bytes]).await?;
    let mut changes: Vec<Change> = rows.iter().map(read_change).collect::<Result<_>>()?;
    let size: usize = changes.iter().map(|change| change.document.len()).sum();
    let is_cut = changes.len() > limit || size >= MAX_PAGE_BYTES;
    changes.truncate(limit);
    Ok(Scan { changes, scanned_to, is_cut })
}

fn read_change(row: &Row) -> Result<Change> {
    Ok(Change {
        number: row.try_get(0)?,
        at: Timestamp::from_millis(row.try_get(1)?),
        event: event_of_number(row.try_get(2)?)?,
        actor: ChangeActor::new(
            row.try_get::<_, Option<Uuid>>(3)?.map(PersonId),
            row.try_get(4)?,
            row.try_get::<_, Option<Uuid>>(5)?.map(TokenId),
            row.try_get(6)?,
        ),
        document: row.try_get(7)?,
    })
}
