//! Documents in bundles, as lists read them: those of eight neighbouring places in one row. Finding fifty rows
//! and looking at their columns costs twice what copying their documents does.

use super::sql::KindSql;
use crate::{Error, Result};
use groma_domain::Kind;
use rusqlite::Connection;

/// The bits of a place that tell the records of one bundle apart, in the statements too.
const BITS: u32 = 3;

/// A document of a bundle.
pub(super) struct Bundled<'b> {
    pub(super) place: i64,
    pub(super) json: &'b [u8],
    pub(super) people: &'b [u8],
}

/// The number of the bundle that a place is in.
pub(super) fn bundle(place: i64) -> i64 {
    place >> BITS
}

/// Writes the bundle anew from what the records are now.
pub(super) fn write(connection: &Connection, kind: Kind, bundle: i64) -> Result<()> {
    let sql = KindSql::of(kind);
    if connection.prepare_cached(&sql.bundle)?.execute([bundle])? == 0 {
        connection.prepare_cached(&sql.remove_bundles)?.execute([bundle, bundle])?;
    }
    Ok(())
}

/// Calls `each` for the documents from a place on, until it says that it has enough.
pub(super) fn walk(
    connection: &Connection,
    kind: Kind,
    (first, last): (i64, i64),
    mut each: impl FnMut(&Bundled<'_>) -> bool,
) -> Result<()> {
    let mut statement = connection.prepare_cached(&KindSql::of(kind).bundles)?;
    let mut rows = statement.query([bundle(first), bundle(last)])?;
    while let Some(row) = rows.next()? {
        let bundle: i64 = row.get(0)?;
        let mut rest = row.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?;
        while !rest.is_empty() {
            let Some(bundled) = take(bundle, &mut rest) else {
                return Err(Error::Damaged(format!("the bundle {bundle} of {}", kind.plural())));
            };
            if bundled.place >= first && !each(&bundled) {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Takes the first document off the rest of a bundle.
fn take<'b>(bundle: i64, rest: &mut &'b [u8]) -> Option<Bundled<'b>> {
    let (slot, behind) = rest.split_first()?;
    let (people_length, behind) = behind.split_first_chunk()?;
    let (length, behind) = behind.split_first_chunk()?;
    let (people, behind) = behind.split_at_checked(u32::from_be_bytes(*people_length) as usize)?;
    let (json, behind) = behind.split_at_checked(u32::from_be_bytes(*length) as usize)?;
    *rest = behind;
    Some(Bundled { place: bundle << BITS | i64::from(*slot), json, people })
}
