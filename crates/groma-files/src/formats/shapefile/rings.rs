//! The rings of a Shapefile's polygon come in any order: outer rings run clockwise, holes counter-clockwise.

use groma_geo::{Line, Position, Rings};

/// The polygons that rings form.
pub(super) fn polygons(rings: Vec<Line>) -> Vec<Rings> {
    if rings.len() < 2 {
        return rings.into_iter().map(|ring| vec![ring]).collect();
    }
    let (outer, holes): (Vec<Line>, Vec<Line>) =
        rings.into_iter().partition(|ring| area(ring) <= 0.0);
    let mut polygons: Vec<(Rings, [f64; 4], f64)> =
        outer.into_iter().map(|ring| with_bounds(vec![ring])).collect();
    let mut orphans = Vec::new();
    for hole in holes {
        let around = polygons
            .iter_mut()
            .filter(|(rings, bounds, _)| contains(bounds, &hole) && is_inside(&hole, &rings[0]))
            .min_by(|a, b| a.2.total_cmp(&b.2));
        match around {
            Some((rings, ..)) => rings.push(hole),
            // Some programs write outer rings counter-clockwise.
            None => orphans.push(vec![hole]),
        }
    }
    polygons.into_iter().map(|(rings, ..)| rings).chain(orphans).collect()
}

fn with_bounds(rings: Rings) -> (Rings, [f64; 4], f64) {
    let start = [f64::INFINITY, f64::INFINITY, f64::NEG_INFINITY, f64::NEG_INFINITY];
    let bounds = rings[0].iter().fold(start, |[west, south, east, north], at| {
        [west.min(at.x), south.min(at.y), east.max(at.x), north.max(at.y)]
    });
    let size = area(&rings[0]).abs();
    (rings, bounds, size)
}

fn contains([west, south, east, north]: &[f64; 4], hole: &Line) -> bool {
    let is_within =
        |at: &Position| *west <= at.x && at.x <= *east && *south <= at.y && at.y <= *north;
    hole.first().is_some_and(is_within) && hole.iter().all(is_within)
}

/// Twice the area, positive if the ring runs counter-clockwise.
pub(super) fn area(ring: &Line) -> f64 {
    let Some(origin) = ring.first() else { return 0.0 };
    let edge = |edge: &[Position]| {
        let (a, b) = (edge[0], edge[1]);
        (a.x - origin.x) * (b.y - origin.y) - (b.x - origin.x) * (a.y - origin.y)
    };
    ring.windows(2).map(edge).sum()
}

/// Whether a hole is inside a ring, which it may touch: decided by its first corner that is not on the ring.
fn is_inside(hole: &Line, ring: &Line) -> bool {
    hole.iter().find_map(|at| position(*at, ring)).unwrap_or(true)
}

/// Whether a position is inside a ring; `None` if it is on it.
fn position(at: Position, ring: &Line) -> Option<bool> {
    let mut is_inside = false;
    for edge in ring.windows(2) {
        let (a, b) = (edge[0], edge[1]);
        let side = (b.x - a.x) * (at.y - a.y) - (at.x - a.x) * (b.y - a.y);
        let is_between = (a.x.min(b.x)..=a.x.max(b.x)).contains(&at.x)
            && (a.y.min(b.y)..=a.y.max(b.y)).contains(&at.y);
        if side == 0.0 && is_between {
            return None;
        }
        if (a.y > at.y) != (b.y > at.y) && (side > 0.0) == (b.y > a.y) {
            is_inside = !is_inside;
        }
    }
    Some(is_inside)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn square(x: f64, y: f64, size: f64, clockwise: bool) -> Line {
        let corners = [(x, y), (x, y + size), (x + size, y + size), (x + size, y), (x, y)];
        let mut ring: Line =
            corners.iter().map(|(x, y)| Position { x: *x, y: *y, z: None }).collect();
        if !clockwise {
            ring.reverse();
        }
        ring
    }

    #[test]
    fn holes_find_the_smallest_ring_around_them() {
        let (land, lake) = (square(0.0, 0.0, 100.0, true), square(10.0, 10.0, 50.0, false));
        let (island, pond) = (square(20.0, 20.0, 20.0, true), square(20.0, 25.0, 5.0, false));
        let other = square(200.0, 0.0, 10.0, true);
        let rings = vec![pond.clone(), lake.clone(), land.clone(), island.clone(), other.clone()];
        assert_eq!(polygons(rings), [vec![land, lake], vec![island, pond], vec![other]]);
    }

    #[test]
    fn hole_without_a_ring_becomes_a_polygon() {
        let (a, b) = (square(0.0, 0.0, 1.0, false), square(5.0, 0.0, 1.0, false));
        assert_eq!(polygons(vec![a.clone(), b.clone()]), [vec![a], vec![b]]);
    }
}
