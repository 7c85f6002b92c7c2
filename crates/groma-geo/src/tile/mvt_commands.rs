//! Writes the geometry commands of MVT. All points must lie in the clip box.

use super::{
    byte_buffer::{ByteBuffer, SmallWriter},
    transform::{CLIP_BOX, TilePoint, doubled_area},
    validity::{self, Turns},
};
use crate::{tile_shape::SMALL_SQUARE, varint};

/// The most points of a ring that [`CommandWriter::fast_ring`] writes: its `LineTo` count must fit
/// into one byte.
pub(super) const MAX_FAST_RING: u64 = 16;

const ORIGIN: TilePoint = TilePoint { x: 0, y: 0 };
const MOVE_TO: u8 = 1;
const LINE_TO: u8 = 2;
const CLOSE_PATH: u8 = 1 << 3 | 7;

/// Writes geometries one after the other. Each starts at the origin of the tile.
pub(super) struct CommandWriter {
    buffer: ByteBuffer,
    cursor: TilePoint,
    /// The points of a ring that is being checked. The last one repeats the first.
    closed_ring: Vec<TilePoint>,
}

/// A state to which a [`CommandWriter`] can return.
#[derive(Clone, Copy)]
pub(super) struct Checkpoint {
    length: usize,
    cursor: TilePoint,
}

impl CommandWriter {
    pub(super) fn new() -> Self {
        Self { buffer: ByteBuffer::default(), cursor: ORIGIN, closed_ring: Vec::new() }
    }

    /// The commands of all geometries.
    pub(super) fn commands(&self) -> &[u8] {
        self.buffer.written()
    }

    pub(super) fn length(&self) -> usize {
        self.buffer.length()
    }

    /// Discards all geometries.
    pub(super) fn clear(&mut self) {
        self.buffer.truncate(0);
    }

    pub(super) fn begin_geometry(&mut self) {
        self.cursor = ORIGIN;
    }

    pub(super) fn checkpoint(&self) -> Checkpoint {
        Checkpoint { length: self.buffer.length(), cursor: self.cursor }
    }

    /// Discards what was written since the checkpoint.
    pub(super) fn rollback(&mut self, Checkpoint { length, cursor }: Checkpoint) {
        self.buffer.truncate(length);
        self.cursor = cursor;
    }

    /// Writes one or more points.
    pub(super) fn points(&mut self, points: &[TilePoint]) {
        let [first, rest @ ..] = points else { return };
        self.buffer.put_small(|out| {
            out.put_varint(command(MOVE_TO, points.len()));
            out.put_pair(delta(self.cursor, *first));
        });
        self.cursor = *first;
        self.deltas(rest.iter());
    }

    /// Writes a line of two or more points.
    pub(super) fn line(&mut self, path: &[TilePoint]) {
        let [first, rest @ ..] = path else { return };
        self.begin_path(*first, rest.len());
        self.deltas(rest.iter());
    }

    /// Writes the shortest possible line, for a line without length.
    pub(super) fn shortest_line(&mut self, at: TilePoint) {
        let x = at.x.min(CLIP_BOX.max_x - 1);
        self.line(&[TilePoint { x, y: at.y }, TilePoint { x: x + 1, y: at.y }]);
    }

    /// Writes a ring of three or more points, or its reverse.
    #[inline]
    pub(super) fn ring(&mut self, path: &[TilePoint], is_reversed: bool) {
        let [first, rest @ ..] = path else { return };
        self.begin_path(*first, rest.len());
        if is_reversed {
            self.deltas(rest.iter().rev());
        } else {
            self.deltas(rest.iter());
        }
        self.buffer.put_small(|out| out.put_byte(CLOSE_PATH));
    }

    /// Writes an outer ring of at most [`MAX_FAST_RING`] points while they are read, without consecutive
    /// duplicates. Returns whether it is certainly valid. If not, the caller has to roll back.
    #[inline]
    pub(super) fn fast_ring(
        &mut self,
        points: impl DoubleEndedIterator<Item = TilePoint> + Clone,
    ) -> bool {
        let mut rest = points.clone();
        let (Some(first), Some(last)) = (rest.next(), points.clone().next_back()) else {
            return false;
        };
        let (mut cursor, mut turns) = (first, Turns::after(last, first));
        self.buffer.put_small(|out| {
            out.put_byte(1 << 3 | MOVE_TO);
            out.put_pair(delta(self.cursor, first));
            let (line_to, mut lines) = (out.length(), 0);
            out.put_byte(0);
            for to in rest {
                if to != cursor {
                    out.put_pair(delta(cursor, to));
                    turns.add(cursor, to);
                    lines += 1;
                    cursor = to;
                }
            }
            out.replace(line_to, lines << 3 | LINE_TO);
            out.put_byte(CLOSE_PATH);
        });
        self.cursor = cursor;
        turns.add(last, first);
        last != first && (turns.is_convex() || self.is_simple(points))
    }

    /// Whether a ring runs clockwise and does not touch itself, apart from consecutive duplicates.
    fn is_simple(&mut self, points: impl Iterator<Item = TilePoint>) -> bool {
        let closed = &mut self.closed_ring;
        closed.clear();
        closed.extend(points);
        closed.dedup();
        closed.extend(closed.first().copied());
        let area: i64 = closed.windows(2).map(|edge| doubled_area(edge[0], edge[1])).sum();
        area > 0 && validity::is_simple(closed)
    }

    /// Writes a rectangle.
    pub(super) fn rectangle(&mut self, min: TilePoint, max: TilePoint) {
        let corner = |x, y| TilePoint { x, y };
        let path = [min, corner(max.x, min.y), max, corner(min.x, max.y)];
        self.ring(&path, false);
    }

    /// Writes a small square, for a polygon without size.
    #[inline]
    pub(super) fn small_square(&mut self, at: TilePoint) {
        const FORTH: u8 = (SMALL_SQUARE as u8) << 1;
        const BACK: u8 = FORTH - 1;
        const SIDES: [u8; 7] = [FORTH, 0, 0, FORTH, BACK, 0, CLOSE_PATH];
        let x = (at.x - SMALL_SQUARE / 2).clamp(CLIP_BOX.min_x, CLIP_BOX.max_x - SMALL_SQUARE);
        let y = (at.y - SMALL_SQUARE / 2).clamp(CLIP_BOX.min_y, CLIP_BOX.max_y - SMALL_SQUARE);
        self.begin_path(TilePoint { x, y }, 3);
        self.buffer.put_small(|out| SIDES.into_iter().for_each(|byte| out.put_byte(byte)));
        self.cursor = TilePoint { x, y: y + SMALL_SQUARE };
    }

    /// Moves to the first point of a line or ring and writes the `LineTo` for the others.
    #[inline]
    fn begin_path(&mut self, first: TilePoint, others: usize) {
        self.buffer.put_small(|out| {
            out.put_varint(command(MOVE_TO, 1));
            out.put_pair(delta(self.cursor, first));
            out.put_varint(command(LINE_TO, others));
        });
        self.cursor = first;
    }

    #[inline]
    fn deltas<'a>(&mut self, mut points: impl ExactSizeIterator<Item = &'a TilePoint>) {
        let mut cursor = self.cursor;
        while points.len() > 0 {
            self.buffer.put_small(|out| {
                for &to in points.by_ref().take(SmallWriter::MAX_PAIRS) {
                    out.put_pair(delta(cursor, to));
                    cursor = to;
                }
            });
        }
        self.cursor = cursor;
    }
}

fn command(id: u8, count: usize) -> u64 {
    (count as u64) << 3 | u64::from(id)
}

/// The zigzag-encoded difference of two points. Both numbers are below 2¹⁴, because the clip box is
/// narrower than 2¹³ units.
#[inline]
fn delta(from: TilePoint, to: TilePoint) -> (u32, u32) {
    (varint::zigzag(to.x - from.x) as u32, varint::zigzag(to.y - from.y) as u32)
}
