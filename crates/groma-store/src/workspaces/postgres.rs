//! Workspaces on PostgreSQL.

use super::{LockedWorkspace, WorkspaceTx, WorkspaceWrite};
use crate::{
    Actor, Error, Result,
    actor::ActorRights,
    engine::{
        postgres::{Postgres, PostgresTransaction, params, token_end},
        statements,
    },
};
use groma_domain::{
    Currency, PersonId, Role, Timestamp, WorkspaceId,
    scope::Scopes,
    workspace::{OfferedCrs, Workspace, WorkspaceName},
};
use tokio_postgres::Row;
use uuid::Uuid;

statements! {
    LOCK_NAMES = "SELECT pg_advisory_xact_lock(7203012)";
    LOCK_WORKSPACE = "SELECT id, name, currency, created_at, endpoints_version, max_token_days, offered_crs
        FROM workspaces WHERE id = $1 FOR UPDATE";
    WORKSPACE = "SELECT id, name, currency, created_at, endpoints_version, max_token_days, offered_crs
        FROM workspaces WHERE id = $1";
    RIGHTS_OF_MEMBER = "SELECT id, role, NULL, FALSE FROM people WHERE workspace_id = $1 AND id = $2";
    RIGHTS_OF_SESSION = "SELECT p.id, p.role, NULL, FALSE
        FROM sessions s JOIN users u ON u.id = s.user_id AND u.disabled_at IS NULL
        LEFT JOIN people p ON p.workspace_id = $1 AND p.user_id = s.user_id
        WHERE s.id = $2 AND s.ends_at > $3
            AND (s.has_second_factor OR NOT (SELECT requires_second_factor FROM workspaces WHERE id = $1))";
    KEEP_SESSION = "SELECT 1 FROM sessions WHERE id = $1 FOR KEY SHARE";
    RIGHTS_OF_TOKEN = concat!("SELECT p.id, p.role, t.scopes, t.read_only
        FROM tokens t JOIN workspaces w ON w.id = t.workspace_id
        LEFT JOIN people p ON p.workspace_id = t.workspace_id AND p.id = t.person_id
        WHERE t.workspace_id = $1 AND t.id = $2 AND t.revoked_at IS NULL
            AND coalesce(", token_end!("NULL"), " > $3, TRUE)");
    WORKSPACES = "SELECT id, name, currency, created_at FROM workspaces ORDER BY no";
    WORKSPACE_NAMED = "SELECT 1 FROM workspaces WHERE name_key = $1";
    INSERT_WORKSPACE = "INSERT INTO workspaces (id, name, name_key, currency, people_generation, created_at)
        VALUES ($1, $2, $3, $4, 1, $5)";
    UPDATE_WORKSPACE = "UPDATE workspaces SET name = $2, name_key = $3, currency = $4 WHERE id = $1";
    SET_MAX_TOKEN_DAYS = "UPDATE workspaces SET max_token_days = $2 WHERE id = $1";
    SET_SECOND_FACTOR = "UPDATE workspaces SET requires_second_factor = $2 WHERE id = $1";
    REQUIRES_SECOND_FACTOR = "SELECT requires_second_factor FROM workspaces WHERE id = $1";
    SET_OFFERED_CRS = "UPDATE workspaces SET offered_crs = $2 WHERE id = $1";
    OFFERED_CRS = "SELECT offered_crs FROM workspaces WHERE id = $1";
    MAX_TOKEN_DAYS = "SELECT max_token_days FROM workspaces WHERE id = $1";
    DELETE_WORKSPACE = "DELETE FROM workspaces WHERE id = $1";
}

impl WorkspaceTx for PostgresTransaction<'_> {
    async fn lock_workspace(&mut self, workspace: WorkspaceId) -> Result<Option<LockedWorkspace>> {
        // The changes of a group lock it once.
        let locked = self.extensions.get::<LockedWorkspace>();
        if let Some(locked) = locked.filter(|locked| locked.workspace.id == workspace) {
            return Ok(Some(locked.clone()));
        }
        let sql = if self.is_dry_run() { WORKSPACE } else { LOCK_WORKSPACE };
        let row = self.row(sql, &[&workspace.0]).await?;
        let read = |row: &Row| -> Result<LockedWorkspace> {
            Ok(LockedWorkspace {
                workspace: read_workspace(row)?,
                endpoints_version: row.try_get(4)?,
                max_token_days: read_days(row, 5)?,
                offered_crs: OfferedCrs::from_codes(row.try_get(6)?),
            })
        };
        let found = row.as_ref().map(read).transpose()?;
        if let Some(found) = &found
            && !self.is_dry_run()
        {
            self.extensions.insert(found.clone());
        }
        Ok(found)
    }

    async fn rights(
        &mut self,
        workspace: WorkspaceId,
        actor: Actor,
        now: Timestamp,
    ) -> Result<Option<ActorRights>> {
        let (ws, at) = (workspace.0, now.as_millis());
        let row = match actor {
            Actor::Operator => return Ok(None),
            Actor::Member(person) => self.row(RIGHTS_OF_MEMBER, &[&ws, &person.0]).await?,
            Actor::Session(session) => {
                if !self.is_dry_run() {
                    self.row(KEEP_SESSION, &[&session.0]).await?;
                }
                self.row(RIGHTS_OF_SESSION, &[&ws, &session.0, &at]).await?
            }
            Actor::Token { token, .. } => self.row(RIGHTS_OF_TOKEN, &[&ws, &token.0, &at]).await?,
        };
        row.as_ref().map(read_rights).transpose()
    }

    async fn is_workspace_name_taken(&mut self, name_key: &str) -> Result<bool> {
        self.row(LOCK_NAMES, &[]).await?;
        Ok(self.row(WORKSPACE_NAMED, &[&name_key]).await?.is_some())
    }

    async fn write_workspace(&mut self, write: WorkspaceWrite) -> Result<()> {
        let statement = match write {
            WorkspaceWrite::Insert(w) => (
                INSERT_WORKSPACE,
                params![
                    w.id.0,
                    w.name.as_str().to_owned(),
                    w.name.key(),
                    w.currency.code(),
                    w.created_at.as_millis()
                ],
            ),
            WorkspaceWrite::SetMaxTokenDays(workspace, days) => {
                let days = days.and_then(|days| i32::try_from(days).ok());
                (SET_MAX_TOKEN_DAYS, params![workspace.0, days])
            }
            WorkspaceWrite::SetOfferedCrs(workspace, crs) => {
                (SET_OFFERED_CRS, params![workspace.0, crs.codes()])
            }
            WorkspaceWrite::RequireSecondFactor(workspace, required) => {
                (SET_SECOND_FACTOR, params![workspace.0, required])
            }
            WorkspaceWrite::Update(w) => (
                UPDATE_WORKSPACE,
                params![w.id.0, w.name.as_str().to_owned(), w.name.key(), w.currency.code()],
            ),
        };
        self.send(vec![statement]).await
    }
}

/// Whether this transaction holds the lock of the workspace, so that no other changes it.
pub(crate) fn is_locked(tx: &PostgresTransaction<'_>, workspace: WorkspaceId) -> bool {
    tx.extensions.get::<LockedWorkspace>().is_some_and(|locked| locked.workspace.id == workspace)
}

fn read_days(row: &Row, column: usize) -> Result<Option<u32>> {
    let days: Option<i32> = row.try_get(column)?;
    Ok(days.and_then(|days| u32::try_from(days).ok()))
}

pub(super) async fn max_token_days(
    engine: &Postgres,
    workspace: WorkspaceId,
) -> Result<Option<u32>> {
    let rows = engine.rows(MAX_TOKEN_DAYS, &[&workspace.0]).await?;
    rows.first().map_or(Ok(None), |row| read_days(row, 0))
}

pub(super) async fn offered_crs(engine: &Postgres, workspace: WorkspaceId) -> Result<OfferedCrs> {
    let rows = engine.rows(OFFERED_CRS, &[&workspace.0]).await?;
    let read = |row: &Row| Ok(OfferedCrs::from_codes(row.try_get(0)?));
    rows.first().map_or_else(|| Ok(OfferedCrs::default()), read)
}

pub(super) async fn requires_second_factor(
    engine: &Postgres,
    workspace: WorkspaceId,
) -> Result<bool> {
    let rows = engine.rows(REQUIRES_SECOND_FACTOR, &[&workspace.0]).await?;
    rows.first().map_or(Ok(false), |row| Ok(row.try_get(0)?))
}

pub(super) async fn all(engine: &Postgres) -> Result<Vec<Workspace>> {
    engine.rows(WORKSPACES, &[]).await?.iter().map(read_workspace).collect()
}

fn read_rights(row: &Row) -> Result<ActorRights> {
    let person: Option<Uuid> = row.try_get(0)?;
    let role: Option<&str> = row.try_get(1)?;
    let role = role.map(str::parse::<Role>).transpose().map_err(Error::Damaged)?;
    let scopes: Option<&str> = row.try_get(2)?;
    let scopes = scopes.map(Scopes::parse).transpose().map_err(Error::Damaged)?;
    Ok(ActorRights {
        member: person.map(PersonId).zip(role),
        scopes,
        is_read_only: row.try_get(3)?,
    })
}

/// A row that begins with id, name, currency and creation time.
pub(crate) fn read_workspace(row: &Row) -> Result<Workspace> {
    Ok(Workspace {
        id: WorkspaceId(row.try_get(0)?),
        name: WorkspaceName::parse(row.try_get(1)?)?,
        currency: row
            .try_get::<_, &str>(2)?
            .parse::<Currency>()
            .map_err(|error| Error::Damaged(error.to_string()))?,
        created_at: Timestamp::from_millis(row.try_get(3)?),
    })
}
