//! Updates of full-text indexes, written once at the end of a group of changes.
//!
//! FTS5 collects new entries in memory and writes them out as a segment, which it has to merge later,
//! whenever a row id is lower than the one before or another statement of the transaction could fail
//! half-way. So the entries of a whole group are written last, in the order of their row ids.

use crate::Result;
use rusqlite::Connection;

/// A row of a full-text index that changes.
pub(crate) struct FullTextEntry {
    /// Takes the row id.
    pub(crate) delete_sql: &'static str,
    /// Takes the row id and the text.
    pub(crate) insert_sql: &'static str,
    pub(crate) row_id: i64,
    /// Whether the index has an entry for the row.
    pub(crate) is_indexed: bool,
    /// The new text; `None` removes the row.
    pub(crate) text: Option<String>,
}

/// Writes the entries.
pub(super) fn write(connection: &Connection, mut entries: Vec<FullTextEntry>) -> Result<()> {
    entries.sort_by_key(|entry| (entry.insert_sql, entry.row_id));
    // Of several entries for one row, the first knows what is in the index and the last what belongs there.
    entries.dedup_by(|later, first| {
        let is_same = (later.insert_sql, later.row_id) == (first.insert_sql, first.row_id);
        if is_same {
            first.text = later.text.take();
        }
        is_same
    });
    for FullTextEntry { delete_sql, insert_sql, row_id, is_indexed, text } in entries {
        if is_indexed {
            connection.prepare_cached(delete_sql)?.execute([row_id])?;
        }
        if let Some(text) = text {
            connection.prepare_cached(insert_sql)?.execute((row_id, text))?;
        }
    }
    Ok(())
}
