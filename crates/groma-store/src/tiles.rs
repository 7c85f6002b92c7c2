//! Tiles: which blocks a tile is drawn from, and the drawing of it. What reads the blocks is written
//! for each engine.

use crate::{geometries::ShelfRanges, tx::StoredLayer};
use groma_domain::{Layer, LayerId, WorkspaceId};
use groma_geo::{
    grid::{self, GridBox, TileId},
    tile::{self, Candidate},
    tile_block::{self, BlockEntryRef},
    tile_shape, zoom_selection,
    zoom_tier::{self, SmallFeatureTier},
};
use parking_lot::{Mutex, RwLock};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// What a tile may weigh before compression, but for the last zoom of its layer.
const BUDGET: usize = 500_000;

/// With so many features to show, a tile does not look for those of the bands ahead of its zoom.
pub(crate) const ENOUGH: usize = 2_000;

/// So many features at most are passed over rather than looked around, however small the tile.
const PASSED_OVER: u64 = 256;

/// A tile drawn from no more bytes than these, and no more blocks, is drawn where it is asked for:
/// a fraction of a millisecond. More goes to a thread where it may take its time.
const LITTLE_BYTES: usize = 128 << 10;
pub(crate) const LITTLE_BLOCKS: usize = 256;

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

/// How long drawing a tile may take.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pace {
    /// A fraction of a millisecond: it holds up whoever else is served here.
    Brief,
    Long,
}

/// What became of a tile.
pub(crate) enum Drawn {
    As(Option<Tile>),
    /// It would have taken too long.
    TooMuch,
}

impl Drawn {
    /// A tile and the revision of the layer that it shows.
    pub(crate) fn tile(revision: u64, bytes: Vec<u8>) -> Self {
        Self::As(Some(Tile { revision, bytes }))
    }
}

/// How far it is from one range to the next at most, in tiles, for both to be read as one: then passing
/// over what stands between them, which is about what so many tiles show, costs an engine less than
/// looking in one more place.
#[derive(Clone, Copy)]
pub(crate) struct Stride(pub(crate) u64);

impl Stride {
    /// The same in places along the curve. Shelves ahead of a zoom hold little but in a crowd, and there they
    /// are not read.
    fn codes(self, zoom: u8, is_ahead: bool) -> u64 {
        let tiles = if is_ahead { self.0 * 8 } else { self.0 };
        let codes = 1_u64.checked_shl(64_u32.saturating_sub(2 * u32::from(zoom)));
        codes.map_or(u64::MAX, |codes| codes.saturating_mul(tiles))
    }
}

/// What tiles of a zoom are drawn from.
pub(crate) struct Plan {
    zoom: u8,
    area: GridBox,
    own_shelf: u8,
    zoom_cutoff: u8,
    small_feature_tier: Option<SmallFeatureTier>,
    /// What it always reads.
    pub(crate) ranges: ShelfRanges,
    /// What it reads besides when the first shows few.
    pub(crate) further: ShelfRanges,
}

impl Plan {
    /// For what a tile shows, with its margin; `None` when that is nothing whatever the layer holds.
    pub(crate) fn new(layer: &Layer, tile: TileId, stride: Stride) -> Option<Self> {
        Self::over(layer, tile.z(), tile.buffered(), stride)
    }

    /// For all that tiles of a zoom show in an area.
    pub(crate) fn over(layer: &Layer, zoom: u8, area: GridBox, stride: Stride) -> Option<Self> {
        if !(layer.min_zoom..=layer.max_zoom).contains(&zoom) {
            return None;
        }
        let (shelves, zoom_cutoff) = zoom_tier::tiers_for_tile(zoom, layer.max_zoom);
        let own_shelf = zoom_tier::tier_of(zoom, layer.max_zoom);
        let small_feature_tier = Some(SmallFeatureTier::new(layer.max_zoom));
        let small_feature_tier = small_feature_tier
            .filter(|small| layer.has_small_feature_tier && small.serves_zoom(zoom));
        let (mut ranges, mut further) = (ShelfRanges::new(), ShelfRanges::new());
        for shelf in shelves {
            let Some(class) = layer.max_size_class.get(&shelf) else { continue };
            // All that ever stood there is gathered.
            if small_feature_tier.is_some_and(|small| small.includes(shelf, *class)) {
                continue;
            }
            let reached = area.expanded(1 << class);
            // Where little stands, passing over more is cheaper than looking in more places.
            let is_sparse = shelf.saturating_mul(2).saturating_add(4) < zoom;
            let pieces = grid::morton_ranges(reached, if is_sparse { 2 } else { 4 });
            let is_ahead = shelf > own_shelf;
            let narrow = match zoom_tier::code_span(shelf, PASSED_OVER) {
                // Nobody knows how many stand there.
                0 => 0,
                codes => codes.max(stride.codes(zoom, is_ahead)),
            };
            let ranges = if is_ahead { &mut further } else { &mut ranges };
            let start = ranges.len();
            for (first, last) in pieces {
                match ranges[start..].last_mut() {
                    Some((_, (_, end))) if first - *end <= narrow => *end = last,
                    _ => ranges.push((shelf, (first, last))),
                }
            }
        }
        let has_some = !ranges.is_empty() || !further.is_empty();
        has_some.then_some(Self {
            zoom,
            area,
            own_shelf,
            zoom_cutoff,
            small_feature_tier,
            ranges,
            further,
        })
    }

    /// Whether so many candidates of the first ranges leave room for those of the further ones.
    pub(crate) fn goes_further(&self, candidates: usize) -> bool {
        !self.further.is_empty() && candidates < ENOUGH
    }

    /// Whether everything is read in one go: where a tile shows little, going twice costs more than
    /// what the second would have spared.
    pub(crate) fn reads_at_once(&self) -> bool {
        shows_little(self.zoom)
    }

    /// Whether a shelf is one of the further ones.
    pub(crate) fn is_ahead(&self, shelf: u8) -> bool {
        shelf > self.own_shelf
    }

    /// What is shown.
    pub(crate) fn area(&self) -> GridBox {
        self.area
    }

    /// The features of a block that may be shown.
    fn shown<'b>(&self, block: &'b [u8]) -> impl Iterator<Item = BlockEntryRef<'b>> {
        let Self { area, zoom_cutoff, small_feature_tier, .. } = *self;
        tile_block::entry_refs(block).filter_map(move |mut entry| {
            if let Some(small_feature_tier) = small_feature_tier {
                entry.min_zoom =
                    small_feature_tier.effective_min_zoom(entry.min_zoom, entry.size_class)?;
            }
            let is_shown = entry.min_zoom <= zoom_cutoff
                && tile_shape::bounds(entry.shape()).is_some_and(|bounds| bounds.intersects(area));
            is_shown.then_some(entry)
        })
    }

    /// The features of these blocks that may be shown.
    pub(crate) fn candidates<'b>(
        &self,
        blocks: impl ExactSizeIterator<Item = &'b [u8]>,
    ) -> Vec<Candidate<'b>> {
        let mut candidates = Vec::with_capacity(blocks.len() * 16);
        for block in blocks {
            candidates.extend(self.shown(block).map(|entry| Candidate {
                id: feature_id(entry.key.1),
                min_zoom: entry.min_zoom,
                rank: zoom_selection::rank(entry.size_class, entry.key.1),
                shape: entry.shape(),
                attributes: entry.attributes(),
            }));
        }
        candidates
    }

    /// The numbers of those candidates whose shapes are kept apart.
    pub(crate) fn long(&self, candidates: &[Candidate<'_>]) -> Vec<u64> {
        let long = candidates.iter().filter(|c| tile_shape::needs_detail_level(c.shape, self.zoom));
        long.map(number).collect()
    }
}

/// Draws a tile. `long` are the shapes that were kept apart.
pub(crate) fn draw<'b>(
    layer: &Layer,
    tile: TileId,
    mut candidates: Vec<Candidate<'b>>,
    long: &'b FxHashMap<u64, Vec<u8>>,
) -> Vec<u8> {
    if !long.is_empty() {
        for candidate in &mut candidates {
            if let Some(shape) = long.get(&number(candidate)) {
                candidate.shape = shape;
            }
        }
    }
    let names: Vec<&str> = layer.fields.iter().map(|field| field.name.as_str()).collect();
    let is_last = tile.z() == layer.max_zoom;
    let budget = (!is_last).then_some(BUDGET);
    tile::encode(tile, layer.slug.as_str(), &names, candidates, budget)
}

/// A feature's ids in tiles: one for each kind of shape that a collection may hold.
const IDS_OF_ONE: u64 = 4;

fn feature_id(seq: u64) -> u64 {
    seq * IDS_OF_ONE
}

/// The number of the feature that a candidate is.
pub(crate) fn number(candidate: &Candidate<'_>) -> u64 {
    candidate.id / IDS_OF_ONE
}

/// The number of the feature that has this id in tiles.
pub(crate) fn seq_of(feature_id: u64) -> Option<u64> {
    Some(feature_id / IDS_OF_ONE).filter(|seq| *seq > 0)
}

/// The features that a tile may show, copied out of the blocks they stand in.
#[derive(Default)]
pub(crate) struct Gathered {
    bytes: Vec<u8>,
    features: Vec<Feature>,
    blocks: usize,
}

/// Where a feature's drawing and its attributes behind it are.
struct Feature {
    seq: u64,
    min_zoom: u8,
    size_class: u8,
    drawing: usize,
    attributes: usize,
    end: usize,
}

/// How many are kept for the next tiles, and what one of them may take.
const SPARES: usize = 4;
const KEPT: usize = 4 << 20;

impl Gathered {
    /// Gives an empty one, in the memory that was used for an earlier tile: fresh memory costs more than
    /// what is written into it.
    pub(crate) fn with<R>(work: impl FnOnce(&mut Self) -> R) -> R {
        static SPARE: Mutex<Vec<Gathered>> = Mutex::new(Vec::new());
        let mut gathered = SPARE.lock().pop().unwrap_or_default();
        let outcome = work(&mut gathered);
        if gathered.bytes.capacity() <= KEPT {
            gathered.bytes.clear();
            gathered.features.clear();
            gathered.blocks = 0;
            let mut spare = SPARE.lock();
            if spare.len() < SPARES {
                spare.push(gathered);
            }
        }
        outcome
    }

    /// Adds what the tile may show of a block.
    pub(crate) fn take(&mut self, plan: &Plan, block: &[u8]) {
        self.blocks += 1;
        for entry in plan.shown(block) {
            let start = self.bytes.len();
            self.bytes.extend_from_slice(entry.body);
            self.features.push(Feature {
                seq: entry.key.1,
                min_zoom: entry.min_zoom,
                size_class: entry.size_class,
                drawing: start,
                attributes: start + entry.shape().len(),
                end: self.bytes.len(),
            });
        }
    }

    /// Out of how many blocks they came.
    pub(crate) fn blocks(&self) -> usize {
        self.blocks
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.features.len()
    }

    /// Whether the tile is drawn in no time.
    pub(crate) fn is_little(&self) -> bool {
        is_little(self.bytes.len(), self.blocks)
    }

    pub(crate) fn candidates(&self) -> Vec<Candidate<'_>> {
        let candidate = |feature: &Feature| Candidate {
            id: feature_id(feature.seq),
            min_zoom: feature.min_zoom,
            rank: zoom_selection::rank(feature.size_class, feature.seq),
            shape: &self.bytes[feature.drawing..feature.attributes],
            attributes: &self.bytes[feature.attributes..feature.end],
        };
        self.features.iter().map(candidate).collect()
    }
}

/// Whether most tiles of a zoom show little.
pub(crate) fn shows_little(zoom: u8) -> bool {
    zoom >= SHOWS_LITTLE
}

/// Whether a tile that is drawn from so much is drawn in no time.
pub(crate) fn is_little(bytes: usize, blocks: usize) -> bool {
    bytes <= LITTLE_BYTES && blocks <= LITTLE_BLOCKS
}

/// Layers as they were last read; a revision tells whether one still is.
#[derive(Default)]
pub(crate) struct LayerCache {
    layers: RwLock<FxHashMap<(WorkspaceId, LayerId), Arc<StoredLayer>>>,
}

impl LayerCache {
    pub(crate) fn last(&self, workspace: WorkspaceId, id: LayerId) -> Option<Arc<StoredLayer>> {
        self.layers.read().get(&(workspace, id)).cloned()
    }

    pub(crate) fn put(&self, workspace: WorkspaceId, stored: StoredLayer) -> Arc<StoredLayer> {
        let stored = Arc::new(stored);
        self.layers.write().insert((workspace, stored.layer.id), stored.clone());
        stored
    }
}
