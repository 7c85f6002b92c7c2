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

    /// Whether both have a point in common. If west is greater than east, a box crosses the antimeridian.
    #[must_use]
    pub fn intersects(self, other: Self) -> bool {
        let ([_, south, _, north], [_, other_south, _, other_north]) = (self.0, other.0);
        let is_beside = |one: (f64, f64), two: (f64, f64)| one.1 < two.0 || two.1 < one.0;
        let meets = |one| other.longitudes().into_iter().flatten().any(|two| !is_beside(one, two));
        south <= other_north
            && other_south <= north
            && self.longitudes().into_iter().flatten().any(meets)
    }

    /// The ranges from west to east: two if the box crosses the antimeridian.
    fn longitudes(self) -> [Option<(f64, f64)>; 2] {
        let Self([west, _, east, _]) = self;
        match west > east {
            true => [Some((west, 180.0)), Some((-180.0, east))],
            false => [Some((west, east)), None],
        }
    }

    /// Whether this box reaches one of the sides of `outer`. If so, `outer` might shrink without it.
    #[must_use]
    pub fn touches_edge_of(self, outer: Self) -> bool {
        let ([w, s, e, n], [west, south, east, north]) = (self.0, outer.0);
        w <= west || s <= south || e >= east || n >= north
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_intersect_if_they_have_a_point_in_common() {
        let pacific = [170.0, -20.0, -170.0, 20.0];
        for (one, two, expected) in [
            ([0.0, 0.0, 1.0, 1.0], [1.0, 1.0, 2.0, 2.0], true),
            ([0.0, 0.0, 1.0, 1.0], [1.1, 0.0, 2.0, 1.0], false),
            ([0.0, 0.0, 1.0, 1.0], [0.0, 1.1, 1.0, 2.0], false),
            ([0.0, 0.0, 9.0, 9.0], [4.0, 4.0, 4.0, 4.0], true),
            (pacific, [175.0, 0.0, 175.0, 0.0], true),
            (pacific, [-175.0, 0.0, -175.0, 0.0], true),
            (pacific, [-180.0, 0.0, 180.0, 0.0], true),
            (pacific, [0.0, 0.0, 10.0, 10.0], false),
            (pacific, [175.0, 21.0, 176.0, 22.0], false),
            (pacific, [179.0, 0.0, -179.0, 1.0], true),
            (pacific, [160.0, 0.0, -175.0, 1.0], true),
        ] {
            assert_eq!(Bbox(one).intersects(Bbox(two)), expected, "{one:?} {two:?}");
            assert_eq!(Bbox(two).intersects(Bbox(one)), expected, "{two:?} {one:?}");
        }
    }
}
