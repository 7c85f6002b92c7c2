//! The audit log on PostgreSQL.

use super::{AuditEntry, AuditLogTx, NewAuditEntry, event_number};
use crate::{
    Result,
    engine::{
        postgres::{Param, Postgres, PostgresTransaction, params},
        statements,
    },
    security_log::SecurityLogTx,
};
use groma_domain::{Event, PersonId, Timestamp, TokenId, WorkspaceId};
use tokio_postgres::Row;
use uuid::Uuid;

statements! {
    INSERT_ENTRY = "INSERT INTO audit_log (workspace_id, at, actor, token, action, event, subject, before, after)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
    ENTRIES_AFTER = "SELECT id, at, actor, token, action, subject, before, after FROM audit_log
        WHERE workspace_id = $1 AND id > $2 ORDER BY id LIMIT $3";
    RECENT_ENTRIES = "SELECT id, at, actor, token, action, subject, before, after FROM audit_log
        WHERE workspace_id = $1 AND id < $2 AND (event IS NULL OR event < 13) ORDER BY id DESC LIMIT $3";
    RECENT_ENTRIES_OF = "SELECT id, at, actor, token, action, subject, before, after FROM audit_log
        WHERE workspace_id = $1 AND subject = ANY ($2) AND id < $3 AND (event IS NULL OR event < 13)
        ORDER BY id DESC LIMIT $4";
    DELETE_SOME_ENTRIES = "DELETE FROM audit_log WHERE workspace_id = $1 AND id IN
        (SELECT id FROM audit_log WHERE workspace_id = $1 LIMIT $2)";
}

impl AuditLogTx for PostgresTransaction<'_> {
    async fn log(&mut self, workspace: WorkspaceId, entry: NewAuditEntry) -> Result<()> {
        if let Some(change) = entry.security_change() {
            self.log_workspace_change(workspace, change).await?;
        }
        self.send(vec![(INSERT_ENTRY, entry_params(workspace, entry, None))]).await
    }
}

/// The parameters of an entry.
pub(crate) fn entry_params(
    workspace: WorkspaceId,
    entry: NewAuditEntry,
    event: Option<Event>,
) -> Vec<Param> {
    let NewAuditEntry { at, actor, action, subject, before, after } = entry;
    let (person, token) = (actor.person.map(|id| id.0), actor.token.map(|id| id.0));
    let event = event.map(event_number);
    params![workspace.0, at.as_millis(), person, token, action, event, subject, before, after]
}

pub(super) async fn after(
    engine: &Postgres,
    workspace: WorkspaceId,
    after: i64,
    limit: u32,
) -> Result<Vec<AuditEntry>> {
    let rows = engine.rows(ENTRIES_AFTER, &[&workspace.0, &after, &i64::from(limit)]).await?;
    rows.iter().map(read_entry).collect()
}

pub(super) async fn recent(
    engine: &Postgres,
    workspace: WorkspaceId,
    subjects: Option<Vec<Uuid>>,
    before: i64,
    limit: u32,
) -> Result<Vec<AuditEntry>> {
    let (ws, limit) = (workspace.0, i64::from(limit));
    let rows = match subjects {
        Some(subjects) => {
            engine.rows(RECENT_ENTRIES_OF, &[&ws, &subjects, &before, &limit]).await?
        }
        None => engine.rows(RECENT_ENTRIES, &[&ws, &before, &limit]).await?,
    };
    rows.iter().map(read_entry).collect()
}

fn read_entry(row: &Row) -> Result<AuditEntry> {
    Ok(AuditEntry {
        id: row.try_get(0)?,
        at: Timestamp::from_millis(row.try_get(1)?),
        actor: row.try_get::<_, Option<Uuid>>(2)?.map(PersonId),
        token: row.try_get::<_, Option<Uuid>>(3)?.map(TokenId),
        action: row.try_get(4)?,
        subject: row.try_get(5)?,
        before: row.try_get(6)?,
        after: row.try_get(7)?,
    })
}
