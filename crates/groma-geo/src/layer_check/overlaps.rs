//! Pairs of polygons that overlap by more than the tolerance.

use super::{
    Findings,
    grid::{Point, RingSize},
    max_crossings,
    polygons::Polygon,
    region::{Budget, ComparedLayer, Region},
};
use crate::{
    ProblemKind,
    edge_tree::{EdgeTree, cross, ring_edges},
};
use i_overlay::core::{
    fill_rule::FillRule,
    overlay::{IntOverlayOptions, Overlay, ShapeType},
    overlay_rule::OverlayRule,
    solver::Solver,
};

/// The most points that are compared with edges to find an edge between two polygons. Far more would take longer than
/// to intersect them.
const MAX_SIDE_COMPARISONS: usize = 8_192;

/// Reports the overlaps in a region. Returns whether the search was complete.
pub(super) fn find(
    layer: &ComparedLayer<'_>,
    region: Region,
    polygons: &[Polygon],
    budget: &mut Budget<'_>,
    findings: &mut Findings,
) -> bool {
    let mut by_min_x: Vec<&Polygon> = polygons.iter().collect();
    by_min_x.sort_unstable_by_key(|polygon| polygon.min.x);
    let mut is_complete = true;
    for (index, one) in by_min_x.iter().enumerate() {
        if budget.is_cancelled() {
            return false;
        }
        for other in by_min_x[index + 1..].iter().take_while(|other| other.min.x < one.max.x) {
            if !budget.compare_boxes(1) {
                return false;
            }
            // The lower left corner of the intersection of their boxes belongs to one region.
            let corner = Point::new(one.min.x.max(other.min.x), one.min.y.max(other.min.y));
            let is_apart = one.max.y <= other.min.y || other.max.y <= one.min.y;
            if is_apart || !region.contains(corner) || layer.are_same(one, other) {
                continue;
            }
            if is_separated_by_edge(one, other) || is_separated_by_edge(other, one) {
                continue;
            }
            if !budget.intersect(one.vertices() + other.vertices()) {
                return false;
            }
            if cross_too_often(one, other) {
                is_complete = false;
            } else if let Some((position, area)) = intersect(layer, one, other) {
                let mut features = vec![layer.number(one), layer.number(other)];
                features.sort_unstable();
                let position = layer.grid.lon_lat(layer.grid.position(position));
                findings.add(ProblemKind::Overlap, || (features, position, Some(area)));
            }
        }
    }
    is_complete
}

/// Whether all of `one` lies on one side of one of its edges, and all of `other` on the other side. That is so
/// for most neighbors, and much faster than to intersect them. It is not looked for in polygons with many vertices.
fn is_separated_by_edge(one: &Polygon, other: &Polygon) -> bool {
    let (Some(ring), Some(other)) = (one.rings.first(), other.rings.first()) else { return true };
    if ring.len() * (ring.len() + other.len()) > MAX_SIDE_COMPARISONS {
        return false;
    }
    // The ring runs counter-clockwise.
    let separates = |a: Point, b: Point| {
        other.iter().all(|at| cross(a, b, *at) <= 0) && ring.iter().all(|at| cross(a, b, *at) >= 0)
    };
    ring_edges(ring).any(|(a, b)| separates(*a, *b))
}

/// Whether the edges of two polygons cross so often that intersecting them would take too much memory or time.
fn cross_too_often(one: &Polygon, other: &Polygon) -> bool {
    let vertices = one.vertices() + other.vertices();
    let max = max_crossings(vertices);
    let edges = one.edges().chain(other.edges()).map(|(from, to)| (*from, *to, 0));
    // Small polygons cannot cross more often.
    vertices * vertices / 2 > max && EdgeTree::new(edges).has_more_crossings_than(max)
}

/// A position in the largest overlap, and the area of all; `None` if they are within the tolerance.
fn intersect(layer: &ComparedLayer<'_>, one: &Polygon, other: &Polygon) -> Option<(Point, f64)> {
    let mut overlay =
        Overlay::<i64>::new_custom(0, IntOverlayOptions::keep_output_points(), Solver::default());
    for (polygon, side) in [(one, ShapeType::Subject), (other, ShapeType::Clip)] {
        polygon.rings.iter().for_each(|ring| overlay.add_contour(ring, side));
    }
    let shapes = overlay.overlay(OverlayRule::Intersect, FillRule::NonZero);
    let (mut total, mut largest) = (0.0, None);
    for shape in &shapes {
        let [outer, holes @ ..] = shape.as_slice() else { continue };
        let Some(first) = outer.first() else { continue };
        let meters = layer.grid.meters_per_step(*first);
        let size = RingSize::of(outer, meters);
        let in_holes: f64 = holes.iter().map(|hole| RingSize::of(hole, meters).area).sum();
        let area = size.area - in_holes;
        let is_relevant =
            area >= layer.options.min_area() && size.width() > layer.options.tolerance;
        if !is_relevant {
            continue;
        }
        total += area;
        if largest.is_none_or(|(_, before)| area > before) {
            largest = Some((interior_point(shape)?, area));
        }
    }
    largest.map(|(position, _)| (position, total))
}

/// A point inside of a polygon: the middle of the widest span on a line through it.
pub(super) fn interior_point(rings: &[Vec<Point>]) -> Option<Point> {
    let mut heights: Vec<i64> = rings.iter().flatten().map(|at| at.y).collect();
    heights.sort_unstable();
    heights.dedup();
    let tallest = heights.windows(2).max_by_key(|pair| pair[1] - pair[0])?;
    let y = i64::midpoint(tallest[0], tallest[1]);
    let mut crossings: Vec<i64> = Vec::new();
    for ring in rings {
        for (a, b) in ring_edges(ring) {
            if (a.y > y) != (b.y > y) {
                let share = (y - a.y) as f64 / (b.y - a.y) as f64;
                crossings.push(a.x + ((b.x - a.x) as f64 * share) as i64);
            }
        }
    }
    crossings.sort_unstable();
    let spans = crossings.as_chunks::<2>().0;
    let [from, to] = spans.iter().max_by_key(|[from, to]| to - from)?;
    Some(Point::new(i64::midpoint(*from, *to), y))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A square with so many points on each side.
    fn square(corner: [i64; 2], points: i64) -> Polygon {
        let [x, y] = corner;
        let along = |step: i64| Point::new(x + step, y);
        let mut ring: Vec<Point> = (0..points).map(along).collect();
        ring.extend((0..points).map(|step| Point::new(x + points, y + step)));
        ring.extend((0..points).map(|step| Point::new(x + points - step, y + points)));
        ring.extend((0..points).map(|step| Point::new(x, y + points - step)));
        let max = Point::new(x + points, y + points);
        Polygon { feature: 0, rings: vec![ring], min: Point::new(x, y), max }
    }

    #[test]
    fn edge_between_polygons_is_looked_for_only_if_they_have_few_vertices() {
        assert!(is_separated_by_edge(&square([0, 0], 10), &square([10, 0], 10)));
        assert!(!is_separated_by_edge(&square([0, 0], 100), &square([100, 0], 100)));
        // Few edges, and many points.
        assert!(is_separated_by_edge(&square([0, 0], 1), &square([1, 0], 400)));
        assert!(!is_separated_by_edge(&square([0, 0], 1), &square([1, 0], 4_000)));
    }
}
