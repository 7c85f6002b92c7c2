//! Bytes in the making: what the hot loops write to.

use crate::varint;

/// A store is of eight bytes, whatever is written, and so may run over by nearly as many.
const SLACK: usize = 8;

/// Appended bytes. The vector is longer than what is written.
#[derive(Default)]
pub(super) struct Buffer {
    bytes: Vec<u8>,
    length: usize,
}

impl Buffer {
    pub(super) fn with_room(bytes: usize) -> Self {
        Self { bytes: vec![0; bytes + SLACK], length: 0 }
    }

    pub(super) fn written(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    #[inline]
    pub(super) fn length(&self) -> usize {
        self.length
    }

    /// Takes back what was written beyond that length.
    #[inline]
    pub(super) fn truncate(&mut self, length: usize) {
        self.length = self.length.min(length);
    }

    /// Makes room for that many bytes. All that follows relies on it.
    #[inline]
    pub(super) fn reserve(&mut self, bytes: usize) {
        let needed = self.length + bytes + SLACK;
        if self.bytes.len() < needed {
            self.bytes.resize(2 * needed, 0);
        }
    }

    /// Appends the lowest bytes of a word.
    #[inline]
    pub(super) fn put(&mut self, word: u64, count: usize) {
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

    /// Appends two varints, each under 2¹⁴.
    #[inline]
    pub(super) fn put_pair(&mut self, pair: (u32, u32)) {
        let (varints, [more_of_first, more_of_second]) = short_varints(pair);
        let (first, second) = (varints & 0xffff, varints >> 16);
        let word = first | second << (8 + 8 * more_of_first);
        self.put(u64::from(word), (2 + more_of_first + more_of_second) as usize);
    }

    /// Appends a few bytes.
    #[inline]
    pub(super) fn put_few(&mut self, write: impl FnOnce(&mut Few<'_>)) {
        self.reserve(Few::ROOM);
        let Some(room) = self.bytes[self.length..].first_chunk_mut() else { return };
        let mut few = Few { room, length: 0 };
        write(&mut few);
        self.length += usize::from(few.length);
    }
}

/// A few bytes in the making, 255 at most. The room ends behind the last place that a byte can tell,
/// so that nothing has to be checked where it is written to.
pub(super) struct Few<'b> {
    room: &'b mut [u8; Few::ROOM],
    length: u8,
}

impl Few<'_> {
    const ROOM: usize = u8::MAX as usize + 1 + 4;

    /// So many pairs fit in any case.
    pub(super) const PAIRS: usize = 32;

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

    /// Appends two varints, each under 2¹⁴.
    #[inline]
    pub(super) fn put_pair(&mut self, pair: (u32, u32)) {
        let (varints, [more_of_first, more_of_second]) = short_varints(pair);
        let at = usize::from(self.length);
        self.room[at..at + 2].copy_from_slice(&(varints as u16).to_le_bytes());
        let at = at + 1 + more_of_first as usize;
        self.room[at..at + 2].copy_from_slice(&((varints >> 16) as u16).to_le_bytes());
        self.length += (2 + more_of_first + more_of_second) as u8;
    }

    /// Appends a field of a message: its head, and a number or that of the bytes that follow.
    #[inline]
    pub(super) fn put_number(&mut self, head: u8, number: u64) {
        self.put_byte(head);
        self.put_varint(number);
    }

    /// Replaces a byte that is written.
    #[inline]
    pub(super) fn replace(&mut self, at: u8, byte: u8) {
        self.room[usize::from(at)] = byte;
    }
}

/// What a field of so many bytes takes in a message, with its head and their number.
#[inline]
pub(super) fn field_size(bytes: usize) -> usize {
    1 + varint::length(bytes as u64) + bytes
}

/// Two varints of one byte or two, each in a half of a word, and how many more than one byte each
/// has. There is no branch, as it would be hard to foresee.
#[inline]
fn short_varints((first, second): (u32, u32)) -> (u32, [u32; 2]) {
    /// Of what a varint's second byte holds, in both halves.
    const UPPER: u32 = 0x3f80_3f80;
    let both = first | second << 16;
    let upper = both & UPPER;
    // Where it is not nothing, this carries into the bit above it; which then goes to where a byte
    // says that another follows.
    let more = (upper + UPPER) >> 7 & 0x0080_0080;
    (both + upper + more, [more >> 7 & 1, more >> 23])
}
