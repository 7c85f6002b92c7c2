//! Geometries: what was read of a body of GeoJSON is written in one transaction, all or nothing,
//! with everything that is kept exact beside it: a layer's counts, fields and bounds, the shelves
//! that its tiles are drawn from, the boxes of folders.

mod board;
mod edit;
mod post;
mod spool;
mod tally;

pub(crate) use board::ShelfRanges;
pub use edit::GeometryEdit;
pub use post::{NewGeometries, Outcome};
pub(crate) use post::{Post, place_folders};
pub use spool::Spool;
