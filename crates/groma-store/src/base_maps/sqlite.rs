//! Base maps on SQLite.

use super::BaseMapTx;
use crate::{
    Result,
    engine::{
        sqlite::{Sqlite, SqliteTransaction},
        statements,
    },
};
use groma_domain::WorkspaceId;
use rusqlite::{OptionalExtension, params};

statements! {
    BASE_MAPS = "SELECT base_maps FROM workspaces WHERE id = ?1";
    UPDATE_BASE_MAPS = "UPDATE workspaces SET base_maps = ?2 WHERE id = ?1";
}

impl BaseMapTx for SqliteTransaction<'_> {
    async fn base_maps(&mut self, workspace: WorkspaceId) -> Result<Option<String>> {
        let mut statement = self.prepare(BASE_MAPS)?;
        Ok(statement.query_row([workspace.0], |row| row.get(0)).optional()?)
    }

    async fn write_base_maps(&mut self, workspace: WorkspaceId, list: String) -> Result<()> {
        self.execute(UPDATE_BASE_MAPS, params![workspace.0, list])
    }
}

pub(super) async fn list(engine: &Sqlite, workspace: WorkspaceId) -> Result<Option<String>> {
    engine.read(|snapshot| {
        let mut statement = snapshot.prepare_cached(BASE_MAPS)?;
        Ok(statement.query_row([workspace.0], |row| row.get(0)).optional()?)
    })
}
