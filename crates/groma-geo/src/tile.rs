//! Mapbox Vector Tiles 2.1 from stored shapes and attributes: shift, clip, drop repeats, write. No
//! floating point, no projection, no parsing.
//!
//! What a zoom cannot show is still there to be seen: a polygon too small for its vertices is a
//! square of eight units, a line without length is one of one unit, and a long polygon without
//! width, or one whose lobes cancel out, is widened by a unit. So a town stays where it is as one
//! zooms out. Within a shape of several, what has no size is left out while another has.
//!
//! Polygons are clipped ring by ring (Sutherland and Hodgman). A ring that leaves the clipped box
//! and comes back stays one ring, with edges that run along the border of the box, 64 units outside
//! the tile, where nobody sees that they lie on each other.

mod buffer;
mod clip;
mod layer;
mod painter;
mod pen;
mod values;
mod view;

use crate::grid::TileId;
use layer::Layer;
use painter::Painter;

/// A feature that may be in a tile.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    /// Its id in the tile. A collection's lines and polygons, when they come after another kind,
    /// have the next ids, so leave room for two.
    pub id: u64,
    /// The zoom from which it is worth drawing.
    pub band: u8,
    /// Its importance in its band; more is more.
    pub rank: u64,
    /// [`crate::shape::Drawing::bytes`], or those of the level for the tile's zoom.
    pub shape: &'a [u8],
    /// What [`crate::attributes::encode`] gave.
    pub attributes: &'a [u8],
}

/// The tile with these candidates, in one layer; no bytes when none of them draws anything in it.
/// The order of the candidates does not matter, and one whose bytes are damaged is left out.
///
/// `field_names` are the fields of the layer by their number.
///
/// With a `budget` (in bytes of the tile) the candidates are taken by band, then by rank, the more
/// important first, then by id, as long as they fit. A band above the tile's zoom is taken whole or
/// not at all. What comes first is taken in any case, so that a budget never empties a tile.
#[must_use]
pub fn encode(
    tile: TileId,
    source_layer: &str,
    field_names: &[impl AsRef<str>],
    candidates: Vec<Candidate<'_>>,
    budget: Option<usize>,
) -> Vec<u8> {
    let field_names: Vec<&str> = field_names.iter().map(AsRef::as_ref).collect();
    let budget = budget.unwrap_or(usize::MAX);
    let mut painter = Painter::new(tile);
    let mut layer = Layer::new(source_layer, &field_names, candidates.len());
    let (mut band, mut band_start) = (0, layer.mark());
    for candidate in by_importance(candidates) {
        let before = layer.mark();
        if candidate.band != band {
            (band, band_start) = (candidate.band, before);
        }
        layer.add(candidate.id, painter.draw(candidate.shape), candidate.attributes);
        if layer.size() > budget {
            let cut = if band > tile.z() && !band_start.is_empty() { band_start } else { before };
            if !cut.is_empty() {
                layer.cut(cut);
            }
            break;
        }
    }
    layer.finish()
}

/// The candidates in the order in which they are taken and drawn.
pub fn by_importance<'a>(candidates: Vec<Candidate<'a>>) -> impl Iterator<Item = Candidate<'a>> {
    // Sorting plain numbers takes a third of the time. In each: the band, as many bits of the rank
    // as there is room for, and the candidate's index, in place of the other bits.
    let index_bits = candidates.len().next_power_of_two() as u64 - 1;
    let coarse = |candidate: &Candidate<'_>| u64::from(candidate.band) << 56 | !candidate.rank >> 8;
    let number = |(index, candidate)| coarse(candidate) & !index_bits | index as u64;
    let mut order: Vec<u64> = candidates.iter().enumerate().map(number).collect();
    order.sort_unstable();
    let at = move |number: u64| candidates[(number & index_bits) as usize];
    for alike in order.chunk_by_mut(|a, b| (a ^ b) & !index_bits == 0) {
        alike.sort_unstable_by_key(|number| (!at(*number).rank, at(*number).id));
    }
    order.into_iter().map(at)
}

#[cfg(test)]
mod tests;
