//! Simplification of shapes for tiles with units of 2^`scale` grid steps. Lines stay within one unit of
//! the original. The result is in half units, rounded down: a tile that rounds it to its own units gets
//! the same points as from the original.
//!
//! The algorithm walks along a line and drops vertices as long as a straight line passes all of
//! them within half a unit. It takes one pass, whatever the input: Douglas–Peucker is quadratic on a
//! spiral, and Visvalingam loses spikes without width.

use super::grid_geometry::{GridGeometry, GridPoint, Ring, doubled_area};
use crate::grid::morton;

/// How far a line may pass from the vertices it drops, in units. Where the line turns back, twice
/// that.
const TOLERANCE: f64 = 0.5;
/// One point is kept in each square with a side of 2^`POINT_CELL_BITS` units.
const POINT_CELL_BITS: u32 = 4;

impl GridGeometry {
    /// What a tile with units of 2^`scale` grid steps can show of it, in half units. `scale` is not 0. Of
    /// each type that is present, at least the largest shape is kept.
    pub(super) fn simplified(&self, scale: u32) -> Self {
        Self {
            points: points(&self.points, scale),
            lines: lines(&self.lines, scale),
            rings: rings(&self.rings, scale),
        }
    }
}

/// One point for each square of 16 units (two pixels) that has any.
fn points(points: &[GridPoint], scale: u32) -> Vec<GridPoint> {
    // The points are in Morton order, so those of a square follow each other.
    let square = |point: &GridPoint| morton(point.0, point.1) >> (2 * (scale + POINT_CELL_BITS));
    let mut kept: Vec<GridPoint> = Vec::new();
    let mut last = None;
    for point in points {
        if last.replace(square(point)) != Some(square(point)) {
            kept.push(half_units(*point, scale));
        }
    }
    kept
}

/// The lines that are longer than a unit, and the largest line in any case.
fn lines(lines: &[Vec<GridPoint>], scale: u32) -> Vec<Vec<GridPoint>> {
    let largest = (0..lines.len()).max_by_key(|&index| extent(&lines[index]));
    let simplified = lines.iter().map(|line| simplify_line(line, scale)).enumerate();
    let kept = simplified.filter(|(index, line)| line.len() > 1 || Some(*index) == largest);
    kept.map(|(_, line)| line).collect()
}

/// The rings that still have an area, and the largest outer ring in any case. Holes are dropped with
/// their outer ring.
fn rings(rings: &[Ring], scale: u32) -> Vec<Ring> {
    let outer = (0..rings.len()).filter(|&index| !rings[index].is_hole);
    let largest = outer.max_by_key(|&index| doubled_area(&rings[index].points).abs());
    let mut kept = Vec::new();
    let mut outer_is_kept = false;
    for (index, ring) in rings.iter().enumerate() {
        if ring.is_hole && !outer_is_kept {
            continue;
        }
        let points = simplify_ring(&ring.points, scale);
        let is_kept = doubled_area(&points) != 0 || Some(index) == largest;
        if !ring.is_hole {
            outer_is_kept = is_kept;
        }
        if is_kept {
            kept.push(Ring { is_hole: ring.is_hole, points });
        }
    }
    kept
}

fn simplify_ring(ring: &[GridPoint], scale: u32) -> Vec<GridPoint> {
    let closed: Vec<GridPoint> = ring.iter().chain(ring.first()).copied().collect();
    let mut points = simplify_line(&closed, scale);
    if points.len() > 1 && points.first() == points.last() {
        points.pop();
    }
    points
}

/// From the last kept point, tracks the directions in which a straight line passes all points since
/// within the tolerance. A point outside this sector, or one that turns back, makes the point before
/// it the next to keep.
fn simplify_line(line: &[GridPoint], scale: u32) -> Vec<GridPoint> {
    let tolerance = TOLERANCE * f64::from(1_u32 << scale);
    let mut kept: Vec<GridPoint> = Vec::new();
    let mut keep = |point: GridPoint| {
        let point = half_units(point, scale);
        if kept.last() != Some(&point) {
            kept.push(point);
        }
    };
    let Some((&first, rest)) = line.split_first() else { return kept };
    keep(first);
    let mut sector = Sector::new(first, tolerance);
    let mut before = first;
    for &point in rest {
        if !sector.narrow_to(point) {
            keep(before);
            sector = Sector::new(before, tolerance);
            sector.narrow_to(point);
        }
        before = point;
    }
    keep(before);
    kept
}

/// The directions from a point in which a straight line passes all later points within the
/// tolerance.
struct Sector {
    apex: GridPoint,
    tolerance: f64,
    /// The largest distance of a point from the apex.
    reach: f64,
    /// The right and left border; `None` while all points lie within the tolerance of the apex.
    borders: Option<[(f64, f64); 2]>,
}

impl Sector {
    fn new(apex: GridPoint, tolerance: f64) -> Self {
        Self { apex, tolerance, reach: 0.0, borders: None }
    }

    /// Narrows the sector to the directions that also pass this point. Returns false if the point
    /// lies outside or turns back.
    fn narrow_to(&mut self, point: GridPoint) -> bool {
        let x = f64::from(point.0) - f64::from(self.apex.0);
        let y = f64::from(point.1) - f64::from(self.apex.1);
        let distance = (x * x + y * y).sqrt();
        if distance + self.tolerance < self.reach {
            return false;
        }
        self.reach = self.reach.max(distance);
        if distance <= self.tolerance {
            return true;
        }
        let sine = self.tolerance / distance;
        let cosine = (1.0 - sine * sine).sqrt();
        let mut right = (x * cosine + y * sine, y * cosine - x * sine);
        let mut left = (x * cosine - y * sine, y * cosine + x * sine);
        if let Some([old_right, old_left]) = self.borders {
            if cross(old_right, (x, y)) < 0.0 || cross((x, y), old_left) < 0.0 {
                return false;
            }
            if cross(old_right, right) < 0.0 {
                right = old_right;
            }
            if cross(left, old_left) < 0.0 {
                left = old_left;
            }
        }
        self.borders = Some([right, left]);
        true
    }
}

fn cross(a: (f64, f64), b: (f64, f64)) -> f64 {
    a.0 * b.1 - a.1 * b.0
}

/// The larger side of the bounds of a line.
fn extent(line: &[GridPoint]) -> u32 {
    let side = |values: &mut dyn Iterator<Item = u32>| {
        let (low, high) =
            values.fold((u32::MAX, 0), |(low, high), value| (low.min(value), high.max(value)));
        high.saturating_sub(low)
    };
    side(&mut line.iter().map(|point| point.0)).max(side(&mut line.iter().map(|point| point.1)))
}

fn half_units(point: GridPoint, scale: u32) -> GridPoint {
    (point.0 >> (scale - 1), point.1 >> (scale - 1))
}
