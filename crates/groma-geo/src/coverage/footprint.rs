//! The cells that a polygon touches, with the area that it covers of each.

use super::{BLOCK_BITS, Cell, CellPlace, FULL_AREA, cell_size_bits};
use crate::{
    grid::{GridBox, TileId, morton},
    tile_shape::{
        TileShape,
        encoding::{GeomType, ShapeReader},
    },
};

/// A polygon is drawn alone if its bounds measure at least 2⁵ of the 4,096 units of a tile…
const ALONE_SIZE_BITS: u8 = 5;
/// …and it is at least a unit thick on average. Otherwise most of its area would be lost by rounding.
/// A long polygon waits for that this many zooms at most: it would touch too many cells.
const MAX_THIN_ZOOMS: u8 = 6;
/// At this zoom, a unit of a tile is one grid step.
const GRID_ZOOM: u8 = crate::tile_shape::GRID_ZOOM;

/// A polygon, or several that are one feature, on the grid.
#[derive(Clone, Debug)]
pub struct Polygon {
    /// Rings, as offsets from the corner of the bounds. Outer rings run clockwise, holes the other way.
    rings: Vec<Vec<(i64, i64)>>,
    bounds: GridBox,
}

impl Polygon {
    /// The polygon of a tile shape; `None` if the shape has points or lines, or is damaged.
    #[must_use]
    pub fn from_shape(shape: &TileShape) -> Option<Self> {
        let exact = shape.levels.last().map_or(&shape.bytes, |level| &level.bytes);
        Self::from_bytes(exact)
    }

    /// The polygon of an encoded shape; `None` if the shape has points or lines, or is damaged.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut shape = ShapeReader::new(bytes)?;
        let (GeomType::Polygons, count) = shape.next_part()? else { return None };
        let (low, scale) = (shape.bounds, shape.scale);
        let mut rings = Vec::new();
        for _ in 0..count {
            let points = shape.path_header()? >> 1;
            let mut ring = Vec::new();
            shape.points(points, |x, y| {
                ring.push(((x - low.min_x) << scale, (y - low.min_y) << scale));
            })?;
            rings.push(ring);
        }
        let bounds = GridBox {
            min_x: low.min_x << scale,
            min_y: low.min_y << scale,
            max_x: low.max_x << scale,
            max_y: low.max_y << scale,
        };
        (!rings.is_empty()).then_some(Self { rings, bounds })
    }

    /// The lowest zoom at which it is drawn alone, wherever it is.
    #[must_use]
    pub fn alone_from(&self) -> u8 {
        let GridBox { min_x, min_y, max_x, max_y } = self.bounds;
        let side = (max_x - min_x).max(max_y - min_y).unsigned_abs();
        let by_size = zoom_of_units(side >> ALONE_SIZE_BITS);
        let (mut doubled_area, mut length) = (0.0, 0.0);
        for (from, to) in self.edges() {
            let [a, b, c, d] = [from.0, from.1, to.0, to.1].map(|value| value as f64);
            doubled_area += a * d - c * b;
            length += (c - a).hypot(d - b);
        }
        let thickness = if length > 0.0 { doubled_area.abs() / length } else { 0.0 };
        let by_thickness = zoom_of_units(thickness as u64);
        by_thickness.clamp(by_size, by_size + MAX_THIN_ZOOMS).min(TileId::MAX_ZOOM)
    }

    fn edges(&self) -> impl Iterator<Item = ((i64, i64), (i64, i64))> {
        self.rings.iter().flat_map(|ring| {
            let before = ring.last().into_iter().chain(ring);
            before.zip(ring).map(|(from, to)| (*from, *to))
        })
    }

    /// The Morton codes of the blocks that its bounds meet at a zoom.
    #[must_use]
    pub fn blocks(&self, zoom: u8) -> Vec<u64> {
        let bits = cell_size_bits(zoom) + BLOCK_BITS;
        let GridBox { min_x, min_y, max_x, max_y } = self.bounds;
        let columns = min_x >> bits..=max_x >> bits;
        let rows = min_y >> bits..=max_y >> bits;
        let code = |x: i64, y: i64| morton((x << bits) as u32, (y << bits) as u32);
        rows.flat_map(|y| columns.clone().map(move |x| code(x, y))).collect()
    }

    /// What the polygon with this number adds to each cell that it touches at a zoom.
    #[must_use]
    pub fn footprint(&self, zoom: u8, number: u64) -> Vec<(CellPlace, Cell)> {
        let bits = cell_size_bits(zoom);
        let cell_of = |at: i64| (at >> bits) as u32;
        let (left, top) = (cell_of(self.bounds.min_x), cell_of(self.bounds.min_y));
        let (right, bottom) = (cell_of(self.bounds.max_x), cell_of(self.bounds.max_y));
        let middle = |min: i64, max: i64| cell_of(min + (max - min) / 2);
        let centre = CellPlace {
            zoom,
            x: middle(self.bounds.min_x, self.bounds.max_x),
            y: middle(self.bounds.min_y, self.bounds.max_y),
        };
        let areas =
            self.areas(bits, (left, top), (right - left + 1) as usize, (bottom - top + 1) as usize);
        let rows = areas.chunks((right - left + 1) as usize).zip(top..);
        let mut cells: Vec<(CellPlace, Cell)> = rows
            .flat_map(|(row, y)| {
                row.iter().zip(left..).map(move |(area, x)| (CellPlace { zoom, x, y }, *area))
            })
            .filter(|(place, area)| *area > 0 || *place == centre)
            .map(|(place, area)| {
                let centres = u64::from(place == centre);
                (place, Cell { area, polygons: 1, centres, numbers: number, spans: 0 })
            })
            .collect();
        let spans = cells.len() as u64;
        cells.iter_mut().for_each(|(_, cell)| cell.spans = spans);
        cells
    }

    /// The covered area of each cell of the bounds, row by row.
    ///
    /// Each edge adds to its cells the signed area between it and the right side of the cell, and passes
    /// the rest on to the cell to the right. A running sum over the row completes that.
    fn areas(&self, bits: u32, corner: (u32, u32), width: usize, height: usize) -> Vec<u64> {
        let size = (1_i64 << bits) as f64;
        let offset = |min: i64, corner: u32| (min - (i64::from(corner) << bits)) as f64;
        let (dx, dy) = (offset(self.bounds.min_x, corner.0), offset(self.bounds.min_y, corner.1));
        let stride = width + 1;
        let mut sums = vec![0.0; stride * height];
        for (from, to) in self.edges() {
            let place = |(x, y): (i64, i64)| ((x as f64 + dx) / size, (y as f64 + dy) / size);
            let (from, to) = (place(from), place(to));
            // Y points down, so a clockwise ring goes down on its right side.
            let (sign, upper, lower) =
                if from.1 < to.1 { (-1.0, from, to) } else { (1.0, to, from) };
            if upper.1 >= lower.1 {
                continue;
            }
            let slope = (lower.0 - upper.0) / (lower.1 - upper.1);
            let x_at = |y: f64| upper.0 + (y - upper.1) * slope;
            for row in upper.1 as usize..height.min(lower.1.ceil() as usize) {
                let (y0, y1) = (upper.1.max(row as f64), lower.1.min((row + 1) as f64));
                let (x0, x1) = (x_at(y0), x_at(y1));
                let (west, east) = (x0.min(x1).max(0.0), x0.max(x1).min(width as f64));
                let drop = sign * (y1 - y0);
                for column in west as usize..width.min((east.floor() as usize) + 1) {
                    let (a, b) = (west.max(column as f64), east.min((column + 1) as f64));
                    // The part of the edge in this cell, and how far from its left side.
                    let part = if east > west { drop * (b - a) / (east - west) } else { drop };
                    let middle = f64::midpoint(a, b) - column as f64;
                    sums[row * stride + column] += part * (1.0 - middle);
                    sums[row * stride + column + 1] += part * middle;
                }
            }
        }
        let mut areas = Vec::with_capacity(width * height);
        for row in sums.chunks(stride) {
            let mut sum = 0.0;
            for value in &row[..width] {
                sum += value;
                areas.push((sum.abs().min(1.0) * FULL_AREA as f64).round() as u64);
            }
        }
        areas
    }
}

/// The zoom from which a unit of a tile measures at most this many grid steps.
fn zoom_of_units(steps: u64) -> u8 {
    steps.checked_ilog2().map_or(TileId::MAX_ZOOM, |bits| GRID_ZOOM.saturating_sub(bits as u8))
}
