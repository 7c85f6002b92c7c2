//! Uncovered areas that polygons enclose.

use super::{
    Findings, MAX_GAP_LENGTH,
    grid::{Point, RingSize},
    max_crossings,
    overlaps::interior_point,
    polygons::Polygon,
    region::{Budget, ComparedLayer, Region},
};
use crate::{
    ProblemKind,
    edge_tree::{Edge, EdgeTree, ring_edges},
};
use i_overlay::core::{
    fill_rule::FillRule,
    overlay::{ContourDirection, IntOverlayOptions, Overlay, ShapeType},
    overlay_rule::OverlayRule,
    solver::Solver,
};

/// The most polygons around a gap that a problem names.
const MAX_NEIGHBORS: usize = 8;
/// A point that is at most this many steps from an edge lies on it: crossings are rounded to the grid.
const ON_EDGE: i64 = 3;

/// Reports the gaps in a region. A hole of a single feature is none: it is meant to be there. Returns whether the
/// search was complete.
pub(super) fn find(
    layer: &ComparedLayer<'_>,
    region: Region,
    polygons: &[Polygon],
    budget: &Budget<'_>,
    findings: &mut Findings,
) -> bool {
    if budget.is_cancelled() {
        return false;
    }
    let numbered = polygons.iter().zip(0..);
    let edges =
        EdgeTree::new(numbered.flat_map(|(polygon, number)| {
            polygon.edges().map(move |(from, to)| (*from, *to, number))
        }));
    let vertices = polygons.iter().map(Polygon::vertices).sum();
    if edges.has_more_crossings_than(max_crossings(vertices)) {
        return false;
    }
    let options = IntOverlayOptions {
        preserve_input_collinear: false,
        preserve_output_collinear: false,
        output_direction: ContourDirection::CounterClockwise,
        min_output_area: 0,
        ogc: true,
    };
    let mut overlay = Overlay::<i64>::new_custom(0, options, Solver::default());
    for ring in polygons.iter().flat_map(|polygon| &polygon.rings) {
        overlay.add_contour(ring, ShapeType::Subject);
    }
    for shape in overlay.overlay(OverlayRule::Subject, FillRule::NonZero) {
        if budget.is_cancelled() {
            return false;
        }
        for hole in shape.iter().skip(1) {
            let corner = hole.iter().copied();
            let corner = corner.reduce(|a, b| Point::new(a.x.min(b.x), a.y.min(b.y)));
            let Some(corner) = corner.filter(|corner| region.contains(*corner)) else { continue };
            let size = RingSize::of(hole, layer.grid.meters_per_step(corner));
            let is_relevant = size.area >= layer.options.min_area()
                && size.width() > layer.options.tolerance
                && size.extent.iter().all(|length| *length <= MAX_GAP_LENGTH);
            if !is_relevant {
                continue;
            }
            let neighbors = neighbors(layer, hole, polygons, &edges);
            let Some(position) = interior_point(std::slice::from_ref(hole)) else { continue };
            if neighbors.len() > 1 {
                let position = layer.grid.lon_lat(layer.grid.position(position));
                findings.add(ProblemKind::Gap, || (neighbors, position, Some(size.area)));
            }
        }
    }
    true
}

/// The numbers of features with an edge along a gap.
fn neighbors(
    layer: &ComparedLayer<'_>,
    gap: &[Point],
    polygons: &[Polygon],
    edges: &EdgeTree,
) -> Vec<u64> {
    let mut found = Vec::new();
    for (a, b) in ring_edges(gap) {
        let middle = Point::new(i64::midpoint(a.x, b.x), i64::midpoint(a.y, b.y));
        for edge in edges.near(middle, ON_EDGE).filter(|edge| is_on_edge(edge, middle)) {
            let number = layer.number(&polygons[edge.owner as usize]);
            if found.len() < MAX_NEIGHBORS && !found.contains(&number) {
                found.push(number);
            }
        }
    }
    found.sort_unstable();
    found
}

fn is_on_edge(edge: &Edge, at: Point) -> bool {
    let vector = |to: Point| [(to.x - edge.from.x) as f64, (to.y - edge.from.y) as f64];
    let (along, to) = (vector(edge.to), vector(at));
    let squared = along[0] * along[0] + along[1] * along[1];
    let share = ((to[0] * along[0] + to[1] * along[1]) / squared.max(1.0)).clamp(0.0, 1.0);
    (to[0] - share * along[0]).hypot(to[1] - share * along[1]) <= ON_EDGE as f64
}
