//! All records that match a query, chunk by chunk, in the order of the query.

use super::{
    ExportedRecord, RecordQuery, Records, Sort, list_queries::has_filters, postgres, sqlite,
};
use crate::{Result, engine::dispatch};
use groma_domain::{Kind, WorkspaceId};

/// Reads records that match a query, as they are when they are read.
pub struct RecordReader {
    records: Records,
    workspace: WorkspaceId,
    kind: Kind,
    source: Source,
}

enum Source {
    /// All records after this position, in the order of creation.
    All { after: u64 },
    /// The records that matched when reading began. Each position takes eight bytes of memory.
    Positions(std::vec::IntoIter<u64>),
}

impl Records {
    /// A reader of all records that match a query, whatever its page.
    pub(crate) async fn read(
        &self,
        workspace: WorkspaceId,
        query: RecordQuery,
    ) -> Result<RecordReader> {
        let kind = query.kind;
        let source = if query.sort == Sort::OLDEST && !has_filters(&query) {
            Source::All { after: 0 }
        } else {
            let positions = dispatch!(&self.engine, positions(&self.caches, workspace, query))?;
            Source::Positions(positions.into_iter())
        };
        Ok(RecordReader { records: self.clone(), workspace, kind, source })
    }
}

impl RecordReader {
    /// The next records, up to `limit`; none at the end. Those that were deleted meanwhile are left out.
    pub async fn next(&mut self, limit: u32) -> Result<Vec<ExportedRecord>> {
        let Self { records, workspace, kind, source } = self;
        let (workspace, kind) = (*workspace, *kind);
        let positions = match source {
            Source::All { after } => {
                let found = records.export(workspace, kind, *after, limit).await?;
                *after = found.last().map_or(*after, |last| last.position);
                return Ok(found);
            }
            Source::Positions(positions) => positions,
        };
        let Records { engine, caches, .. } = &*records;
        loop {
            let next: Vec<u64> = positions.by_ref().take(limit as usize).collect();
            if next.is_empty() {
                return Ok(Vec::new());
            }
            let found = dispatch!(engine, export_at(caches, workspace, kind, &next))?;
            if !found.is_empty() {
                return Ok(found);
            }
        }
    }
}
