//! CSV with coordinates in columns, or geometries as WKT or WKB.

mod columns;
mod read;
mod rows;
mod write;

pub use columns::GeometryColumns;
pub(super) use read::Table;
pub(crate) use read::columns;
pub(super) use write::write;
