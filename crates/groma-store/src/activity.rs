//! What happened lately: the audit trail from its end, and how many records there are.

use crate::{ChangeRow, Result, Store, store::on_engine};
use groma_domain::{Kind, WorkspaceId};
use uuid::Uuid;

impl Store {
    /// Up to `limit` lines of the audit trail before `before`, newest first: of the whole workspace,
    /// or of these subjects.
    pub async fn activity(
        &self,
        workspace: WorkspaceId,
        of: Option<&[Uuid]>,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<ChangeRow>> {
        let before = before.unwrap_or(i64::MAX);
        match of {
            Some(subjects) => {
                let subjects = subjects.to_vec();
                on_engine!(self, engine =>
                    engine.activity_of(workspace, subjects, before, limit).await)
            }
            None => on_engine!(self, engine => engine.activity(workspace, before, limit).await),
        }
    }

    /// How many records of each kind there are, in the order of [`Kind::ALL`].
    pub async fn totals(&self, workspace: WorkspaceId) -> Result<[u64; Kind::ALL.len()]> {
        on_engine!(self, engine => engine.totals(workspace).await)
    }
}
