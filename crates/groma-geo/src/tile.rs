//! Encodes Mapbox Vector Tiles 2.1 from stored shapes and attributes. The shapes are on the integer
//! grid already, so a tile needs no floating point, no projection and no parsing.
//!
//! Shapes that are too small to see at a zoom stay visible, so that a town does not disappear when one
//! zooms out: a polygon too small for its vertices becomes a square of eight units, a line without
//! length becomes one unit long, and a long polygon without area is widened by one unit. In a shape of
//! several parts, parts without size are dropped if another part has one.

mod byte_buffer;
mod clip;
mod make_valid;
mod mvt_commands;
mod mvt_geometry;
mod mvt_layer;
mod rings;
mod transform;
mod validity;
mod value_table;

use crate::{
    attributes,
    coverage::{CoverageGrid, Polygon, Rectangle},
    grid::TileId,
    zoom_selection::size_class,
};
use mvt_geometry::GeometryEncoder;
use mvt_layer::LayerWriter;
use serde_json::Value;
use std::{collections::BTreeMap, iter};

/// The property of an aggregate: the number of polygons that it stands for.
pub const COUNT_FIELD: &str = "groma_count";

/// A feature that may be in a tile.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    /// Its id in the tile. The second and third geometry type of a collection get the next two ids,
    /// so ids must leave room for them.
    pub id: u64,
    /// Whether its [shape is a polygon](crate::tile_shape::is_polygon).
    pub is_polygon: bool,
    /// The zoom from which it is drawn.
    pub min_zoom: u8,
    /// Its importance among features with the same min zoom; higher is more important. See
    /// [`rank`](crate::zoom_selection::rank).
    pub rank: u64,
    /// The bytes of its [`TileShape`](crate::tile_shape::TileShape), or of the
    /// [`DetailLevel`](crate::tile_shape::DetailLevel) for the zoom of the tile.
    pub shape: &'a [u8],
    /// Its encoded [attributes](crate::attributes::encode).
    pub attributes: &'a [u8],
}

/// Encodes a tile with one layer. Returns no bytes if nothing is visible in the tile. The order of the
/// candidates does not matter. Damaged candidates are skipped.
///
/// `field_names` are the names of the layer's fields by number. `coverage` is painted with aggregates:
/// features without an id whose only property is [`COUNT_FIELD`].
///
/// `max_bytes` limits the size of the tile. If the polygons do not fit, the smaller ones become part of
/// the coverage. Other candidates are added by min zoom (lowest first), then by rank (highest first),
/// then by id, until the limit is reached. Points whose min zoom is above the zoom of the tile are added
/// only if all points of that min zoom fit. Lines are added as far as they fit, because each one may
/// close a gap. The first feature is always added, so that the limit never makes a tile empty.
#[must_use]
pub fn encode(
    tile: TileId,
    source_layer: &str,
    field_names: &[impl AsRef<str>],
    candidates: Vec<Candidate<'_>>,
    mut coverage: CoverageGrid,
    max_bytes: Option<usize>,
) -> Vec<u8> {
    let mut field_names: Vec<&str> = field_names.iter().map(AsRef::as_ref).collect();
    let count_field = field_names.iter().position(|name| *name == COUNT_FIELD);
    let count_field = count_field.unwrap_or_else(|| {
        field_names.push(COUNT_FIELD);
        field_names.len() - 1
    });
    let max_bytes = max_bytes.unwrap_or(usize::MAX);
    let mut candidates: Vec<_> = sort_by_importance(candidates).collect();
    loop {
        let mut rectangles = coverage.rectangles();
        while rectangles.len() * MIN_RECTANGLE_BYTES > max_bytes / 2 && coverage.coarsen() {
            rectangles = coverage.rectangles();
        }
        let encoder = Encoder { tile, source_layer, field_names: &field_names, max_bytes };
        match encoder.encode(&rectangles, count_field, &candidates) {
            Ok(bytes) => return bytes,
            Err(PolygonsDoNotFit) => make_room(&mut candidates, &mut coverage),
        }
    }
}

/// The fewest bytes that a rectangle takes.
const MIN_RECTANGLE_BYTES: usize = 20;

/// The polygons of a tile exceed its limit.
struct PolygonsDoNotFit;

/// Moves the polygons of the smallest size class to the coverage.
fn make_room(candidates: &mut Vec<Candidate<'_>>, coverage: &mut CoverageGrid) {
    let polygons = candidates.iter().filter(|candidate| candidate.is_polygon);
    let Some(smallest) = polygons.map(|polygon| size_class(polygon.rank)).min() else { return };
    candidates.retain(|candidate| {
        let stays = !candidate.is_polygon || size_class(candidate.rank) > smallest;
        if !stays && let Some(polygon) = Polygon::from_bytes(candidate.shape) {
            coverage.add_polygon(&polygon);
        }
        stays
    });
}

struct Encoder<'a> {
    tile: TileId,
    source_layer: &'a str,
    field_names: &'a [&'a str],
    max_bytes: usize,
}

impl Encoder<'_> {
    fn encode(
        &self,
        rectangles: &[Rectangle],
        count_field: usize,
        candidates: &[Candidate<'_>],
    ) -> Result<Vec<u8>, PolygonsDoNotFit> {
        let counts: BTreeMap<u64, Vec<u8>> = rectangles
            .iter()
            .map(|rectangle| {
                let field = (count_field as u32, &Value::from(rectangle.count));
                (rectangle.count, attributes::encode(iter::once(field)))
            })
            .collect();
        let mut encoder = GeometryEncoder::new(self.tile);
        let mut layer = LayerWriter::new(self.source_layer, self.field_names, candidates.len());
        for rectangle in rectangles {
            layer.add(None, encoder.rectangle(rectangle), &counts[&rectangle.count]);
        }
        let (mut min_zoom, mut before_points) = (0, layer.checkpoint());
        for candidate in candidates {
            let before = layer.checkpoint();
            // Points have no size, so they follow the lines of their min zoom.
            let is_point = !candidate.is_polygon && size_class(candidate.rank) == 0;
            if is_point && candidate.min_zoom != min_zoom {
                (min_zoom, before_points) = (candidate.min_zoom, before);
            }
            let geometries = encoder.encode(candidate.shape);
            layer.add(Some(candidate.id), geometries, candidate.attributes);
            if layer.size() > self.max_bytes {
                if candidate.is_polygon && candidates.iter().any(|other| self.can_aggregate(other))
                {
                    return Err(PolygonsDoNotFit);
                }
                let is_ahead = candidate.min_zoom > self.tile.z() && !before_points.is_empty();
                let checkpoint = if is_point && is_ahead { before_points } else { before };
                if !checkpoint.is_empty() {
                    layer.rollback(checkpoint);
                }
                break;
            }
        }
        Ok(layer.finish())
    }

    /// Whether a candidate is a polygon that is smaller than the tile.
    fn can_aggregate(&self, candidate: &Candidate<'_>) -> bool {
        candidate.is_polygon && size_class(candidate.rank) < 32 - self.tile.z()
    }
}

/// Sorts candidates in the order in which [`encode`] adds them: polygons first, below the others.
pub fn sort_by_importance<'a>(
    candidates: Vec<Candidate<'a>>,
) -> impl Iterator<Item = Candidate<'a>> {
    // Sorting plain numbers takes a third of the time. Each number consists of a bit that is 0 for
    // polygons, the min zoom, as many bits of the rank as fit, and the index of the candidate in the
    // lowest bits.
    let index_bits = candidates.len().next_power_of_two() as u64 - 1;
    let coarse = |candidate: &Candidate<'_>| {
        u64::from(!candidate.is_polygon) << 63
            | u64::from(candidate.min_zoom) << 56
            | !candidate.rank >> 8
    };
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
