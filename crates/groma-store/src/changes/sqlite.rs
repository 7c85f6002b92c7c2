//! The change feed on SQLite.

use super::{Change, ChangeActor, ChangeQuery, MAX_PAGE_BYTES, SCAN_LIMIT, Scan};
use crate::{
    Result,
    audit_log::event_of_number,
    engine::{
        sqlite::{Sqlite, damaged},
        statements,
    },
};
use groma_domain::{PersonId, Timestamp, TokenId, WorkspaceId};
use rusqlite::{OptionalExtension, Row, params};
use std::sync::Arc;
use uuid::Uuid;

statements! {
    IDENTITY = "SELECT id FROM database_identity";
    HEAD = "SELECT coalesce(max(id), 0) FROM audit_log INDEXED BY audit_log_in_order WHERE ws = ?1";
    FIRST_AFTER = "SELECT id, at FROM audit_log INDEXED BY audit_log_in_order
        WHERE ws = ?1 AND id > ?2 AND event IS NOT NULL ORDER BY id LIMIT 1";
    SCANNED_TO = "SELECT max(id) FROM (SELECT id FROM audit_log INDEXED BY audit_log_in_order
        WHERE ws = ?1 AND id > ?2 AND id <= ?3 ORDER BY id LIMIT ?4)";
    CHANGES = "SELECT a.id, a.at, a.event, a.actor, p.name, a.token, t.name, coalesce(a.after, a.before)
        FROM (SELECT id FROM audit_log INDEXED BY audit_log_in_order
            WHERE ws = ?1 AND id > ?2 AND id <= ?3 AND event IN (SELECT value FROM json_each(?4))
            ORDER BY id LIMIT ?5) s
        CROSS JOIN audit_log a ON a.id = s.id
        LEFT JOIN people p ON p.ws = a.ws AND p.id = a.actor
        LEFT JOIN tokens t ON t.id = a.token
        ORDER BY s.id";
}

pub(super) async fn identity(engine: &Arc<Sqlite>) -> Result<Vec<u8>> {
    engine.read(|connection| {
        Ok(connection.prepare_cached(IDENTITY)?.query_row([], |row| row.get(0))?)
    })
}

pub(super) async fn head(engine: &Arc<Sqlite>, workspace: WorkspaceId) -> Result<i64> {
    engine.read(|connection| {
        let Some(ws) = connection.workspace_number(workspace)? else { return Ok(0) };
        Ok(connection.prepare_cached(HEAD)?.query_row([ws], |row| row.get(0))?)
    })
}

pub(super) async fn first_after(
    engine: &Arc<Sqlite>,
    workspace: WorkspaceId,
    number: i64,
) -> Result<Option<(i64, Timestamp)>> {
    engine.read(|connection| {
        let Some(ws) = connection.workspace_number(workspace)? else { return Ok(None) };
        let mut statement = connection.prepare_cached(FIRST_AFTER)?;
        let found = statement
            .query_row([ws, number], |row| Ok((row.get(0)?, Timestamp::from_millis(row.get(1)?))));
        Ok(found.optional()?)
    })
}

pub(super) async fn scan(
    engine: &Arc<Sqlite>,
    query: &ChangeQuery,
    events: Vec<i16>,
    head: i64,
) -> Result<Scan> {
    let ChangeQuery { workspace, after, limit, .. } = *query;
    engine
        .read_blocking(move |connection| {
            let Some(ws) = connection.workspace_number(workspace)? else {
                return Ok(Scan { changes: Vec::new(), scanned_to: after, is_cut: false });
            };
            let scanned_to = connection
                .prepare_cached(SCANNED_TO)?
                .query_row([ws, after, head, SCAN_LIMIT], |row| row.get::<_, Option<i64>>(0))?
                .unwrap_or(head);
            let mut statement = connection.prepare_cached(CHANGES)?;
            let events = serde_json::to_string(&events)?;
            // One more shows whether there are others.
            let most = i64::from(limit) + 1;
            let mut rows = statement.query(params![ws, after, scanned_to, events, most])?;
            let (mut changes, mut bytes, mut is_cut) = (Vec::new(), 0, false);
            while let Some(row) = rows.next()? {
                let change = read_change(row)?;
                bytes += change.document.len();
                let is_full = changes.len() >= limit as usize || bytes > MAX_PAGE_BYTES;
                if is_full && !changes.is_empty() {
                    is_cut = true;
                    break;
                }
                changes.push(change);
            }
            Ok(Scan { changes, scanned_to, is_cut })
        })
        .await
}

fn read_change(row: &Row<'_>) -> rusqlite::Result<Change> {
    let event = event_of_number(row.get(2)?).map_err(|error| damaged(2, error))?;
    Ok(Change {
        number: row.get(0)?,
        at: Timestamp::from_millis(row.get(1)?),
        event,
        actor: ChangeActor::new(
            row.get::<_, Option<Uuid>>(3)?.map(PersonId),
            row.get(4)?,
            row.get::<_, Option<Uuid>>(5)?.map(TokenId),
            row.get(6)?,
        ),
        document: row.get(7)?,
    })
}
