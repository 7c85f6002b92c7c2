//! A page of an exact list, and the cursors of the pages around it.

use super::{RecordQuery, exact::ExactOrder};
use crate::{
    Result,
    list_pages::{Cursor, ListCursors, Page, SortKey},
};
use groma_domain::WorkspaceId;

/// A record that was found.
pub(in crate::records) struct FoundRecord {
    pub(in crate::records) key: SortKey,
    pub(in crate::records) document: Vec<u8>,
}

/// A page that is to be read.
pub(in crate::records) struct ExactPage {
    pub(in crate::records) query: RecordQuery,
    /// Where it begins or ends, if it is not found by its number.
    pub(in crate::records) cursor: Option<Cursor>,
    cursors: ListCursors,
}

impl ExactPage {
    pub(in crate::records) fn new(
        workspace: WorkspaceId,
        mut query: RecordQuery,
        cursor: Option<&str>,
    ) -> Result<Self> {
        let list = format!("{} {:?}", query.kind, query.sort);
        let cursors = ListCursors::new(workspace, &list);
        let order = ExactOrder::of(&query);
        let cursor = cursor.map(|text| cursors.decode(text, |value| order.has_value(value)));
        let cursor = cursor.transpose()?;
        if cursor.is_some() {
            query.skip = 0;
        }
        Ok(Self { query, cursor, cursors })
    }

    /// The number of rows to read. One more than the page has tells whether there are more.
    pub(in crate::records) fn limit(&self) -> u64 {
        u64::from(self.query.limit) + u64::from(self.cursor.is_some())
    }

    /// The page, from the rows that were read in the direction of the cursor.
    pub(in crate::records) fn finish(self, total: u64, found: Vec<FoundRecord>) -> Page {
        let (keys, documents): (Vec<_>, Vec<_>) =
            found.into_iter().map(|record| (record.key, record.document)).unzip();
        match &self.cursor {
            None => Page { documents, total, cursors: None },
            Some(cursor) => self.cursors.page(cursor, self.query.limit, total, keys, documents),
        }
    }
}
