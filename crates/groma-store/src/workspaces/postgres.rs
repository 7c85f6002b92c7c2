//! Workspaces on PostgreSQL.

use super::{LockedWorkspace, WorkspaceTx, WorkspaceWrite};
use crate::{
    Error, Result,
    engine::{
        postgres::{Postgres, PostgresTransaction, params},
        statements,
    },
};
use groma_domain::{
    Currency, Timestamp, WorkspaceId,
    workspace::{Workspace, WorkspaceName},
};
use tokio_postgres::Row;

statements! {
    LOCK_NAMES = "SELECT pg_advisory_xact_lock(7203012)";
    LOCK_WORKSPACE = "SELECT id, name, currency, created_at, endpoints_version FROM workspaces WHERE id = $1 FOR UPDATE";
    WORKSPACE = "SELECT id, name, currency, created_at, endpoints_version FROM workspaces WHERE id = $1";
    WORKSPACES = "SELECT id, name, currency, created_at FROM workspaces ORDER BY no";
    WORKSPACE_NAMED = "SELECT 1 FROM workspaces WHERE name_key = $1";
    INSERT_WORKSPACE = "INSERT INTO workspaces (id, name, name_key, currency, people_generation, created_at)
        VALUES ($1, $2, $3, $4, 1, $5)";
    UPDATE_WORKSPACE = "UPDATE workspaces SET name = $2, name_key = $3, currency = $4 WHERE id = $1";
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

pub(super) async fn all(engine: &Postgres) -> Result<Vec<Workspace>> {
    engine.rows(WORKSPACES, &[]).await?.iter().map(read_workspace).collect()
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
