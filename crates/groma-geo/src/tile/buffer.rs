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
    pub(super) fn put_byte(&mut self, byte: u8) {
        self.put(u64::from(byte), 1);
    }

    #[inline]
    pub(super) fn put_slice(&mut self, bytes: &[u8]) {
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

    /// Appends pairs of varints, each under 2¹⁴, hence at most four bytes a pair.
    #[inline]
    pub(super) fn put_pairs(&mut self, pairs: impl Iterator<Item = (u32, u32)>) {
        // The length stays in a register meanwhile.
        let mut length = self.length;
        let bytes = self.bytes.as_mut_slice();
        for (first, second) in pairs {
            let (low, low_bytes) = short_varint(first);
            let (high, high_bytes) = short_varint(second);
            let word = low | high << (8 * low_bytes);
            bytes[length..length + 4].copy_from_slice(&word.to_le_bytes());
            length += (low_bytes + high_bytes) as usize;
        }
        self.length = length;
    }

    /// Appends a field of a message: its head, the number of the bytes, the bytes.
    #[inline]
    pub(super) fn put_field(&mut self, head: u8, bytes: &[u8]) {
        self.put_byte(head);
        self.put_varint(bytes.len() as u64);
        self.put_slice(bytes);
    }

    /// Replaces a byte that is written.
    #[inline]
    pub(super) fn replace(&mut self, at: usize, byte: u8) {
        self.bytes[at] = byte;
    }
}

/// What [`Buffer::put_field`] takes for so many bytes.
#[inline]
pub(super) fn field_size(bytes: usize) -> usize {
    1 + varint::length(bytes as u64) + bytes
}

/// A varint of one byte or two, and which. There is no branch, as it would be hard to foresee.
#[inline]
fn short_varint(value: u32) -> (u32, u32) {
    let more = u32::from(value > 0x7f);
    (value & 0x7f | more << 7 | value >> 7 << 8, 1 + more)
}
