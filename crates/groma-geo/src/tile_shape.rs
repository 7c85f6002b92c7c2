//! Tile shapes: geometries prepared for vector tiles when they are written. A tile shape is the
//! geometry on the integer grid of [`crate::grid`], with its centre and its size. Shapes with many
//! vertices are stored at several levels of detail, each simplified to what its zooms can show.
//!
//! [`crate::tile`] encodes tiles from tile shapes. `encoding` defines their bytes.

pub(crate) mod encoding;
mod grid_geometry;
mod simplify;

use crate::{
    Geometry,
    grid::{GridBox, TileId, morton},
};
use encoding::{Encoding, GeomType, ShapeReader};
use grid_geometry::GridGeometry;

/// A shape with more vertices than this has [`DetailLevel`]s.
const MANY_VERTICES: usize = 100;
/// The max zooms of the simplified levels, the most detailed first.
const LEVEL_ZOOMS: [u8; 5] = [15, 12, 9, 6, 3];
/// At this zoom, one unit of a tile is one step of the grid.
pub(crate) const GRID_ZOOM: u8 = 20;

/// The side of the square that stands for a polygon too small to see: one pixel if a tile is drawn
/// 512 pixels wide. MapLibre fills the pixels whose middle is covered, so a smaller square could
/// disappear.
pub(crate) const SMALL_SQUARE: i64 = 8;

/// A geometry as it is stored for tiles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TileShape {
    /// The Morton code of the centre of its bounds on the grid.
    pub centre: u64,
    /// The binary logarithm, rounded down, of the larger side of its bounds; 0 for a point.
    pub size_class: u8,
    /// The encoded shape, or only its bounds if there are detail levels.
    pub bytes: Vec<u8>,
    /// The levels of a shape with many vertices, the coarsest first. The last one is exact.
    pub levels: Vec<DetailLevel>,
}

/// A shape simplified for a range of zooms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DetailLevel {
    /// The highest zoom it is used for. The range starts after the max zoom of the previous level.
    pub max_zoom: u8,
    /// The encoded shape.
    pub bytes: Vec<u8>,
}

impl TileShape {
    /// The tile shape of a geometry; `None` if it has no position.
    #[must_use]
    pub fn from_geometry(geometry: &Geometry) -> Option<Self> {
        let shape = GridGeometry::new(geometry);
        let bounds = shape.bounds()?;
        let (width, height) = (bounds.max_x - bounds.min_x, bounds.max_y - bounds.min_y);
        let side = u32::try_from(width.max(height)).ok()?;
        let levels = if shape.vertex_count() > MANY_VERTICES {
            detail_levels(&shape, bounds)
        } else {
            Vec::new()
        };
        Some(Self {
            centre: centre(bounds)?,
            size_class: side.checked_ilog2().map_or(0, |class| class as u8),
            bytes: if levels.is_empty() {
                encoding::write(&shape, bounds, 0)
            } else {
                encoding::write_bounds_only(&shape, bounds)
            },
            levels,
        })
    }
}

fn centre(bounds: GridBox) -> Option<u64> {
    let middle = |min: i64, max: i64| u32::try_from(min + (max - min) / 2).ok();
    Some(morton(middle(bounds.min_x, bounds.max_x)?, middle(bounds.min_y, bounds.max_y)?))
}

/// The exact level, preceded by those simplified levels that are at least a third smaller than the
/// next one.
fn detail_levels(shape: &GridGeometry, bounds: GridBox) -> Vec<DetailLevel> {
    let exact =
        DetailLevel { max_zoom: TileId::MAX_ZOOM, bytes: encoding::write(shape, bounds, 0) };
    let mut levels = vec![exact];
    for max_zoom in LEVEL_ZOOMS {
        let scale = u32::from(GRID_ZOOM - max_zoom);
        if is_small(rounded_box(bounds, scale)) {
            break; // from here on, the bounds are enough
        }
        // Stored in half units: rounding these gives the same as rounding the original.
        let stored_scale = scale - 1;
        let stored_bounds = GridBox {
            min_x: bounds.min_x >> stored_scale,
            min_y: bounds.min_y >> stored_scale,
            max_x: bounds.max_x >> stored_scale,
            max_y: bounds.max_y >> stored_scale,
        };
        let bytes = encoding::write(&shape.simplified(scale), stored_bounds, stored_scale);
        if levels.last().is_some_and(|finer| bytes.len() * 3 <= finer.bytes.len() * 2) {
            levels.push(DetailLevel { max_zoom, bytes });
        }
    }
    levels.reverse();
    levels
}

/// The box in units of 2^`scale` grid steps, rounded as tiles round it.
fn rounded_box(bounds: GridBox, scale: u32) -> GridBox {
    GridBox {
        min_x: rounded(bounds.min_x, scale),
        min_y: rounded(bounds.min_y, scale),
        max_x: rounded(bounds.max_x, scale),
        max_y: rounded(bounds.max_y, scale),
    }
}

/// A coordinate in units of 2^`scale` steps, rounded to the nearest one.
#[inline]
pub(crate) fn rounded(value: i64, scale: u32) -> i64 {
    (value + ((1 << scale) >> 1)) >> scale
}

/// Whether a shape with these bounds, in units of a tile, is too small for its vertices to matter.
#[inline]
pub(crate) fn is_small(bounds: GridBox) -> bool {
    bounds.max_x - bounds.min_x <= 1 && bounds.max_y - bounds.min_y <= 1
}

/// The bounds of an encoded shape on the grid; `None` if the bytes are invalid.
#[must_use]
#[inline]
pub fn bounds(bytes: &[u8]) -> Option<GridBox> {
    let shape = ShapeReader::new(bytes)?;
    let (low, scale) = (shape.bounds, shape.scale);
    Some(GridBox {
        min_x: low.min_x << scale,
        min_y: low.min_y << scale,
        max_x: ((low.max_x + 1) << scale) - 1,
        max_y: ((low.max_y + 1) << scale) - 1,
    })
}

/// Whether an encoded shape consists of polygons only.
#[must_use]
#[inline]
pub fn is_polygon(bytes: &[u8]) -> bool {
    // Polygons are the last part of a shape.
    let first = ShapeReader::new(bytes).and_then(|mut shape| shape.next_part());
    matches!(first, Some((GeomType::Polygons, _)))
}

/// The Morton codes of the ends of an encoded line, the lower one first. Several lines, or a line of
/// which only the bounds are stored, have the corners of their bounds instead. `None` if the shape
/// does not begin with lines.
#[must_use]
pub fn line_ends(bytes: &[u8]) -> Option<[u64; 2]> {
    let mut shape = ShapeReader::new(bytes)?;
    let GridBox { min_x, min_y, max_x, max_y } = shape.bounds;
    let (GeomType::Lines, lines) = shape.next_part()? else { return None };
    let ends = if lines == 1 { first_line_ends(&mut shape) } else { None };
    let mut codes =
        ends.unwrap_or([(min_x, min_y), (max_x, max_y)]).map(|(x, y)| morton(x as u32, y as u32));
    codes.sort_unstable();
    Some(codes)
}

fn first_line_ends(shape: &mut ShapeReader<'_>) -> Option<[(i64, i64); 2]> {
    let count = shape.path_header()?;
    if let Some(mut points) = shape.fixed_points(count) {
        let first = points.next()?;
        return Some([first, points.next_back().unwrap_or(first)]);
    }
    let (mut first, mut last) = (None, (0, 0));
    shape.points(count, |x, y| {
        first.get_or_insert((x, y));
        last = (x, y);
    })?;
    Some([first?, last])
}

/// Whether a tile at this zoom needs a [`DetailLevel`] in place of these [`TileShape::bytes`]: the
/// first level whose max zoom is at least `zoom`.
#[must_use]
#[inline]
pub fn needs_detail_level(bytes: &[u8], zoom: u8) -> bool {
    let Some(shape) = ShapeReader::new(bytes) else { return false };
    let scale = u32::from(GRID_ZOOM.saturating_sub(zoom));
    shape.encoding == Encoding::BoundsOnly && !is_small(rounded_box(shape.bounds, scale))
}

#[cfg(test)]
mod tests;
