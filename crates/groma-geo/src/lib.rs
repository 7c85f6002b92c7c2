//! Pure geometry. It knows nothing of projects, databases or HTTP, and holds no clock.

pub mod attributes;
pub mod block;
mod crs;
pub mod geojson;
mod geometry;
pub mod grid;
pub mod repair;
pub mod shape;
pub mod thin;
pub mod tile;
mod varint;
pub mod wkb;

pub use crs::{Crs, UnknownCrs};
pub use geometry::{Geometry, Line, Position, Rings};

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A box in WGS 84 degrees, written `[west, south, east, north]`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(value_type = Vec<f64>, min_items = 4, max_items = 4, example = json!([2.08, 47.65, 2.09, 47.66]))]
pub struct Bbox(pub [f64; 4]);

impl Bbox {
    /// The box around both.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        let ([w, s, e, n], [west, south, east, north]) = (self.0, other.0);
        Self([w.min(west), s.min(south), e.max(east), n.max(north)])
    }

    /// Whether it reaches one of the sides of `around`, so that `around` might shrink without it.
    #[must_use]
    pub fn touches_edge_of(self, around: Self) -> bool {
        let ([w, s, e, n], [west, south, east, north]) = (self.0, around.0);
        w <= west || s <= south || e >= east || n >= north
    }
}
