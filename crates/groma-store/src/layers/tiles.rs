//! Tiles: which blocks a tile reads, and how it is encoded from them. Reading the blocks is up to each
//! engine.

use super::{StoredLayer, tile_index::TierRanges};
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

/// The size limit of a tile before compression, except at the last zoom of its layer.
const MAX_TILE_BYTES: usize = 500_000;

/// With this many features, a tile does not read the tiers beyond its zoom.
const ENOUGH: usize = 2_000;

/// Up to this many features are skipped rather than avoided by another range, however small the tile.
const MAX_SKIPPED: u64 = 256;

/// A tile of at most this many bytes and blocks is encoded on the calling thread, in a fraction of a
/// millisecond. Larger ones go to the blocking pool.
const MAX_INLINE_BYTES: usize = 128 << 10;
pub(super) const MAX_INLINE_BLOCKS: usize = 256;

/// The zoom from which most tiles are small, even in a town.
const SMALL_TILE_ZOOM: u8 = 13;

/// A tile, and the revision of the layer that it shows.
#[derive(Debug)]
pub struct Tile {
    /// The layer's revision.
    pub revision: u64,
    /// MVT; empty when there are no features.
    pub bytes: Vec<u8>,
}

/// Where a tile is encoded, and so how long that may take.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Pace {
    /// On the calling thread: a fraction of a millisecond.
    Inline,
    /// In the blocking pool.
    Blocking,
}

/// The outcome of encoding a tile.
pub(super) enum Encoded {
    Tile(Option<Tile>),
    /// It would have taken too long on the calling thread.
    TooLarge,
}

impl Encoded {
    pub(super) fn tile(revision: u64, bytes: Vec<u8>) -> Self {
        Self::Tile(Some(Tile { revision, bytes }))
    }
}

/// The largest gap between two ranges, in tiles, for which both are read as one: skipping what lies
/// between, about as much as that many tiles show, costs the engine less than one more range.
#[derive(Clone, Copy)]
pub(super) struct MaxGap(pub(super) u64);

impl MaxGap {
    /// The gap in Morton codes. Tiers beyond the zoom are sparse except where there are many features, and
    /// there they are not read.
    fn codes(self, zoom: u8, is_beyond: bool) -> u64 {
        let tiles = if is_beyond { self.0 * 8 } else { self.0 };
        let codes = 1_u64.checked_shl(64_u32.saturating_sub(2 * u32::from(zoom)));
        codes.map_or(u64::MAX, |codes| codes.saturating_mul(tiles))
    }
}

/// What a tile reads.
pub(super) struct TilePlan {
    zoom: u8,
    area: GridBox,
    own_tier: u8,
    zoom_cutoff: u8,
    small_feature_tier: Option<SmallFeatureTier>,
    /// The ranges it always reads.
    pub(super) ranges: TierRanges,
    /// The ranges beyond its zoom, read when the others have few features.
    pub(super) further_ranges: TierRanges,
}

impl TilePlan {
    /// `None` when the tile is empty whatever the layer contains.
    pub(super) fn new(layer: &Layer, tile: TileId, max_gap: MaxGap) -> Option<Self> {
        let (zoom, area) = (tile.z(), tile.buffered());
        if !(layer.min_zoom..=layer.max_zoom).contains(&zoom) {
            return None;
        }
        let (tiers, zoom_cutoff) = zoom_tier::tiers_for_tile(zoom, layer.max_zoom);
        let own_tier = zoom_tier::tier_of(zoom, layer.max_zoom);
        let small_feature_tier = Some(SmallFeatureTier::new(layer.max_zoom));
        let small_feature_tier = small_feature_tier
            .filter(|small| layer.has_small_feature_tier && small.serves_zoom(zoom));
        let (mut ranges, mut further_ranges) = (TierRanges::new(), TierRanges::new());
        for tier in tiers {
            let Some(class) = layer.max_size_class.get(&tier) else { continue };
            // Everything in this tier has a copy in the small-feature tier.
            if small_feature_tier.is_some_and(|small| small.includes(tier, *class)) {
                continue;
            }
            let reach = area.expanded(1 << class);
            // In a sparse tier, skipping is cheaper than more ranges.
            let is_sparse = tier.saturating_mul(2).saturating_add(4) < zoom;
            let tile_ranges = grid::morton_ranges(reach, if is_sparse { 2 } else { 4 });
            let is_beyond = tier > own_tier;
            let max_gap_codes = match zoom_tier::code_span(tier, MAX_SKIPPED) {
                // The number of features per code is unknown.
                0 => 0,
                codes => codes.max(max_gap.codes(zoom, is_beyond)),
            };
            let ranges = if is_beyond { &mut further_ranges } else { &mut ranges };
            let start = ranges.len();
            for (first, last) in tile_ranges {
                match ranges[start..].last_mut() {
                    Some((_, (_, end))) if first - *end <= max_gap_codes => *end = last,
                    _ => ranges.push((tier, (first, last))),
                }
            }
        }
        let has_some = !ranges.is_empty() || !further_ranges.is_empty();
        has_some.then_some(Self {
            zoom,
            area,
            own_tier,
            zoom_cutoff,
            small_feature_tier,
            ranges,
            further_ranges,
        })
    }

    /// Whether this many candidates leave room for those of the further ranges.
    pub(super) fn needs_further_ranges(&self, candidates: usize) -> bool {
        !self.further_ranges.is_empty() && candidates < ENOUGH
    }

    /// Whether all ranges are read in one query: for small tiles a second query costs more than it saves.
    pub(super) fn reads_all_ranges(&self) -> bool {
        is_usually_small(self.zoom)
    }

    /// Whether a tier is beyond the zoom of the tile.
    pub(super) fn is_beyond(&self, tier: u8) -> bool {
        tier > self.own_tier
    }

    /// The area of the tile with its buffer.
    pub(super) fn area(&self) -> GridBox {
        self.area
    }

    /// The entries of a block that may be visible.
    fn visible<'b>(&self, block: &'b [u8]) -> impl Iterator<Item = BlockEntryRef<'b>> {
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

    /// The features of these blocks that may be visible.
    pub(super) fn candidates<'b>(
        &self,
        blocks: impl ExactSizeIterator<Item = &'b [u8]>,
    ) -> Vec<Candidate<'b>> {
        let mut candidates = Vec::with_capacity(blocks.len() * 16);
        for block in blocks {
            candidates.extend(self.visible(block).map(|entry| Candidate {
                id: tile_id(entry.key.1),
                min_zoom: entry.min_zoom,
                rank: zoom_selection::rank(entry.size_class, entry.key.1),
                shape: entry.shape(),
                attributes: entry.attributes(),
            }));
        }
        candidates
    }

    /// The positions of candidates whose shapes are stored separately.
    pub(super) fn large_features(&self, candidates: &[Candidate<'_>]) -> Vec<u64> {
        let large =
            candidates.iter().filter(|c| tile_shape::needs_detail_level(c.shape, self.zoom));
        large.map(position).collect()
    }
}

/// Encodes a tile. `large` are the shapes that are stored separately.
pub(super) fn encode<'b>(
    layer: &Layer,
    tile: TileId,
    mut candidates: Vec<Candidate<'b>>,
    large: &'b FxHashMap<u64, Vec<u8>>,
) -> Vec<u8> {
    if !large.is_empty() {
        for candidate in &mut candidates {
            if let Some(shape) = large.get(&position(candidate)) {
                candidate.shape = shape;
            }
        }
    }
    let names: Vec<&str> = layer.fields.iter().map(|field| field.name.as_str()).collect();
    let is_last = tile.z() == layer.max_zoom;
    let budget = (!is_last).then_some(MAX_TILE_BYTES);
    tile::encode(tile, layer.slug.as_str(), &names, candidates, budget)
}

/// A feature has this many ids in tiles: one for each kind of shape in a geometry collection.
const IDS_PER_FEATURE: u64 = 4;

fn tile_id(position: u64) -> u64 {
    position * IDS_PER_FEATURE
}

/// The position of a candidate's feature.
fn position(candidate: &Candidate<'_>) -> u64 {
    candidate.id / IDS_PER_FEATURE
}

/// The position of the feature that has this id in tiles.
pub(super) fn position_of_id(tile_id: u64) -> Option<u64> {
    Some(tile_id / IDS_PER_FEATURE).filter(|position| *position > 0)
}

/// The features that may be visible in a tile, copied from their blocks.
#[derive(Default)]
pub(super) struct FeatureBuffer {
    bytes: Vec<u8>,
    features: Vec<BufferedFeature>,
    blocks: usize,
}

/// Where the shape and the attributes of a feature are.
struct BufferedFeature {
    position: u64,
    min_zoom: u8,
    size_class: u8,
    shape: usize,
    attributes: usize,
    end: usize,
}

/// How many buffers are kept for later tiles, and how large one may be.
const MAX_SPARES: usize = 4;
const MAX_SPARE_BYTES: usize = 4 << 20;

impl FeatureBuffer {
    /// Provides an empty buffer in the memory of an earlier one: fresh memory costs more than what is
    /// written into it.
    pub(super) fn with<R>(work: impl FnOnce(&mut Self) -> R) -> R {
        static SPARE: Mutex<Vec<FeatureBuffer>> = Mutex::new(Vec::new());
        let mut buffer = SPARE.lock().pop().unwrap_or_default();
        let outcome = work(&mut buffer);
        if buffer.bytes.capacity() <= MAX_SPARE_BYTES {
            buffer.bytes.clear();
            buffer.features.clear();
            buffer.blocks = 0;
            let mut spare = SPARE.lock();
            if spare.len() < MAX_SPARES {
                spare.push(buffer);
            }
        }
        outcome
    }

    /// Adds the entries of a block that may be visible.
    pub(super) fn add(&mut self, plan: &TilePlan, block: &[u8]) {
        self.blocks += 1;
        for entry in plan.visible(block) {
            let start = self.bytes.len();
            self.bytes.extend_from_slice(entry.body);
            self.features.push(BufferedFeature {
                position: entry.key.1,
                min_zoom: entry.min_zoom,
                size_class: entry.size_class,
                shape: start,
                attributes: start + entry.shape().len(),
                end: self.bytes.len(),
            });
        }
    }

    /// The number of features.
    pub(super) fn len(&self) -> usize {
        self.features.len()
    }

    /// Whether the tile can be encoded on the calling thread.
    pub(super) fn is_small(&self) -> bool {
        is_small(self.bytes.len(), self.blocks)
    }

    pub(super) fn candidates(&self) -> Vec<Candidate<'_>> {
        let candidate = |feature: &BufferedFeature| Candidate {
            id: tile_id(feature.position),
            min_zoom: feature.min_zoom,
            rank: zoom_selection::rank(feature.size_class, feature.position),
            shape: &self.bytes[feature.shape..feature.attributes],
            attributes: &self.bytes[feature.attributes..feature.end],
        };
        self.features.iter().map(candidate).collect()
    }
}

/// Whether most tiles of a zoom are small.
pub(super) fn is_usually_small(zoom: u8) -> bool {
    zoom >= SMALL_TILE_ZOOM
}

/// Whether a tile of this size can be encoded on the calling thread.
pub(super) fn is_small(bytes: usize, blocks: usize) -> bool {
    bytes <= MAX_INLINE_BYTES && blocks <= MAX_INLINE_BLOCKS
}

/// Layers as they were last read. The revision tells whether one is current.
#[derive(Default)]
pub(super) struct LayerCache {
    layers: RwLock<FxHashMap<(WorkspaceId, LayerId), Arc<StoredLayer>>>,
}

impl LayerCache {
    pub(super) fn get(&self, workspace: WorkspaceId, id: LayerId) -> Option<Arc<StoredLayer>> {
        self.layers.read().get(&(workspace, id)).cloned()
    }

    pub(super) fn put(&self, workspace: WorkspaceId, stored: StoredLayer) -> Arc<StoredLayer> {
        let stored = Arc::new(stored);
        self.layers.write().insert((workspace, stored.layer.id), stored.clone());
        stored
    }
}
