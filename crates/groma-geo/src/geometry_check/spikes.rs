//! Spikes: where a ring runs out and back in almost the same line.

use super::segments;
use crate::{Line, Position};
use robust::{Coord, orient2d};

/// The sine of the largest angle at the tip of a spike: 3°.
const MAX_TIP_SINE: f64 = 0.052;
/// The cosine of the smallest turn at the base of a spike: 20°. With a smaller turn, the ring narrows to the
/// tip, as parcels between two roads do.
const MAX_BASE_COSINE: f64 = 0.94;

/// What counts as a spike.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SpikeLimit {
    /// The largest width in meters.
    pub(crate) width: f64,
    /// Meters per unit of x and of y.
    pub(crate) scale: [f64; 2],
}

/// A ring without its spikes.
pub(crate) struct RingWithoutSpikes {
    pub(crate) ring: Line,
    /// The tip of the first one.
    pub(crate) first_tip: Position,
}

/// The line without positions that repeat the previous one.
pub(crate) fn without_repeated_positions(line: &Line) -> Line {
    let mut line = line.clone();
    line.dedup();
    line
}

impl SpikeLimit {
    /// The ring without its spikes; `None` if it has none, or no area without them.
    pub(crate) fn remove_spikes(self, ring: &Line) -> Option<RingWithoutSpikes> {
        let [open @ .., _] = ring.as_slice() else { return None };
        let start = *open.first()?;
        let mut open = open.to_vec();
        open.dedup_by(|b, a| is_same(*a, *b));
        let mut first_tip = None;
        // The second pass begins elsewhere, for spikes around the start of the ring.
        for _ in 0..2 {
            let half = open.len() / 2;
            open.rotate_left(half);
            open = self.pass(&open, &mut first_tip);
        }
        let first_tip = first_tip?;
        if let Some(index) = open.iter().position(|at| *at == start) {
            open.rotate_left(index);
        }
        open.push(*open.first()?);
        (open.len() > 3 && segments::has_area(&open))
            .then_some(RingWithoutSpikes { ring: open, first_tip })
    }

    fn pass(self, open: &[Position], first_tip: &mut Option<Position>) -> Line {
        let mut kept: Line = Vec::with_capacity(open.len());
        for (index, next) in open.iter().enumerate() {
            let after = open[(index + 1) % open.len()];
            while let [.., base, tip] = kept.as_slice() {
                let before = kept.len().checked_sub(3).map_or(open[open.len() - 1], |at| kept[at]);
                if !self.is_spike(before, *base, *tip, *next, after) {
                    break;
                }
                first_tip.get_or_insert(*tip);
                kept.pop();
            }
            if kept.last().is_none_or(|last| !is_same(*last, *next)) {
                kept.push(*next);
            }
        }
        kept
    }

    /// Whether the ring runs from `a` to the tip `b` and back to `c` in almost the same line.
    fn is_spike(
        self,
        before: Position,
        a: Position,
        b: Position,
        c: Position,
        after: Position,
    ) -> bool {
        let (to_a, to_c) = (self.vector(b, a), self.vector(b, c));
        if dot(to_a, to_c) <= 0.0 {
            return false;
        }
        if orient2d(coord(a), coord(b), coord(c)) == 0.0 {
            return true;
        }
        let (length_a, length_c) = (length(to_a), length(to_c));
        let area = (to_a[0] * to_c[1] - to_a[1] * to_c[0]).abs();
        let is_narrow = area / length_a.max(length_c) <= self.width;
        let is_sharp = area / (length_a * length_c) <= MAX_TIP_SINE;
        let turns = |one: [f64; 2], two: [f64; 2]| {
            dot(one, two) < MAX_BASE_COSINE * length(one) * length(two)
        };
        // The base is the nearer of the two neighbors of the tip, or both.
        let is_base = |length: f64| length <= 1.01 * length_a.min(length_c);
        let turns_at_a = is_base(length_a) && turns(self.vector(before, a), self.vector(a, b));
        let turns_at_c = is_base(length_c) && turns(self.vector(b, c), self.vector(c, after));
        is_narrow && is_sharp && (turns_at_a || turns_at_c)
    }

    fn vector(self, from: Position, to: Position) -> [f64; 2] {
        [(to.x - from.x) * self.scale[0], (to.y - from.y) * self.scale[1]]
    }
}

fn dot(one: [f64; 2], two: [f64; 2]) -> f64 {
    one[0] * two[0] + one[1] * two[1]
}

fn length(vector: [f64; 2]) -> f64 {
    vector[0].hypot(vector[1])
}

fn is_same(one: Position, two: Position) -> bool {
    (one.x, one.y) == (two.x, two.y)
}

fn coord(at: Position) -> Coord<f64> {
    Coord { x: at.x, y: at.y }
}
