//! Encodes Mapbox Vector Tiles 2.1 from stored shapes and attributes. The shapes are on the integer
//! grid already, so a tile needs no floating point, no projection and no parsing.
//!
//! Shapes that are too small to see at a zoom stay visible, so that a town does not disappear when one
//! zooms out: a polygon too small for its vertices becomes a square of eight units, a line without
//! length becomes one unit long, and a long polygon without area is widened by one unit. In a shape of
//! several parts, parts without size are dropped if another part has one.

mod byte_buffer;
mod clip;
mod mvt_commands;
mod mvt_geometry;
mod mvt_layer;
mod transform;
mod value_table;

use crate::grid::TileId;
use mvt_geometry::GeometryEncoder;
use mvt_layer::LayerWriter;

/// A feature that may be in a tile.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    /// Its id in the tile. The second and third geometry type of a collection get the next two ids,
    /// so ids must leave room for them.
    pub id: u64,
    /// The zoom from which it is drawn.
    pub min_zoom: u8,
    /// Its importance among features with the same min zoom; higher is more important.
    pub rank: u64,
    /// The bytes of its [`TileShape`](crate::tile_shape::TileShape), or of the
    /// [`DetailLevel`](crate::tile_shape::DetailLevel) for the zoom of the tile.
    pub shape: &'a [u8],
    /// Its encoded [attributes](crate::attributes::encode).
    pub attributes: &'a [u8],
}

/// Encodes a tile with one layer. Returns no bytes if none of the candidates is visible in the tile.
/// The order of the candidates does not matter. Damaged candidates are skipped.
///
/// `field_names` are the names of the layer's fields by number.
///
/// `max_bytes` limits the size of the tile. Candidates are added by min zoom (lowest first), then by
/// rank (highest first), then by id, until the limit is reached. Features whose min zoom is above the
/// zoom of the tile are added only if all features of that min zoom fit. The first feature is always
/// added, so that the limit never makes a tile empty.
#[must_use]
pub fn encode(
    tile: TileId,
    source_layer: &str,
    field_names: &[impl AsRef<str>],
    candidates: Vec<Candidate<'_>>,
    max_bytes: Option<usize>,
) -> Vec<u8> {
    let field_names: Vec<&str> = field_names.iter().map(AsRef::as_ref).collect();
    let max_bytes = max_bytes.unwrap_or(usize::MAX);
    let mut encoder = GeometryEncoder::new(tile);
    let mut layer = LayerWriter::new(source_layer, &field_names, candidates.len());
    let (mut min_zoom, mut before_min_zoom) = (0, layer.checkpoint());
    for candidate in sort_by_importance(candidates) {
        let before = layer.checkpoint();
        if candidate.min_zoom != min_zoom {
            (min_zoom, before_min_zoom) = (candidate.min_zoom, before);
        }
        layer.add(candidate.id, encoder.encode(candidate.shape), candidate.attributes);
        if layer.size() > max_bytes {
            let is_ahead = min_zoom > tile.z() && !before_min_zoom.is_empty();
            let checkpoint = if is_ahead { before_min_zoom } else { before };
            if !checkpoint.is_empty() {
                layer.rollback(checkpoint);
            }
            break;
        }
    }
    layer.finish()
}

/// Sorts candidates in the order in which [`encode`] adds them.
pub fn sort_by_importance<'a>(
    candidates: Vec<Candidate<'a>>,
) -> impl Iterator<Item = Candidate<'a>> {
    // Sorting plain numbers takes a third of the time. Each number consists of the min zoom, as many
    // bits of the rank as fit, and the index of the candidate in the lowest bits.
    let index_bits = candidates.len().next_power_of_two() as u64 - 1;
    let coarse =
        |candidate: &Candidate<'_>| u64::from(candidate.min_zoom) << 56 | !candidate.rank >> 8;
    let number = |(index, candidate)| coarse(candidate) & !index_bits | index as u64;
    let mut order: Vec<u64> = candidates.iter().enumerate().map(number).collect();
    order.sort_unstable();
    let at = move |number: u64| candidates[(number & index_bits) as usize];
    for ties in order.chunk_by_mut(|a, b| (a ^ b) & !index_bits == 0) {
        ties.sort_unstable_by_key(|number| (!at(*number).rank, at(*number).id));
    }
    order.into_iter().map(at)
}

#[cfg(test)]
mod tests;
