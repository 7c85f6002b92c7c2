//! Counters of records, kept in memory while a transaction holds the lock of the workspace, and written
//! once before the commit. If every change of a group wrote its row, each write would leave a dead row
//! version for the next one to skip.

use super::sql::{self, KindSql};
use crate::{
    Result,
    engine::{
        Extensions, int, kind_number,
        postgres::{Postgres, Statement, params},
    },
    records::RecordCounters,
};
use groma_domain::{Kind, WorkspaceId};
use std::{collections::BTreeMap, sync::Arc};

/// The counters that a transaction has read or changed.
#[derive(Default)]
pub(super) struct PendingCounters(BTreeMap<(WorkspaceId, Kind), PendingKind>);

#[derive(Clone, Default)]
struct PendingKind {
    counters: RecordCounters,
    is_changed: bool,
    /// The difference in each bucket of the page index, and its generation.
    buckets: BTreeMap<u64, (i64, u64)>,
}

impl PendingCounters {
    /// The counters of a kind, if they are known.
    pub(super) fn get(&self, workspace: WorkspaceId, kind: Kind) -> Option<RecordCounters> {
        self.0.get(&(workspace, kind)).map(|pending| pending.counters)
    }

    /// Remembers counters that were read.
    pub(super) fn load(&mut self, workspace: WorkspaceId, kind: Kind, counters: RecordCounters) {
        self.0.insert((workspace, kind), PendingKind { counters, ..PendingKind::default() });
    }

    /// Changes the counters of a kind.
    pub(super) fn save(&mut self, workspace: WorkspaceId, kind: Kind, counters: RecordCounters) {
        let pending = self.0.entry((workspace, kind)).or_default();
        (pending.counters, pending.is_changed) = (counters, true);
    }

    /// Adds a difference to a bucket of the page index.
    pub(super) fn adjust_bucket(
        &mut self,
        workspace: WorkspaceId,
        kind: Kind,
        bucket: u64,
        (difference, generation): (i64, u64),
    ) {
        let pending = self.0.entry((workspace, kind)).or_default();
        let adjusted = pending.buckets.entry(bucket).or_default();
        *adjusted = (adjusted.0 + difference, generation);
    }
}

/// The statements that write the counters.
pub(super) fn statements(extensions: &mut Extensions) -> Vec<Statement> {
    let mut statements = Vec::new();
    let Some(pending) = extensions.remove::<PendingCounters>() else { return statements };
    for ((workspace, kind), PendingKind { counters, is_changed, buckets }) in pending.0 {
        if !buckets.is_empty() {
            let numbers: Vec<i64> = buckets.keys().map(|bucket| int(*bucket)).collect();
            let (records, generations): (Vec<i64>, Vec<i64>) =
                buckets.values().map(|(records, generation)| (*records, int(*generation))).unzip();
            let params = params![workspace.0, kind_number(kind), numbers, records, generations];
            statements.push((sql::ADJUST_BUCKETS, params));
        }
        if is_changed {
            let params = params![
                workspace.0,
                kind_number(kind),
                int(counters.last_position),
                int(counters.last_reference),
                int(counters.total),
                int(counters.generation)
            ];
            statements.push((sql::SAVE_COUNTERS, params));
        }
    }
    statements
}

/// Below this number of records, no query plan is a bad one.
const MIN_ANALYZED: u64 = 64;

/// Whether a count has passed a power of two, so that each doubling is noticed once.
pub(super) fn has_doubled(before: u64, after: u64) -> bool {
    after >= MIN_ANALYZED && after.checked_ilog2() > before.checked_ilog2()
}

/// Analyzes tables that have grown, in the background. To a planner without statistics all indexes of a
/// table look the same: it may find a record by walking over all those of the workspace, and keep that
/// plan until autovacuum analyzes the table a minute later.
pub(super) fn analyze(engine: Arc<Postgres>, grown: Vec<(Kind, u64)>) {
    tokio::spawn(async move {
        for (kind, total) in grown {
            if let Err(error) = analyze_table(&engine, KindSql::of(kind), total).await {
                tracing::warn!(%error, table = kind.plural(), "failed to analyze a table");
            }
        }
    });
}

async fn analyze_table(engine: &Postgres, sql: &KindSql, total: u64) -> Result<()> {
    let known = engine.rows(&sql.analyzed_size, &[]).await?;
    let known: i64 = known.first().map_or(Ok(0), |row| row.try_get(0))?;
    if known < int(total) {
        engine.execute(&sql.analyze, &[]).await?;
    }
    Ok(())
}
