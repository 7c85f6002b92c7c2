//! The edges of polygons in integer coordinates: how often they cross, and which of them are near a point.
//!
//! The crate `i_overlay` stores and splits edges at every crossing, and a crafted polygon of 20,000 vertices has
//! 46 million. So crossings are counted before polygons are given to it.

use crate::grid::morton;
use i_overlay::i_float::int::point::IntPoint;

/// The number of edges in a run of the lowest level.
const RUN: usize = 8;
/// The most comparisons of boxes or edges, per edge. Parcels need about 30.
const MAX_COMPARISONS: usize = 1_000;

type Point = IntPoint<i64>;

/// A hierarchy of boxes around edges. The edges are sorted along a Z-order curve, so that those in a box are near
/// each other.
pub(crate) struct EdgeTree {
    edges: Vec<Edge>,
    /// The boxes around the edges of each run: first of eight edges, then of sixteen, and so on.
    levels: Vec<Vec<Bounds>>,
}

/// An edge of a polygon.
#[derive(Clone, Copy)]
pub(crate) struct Edge {
    /// The lower end: by x, then by y.
    pub(crate) from: Point,
    pub(crate) to: Point,
    /// A number of the caller.
    pub(crate) owner: u32,
}

#[derive(Clone, Copy)]
struct Bounds {
    min: Point,
    max: Point,
}

/// A run of edges: its level, and its index in the level.
type Run = (usize, usize);

impl EdgeTree {
    /// A tree of edges, each given by its ends and a number. Edges without length are left out, and of equal edges
    /// all but the one with the lowest number.
    pub(crate) fn new(edges: impl Iterator<Item = (Point, Point, u32)>) -> Self {
        let mut edges: Vec<Edge> = edges
            .filter(|(from, to, _)| from != to)
            .map(|(a, b, owner)| {
                let (from, to) = if (a.x, a.y) < (b.x, b.y) { (a, b) } else { (b, a) };
                Edge { from, to, owner }
            })
            .collect();
        let all = Bounds::around(&edges);
        let side = (all.max.x - all.min.x).max(all.max.y - all.min.y).max(1);
        let shift = side.ilog2().saturating_sub(31);
        let code = |at: i64, min: i64| ((at - min) >> shift) as u32;
        let place = |edge: &Edge| {
            let middle = |a: i64, b: i64| i64::midpoint(a, b);
            let (x, y) = (middle(edge.from.x, edge.to.x), middle(edge.from.y, edge.to.y));
            (morton(code(x, all.min.x), code(y, all.min.y)), edge.ends(), edge.owner)
        };
        edges.sort_unstable_by_key(place);
        edges.dedup_by_key(|edge| edge.ends());
        let mut levels: Vec<Vec<Bounds>> = vec![edges.chunks(RUN).map(Bounds::around).collect()];
        while let Some(below) = levels.last().filter(|level| level.len() > 1) {
            let above = below.chunks(2).map(|pair| pair[0].union(pair[pair.len() - 1])).collect();
            levels.push(above);
        }
        Self { edges, levels }
    }

    /// Whether edges meet at other points than their ends more often than `max` times, or may do so: the search ends
    /// where it would take too long.
    pub(crate) fn has_more_crossings_than(&self, max: usize) -> bool {
        let count = self.edges.len();
        if count * count.saturating_sub(1) / 2 <= max {
            return false;
        }
        let comparisons_left = count.saturating_mul(MAX_COMPARISONS);
        let mut search = Search { tree: self, comparisons_left, crossings_left: max + 1 };
        search.within((self.levels.len() - 1, 0));
        search.is_done()
    }

    /// The edges whose boxes are at most `reach` from a point.
    pub(crate) fn near(&self, at: Point, reach: i64) -> impl Iterator<Item = &Edge> {
        let area = Bounds {
            min: Point::new(at.x - reach, at.y - reach),
            max: Point::new(at.x + reach, at.y + reach),
        };
        let mut runs = vec![(self.levels.len() - 1, 0)];
        let found = std::iter::from_fn(move || {
            while let Some((level, index)) = runs.pop() {
                if !self.levels[level].get(index).is_some_and(|bounds| bounds.meets(area)) {
                    continue;
                }
                if level == 0 {
                    return Some(self.run(index));
                }
                runs.extend([(level - 1, index * 2), (level - 1, index * 2 + 1)]);
            }
            None
        });
        found.flatten().filter(move |edge| edge.bounds().meets(area))
    }

    /// The edges of a run of the lowest level.
    fn run(&self, index: usize) -> &[Edge] {
        let end = self.edges.len().min((index + 1) * RUN);
        &self.edges[index * RUN..end]
    }
}

/// The edges of a ring whose last point is not repeated.
pub(crate) fn ring_edges(ring: &[Point]) -> impl Iterator<Item = (&Point, &Point)> {
    ring.iter().zip(ring.iter().cycle().skip(1))
}

struct Search<'t> {
    tree: &'t EdgeTree,
    comparisons_left: usize,
    crossings_left: usize,
}

impl Search<'_> {
    /// Compares the edges of a run with one another.
    fn within(&mut self, (level, index): Run) {
        if self.is_done() || index >= self.tree.levels[level].len() {
            return;
        }
        if level == 0 {
            let run = self.tree.run(index);
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

    /// Compares the edges of two runs of the same level.
    fn between(&mut self, first: Run, second: Run) {
        self.comparisons_left = self.comparisons_left.saturating_sub(1);
        let boxes = &self.tree.levels[first.0];
        if self.is_done() || second.1 >= boxes.len() || !boxes[first.1].meets(boxes[second.1]) {
            return;
        }
        if first.0 == 0 {
            for one in self.tree.run(first.1) {
                self.tree.run(second.1).iter().for_each(|other| self.compare(one, other));
            }
            return;
        }
        let halves = |(level, index): Run| [(level - 1, index * 2), (level - 1, index * 2 + 1)];
        for one in halves(first) {
            halves(second).into_iter().for_each(|other| self.between(one, other));
        }
    }

    fn compare(&mut self, first: &Edge, second: &Edge) {
        self.comparisons_left = self.comparisons_left.saturating_sub(1);
        let is_crossing = !self.is_done() && first.crosses(second);
        self.crossings_left -= usize::from(is_crossing);
    }

    fn is_done(&self) -> bool {
        self.comparisons_left == 0 || self.crossings_left == 0
    }
}

impl Edge {
    /// Whether the edges have a point in common that is not an end of both.
    fn crosses(&self, other: &Self) -> bool {
        if !self.bounds().meets(other.bounds()) {
            return false;
        }
        let sides_of_other = [other.from, other.to].map(|at| cross(self.from, self.to, at));
        if sides_of_other == [0, 0] {
            // On one line, on which the ends are sorted.
            let [(from, to), (other_from, other_to)] = [self.ends(), other.ends()];
            return from.max(other_from) < to.min(other_to);
        }
        let sides = [self.from, self.to].map(|at| cross(other.from, other.to, at));
        let are_apart = |[a, b]: [i128; 2]| (a > 0 && b > 0) || (a < 0 && b < 0);
        let shares_end = [self.from, self.to].iter().any(|at| [other.from, other.to].contains(at));
        !shares_end && !are_apart(sides_of_other) && !are_apart(sides)
    }

    /// Its ends as numbers that can be compared.
    fn ends(&self) -> ((i64, i64), (i64, i64)) {
        ((self.from.x, self.from.y), (self.to.x, self.to.y))
    }

    fn bounds(&self) -> Bounds {
        let (from, to) = (self.from, self.to);
        Bounds {
            min: Point::new(from.x, from.y.min(to.y)),
            max: Point::new(to.x, from.y.max(to.y)),
        }
    }
}

/// Positive if `c` is on the left of the line from `a` to `b`.
pub(crate) fn cross(a: Point, b: Point, c: Point) -> i128 {
    let wide = |value: i64| i128::from(value);
    wide(b.x - a.x) * wide(c.y - a.y) - wide(b.y - a.y) * wide(c.x - a.x)
}

impl Bounds {
    fn around(edges: &[Edge]) -> Self {
        let boxes = edges.iter().map(Edge::bounds);
        let nothing = Point::new(0, 0);
        boxes.reduce(Self::union).unwrap_or(Self { min: nothing, max: nothing })
    }

    fn union(self, other: Self) -> Self {
        Self {
            min: Point::new(self.min.x.min(other.min.x), self.min.y.min(other.min.y)),
            max: Point::new(self.max.x.max(other.max.x), self.max.y.max(other.max.y)),
        }
    }

    fn meets(self, other: Self) -> bool {
        self.min.x <= other.max.x
            && other.min.x <= self.max.x
            && self.min.y <= other.max.y
            && other.min.y <= self.max.y
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tree(edges: &[[i64; 4]]) -> EdgeTree {
        let point = |x, y| Point::new(x, y);
        EdgeTree::new(edges.iter().map(|[a, b, c, d]| (point(*a, *b), point(*c, *d), 0)))
    }

    #[test]
    fn crossings_are_points_that_are_not_ends_of_both() {
        for (count, edges) in [
            (1, &[[0, 0, 4, 4], [0, 4, 4, 0]][..]),
            // A shared end.
            (0, &[[0, 0, 4, 4], [4, 4, 8, 0]]),
            // An end on the other edge.
            (1, &[[0, 0, 4, 4], [2, 2, 8, 0]]),
            // On one line.
            (1, &[[0, 0, 4, 4], [2, 2, 8, 8]]),
            (0, &[[0, 0, 4, 4], [4, 4, 8, 8]]),
            (1, &[[0, 0, 8, 8], [4, 4, 8, 8]]),
            // The same edge, and one without length.
            (0, &[[0, 0, 4, 4], [4, 4, 0, 0], [2, 2, 2, 2]]),
            (0, &[]),
        ] {
            // Edges far away, so that the number of edges does not decide.
            let far = (0..8).map(|x| [100 + x, 100, 100 + x, 101]);
            let edges: Vec<_> = edges.iter().copied().chain(far).collect();
            let tree = tree(&edges);
            assert!(!tree.has_more_crossings_than(count), "{edges:?}");
            assert!(count == 0 || tree.has_more_crossings_than(count - 1), "{edges:?}");
        }
    }

    #[test]
    fn search_ends_where_it_would_take_too_long() {
        // Parallel edges whose boxes overlap, but which do not cross.
        let edges: Vec<_> = (0..2_200).map(|step| [step, 0, step + 100_000, 100_000]).collect();
        assert!(tree(&edges).has_more_crossings_than(10));
        assert!(!tree(&edges[..1_000]).has_more_crossings_than(10));
    }

    proptest! {
        #[test]
        fn crossings_are_counted_exactly(
            edges in prop::collection::vec([-40_i64..40, -40_i64..40, -40_i64..40, -40_i64..40], 0..60),
        ) {
            let tree = tree(&edges);
            let edges = &tree.edges;
            let pairs = edges.iter().enumerate();
            let count: usize = pairs
                .map(|(at, one)| edges[at + 1..].iter().filter(|other| one.crosses(other)).count())
                .sum();
            prop_assert!(!tree.has_more_crossings_than(count));
            prop_assert!(count == 0 || tree.has_more_crossings_than(count - 1));
        }

        #[test]
        fn edges_near_a_point_are_found(
            edges in prop::collection::vec([-40_i64..40, -40_i64..40, -40_i64..40, -40_i64..40], 0..60),
            at in (-60_i64..60, -60_i64..60),
            reach in 0_i64..20,
        ) {
            let tree = tree(&edges);
            let is_near = |edge: &&Edge| {
                let Bounds { min, max } = edge.bounds();
                (min.x - reach..=max.x + reach).contains(&at.0)
                    && (min.y - reach..=max.y + reach).contains(&at.1)
            };
            let found = tree.near(Point::new(at.0, at.1), reach).map(Edge::ends);
            let expected = tree.edges.iter().filter(is_near).map(Edge::ends);
            let [mut found, mut expected] = [found.collect::<Vec<_>>(), expected.collect()];
            found.sort_unstable();
            expected.sort_unstable();
            prop_assert_eq!(found, expected);
        }
    }
}
