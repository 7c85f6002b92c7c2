//! Variable-length integers, as protocol buffers write them.

/// Appends a number: seven bits a byte, the lowest first.
#[inline]
pub(crate) fn put(out: &mut Vec<u8>, mut value: u64) {
    // Most numbers in a tile are of one byte or two.
    if value < 0x80 {
        out.push(value as u8);
    } else if value < 0x4000 {
        out.extend_from_slice(&[value as u8 | 0x80, (value >> 7) as u8]);
    } else {
        while value >= 0x80 {
            out.push(value as u8 | 0x80);
            value >>= 7;
        }
        out.push(value as u8);
    }
}

/// How many bytes [`put`] appends.
#[inline]
pub(crate) fn length(value: u64) -> usize {
    // A seventh of the bits, rounded up: for as few as 64 this is the same, and no division.
    ((value | 1).ilog2() as usize * 9 + 73) / 64
}

/// Takes a number off the front; `None` when it is cut off or longer than 64 bits.
#[inline]
pub(crate) fn take(bytes: &mut &[u8]) -> Option<u64> {
    let (&first, rest) = bytes.split_first()?;
    if first < 0x80 {
        *bytes = rest;
        return Some(u64::from(first));
    }
    take_long(bytes)
}

/// The same for a number of several bytes. Up to eight are taken at once.
#[inline]
fn take_long(bytes: &mut &[u8]) -> Option<u64> {
    let Some(chunk) = bytes.first_chunk() else { return take_bytewise(bytes) };
    let word = u64::from_le_bytes(*chunk);
    let ends = !word & 0x8080_8080_8080_8080;
    if ends == 0 {
        return take_bytewise(bytes);
    }
    // The last byte is the first without its highest bit. What is behind it goes, then those bits.
    let last = ends.trailing_zeros() / 8;
    let word = word & (u64::MAX >> (56 - 8 * last));
    let word = word & 0x007f_007f_007f_007f | (word & 0x7f00_7f00_7f00_7f00) >> 1;
    let word = word & 0x0000_3fff_0000_3fff | (word & 0x3fff_0000_3fff_0000) >> 2;
    let word = word & 0x0000_0000_0fff_ffff | (word & 0x0fff_ffff_0000_0000) >> 4;
    *bytes = &bytes[last as usize + 1..];
    Some(word)
}

fn take_bytewise(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    for (index, &byte) in bytes.iter().take(10).enumerate() {
        if index == 9 && byte > 1 {
            return None;
        }
        value |= u64::from(byte & 0x7f) << (7 * index);
        if byte < 0x80 {
            *bytes = &bytes[index + 1..];
            return Some(value);
        }
    }
    None
}

/// Whether these bytes are a number that [`take`] takes, and nothing else.
#[inline]
pub(crate) fn is_one(bytes: &[u8]) -> bool {
    let [more @ .., last] = bytes else { return false };
    let fits = more.len() < 9 || more.len() == 9 && *last <= 1;
    fits && *last < 0x80 && more.iter().all(|byte| *byte >= 0x80)
}

/// A signed number as an unsigned one that is small when it is near zero.
#[inline]
pub(crate) fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

/// The signed number behind a [`zigzag`].
#[inline]
pub(crate) fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_number_that_is_cut_off_or_too_long_is_none() {
        assert_eq!(take(&mut [].as_slice()), None);
        assert!(!is_one(&[]) && !is_one(&[0x80]) && !is_one(&[0, 0]));
        assert_eq!(take(&mut [0x80, 0x80].as_slice()), None);
        assert_eq!(take(&mut [0xff; 11].as_slice()), None);
        assert_eq!(take(&mut [&[0xff; 9][..], &[2]].concat().as_slice()), None);
    }

    proptest! {
        #[test]
        fn what_is_put_is_taken(bits in 0_u32..64, value: u64) {
            let value = value >> bits;
            let mut out = Vec::new();
            put(&mut out, value);
            prop_assert_eq!(out.len(), length(value));
            prop_assert_eq!(take(&mut out.as_slice()), Some(value));
            // With something behind it, too.
            let length = out.len();
            out.extend([0xff; 8]);
            let mut rest = out.as_slice();
            prop_assert_eq!(take(&mut rest), Some(value));
            prop_assert_eq!(rest.len(), out.len() - length);
            prop_assert_eq!(zigzag(unzigzag(value)), value);
        }

        #[test]
        fn one_number_is_what_is_taken_whole(
            more in prop::collection::vec(0x7e_u8.., 0..11), last in 0_u8..4,
        ) {
            let bytes = [more, vec![last]].concat();
            let mut rest = bytes.as_slice();
            let taken = take(&mut rest);
            prop_assert_eq!(is_one(&bytes), taken.is_some() && rest.is_empty());
        }
    }
}
