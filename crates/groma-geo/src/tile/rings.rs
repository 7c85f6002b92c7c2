//! The rings of a polygon feature in the units of a tile.

use super::transform::{TilePoint, doubled_area};
use std::ops::Range;

/// Rings in one buffer. Holes follow their outer ring.
#[derive(Default)]
pub(super) struct Rings {
    points: Vec<TilePoint>,
    rings: Vec<(bool, i64, Range<usize>)>,
}

/// A ring. Its first point is not repeated at the end.
#[derive(Clone, Copy)]
pub(super) struct Ring<'a> {
    pub is_hole: bool,
    /// Twice its area: positive if it runs clockwise on the screen, as MVT requires of outer rings.
    pub area: i64,
    pub points: &'a [TilePoint],
}

impl Rings {
    pub(super) fn clear(&mut self) {
        self.points.clear();
        self.rings.clear();
    }

    pub(super) fn push(&mut self, ring: Ring<'_>) {
        let start = self.points.len();
        self.points.extend_from_slice(ring.points);
        self.rings.push((ring.is_hole, ring.area, start..self.points.len()));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rings.is_empty()
    }

    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = Ring<'_>> {
        self.rings.iter().map(|(is_hole, area, range)| Ring {
            is_hole: *is_hole,
            area: *area,
            points: &self.points[range.clone()],
        })
    }
}

impl<'a> Ring<'a> {
    pub(super) fn new(is_hole: bool, points: &'a [TilePoint]) -> Self {
        let area = edges(points).map(|(from, to)| doubled_area(from, to)).sum();
        Self { is_hole, area, points }
    }
}

/// The edges of a ring, each from one point to the next. The first one leads to the first point.
pub(super) fn edges(ring: &[TilePoint]) -> impl Iterator<Item = (TilePoint, TilePoint)> {
    let before = ring.last().into_iter().chain(ring);
    before.copied().zip(ring.iter().copied())
}
