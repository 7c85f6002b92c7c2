//! The audit log on SQLite.

use super::{AuditEntry, AuditLogTx, NewAuditEntry, event_number};
use crate::{
    Result,
    engine::{
        sqlite::{Sqlite, SqliteTransaction},
        statements,
    },
    security_log::SecurityLogTx,
};
use groma_domain::{Event, PersonId, Timestamp, TokenId, WorkspaceId};
use rusqlite::{Row, params};
use std::sync::Arc;
use uuid::Uuid;

statements! {
    INSERT_ENTRY = "INSERT INTO audit_log (ws, at, actor, token, action, event, subject, before, after)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
    ENTRIES_AFTER = "SELECT id, at, actor, token, action, subject, before, after FROM audit_log
        WHERE ws = ?1 AND id > ?2 ORDER BY id LIMIT ?3";
    RECENT_ENTRIES = "SELECT id, at, actor, token, action, subject, before, after FROM audit_log INDEXED BY audit_log_of_activity
        WHERE ws = ?1 AND id < ?2 AND (event IS NULL OR event < 13) ORDER BY id DESC LIMIT ?3";
    RECENT_ENTRIES_OF = "SELECT id, at, actor, token, action, subject, before, after FROM audit_log
        WHERE ws = ?1 AND subject IN (SELECT unhex(value) FROM json_each(?2)) AND id < ?3
        AND (event IS NULL OR event < 13) ORDER BY id DESC LIMIT ?4";
    DELETE_SOME_ENTRIES = "DELETE FROM audit_log WHERE id IN
        (SELECT id FROM audit_log INDEXED BY audit_log_by_subject WHERE ws = ?1 LIMIT ?2)";
}

impl AuditLogTx for SqliteTransaction<'_> {
    async fn log(&mut self, workspace: WorkspaceId, entry: NewAuditEntry) -> Result<()> {
        if let Some(change) = entry.security_change() {
            self.log_workspace_change(workspace, change).await?;
        }
        let ws = self.workspace_number(workspace)?;
        insert(self, ws, &entry, None).map(drop)
    }
}

/// Writes an entry; returns its number.
pub(crate) fn insert(
    tx: &SqliteTransaction<'_>,
    ws: i64,
    entry: &NewAuditEntry,
    event: Option<Event>,
) -> Result<i64> {
    let NewAuditEntry { at, actor, action, subject, before, after } = entry;
    let (person, token) = (actor.person.map(|id| id.0), actor.token.map(|id| id.0));
    let event = event.map(event_number);
    tx.execute(
        INSERT_ENTRY,
        params![ws, at.as_millis(), person, token, action, event, subject, before, after],
    )?;
    Ok(tx.connection().last_insert_rowid())
}

pub(super) async fn after(
    engine: &Arc<Sqlite>,
    workspace: WorkspaceId,
    after: i64,
    limit: u32,
) -> Result<Vec<AuditEntry>> {
    engine
        .read_blocking(move |snapshot| {
            let Some(ws) = snapshot.workspace_number(workspace)? else { return Ok(Vec::new()) };
            let mut statement = snapshot.prepare_cached(ENTRIES_AFTER)?;
            let rows = statement.query_map(params![ws, after, limit], read_entry)?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
        .await
}

pub(super) async fn recent(
    engine: &Arc<Sqlite>,
    workspace: WorkspaceId,
    subjects: Option<Vec<Uuid>>,
    before: i64,
    limit: u32,
) -> Result<Vec<AuditEntry>> {
    engine
        .read_blocking(move |snapshot| {
            let Some(ws) = snapshot.workspace_number(workspace)? else { return Ok(Vec::new()) };
            let mut statement;
            let rows = match subjects {
                Some(subjects) => {
                    statement = snapshot.prepare_cached(RECENT_ENTRIES_OF)?;
                    let values = params![ws, hex_array(&subjects), before, limit];
                    statement.query_map(values, read_entry)?
                }
                None => {
                    statement = snapshot.prepare_cached(RECENT_ENTRIES)?;
                    statement.query_map(params![ws, before, limit], read_entry)?
                }
            };
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
        .await
}

fn read_entry(row: &Row<'_>) -> rusqlite::Result<AuditEntry> {
    Ok(AuditEntry {
        id: row.get(0)?,
        at: Timestamp::from_millis(row.get(1)?),
        actor: row.get::<_, Option<Uuid>>(2)?.map(PersonId),
        token: row.get::<_, Option<Uuid>>(3)?.map(TokenId),
        action: row.get(4)?,
        subject: row.get(5)?,
        before: row.get(6)?,
        after: row.get(7)?,
    })
}

/// Ids as a JSON array of hexadecimal texts, which `unhex` turns into blobs.
pub(crate) fn hex_array(ids: &[Uuid]) -> String {
    let ids: Vec<String> = ids.iter().map(|id| format!("\"{}\"", id.simple())).collect();
    format!("[{}]", ids.join(","))
}
