//! The coverage of one tile.

use super::{
    CELL_BITS, Cell, FULL_AREA, Polygon, block_bounds, cell_size_bits, cells,
    rectangles::{Rectangle, rectangles},
};
use crate::grid::TileId;
use std::collections::BTreeMap;

/// The maximum number of polygons of a tile that are drawn alone because nothing else is in their cells.
const MAX_LONE: usize = 4_096;

/// The cells of a tile that are covered by polygons too small to be drawn alone.
#[derive(Clone, Debug)]
pub struct CoverageGrid {
    tile: TileId,
    /// How many times the number of cells along a side was halved.
    coarseness: u32,
    /// By row and column in the tile.
    cells: BTreeMap<(u32, u32), Cell>,
}

impl CoverageGrid {
    /// A tile without coverage.
    #[must_use]
    pub fn new(tile: TileId) -> Self {
        Self { tile, coarseness: 0, cells: BTreeMap::new() }
    }

    /// Adds an encoded block with this Morton code, unless it lies outside the tile.
    pub fn add_block(&mut self, code: u64, bytes: &[u8]) {
        let bits = cell_size_bits(self.tile.z());
        let (block, tile) = (block_bounds(self.tile.z(), code), self.tile.bounds());
        if !tile.contains(block) {
            return;
        }
        let (left, top) = (
            ((block.min_x - tile.min_x) >> bits) as u32,
            ((block.min_y - tile.min_y) >> bits) as u32,
        );
        for (index, cell) in cells(bytes) {
            let place = (top + u32::from(index >> 4), left + u32::from(index & 15));
            self.cells.insert(place, cell);
        }
    }

    /// The numbers of polygons that may be drawn alone: no other polygon touches their cells in this
    /// tile. None if there are too many.
    #[must_use]
    pub fn lone_polygons(&self) -> Vec<u64> {
        let last = (1 << CELL_BITS) - 1;
        // For each polygon, how many of its cells are still to be found, and whether one is at the border.
        let mut found: BTreeMap<u64, (u64, bool)> = BTreeMap::new();
        for ((y, x), cell) in self.cells.iter().filter(|(_, cell)| cell.polygons == 1) {
            let entry = found.entry(cell.numbers).or_insert((cell.spans, false));
            entry.0 = entry.0.saturating_sub(1);
            entry.1 |= [*x, *y].iter().any(|at| *at == 0 || *at == last);
        }
        // A polygon at the border may have more cells in the next tile.
        found.retain(|_, (missing, reaches_border)| *reaches_border || *missing == 0);
        if found.len() > MAX_LONE {
            return Vec::new();
        }
        found.into_keys().collect()
    }

    /// Removes a polygon that will be drawn alone. Returns false, and changes nothing, if it shares a
    /// cell with another polygon.
    pub fn take_lone(&mut self, polygon: &Polygon, number: u64) -> bool {
        let places: Vec<_> =
            self.footprint(polygon, number).into_iter().map(|(place, _)| place).collect();
        let is_alone = |place| self.cells.get(place).is_some_and(|cell: &Cell| cell.polygons == 1);
        let is_lone = !places.is_empty() && places.iter().all(is_alone);
        if is_lone {
            for place in &places {
                self.cells.remove(place);
            }
        }
        is_lone
    }

    /// Adds a polygon that could have been drawn alone.
    pub(crate) fn add_polygon(&mut self, polygon: &Polygon) {
        for (place, cell) in self.footprint(polygon, 0) {
            let place = (place.0 >> self.coarseness, place.1 >> self.coarseness);
            let area = cell.area >> (2 * self.coarseness);
            self.cells.entry(place).or_default().add(&Cell { area, ..cell });
        }
    }

    /// The cells of the tile that a polygon touches.
    fn footprint(&self, polygon: &Polygon, number: u64) -> Vec<((u32, u32), Cell)> {
        let (left, top) = (self.tile.x() << CELL_BITS, self.tile.y() << CELL_BITS);
        let within = |at: u32, start: u32| at.checked_sub(start).filter(|at| at >> CELL_BITS == 0);
        let cells = polygon.footprint(self.tile.z(), number).into_iter();
        cells
            .filter_map(|(place, cell)| {
                Some(((within(place.y, top)?, within(place.x, left)?), cell))
            })
            .collect()
    }

    /// Joins each square of four cells; returns false if the whole tile is one cell.
    pub(crate) fn coarsen(&mut self) -> bool {
        if self.coarseness == CELL_BITS {
            return false;
        }
        self.coarseness += 1;
        for ((y, x), cell) in std::mem::take(&mut self.cells) {
            let area = cell.area.min(FULL_AREA) >> 2;
            self.cells.entry((y >> 1, x >> 1)).or_default().add(&Cell { area, ..cell });
        }
        true
    }

    /// The rectangles that paint the covered area.
    pub(crate) fn rectangles(&self) -> Vec<Rectangle> {
        rectangles(&self.cells, CELL_BITS - self.coarseness, self.tile.z())
    }
}
