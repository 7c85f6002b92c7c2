//! Paints covered cells with rectangles.

use super::{Cell, FULL_AREA};
use crate::grid::{BUFFER, EXTENT, EXTENT_BITS};
use std::collections::BTreeMap;

/// A cell is painted completely if this much of it is covered.
const NEARLY_FULL: u64 = FULL_AREA / 100 * 97;

/// The smallest side of a square that stands for all polygons in its surroundings: a pixel, if a tile is
/// drawn with 512 pixels, so that a town is always visible on a map of its country. From zoom 6 on, where
/// towns have a size, the painted area counts more.
fn visible_side(zoom: u8) -> i64 {
    if zoom < 6 { 8 } else { 4 }
}

/// A rectangle in units of a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rectangle {
    pub(crate) min: (i64, i64),
    pub(crate) max: (i64, i64),
    /// How many polygons it stands for.
    pub(crate) count: u64,
}

/// The rectangles for covered cells, given by row and column. A tile has 2^`cell_bits` cells along its
/// side.
pub(super) fn rectangles(
    cells: &BTreeMap<(u32, u32), Cell>,
    cell_bits: u32,
    zoom: u8,
) -> Vec<Rectangle> {
    let visible_side = visible_side(zoom);
    let size_bits = EXTENT_BITS - cell_bits;
    let mut rectangles = Vec::new();
    let mut full = BTreeMap::new();
    // What could not be painted with whole units is painted with the next cell.
    let mut rest = 0.0;
    for (&(row, column), &Cell { area, centres: count, .. }) in cells {
        if area >= NEARLY_FULL {
            full.insert((row, column), count);
            continue;
        }
        let size = 1_i64 << size_bits;
        let wanted = area as f64 / FULL_AREA as f64 * (size * size) as f64 + rest;
        let (mut width, mut height) = sides(wanted, size);
        if width.min(height) < visible_side
            && stands_for_its_surroundings(cells, (row, column), size, visible_side)
        {
            (width, height) = (width.max(visible_side), height.max(visible_side));
            rest = 0.0;
        } else {
            rest = wanted - (width * height) as f64;
        }
        if width * height == 0 {
            continue;
        }
        let start = |index: u32, side: i64| (i64::from(index) << size_bits) + (size - side) / 2;
        let min = (start(column, width), start(row, height));
        let max = (min.0 + width, min.1 + height);
        rectangles.push(Rectangle { min, max, count: count.max(1) });
    }
    rectangles.extend(join(full, cell_bits));
    rectangles
}

/// Whether a cell must be visible, because all that is in it and in the cells around it would not be,
/// and it has the largest part of that.
fn stands_for_its_surroundings(
    cells: &BTreeMap<(u32, u32), Cell>,
    place: (u32, u32),
    size: i64,
    visible_side: i64,
) -> bool {
    let near = |at: u32| at.saturating_sub(1)..=at + 1;
    let around = near(place.0).flat_map(|row| near(place.1).map(move |column| (row, column)));
    let around = around.filter_map(|place| Some((cells.get(&place)?.area, place)));
    let (mut sum, mut largest) = (0, None);
    for cell in around {
        sum += u128::from(cell.0);
        largest = largest.max(Some(cell));
    }
    let visible = u128::from(FULL_AREA) * (visible_side * visible_side).unsigned_abs() as u128;
    sum * ((size * size).unsigned_abs() as u128) < visible
        && largest.is_some_and(|(_, at)| at == place)
}

/// The sides, in whole units, of a rectangle with about this area in a cell.
fn sides(area: f64, size: i64) -> (i64, i64) {
    let width = (area.max(0.0).sqrt().round() as i64).min(size);
    match width {
        0 => (0, 0),
        _ => (width, ((area / width as f64).round() as i64).clamp(1, size)),
    }
}

/// Joins full cells: along the row, then with equal runs below.
fn join(mut cells: BTreeMap<(u32, u32), u64>, cell_bits: u32) -> Vec<Rectangle> {
    let size_bits = EXTENT_BITS - cell_bits;
    let mut rectangles = Vec::new();
    while let Some(((row, column), mut count)) = cells.pop_first() {
        let mut columns = column + 1;
        while let Some(more) = cells.remove(&(row, columns)) {
            count += more;
            columns += 1;
        }
        let mut rows = row + 1;
        while (column..columns).all(|column| cells.contains_key(&(rows, column))) {
            let below = (column..columns).filter_map(|column| cells.remove(&(rows, column)));
            count += below.sum::<u64>();
            rows += 1;
        }
        // Into the buffer, so that no line shows between tiles.
        let low = |index: u32| if index == 0 { -BUFFER } else { i64::from(index) << size_bits };
        let high = |index: u32| {
            if index >> cell_bits == 1 { EXTENT + BUFFER } else { i64::from(index) << size_bits }
        };
        rectangles.push(Rectangle {
            min: (low(column), low(row)),
            max: (high(columns), high(rows)),
            count: count.max(1),
        });
    }
    rectangles
}
