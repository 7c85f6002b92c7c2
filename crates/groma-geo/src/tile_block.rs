//! Tile blocks: the rows in which a zoom tier is stored. A block holds up to 36 features that are
//! neighbours on the Morton curve, so that a tile reads a few database rows instead of hundreds.
//!
//! The key of a block is a lower bound: the block holds the features from its key up to the key of
//! the next block. The bounds of its features are stored beside the key, so that a tile can skip
//! blocks it does not intersect. Reading and writing the rows is left to the store.

use crate::{grid::GridBox, tile_shape, varint};
use bytes::{BufMut, Bytes};
use std::cmp::Reverse;

/// A larger block is split. A tile reads every block it intersects as a whole: with 64 features per
/// block, a z14 tile of a town read seven times what it showed; with 16, a z10 tile spends more time
/// on rows.
const MAX_ENTRIES: usize = 36;
/// A block must fit on a PostgreSQL page together with its key.
const MAX_BYTES: usize = 7_800;
/// The most bytes an entry takes before its body: three varints and two bytes.
const MAX_ENTRY_HEADER: usize = 10 + 10 + 2 + 10;

/// The sort key of a feature in its tier: the Morton code of its centre, and its number in the layer.
pub type TierKey = (u64, u64);

/// A feature in a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockEntry {
    /// The zoom from which it is drawn.
    pub min_zoom: u8,
    /// Its size class. See [`tile_shape::TileShape::size_class`].
    pub size_class: u8,
    /// Its encoded shape, preceded by the length of that, and its attributes.
    pub body: Bytes,
}

impl BlockEntry {
    /// An entry with an encoded shape and encoded attributes.
    #[must_use]
    pub fn new(min_zoom: u8, size_class: u8, shape: &[u8], attributes: &[u8]) -> Self {
        let mut body = Vec::with_capacity(shape.len() + attributes.len() + 3);
        varint::put(&mut body, shape.len() as u64);
        body.put_slice(shape);
        body.put_slice(attributes);
        Self { min_zoom, size_class, body: body.into() }
    }

    fn bounds(&self) -> Option<GridBox> {
        tile_shape::bounds(self.shape()?)
    }

    /// Whether its shape consists of polygons only.
    #[must_use]
    pub fn is_polygon(&self) -> bool {
        self.shape().is_some_and(tile_shape::is_polygon)
    }

    /// The [ends](tile_shape::line_ends) of a line.
    #[must_use]
    pub fn line_ends(&self) -> Option<[u64; 2]> {
        tile_shape::line_ends(self.shape()?)
    }

    fn shape(&self) -> Option<&[u8]> {
        let mut body = &self.body[..];
        let length = usize::try_from(varint::take(&mut body)?).ok()?;
        body.get(..length)
    }
}

/// A feature in a block, borrowed from the bytes of the block.
#[derive(Clone, Copy, Debug)]
pub struct BlockEntryRef<'b> {
    /// Its sort key in the tier.
    pub key: TierKey,
    /// The zoom from which it is drawn.
    pub min_zoom: u8,
    /// Its size class. See [`tile_shape::TileShape::size_class`].
    pub size_class: u8,
    /// Its encoded shape followed by its attributes.
    pub body: &'b [u8],
    shape_length: usize,
}

impl<'b> BlockEntryRef<'b> {
    /// The encoded shape.
    #[must_use]
    #[inline]
    pub fn shape(&self) -> &'b [u8] {
        &self.body[..self.shape_length]
    }

    /// The encoded attributes.
    #[must_use]
    #[inline]
    pub fn attributes(&self) -> &'b [u8] {
        &self.body[self.shape_length..]
    }
}

/// A block to be stored.
#[derive(Clone, Debug)]
pub struct TileBlock {
    /// A lower bound of the keys of its features.
    pub key: TierKey,
    /// The bounds of all its features.
    pub bounds: GridBox,
    /// The encoded features.
    pub bytes: Vec<u8>,
}

/// Encodes sorted entries into as many blocks as they need. `key` is the key of the first block; by
/// default, and for all other blocks, it is the key of the first entry.
pub fn write_blocks<'e>(
    key: Option<TierKey>,
    entries: impl Iterator<Item = (&'e TierKey, &'e BlockEntry)>,
) -> Vec<TileBlock> {
    let entries: Vec<_> = entries.collect();
    let mut blocks = Vec::new();
    let mut parts: Vec<&[_]> = vec![&entries];
    while let Some(part) = parts.pop() {
        let Some((first, _)) = part.first() else { continue };
        if fits_in_one_block(part) {
            let key = if blocks.is_empty() { key.unwrap_or(**first) } else { **first };
            blocks.push(write_block(key, part.iter().copied()));
        } else {
            let (low, high) = part.split_at(split_index(part));
            parts.extend([high, low]);
        }
    }
    blocks
}

fn fits_in_one_block(entries: &[(&TierKey, &BlockEntry)]) -> bool {
    let bytes = entries.iter().map(|(_, entry)| entry.body.len() + MAX_ENTRY_HEADER).sum::<usize>();
    entries.len() <= 1 || (entries.len() <= MAX_ENTRIES && bytes <= MAX_BYTES)
}

/// Where to split two or more entries: in the middle half, where the curve leaves the largest
/// quadtree square. A block that stays within a square has small bounds, so fewer tiles read it in
/// vain.
fn split_index(entries: &[(&TierKey, &BlockEntry)]) -> usize {
    let (count, least) = (entries.len(), (entries.len() / 4).max(1));
    let score = |at: &usize| {
        let ((before, _), (after, _)) = (entries[*at - 1].0, entries[*at].0);
        ((before ^ after).checked_ilog2(), Reverse(at.abs_diff(count / 2)))
    };
    (least..=count - least).max_by_key(score).unwrap_or(count / 2)
}

fn write_block<'e>(
    key: TierKey,
    entries: impl Iterator<Item = (&'e TierKey, &'e BlockEntry)>,
) -> TileBlock {
    let mut bytes = Vec::with_capacity(MAX_BYTES);
    let mut bounds: Option<GridBox> = None;
    let mut last_centre = 0;
    for ((centre, seq), entry) in entries {
        if let Some(entry_bounds) = entry.bounds() {
            bounds = Some(bounds.map_or(entry_bounds, |bounds| bounds.union(entry_bounds)));
        }
        varint::put(&mut bytes, centre - last_centre);
        last_centre = *centre;
        varint::put(&mut bytes, *seq);
        bytes.push(entry.min_zoom);
        bytes.push(entry.size_class);
        varint::put(&mut bytes, entry.body.len() as u64);
        bytes.extend_from_slice(&entry.body);
    }
    // A block without any readable shape draws nothing, so any bounds will do.
    let empty = GridBox { min_x: 0, min_y: 0, max_x: 0, max_y: 0 };
    TileBlock { key, bounds: bounds.unwrap_or(empty), bytes }
}

/// Decodes a block in order to change it. Stops at the first damaged entry.
#[must_use]
pub fn read_entries(block: &Bytes) -> Vec<(TierKey, BlockEntry)> {
    RawEntries::new(block)
        .map(|RawEntry { key, min_zoom, size_class, body }| {
            (key, BlockEntry { min_zoom, size_class, body: block.slice(body) })
        })
        .collect()
}

/// Decodes a block in order to draw it, without copying. Stops at the first damaged entry header and
/// skips entries with a damaged body.
pub fn entry_refs(block: &[u8]) -> impl Iterator<Item = BlockEntryRef<'_>> {
    RawEntries::new(block).filter_map(|RawEntry { key, min_zoom, size_class, body }| {
        let mut body = &block[body];
        let shape_length = usize::try_from(varint::take(&mut body)?).ok()?;
        let is_valid = shape_length <= body.len();
        is_valid.then_some(BlockEntryRef { key, min_zoom, size_class, body, shape_length })
    })
}

struct RawEntry {
    key: TierKey,
    min_zoom: u8,
    size_class: u8,
    /// Where in the block its body is.
    body: std::ops::Range<usize>,
}

struct RawEntries<'b> {
    block: &'b [u8],
    rest: &'b [u8],
    last_centre: u64,
}

impl<'b> RawEntries<'b> {
    fn new(block: &'b [u8]) -> Self {
        Self { block, rest: block, last_centre: 0 }
    }
}

impl Iterator for RawEntries<'_> {
    type Item = RawEntry;

    fn next(&mut self) -> Option<RawEntry> {
        let mut rest = self.rest;
        let step = varint::take(&mut rest)?;
        let seq = varint::take(&mut rest)?;
        let (&[min_zoom, size_class], after) = rest.split_first_chunk()?;
        rest = after;
        let length = usize::try_from(varint::take(&mut rest)?).ok()?;
        let start = self.block.len() - rest.len();
        self.rest = rest.get(length..)?;
        self.last_centre = self.last_centre.wrapping_add(step);
        let key = (self.last_centre, seq);
        Some(RawEntry { key, min_zoom, size_class, body: start..start + length })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn entries() -> impl Strategy<Value = BTreeMap<TierKey, BlockEntry>> {
        let body = prop::collection::vec(any::<u8>(), 0..300);
        let entry = (any::<u8>(), any::<u8>(), body, 0_usize..40);
        let entry = entry.prop_map(|(min_zoom, size_class, body, split)| {
            let (shape, attributes) = body.split_at(split.min(body.len()));
            BlockEntry::new(min_zoom, size_class, shape, attributes)
        });
        prop::collection::btree_map((any::<u64>(), any::<u64>()), entry, 0..300)
    }

    #[test]
    fn oversized_block_is_read_whole_and_split_when_written() {
        let entry = |n: u64| ((n << 40, n), BlockEntry::new(3, 4, &[7; 50], &[8; 9]));
        let entries: BTreeMap<TierKey, BlockEntry> =
            (1..=2 * MAX_ENTRIES as u64).map(entry).collect();
        let block = Bytes::from(write_block((0, 0), entries.iter()).bytes);
        assert_eq!(entry_refs(&block).count(), entries.len());
        let read: BTreeMap<TierKey, BlockEntry> = read_entries(&block).into_iter().collect();
        assert_eq!(read, entries);
        let blocks = write_blocks(Some((0, 0)), read.iter());
        assert!(blocks.iter().all(|block| entry_refs(&block.bytes).count() <= MAX_ENTRIES));
        assert_eq!(blocks[0].key, (0, 0));
    }

    #[test]
    fn blocks_are_split_where_the_curve_leaves_a_square() {
        let entry = |code: u64| ((code, code), BlockEntry::new(3, 4, &[7; 50], &[8; 9]));
        let squares = [0..14, 1 << 40..(1 << 40) + 26];
        let entries: BTreeMap<TierKey, BlockEntry> =
            squares.into_iter().flatten().map(entry).collect();
        let blocks = write_blocks(None, entries.iter());
        let counts: Vec<_> = blocks.iter().map(|block| entry_refs(&block.bytes).count()).collect();
        assert_eq!(counts, [14, 26]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn written_blocks_fit_and_read_back_in_order(entries in entries()) {
            let blocks = write_blocks(None, entries.iter());
            let mut read_back = BTreeMap::new();
            let mut last_key = None;
            for TileBlock { key, bytes, .. } in blocks {
                prop_assert!(last_key < Some(key));
                prop_assert!(bytes.len() <= MAX_BYTES);
                let block = Bytes::from(bytes);
                let read = read_entries(&block);
                prop_assert!(read.len() <= MAX_ENTRIES);
                prop_assert!(read.first().is_some_and(|(first, _)| *first == key));
                prop_assert_eq!(entry_refs(&block).count(), read.len());
                read_back.extend(read);
                last_key = Some(key);
            }
            prop_assert_eq!(read_back, entries);
        }

        #[test]
        fn arbitrary_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = read_entries(&Bytes::from(bytes.clone())).len() + entry_refs(&bytes).count();
        }
    }
}
