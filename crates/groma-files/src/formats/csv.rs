//! CSV with coordinates in columns, or geometries as WKT or WKB.

mod columns;
mod read;
mod rows;
mod write;

pub(super) use read::Table;
pub(super) use write::write;
