//! Whether a geometry and a bounding box have a point in common.

use crate::{Bbox, Geometry, Line, Position, Rings};

impl Geometry {
    /// Whether the geometry and the box have a point in common. If west is greater than east, the box crosses
    /// the antimeridian.
    #[must_use]
    pub fn intersects_box(&self, bbox: Bbox) -> bool {
        let Bbox([west, south, east, north]) = bbox;
        if west > east {
            return self.intersects_box(Bbox([west, south, 180.0, north]))
                || self.intersects_box(Bbox([-180.0, south, east, north]));
        }
        match self {
            Self::Point(position) => contains(bbox, *position),
            Self::MultiPoint(positions) => positions.iter().any(|at| contains(bbox, *at)),
            Self::LineString(line) => line_intersects(line, bbox),
            Self::MultiLineString(lines) => lines.iter().any(|line| line_intersects(line, bbox)),
            Self::Polygon(rings) => polygon_intersects(rings, bbox),
            Self::MultiPolygon(polygons) => {
                polygons.iter().any(|rings| polygon_intersects(rings, bbox))
            }
            Self::Collection(parts) => parts.iter().any(|part| part.intersects_box(bbox)),
        }
    }
}

fn contains(Bbox([west, south, east, north]): Bbox, at: Position) -> bool {
    west <= at.x && at.x <= east && south <= at.y && at.y <= north
}

fn line_intersects(line: &Line, bbox: Bbox) -> bool {
    line.iter().any(|at| contains(bbox, *at))
        || line.windows(2).any(|pair| segment_intersects(pair[0], pair[1], bbox))
}

/// A polygon meets the box with its boundary, or contains it.
fn polygon_intersects(rings: &Rings, bbox: Bbox) -> bool {
    let Bbox([west, south, ..]) = bbox;
    rings.iter().any(|ring| line_intersects(ring, bbox)) || {
        let crossings = rings.iter().map(|ring| crossings_east_of(ring, west, south));
        crossings.sum::<usize>() % 2 == 1
    }
}

/// Whether a segment meets the box, by clipping it to each of the four sides (Liang and Barsky).
fn segment_intersects(from: Position, to: Position, bbox: Bbox) -> bool {
    let Bbox([west, south, east, north]) = bbox;
    let (mut start, mut end) = (0.0_f64, 1.0_f64);
    for (delta, distance) in [
        (from.x - to.x, from.x - west),
        (to.x - from.x, east - from.x),
        (from.y - to.y, from.y - south),
        (to.y - from.y, north - from.y),
    ] {
        if delta == 0.0 {
            if distance < 0.0 {
                return false;
            }
        } else if delta < 0.0 {
            start = start.max(distance / delta);
        } else {
            end = end.min(distance / delta);
        }
    }
    start <= end
}

/// How many segments of a ring cross the ray from a point to the east.
fn crossings_east_of(ring: &Line, x: f64, y: f64) -> usize {
    let crosses = |pair: &&[Position]| {
        let (a, b) = (pair[0], pair[1]);
        (a.y > y) != (b.y > y) && x < a.x + (y - a.y) / (b.y - a.y) * (b.x - a.x)
    };
    ring.windows(2).filter(crosses).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(positions: &[(f64, f64)]) -> Line {
        positions.iter().map(|(x, y)| Position { x: *x, y: *y, z: None }).collect()
    }

    fn square(min: f64, max: f64) -> Line {
        line(&[(min, min), (max, min), (max, max), (min, max), (min, min)])
    }

    const UNIT: Bbox = Bbox([0.0, 0.0, 1.0, 1.0]);

    #[test]
    fn points_on_the_edge_are_inside() {
        for (x, y, is_inside) in [(0.5, 0.5, true), (1.0, 1.0, true), (1.1, 0.5, false)] {
            let point = Geometry::Point(Position { x, y, z: None });
            assert_eq!(point.intersects_box(UNIT), is_inside, "{x} {y}");
        }
    }

    #[test]
    fn line_that_passes_the_box_meets_it() {
        let meets = |points: &[(f64, f64)]| Geometry::LineString(line(points)).intersects_box(UNIT);
        assert!(meets(&[(-1.0, 0.5), (2.0, 0.5)]));
        assert!(meets(&[(-1.0, 1.0), (1.0, -1.0)]));
        assert!(!meets(&[(-1.0, 0.9), (0.9, -1.0)]));
        // The bounding box of the line contains the box.
        assert!(!meets(&[(-1.0, -1.0), (-1.0, 3.0), (3.0, 3.0)]));
        assert!(meets(&[(0.5, -1.0), (0.5, 2.0)]));
    }

    #[test]
    fn polygon_around_the_box_meets_it_unless_the_box_is_in_a_hole() {
        let around = Geometry::Polygon(vec![square(-5.0, 5.0)]);
        assert!(around.intersects_box(UNIT));
        let with_hole = Geometry::Polygon(vec![square(-5.0, 5.0), square(-2.0, 2.0)]);
        assert!(!with_hole.intersects_box(UNIT));
        let inside = Geometry::MultiPolygon(vec![vec![square(8.0, 9.0)], vec![square(0.2, 0.4)]]);
        assert!(inside.intersects_box(UNIT));
        assert!(!Geometry::Collection(Vec::new()).intersects_box(UNIT));
    }

    #[test]
    fn box_across_the_antimeridian_has_two_parts() {
        let across = Bbox([170.0, -10.0, -170.0, 10.0]);
        for (x, is_inside) in [(175.0, true), (-175.0, true), (180.0, true), (0.0, false)] {
            let point = Geometry::Point(Position { x, y: 0.0, z: None });
            assert_eq!(point.intersects_box(across), is_inside, "{x}");
        }
    }
}
