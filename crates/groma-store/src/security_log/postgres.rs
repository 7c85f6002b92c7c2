//! The security log on PostgreSQL.

use super::{
    DELETE_BATCH, NewSecurityEntry, SecurityEntry, SecurityLogFilter, SecurityLogTx,
    WorkspaceChange, write_change_line, write_line,
};
use crate::{
    Result,
    engine::{
        postgres::{Param, Postgres, PostgresTransaction, params},
        random, statements,
    },
};
use groma_domain::{SecurityEntryId, Timestamp, UserId, WorkspaceId};
use std::sync::Arc;
use tokio_postgres::{Client, Row, types::ToSql};
use uuid::Uuid;

statements! {
    INSERT_ENTRY = "INSERT INTO security_log
            (id, at, action, user_id, workspace_id, subject, subject_user_id, address, details)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
    INSERT_CHANGE = "INSERT INTO security_log
            (id, at, action, person_id, workspace_id, subject, details, user_id, subject_user_id)
        VALUES ($1, $2, $3, $4, $5, $6, $7,
            (SELECT user_id FROM people WHERE workspace_id = $5 AND id = $4),
            -- The person, or the owner of the token.
            (SELECT user_id FROM people
             WHERE workspace_id = $5 AND id IN ($6, (SELECT person_id FROM tokens WHERE id = $6))))";
    RECENT_ENTRIES = "SELECT s.id, s.at, s.action, s.user_id, coalesce(u.email, p.email), s.workspace_id, w.name,
            s.subject, coalesce(su.email, sp.email), s.address, s.details, s.subject_user_id
        FROM security_log s
        LEFT JOIN users u ON u.id = s.user_id
        LEFT JOIN users su ON su.id = s.subject_user_id
        LEFT JOIN workspaces w ON w.id = s.workspace_id
        LEFT JOIN people p ON p.workspace_id = s.workspace_id AND p.id = s.person_id
        LEFT JOIN people sp ON sp.workspace_id = s.workspace_id AND sp.id = s.subject
        LEFT JOIN (SELECT subject_user_id AS user_id, max(at) AS removed_at FROM security_log
            WHERE workspace_id = $1 AND action = 'member.removed' GROUP BY subject_user_id) f
            ON f.user_id = coalesce(s.user_id, s.subject_user_id)
        WHERE ($1::uuid IS NULL OR s.workspace_id = $1
                OR s.workspace_id IS NULL AND (coalesce(s.user_id, s.subject_user_id) IN
                    (SELECT m.user_id FROM people m WHERE m.workspace_id = $1 AND m.role IS NOT NULL)
                    -- What former members do elsewhere concerns the workspace no longer.
                    OR s.at <= f.removed_at
                    -- What the operator did has no address.
                    OR coalesce(s.user_id, s.subject_user_id) IS NULL AND s.address IS NULL))
            AND ($2::uuid IS NULL OR s.user_id = $2 OR s.subject_user_id = $2)
            AND ($3::text IS NULL OR starts_with(s.action, $3))
            AND ($4::bigint IS NULL OR s.at >= $4) AND ($5::bigint IS NULL OR s.at < $5)
            AND ($6::uuid IS NULL OR s.id < $6)
        ORDER BY s.id DESC LIMIT $7";
    DELETE_OLDER = "DELETE FROM security_log WHERE id IN (SELECT id FROM security_log ORDER BY id LIMIT $2)
        AND at < $1";
}

impl SecurityLogTx for PostgresTransaction<'_> {
    async fn log_security(&mut self, entry: NewSecurityEntry) -> Result<()> {
        self.send(vec![(INSERT_ENTRY, values(entry))]).await
    }

    async fn log_workspace_change(
        &mut self,
        workspace: WorkspaceId,
        change: WorkspaceChange,
    ) -> Result<()> {
        write_change_line(workspace, &change);
        let WorkspaceChange { at, action, actor, subject, details } = change;
        let id = SecurityEntryId::new(at, random()).0;
        let (at, actor) = (at.as_millis(), actor.map(|actor| actor.0));
        let values = params![id, at, action, actor, workspace.0, subject, details];
        self.send(vec![(INSERT_CHANGE, values)]).await
    }
}

/// Writes an entry to a database that no server has opened here.
pub(crate) async fn write_to(client: &Client, entry: NewSecurityEntry) -> Result<()> {
    client.execute_raw(INSERT_ENTRY, values(entry)).await?;
    Ok(())
}

/// The values of `INSERT_ENTRY`.
fn values(entry: NewSecurityEntry) -> Vec<Param> {
    write_line(&entry);
    params![
        SecurityEntryId::new(entry.at, random()).0,
        entry.at.as_millis(),
        entry.action,
        entry.user.map(|user| user.0),
        entry.workspace.map(|workspace| workspace.0),
        entry.subject,
        entry.subject_user.map(|user| user.0),
        entry.address,
        entry.details.map(|details| details.to_string())
    ]
}

pub(super) async fn recent(
    engine: &Arc<Postgres>,
    filter: SecurityLogFilter,
    limit: u32,
) -> Result<Vec<SecurityEntry>> {
    let values: [&(dyn ToSql + Sync); 7] = [
        &filter.workspace.map(|workspace| workspace.0),
        &filter.user.map(|user| user.0),
        &filter.action,
        &filter.since.map(Timestamp::as_millis),
        &filter.until.map(Timestamp::as_millis),
        &filter.before.map(|entry| entry.0),
        &i64::from(limit),
    ];
    engine.rows(RECENT_ENTRIES, &values).await?.iter().map(read_entry).collect()
}

pub(super) async fn delete_older(engine: &Arc<Postgres>, before: Timestamp) -> Result<u64> {
    engine.execute(DELETE_OLDER, &[&before.as_millis(), &DELETE_BATCH]).await
}

fn read_entry(row: &Row) -> Result<SecurityEntry> {
    let entry = SecurityEntry {
        id: SecurityEntryId(row.try_get(0)?),
        at: Timestamp::from_millis(row.try_get(1)?),
        action: row.try_get(2)?,
        user: row.try_get::<_, Option<Uuid>>(3)?.map(UserId),
        email: row.try_get(4)?,
        workspace: row.try_get::<_, Option<Uuid>>(5)?.map(WorkspaceId),
        workspace_name: row.try_get(6)?,
        subject: row.try_get(7)?,
        subject_user: row.try_get::<_, Option<Uuid>>(11)?.map(UserId),
        subject_email: row.try_get(8)?,
        address: row.try_get(9)?,
        details: row.try_get(10)?,
        is_by_former: false,
        is_about_former: false,
    };
    Ok(entry.without_erased())
}
