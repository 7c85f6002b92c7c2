//! Repairs what has only one sensible meaning: repeated positions, spikes and self-intersections.

use super::{
    LayerCheckOptions, first_position,
    grid::{Grid, Point},
    max_crossings,
};
use crate::{
    Geometry, Line, Position, ProblemKind, Rings,
    edge_tree::EdgeTree,
    geometry_check::{find_flaws, without_repeated_positions},
};
use i_overlay::core::{
    fill_rule::FillRule,
    overlay::{ContourDirection, IntOverlayOptions, Overlay, ShapeType},
    overlay_rule::OverlayRule,
    solver::Solver,
};
use rustc_hash::FxHashMap;

/// Edges are at most this many steps from their crossings, which are rounded to the grid, sometimes more than once.
const ON_EDGE: i64 = 16;

impl LayerCheckOptions {
    /// The geometry without repeated positions, spikes and self-intersections; `None` if it has none, or cannot
    /// be repaired, for example because it crosses itself far more often than it has vertices. A polygon that
    /// crosses itself keeps what is inside by the even-odd rule, as most programs fill it and as drawing on the map
    /// repairs it. All other positions keep their exact coordinates.
    #[must_use]
    pub fn repair(&self, geometry: &Geometry) -> Option<Geometry> {
        let grid = Grid::new(self.crs.clone());
        let limit = self.spike_limit(&grid, first_position(geometry)?);
        let flaws = find_flaws(geometry, Some(limit));
        let has = |kind| flaws.iter().any(|flaw| flaw.kind == kind);
        if !ProblemKind::ALL.into_iter().any(|kind| kind.is_repairable() && has(kind)) {
            return None;
        }
        let without_spikes =
            |ring: Line| limit.remove_spikes(&ring).map_or(ring, |cleaned| cleaned.ring);
        let mut repaired = map_rings(geometry, &|line, is_ring| {
            let cleaned = without_repeated_positions(line);
            let is_too_short = cleaned.len() < if is_ring { 4 } else { 2 };
            let cleaned = if is_too_short { line.clone() } else { cleaned };
            if is_ring { without_spikes(cleaned) } else { cleaned }
        });
        if has(ProblemKind::SelfIntersection) {
            repaired = resolve_intersections(&grid, &repaired)?;
        }
        let left = find_flaws(&repaired, Some(limit));
        let is_better = repaired != *geometry && first_position(&repaired).is_some();
        let is_left = |kind: ProblemKind| left.iter().any(|flaw| flaw.kind == kind);
        let is_repaired = ProblemKind::ALL.into_iter().all(|kind| has(kind) || !is_left(kind));
        let is_valid = !is_left(ProblemKind::SelfIntersection);
        (is_better && is_repaired && is_valid).then_some(repaired)
    }
}

/// The geometry with its lines and rings changed; the flag says which is a ring.
fn map_rings(geometry: &Geometry, change: &impl Fn(&Line, bool) -> Line) -> Geometry {
    let rings = |rings: &Rings| rings.iter().map(|ring| change(ring, true)).collect();
    match geometry {
        Geometry::Point(_) | Geometry::MultiPoint(_) => geometry.clone(),
        Geometry::LineString(line) => Geometry::LineString(change(line, false)),
        Geometry::MultiLineString(lines) => {
            Geometry::MultiLineString(lines.iter().map(|line| change(line, false)).collect())
        }
        Geometry::Polygon(polygon) => Geometry::Polygon(rings(polygon)),
        Geometry::MultiPolygon(polygons) => {
            Geometry::MultiPolygon(polygons.iter().map(rings).collect())
        }
        Geometry::Collection(parts) => {
            Geometry::Collection(parts.iter().map(|part| map_rings(part, change)).collect())
        }
    }
}

/// The geometry with valid polygons of what is inside by the even-odd rule; `None` if a polygon crosses itself too
/// often. Valid polygons stay as they are.
pub(super) fn resolve_intersections(grid: &Grid, geometry: &Geometry) -> Option<Geometry> {
    let is_valid = |rings: &Rings| find_flaws(&Geometry::Polygon(rings.clone()), None).is_empty();
    let resolve = |rings: &Rings| match is_valid(rings) {
        true => Some(vec![rings.clone()]),
        false => resolve_polygon(grid, rings),
    };
    Some(match geometry {
        Geometry::Polygon(rings) => {
            let mut polygons = resolve(rings)?;
            match polygons.pop() {
                Some(only) if polygons.is_empty() => Geometry::Polygon(only),
                last => {
                    polygons.extend(last);
                    Geometry::MultiPolygon(polygons)
                }
            }
        }
        Geometry::MultiPolygon(polygons) => {
            let resolved: Option<Vec<_>> = polygons.iter().map(resolve).collect();
            Geometry::MultiPolygon(resolved?.into_iter().flatten().collect())
        }
        Geometry::Collection(parts) => {
            let resolved = parts.iter().map(|part| resolve_intersections(grid, part));
            Geometry::Collection(resolved.collect::<Option<_>>()?)
        }
        _ => geometry.clone(),
    })
}

/// What is inside of a polygon by the even-odd rule; `None` if it crosses itself too often.
fn resolve_polygon(grid: &Grid, rings: &Rings) -> Option<Vec<Rings>> {
    let edges = PolygonEdges::new(grid, rings);
    if edges.tree.has_more_crossings_than(max_crossings(edges.pairs.len())) {
        return None;
    }
    let options = IntOverlayOptions {
        preserve_input_collinear: true,
        preserve_output_collinear: true,
        output_direction: ContourDirection::CounterClockwise,
        min_output_area: 0,
        ogc: true,
    };
    let mut overlay = Overlay::<i64>::new_custom(0, options, Solver::default());
    let mut positions = FxHashMap::default();
    for ring in rings {
        positions.extend(ring.iter().map(|at| (key(grid.point(*at)), *at)));
        overlay.add_path_iter(ring.iter().map(|at| grid.point(*at)), ShapeType::Subject);
    }
    let mut restore = |at: Point| {
        *positions
            .entry(key(at))
            .or_insert_with(|| Position { z: edges.height(at), ..grid.position(at) })
    };
    let shapes = overlay.overlay(OverlayRule::Subject, FillRule::EvenOdd);
    let mut ring = |contour: Vec<Point>| {
        let mut ring: Line = contour.into_iter().map(&mut restore).collect();
        ring.extend(ring.first().copied());
        ring
    };
    Some(shapes.into_iter().map(|shape| shape.into_iter().map(&mut ring).collect()).collect())
}

fn key(at: Point) -> (i64, i64) {
    (at.x, at.y)
}

/// The edges of a polygon on the grid.
struct PolygonEdges<'g> {
    grid: &'g Grid,
    /// Each pair of positions is an edge; its index is the number of the edge.
    pairs: Vec<[Position; 2]>,
    tree: EdgeTree,
    has_heights: bool,
}

impl<'g> PolygonEdges<'g> {
    fn new(grid: &'g Grid, rings: &Rings) -> Self {
        let pairs = rings.iter().flat_map(|ring| ring.windows(2)).map(|pair| [pair[0], pair[1]]);
        let pairs: Vec<[Position; 2]> = pairs.collect();
        let edges = pairs.iter().zip(0..);
        let tree = EdgeTree::new(
            edges.map(|([from, to], number)| (grid.point(*from), grid.point(*to), number)),
        );
        let has_heights = pairs.iter().flatten().any(|at| at.z.is_some());
        Self { grid, pairs, tree, has_heights }
    }

    /// The height of the nearest edge with heights at a point where edges cross.
    fn height(&self, at: Point) -> Option<f64> {
        if !self.has_heights {
            return None;
        }
        let position = self.grid.position(at);
        let edges = self.tree.near(at, ON_EDGE).map(|edge| self.pairs[edge.owner as usize]);
        let nearest = edges.filter_map(|[from, to]| {
            let (from_z, to_z) = from.z.zip(to.z)?;
            let (dx, dy) = (to.x - from.x, to.y - from.y);
            let along = (position.x - from.x) * dx + (position.y - from.y) * dy;
            let share = (along / (dx * dx + dy * dy)).clamp(0.0, 1.0);
            let distance =
                (position.x - from.x - share * dx).hypot(position.y - from.y - share * dy);
            Some((distance, from_z + share * (to_z - from_z)))
        });
        nearest.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, height)| height)
    }
}
