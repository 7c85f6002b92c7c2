//! The part of a layer's shelves that a change concerns, held in memory: features enter and leave,
//! others move from shelf to shelf because of it, and what differs is written back by blocks.

use crate::tx::{LayerWrite, StoredBlock};
use bytes::Bytes;
use groma_geo::{
    block::{self, Entry, Place},
    shape::Drawing,
    thin::{self, Entrant, LAST_SHELF},
};
use std::collections::{BTreeMap, BTreeSet};

/// Ranges of Morton codes on shelves, first and last.
pub(crate) type ShelfRanges = Vec<(u8, (u64, u64))>;

pub(super) struct Board {
    max_zoom: u8,
    shelves: BTreeMap<u8, Shelf>,
    neighbours: Vec<Entrant>,
    stands: Vec<(u8, Place)>,
}

#[derive(Default)]
struct Shelf {
    entries: BTreeMap<Place, Entry>,
    /// The keys of the blocks that were read.
    blocks: BTreeSet<Place>,
    /// The keys of those that differ now; `None` for what stands before the first.
    dirty: BTreeSet<Option<Place>>,
}

impl Board {
    pub(super) fn new(max_zoom: u8) -> Self {
        Self { max_zoom, shelves: BTreeMap::new(), neighbours: Vec::new(), stands: Vec::new() }
    }

    /// What has to be read before anything at these centres changes.
    pub(super) fn needed(&self, centres: impl Iterator<Item = u64>) -> ShelfRanges {
        let mut centres: Vec<u64> = centres.collect();
        centres.sort_unstable();
        // In the order of the centres, and so in that of the codes on each shelf.
        let mut shelves: BTreeMap<u8, Vec<(u64, u64)>> = BTreeMap::new();
        for centre in centres {
            for (shelf, (first, last)) in thin::neighbourhoods(centre, self.max_zoom) {
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
                shelf.entries.extend(block::read(&Bytes::from(block)));
            }
        }
    }

    /// Puts a feature on the board.
    pub(super) fn enter(&mut self, seq: u64, drawing: &Drawing, attributes: &[u8]) {
        self.gather(drawing.centre, |shelf| shelf != LAST_SHELF);
        let mut new = Entrant::new(drawing.centre, drawing.class, seq, self.max_zoom);
        let mut moves = Vec::new();
        thin::enter(&mut new, &self.neighbours, self.max_zoom, |index, band| {
            moves.push((index, band));
        });
        self.move_all(&moves);
        let entry = Entry::new(new.band, drawing.class, &drawing.bytes, attributes);
        self.put((drawing.centre, seq), entry);
    }

    /// Takes a feature off the board.
    pub(super) fn leave(&mut self, seq: u64, centre: u64) {
        let place = (centre, seq);
        let found = self.shelves.iter().find(|(_, shelf)| shelf.entries.contains_key(&place));
        let Some(on) = found.map(|(on, _)| *on) else { return };
        let Some(entry) = self.take(on, place) else { return };
        let mut gone = Entrant::new(centre, entry.class, seq, self.max_zoom);
        gone.band = entry.band;
        self.gather(centre, |_| true);
        let mut moves = Vec::new();
        thin::leave(&gone, &self.neighbours, self.max_zoom, |index, band| {
            moves.push((index, band));
        });
        self.move_all(&moves);
    }

    /// The largest class on each shelf that was touched.
    pub(super) fn reach(&self) -> impl Iterator<Item = (u8, u8)> {
        self.shelves.iter().filter_map(|(on, shelf)| {
            shelf.entries.values().map(|entry| entry.class).max().map(|class| (*on, class))
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
                let blocks = block::write_all(*key, shelf.entries.range((start, end)));
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
        for (on, (first, last)) in thin::neighbourhoods(centre, self.max_zoom) {
            let Some(shelf) = self.shelves.get(&on).filter(|_| counts(on)) else { continue };
            for (place, entry) in shelf.entries.range((first, 0)..=(last, u64::MAX)) {
                let mut entrant = Entrant::new(place.0, entry.class, place.1, self.max_zoom);
                entrant.band = entry.band;
                self.neighbours.push(entrant);
                self.stands.push((on, *place));
            }
        }
    }

    fn move_all(&mut self, moves: &[(usize, u8)]) {
        for (index, band) in moves {
            let (on, place) = self.stands[*index];
            if let Some(mut entry) = self.take(on, place) {
                entry.band = *band;
                self.put(place, entry);
            }
        }
    }

    fn put(&mut self, place: Place, entry: Entry) {
        let shelf = self.shelves.entry(thin::shelf(entry.band, self.max_zoom)).or_default();
        shelf.touch(place);
        shelf.entries.insert(place, entry);
    }

    fn take(&mut self, on: u8, place: Place) -> Option<Entry> {
        let shelf = self.shelves.get_mut(&on)?;
        shelf.touch(place);
        shelf.entries.remove(&place)
    }
}

impl Shelf {
    /// Marks the block in which a place is.
    fn touch(&mut self, place: Place) {
        let key = self.blocks.range(..=place).next_back().copied();
        self.dirty.insert(key);
    }
}

const UNBOUNDED: std::ops::Bound<Place> = std::ops::Bound::Unbounded;

fn exclusive(place: Place) -> std::ops::Bound<Place> {
    std::ops::Bound::Excluded(place)
}
