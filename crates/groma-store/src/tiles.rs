//! Tiles: which blocks a tile is drawn from, and the drawing of it. What reads the blocks is written
//! for each engine.

use crate::geometries::ShelfRanges;
use groma_domain::{Layer, LayerId};
use groma_geo::{
    block,
    grid::{self, TileId},
    shape, thin,
    tile::{self, Candidate},
};
use parking_lot::RwLock;
use std::{collections::HashMap, sync::Arc};

/// What a tile may weigh before compression, but for the last zoom of its layer.
const BUDGET: usize = 500_000;

/// With so many features to show, a tile does not look for those of the bands ahead of its zoom.
const ENOUGH: usize = 2_000;

/// A tile and the state of the layer that it shows.
#[derive(Debug)]
pub struct Tile {
    /// The layer's revision.
    pub revision: u64,
    /// MVT; empty when there is nothing.
    pub bytes: Vec<u8>,
}

/// What a tile is drawn from.
pub(crate) struct Plan {
    tile: TileId,
    max_band: u8,
    budget: Option<usize>,
    /// What it always reads.
    pub(crate) ranges: ShelfRanges,
    /// What it reads besides when the first shows few.
    pub(crate) further: ShelfRanges,
}

impl Plan {
    /// `None` when the tile is empty whatever the layer holds.
    pub(crate) fn new(layer: &Layer, tile: TileId) -> Option<Self> {
        let zoom = tile.z();
        if !(layer.min_zoom..=layer.max_zoom).contains(&zoom) {
            return None;
        }
        let (shelves, max_band) = thin::shelves_of_tile(zoom, layer.max_zoom);
        let (mut ranges, mut further) = (ShelfRanges::new(), ShelfRanges::new());
        for shelf in shelves {
            let Some(class) = layer.reach.get(&shelf) else { continue };
            let area = tile.buffered().grown(1 << class);
            // Where little stands, reading a bit more is cheaper than looking in more places.
            let is_sparse = shelf.saturating_mul(2).saturating_add(4) < zoom;
            let pieces = grid::ranges(area, if is_sparse { 4 } else { 8 });
            let is_ahead = shelf > thin::shelf(zoom, layer.max_zoom);
            let ranges = if is_ahead { &mut further } else { &mut ranges };
            ranges.extend(pieces.into_iter().map(|piece| (shelf, piece)));
        }
        let is_last = zoom == layer.max_zoom;
        let budget = (!is_last).then_some(BUDGET);
        let has_some = !ranges.is_empty() || !further.is_empty();
        has_some.then_some(Self { tile, max_band, budget, ranges, further })
    }

    /// Whether so many candidates of the first ranges leave room for those of the further ones.
    pub(crate) fn goes_further(&self, candidates: usize) -> bool {
        !self.further.is_empty() && candidates < ENOUGH
    }

    /// Whether a block may hold something for the tile.
    pub(crate) fn wants(&self, block: &[u8]) -> bool {
        block::bounds(block).is_some_and(|bounds| bounds.meets(self.tile.buffered()))
    }

    /// The features of these blocks that the tile may show.
    pub(crate) fn candidates<'b>(&self, blocks: &'b Blocks) -> Vec<Candidate<'b>> {
        let area = self.tile.buffered();
        let mut candidates = Vec::with_capacity(blocks.ends.len() * 32);
        for block in blocks.iter() {
            for glimpse in block::glimpses(block) {
                let is_shown = glimpse.band <= self.max_band
                    && shape::bounds(glimpse.drawing).is_some_and(|bounds| bounds.meets(area));
                if is_shown {
                    candidates.push(Candidate {
                        id: feature_id(glimpse.place.1),
                        band: glimpse.band,
                        rank: thin::rank(glimpse.class, glimpse.place.1),
                        shape: glimpse.drawing,
                        attributes: glimpse.attributes,
                    });
                }
            }
        }
        candidates
    }

    /// The numbers of those candidates whose shapes are kept apart.
    pub(crate) fn long(&self, candidates: &[Candidate<'_>]) -> Vec<u64> {
        let long = candidates.iter().filter(|c| shape::needs_level(c.shape, self.tile.z()));
        long.map(|candidate| candidate.id / IDS_OF_ONE).collect()
    }

    /// Draws the tile. `long` are the shapes that were kept apart.
    pub(crate) fn draw<'b>(
        &self,
        layer: &Layer,
        mut candidates: Vec<Candidate<'b>>,
        long: &'b HashMap<u64, Vec<u8>>,
    ) -> Vec<u8> {
        if !long.is_empty() {
            for candidate in &mut candidates {
                if let Some(shape) = long.get(&(candidate.id / IDS_OF_ONE)) {
                    candidate.shape = shape;
                }
            }
        }
        let names: Vec<&str> = layer.fields.iter().map(|field| field.name.as_str()).collect();
        tile::encode(self.tile, layer.slug.as_str(), &names, candidates, self.budget)
    }
}

/// A feature's ids in tiles: one for each kind of shape that a collection may hold.
const IDS_OF_ONE: u64 = 4;

fn feature_id(seq: u64) -> u64 {
    seq * IDS_OF_ONE
}

/// The number of the feature that has this id in tiles.
pub(crate) fn seq_of(feature_id: u64) -> Option<u64> {
    Some(feature_id / IDS_OF_ONE).filter(|seq| *seq > 0)
}

/// Blocks that were read, one behind the other.
#[derive(Default)]
pub(crate) struct Blocks {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Blocks {
    pub(crate) fn push(&mut self, block: &[u8]) {
        self.bytes.extend_from_slice(block);
        self.ends.push(self.bytes.len());
    }

    fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(&0).chain(&self.ends);
        starts.zip(&self.ends).map(|(start, end)| &self.bytes[*start..*end])
    }
}

/// Layers as they were last read; a revision tells whether one still is.
#[derive(Default)]
pub(crate) struct LayerCache {
    layers: RwLock<HashMap<LayerId, Arc<Layer>>>,
}

impl LayerCache {
    pub(crate) fn get(&self, id: LayerId, revision: u64) -> Option<Arc<Layer>> {
        self.layers.read().get(&id).filter(|layer| layer.revision == revision).cloned()
    }

    pub(crate) fn put(&self, layer: Layer) -> Arc<Layer> {
        let layer = Arc::new(layer);
        self.layers.write().insert(layer.id, layer.clone());
        layer
    }
}
