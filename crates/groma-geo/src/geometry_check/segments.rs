//! The segments of a polygon's rings. Consecutive segments lie close together, so boxes around runs of them,
//! runs of runs and so on find the segments that can meet.

use crate::{Line, Position};
use robust::{Coord, orient2d};

/// The number of segments in a run of the lowest level.
const RUN: usize = 8;

/// The maximum number of comparisons of boxes or segments, per segment. Rings of surveyed land need about ten.
const MAX_COMPARISONS: usize = 1_000;

/// The segments of the rings of a polygon, in their order.
pub(super) struct Segments {
    segments: Vec<Segment>,
    /// The boxes around the segments of each run: first of eight segments, then of sixteen, and so on.
    levels: Vec<Vec<Box2>>,
}

/// Where the rings of a polygon meet where they must not.
pub(super) struct Intersection {
    pub(super) ring: usize,
    /// The index in the ring of the position where the segment begins.
    pub(super) index: usize,
    /// Where it meets the other segment.
    pub(super) position: Position,
}

#[derive(Clone, Copy)]
struct Segment {
    from: Coord<f64>,
    to: Coord<f64>,
    ring: usize,
    /// The index of `from` in the ring.
    index: usize,
    /// The number of the segment in the polygon.
    number: usize,
    /// The number of the first segment, in the last segment of a ring.
    closes: Option<usize>,
}

#[derive(Clone, Copy)]
struct Box2 {
    min: Coord<f64>,
    max: Coord<f64>,
}

/// A run of segments: its level, and its index in the level.
type Run = (usize, usize);

impl Segments {
    pub(super) fn of_rings<'r>(rings: impl Iterator<Item = (usize, &'r Line)>) -> Self {
        let mut segments: Vec<Segment> = Vec::new();
        for (ring, positions) in rings {
            let first = segments.len();
            for (index, pair) in positions.windows(2).enumerate() {
                let (from, to) = (coord(&pair[0]), coord(&pair[1]));
                if from != to {
                    let number = segments.len();
                    segments.push(Segment { from, to, ring, index, number, closes: None });
                }
            }
            if let Some(last) = segments.last_mut() {
                last.closes = Some(first);
            }
        }
        let lowest: Vec<Box2> = segments.chunks(RUN).map(Box2::around).collect();
        let mut levels = vec![lowest];
        while let Some(below) = levels.last().filter(|level| level.len() > 1) {
            let above = below.chunks(2).map(|pair| pair[0].union(pair[pair.len() - 1])).collect();
            levels.push(above);
        }
        Self { segments, levels }
    }

    /// A segment that meets another one where it must not.
    pub(super) fn find_intersection(&self) -> Option<Intersection> {
        let top = (self.levels.len() - 1, 0);
        let mut search = Search { segments: self, left: self.max_comparisons(), found: None };
        if !self.segments.is_empty() {
            search.within(top);
        }
        search.found.map(|(first, second)| Intersection {
            ring: second.ring,
            index: second.index,
            position: first.meeting_point(&second),
        })
    }

    /// The most comparisons of boxes or segments in one search.
    pub(super) fn max_comparisons(&self) -> usize {
        self.segments.len().saturating_mul(MAX_COMPARISONS)
    }

    /// Whether a position is neither in the ring 0 nor on it. Takes comparisons from those that are left; false if
    /// there are none.
    pub(super) fn is_outside(&self, position: &Position, left: &mut usize) -> bool {
        let at = coord(position);
        let mut is_inside = false;
        let mut runs = vec![(self.levels.len() - 1, 0)];
        while let Some((level, index)) = runs.pop() {
            *left = left.saturating_sub(1);
            if *left == 0 {
                return false;
            }
            let Some(bounds) = self.levels[level].get(index) else { continue };
            if at.y < bounds.min.y || at.y > bounds.max.y || at.x > bounds.max.x {
                continue;
            }
            if level > 0 {
                runs.extend([(level - 1, index * 2), (level - 1, index * 2 + 1)]);
                continue;
            }
            for segment in self.run(index).iter().filter(|segment| segment.ring == 0) {
                let side = orient2d(segment.from, segment.to, at);
                if side == 0.0 && segment.bounds().contains(at) {
                    return false;
                }
                let goes_up = segment.to.y > segment.from.y;
                let crosses = (segment.from.y > at.y) != (segment.to.y > at.y);
                if crosses && goes_up == (side > 0.0) {
                    is_inside = !is_inside;
                }
            }
        }
        !is_inside
    }

    /// The segments of a run of the lowest level.
    fn run(&self, index: usize) -> &[Segment] {
        let end = self.segments.len().min((index + 1) * RUN);
        &self.segments[index * RUN..end]
    }
}

struct Search<'s> {
    segments: &'s Segments,
    /// How many comparisons are left. A crafted polygon could need far too many; it is then not checked to
    /// the end.
    left: usize,
    found: Option<(Segment, Segment)>,
}

impl Search<'_> {
    /// Compares the segments of a run with one another.
    fn within(&mut self, (level, index): Run) {
        if self.is_done() || index >= self.segments.levels[level].len() {
            return;
        }
        if level == 0 {
            let run = self.segments.run(index);
            for (at, first) in run.iter().enumerate() {
                run[at + 1..].iter().for_each(|second| self.compare(first, second));
            }
            return;
        }
        let (first, second) = ((level - 1, index * 2), (level - 1, index * 2 + 1));
        self.within(first);
        self.within(second);
        self.between(first, second);
    }

    /// Compares the segments of two runs of the same level.
    fn between(&mut self, first: Run, second: Run) {
        let boxes = &self.segments.levels[first.0];
        if self.is_done() || second.1 >= boxes.len() || !boxes[first.1].meets(boxes[second.1]) {
            return;
        }
        if first.0 == 0 {
            for one in self.segments.run(first.1) {
                self.segments.run(second.1).iter().for_each(|other| self.compare(one, other));
            }
            return;
        }
        let halves = |(level, index): Run| [(level - 1, index * 2), (level - 1, index * 2 + 1)];
        for one in halves(first) {
            halves(second).into_iter().for_each(|other| self.between(one, other));
        }
    }

    fn compare(&mut self, first: &Segment, second: &Segment) {
        self.left = self.left.saturating_sub(1);
        if self.found.is_none() && first.meets_wrongly(second) {
            self.found = Some((*first, *second));
        }
    }

    fn is_done(&mut self) -> bool {
        self.left = self.left.saturating_sub(1);
        self.left == 0 || self.found.is_some()
    }
}

impl Segment {
    /// Whether this segment meets a later one where it must not. Neighbours in a ring may share only the
    /// position between them; different rings may touch at single positions.
    fn meets_wrongly(&self, later: &Self) -> bool {
        if !self.bounds().meets(later.bounds()) {
            return false;
        }
        let is_neighbour = self.ring == later.ring
            && (later.number == self.number + 1 || later.closes == Some(self.number));
        let may_touch = is_neighbour || self.ring != later.ring;
        let from_side = orient2d(self.from, self.to, later.from);
        let to_side = orient2d(self.from, self.to, later.to);
        if from_side == 0.0 && to_side == 0.0 {
            // Both are on one line.
            return !may_touch || self.overlaps(later);
        }
        let self_from_side = orient2d(later.from, later.to, self.from);
        let self_to_side = orient2d(later.from, later.to, self.to);
        let are_apart = |a: f64, b: f64| (a > 0.0 && b > 0.0) || (a < 0.0 && b < 0.0);
        if are_apart(from_side, to_side) || are_apart(self_from_side, self_to_side) {
            return false;
        }
        let touches = [from_side, to_side, self_from_side, self_to_side].contains(&0.0);
        !(touches && may_touch)
    }

    /// About where this segment meets another one.
    fn meeting_point(&self, other: &Self) -> Position {
        let is_on = |segment: &Self, at: &Coord<f64>| {
            orient2d(segment.from, segment.to, *at) == 0.0 && segment.bounds().contains(*at)
        };
        let end_of_other = [other.from, other.to].into_iter().find(|at| is_on(self, at));
        let end =
            end_of_other.or_else(|| [self.from, self.to].into_iter().find(|at| is_on(other, at)));
        let at = end.unwrap_or_else(|| {
            let from_side = orient2d(other.from, other.to, self.from);
            let to_side = orient2d(other.from, other.to, self.to);
            let share = from_side / (from_side - to_side);
            let between = |a: f64, b: f64| a + share * (b - a);
            Coord { x: between(self.from.x, self.to.x), y: between(self.from.y, self.to.y) }
        });
        Position { x: at.x, y: at.y, z: None }
    }

    /// Whether two segments on one line share more than a position.
    fn overlaps(&self, other: &Self) -> bool {
        let is_wide = (self.to.x - self.from.x).abs() >= (self.to.y - self.from.y).abs();
        let range = |segment: &Self| {
            let Box2 { min, max } = segment.bounds();
            if is_wide { (min.x, max.x) } else { (min.y, max.y) }
        };
        let ((start, end), (other_start, other_end)) = (range(self), range(other));
        start.max(other_start) < end.min(other_end)
    }

    fn bounds(&self) -> Box2 {
        let (from, to) = (self.from, self.to);
        Box2 {
            min: Coord { x: from.x.min(to.x), y: from.y.min(to.y) },
            max: Coord { x: from.x.max(to.x), y: from.y.max(to.y) },
        }
    }
}

impl Box2 {
    fn around(segments: &[Segment]) -> Self {
        let nothing = Self {
            min: Coord { x: f64::INFINITY, y: f64::INFINITY },
            max: Coord { x: f64::NEG_INFINITY, y: f64::NEG_INFINITY },
        };
        segments.iter().fold(nothing, |all, segment| all.union(segment.bounds()))
    }

    fn union(self, other: Self) -> Self {
        Self {
            min: Coord { x: self.min.x.min(other.min.x), y: self.min.y.min(other.min.y) },
            max: Coord { x: self.max.x.max(other.max.x), y: self.max.y.max(other.max.y) },
        }
    }

    fn meets(self, other: Self) -> bool {
        self.min.x <= other.max.x
            && other.min.x <= self.max.x
            && self.min.y <= other.max.y
            && other.min.y <= self.max.y
    }

    fn contains(self, at: Coord<f64>) -> bool {
        self.meets(Self { min: at, max: at })
    }
}

/// Whether a ring is convex and has no repeated positions.
pub(super) fn is_convex(ring: &Line) -> bool {
    let (mut turn, mut flips) = (0.0, 0);
    let Some(last) = ring.len().checked_sub(1).filter(|last| *last >= 3) else { return false };
    let mut is_eastward = None;
    for index in 0..last {
        let after = if index + 2 > last { 1 } else { index + 2 };
        let [a, b, c] = [ring[index], ring[index + 1], ring[after]].map(|at| coord(&at));
        let side = orient2d(a, b, c);
        if side == 0.0 {
            let goes_on = (b.x - a.x) * (c.x - b.x) + (b.y - a.y) * (c.y - b.y) > 0.0;
            if !goes_on {
                return false;
            }
        } else if turn == 0.0 {
            turn = side;
        } else if (side > 0.0) != (turn > 0.0) {
            return false;
        }
        // A convex ring runs east once and west once. This excludes stars, which also turn one way only.
        if a.x != b.x {
            flips += usize::from(is_eastward.is_some_and(|before| before != (b.x > a.x)));
            is_eastward = Some(b.x > a.x);
        }
    }
    turn != 0.0 && flips <= 2
}

/// Whether the positions of a ring are not all on one line.
pub(super) fn has_area(ring: &Line) -> bool {
    let Some(first) = ring.first().map(coord) else { return false };
    let mut others = ring.iter().map(coord).filter(|at| *at != first);
    let Some(second) = others.next() else { return false };
    others.any(|at| orient2d(first, second, at) != 0.0)
}

fn coord(position: &Position) -> Coord<f64> {
    Coord { x: position.x, y: position.y }
}
