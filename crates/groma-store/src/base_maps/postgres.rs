//! Base maps on PostgreSQL.

use super::BaseMapTx;
use crate::{
    Result,
    engine::{
        postgres::{Postgres, PostgresTransaction, params},
        statements,
    },
};
use groma_domain::WorkspaceId;

statements! {
    BASE_MAPS = "SELECT base_maps FROM workspaces WHERE id = $1";
    UPDATE_BASE_MAPS = "UPDATE workspaces SET base_maps = $2 WHERE id = $1";
}

impl BaseMapTx for PostgresTransaction<'_> {
    async fn base_maps(&mut self, workspace: WorkspaceId) -> Result<Option<String>> {
        let row = self.row(BASE_MAPS, &[&workspace.0]).await?;
        Ok(row.map(|row| row.try_get(0)).transpose()?)
    }

    async fn write_base_maps(&mut self, workspace: WorkspaceId, list: String) -> Result<()> {
        self.send(vec![(UPDATE_BASE_MAPS, params![workspace.0, list])]).await
    }
}

pub(super) async fn list(engine: &Postgres, workspace: WorkspaceId) -> Result<Option<String>> {
    let rows = engine.pipelined_rows(BASE_MAPS, &[&workspace.0]).await?;
    Ok(rows.first().map(|row| row.try_get(0)).transpose()?)
}
