//! Geometry without I/O, except for grid files: GeoJSON and WKB, reference systems, the Web Mercator grid, and
//! vector tiles.
//!
//! This crate knows nothing of projects, databases or HTTP, and holds no clock.

pub mod attributes;
mod bbox;
mod box_intersection;
pub mod coverage;
mod crs;
mod edge_tree;
pub mod geojson;
mod geometry;
mod geometry_check;
pub mod grid;
pub mod layer_check;
mod message;
mod problem;
mod relation;
mod repair;
pub mod tile;
pub mod tile_block;
pub mod tile_shape;
mod varint;
pub mod wkb;
pub mod zoom_selection;
pub mod zoom_tier;

pub use bbox::Bbox;
pub use crs::{Crs, CrsError, CrsInfo, GridFiles, OperationInfo, set_grid_files};
pub use geometry::{Geometry, Line, Position, Rings};
pub use geometry_check::{Notice, check_geometry};
pub use message::{Message, MessageValue};
pub use problem::ProblemKind;
pub use relation::{PreparedShape, Relation, Shape};
