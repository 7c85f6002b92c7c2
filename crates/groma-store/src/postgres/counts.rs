//! What the changes of a transaction count: kept in memory under the lock of the workspace, and written
//! once, before the commit. A row that every change of a group wrote anew would leave a version of itself
//! each time, for the next one to walk over.

use super::{
    sql::{self, KindSql},
    statements::{Call, int, params},
};
use crate::tx::{Collection, kind_number};
use groma_domain::{Kind, WorkspaceId};
use std::collections::BTreeMap;

/// The counts of each collection that was looked at.
#[derive(Clone, Default)]
pub(super) struct Counts(BTreeMap<(WorkspaceId, Kind), Counted>);

#[derive(Clone, Default)]
struct Counted {
    collection: Collection,
    /// How many records there were before.
    total_before: u64,
    is_changed: bool,
    /// By how much each block changed, and in which generation.
    blocks: BTreeMap<u64, (i64, u64)>,
}

impl Counts {
    /// What is counted for a kind, where that is known.
    pub(super) fn collection(&self, workspace: WorkspaceId, kind: Kind) -> Option<Collection> {
        self.0.get(&(workspace, kind)).map(|counted| counted.collection)
    }

    /// Remembers what the database has.
    pub(super) fn learn(&mut self, workspace: WorkspaceId, kind: Kind, collection: Collection) {
        let total_before = collection.total;
        self.0
            .insert((workspace, kind), Counted { collection, total_before, ..Counted::default() });
    }

    /// Notes what is counted now.
    pub(super) fn save(&mut self, workspace: WorkspaceId, kind: Kind, collection: Collection) {
        let counted = self.0.entry((workspace, kind)).or_default();
        (counted.collection, counted.is_changed) = (collection, true);
    }

    /// Notes by how much a block has changed, in which generation.
    pub(super) fn adjust_block(
        &mut self,
        workspace: WorkspaceId,
        kind: Kind,
        block: u64,
        (by, generation): (i64, u64),
    ) {
        let counted = self.0.entry((workspace, kind)).or_default();
        let adjusted = counted.blocks.entry(block).or_default();
        *adjusted = (adjusted.0 + by, generation);
    }

    /// The statements that write it all down.
    pub(super) fn calls(&self) -> Vec<Call> {
        let mut calls = Vec::new();
        for ((workspace, kind), counted) in &self.0 {
            let Counted { collection: c, blocks, .. } = counted;
            if !blocks.is_empty() {
                let numbers: Vec<i64> = blocks.keys().map(|block| int(*block)).collect();
                let (live, generations): (Vec<i64>, Vec<i64>) =
                    blocks.values().map(|(by, generation)| (*by, int(*generation))).unzip();
                let params = params![workspace.0, kind_number(*kind), numbers, live, generations];
                calls.push((sql::ADJUST_BLOCKS, params));
            }
            if counted.is_changed {
                let params = params![
                    workspace.0,
                    kind_number(*kind),
                    int(c.last_seq),
                    int(c.last_reference),
                    int(c.total),
                    int(c.generation)
                ];
                calls.push((sql::SAVE_COLLECTION, params));
            }
        }
        calls
    }

    /// The collections that have passed a power of two, so that each doubling is noticed once.
    pub(super) fn grown(&self) -> Grown {
        let is_grown = |counted: &Counted| {
            counted.collection.total >= YOUNG
                && counted.collection.total.checked_ilog2() > counted.total_before.checked_ilog2()
        };
        let grown = self.0.iter().filter(|(_, counted)| is_grown(counted));
        Grown(grown.map(|((_, kind), counted)| (*kind, counted.collection.total)).collect())
    }
}

/// With fewer records than this, no plan is a bad one.
const YOUNG: u64 = 64;

/// Collections that have grown, with their sizes.
#[derive(Default)]
#[must_use]
pub(super) struct Grown(Vec<(Kind, u64)>);

impl super::Postgres {
    /// Tells the database how large its tables have become, where it does not know. To one that knows
    /// nothing of a table all its indices look the same: it may find a record by walking over all those
    /// of the workspace, and keeps to that plan until it learns better, which by itself takes a minute.
    pub(super) async fn tell_sizes(&self, grown: Grown) {
        for (kind, total) in grown.0 {
            if let Err(error) = self.tell_size(KindSql::of(kind), total).await {
                tracing::warn!(%error, table = kind.plural(), "a table's size was not told");
            }
        }
    }

    async fn tell_size(&self, sql: &KindSql, total: u64) -> crate::Result<()> {
        let known = self.rows(&sql.known_size, &[]).await?;
        let known: i64 = known.first().map_or(Ok(0), |row| row.try_get(0))?;
        if known < int(total) {
            self.execute(&sql.analyze, &[]).await?;
        }
        Ok(())
    }
}
