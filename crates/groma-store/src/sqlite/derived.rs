//! What is derived from records, written once for a group of changes: the bundles that lists are read from, and
//! the index of search texts. The index comes behind all else: whenever a statement that can fail half-way
//! through comes after a text, it writes out what it holds in memory as a segment of its own, which others have
//! to be merged with later.

use super::{bundles, sql::KindSql};
use crate::{Result, tx::kind_number};
use groma_domain::{Kind, text::FIELD_SEPARATOR};
use rusqlite::Connection;

/// What is to be written for records that have changed.
#[derive(Default)]
pub(super) struct Derived {
    /// The bundles in which a record has changed.
    bundles: Vec<(Kind, i64)>,
    texts: Vec<Entry>,
}

/// A record's search text is gone, and another is there.
struct Entry {
    kind: Kind,
    place: i64,
    was_there: bool,
    text: Option<String>,
}

impl Derived {
    /// A record was written or removed.
    pub(super) fn note(&mut self, kind: Kind, place: i64) {
        self.bundles.push((kind, bundles::bundle(place)));
    }

    /// Its search text, too, is another or gone.
    pub(super) fn note_text(
        &mut self,
        kind: Kind,
        place: i64,
        was_there: bool,
        text: Option<String>,
    ) {
        self.texts.push(Entry { kind, place, was_there, text });
    }

    /// Adds what came of a later change.
    pub(super) fn append(&mut self, mut later: Self) {
        self.bundles.append(&mut later.bundles);
        self.texts.append(&mut later.texts);
    }

    /// Writes it down.
    pub(super) fn write(self, connection: &Connection) -> Result<()> {
        write_bundles(connection, self.bundles)?;
        write_texts(connection, self.texts)
    }
}

fn write_bundles(connection: &Connection, mut touched: Vec<(Kind, i64)>) -> Result<()> {
    touched.sort_unstable_by_key(|(kind, bundle)| (kind_number(*kind), *bundle));
    touched.dedup();
    touched.into_iter().try_for_each(|(kind, bundle)| bundles::write(connection, kind, bundle))
}

/// The index wants texts in the order of their places.
fn write_texts(connection: &Connection, mut texts: Vec<Entry>) -> Result<()> {
    texts.sort_by_key(|entry| (kind_number(entry.kind), entry.place));
    // Of several about one record the first knows what was there, the last what is.
    texts.dedup_by(|later, first| {
        let is_same = (later.kind, later.place) == (first.kind, first.place);
        if is_same {
            first.text = later.text.take();
        }
        is_same
    });
    for Entry { kind, place, was_there, text } in texts {
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
