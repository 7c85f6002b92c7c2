//! Makes polygons valid as OGC defines it, whatever is wrong with them. An outer ring covers what it runs
//! around, in either direction; its holes are cut out; and the polygons of a feature are united.
//!
//! The crate `i_overlay` does the work in integers. It splits the edges where they meet and rounds these
//! points to the units of the tile, until no edges cross. It needs memory for every crossing, so a polygon whose
//! edges cross far more often than those of drawn shapes stays as it is.

use super::{
    rings::{Ring, Rings, edges},
    transform::{CLIP_BOX, TilePoint},
};
use crate::edge_tree::EdgeTree;
use i_overlay::{
    core::{
        fill_rule::FillRule,
        overlay::{ContourDirection, IntOverlayOptions, Overlay, ShapeType},
        overlay_rule::OverlayRule,
        solver::Solver,
    },
    i_float::int::point::IntPoint,
};

/// The most crossings of edges, per edge. Shapes that are rounded to a few units have some.
const MAX_CROSSINGS_PER_EDGE: usize = 20;
/// The most crossings of edges.
const MAX_CROSSINGS: usize = 500_000;

/// Valid polygons that cover the same area. Empty if nothing is left of them; `None` if their edges cross too often.
pub(super) fn make_valid(rings: &Rings) -> Option<Rings> {
    let rings: Vec<Ring<'_>> = rings.iter().collect();
    if cross_too_often(&rings) {
        return None;
    }
    let mut polygons: Vec<Contours> =
        rings.chunk_by(|_, next| next.is_hole).map(cut_out_holes).collect();
    Some(match polygons.pop() {
        Some(last) if polygons.is_empty() => last.into_rings(),
        last => {
            let contours = polygons.iter().chain(&last).flat_map(Contours::all);
            // Holes run the other way, so they stay open unless another polygon covers them.
            overlay(contours.map(|points| Ring::new(false, points))).into_rings()
        }
    })
}

fn cross_too_often(rings: &[Ring<'_>]) -> bool {
    let count: usize = rings.iter().map(|ring| ring.points.len()).sum();
    let max = (count * MAX_CROSSINGS_PER_EDGE).min(MAX_CROSSINGS);
    let point = |at: TilePoint| IntPoint::new(at.x, at.y);
    let edges = rings.iter().flat_map(|ring| edges(ring.points));
    let edges = edges.map(|(from, to)| (point(from), point(to), 0));
    // Most shapes have too few edges for that.
    count * count / 2 > max && EdgeTree::new(edges).has_more_crossings_than(max)
}

/// The area of an outer ring without its holes. If the ring itself has no area, it is widened.
fn cut_out_holes(polygon: &[Ring<'_>]) -> Contours {
    let contours = overlay(polygon.iter().copied());
    let outer = polygon.first().filter(|ring| !ring.is_hole);
    match outer {
        Some(outer) if contours.outer.is_empty() && overlay([*outer]).outer.is_empty() => {
            let strips: Vec<_> = edges(outer.points).map(widen).collect();
            overlay(strips.iter().map(|points| Ring::new(false, points)))
        }
        _ => contours,
    }
}

/// An edge as a clockwise strip that is one unit wide.
fn widen((from, to): (TilePoint, TilePoint)) -> [TilePoint; 4] {
    let step = |a: i64, b: i64, max: i64| if a.max(b) < max { 1 } else { -1 };
    let is_steep = (to.x - from.x).abs() < (to.y - from.y).abs();
    let (x, y) = match is_steep {
        true => (step(from.x, to.x, CLIP_BOX.max_x), 0),
        false => (0, step(from.y, to.y, CLIP_BOX.max_y)),
    };
    let moved = |point: TilePoint| TilePoint {
        x: (point.x + x).max(CLIP_BOX.min_x),
        y: (point.y + y).max(CLIP_BOX.min_y),
    };
    let mut strip = [from, to, moved(to), moved(from)];
    if Ring::new(false, &strip).area < 0 {
        strip.reverse();
    }
    strip
}

/// Unites outer rings and cuts out holes.
fn overlay<'a>(rings: impl IntoIterator<Item = Ring<'a>>) -> Contours {
    let options = IntOverlayOptions {
        // Neighbours have these points too.
        preserve_input_collinear: true,
        preserve_output_collinear: true,
        output_direction: ContourDirection::CounterClockwise,
        min_output_area: 0,
        ogc: true,
    };
    let mut overlay = Overlay::<i32>::new_custom(0, options, Solver::default());
    for ring in rings {
        let points = ring.points.iter().map(|point| IntPoint::new(point.x as i32, point.y as i32));
        overlay
            .add_path_iter(points, if ring.is_hole { ShapeType::Clip } else { ShapeType::Subject });
    }
    let mut contours = Contours::default();
    for shape in overlay.overlay(OverlayRule::Difference, FillRule::NonZero) {
        let mut shape = shape.into_iter().map(|contour| {
            let point = |point: IntPoint<i32>| TilePoint { x: point.x.into(), y: point.y.into() };
            contour.into_iter().map(point).collect()
        });
        contours.outer.extend(shape.next());
        contours.holes.extend(shape);
    }
    contours
}

/// Rings that do not cross, but may touch at their points. Holes run in the other direction.
#[derive(Default)]
struct Contours {
    outer: Vec<Vec<TilePoint>>,
    holes: Vec<Vec<TilePoint>>,
}

impl Contours {
    fn all(&self) -> impl Iterator<Item = &[TilePoint]> {
        self.outer.iter().chain(&self.holes).map(Vec::as_slice)
    }

    /// Puts each hole behind the smallest outer ring around it. (`i_overlay` 9.1 sometimes takes another
    /// ring if several touch.)
    fn into_rings(mut self) -> Rings {
        self.outer.sort_by_cached_key(|ring| Ring::new(false, ring).area.abs());
        let mut holes_of = vec![Vec::new(); self.outer.len()];
        for hole in &self.holes {
            if let Some(outer) = self.outer.iter().position(|outer| is_around(outer, hole)) {
                holes_of[outer].push(hole);
            }
        }
        let mut rings = Rings::default();
        for (outer, holes) in self.outer.iter().zip(holes_of) {
            rings.push(Ring::new(false, outer));
            for hole in holes {
                rings.push(Ring::new(true, hole));
            }
        }
        rings
    }
}

/// Whether a ring is around another one that it does not cross.
fn is_around(ring: &[TilePoint], other: &[TilePoint]) -> bool {
    let [a, b, ..] = other else { return false };
    // The middle of an edge, times two. Rings touch only at their points, so it is not on the ring.
    let (x, y) = (a.x + b.x, a.y + b.y);
    let crossings = edges(ring).filter(|(from, to)| {
        let (from, to) = if from.y < to.y { (from, to) } else { (to, from) };
        (2 * from.y <= y && y < 2 * to.y)
            && (x - 2 * from.x) * (to.y - from.y) < (y - 2 * from.y) * (to.x - from.x)
    });
    crossings.count() % 2 == 1
}
