//! Coverage: what tiles show of polygons that are too small to be drawn alone.
//!
//! At each zoom the world is divided into cells, 256 along the side of a tile. A polygon that is too
//! small at a zoom adds its area to the cells that it touches there. A tile paints each cell as a
//! rectangle of the covered area, and joins cells that are covered completely. All sums are integers:
//! they do not depend on the order of changes, and subtracting a polygon restores what was there
//! before it was added.
//!
//! Cells are stored in blocks of 16 × 16, in the same table as [tile blocks](crate::tile_block), one
//! [tier](coverage_tier) for each zoom.

mod footprint;
mod grid;
mod rectangles;

pub use footprint::Polygon;
pub use grid::CoverageGrid;
pub(crate) use rectangles::Rectangle;

use crate::{grid::GridBox, varint};
use std::collections::BTreeMap;

/// A tile has 2⁸ cells along its side.
const CELL_BITS: u32 = 8;
/// A block has 2⁴ cells along its side.
const BLOCK_BITS: u32 = 4;
/// The area of a cell that is covered completely.
const FULL_AREA: u64 = 1 << 32;
/// The first tier of coverage. Those below hold features.
const FIRST_TIER: u8 = 32;

/// The tier of the coverage blocks of a zoom.
#[must_use]
pub fn coverage_tier(zoom: u8) -> u8 {
    FIRST_TIER + zoom
}

/// The zoom whose coverage a tier holds; `None` for a tier of features.
#[must_use]
pub fn zoom_of_tier(tier: u8) -> Option<u8> {
    tier.checked_sub(FIRST_TIER)
}

/// The binary logarithm of the side of a cell, in grid steps.
fn cell_size_bits(zoom: u8) -> u32 {
    32 - CELL_BITS - u32::from(zoom)
}

/// The number of Morton codes in a block.
#[must_use]
pub fn codes_per_block(zoom: u8) -> u64 {
    1 << (2 * (cell_size_bits(zoom) + BLOCK_BITS))
}

/// What polygons add to a cell. The sum over all polygons that touch the cell is stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cell {
    /// The covered area, in 1/2³² of the cell.
    area: u64,
    /// How many polygons touch the cell.
    polygons: u64,
    /// How many polygons have their centre in the cell.
    centres: u64,
    /// The numbers of the polygons. While a single polygon touches the cell, this is its number.
    numbers: u64,
    /// How many cells the polygons touch. While there is a single polygon, this is the number of its cells.
    spans: u64,
}

impl Cell {
    fn add(&mut self, other: &Self) {
        self.area = self.area.wrapping_add(other.area);
        self.polygons = self.polygons.wrapping_add(other.polygons);
        self.centres = self.centres.wrapping_add(other.centres);
        self.numbers = self.numbers.wrapping_add(other.numbers);
        self.spans = self.spans.wrapping_add(other.spans);
    }

    fn subtract(&mut self, other: &Self) {
        self.area = self.area.wrapping_sub(other.area);
        self.polygons = self.polygons.wrapping_sub(other.polygons);
        self.centres = self.centres.wrapping_sub(other.centres);
        self.numbers = self.numbers.wrapping_sub(other.numbers);
        self.spans = self.spans.wrapping_sub(other.spans);
    }

    fn fields(&self) -> [u64; 5] {
        [self.area, self.polygons, self.centres, self.numbers, self.spans]
    }
}

/// The place of a cell: its column and row in the world at a zoom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CellPlace {
    zoom: u8,
    x: u32,
    y: u32,
}

impl CellPlace {
    /// The Morton code of the north-western corner of its block.
    #[must_use]
    pub fn block(self) -> u64 {
        let corner = |at: u32| at >> BLOCK_BITS << BLOCK_BITS << cell_size_bits(self.zoom);
        crate::grid::morton(corner(self.x), corner(self.y))
    }

    /// The zoom.
    #[must_use]
    pub fn zoom(self) -> u8 {
        self.zoom
    }

    /// Its index in its block: row by row.
    fn index(self) -> u8 {
        let within = |at: u32| (at & ((1 << BLOCK_BITS) - 1)) as u8;
        within(self.y) << BLOCK_BITS | within(self.x)
    }
}

/// A block of cells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CoverageBlock {
    cells: BTreeMap<u8, Cell>,
}

impl CoverageBlock {
    /// Adds what a polygon adds to a cell.
    pub fn add(&mut self, place: CellPlace, cell: &Cell) {
        self.cells.entry(place.index()).or_default().add(cell);
    }

    /// Subtracts what a polygon added to a cell.
    pub fn subtract(&mut self, place: CellPlace, cell: &Cell) {
        let sum = self.cells.entry(place.index()).or_default();
        sum.subtract(cell);
        if *sum == Cell::default() {
            self.cells.remove(&place.index());
        }
    }

    /// Whether no polygon touches it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// Encodes the block: for each cell its index as a byte and its sums as varints.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.cells.len() * 16);
        for (index, cell) in &self.cells {
            out.push(*index);
            cell.fields().into_iter().for_each(|field| varint::put(&mut out, field));
        }
        out
    }

    /// Decodes a block. Stops at the first damaged cell.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Self {
        Self { cells: cells(bytes).collect() }
    }
}

/// The cells of an encoded block.
fn cells(mut bytes: &[u8]) -> impl Iterator<Item = (u8, Cell)> {
    std::iter::from_fn(move || {
        let (&index, rest) = bytes.split_first()?;
        bytes = rest;
        let mut next = || varint::take(&mut bytes);
        let cell = Cell {
            area: next()?,
            polygons: next()?,
            centres: next()?,
            numbers: next()?,
            spans: next()?,
        };
        Some((index, cell))
    })
}

/// The area of a block, given the Morton code of its north-western corner.
#[must_use]
pub fn block_bounds(zoom: u8, block: u64) -> GridBox {
    let (x, y) = crate::grid::unmorton(block);
    let side = (1_i64 << (cell_size_bits(zoom) + BLOCK_BITS)) - 1;
    let (min_x, min_y) = (i64::from(x), i64::from(y));
    GridBox { min_x, min_y, max_x: min_x + side, max_y: min_y + side }
}

#[cfg(test)]
mod tests;
