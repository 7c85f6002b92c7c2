//! A growable byte buffer for the inner loops of the tile encoder. Bounds are checked once per group
//! of writes instead of once per byte.

use crate::varint;

/// [`ByteBuffer::put`] always stores eight bytes, whatever it appends. This is the room for the rest.
const SLACK: usize = 8;

/// Appends bytes. The vector is longer than what has been written.
#[derive(Default)]
pub(super) struct ByteBuffer {
    bytes: Vec<u8>,
    length: usize,
}

impl ByteBuffer {
    pub(super) fn with_capacity(bytes: usize) -> Self {
        Self { bytes: vec![0; bytes + SLACK], length: 0 }
    }

    pub(super) fn written(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    #[inline]
    pub(super) fn length(&self) -> usize {
        self.length
    }

    /// Discards everything beyond this length.
    #[inline]
    pub(super) fn truncate(&mut self, length: usize) {
        self.length = self.length.min(length);
    }

    /// Makes room for this many bytes. Must precede [`ByteBuffer::put_varint`] and
    /// [`ByteBuffer::put_pair`].
    #[inline]
    pub(super) fn reserve(&mut self, bytes: usize) {
        let needed = self.length + bytes + SLACK;
        if self.bytes.len() < needed {
            self.bytes.resize(2 * needed, 0);
        }
    }

    /// Appends the lowest `count` bytes of a word.
    #[inline]
    fn put(&mut self, word: u64, count: usize) {
        self.bytes[self.length..self.length + 8].copy_from_slice(&word.to_le_bytes());
        self.length += count;
    }

    #[inline]
    pub(super) fn put_slice(&mut self, bytes: &[u8]) {
        self.reserve(bytes.len());
        self.bytes[self.length..self.length + bytes.len()].copy_from_slice(bytes);
        self.length += bytes.len();
    }

    #[inline]
    pub(super) fn put_varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.put(value | 0x80, 1);
            value >>= 7;
        }
        self.put(value, 1);
    }

    /// Appends two varints, each below 2¹⁴.
    #[inline]
    pub(super) fn put_pair(&mut self, pair: (u32, u32)) {
        let (varints, [extra_first, extra_second]) = short_varints(pair);
        let (first, second) = (varints & 0xffff, varints >> 16);
        let word = first | second << (8 + 8 * extra_first);
        self.put(u64::from(word), (2 + extra_first + extra_second) as usize);
    }

    /// Appends up to 255 bytes.
    #[inline]
    pub(super) fn put_small(&mut self, write: impl FnOnce(&mut SmallWriter<'_>)) {
        self.reserve(SmallWriter::CAPACITY);
        let Some(room) = self.bytes[self.length..].first_chunk_mut() else { return };
        let mut writer = SmallWriter { room, length: 0 };
        write(&mut writer);
        self.length += usize::from(writer.length);
    }
}

/// Appends up to 255 bytes to a [`ByteBuffer`]. The array is longer than any `u8` index, so the
/// compiler can omit the bounds checks.
pub(super) struct SmallWriter<'b> {
    room: &'b mut [u8; SmallWriter::CAPACITY],
    length: u8,
}

impl SmallWriter<'_> {
    const CAPACITY: usize = u8::MAX as usize + 1 + 4;

    /// How many pairs fit in any case.
    pub(super) const MAX_PAIRS: usize = 32;

    #[inline]
    pub(super) fn length(&self) -> u8 {
        self.length
    }

    #[inline]
    pub(super) fn put_byte(&mut self, byte: u8) {
        self.replace(self.length, byte);
        self.length += 1;
    }

    #[inline]
    pub(super) fn put_varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.put_byte(value as u8 | 0x80);
            value >>= 7;
        }
        self.put_byte(value as u8);
    }

    /// Appends two varints, each below 2¹⁴.
    #[inline]
    pub(super) fn put_pair(&mut self, pair: (u32, u32)) {
        let (varints, [extra_first, extra_second]) = short_varints(pair);
        let at = usize::from(self.length);
        self.room[at..at + 2].copy_from_slice(&(varints as u16).to_le_bytes());
        let at = at + 1 + extra_first as usize;
        self.room[at..at + 2].copy_from_slice(&((varints >> 16) as u16).to_le_bytes());
        self.length += (2 + extra_first + extra_second) as u8;
    }

    /// Appends the header of a protobuf field and its value, or its length if bytes follow.
    #[inline]
    pub(super) fn put_field(&mut self, header: u8, value: u64) {
        self.put_byte(header);
        self.put_varint(value);
    }

    /// Replaces a byte.
    #[inline]
    pub(super) fn replace(&mut self, at: u8, byte: u8) {
        self.room[usize::from(at)] = byte;
    }
}

/// The size of a length-delimited protobuf field: header, length and bytes.
#[inline]
pub(super) fn field_size(bytes: usize) -> usize {
    1 + varint::length(bytes as u64) + bytes
}

/// Two varints of one or two bytes, each in one half of a word, and how many bytes more than one each
/// takes. Free of branches, which would be hard to predict.
#[inline]
fn short_varints((first, second): (u32, u32)) -> (u32, [u32; 2]) {
    /// The bits that go into the second byte of a varint, in both halves.
    const UPPER: u32 = 0x3f80_3f80;
    let both = first | second << 16;
    let upper = both & UPPER;
    // If any upper bit is set, the addition carries into the bit above. Shifted, the carry becomes the
    // continuation bit of the first byte.
    let more = (upper + UPPER) >> 7 & 0x0080_0080;
    (both + upper + more, [more >> 7 & 1, more >> 23])
}
