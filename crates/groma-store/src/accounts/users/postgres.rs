//! Users on PostgreSQL.

use super::{UserFilter, UserRow, UserTx, UserWorkspace};
use crate::{
    Error, Result,
    accounts::StoredUser,
    engine::{
        postgres::{Postgres, PostgresTransaction},
        statements,
    },
    people::postgres::read_email,
};
use groma_domain::{PersonId, Timestamp, UserId, WorkspaceId};
use std::{collections::HashMap, sync::Arc};
use tokio_postgres::Row;

statements! {
    USERS = "SELECT id, email, name, created_at, email_verified_at, disabled_at,
            greatest(last_login_at, (SELECT max(last_seen_at) FROM sessions WHERE user_id = users.id))
        FROM users WHERE ($1::uuid IS NULL OR id = $1)
            AND ($2::uuid IS NULL OR id IN (SELECT user_id FROM people WHERE workspace_id = $2))
        ORDER BY email_key";
    WORKSPACES_OF_USERS = "SELECT p.user_id, w.id, w.name, p.role
        FROM people p JOIN workspaces w ON w.id = p.workspace_id
        WHERE p.user_id IS NOT NULL AND ($1::uuid IS NULL OR p.user_id = $1) ORDER BY w.name_key";
    USER = "SELECT id, email, name, disabled_at FROM users WHERE id = $1";
    PEOPLE_OF_USER = "SELECT workspace_id, id FROM people WHERE user_id = $1 ORDER BY workspace_id, id";
}

pub(in crate::accounts) async fn users(
    engine: &Arc<Postgres>,
    filter: UserFilter,
) -> Result<Vec<UserRow>> {
    let (user, workspace) = filter.columns();
    let mut workspaces: HashMap<UserId, Vec<UserWorkspace>> = HashMap::new();
    for row in engine.rows(WORKSPACES_OF_USERS, &[&user]).await? {
        workspaces.entry(UserId(row.try_get(0)?)).or_default().push(read_workspace(&row)?);
    }
    let rows = engine.rows(USERS, &[&user, &workspace]).await?;
    let read = |row: &Row| {
        let id = UserId(row.try_get(0)?);
        read_user(row, id, workspaces.remove(&id).unwrap_or_default())
    };
    rows.iter().map(read).collect()
}

fn read_workspace(row: &Row) -> Result<UserWorkspace> {
    let role: Option<&str> = row.try_get(3)?;
    Ok(UserWorkspace {
        id: WorkspaceId(row.try_get(1)?),
        name: row.try_get(2)?,
        role: role.map(str::parse).transpose().map_err(Error::Damaged)?,
    })
}

fn read_user(row: &Row, id: UserId, workspaces: Vec<UserWorkspace>) -> Result<UserRow> {
    Ok(UserRow {
        id,
        email: read_email(row, 1)?,
        name: row.try_get(2)?,
        created_at: Timestamp::from_millis(row.try_get(3)?),
        email_verified_at: time(row, 4)?,
        disabled_at: time(row, 5)?,
        last_seen_at: time(row, 6)?,
        workspaces,
    })
}

fn time(row: &Row, column: usize) -> Result<Option<Timestamp>> {
    Ok(row.try_get::<_, Option<i64>>(column)?.map(Timestamp::from_millis))
}

impl UserTx for PostgresTransaction<'_> {
    async fn user(&mut self, user: UserId) -> Result<Option<StoredUser>> {
        let row = self.row(USER, &[&user.0]).await?;
        let read = |row: &Row| {
            Ok(StoredUser {
                id: UserId(row.try_get(0)?),
                email: read_email(row, 1)?,
                name: row.try_get(2)?,
                disabled_at: time(row, 3)?,
            })
        };
        row.as_ref().map(read).transpose()
    }

    async fn people_of_user(&mut self, user: UserId) -> Result<Vec<(WorkspaceId, PersonId)>> {
        let rows = self.rows(PEOPLE_OF_USER, &[&user.0]).await?;
        let read = |row: &Row| Ok((WorkspaceId(row.try_get(0)?), PersonId(row.try_get(1)?)));
        rows.iter().map(read).collect()
    }
}
