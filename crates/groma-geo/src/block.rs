//! Blocks: how features stand on a shelf. A block holds up to 36 of them in the order of their
//! centres along the Morton curve, so that a tile reads a few rows of the database and not hundreds.
//!
//! A block's key is a lower bound: it holds what stands from its key up to the next block's. The box
//! around its features is kept beside the key, so that none is read for nothing.

use crate::{grid::GridBox, shape, varint};
use bytes::{BufMut, Bytes};
use std::cmp::Reverse;

/// Blocks are divided when they hold more. A tile reads every block that it meets whole: with 64 a z14
/// tile of a town read seven times what it showed; with 16 a z10 tile pays more for its rows.
const MOST: usize = 36;
/// And when they are longer than fits on a page of PostgreSQL beside its key.
const MOST_BYTES: usize = 7_800;

/// What stands before an entry's body takes at most this.
const MOST_HEAD: usize = 10 + 10 + 2 + 10;

/// A place on a shelf: the Morton code of a centre, and the number of the feature.
pub type Place = (u64, u64);

/// A feature in a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// From which zoom it is drawn.
    pub band: u8,
    /// Its size class.
    pub class: u8,
    /// The drawing and the attributes.
    pub body: Bytes,
}

impl Entry {
    /// An entry with the bytes of its drawing and its attributes.
    #[must_use]
    pub fn new(band: u8, class: u8, drawing: &[u8], attributes: &[u8]) -> Self {
        let mut body = Vec::with_capacity(drawing.len() + attributes.len() + 3);
        varint::put(&mut body, drawing.len() as u64);
        body.put_slice(drawing);
        body.put_slice(attributes);
        Self { band, class, body: body.into() }
    }

    fn bounds(&self) -> Option<GridBox> {
        let mut body = &self.body[..];
        let length = usize::try_from(varint::take(&mut body)?).ok()?;
        shape::bounds(body.get(..length)?)
    }
}

/// A feature met while a block is read for a tile.
#[derive(Clone, Copy, Debug)]
pub struct Glimpse<'b> {
    /// Its place.
    pub place: Place,
    /// From which zoom it is drawn.
    pub band: u8,
    /// Its size class.
    pub class: u8,
    /// Its drawing, and its attributes behind that.
    pub body: &'b [u8],
    length: usize,
}

impl<'b> Glimpse<'b> {
    /// Its drawing.
    #[must_use]
    #[inline]
    pub fn drawing(&self) -> &'b [u8] {
        &self.body[..self.length]
    }

    /// Its attributes.
    #[must_use]
    #[inline]
    pub fn attributes(&self) -> &'b [u8] {
        &self.body[self.length..]
    }
}

/// A block to be kept.
#[derive(Clone, Debug)]
pub struct Block {
    /// What it holds stands here or later.
    pub key: Place,
    /// The box around its features.
    pub bounds: GridBox,
    /// Its features.
    pub bytes: Vec<u8>,
}

/// Writes entries, which are in order, into one block.
fn write<'e>(key: Place, entries: impl Iterator<Item = (&'e Place, &'e Entry)>) -> Block {
    let mut block = Vec::with_capacity(MOST_BYTES);
    let mut around: Option<GridBox> = None;
    let mut last = 0;
    for ((centre, seq), entry) in entries {
        if let Some(bounds) = entry.bounds() {
            around = Some(around.map_or(bounds, |around| around.union(bounds)));
        }
        varint::put(&mut block, centre - last);
        last = *centre;
        varint::put(&mut block, *seq);
        block.push(entry.band);
        block.push(entry.class);
        varint::put(&mut block, entry.body.len() as u64);
        block.extend_from_slice(&entry.body);
    }
    // What draws nothing is met nowhere.
    let nowhere = GridBox { min_x: 0, min_y: 0, max_x: 0, max_y: 0 };
    Block { key, bounds: around.unwrap_or(nowhere), bytes: block }
}

/// Writes entries, which are in order, into as many blocks as they need, each with its key. The
/// first one's key is `key`, if there is one.
pub fn write_all<'e>(
    key: Option<Place>,
    entries: impl Iterator<Item = (&'e Place, &'e Entry)>,
) -> Vec<Block> {
    let entries: Vec<_> = entries.collect();
    let mut blocks = Vec::new();
    let mut parts: Vec<&[_]> = vec![&entries];
    while let Some(part) = parts.pop() {
        let Some((first, _)) = part.first() else { continue };
        if fits(part) {
            let key = if blocks.is_empty() { key.unwrap_or(**first) } else { **first };
            blocks.push(write(key, part.iter().copied()));
        } else {
            let (low, high) = part.split_at(cut(part));
            parts.extend([high, low]);
        }
    }
    blocks
}

/// Whether entries fit into one block.
fn fits(entries: &[(&Place, &Entry)]) -> bool {
    let bytes = entries.iter().map(|(_, entry)| entry.body.len() + MOST_HEAD).sum::<usize>();
    entries.len() <= 1 || (entries.len() <= MOST && bytes <= MOST_BYTES)
}

/// Where to divide two entries or more: about the middle, where the curve leaves the largest square. Blocks
/// that keep to squares have narrow boxes, so tiles meet fewer of them for nothing.
fn cut(entries: &[(&Place, &Entry)]) -> usize {
    let (count, least) = (entries.len(), (entries.len() / 4).max(1));
    let worth = |at: &usize| {
        let ((before, _), (after, _)) = (entries[*at - 1].0, entries[*at].0);
        ((before ^ after).checked_ilog2(), Reverse(at.abs_diff(count / 2)))
    };
    (least..=count - least).max_by_key(worth).unwrap_or(count / 2)
}

/// Reads a block to change it.
#[must_use]
pub fn read(block: &Bytes) -> Vec<(Place, Entry)> {
    Reader::new(block)
        .map(|raw| {
            let entry = Entry { band: raw.band, class: raw.class, body: block.slice(raw.body) };
            (raw.place, entry)
        })
        .collect()
}

/// Reads a block to draw it. What is damaged is left out, with what follows it.
pub fn glimpses(block: &[u8]) -> impl Iterator<Item = Glimpse<'_>> {
    Reader::new(block).filter_map(|raw| {
        let mut body = &block[raw.body];
        let length = usize::try_from(varint::take(&mut body)?).ok()?;
        let Raw { place, band, class, .. } = raw;
        (length <= body.len()).then_some(Glimpse { place, band, class, body, length })
    })
}

struct Raw {
    place: Place,
    band: u8,
    class: u8,
    body: std::ops::Range<usize>,
}

struct Reader<'b> {
    block: &'b [u8],
    rest: &'b [u8],
    last: u64,
}

impl<'b> Reader<'b> {
    fn new(block: &'b [u8]) -> Self {
        Self { block, rest: block, last: 0 }
    }
}

impl Iterator for Reader<'_> {
    type Item = Raw;

    fn next(&mut self) -> Option<Raw> {
        let mut rest = self.rest;
        let step = varint::take(&mut rest)?;
        let seq = varint::take(&mut rest)?;
        let (&[band, class], after) = rest.split_first_chunk()?;
        rest = after;
        let length = usize::try_from(varint::take(&mut rest)?).ok()?;
        let start = self.block.len() - rest.len();
        self.rest = rest.get(length..)?;
        self.last = self.last.wrapping_add(step);
        Some(Raw { place: (self.last, seq), band, class, body: start..start + length })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn entries() -> impl Strategy<Value = BTreeMap<Place, Entry>> {
        let body = prop::collection::vec(any::<u8>(), 0..300);
        let entry = (any::<u8>(), any::<u8>(), body, 0_usize..40);
        let entry = entry.prop_map(|(band, class, body, split)| {
            let (drawing, attributes) = body.split_at(split.min(body.len()));
            Entry::new(band, class, drawing, attributes)
        });
        prop::collection::btree_map((any::<u64>(), any::<u64>()), entry, 0..300)
    }

    #[test]
    fn a_block_of_more_than_are_written_now_is_read_whole_and_divided_when_it_changes() {
        let entry = |n: u64| ((n << 40, n), Entry::new(3, 4, &[7; 50], &[8; 9]));
        let entries: BTreeMap<Place, Entry> = (1..=2 * MOST as u64).map(entry).collect();
        let block = Bytes::from(write((0, 0), entries.iter()).bytes);
        assert_eq!(glimpses(&block).count(), entries.len());
        let read: BTreeMap<Place, Entry> = read(&block).into_iter().collect();
        assert_eq!(read, entries);
        let blocks = write_all(Some((0, 0)), read.iter());
        assert!(blocks.iter().all(|block| glimpses(&block.bytes).count() <= MOST));
        assert_eq!(blocks[0].key, (0, 0));
    }

    #[test]
    fn blocks_are_divided_where_the_curve_leaves_a_square() {
        let entry = |code: u64| ((code, code), Entry::new(3, 4, &[7; 50], &[8; 9]));
        let squares = [0..14, 1 << 40..(1 << 40) + 26];
        let entries: BTreeMap<Place, Entry> = squares.into_iter().flatten().map(entry).collect();
        let blocks = write_all(None, entries.iter());
        let counts: Vec<_> = blocks.iter().map(|block| glimpses(&block.bytes).count()).collect();
        assert_eq!(counts, [14, 26]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn what_is_written_is_read_in_order_and_in_blocks_that_fit(entries in entries()) {
            let blocks = write_all(None, entries.iter());
            let mut again = BTreeMap::new();
            let mut last_key = None;
            for Block { key, bytes, .. } in blocks {
                prop_assert!(last_key < Some(key));
                prop_assert!(bytes.len() <= MOST_BYTES);
                let block = Bytes::from(bytes);
                let read = read(&block);
                prop_assert!(read.len() <= MOST && read.first().is_some_and(|(first, _)| *first == key));
                prop_assert_eq!(glimpses(&block).count(), read.len());
                again.extend(read);
                last_key = Some(key);
            }
            prop_assert_eq!(again, entries);
        }

        #[test]
        fn no_bytes_can_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = read(&Bytes::from(bytes.clone())).len() + glimpses(&bytes).count();
        }
    }
}
