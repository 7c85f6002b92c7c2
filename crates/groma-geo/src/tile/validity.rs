//! Decides whether the rings of a feature are certainly valid: no ring touches itself or another ring,
//! each hole lies in its outer ring, and no polygon lies in another one. OGC also allows rings to touch
//! at single points. Such polygons are rare, so they count as doubtful here and
//! [`make_valid`](super::make_valid) looks at them.
//!
//! Coordinates are below 2¹³, so all products fit into an `i64`.

use super::{rings::Rings, transform::TilePoint};
use crate::grid::GridBox;
use std::ops::Range;

/// In a ring with up to this many points, each edge is compared with each other one.
const SHORT: usize = 16;
/// A range of edges with up to this many is not divided further.
const LEAF: usize = 8;
/// The number of comparisons of boxes per edge after which a shape counts as doubtful. Random valid shapes
/// take up to 5, but long edges side by side could take as many as there are edges.
const MAX_COMPARISONS: usize = 200;

/// Tells whether a ring is convex and clockwise, while its edges are added one by one. Such a ring is valid.
pub(super) struct Turns {
    /// The direction of the last edge.
    x: i64,
    y: i64,
    /// Negative if the last edge led to the left. Straight up counts as left and straight down as right, so
    /// that no ring can turn around without a reversal.
    heading: i64,
    /// All turns, as bits: negative if any was to the left, 0 if none was to the right.
    turns: i64,
    /// How often the ring changed between right and left, negated.
    reversals: i64,
}

impl Turns {
    /// Begins after the last edge of the ring.
    #[inline]
    pub(super) fn after(from: TilePoint, to: TilePoint) -> Self {
        let (x, y) = (to.x - from.x, to.y - from.y);
        Self { x, y, heading: (x << 32) + y, turns: 0, reversals: 0 }
    }

    #[inline]
    pub(super) fn add(&mut self, from: TilePoint, to: TilePoint) {
        let Self { x, y, heading, .. } = Self::after(from, to);
        self.turns |= self.x * y - self.y * x;
        self.reversals += (self.heading ^ heading) >> 63;
        (self.x, self.y, self.heading) = (x, y, heading);
    }

    /// Whether the ring is convex and clockwise, after all its edges were added.
    #[inline]
    pub(super) fn is_convex(&self) -> bool {
        // A ring that only turns right, and turns around once, does not cross itself. It has no spikes
        // either, or it would have no area.
        self.turns > 0 && self.reversals == -2
    }
}

/// Whether a short ring is certainly valid. `closed` are its points; the last one repeats the first.
fn is_valid_ring(closed: &[TilePoint]) -> bool {
    let [.., last, first] = closed else { return false };
    let mut turns = Turns::after(*last, *first);
    closed.windows(2).for_each(|edge| turns.add(edge[0], edge[1]));
    turns.is_convex() || is_simple(closed)
}

/// Whether a ring does not touch itself. `closed` are its points; the last one repeats the first. Compares
/// each edge with each other one, so it is made for short rings.
pub(super) fn is_simple(closed: &[TilePoint]) -> bool {
    let [_, second, .., last, _] = closed else { return false };
    if closed.len() < 4 || turns_back(*last, closed[0], *second) {
        return false;
    }
    for (index, edge) in closed.windows(3).enumerate() {
        let [from, to] = [edge[0], edge[1]];
        if turns_back(from, to, edge[2]) {
            return false;
        }
        // The last edge is a neighbour of the first one.
        let end = closed.len() - usize::from(index == 0);
        let (x, y) = (to.x - from.x, to.y - from.y);
        let line = x * from.y - y * from.x;
        let side = |point: &TilePoint| x * point.y - y * point.x - line;
        let mut before = &edge[2];
        let mut side_before = side(before);
        for point in &closed[index + 3..end] {
            let side = side(point);
            if side_before * side <= 0 && touch((from, to), (*before, *point)) {
                return false;
            }
            (before, side_before) = (point, side);
        }
    }
    true
}

/// Checks whole features. Its buffers are reused from feature to feature.
#[derive(Default)]
pub(super) struct ValidityCheck {
    /// The points of a short ring.
    closed: Vec<TilePoint>,
    edges: Vec<Edge>,
    /// Bounds of ranges of edges: a binary tree whose node `n` has the children `2n` and `2n + 1`.
    boxes: Vec<GridBox>,
    /// How many comparisons are left.
    budget: usize,
}

#[derive(Clone, Copy)]
struct Edge {
    from: TilePoint,
    to: TilePoint,
    /// The index of its ring.
    ring: usize,
    /// The index of the edge that follows it in the ring.
    next: usize,
}

/// A node of the tree of boxes, and the range of edges in it.
#[derive(Clone, Copy)]
struct Node {
    number: usize,
    start: usize,
    end: usize,
}

impl Node {
    fn edges(self) -> Range<usize> {
        self.start..self.end
    }

    /// Its children; `None` for a leaf.
    fn halves(self) -> Option<(Self, Self)> {
        let Self { number, start, end } = self;
        let middle = usize::midpoint(start, end);
        let first = Self { number: 2 * number, start, end: middle };
        let second = Self { number: 2 * number + 1, start: middle, end };
        (end - start > LEAF).then_some((first, second))
    }
}

impl ValidityCheck {
    /// Whether the rings are certainly valid.
    pub(super) fn is_valid(&mut self, rings: &Rings) -> bool {
        let mut all = rings.iter().map(|ring| ring.points);
        if let (Some(only), None) = (all.next(), all.next())
            && only.len() <= SHORT
        {
            self.closed.clear();
            self.closed.extend(only.iter().chain(only.first()));
            return is_valid_ring(&self.closed);
        }
        self.edges.clear();
        for (ring, points) in rings.iter().map(|ring| ring.points).enumerate() {
            let start = self.edges.len();
            let closed = points.iter().zip(points.iter().cycle().skip(1));
            self.edges.extend(closed.enumerate().map(|(index, (&from, &to))| {
                let next = start + (index + 1) % points.len();
                Edge { from, to, ring, next }
            }));
        }
        self.budget = self.edges.len() * MAX_COMPARISONS;
        self.boxes.clear();
        self.boxes.resize(2 * self.edges.len().div_ceil(LEAF).next_power_of_two(), EMPTY);
        let all = self.root();
        self.fill_boxes(all);
        let has_short_ring = rings.iter().any(|ring| ring.points.len() < 3);
        !has_short_ring
            && !self.any_turns_back()
            && self.is_apart_from_itself(all)
            && (rings.iter().len() == 1 || self.is_nested(rings))
    }

    fn root(&self) -> Node {
        Node { number: 1, start: 0, end: self.edges.len() }
    }

    fn fill_boxes(&mut self, node: Node) -> GridBox {
        let bounds = match node.halves() {
            Some((first, second)) => join(self.fill_boxes(first), self.fill_boxes(second)),
            None => self.edges[node.edges()].iter().map(Edge::bounds).fold(EMPTY, join),
        };
        self.boxes[node.number] = bounds;
        bounds
    }

    fn any_turns_back(&self) -> bool {
        self.edges.iter().any(|edge| turns_back(edge.from, edge.to, self.edges[edge.next].to))
    }

    /// Whether no two edges of a range touch, except where they follow each other.
    fn is_apart_from_itself(&mut self, node: Node) -> bool {
        match node.halves() {
            Some((first, second)) => {
                self.is_apart_from_itself(first)
                    && self.is_apart_from_itself(second)
                    && self.are_apart(first, second)
            }
            None => {
                let mut edges = node.edges();
                edges.all(|at| (at + 1..node.end).all(|other| self.are_edges_apart(at, other)))
            }
        }
    }

    /// Whether no edge of one range touches an edge of another range.
    fn are_apart(&mut self, a: Node, b: Node) -> bool {
        let Some(left) = self.budget.checked_sub(1) else { return false };
        self.budget = left;
        if !self.boxes[a.number].intersects(self.boxes[b.number]) {
            return true;
        }
        match (a.halves(), b.halves()) {
            (Some((first, second)), _) if a.edges().len() >= b.edges().len() => {
                self.are_apart(first, b) && self.are_apart(second, b)
            }
            (_, Some((first, second))) => self.are_apart(a, first) && self.are_apart(a, second),
            _ => {
                let (a_box, b_box) = (self.boxes[a.number], self.boxes[b.number]);
                a.edges().filter(|at| b_box.intersects(self.edges[*at].bounds())).all(|at| {
                    let mut others = b.edges();
                    others.all(|other| {
                        !a_box.intersects(self.edges[other].bounds())
                            || self.are_edges_apart(at, other)
                    })
                })
            }
        }
    }

    fn are_edges_apart(&self, a: usize, b: usize) -> bool {
        let (first, second) = (&self.edges[a], &self.edges[b]);
        first.next == b
            || second.next == a
            || !touch((first.from, first.to), (second.from, second.to))
    }

    /// Whether each hole lies directly in its outer ring, and each outer ring in a hole or in nothing. No
    /// two rings may touch.
    fn is_nested(&mut self, rings: &Rings) -> bool {
        let mut tops: Vec<(TilePoint, usize)> = Vec::new();
        let (mut outer_rings, mut outer) = (Vec::new(), 0);
        for (index, ring) in rings.iter().enumerate() {
            let Some(&top) = ring.points.iter().min_by_key(|point| (point.y, point.x)) else {
                return false;
            };
            outer = if ring.is_hole { outer } else { index };
            tops.push((top, index));
            outer_rings.push((ring.is_hole.then_some(outer), ring.area > 0));
        }
        tops.sort_unstable_by_key(|(top, _)| (top.y, top.x));
        // The ring directly around each ring. From the top down, it is known for all rings above.
        let mut around: Vec<Option<usize>> = vec![None; tops.len()];
        for (top, index) in tops {
            let mut nearest = None;
            if !self.find_edge_above(top, self.root(), &mut nearest) {
                return false;
            }
            around[index] = nearest.and_then(|edge: Edge| {
                // Below an edge that leads to the right, a clockwise ring has its inside.
                let is_inside = (edge.from.x < edge.to.x) == outer_rings[edge.ring].1;
                if is_inside { Some(edge.ring) } else { around[edge.ring] }
            });
            let is_right = match (outer_rings[index].0, around[index]) {
                (Some(outer), around) => around == Some(outer),
                (None, Some(around)) => outer_rings[around].0.is_some(),
                (None, None) => true,
            };
            if !is_right {
                return false;
            }
        }
        true
    }

    /// Finds the nearest edge above a point. Returns false if that takes too many comparisons.
    fn find_edge_above(&mut self, at: TilePoint, node: Node, nearest: &mut Option<Edge>) -> bool {
        let Some(left) = self.budget.checked_sub(1) else { return false };
        self.budget = left;
        let bounds = self.boxes[node.number];
        if bounds.min_y >= at.y || bounds.min_x > at.x || bounds.max_x <= at.x {
            return true;
        }
        if let Some((first, second)) = node.halves() {
            return self.find_edge_above(at, first, nearest)
                && self.find_edge_above(at, second, nearest);
        }
        for edge in &self.edges[node.edges()] {
            let (left, right) = edge.sorted();
            let is_above = left.x <= at.x && at.x < right.x && side(left, right, at) > 0;
            if is_above && nearest.is_none_or(|nearest| edge.is_below(&nearest, at.x)) {
                *nearest = Some(*edge);
            }
        }
        true
    }
}

impl Edge {
    fn bounds(&self) -> GridBox {
        bounds(self.from, self.to)
    }

    /// Its ends, from left to right.
    fn sorted(&self) -> (TilePoint, TilePoint) {
        if self.from.x < self.to.x { (self.from, self.to) } else { (self.to, self.from) }
    }

    /// Whether it is below another edge at `x`. Neither is vertical.
    fn is_below(&self, other: &Self, x: i64) -> bool {
        // The y of an edge at x is a fraction.
        let y = |(left, right): (TilePoint, TilePoint)| {
            let width = right.x - left.x;
            (left.y * width + (right.y - left.y) * (x - left.x), width)
        };
        let ((a, a_width), (b, b_width)) = (y(self.sorted()), y(other.sorted()));
        a * b_width > b * a_width
    }
}

const EMPTY: GridBox =
    GridBox { min_x: i64::MAX, min_y: i64::MAX, max_x: i64::MIN, max_y: i64::MIN };

fn join(a: GridBox, b: GridBox) -> GridBox {
    GridBox {
        min_x: a.min_x.min(b.min_x),
        min_y: a.min_y.min(b.min_y),
        max_x: a.max_x.max(b.max_x),
        max_y: a.max_y.max(b.max_y),
    }
}

/// On which side of the line through two points a third one is: 0 on the line, positive on the right on
/// the screen.
#[inline]
fn side(from: TilePoint, to: TilePoint, point: TilePoint) -> i64 {
    (to.x - from.x) * (point.y - from.y) - (to.y - from.y) * (point.x - from.x)
}

/// Whether a path returns at `at` to where it came from.
#[inline]
fn turns_back(from: TilePoint, at: TilePoint, to: TilePoint) -> bool {
    side(from, at, to) == 0
        && (at.x - from.x) * (to.x - at.x) + (at.y - from.y) * (to.y - at.y) <= 0
}

/// Whether two edges have a point in common.
#[inline]
fn touch(a: (TilePoint, TilePoint), b: (TilePoint, TilePoint)) -> bool {
    let is_crossed = |(from, to): (TilePoint, TilePoint), other: (TilePoint, TilePoint)| {
        side(from, to, other.0) * side(from, to, other.1) <= 0
    };
    is_crossed(b, a) && is_crossed(a, b) && bounds(a.0, a.1).intersects(bounds(b.0, b.1))
}

#[inline]
fn bounds(a: TilePoint, b: TilePoint) -> GridBox {
    GridBox { min_x: a.x.min(b.x), min_y: a.y.min(b.y), max_x: a.x.max(b.x), max_y: a.y.max(b.y) }
}
