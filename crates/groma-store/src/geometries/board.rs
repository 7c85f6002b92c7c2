//! The part of a layer's shelves that a change concerns, held in memory: features enter and leave,
//! others move from shelf to shelf because of it, and what differs is written back by blocks.

use crate::tx::{LayerWrite, StoredBlock};
use bytes::Bytes;
use groma_domain::Layer;
use groma_geo::{
    tile_block::{self, BlockEntry, TierKey},
    tile_shape::TileShape,
    zoom_selection::{self, RankedFeature},
    zoom_tier::{self, COPY_MIN_ZOOM, LAST_TIER, SmallFeatureTier},
};
use std::collections::{BTreeMap, BTreeSet};

/// Ranges of Morton codes on shelves, first and last.
pub(crate) type ShelfRanges = Vec<(u8, (u64, u64))>;

pub(super) struct Board {
    max_zoom: u8,
    small_feature_tier: Option<SmallFeatureTier>,
    shelves: BTreeMap<u8, Shelf>,
    neighbours: Vec<RankedFeature>,
    stands: Vec<(u8, TierKey)>,
}

#[derive(Default)]
struct Shelf {
    entries: BTreeMap<TierKey, BlockEntry>,
    /// The keys of the blocks that were read.
    blocks: BTreeSet<TierKey>,
    /// The keys of those that differ now; `None` for what stands before the first.
    dirty: BTreeSet<Option<TierKey>>,
}

impl Board {
    pub(super) fn new(layer: &Layer) -> Self {
        Self {
            max_zoom: layer.max_zoom,
            small_feature_tier: layer
                .has_small_feature_tier
                .then(|| SmallFeatureTier::new(layer.max_zoom)),
            shelves: BTreeMap::new(),
            neighbours: Vec::new(),
            stands: Vec::new(),
        }
    }

    /// What has to be read before anything at these centres changes.
    pub(super) fn needed(&self, centres: impl Iterator<Item = u64>) -> ShelfRanges {
        let mut centres: Vec<u64> = centres.collect();
        centres.sort_unstable();
        // In the order of the centres, and so in that of the codes on each shelf.
        let mut shelves: BTreeMap<u8, Vec<(u64, u64)>> = BTreeMap::new();
        for centre in centres {
            for (shelf, (first, last)) in zoom_tier::affected_ranges(centre, self.max_zoom) {
                let ranges = shelves.entry(shelf).or_default();
                match ranges.last_mut() {
                    // Those that touch are read together.
                    Some((_, end)) if first <= end.saturating_add(1) => *end = (*end).max(last),
                    _ => ranges.push((first, last)),
                }
            }
        }
        let on_shelf = |(shelf, ranges): (u8, Vec<(u64, u64)>)| {
            ranges.into_iter().map(move |range| (shelf, range))
        };
        shelves.into_iter().flat_map(on_shelf).collect()
    }

    pub(super) fn load(&mut self, blocks: Vec<StoredBlock>) {
        for StoredBlock { shelf, key, block } in blocks {
            let shelf = self.shelves.entry(shelf).or_default();
            if shelf.blocks.insert(key) {
                shelf.entries.extend(tile_block::read_entries(&Bytes::from(block)));
            }
        }
    }

    /// Puts a feature on the board.
    pub(super) fn enter(&mut self, seq: u64, drawing: &TileShape, attributes: &[u8]) {
        self.gather(drawing.centre, |shelf| shelf != LAST_TIER);
        let mut new = RankedFeature::new(drawing.centre, drawing.size_class, seq, self.max_zoom);
        let mut moves = Vec::new();
        zoom_selection::insert(&mut new, &self.neighbours, self.max_zoom, |index, min_zoom| {
            moves.push((index, min_zoom));
        });
        self.move_all(&moves);
        let entry = BlockEntry::new(new.min_zoom, drawing.size_class, &drawing.bytes, attributes);
        let place = (drawing.centre, seq);
        let on = self.home(&entry);
        if let Some(besides) = self.besides(on, &entry) {
            self.put(besides, place, BlockEntry { min_zoom: COPY_MIN_ZOOM, ..entry.clone() });
        }
        self.put(on, place, entry);
    }

    /// Takes a feature off the board.
    pub(super) fn leave(&mut self, seq: u64, centre: u64) {
        let place = (centre, seq);
        let found = self.shelves.iter().find(|(_, shelf)| shelf.entries.contains_key(&place));
        let Some(on) = found.map(|(on, _)| *on) else { return };
        let Some(entry) = self.take(on, place) else { return };
        if let Some(besides) = self.besides(on, &entry) {
            self.take(besides, place);
        }
        let mut gone = RankedFeature::new(centre, entry.size_class, seq, self.max_zoom);
        gone.min_zoom = entry.min_zoom;
        self.gather(centre, |_| true);
        let mut moves = Vec::new();
        zoom_selection::remove(&gone, &self.neighbours, self.max_zoom, |index, min_zoom| {
            moves.push((index, min_zoom));
        });
        self.move_all(&moves);
    }

    /// The largest class on each shelf that was touched.
    pub(super) fn reach(&self) -> impl Iterator<Item = (u8, u8)> {
        self.shelves.iter().filter_map(|(on, shelf)| {
            shelf.entries.values().map(|entry| entry.size_class).max().map(|class| (*on, class))
        })
    }

    /// The blocks to be written.
    pub(super) fn finish(self, layer: u64) -> Vec<LayerWrite> {
        let mut writes = Vec::new();
        for (on, shelf) in self.shelves {
            for key in &shelf.dirty {
                let next = match key {
                    Some(key) => shelf.blocks.range((exclusive(*key), UNBOUNDED)).next(),
                    None => shelf.blocks.first(),
                };
                let start = key.map_or(UNBOUNDED, std::ops::Bound::Included);
                let end = next.map_or(UNBOUNDED, |next| exclusive(*next));
                let blocks = tile_block::write_blocks(*key, shelf.entries.range((start, end)));
                if blocks.is_empty()
                    && let Some(key) = key
                {
                    writes.push(LayerWrite::RemoveBlock { layer, shelf: on, key: *key });
                }
                writes.extend(blocks.into_iter().map(|block| LayerWrite::SaveBlock {
                    layer,
                    shelf: on,
                    is_new: !shelf.blocks.contains(&block.key),
                    block,
                }));
            }
        }
        writes
    }

    /// Collects who stands in the neighbourhoods of a centre.
    fn gather(&mut self, centre: u64, counts: impl Fn(u8) -> bool) {
        self.neighbours.clear();
        self.stands.clear();
        for (on, (first, last)) in zoom_tier::affected_ranges(centre, self.max_zoom) {
            let Some(shelf) = self.shelves.get(&on).filter(|_| counts(on)) else { continue };
            let standing = shelf.entries.range((first, 0)..=(last, u64::MAX));
            for (place, entry) in standing.filter(|(_, entry)| entry.min_zoom != COPY_MIN_ZOOM) {
                let mut entrant =
                    RankedFeature::new(place.0, entry.size_class, place.1, self.max_zoom);
                entrant.min_zoom = entry.min_zoom;
                self.neighbours.push(entrant);
                self.stands.push((on, *place));
            }
        }
    }

    fn move_all(&mut self, moves: &[(usize, u8)]) {
        for (index, min_zoom) in moves {
            let (on, place) = self.stands[*index];
            let Some(mut entry) = self.take(on, place) else { continue };
            entry.min_zoom = *min_zoom;
            let to = self.home(&entry);
            // Who moves between the shelves before it may stand far from here; nothing differs there.
            match (self.besides(on, &entry), self.besides(to, &entry)) {
                (Some(besides), None) => drop(self.take(besides, place)),
                (None, Some(besides)) => {
                    self.put(
                        besides,
                        place,
                        BlockEntry { min_zoom: COPY_MIN_ZOOM, ..entry.clone() },
                    );
                }
                _ => {}
            }
            self.put(to, place, entry);
        }
    }

    /// The shelf that an entry belongs on.
    fn home(&self, entry: &BlockEntry) -> u8 {
        zoom_tier::tier_of(entry.min_zoom, self.max_zoom)
    }

    /// The shelf on which an entry stands besides the one that it is on.
    fn besides(&self, on: u8, entry: &BlockEntry) -> Option<u8> {
        let small_feature_tier =
            self.small_feature_tier.filter(|small| small.includes(on, entry.size_class));
        small_feature_tier.map(|small| small.tier)
    }

    fn put(&mut self, on: u8, place: TierKey, entry: BlockEntry) {
        let shelf = self.shelves.entry(on).or_default();
        shelf.touch(place);
        shelf.entries.insert(place, entry);
    }

    fn take(&mut self, on: u8, place: TierKey) -> Option<BlockEntry> {
        let shelf = self.shelves.get_mut(&on)?;
        shelf.touch(place);
        shelf.entries.remove(&place)
    }
}

impl Shelf {
    /// Marks the block in which a place is.
    fn touch(&mut self, place: TierKey) {
        let key = self.blocks.range(..=place).next_back().copied();
        self.dirty.insert(key);
    }
}

const UNBOUNDED: std::ops::Bound<TierKey> = std::ops::Bound::Unbounded;

fn exclusive(place: TierKey) -> std::ops::Bound<TierKey> {
    std::ops::Bound::Excluded(place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_domain::{LayerId, Timestamp};
    use std::collections::HashMap;

    /// What the database would keep.
    #[derive(Default)]
    struct Kept(BTreeMap<(u8, TierKey), Vec<u8>>);

    impl Kept {
        /// The blocks that begin in one of these ranges, and the one before it.
        fn blocks(&self, ranges: &ShelfRanges) -> Vec<StoredBlock> {
            let mut found = BTreeMap::new();
            for (shelf, (first, last)) in ranges {
                let before = self.0.range((*shelf, (0, 0))..(*shelf, (*first, 0))).next_back();
                let inside = self.0.range((*shelf, (*first, 0))..=(*shelf, (*last, u64::MAX)));
                found.extend(before.into_iter().chain(inside));
            }
            let stored = |((shelf, key), block): (&(u8, TierKey), &Vec<u8>)| StoredBlock {
                shelf: *shelf,
                key: *key,
                block: block.clone(),
            };
            found.into_iter().map(stored).collect()
        }

        fn write(&mut self, writes: Vec<LayerWrite>) {
            for write in writes {
                match write {
                    LayerWrite::SaveBlock { shelf, block, is_new, .. } => {
                        let old = self.0.insert((shelf, block.key), block.bytes);
                        assert_eq!(old.is_none(), is_new);
                    }
                    LayerWrite::RemoveBlock { shelf, key, .. } => {
                        assert!(self.0.remove(&(shelf, key)).is_some());
                    }
                    _ => unreachable!("a board writes blocks"),
                }
            }
        }

        fn entries(&self) -> BTreeMap<(u8, TierKey), BlockEntry> {
            let of_block = |((shelf, _), block): (&(u8, TierKey), &Vec<u8>)| {
                let entries = tile_block::read_entries(&Bytes::from(block.clone()));
                entries
                    .into_iter()
                    .map(|(place, entry)| ((*shelf, place), entry))
                    .collect::<Vec<_>>()
            };
            self.0.iter().flat_map(of_block).collect()
        }
    }

    /// Whatever comes, goes and moves: gathered are those that are small and of a lower shelf, and no
    /// others, though a change reads and writes only what is around it.
    #[test]
    fn what_is_small_is_gathered_whatever_happens_around_it() {
        for max_zoom in [3, 14, 15, 16, 18] {
            let mut random = fastrand::Rng::with_seed(u64::from(max_zoom));
            let now = Timestamp::from_millis(0);
            let mut layer = Layer::new(LayerId::new(now, [0; 10]), "x", 0, now).unwrap();
            (layer.max_zoom, layer.has_small_feature_tier) = (max_zoom, true);
            let small_feature_tier = SmallFeatureTier::new(max_zoom);
            let (mut kept, mut known) = (Kept::default(), HashMap::new());
            let mut met = 0;
            for seq in 1..1_500_u64 {
                let mut board = Board::new(&layer);
                // Clustered at every scale.
                let centre = (3 << 61) + (random.u64(..) >> random.u32(1..64));
                let gone = known.keys().nth(random.usize(..known.len().max(2))).copied();
                let gone = gone.filter(|_| random.u32(..3) == 0);
                let old: Option<(u64, u64)> = gone.and_then(|seq| Some((seq, known.remove(&seq)?)));
                let needed = board.needed(old.map(|(_, at)| at).into_iter().chain([centre]));
                board.load(kept.blocks(&needed));
                if let Some((seq, at)) = old {
                    board.leave(seq, at);
                }
                let class = random.u8(4..22);
                let drawing = TileShape {
                    centre,
                    size_class: class,
                    bytes: vec![seq as u8; 3],
                    levels: Vec::new(),
                };
                board.enter(seq, &drawing, &seq.to_be_bytes());
                known.insert(seq, centre);
                kept.write(board.finish(1));
                if seq % 50 != 0 {
                    continue;
                }
                let entries = kept.entries();
                let own = entries.iter().filter(|(_, entry)| entry.min_zoom != COPY_MIN_ZOOM);
                let wanted = own
                    .clone()
                    .filter(|((on, _), entry)| small_feature_tier.includes(*on, entry.size_class));
                let wanted: BTreeMap<TierKey, Bytes> =
                    wanted.map(|((_, place), entry)| (*place, entry.body.clone())).collect();
                let found = entries.iter().filter(|(_, entry)| entry.min_zoom == COPY_MIN_ZOOM);
                let found: BTreeMap<TierKey, Bytes> = found
                    .map(|((on, place), entry)| {
                        assert_eq!(*on, small_feature_tier.tier);
                        (*place, entry.body.clone())
                    })
                    .collect();
                assert_eq!(found, wanted, "last zoom {max_zoom}, {seq} changes");
                assert_eq!(own.count(), known.len());
                met = met.max(found.len());
            }
            assert!(met > 100, "a dull story: {met}");
        }
    }
}
