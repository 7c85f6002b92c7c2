//! GeoPackage (OGC 12-128), an SQLite database.

mod read;
mod write;

pub(super) use read::GeoPackage;
pub(super) use write::write;
pub(crate) use write::{begin, finish, write_layer};

/// Marks the description of a column in `gpkg_data_columns` whose `name` is that of the property.
const PROPERTY: &str = "Property of the Groma layer";

/// A name in SQL.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
