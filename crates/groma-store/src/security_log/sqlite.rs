//! The security log on SQLite.

use super::{
    DELETE_BATCH, NewSecurityEntry, SecurityEntry, SecurityLogFilter, SecurityLogTx,
    WorkspaceChange, write_change_line, write_line,
};
use crate::{
    Result,
    engine::{
        random,
        sqlite::{Sqlite, SqliteTransaction},
        statements,
    },
};
use groma_domain::{SecurityEntryId, Timestamp, UserId, WorkspaceId};
use rusqlite::{CachedStatement, Connection, Row, params};
use std::sync::Arc;
use uuid::Uuid;

statements! {
    INSERT_ENTRY = "INSERT INTO security_log
            (id, at, action, user_id, workspace_id, subject, subject_user_id, address, details)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
    INSERT_CHANGE = "INSERT INTO security_log
            (id, at, action, person_id, workspace_id, subject, details, user_id, subject_user_id)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7,
            (SELECT user_id FROM people WHERE ws = ?8 AND id = ?4),
            -- The person, or the owner of the token.
            (SELECT user_id FROM people
             WHERE ws = ?8 AND id IN (?6, (SELECT person_id FROM tokens WHERE id = ?6))))";
    RECENT_ENTRIES = "SELECT s.id, s.at, s.action, s.user_id, coalesce(u.email, p.email), s.workspace_id, w.name,
            s.subject, coalesce(su.email, sp.email), s.address, s.details, s.subject_user_id
        FROM security_log s
        LEFT JOIN users u ON u.id = s.user_id
        LEFT JOIN users su ON su.id = s.subject_user_id
        LEFT JOIN workspaces w ON w.id = s.workspace_id
        LEFT JOIN people p ON p.ws = w.no AND p.id = s.person_id
        LEFT JOIN people sp ON sp.ws = w.no AND sp.id = s.subject
        LEFT JOIN (SELECT subject_user_id AS user_id, max(at) AS removed_at FROM security_log
            WHERE workspace_id = ?1 AND action = 'member.removed' GROUP BY subject_user_id) f
            ON f.user_id = coalesce(s.user_id, s.subject_user_id)
        WHERE (?1 IS NULL OR s.workspace_id = ?1
                OR s.workspace_id IS NULL AND (coalesce(s.user_id, s.subject_user_id) IN
                    (SELECT m.user_id FROM people m JOIN workspaces mw ON mw.no = m.ws
                     WHERE mw.id = ?1 AND m.role IS NOT NULL)
                    -- What former members do elsewhere concerns the workspace no longer.
                    OR s.at <= f.removed_at
                    -- What the operator did has no address.
                    OR coalesce(s.user_id, s.subject_user_id) IS NULL AND s.address IS NULL))
            AND (?2 IS NULL OR s.user_id = ?2 OR s.subject_user_id = ?2)
            AND (?3 IS NULL OR substr(s.action, 1, length(?3)) = ?3)
            AND (?4 IS NULL OR s.at >= ?4) AND (?5 IS NULL OR s.at < ?5)
            AND (?6 IS NULL OR s.id < ?6)
        ORDER BY s.id DESC LIMIT ?7";
    DELETE_OLDER = "DELETE FROM security_log WHERE id IN (SELECT id FROM security_log ORDER BY id LIMIT ?2)
        AND at < ?1";
}

impl SecurityLogTx for SqliteTransaction<'_> {
    async fn log_security(&mut self, entry: NewSecurityEntry) -> Result<()> {
        insert(self.prepare(INSERT_ENTRY)?, entry)
    }

    async fn log_workspace_change(
        &mut self,
        workspace: WorkspaceId,
        change: WorkspaceChange,
    ) -> Result<()> {
        write_change_line(workspace, &change);
        let WorkspaceChange { at, action, actor, subject, details } = change;
        let ws = self.workspace_number(workspace)?;
        let id = SecurityEntryId::new(at, random()).0;
        let (at, actor) = (at.as_millis(), actor.map(|actor| actor.0));
        let values = params![id, at, action, actor, workspace.0, subject, details, ws];
        self.execute(INSERT_CHANGE, values)
    }
}

/// Writes an entry to a database that no server has opened here. One of an older version has no security log
/// yet.
pub(crate) fn write_to(connection: &Connection, entry: NewSecurityEntry) -> Result<()> {
    insert(connection.prepare_cached(INSERT_ENTRY)?, entry)
}

fn insert(mut statement: CachedStatement<'_>, entry: NewSecurityEntry) -> Result<()> {
    write_line(&entry);
    statement.execute(params![
        SecurityEntryId::new(entry.at, random()).0,
        entry.at.as_millis(),
        entry.action,
        entry.user.map(|user| user.0),
        entry.workspace.map(|workspace| workspace.0),
        entry.subject,
        entry.subject_user.map(|user| user.0),
        entry.address,
        entry.details.map(|details| details.to_string())
    ])?;
    Ok(())
}

pub(super) async fn recent(
    engine: &Arc<Sqlite>,
    filter: SecurityLogFilter,
    limit: u32,
) -> Result<Vec<SecurityEntry>> {
    engine
        .read_blocking(move |snapshot| {
            let mut statement = snapshot.prepare_cached(RECENT_ENTRIES)?;
            let values = params![
                filter.workspace.map(|workspace| workspace.0),
                filter.user.map(|user| user.0),
                filter.action,
                filter.since.map(Timestamp::as_millis),
                filter.until.map(Timestamp::as_millis),
                filter.before.map(|entry| entry.0),
                limit
            ];
            let rows = statement.query_map(values, read_entry)?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
        .await
}

pub(super) async fn delete_older(engine: &Arc<Sqlite>, before: Timestamp) -> Result<u64> {
    let delete = move |connection: &Connection| {
        let mut statement = connection.prepare_cached(DELETE_OLDER)?;
        Ok(statement.execute(params![before.as_millis(), DELETE_BATCH])? as u64)
    };
    engine.write(delete).await
}

fn read_entry(row: &Row<'_>) -> rusqlite::Result<SecurityEntry> {
    let entry = SecurityEntry {
        id: SecurityEntryId(row.get(0)?),
        at: Timestamp::from_millis(row.get(1)?),
        action: row.get(2)?,
        user: row.get::<_, Option<Uuid>>(3)?.map(UserId),
        email: row.get(4)?,
        workspace: row.get::<_, Option<Uuid>>(5)?.map(WorkspaceId),
        workspace_name: row.get(6)?,
        subject: row.get(7)?,
        subject_user: row.get::<_, Option<Uuid>>(11)?.map(UserId),
        subject_email: row.get(8)?,
        address: row.get(9)?,
        details: row.get(10)?,
        is_by_former: false,
        is_about_former: false,
    };
    Ok(entry.without_erased())
}
