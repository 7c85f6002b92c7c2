//! The stored drawing of a geometry: its shape on the grid, ready for [`crate::tile`], and where
//! and how large it is. A shape with many vertices is kept as a few copies, each simplified to what
//! its zooms can show.
//!
//! Simplifying goes along a line and keeps a vertex only where the ones before it would otherwise
//! be missed by half a unit of a tile: one pass in the number of vertices, whatever they are, where
//! Douglas–Peucker goes quadratic on a spiral and Visvalingam loses a spike without width.

pub(crate) mod format;
mod parts;
mod simplify;

use crate::{
    Geometry,
    grid::{GridBox, TileId, morton},
};
use format::{Form, Shape};
use parts::Parts;

/// With more vertices than this a shape has [`Level`]s.
const MANY_VERTICES: usize = 100;
/// The last zooms that are served by a simplified copy, the deepest first.
const LEVEL_ZOOMS: [u8; 5] = [15, 12, 9, 6, 3];
/// At this zoom a tile's unit is a step of the grid.
pub(crate) const GRID_ZOOM: u8 = 20;

/// A geometry as it is stored for tiles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drawing {
    /// The Morton code of the centre of its box on the grid.
    pub centre: u64,
    /// Its size: the binary logarithm of the larger side of its box, rounded down; 0 for a point.
    pub class: u8,
    /// The shape, or only its box when there are levels.
    pub bytes: Vec<u8>,
    /// Copies of a shape with many vertices, the coarsest first; the last is exact.
    pub levels: Vec<Level>,
}

/// A copy of a shape for some zooms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Level {
    /// The deepest zoom it is for; the shallowest is the one after the previous level's.
    pub zoom: u8,
    /// The shape, in the form of [`Drawing::bytes`].
    pub bytes: Vec<u8>,
}

impl Drawing {
    /// The centre of the drawing of a geometry.
    #[must_use]
    pub fn centre_of(geometry: &Geometry) -> Option<u64> {
        centre(Parts::of(geometry).bounds()?)
    }

    /// The drawing of a geometry; `None` when it has no position.
    #[must_use]
    pub fn of(geometry: &Geometry) -> Option<Self> {
        let parts = Parts::of(geometry);
        let bounds = parts.bounds()?;
        let (wide, high) = (bounds.max_x - bounds.min_x, bounds.max_y - bounds.min_y);
        let side = u32::try_from(wide.max(high)).ok()?;
        let levels =
            if parts.vertices() > MANY_VERTICES { levels(&parts, bounds) } else { Vec::new() };
        Some(Self {
            centre: centre(bounds)?,
            class: side.checked_ilog2().map_or(0, |class| class as u8),
            bytes: if levels.is_empty() {
                format::write(&parts, bounds, 0)
            } else {
                format::write_outline(&parts, bounds)
            },
            levels,
        })
    }
}

fn centre(bounds: GridBox) -> Option<u64> {
    let middle = |min: i64, max: i64| u32::try_from(min + (max - min) / 2).ok();
    Some(morton(middle(bounds.min_x, bounds.max_x)?, middle(bounds.min_y, bounds.max_y)?))
}

/// The exact copy, and before it those simplified ones that are much smaller than the next.
fn levels(parts: &Parts, bounds: GridBox) -> Vec<Level> {
    let exact = Level { zoom: TileId::MAX_ZOOM, bytes: format::write(parts, bounds, 0) };
    let mut levels = vec![exact];
    for zoom in LEVEL_ZOOMS {
        let scale = u32::from(GRID_ZOOM - zoom);
        let scaled = scaled(bounds, scale);
        if is_small(scaled) {
            break; // the box says it all
        }
        let bytes = format::write(&parts.simplified(scale), scaled, scale);
        if levels.last().is_some_and(|finer| bytes.len() * 3 <= finer.bytes.len() * 2) {
            levels.push(Level { zoom, bytes });
        }
    }
    levels.reverse();
    levels
}

/// The box in steps of 2^`scale`.
fn scaled(bounds: GridBox, scale: u32) -> GridBox {
    GridBox {
        min_x: bounds.min_x >> scale,
        min_y: bounds.min_y >> scale,
        max_x: bounds.max_x >> scale,
        max_y: bounds.max_y >> scale,
    }
}

/// Whether a shape with this box, in a tile's units, is too small for its vertices to matter.
#[inline]
pub(crate) fn is_small(bounds: GridBox) -> bool {
    bounds.max_x - bounds.min_x <= 1 && bounds.max_y - bounds.min_y <= 1
}

/// The box of a stored shape on the grid; `None` when the bytes are not one.
#[must_use]
#[inline]
pub fn bounds(bytes: &[u8]) -> Option<GridBox> {
    let shape = Shape::read(bytes)?;
    let (low, scale) = (shape.bounds, shape.scale);
    Some(GridBox {
        min_x: low.min_x << scale,
        min_y: low.min_y << scale,
        max_x: ((low.max_x + 1) << scale) - 1,
        max_y: ((low.max_y + 1) << scale) - 1,
    })
}

/// Whether a tile of this zoom needs one of the [`Level`]s, the first whose zoom is not less, in
/// place of these [`Drawing::bytes`].
#[must_use]
#[inline]
pub fn needs_level(bytes: &[u8], zoom: u8) -> bool {
    let Some(shape) = Shape::read(bytes) else { return false };
    let scale = u32::from(GRID_ZOOM.saturating_sub(zoom));
    shape.form == Form::Outline && !is_small(scaled(shape.bounds, scale))
}

#[cfg(test)]
mod tests;
