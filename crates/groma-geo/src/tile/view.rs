//! From the units of a shape to those of a tile.

use crate::{
    grid::{GridBox, TileId},
    shape::GRID_ZOOM,
};

/// The side of a tile, in its units.
pub(super) const EXTENT: i64 = 4096;
/// The margin that is drawn around it.
const BUFFER: i64 = 64;
/// A tile with its margin: what is drawn lies in it.
pub(super) const FRAME: GridBox =
    GridBox { min_x: -BUFFER, min_y: -BUFFER, max_x: EXTENT + BUFFER, max_y: EXTENT + BUFFER };

/// A place in a tile, in its units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Point {
    pub x: i64,
    pub y: i64,
}

/// Twice what the edge between two points adds to the area of a ring: the area between it and the
/// y axis. Summed up it is the same as by the cross product, which takes a multiplication more.
#[inline]
pub(super) fn doubled_area(from: Point, to: Point) -> i64 {
    (from.x + to.x) * (to.y - from.y)
}

/// How a tile sees shapes of some scale.
#[derive(Clone, Copy)]
pub(super) struct View {
    /// One of the two is 0: several steps make a unit or, deep down, several units a step.
    right: u32,
    left: u32,
    origin: Point,
}

impl View {
    #[inline]
    pub(super) fn new(tile: TileId, scale: u32) -> Self {
        let unit = u32::from(GRID_ZOOM);
        let zoom = u32::from(tile.z()) + scale;
        Self {
            right: unit.saturating_sub(zoom),
            left: zoom.saturating_sub(unit),
            origin: Point { x: i64::from(tile.x()) * EXTENT, y: i64::from(tile.y()) * EXTENT },
        }
    }

    #[inline]
    pub(super) fn point(self, x: i64, y: i64) -> Point {
        let units = |steps: i64| steps >> self.right << self.left;
        Point { x: units(x) - self.origin.x, y: units(y) - self.origin.y }
    }

    /// [`View::point`] for a place after the other, where no step is several units: it takes no more
    /// than one shift then.
    #[inline]
    pub(super) fn shrink(self) -> Option<impl Fn((i64, i64)) -> Point> {
        let Self { right, left, origin } = self;
        let start = Point { x: origin.x << right, y: origin.y << right };
        let point = move |(x, y)| Point { x: (x - start.x) >> right, y: (y - start.y) >> right };
        (left == 0).then_some(point)
    }

    #[inline]
    pub(super) fn bounds(self, bounds: GridBox) -> GridBox {
        let min = self.point(bounds.min_x, bounds.min_y);
        let max = self.point(bounds.max_x, bounds.max_y);
        GridBox { min_x: min.x, min_y: min.y, max_x: max.x, max_y: max.y }
    }
}

/// The box around a path; of none, one that is nowhere.
pub(super) fn bounds_of(path: &[Point]) -> GridBox {
    let none = GridBox { min_x: i64::MAX, min_y: i64::MAX, max_x: i64::MIN, max_y: i64::MIN };
    path.iter().fold(none, |around, point| GridBox {
        min_x: around.min_x.min(point.x),
        min_y: around.min_y.min(point.y),
        max_x: around.max_x.max(point.x),
        max_y: around.max_y.max(point.y),
    })
}
