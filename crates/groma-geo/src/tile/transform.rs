//! The transformation from the units of a stored shape to the units of a tile.

use crate::{
    grid::{BUFFER, EXTENT, GridBox, TileId},
    tile_shape::{GRID_ZOOM, rounded},
};

/// A tile with its buffer. Geometries are clipped to it.
pub(super) const CLIP_BOX: GridBox =
    GridBox { min_x: -BUFFER, min_y: -BUFFER, max_x: EXTENT + BUFFER, max_y: EXTENT + BUFFER };

/// A point in the units of a tile, relative to its north-western corner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TilePoint {
    pub x: i64,
    pub y: i64,
}

/// What the edge between two points adds to twice the area of a ring: twice the area between the edge
/// and the y axis. The sum is the same as with the cross product, but takes one multiplication less.
#[inline]
pub(super) fn doubled_area(from: TilePoint, to: TilePoint) -> i64 {
    (from.x + to.x) * (to.y - from.y)
}

/// Transforms shapes of one scale to one tile.
#[derive(Clone, Copy)]
pub(super) struct Transform {
    /// At least one of the two shifts is 0: a tile unit is several shape units or, at high zooms, the
    /// other way round.
    shift_right: u32,
    shift_left: u32,
    origin: TilePoint,
}

impl Transform {
    #[inline]
    pub(super) fn new(tile: TileId, scale: u32) -> Self {
        let grid_zoom = u32::from(GRID_ZOOM);
        let zoom = u32::from(tile.z()) + scale;
        Self {
            shift_right: grid_zoom.saturating_sub(zoom),
            shift_left: zoom.saturating_sub(grid_zoom),
            origin: TilePoint { x: i64::from(tile.x()) * EXTENT, y: i64::from(tile.y()) * EXTENT },
        }
    }

    #[inline]
    pub(super) fn point(self, x: i64, y: i64) -> TilePoint {
        let scaled = |value: i64| rounded(value, self.shift_right) << self.shift_left;
        TilePoint { x: scaled(x) - self.origin.x, y: scaled(y) - self.origin.y }
    }

    /// A faster [`Transform::point`] with a single shift; `None` if it would have to shift left.
    #[inline]
    pub(super) fn fast_point(self) -> Option<impl Fn((i64, i64)) -> TilePoint + Clone> {
        let Self { shift_right, shift_left, origin } = self;
        let half = (1 << shift_right) >> 1;
        let start =
            TilePoint { x: (origin.x << shift_right) - half, y: (origin.y << shift_right) - half };
        let point = move |(x, y)| TilePoint {
            x: (x - start.x) >> shift_right,
            y: (y - start.y) >> shift_right,
        };
        (shift_left == 0).then_some(point)
    }

    #[inline]
    pub(super) fn bounds(self, bounds: GridBox) -> GridBox {
        let min = self.point(bounds.min_x, bounds.min_y);
        let max = self.point(bounds.max_x, bounds.max_y);
        GridBox { min_x: min.x, min_y: min.y, max_x: max.x, max_y: max.y }
    }
}

/// The bounding box of a path. That of an empty path intersects nothing.
pub(super) fn bounds_of(path: &[TilePoint]) -> GridBox {
    let empty = GridBox { min_x: i64::MAX, min_y: i64::MAX, max_x: i64::MIN, max_y: i64::MIN };
    path.iter().fold(empty, |bounds, point| GridBox {
        min_x: bounds.min_x.min(point.x),
        min_y: bounds.min_y.min(point.y),
        max_x: bounds.max_x.max(point.x),
        max_y: bounds.max_y.max(point.y),
    })
}
