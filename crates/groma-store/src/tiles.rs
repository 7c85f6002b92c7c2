//! Tiles: which blocks a tile is drawn from, and the drawing of it. What reads the blocks is written
//! for each engine.

use crate::{geometries::ShelfRanges, tx::StoredLayer};
use groma_domain::{Layer, LayerId};
use groma_geo::{
    block,
    grid::{self, GridBox, TileId},
    shape, thin,
    tile::{self, Candidate},
};
use parking_lot::RwLock;
use std::{cell::Cell, collections::HashMap, ops::Range, sync::Arc};

/// What a tile may weigh before compression, but for the last zoom of its layer.
const BUDGET: usize = 500_000;

/// With so many features to show, a tile does not look for those of the bands ahead of its zoom.
const ENOUGH: usize = 2_000;

/// The zoom from which a tile shows little, even in a town.
const SHOWS_LITTLE: u8 = 13;

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
    own_shelf: u8,
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
        let own_shelf = thin::shelf(zoom, layer.max_zoom);
        let (mut ranges, mut further) = (ShelfRanges::new(), ShelfRanges::new());
        for shelf in shelves {
            let Some(class) = layer.reach.get(&shelf) else { continue };
            let area = tile.buffered().grown(1 << class);
            // Where little stands, passing over more is cheaper than looking in more places.
            let is_sparse = shelf.saturating_mul(2).saturating_add(4) < zoom;
            let pieces = grid::ranges(area, if is_sparse { 2 } else { 4 });
            let ranges = if shelf > own_shelf { &mut further } else { &mut ranges };
            ranges.extend(pieces.into_iter().map(|piece| (shelf, piece)));
        }
        let is_last = zoom == layer.max_zoom;
        let budget = (!is_last).then_some(BUDGET);
        let has_some = !ranges.is_empty() || !further.is_empty();
        has_some.then_some(Self { tile, own_shelf, max_band, budget, ranges, further })
    }

    /// Whether so many candidates of the first ranges leave room for those of the further ones.
    pub(crate) fn goes_further(&self, candidates: usize) -> bool {
        !self.further.is_empty() && candidates < ENOUGH
    }

    /// Whether everything is read in one go: where a tile shows little, going twice costs more than
    /// what the second would have spared.
    pub(crate) fn reads_at_once(&self) -> bool {
        self.tile.z() >= SHOWS_LITTLE
    }

    /// Whether a shelf is one of the further ones.
    pub(crate) fn is_ahead(&self, shelf: u8) -> bool {
        shelf > self.own_shelf
    }

    /// What the tile shows, with its margin.
    pub(crate) fn area(&self) -> GridBox {
        self.tile.buffered()
    }

    /// The features of these blocks that the tile may show.
    pub(crate) fn candidates<'b>(
        &self,
        blocks: impl ExactSizeIterator<Item = &'b [u8]>,
    ) -> Vec<Candidate<'b>> {
        let area = self.area();
        let mut candidates = Vec::with_capacity(blocks.len() * 48);
        for block in blocks {
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
    places: Vec<Range<usize>>,
}

/// What a thread keeps of its [`Blocks`] for the next tile.
const KEPT: usize = 4 << 20;

impl Blocks {
    /// Gives two that are empty, in the memory that this thread used for the last tile: fresh memory
    /// costs more than what is written into it.
    pub(crate) fn with_two<R>(work: impl FnOnce(&mut Self, &mut Self) -> R) -> R {
        thread_local! {
            static SPARE: Cell<(Blocks, Blocks)> = Cell::default();
        }
        let (mut one, mut other) = SPARE.take();
        let outcome = work(&mut one, &mut other);
        if one.bytes.capacity() + other.bytes.capacity() <= KEPT {
            one.clear();
            other.clear();
            SPARE.set((one, other));
        }
        outcome
    }

    pub(crate) fn push(&mut self, block: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(block);
        self.places.push(start..self.bytes.len());
    }

    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.places.iter().map(|place| &self.bytes[place.clone()])
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.places.clear();
    }
}

/// Layers as they were last read; a revision tells whether one still is.
#[derive(Default)]
pub(crate) struct LayerCache {
    layers: RwLock<HashMap<LayerId, Arc<StoredLayer>>>,
}

impl LayerCache {
    pub(crate) fn last(&self, id: LayerId) -> Option<Arc<StoredLayer>> {
        self.layers.read().get(&id).cloned()
    }

    pub(crate) fn get(&self, id: LayerId, revision: u64) -> Option<Arc<StoredLayer>> {
        self.last(id).filter(|stored| stored.layer.revision == revision)
    }

    pub(crate) fn put(&self, stored: StoredLayer) -> Arc<StoredLayer> {
        let stored = Arc::new(stored);
        self.layers.write().insert(stored.layer.id, stored.clone());
        stored
    }
}
