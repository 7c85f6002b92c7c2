//! Shapes with fewer vertices, in units of 2^`scale` steps of the grid. Lines stay within one unit
//! of where they were, and shifting a unit further gives what shifting a step would have given.

use super::parts::{Place, Ring, doubled_area};
use crate::grid::morton;

/// A line may pass its vertices at this distance, in units; where it turns back, at twice that.
const TOLERANCE: f64 = 0.5;
/// Of many points one is kept in a square of 2^`CROWD` units.
const CROWD: u32 = 4;

/// One point for each square of 16 units (two pixels) that has any.
pub(super) fn points(points: &[Place], scale: u32) -> Vec<Place> {
    // They are in Morton order, so those of a square follow each other.
    let square = |place: &Place| morton(place.0, place.1) >> (2 * (scale + CROWD));
    let mut kept: Vec<Place> = Vec::new();
    let mut last = None;
    for place in points {
        if last.replace(square(place)) != Some(square(place)) {
            kept.push(scaled(*place, scale));
        }
    }
    kept
}

/// Lines longer than a unit, and the largest in any case.
pub(super) fn lines(lines: &[Vec<Place>], scale: u32) -> Vec<Vec<Place>> {
    let largest = (0..lines.len()).max_by_key(|&index| extent(&lines[index]));
    let simple = lines.iter().map(|line| path(line, scale)).enumerate();
    let worth = simple.filter(|(index, line)| line.len() > 1 || Some(*index) == largest);
    worth.map(|(_, line)| line).collect()
}

/// Rings that still have an area, and the largest outer ring in any case. A hole goes with its
/// outer ring.
pub(super) fn rings(rings: &[Ring], scale: u32) -> Vec<Ring> {
    let outer = (0..rings.len()).filter(|&index| !rings[index].hole);
    let largest = outer.max_by_key(|&index| doubled_area(&rings[index].places).abs());
    let mut kept = Vec::new();
    let mut outer_kept = false;
    for (index, ring) in rings.iter().enumerate() {
        if ring.hole && !outer_kept {
            continue;
        }
        let places = ring_path(&ring.places, scale);
        let worth = doubled_area(&places) != 0 || Some(index) == largest;
        if !ring.hole {
            outer_kept = worth;
        }
        if worth {
            kept.push(Ring { hole: ring.hole, places });
        }
    }
    kept
}

fn ring_path(ring: &[Place], scale: u32) -> Vec<Place> {
    let closed: Vec<Place> = ring.iter().chain(ring.first()).copied().collect();
    let mut places = path(&closed, scale);
    if places.len() > 1 && places.first() == places.last() {
        places.pop();
    }
    places
}

/// A line through some of its places. From the last one kept, those directions are open that pass
/// all places since at no more than the tolerance; the first place out of reach, and one that turns
/// back, makes the place before it the next to keep.
fn path(line: &[Place], scale: u32) -> Vec<Place> {
    let tolerance = TOLERANCE * f64::from(1_u32 << scale);
    let mut kept: Vec<Place> = Vec::new();
    let mut keep = |place: Place| {
        let place = scaled(place, scale);
        if kept.last() != Some(&place) {
            kept.push(place);
        }
    };
    let Some((&first, rest)) = line.split_first() else { return kept };
    keep(first);
    let mut sight = Sight::from(first, tolerance);
    let mut before = first;
    for &place in rest {
        if !sight.reaches(place) {
            keep(before);
            sight = Sight::from(before, tolerance);
            sight.reaches(place);
        }
        before = place;
    }
    keep(before);
    kept
}

/// The directions from a place that pass every place since within the tolerance.
struct Sight {
    from: Place,
    tolerance: f64,
    furthest: f64,
    /// The open directions, from right to left; all of them as long as nothing is far enough.
    between: Option<[(f64, f64); 2]>,
}

impl Sight {
    fn from(from: Place, tolerance: f64) -> Self {
        Self { from, tolerance, furthest: 0.0, between: None }
    }

    /// Whether a line can end here; if so, what it must now pass narrows.
    fn reaches(&mut self, place: Place) -> bool {
        let x = f64::from(place.0) - f64::from(self.from.0);
        let y = f64::from(place.1) - f64::from(self.from.1);
        let distance = (x * x + y * y).sqrt();
        if distance + self.tolerance < self.furthest {
            return false;
        }
        self.furthest = self.furthest.max(distance);
        if distance <= self.tolerance {
            return true;
        }
        let sine = self.tolerance / distance;
        let cosine = (1.0 - sine * sine).sqrt();
        let mut right = (x * cosine + y * sine, y * cosine - x * sine);
        let mut left = (x * cosine - y * sine, y * cosine + x * sine);
        if let Some([far_right, far_left]) = self.between {
            if cross(far_right, (x, y)) < 0.0 || cross((x, y), far_left) < 0.0 {
                return false;
            }
            if cross(far_right, right) < 0.0 {
                right = far_right;
            }
            if cross(left, far_left) < 0.0 {
                left = far_left;
            }
        }
        self.between = Some([right, left]);
        true
    }
}

fn cross(a: (f64, f64), b: (f64, f64)) -> f64 {
    a.0 * b.1 - a.1 * b.0
}

/// The larger side of the box around a line.
fn extent(line: &[Place]) -> u32 {
    let side = |values: &mut dyn Iterator<Item = u32>| {
        let (low, high) =
            values.fold((u32::MAX, 0), |(low, high), value| (low.min(value), high.max(value)));
        high.saturating_sub(low)
    };
    side(&mut line.iter().map(|place| place.0)).max(side(&mut line.iter().map(|place| place.1)))
}

fn scaled(place: Place, scale: u32) -> Place {
    (place.0 >> scale, place.1 >> scale)
}
