//! Tiles: which blocks a tile reads, and how it is encoded from them. Reading the blocks is up to each
//! engine.

use super::{StoredLayer, tile_index::TierRanges};
use crate::{Error, Result};
use groma_domain::{Layer, LayerId, WorkspaceId};
use groma_geo::{
    attributes,
    coverage::{self, CoverageGrid, Polygon},
    grid::{self, GridBox, TileId},
    tile::{self, Candidate},
    tile_block::{self, BlockEntryRef},
    tile_shape::{self, TileShape},
    wkb, zoom_selection,
    zoom_tier::{self, SmallFeatureTier, ZOOMS_AHEAD},
};
use parking_lot::{Mutex, RwLock};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// The size limit of a tile before compression, except at the last zoom of its layer.
const MAX_TILE_BYTES: usize = 500_000;

/// Points and lines are not thinned if the layer has at most this many: they fit into a tile.
const FEW_FEATURES: u64 = 10_000;

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
    tile: TileId,
    area: GridBox,
    /// The highest min zoom of the points and lines that it shows.
    zoom_cutoff: u8,
    small_feature_tier: Option<SmallFeatureTier>,
    pub(super) ranges: TierRanges,
}

impl TilePlan {
    /// `None` when the tile is empty whatever the layer contains.
    pub(super) fn new(layer: &Layer, tile: TileId, max_gap: MaxGap) -> Option<Self> {
        let (zoom, area) = (tile.z(), tile.buffered());
        if !(layer.min_zoom..=layer.max_zoom).contains(&zoom) {
            return None;
        }
        let counts = &layer.counts;
        let thinned = counts.points + counts.lines + counts.mixed;
        let zooms_ahead = if thinned <= FEW_FEATURES { u8::MAX } else { ZOOMS_AHEAD };
        let (tiers, zoom_cutoff) = zoom_tier::tiers_for_tile(zoom, layer.max_zoom, zooms_ahead);
        let own_tier = zoom_tier::tier_of(zoom, layer.max_zoom);
        let small_feature_tier = Some(SmallFeatureTier::new(layer.max_zoom));
        let small_feature_tier = small_feature_tier
            .filter(|small| layer.has_small_feature_tier && small.serves_zoom(zoom));
        let mut ranges = TierRanges::new();
        for tier in tiers {
            let Some(class) = layer.max_size_class.get(&tier) else { continue };
            // Everything in this tier has a copy in the small-feature tier.
            if small_feature_tier.is_some_and(|small| small.includes(tier, *class)) {
                continue;
            }
            let is_beyond = tier > own_tier;
            if is_beyond && thinned == 0 {
                continue;
            }
            let reach = area.expanded(1 << class);
            // In a sparse tier, skipping is cheaper than more ranges.
            let is_sparse = tier.saturating_mul(2).saturating_add(4) < zoom;
            let tile_ranges = grid::morton_ranges(reach, if is_sparse { 2 } else { 4 });
            let max_gap_codes = match zoom_tier::code_span(tier, MAX_SKIPPED) {
                // The number of features per code is unknown.
                0 => 0,
                codes => codes.max(max_gap.codes(zoom, is_beyond)),
            };
            let start = ranges.len();
            for (first, last) in tile_ranges {
                match ranges[start..].last_mut() {
                    Some((_, (_, end))) if first - *end <= max_gap_codes => *end = last,
                    _ => ranges.push((tier, (first, last))),
                }
            }
        }
        let coverage_tier = coverage::coverage_tier(zoom);
        if layer.max_size_class.contains_key(&coverage_tier) {
            let whole = grid::morton_ranges(tile.bounds(), 1);
            ranges.extend(whole.into_iter().map(|range| (coverage_tier, range)));
        }
        let has_some = !ranges.is_empty();
        has_some.then_some(Self { tile, area, zoom_cutoff, small_feature_tier, ranges })
    }

    /// The area of the tile with its buffer.
    pub(super) fn area(&self) -> GridBox {
        self.area
    }

    /// The entries of a block that may be visible, and whether they are polygons.
    fn visible<'b>(&self, block: &'b [u8]) -> impl Iterator<Item = (BlockEntryRef<'b>, bool)> {
        let Self { tile, area, zoom_cutoff, small_feature_tier, .. } = *self;
        tile_block::entry_refs(block).filter_map(move |mut entry| {
            if let Some(small_feature_tier) = small_feature_tier {
                entry.min_zoom =
                    small_feature_tier.effective_min_zoom(entry.min_zoom, entry.size_class)?;
            }
            let is_polygon = tile_shape::is_polygon(entry.shape());
            let cutoff = if is_polygon { tile.z() } else { zoom_cutoff };
            let is_shown = entry.min_zoom <= cutoff
                && tile_shape::bounds(entry.shape()).is_some_and(|bounds| bounds.intersects(area));
            is_shown.then_some((entry, is_polygon))
        })
    }

    /// Adds the features of a block that may be visible, or the coverage in it.
    pub(super) fn read_block<'b>(
        &self,
        tier: u8,
        code: u64,
        block: &'b [u8],
        contents: &mut TileContents<'b>,
    ) {
        if coverage::zoom_of_tier(tier).is_some() {
            contents.coverage.add_block(code, block);
            return;
        }
        contents.candidates.extend(self.visible(block).map(|(entry, is_polygon)| Candidate {
            id: tile_id(entry.key.1),
            is_polygon,
            min_zoom: entry.min_zoom,
            rank: zoom_selection::rank(entry.size_class, entry.key.1),
            shape: entry.shape(),
            attributes: entry.attributes(),
        }));
    }

    /// What is not in the blocks.
    pub(super) fn missing(&self, contents: &TileContents<'_>) -> Missing {
        let candidates = contents.candidates.iter();
        let large = candidates.filter(|c| tile_shape::needs_detail_level(c.shape, self.tile.z()));
        Missing { large: large.map(position).collect(), lone: contents.coverage.lone_polygons() }
    }
}

/// What is read for a tile.
pub(super) struct TileContents<'b> {
    pub(super) candidates: Vec<Candidate<'b>>,
    coverage: CoverageGrid,
}

impl TileContents<'_> {
    pub(super) fn new(tile: TileId) -> Self {
        Self { candidates: Vec::new(), coverage: CoverageGrid::new(tile) }
    }
}

/// The positions of features that are read separately.
#[derive(Default)]
pub(super) struct Missing {
    /// Large features, whose shapes are stored separately.
    pub(super) large: Vec<u64>,
    /// Small polygons that may be drawn alone.
    pub(super) lone: Vec<u64>,
}

impl Missing {
    pub(super) fn is_empty(&self) -> bool {
        self.large.is_empty() && self.lone.is_empty()
    }
}

/// The features that were read separately.
#[derive(Default)]
pub(super) struct SeparateFeatures {
    /// The shapes of large features by position, in the detail of the zoom.
    pub(super) large: FxHashMap<u64, Vec<u8>>,
    pub(super) lone: Vec<LonePolygon>,
}

/// A small polygon that may be drawn alone.
pub(super) struct LonePolygon {
    position: u64,
    polygon: Polygon,
    size_class: u8,
    shape: Vec<u8>,
    attributes: Vec<u8>,
}

impl LonePolygon {
    /// Reads the polygon from its stored geometry and properties; `None` if it is none.
    pub(super) fn read(
        layer: &Layer,
        zoom: u8,
        position: u64,
        wkb: &[u8],
        properties: &str,
    ) -> Result<Option<Self>> {
        let geometry = wkb::from_wkb(wkb).map_err(|error| Error::Damaged(error.to_string()))?;
        let Some(shape) = TileShape::from_geometry(&geometry) else { return Ok(None) };
        let Some(polygon) = Polygon::from_shape(&shape) else { return Ok(None) };
        let properties: serde_json::Map<String, serde_json::Value> =
            serde_json::from_str(properties)?;
        let fields = layer.fields.iter().zip(0_u32..);
        let values = fields.filter_map(|(field, no)| Some((no, properties.get(&field.name)?)));
        let attributes = attributes::encode(values);
        let size_class = shape.size_class;
        let level = shape.levels.into_iter().find(|level| level.max_zoom >= zoom);
        let shape = match level.filter(|_| tile_shape::needs_detail_level(&shape.bytes, zoom)) {
            Some(level) => level.bytes,
            None => shape.bytes,
        };
        Ok(Some(Self { position, polygon, size_class, shape, attributes }))
    }
}

/// The positions of a block's features whose shapes may meet an area.
pub(super) fn positions_in_area(block: &[u8], area: GridBox) -> impl Iterator<Item = u64> {
    let meets = move |entry: &BlockEntryRef<'_>| {
        tile_shape::bounds(entry.shape()).is_some_and(|bounds| bounds.intersects(area))
    };
    tile_block::entry_refs(block).filter(meets).map(|entry| entry.key.1)
}

/// Encodes a tile.
pub(super) fn encode<'b>(
    layer: &Layer,
    tile: TileId,
    contents: TileContents<'b>,
    separate: &'b SeparateFeatures,
) -> Vec<u8> {
    let TileContents { mut candidates, mut coverage } = contents;
    if !separate.large.is_empty() {
        for candidate in &mut candidates {
            if let Some(shape) = separate.large.get(&position(candidate)) {
                candidate.shape = shape;
            }
        }
    }
    for lone in &separate.lone {
        if coverage.take_lone(&lone.polygon, lone.position) {
            candidates.push(Candidate {
                id: tile_id(lone.position),
                is_polygon: true,
                min_zoom: tile.z(),
                rank: zoom_selection::rank(lone.size_class, lone.position),
                shape: &lone.shape,
                attributes: &lone.attributes,
            });
        }
    }
    let names: Vec<&str> = layer.fields.iter().map(|field| field.name.as_str()).collect();
    let is_last = tile.z() == layer.max_zoom;
    let budget = (!is_last).then_some(MAX_TILE_BYTES);
    tile::encode(tile, layer.slug.as_str(), &names, candidates, coverage, budget)
}

/// A feature has this many ids in tiles: one for each kind of shape in a geometry collection.
const IDS_PER_FEATURE: u64 = 4;

/// The first id of a feature in tiles.
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

/// The blocks of a tile, copied from the database.
#[derive(Default)]
pub(super) struct BlockBuffer {
    bytes: Vec<u8>,
    /// Tier, Morton code and end of each block.
    blocks: Vec<(u8, u64, usize)>,
}

/// How many buffers are kept for later tiles, and how large one may be.
const MAX_SPARES: usize = 4;
const MAX_SPARE_BYTES: usize = 4 << 20;

impl BlockBuffer {
    /// Provides an empty buffer in the memory of an earlier one: fresh memory costs more than what is
    /// written into it.
    pub(super) fn with<R>(work: impl FnOnce(&mut Self) -> R) -> R {
        static SPARE: Mutex<Vec<BlockBuffer>> = Mutex::new(Vec::new());
        let mut buffer = SPARE.lock().pop().unwrap_or_default();
        let outcome = work(&mut buffer);
        if buffer.bytes.capacity() <= MAX_SPARE_BYTES {
            buffer.bytes.clear();
            buffer.blocks.clear();
            let mut spare = SPARE.lock();
            if spare.len() < MAX_SPARES {
                spare.push(buffer);
            }
        }
        outcome
    }

    pub(super) fn add(&mut self, tier: u8, code: u64, block: &[u8]) {
        self.bytes.extend_from_slice(block);
        self.blocks.push((tier, code, self.bytes.len()));
    }

    /// Whether the tile can be encoded on the calling thread.
    pub(super) fn is_small(&self) -> bool {
        // At most half of what is read is visible, except in very dense areas.
        is_small(self.bytes.len() / 2, self.blocks.len())
    }

    pub(super) fn contents(&self, plan: &TilePlan) -> TileContents<'_> {
        let mut contents = TileContents::new(plan.tile);
        let mut start = 0;
        for (tier, code, end) in &self.blocks {
            plan.read_block(*tier, *code, &self.bytes[start..*end], &mut contents);
            start = *end;
        }
        contents
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
