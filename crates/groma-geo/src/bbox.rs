//! Bounding boxes in degrees.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A bounding box in WGS 84 degrees, written `[west, south, east, north]`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(value_type = Vec<f64>, min_items = 4, max_items = 4, example = json!([2.08, 47.65, 2.09, 47.66]))]
pub struct Bbox(pub [f64; 4]);

impl Bbox {
    /// The bounding box of both.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        let ([w, s, e, n], [west, south, east, north]) = (self.0, other.0);
        Self([w.min(west), s.min(south), e.max(east), n.max(north)])
    }

    /// Whether this box reaches one of the sides of `outer`. If so, `outer` might shrink without it.
    #[must_use]
    pub fn touches_edge_of(self, outer: Self) -> bool {
        let ([w, s, e, n], [west, south, east, north]) = (self.0, outer.0);
        w <= west || s <= south || e >= east || n >= north
    }
}
