//! Workspaces on SQLite.

use super::{LockedWorkspace, WorkspaceTx, WorkspaceWrite};
use crate::{
    Actor, Error, Result,
    actor::ActorRights,
    engine::{
        sqlite::{Sqlite, SqliteTransaction, damaged, token_end},
        statements,
    },
};
use groma_domain::{
    Currency, PersonId, Role, Timestamp, WorkspaceId,
    scope::Scopes,
    workspace::{OfferedCrs, Workspace, WorkspaceName},
};
use rusqlite::{OptionalExtension, Row, params};
use uuid::Uuid;

statements! {
    WORKSPACE = "SELECT id, name, currency, created_at, endpoints_version, max_token_days, offered_crs
        FROM workspaces WHERE id = ?1";
    RIGHTS_OF_MEMBER = "SELECT id, role, NULL, 0 FROM people WHERE ws = ?1 AND id = ?2";
    RIGHTS_OF_SESSION = "SELECT p.id, p.role, NULL, 0
        FROM sessions s JOIN users u ON u.id = s.user_id AND u.disabled_at IS NULL
        LEFT JOIN people p ON p.ws = ?1 AND p.user_id = s.user_id
        WHERE s.id = ?2 AND s.ends_at > ?3
            AND (s.has_second_factor OR NOT (SELECT requires_second_factor FROM workspaces WHERE no = ?1))";
    RIGHTS_OF_TOKEN = concat!("SELECT p.id, p.role, t.scopes, t.read_only
        FROM tokens t JOIN workspaces w ON w.no = t.ws LEFT JOIN people p ON p.ws = t.ws AND p.id = t.person_id
        WHERE t.ws = ?1 AND t.id = ?2 AND t.revoked_at IS NULL
            AND coalesce(", token_end!("NULL"), " > ?3, TRUE)");
    WORKSPACES = "SELECT id, name, currency, created_at FROM workspaces ORDER BY no";
    WORKSPACE_NAMED = "SELECT 1 FROM workspaces WHERE name_key = ?1";
    INSERT_WORKSPACE = "INSERT INTO workspaces (id, name, name_key, currency, people_generation, created_at)
        VALUES (?1, ?2, ?3, ?4, 1, ?5)";
    UPDATE_WORKSPACE = "UPDATE workspaces SET name = ?2, name_key = ?3, currency = ?4 WHERE id = ?1";
    SET_MAX_TOKEN_DAYS = "UPDATE workspaces SET max_token_days = ?2 WHERE id = ?1";
    SET_SECOND_FACTOR = "UPDATE workspaces SET requires_second_factor = ?2 WHERE id = ?1";
    REQUIRES_SECOND_FACTOR = "SELECT requires_second_factor FROM workspaces WHERE id = ?1";
    SET_OFFERED_CRS = "UPDATE workspaces SET offered_crs = ?2 WHERE id = ?1";
    OFFERED_CRS = "SELECT offered_crs FROM workspaces WHERE id = ?1";
    MAX_TOKEN_DAYS = "SELECT max_token_days FROM workspaces WHERE id = ?1";
    DELETE_WORKSPACE = "DELETE FROM workspaces WHERE no = ?1";
}

impl WorkspaceTx for SqliteTransaction<'_> {
    async fn lock_workspace(&mut self, workspace: WorkspaceId) -> Result<Option<LockedWorkspace>> {
        // The single writer is the lock.
        let found = self.prepare(WORKSPACE)?.query_row([workspace.0], |row| {
            Ok(LockedWorkspace {
                workspace: read_workspace(row)?,
                endpoints_version: row.get(4)?,
                max_token_days: row.get(5)?,
                offered_crs: OfferedCrs::from_codes(&row.get::<_, String>(6)?),
            })
        });
        Ok(found.optional()?)
    }

    async fn rights(
        &mut self,
        workspace: WorkspaceId,
        actor: Actor,
        now: Timestamp,
    ) -> Result<Option<ActorRights>> {
        let ws = self.workspace_number(workspace)?;
        let at = now.as_millis();
        let found = match actor {
            Actor::Operator => return Ok(None),
            Actor::Member(person) => {
                self.prepare(RIGHTS_OF_MEMBER)?.query_row(params![ws, person.0], read_rights)
            }
            Actor::Session(session) => {
                self.prepare(RIGHTS_OF_SESSION)?.query_row(params![ws, session.0, at], read_rights)
            }
            Actor::Token { token, .. } => {
                self.prepare(RIGHTS_OF_TOKEN)?.query_row(params![ws, token.0, at], read_rights)
            }
        };
        Ok(found.optional()?)
    }

    async fn is_workspace_name_taken(&mut self, name_key: &str) -> Result<bool> {
        Ok(self.prepare(WORKSPACE_NAMED)?.exists([name_key])?)
    }

    async fn write_workspace(&mut self, write: WorkspaceWrite) -> Result<()> {
        match write {
            WorkspaceWrite::Insert(w) => self.execute(
                INSERT_WORKSPACE,
                params![
                    w.id.0,
                    w.name.as_str(),
                    w.name.key(),
                    w.currency.code(),
                    w.created_at.as_millis()
                ],
            ),
            WorkspaceWrite::SetMaxTokenDays(workspace, days) => {
                self.execute(SET_MAX_TOKEN_DAYS, params![workspace.0, days])
            }
            WorkspaceWrite::SetOfferedCrs(workspace, crs) => {
                self.execute(SET_OFFERED_CRS, params![workspace.0, crs.codes()])
            }
            WorkspaceWrite::RequireSecondFactor(workspace, required) => {
                self.execute(SET_SECOND_FACTOR, params![workspace.0, required])
            }
            WorkspaceWrite::Update(w) => self.execute(
                UPDATE_WORKSPACE,
                params![w.id.0, w.name.as_str(), w.name.key(), w.currency.code()],
            ),
        }
    }
}

pub(super) async fn max_token_days(engine: &Sqlite, workspace: WorkspaceId) -> Result<Option<u32>> {
    engine.read(|snapshot| {
        let mut statement = snapshot.prepare_cached(MAX_TOKEN_DAYS)?;
        let found = statement.query_row([workspace.0], |row| row.get(0));
        Ok(found.optional()?.flatten())
    })
}

pub(super) async fn offered_crs(engine: &Sqlite, workspace: WorkspaceId) -> Result<OfferedCrs> {
    engine.read(|snapshot| {
        let mut statement = snapshot.prepare_cached(OFFERED_CRS)?;
        let codes: Option<String> =
            statement.query_row([workspace.0], |row| row.get(0)).optional()?;
        Ok(codes.map(|codes| OfferedCrs::from_codes(&codes)).unwrap_or_default())
    })
}

pub(super) async fn requires_second_factor(
    engine: &Sqlite,
    workspace: WorkspaceId,
) -> Result<bool> {
    engine.read(|snapshot| {
        let mut statement = snapshot.prepare_cached(REQUIRES_SECOND_FACTOR)?;
        let found = statement.query_row([workspace.0], |row| row.get(0));
        Ok(found.optional()?.unwrap_or(false))
    })
}

pub(super) async fn all(engine: &Sqlite) -> Result<Vec<Workspace>> {
    engine.read(|snapshot| {
        let mut statement = snapshot.prepare_cached(WORKSPACES)?;
        Ok(statement.query_map([], read_workspace)?.collect::<rusqlite::Result<_>>()?)
    })
}

fn read_rights(row: &Row<'_>) -> rusqlite::Result<ActorRights> {
    let person: Option<Uuid> = row.get(0)?;
    let role: Option<String> = row.get(1)?;
    let role = role.map(|role| role.parse::<Role>()).transpose();
    let scopes: Option<String> = row.get(2)?;
    let scopes = scopes.as_deref().map(Scopes::parse).transpose();
    let role = role.map_err(|error| damaged(1, Error::Damaged(error)))?;
    let scopes = scopes.map_err(|error| damaged(2, Error::Damaged(error)))?;
    Ok(ActorRights { member: person.map(PersonId).zip(role), scopes, is_read_only: row.get(3)? })
}

/// A row that begins with id, name, currency and creation time.
pub(crate) fn read_workspace(row: &Row<'_>) -> rusqlite::Result<Workspace> {
    let name: String = row.get(1)?;
    let currency: String = row.get(2)?;
    Ok(Workspace {
        id: WorkspaceId(row.get(0)?),
        name: WorkspaceName::parse(&name).map_err(|error| damaged(1, error))?,
        currency: currency
            .parse::<Currency>()
            .map_err(|error| damaged(2, Error::Damaged(error.to_string())))?,
        created_at: Timestamp::from_millis(row.get(3)?),
    })
}
