//! The tile index: features of a layer in zoom tiers, ordered along the Morton curve and stored in blocks,
//! and the coverage of small polygons. A change loads the part that it affects; features enter and leave,
//! other points and lines move to another tier because of it, and the blocks that differ are written back.

use super::{LayerWrite, StoredBlock};
use bytes::Bytes;
use groma_domain::Layer;
use groma_geo::{
    Geometry,
    coverage::{self, Cell, CellPlace, CoverageBlock, Polygon},
    tile_block::{self, BlockEntry, TierKey, TileBlock},
    tile_shape::{self, TileShape},
    zoom_selection::{self, RankedFeature},
    zoom_tier::{self, COPY_MIN_ZOOM, LAST_TIER, SmallFeatureTier},
};
use std::collections::{BTreeMap, BTreeSet};

/// Ranges of Morton codes in tiers, first and last.
pub(super) type TierRanges = Vec<(u8, (u64, u64))>;

/// The loaded part of the tile index.
pub(super) struct TileIndex {
    max_zoom: u8,
    small_feature_tier: Option<SmallFeatureTier>,
    tiers: BTreeMap<u8, Tier>,
    /// Loaded coverage blocks, by tier and Morton code.
    coverage: BTreeMap<(u8, u64), LoadedCoverage>,
    neighbours: Vec<RankedFeature>,
    /// Where each of the neighbours is.
    neighbour_keys: Vec<(u8, TierKey)>,
}

#[derive(Default)]
struct LoadedCoverage {
    block: CoverageBlock,
    is_stored: bool,
    is_dirty: bool,
}

/// A feature that enters or leaves the index.
pub(super) struct IndexedShape {
    pub(super) centre: u64,
    /// `None` if it has points or lines: these compete with their neighbours.
    pub(super) polygon: Option<Polygon>,
}

impl IndexedShape {
    pub(super) fn new(shape: &TileShape) -> Self {
        Self { centre: shape.centre, polygon: Polygon::from_shape(shape) }
    }

    /// The shape of a stored geometry; `None` if it has none.
    pub(super) fn of(geometry: Option<Geometry>) -> Option<Self> {
        TileShape::from_geometry(&geometry?).as_ref().map(Self::new)
    }
}

#[derive(Default)]
struct Tier {
    entries: BTreeMap<TierKey, BlockEntry>,
    /// The keys of the loaded blocks.
    blocks: BTreeSet<TierKey>,
    /// The keys of the blocks that changed; `None` for entries before the first block.
    dirty: BTreeSet<Option<TierKey>>,
}

impl TileIndex {
    pub(super) fn new(layer: &Layer) -> Self {
        Self {
            max_zoom: layer.max_zoom,
            small_feature_tier: layer
                .has_small_feature_tier
                .then(|| SmallFeatureTier::new(layer.max_zoom)),
            tiers: BTreeMap::new(),
            coverage: BTreeMap::new(),
            neighbours: Vec::new(),
            neighbour_keys: Vec::new(),
        }
    }

    /// The ranges to load before these features change.
    pub(super) fn affected_ranges<'s>(
        &self,
        shapes: impl Iterator<Item = &'s IndexedShape>,
    ) -> TierRanges {
        let mut ranges = TierRanges::new();
        for IndexedShape { centre, polygon } in shapes {
            for (tier, range) in zoom_tier::affected_ranges(*centre, self.max_zoom) {
                // A polygon affects no other feature.
                ranges.push((tier, if polygon.is_some() { (*centre, *centre) } else { range }));
            }
            let Some(polygon) = polygon else { continue };
            for zoom in 0..self.alone_from(polygon) {
                let size = coverage::codes_per_block(zoom);
                let blocks = polygon.blocks(zoom).into_iter();
                let tier = coverage::coverage_tier(zoom);
                ranges.extend(blocks.map(|block| (tier, (block, block + (size - 1)))));
            }
        }
        ranges.sort_unstable();
        // Adjacent ranges are read as one.
        ranges.dedup_by(|(tier, (first, last)), (before, (_, end))| {
            let is_adjacent = tier == before && *first <= end.saturating_add(1);
            if is_adjacent {
                *end = (*end).max(*last);
            }
            is_adjacent
        });
        ranges
    }

    /// The zoom from which a polygon is drawn alone.
    fn alone_from(&self, polygon: &Polygon) -> u8 {
        polygon.alone_from().min(self.max_zoom)
    }

    pub(super) fn load(&mut self, blocks: Vec<StoredBlock>) {
        for StoredBlock { tier, key, block } in blocks {
            if coverage::zoom_of_tier(tier).is_some() {
                let block = CoverageBlock::from_bytes(&block);
                let loaded = LoadedCoverage { block, is_stored: true, is_dirty: false };
                self.coverage.insert((tier, key.0), loaded);
                continue;
            }
            let tier = self.tiers.entry(tier).or_default();
            if tier.blocks.insert(key) {
                tier.entries.extend(tile_block::read_entries(&Bytes::from(block)));
            }
        }
    }

    /// Adds a feature.
    pub(super) fn insert(
        &mut self,
        position: u64,
        shape: &TileShape,
        polygon: Option<&Polygon>,
        attributes: &[u8],
    ) {
        let min_zoom = match polygon {
            Some(polygon) => {
                self.change_coverage(polygon, position, CoverageBlock::add);
                self.alone_from(polygon)
            }
            None => self.select_min_zoom(position, shape),
        };
        let entry = BlockEntry::new(min_zoom, shape.size_class, &shape.bytes, attributes);
        let key = (shape.centre, position);
        let tier = self.tier_of(&entry);
        if let Some(copy_tier) = self.copy_tier(tier, &entry) {
            self.put(copy_tier, key, BlockEntry { min_zoom: COPY_MIN_ZOOM, ..entry.clone() });
        }
        self.put(tier, key, entry);
    }

    /// Makes points or lines compete with their neighbours; returns their min zoom.
    fn select_min_zoom(&mut self, position: u64, shape: &TileShape) -> u8 {
        self.find_neighbours(shape.centre, |tier| tier != LAST_TIER);
        let ends = tile_shape::line_ends(&shape.bytes);
        let mut new =
            RankedFeature::new(shape.centre, ends, shape.size_class, position, self.max_zoom);
        let mut moves = Vec::new();
        zoom_selection::insert(&mut new, &self.neighbours, self.max_zoom, |index, min_zoom| {
            moves.push((index, min_zoom));
        });
        self.move_all(&moves);
        new.min_zoom
    }

    /// Adds a polygon to the coverage of the zooms at which it is not drawn alone, or subtracts it.
    fn change_coverage(
        &mut self,
        polygon: &Polygon,
        position: u64,
        change: fn(&mut CoverageBlock, CellPlace, &Cell),
    ) {
        for zoom in 0..self.alone_from(polygon) {
            for (place, cell) in polygon.footprint(zoom, position) {
                let key = (coverage::coverage_tier(zoom), place.block());
                let loaded = self.coverage.entry(key).or_default();
                change(&mut loaded.block, place, &cell);
                loaded.is_dirty = true;
            }
        }
    }

    /// Removes a feature.
    pub(super) fn remove(&mut self, position: u64, shape: &IndexedShape) {
        let centre = shape.centre;
        let key = (centre, position);
        let found = self.tiers.iter().find(|(_, tier)| tier.entries.contains_key(&key));
        let Some(tier) = found.map(|(tier, _)| *tier) else { return };
        let Some(entry) = self.take(tier, key) else { return };
        if let Some(copy_tier) = self.copy_tier(tier, &entry) {
            self.take(copy_tier, key);
        }
        if let Some(polygon) = &shape.polygon {
            self.change_coverage(polygon, position, CoverageBlock::subtract);
            return;
        }
        let ends = entry.line_ends();
        let mut removed =
            RankedFeature::new(centre, ends, entry.size_class, position, self.max_zoom);
        removed.min_zoom = entry.min_zoom;
        self.find_neighbours(centre, |_| true);
        let mut moves = Vec::new();
        zoom_selection::remove(&removed, &self.neighbours, self.max_zoom, |index, min_zoom| {
            moves.push((index, min_zoom));
        });
        self.move_all(&moves);
    }

    /// The largest size class in each tier that was touched.
    pub(super) fn size_classes(&self) -> impl Iterator<Item = (u8, u8)> {
        let features = self.tiers.iter().filter_map(|(number, tier)| {
            let largest = tier.entries.values().map(|entry| entry.size_class).max();
            largest.map(|size_class| (*number, size_class))
        });
        features.chain(self.coverage.keys().map(|(tier, _)| (*tier, 0)))
    }

    /// The blocks to write.
    pub(super) fn into_writes(self, layer: u64) -> Vec<LayerWrite> {
        let mut writes = Vec::new();
        for (number, tier) in self.tiers {
            for key in &tier.dirty {
                let next = match key {
                    Some(key) => tier.blocks.range((exclusive(*key), UNBOUNDED)).next(),
                    None => tier.blocks.first(),
                };
                let start = key.map_or(UNBOUNDED, std::ops::Bound::Included);
                let end = next.map_or(UNBOUNDED, |next| exclusive(*next));
                let blocks = tile_block::write_blocks(*key, tier.entries.range((start, end)));
                if blocks.is_empty()
                    && let Some(key) = key
                {
                    writes.push(LayerWrite::DeleteBlock { layer, tier: number, key: *key });
                }
                writes.extend(blocks.into_iter().map(|block| LayerWrite::SaveBlock {
                    layer,
                    tier: number,
                    is_new: !tier.blocks.contains(&block.key),
                    block,
                }));
            }
        }
        writes.extend(self.coverage.into_iter().filter_map(|((tier, code), loaded)| {
            let LoadedCoverage { block, is_stored, is_dirty } = loaded;
            let key = (code, 0);
            let zoom = coverage::zoom_of_tier(tier).filter(|_| is_dirty)?;
            if block.is_empty() {
                return is_stored.then_some(LayerWrite::DeleteBlock { layer, tier, key });
            }
            let bounds = coverage::block_bounds(zoom, code);
            let block = TileBlock { key, bounds, bytes: block.to_bytes() };
            Some(LayerWrite::SaveBlock { layer, tier, is_new: !is_stored, block })
        }));
        writes
    }

    /// Collects the features in the neighbourhoods of a centre, of the tiers that count.
    fn find_neighbours(&mut self, centre: u64, counts: impl Fn(u8) -> bool) {
        self.neighbours.clear();
        self.neighbour_keys.clear();
        for (number, (first, last)) in zoom_tier::affected_ranges(centre, self.max_zoom) {
            let Some(tier) = self.tiers.get(&number).filter(|_| counts(number)) else { continue };
            let entries = tier.entries.range((first, 0)..=(last, u64::MAX));
            let competes = |(_, entry): &(&TierKey, &BlockEntry)| {
                entry.min_zoom != COPY_MIN_ZOOM && !entry.is_polygon()
            };
            for (key, entry) in entries.filter(competes) {
                let (ends, size_class) = (entry.line_ends(), entry.size_class);
                let mut neighbour =
                    RankedFeature::new(key.0, ends, size_class, key.1, self.max_zoom);
                neighbour.min_zoom = entry.min_zoom;
                self.neighbours.push(neighbour);
                self.neighbour_keys.push((number, *key));
            }
        }
    }

    fn move_all(&mut self, moves: &[(usize, u8)]) {
        for (index, min_zoom) in moves {
            let (from, key) = self.neighbour_keys[*index];
            let Some(mut entry) = self.take(from, key) else { continue };
            entry.min_zoom = *min_zoom;
            let to = self.tier_of(&entry);
            // A feature with a copy before and after may be far from here; its copy does not change.
            match (self.copy_tier(from, &entry), self.copy_tier(to, &entry)) {
                (Some(tier), None) => drop(self.take(tier, key)),
                (None, Some(tier)) => {
                    let copy = BlockEntry { min_zoom: COPY_MIN_ZOOM, ..entry.clone() };
                    self.put(tier, key, copy);
                }
                _ => {}
            }
            self.put(to, key, entry);
        }
    }

    /// The tier of an entry.
    fn tier_of(&self, entry: &BlockEntry) -> u8 {
        zoom_tier::tier_of(entry.min_zoom, self.max_zoom)
    }

    /// The small-feature tier, if an entry of this tier has a copy there.
    fn copy_tier(&self, tier: u8, entry: &BlockEntry) -> Option<u8> {
        let small_feature_tier =
            self.small_feature_tier.filter(|small| small.includes(tier, entry.size_class));
        small_feature_tier.map(|small| small.tier)
    }

    fn put(&mut self, tier: u8, key: TierKey, entry: BlockEntry) {
        let tier = self.tiers.entry(tier).or_default();
        tier.mark_changed(key);
        tier.entries.insert(key, entry);
    }

    fn take(&mut self, tier: u8, key: TierKey) -> Option<BlockEntry> {
        let tier = self.tiers.get_mut(&tier)?;
        tier.mark_changed(key);
        tier.entries.remove(&key)
    }
}

impl Tier {
    /// Marks the block of a key as changed.
    fn mark_changed(&mut self, key: TierKey) {
        let key = self.blocks.range(..=key).next_back().copied();
        self.dirty.insert(key);
    }
}

const UNBOUNDED: std::ops::Bound<TierKey> = std::ops::Bound::Unbounded;

fn exclusive(key: TierKey) -> std::ops::Bound<TierKey> {
    std::ops::Bound::Excluded(key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_domain::{LayerId, Timestamp, layer::LayerCrs};
    use std::collections::HashMap;

    /// Stands in for the database.
    #[derive(Default)]
    struct StoredBlocks(BTreeMap<(u8, TierKey), Vec<u8>>);

    impl StoredBlocks {
        /// The blocks that begin in one of these ranges, and the one before it.
        fn blocks(&self, ranges: &TierRanges) -> Vec<StoredBlock> {
            let mut found = BTreeMap::new();
            for (tier, (first, last)) in ranges {
                let before = self.0.range((*tier, (0, 0))..(*tier, (*first, 0))).next_back();
                let inside = self.0.range((*tier, (*first, 0))..=(*tier, (*last, u64::MAX)));
                found.extend(before.into_iter().chain(inside));
            }
            let stored = |((tier, key), block): (&(u8, TierKey), &Vec<u8>)| StoredBlock {
                tier: *tier,
                key: *key,
                block: block.clone(),
            };
            found.into_iter().map(stored).collect()
        }

        fn write(&mut self, writes: Vec<LayerWrite>) {
            for write in writes {
                match write {
                    LayerWrite::SaveBlock { tier, block, is_new, .. } => {
                        let old = self.0.insert((tier, block.key), block.bytes);
                        assert_eq!(old.is_none(), is_new);
                    }
                    LayerWrite::DeleteBlock { tier, key, .. } => {
                        assert!(self.0.remove(&(tier, key)).is_some());
                    }
                    _ => unreachable!("only blocks are written"),
                }
            }
        }

        fn entries(&self) -> BTreeMap<(u8, TierKey), BlockEntry> {
            let of_block = |((tier, _), block): (&(u8, TierKey), &Vec<u8>)| {
                let entries = tile_block::read_entries(&Bytes::from(block.clone()));
                entries.into_iter().map(|(key, entry)| ((*tier, key), entry)).collect::<Vec<_>>()
            };
            self.0.iter().flat_map(of_block).collect()
        }
    }

    /// A change loads and writes only its neighbourhood. After any sequence of them, the small-feature tier
    /// has a copy of exactly the small features of the tiers below it.
    #[test]
    fn small_feature_tier_has_a_copy_of_every_small_feature() {
        for max_zoom in [3, 14, 15, 16, 18] {
            let mut random = fastrand::Rng::with_seed(u64::from(max_zoom));
            let now = Timestamp::from_millis(0);
            let mut layer =
                Layer::new(LayerId::new(now, [0; 10]), "x", LayerCrs::CRS84, 0, now).unwrap();
            (layer.max_zoom, layer.has_small_feature_tier) = (max_zoom, true);
            let small_feature_tier = SmallFeatureTier::new(max_zoom);
            let (mut stored_blocks, mut known) = (StoredBlocks::default(), HashMap::new());
            let mut met = 0;
            for position in 1..1_500_u64 {
                let mut index = TileIndex::new(&layer);
                // Clustered at every scale.
                let centre = (3 << 61) + (random.u64(..) >> random.u32(1..64));
                let removed = known.keys().nth(random.usize(..known.len().max(2))).copied();
                let removed = removed.filter(|_| random.u32(..3) == 0);
                let old: Option<(u64, u64)> =
                    removed.and_then(|position| Some((position, known.remove(&position)?)));
                let indexed = |centre| IndexedShape { centre, polygon: None };
                let old = old.map(|(position, centre)| (position, indexed(centre)));
                let new = indexed(centre);
                let shapes = old.iter().map(|(_, shape)| shape).chain([&new]);
                let ranges = index.affected_ranges(shapes);
                index.load(stored_blocks.blocks(&ranges));
                if let Some((position, shape)) = &old {
                    index.remove(*position, shape);
                }
                let class = random.u8(4..22);
                let shape = TileShape {
                    centre,
                    size_class: class,
                    bytes: vec![position as u8; 3],
                    levels: Vec::new(),
                };
                index.insert(position, &shape, None, &position.to_be_bytes());
                known.insert(position, centre);
                stored_blocks.write(index.into_writes(1));
                if position % 50 != 0 {
                    continue;
                }
                let entries = stored_blocks.entries();
                let own = entries.iter().filter(|(_, entry)| entry.min_zoom != COPY_MIN_ZOOM);
                let expected = own
                    .clone()
                    .filter(|((on, _), entry)| small_feature_tier.includes(*on, entry.size_class));
                let expected: BTreeMap<TierKey, Bytes> =
                    expected.map(|((_, key), entry)| (*key, entry.body.clone())).collect();
                let found = entries.iter().filter(|(_, entry)| entry.min_zoom == COPY_MIN_ZOOM);
                let found: BTreeMap<TierKey, Bytes> = found
                    .map(|((on, key), entry)| {
                        assert_eq!(*on, small_feature_tier.tier);
                        (*key, entry.body.clone())
                    })
                    .collect();
                assert_eq!(found, expected, "last zoom {max_zoom}, {position} changes");
                assert_eq!(own.count(), known.len());
                met = met.max(found.len());
            }
            assert!(met > 100, "too few copies to prove anything: {met}");
        }
    }
}
