//! The index of search texts, written once for a group of changes and behind all else: whenever a
//! statement that can fail half-way through comes after a text, the index writes out what it holds in
//! memory as a segment of its own, which others have to be merged with later.

use super::sql::KindSql;
use crate::{Result, tx::kind_number};
use groma_domain::{Kind, text::FIELD_SEPARATOR};
use rusqlite::Connection;

/// What is to become of the search texts of records.
#[derive(Default)]
pub(super) struct Indexing(Vec<Entry>);

/// A record's search text is gone, and another is there.
struct Entry {
    kind: Kind,
    place: i64,
    was_there: bool,
    text: Option<String>,
}

impl Indexing {
    pub(super) fn note(&mut self, kind: Kind, place: i64, was_there: bool, text: Option<String>) {
        self.0.push(Entry { kind, place, was_there, text });
    }

    /// Adds what came of a later change.
    pub(super) fn append(&mut self, mut later: Self) {
        self.0.append(&mut later.0);
    }

    /// Writes it down. The index wants texts in the order of their places.
    pub(super) fn write(mut self, connection: &Connection) -> Result<()> {
        self.0.sort_by_key(|entry| (kind_number(entry.kind), entry.place));
        // Of several about one record the first knows what was there, the last what is.
        self.0.dedup_by(|later, first| {
            let is_same = (later.kind, later.place) == (first.kind, first.place);
            if is_same {
                first.text = later.text.take();
            }
            is_same
        });
        for Entry { kind, place, was_there, text } in self.0 {
            let sql = KindSql::of(kind);
            if was_there {
                connection.prepare_cached(&sql.unindex)?.execute([place])?;
            }
            if let Some(mut text) = text {
                // Two separators behind the text give every character a trigram that begins with it,
                // so that terms of one or two characters can be looked up as beginnings of trigrams.
                text.extend([FIELD_SEPARATOR; 2]);
                connection.prepare_cached(&sql.index)?.execute((place, text))?;
            }
        }
        Ok(())
    }
}
