//! Users on SQLite.

use super::{UserFilter, UserRow, UserTx, UserWorkspace};
use crate::{
    Error, Result,
    accounts::StoredUser,
    engine::{
        sqlite::{Sqlite, SqliteTransaction, damaged},
        statements,
    },
    people::sqlite::read_email,
};
use groma_domain::{PersonId, Timestamp, UserId, WorkspaceId};
use rusqlite::{OptionalExtension, Row};
use std::{collections::HashMap, sync::Arc};

statements! {
    USERS = "SELECT id, email, name, created_at, email_verified_at, disabled_at,
            nullif(max(coalesce(last_login_at, 0),
                coalesce((SELECT max(last_seen_at) FROM sessions WHERE user_id = users.id), 0)), 0)
        FROM users WHERE (?1 IS NULL OR id = ?1) AND (?2 IS NULL OR id IN
            (SELECT p.user_id FROM people p JOIN workspaces w ON w.no = p.ws WHERE w.id = ?2))
        ORDER BY email_key";
    WORKSPACES_OF_USERS = "SELECT p.user_id, w.id, w.name, p.role FROM people p JOIN workspaces w ON w.no = p.ws
        WHERE p.user_id IS NOT NULL AND (?1 IS NULL OR p.user_id = ?1) ORDER BY w.name_key";
    USER = "SELECT id, email, name, disabled_at FROM users WHERE id = ?1";
    PEOPLE_OF_USER = "SELECT w.id, p.id FROM people p JOIN workspaces w ON w.no = p.ws
        WHERE p.user_id = ?1 ORDER BY w.id, p.id";
}

pub(in crate::accounts) async fn users(
    engine: &Arc<Sqlite>,
    filter: UserFilter,
) -> Result<Vec<UserRow>> {
    let (user, workspace) = filter.columns();
    engine
        .read_blocking(move |snapshot| {
            let mut workspaces: HashMap<UserId, Vec<UserWorkspace>> = HashMap::new();
            let mut statement = snapshot.prepare_cached(WORKSPACES_OF_USERS)?;
            let mut rows = statement.query([user])?;
            while let Some(row) = rows.next()? {
                workspaces.entry(UserId(row.get(0)?)).or_default().push(read_workspace(row)?);
            }
            let mut statement = snapshot.prepare_cached(USERS)?;
            let rows = statement.query_map([user, workspace], |row| {
                let id = UserId(row.get(0)?);
                read_user(row, id, workspaces.remove(&id).unwrap_or_default())
            })?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
        .await
}

fn read_workspace(row: &Row<'_>) -> rusqlite::Result<UserWorkspace> {
    let role: Option<String> = row.get(3)?;
    let role = role.map(|role| role.parse()).transpose();
    Ok(UserWorkspace {
        id: WorkspaceId(row.get(1)?),
        name: row.get(2)?,
        role: role.map_err(|error| damaged(3, Error::Damaged(error)))?,
    })
}

fn read_user(
    row: &Row<'_>,
    id: UserId,
    workspaces: Vec<UserWorkspace>,
) -> rusqlite::Result<UserRow> {
    Ok(UserRow {
        id,
        email: read_email(row, 1)?,
        name: row.get(2)?,
        created_at: Timestamp::from_millis(row.get(3)?),
        email_verified_at: time(row, 4)?,
        disabled_at: time(row, 5)?,
        last_seen_at: time(row, 6)?,
        workspaces,
    })
}

fn time(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Timestamp>> {
    Ok(row.get::<_, Option<i64>>(column)?.map(Timestamp::from_millis))
}

impl UserTx for SqliteTransaction<'_> {
    async fn user(&mut self, user: UserId) -> Result<Option<StoredUser>> {
        let found = self.prepare(USER)?.query_row([user.0], |row| {
            Ok(StoredUser {
                id: UserId(row.get(0)?),
                email: read_email(row, 1)?,
                name: row.get(2)?,
                disabled_at: time(row, 3)?,
            })
        });
        Ok(found.optional()?)
    }

    async fn people_of_user(&mut self, user: UserId) -> Result<Vec<(WorkspaceId, PersonId)>> {
        let mut statement = self.prepare(PEOPLE_OF_USER)?;
        let rows = statement
            .query_map([user.0], |row| Ok((WorkspaceId(row.get(0)?), PersonId(row.get(1)?))))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }
}
