//! Variable-length integers in the encoding of Protocol Buffers.

/// Appends a number: seven bits per byte, the lowest first.
#[inline]
pub(crate) fn put(out: &mut Vec<u8>, mut value: u64) {
    // Most numbers in a tile take one or two bytes.
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

/// The number of bytes that [`put`] appends.
#[inline]
pub(crate) fn length(value: u64) -> usize {
    // The number of bits divided by 7, rounded up. For up to 64 bits this is the same, without a
    // division.
    ((value | 1).ilog2() as usize * 9 + 73) / 64
}

/// Takes a number from the front; `None` if it is truncated or longer than 64 bits.
#[inline]
pub(crate) fn take(bytes: &mut &[u8]) -> Option<u64> {
    let (&first, rest) = bytes.split_first()?;
    if first < 0x80 {
        *bytes = rest;
        return Some(u64::from(first));
    }
    take_long(bytes)
}

/// Takes a number of several bytes, up to eight of them at once.
#[inline]
fn take_long(bytes: &mut &[u8]) -> Option<u64> {
    let Some(chunk) = bytes.first_chunk() else { return take_bytewise(bytes) };
    let word = u64::from_le_bytes(*chunk);
    let ends = !word & 0x8080_8080_8080_8080;
    if ends == 0 {
        return take_bytewise(bytes);
    }
    // The number ends at the first byte whose highest bit is clear. Clear what follows it, then close
    // the gaps that the highest bits leave.
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

/// Whether the bytes are exactly one number that [`take`] accepts.
#[inline]
pub(crate) fn is_single(bytes: &[u8]) -> bool {
    let [more @ .., last] = bytes else { return false };
    let fits = more.len() < 9 || more.len() == 9 && *last <= 1;
    fits && *last < 0x80 && more.iter().all(|byte| *byte >= 0x80)
}

/// Maps a signed number to an unsigned one that is small if the number is near zero.
#[inline]
pub(crate) fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

/// The inverse of [`zigzag`].
#[inline]
pub(crate) fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn truncated_and_overlong_numbers_are_rejected() {
        assert_eq!(take(&mut [].as_slice()), None);
        assert!(!is_single(&[]) && !is_single(&[0x80]) && !is_single(&[0, 0]));
        assert_eq!(take(&mut [0x80, 0x80].as_slice()), None);
        assert_eq!(take(&mut [0xff; 11].as_slice()), None);
        assert_eq!(take(&mut [&[0xff; 9][..], &[2]].concat().as_slice()), None);
    }

    proptest! {
        #[test]
        fn number_round_trips(bits in 0_u32..64, value: u64) {
            let value = value >> bits;
            let mut out = Vec::new();
            put(&mut out, value);
            prop_assert_eq!(out.len(), length(value));
            prop_assert_eq!(take(&mut out.as_slice()), Some(value));
            // Also with bytes after it.
            let length = out.len();
            out.extend([0xff; 8]);
            let mut rest = out.as_slice();
            prop_assert_eq!(take(&mut rest), Some(value));
            prop_assert_eq!(rest.len(), out.len() - length);
            prop_assert_eq!(zigzag(unzigzag(value)), value);
        }

        #[test]
        fn is_single_agrees_with_take(
            more in prop::collection::vec(0x7e_u8.., 0..11), last in 0_u8..4,
        ) {
            let bytes = [more, vec![last]].concat();
            let mut rest = bytes.as_slice();
            let taken = take(&mut rest);
            prop_assert_eq!(is_single(&bytes), taken.is_some() && rest.is_empty());
        }
    }
}
