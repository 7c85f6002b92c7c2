//! Saved views on PostgreSQL.

use super::{SavedView, SavedViewTx};
use crate::{
    Result,
    engine::{
        kind_from_number, kind_number,
        postgres::{Postgres, PostgresTransaction, params},
        statements,
    },
};
use groma_domain::{PersonId, SavedViewId, Timestamp, WorkspaceId};
use std::sync::Arc;
use tokio_postgres::Row;

statements! {
    VIEWS = "SELECT id, kind, person_id, is_shared, name, query FROM saved_views
        WHERE workspace_id = $1 AND (person_id = $2 OR is_shared) ORDER BY name, id";
    SAVE_VIEW = "INSERT INTO saved_views (workspace_id, id, kind, person_id, is_shared, name, query, created_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
        ON CONFLICT (workspace_id, id) DO UPDATE SET is_shared = excluded.is_shared, query = excluded.query";
    DELETE_VIEW = "DELETE FROM saved_views WHERE workspace_id = $1 AND id = $2";
    DELETE_VIEWS = "DELETE FROM saved_views WHERE workspace_id = $1";
}

impl SavedViewTx for PostgresTransaction<'_> {
    async fn saved_views(
        &mut self,
        workspace: WorkspaceId,
        person: PersonId,
    ) -> Result<Vec<SavedView>> {
        self.rows(VIEWS, &[&workspace.0, &person.0]).await?.iter().map(read_view).collect()
    }

    async fn save_view(
        &mut self,
        workspace: WorkspaceId,
        view: SavedView,
        now: Timestamp,
    ) -> Result<()> {
        let SavedView { id, kind, owner, is_shared, name, query } = view;
        let kind = kind_number(kind);
        let values =
            params![workspace.0, id.0, kind, owner.0, is_shared, name, query, now.as_millis()];
        self.send(vec![(SAVE_VIEW, values)]).await
    }

    async fn delete_view(&mut self, workspace: WorkspaceId, view: SavedViewId) -> Result<()> {
        self.send(vec![(DELETE_VIEW, params![workspace.0, view.0])]).await
    }
}

pub(super) async fn list(
    engine: &Arc<Postgres>,
    workspace: WorkspaceId,
    person: PersonId,
) -> Result<Vec<SavedView>> {
    engine.rows(VIEWS, &[&workspace.0, &person.0]).await?.iter().map(read_view).collect()
}

fn read_view(row: &Row) -> Result<SavedView> {
    Ok(SavedView {
        id: SavedViewId(row.try_get(0)?),
        kind: kind_from_number(row.try_get(1)?),
        owner: PersonId(row.try_get(2)?),
        is_shared: row.try_get(3)?,
        name: row.try_get(4)?,
        query: row.try_get(5)?,
    })
}
