//! Boxes in a hierarchy, so that a search passes over most of them.

use groma_geo::Position;

/// How many boxes a box of the next level is around.
const FANOUT: usize = 16;

/// A box: west, south, east, north.
pub(super) type Bounds = [f64; 4];

const EMPTY: Bounds = [f64::INFINITY, f64::INFINITY, f64::NEG_INFINITY, f64::NEG_INFINITY];

/// The box around positions.
pub(super) fn bounds(positions: &[Position]) -> Bounds {
    positions.iter().fold(EMPTY, |all, at| union(all, &[at.x, at.y, at.x, at.y]))
}

/// Whether a box is within another one, whose edges it may touch.
pub(super) fn contains(outer: &Bounds, inner: &Bounds) -> bool {
    outer[0] <= inner[0] && outer[1] <= inner[1] && inner[2] <= outer[2] && inner[3] <= outer[3]
}

fn union(a: Bounds, b: &Bounds) -> Bounds {
    [a[0].min(b[0]), a[1].min(b[1]), a[2].max(b[2]), a[3].max(b[3])]
}

/// The indexes of boxes in an order in which neighbours follow each other: by strips from west to east.
pub(super) fn sorted_by_place(boxes: &[Bounds]) -> Vec<usize> {
    let middle = |index: usize, axis: usize| boxes[index][axis] + boxes[index][axis + 2];
    let mut order: Vec<usize> = (0..boxes.len()).collect();
    order.sort_by(|a, b| middle(*a, 0).total_cmp(&middle(*b, 0)));
    for strip in order.chunks_mut(FANOUT * (boxes.len() / FANOUT).isqrt().max(1)) {
        strip.sort_by(|a, b| middle(*a, 1).total_cmp(&middle(*b, 1)));
    }
    order
}

/// A hierarchy of boxes around items, each of which should be near the next.
pub(super) struct BoxTree {
    count: usize,
    /// The boxes around runs of sixteen items, then around sixteen of those, and so on.
    levels: Vec<Vec<Bounds>>,
}

impl BoxTree {
    pub(super) fn new(items: impl ExactSizeIterator<Item = Bounds>) -> Self {
        let count = items.len();
        let mut runs = vec![EMPTY; count.div_ceil(FANOUT)];
        for (index, item) in items.enumerate() {
            runs[index / FANOUT] = union(runs[index / FANOUT], &item);
        }
        let mut levels = vec![runs];
        while let Some(below) = levels.last().filter(|level| level.len() > 1) {
            let around = |run: &[Bounds]| run.iter().fold(EMPTY, union);
            let above = below.chunks(FANOUT).map(around).collect();
            levels.push(above);
        }
        Self { count, levels }
    }

    /// Passes on the items of the runs that are searched: those whose box is, as are all boxes around it. Returns the
    /// number of boxes and items that it looked at.
    pub(super) fn search(
        &self,
        is_searched: impl Fn(&Bounds) -> bool,
        mut on_item: impl FnMut(usize),
    ) -> usize {
        let mut steps = 0;
        let mut open = vec![(self.levels.len() - 1, 0)];
        while let Some((level, index)) = open.pop() {
            steps += 1;
            if !self.levels[level].get(index).is_some_and(&is_searched) {
                continue;
            }
            let members = index * FANOUT..(index + 1) * FANOUT;
            if level > 0 {
                open.extend(members.map(|member| (level - 1, member)));
                continue;
            }
            for item in members.start..members.end.min(self.count) {
                steps += 1;
                on_item(item);
            }
        }
        steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn search_finds_all_boxes_around_a_place_and_passes_over_the_others() {
        let boxes: Vec<Bounds> = (0..10_000)
            .map(|n| {
                let (x, y) = (f64::from(n * 37 % 100), f64::from(n / 100));
                [x, y, x + 1.0, y + 1.0]
            })
            .collect();
        let order = sorted_by_place(&boxes);
        let tree = BoxTree::new(order.iter().map(|index| boxes[*index]));
        for place in [[0.2, 0.2, 0.4, 0.4], [50.0, 7.0, 51.0, 8.0], [99.5, 99.5, 99.5, 99.5]] {
            let is_around = |one: &Bounds| contains(one, &place);
            let mut found = Vec::new();
            let steps = tree.search(is_around, |item| {
                found.extend(Some(order[item]).filter(|index| is_around(&boxes[*index])));
            });
            let expected: Vec<_> =
                (0..boxes.len()).filter(|index| is_around(&boxes[*index])).collect();
            assert_eq!((found, expected.len()), (expected, 1));
            assert!(steps < 500, "{steps}");
        }
        assert_eq!(BoxTree::new([].into_iter()).search(|_| true, |_| {}), 1);
    }
}
