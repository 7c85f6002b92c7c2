//! Saved views on SQLite.

use super::{SavedView, SavedViewTx};
use crate::{
    Result,
    engine::{
        kind_from_number, kind_number,
        sqlite::{Sqlite, SqliteTransaction},
        statements,
    },
};
use groma_domain::{PersonId, SavedViewId, Timestamp, WorkspaceId};
use rusqlite::{Connection, params};
use std::sync::Arc;

statements! {
    VIEWS = "SELECT id, kind, person_id, is_shared, name, query FROM saved_views
        WHERE ws = ?1 AND (person_id = ?2 OR is_shared) ORDER BY name, id";
    SAVE_VIEW = "INSERT INTO saved_views (ws, id, kind, person_id, is_shared, name, query, created_at)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
        ON CONFLICT (ws, id) DO UPDATE SET is_shared = excluded.is_shared, query = excluded.query";
    DELETE_VIEW = "DELETE FROM saved_views WHERE ws = ?1 AND id = ?2";
    DELETE_VIEWS = "DELETE FROM saved_views WHERE ws = ?1";
}

impl SavedViewTx for SqliteTransaction<'_> {
    async fn saved_views(
        &mut self,
        workspace: WorkspaceId,
        person: PersonId,
    ) -> Result<Vec<SavedView>> {
        let ws = self.workspace_number(workspace)?;
        read_views(self.connection(), ws, person)
    }

    async fn save_view(
        &mut self,
        workspace: WorkspaceId,
        view: SavedView,
        now: Timestamp,
    ) -> Result<()> {
        let ws = self.workspace_number(workspace)?;
        let SavedView { id, kind, owner, is_shared, name, query } = view;
        let values =
            params![ws, id.0, kind_number(kind), owner.0, is_shared, name, query, now.as_millis()];
        self.execute(SAVE_VIEW, values)
    }

    async fn delete_view(&mut self, workspace: WorkspaceId, view: SavedViewId) -> Result<()> {
        let ws = self.workspace_number(workspace)?;
        self.execute(DELETE_VIEW, params![ws, view.0])
    }
}

pub(super) async fn list(
    engine: &Arc<Sqlite>,
    workspace: WorkspaceId,
    person: PersonId,
) -> Result<Vec<SavedView>> {
    engine.read(|snapshot| match snapshot.workspace_number(workspace)? {
        Some(ws) => read_views(snapshot, ws, person),
        None => Ok(Vec::new()),
    })
}

fn read_views(connection: &Connection, ws: i64, person: PersonId) -> Result<Vec<SavedView>> {
    let mut statement = connection.prepare_cached(VIEWS)?;
    let rows = statement.query_map(params![ws, person.0], |row| {
        Ok(SavedView {
            id: SavedViewId(row.get(0)?),
            kind: kind_from_number(row.get(1)?),
            owner: PersonId(row.get(2)?),
            is_shared: row.get(3)?,
            name: row.get(4)?,
            query: row.get(5)?,
        })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}
