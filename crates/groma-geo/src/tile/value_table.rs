//! The distinct values of a layer. Looking up values is the most expensive part of encoding a tile, so
//! this is a hash table for just that: it copies no bytes, compares short values as two words, and
//! limits the length of a search.

use super::byte_buffer::field_size;
use crate::attributes;

/// How many slots are searched. A value that is not found there is written again, which MVT allows.
const MAX_PROBES: usize = 32;

/// Values with their indexes, in the order of their first use.
pub(super) struct ValueTable<'a> {
    values: Vec<&'a [u8]>,
    /// The number of slots is a power of two and at least twice the number of values.
    slots: Vec<Slot>,
    /// The encoded size of the values.
    size: usize,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Slot {
    hash: u32,
    /// The index of the value plus one; 0 if the slot is empty.
    index_plus_one: u32,
}

impl<'a> ValueTable<'a> {
    pub(super) fn with_capacity(values: usize) -> Self {
        let slots = vec![Slot::default(); (2 * values).next_power_of_two().max(64)];
        Self { values: Vec::with_capacity(values), slots, size: 0 }
    }

    pub(super) fn values(&self) -> &[&'a [u8]] {
        &self.values
    }

    /// The size of the values as fields of a message.
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// The index of a value, which is added if it is new; `None` if it is not a valid value.
    #[inline]
    pub(super) fn index_of(&mut self, value: &'a [u8]) -> Option<u32> {
        let hash = hash(value);
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        for _ in 0..MAX_PROBES {
            let slot = self.slots[at];
            if slot.index_plus_one == 0 {
                break;
            }
            let index = slot.index_plus_one - 1;
            if slot.hash == hash && is_same(self.values[index as usize], value) {
                return Some(index);
            }
            at = (at + 1) & mask;
        }
        self.add(value, hash, at)
    }

    /// Adds a value, and puts it into this slot if the slot is empty.
    fn add(&mut self, value: &'a [u8], hash: u32, at: usize) -> Option<u32> {
        if !attributes::is_value(value) {
            return None;
        }
        self.values.push(value);
        self.size += field_size(value.len());
        let index_plus_one = self.values.len() as u32;
        if self.slots[at].index_plus_one == 0 {
            self.slots[at] = Slot { hash, index_plus_one };
        }
        if 2 * self.values.len() > self.slots.len() {
            self.grow();
        }
        Some(index_plus_one - 1)
    }

    #[cold]
    fn grow(&mut self) {
        let mask = 4 * self.slots.len() - 1;
        let slots = std::mem::replace(&mut self.slots, vec![Slot::default(); mask + 1]);
        for slot in slots.into_iter().filter(|slot| slot.index_plus_one != 0) {
            let start = slot.hash as usize;
            let mut probes = (start..start + MAX_PROBES).map(|at| at & mask);
            if let Some(at) = probes.find(|at| self.slots[*at].index_plus_one == 0) {
                self.slots[at] = slot;
            }
        }
    }

    /// Keeps only the first `count` values. After this, no value can be looked up.
    pub(super) fn truncate(&mut self, count: usize) {
        self.values.truncate(count);
        self.size = self.values.iter().map(|value| field_size(value.len())).sum();
    }
}

#[inline]
fn is_same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && if a.len() <= 16 { words(a) == words(b) } else { a == b }
}

/// A fast hash for the table of one tile: one multiplication per 16 bytes.
#[inline]
fn hash(value: &[u8]) -> u32 {
    const SEED: u64 = 0x9e37_79b9_7f4a_7c15;
    let mix = |state: u64, [a, b]: [u64; 2]| {
        let product = u128::from(state ^ a) * u128::from(SEED ^ b);
        product as u64 ^ (product >> 64) as u64
    };
    let mut state = SEED ^ value.len() as u64;
    let mut rest = value;
    while rest.len() > 16 {
        let (chunk, others) = rest.split_at(16);
        state = mix(state, words(chunk));
        rest = others;
    }
    mix(state, words(rest)) as u32
}

/// Up to 16 bytes as two words. Different bytes of the same length give different words.
#[inline]
fn words(bytes: &[u8]) -> [u64; 2] {
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        [u64::from_le_bytes(*first), u64::from_le_bytes(*last)]
    } else if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        [u32::from_le_bytes(*first), u32::from_le_bytes(*last)].map(u64::from)
    } else {
        let byte = |at: usize| bytes.get(at).copied().map_or(0, u64::from);
        [byte(0) | byte(1) << 8, byte(2)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    fn text(text: &str) -> Vec<u8> {
        crate::attributes::encode([(0, &text.into())].into_iter())[2..].to_vec()
    }

    #[test]
    fn each_distinct_value_has_one_index() {
        let texts: Vec<_> = (0..5_000)
            .map(|i| text(&"x".repeat(i % 40)[..].replace('x', &i.to_string()[..1])))
            .collect();
        let mut values = ValueTable::with_capacity(1);
        let mut indexes = HashMap::new();
        for value in &texts {
            let next = indexes.len() as u32;
            let expected = *indexes.entry(value).or_insert(next);
            assert_eq!(values.index_of(value), Some(expected));
        }
        assert_eq!(values.values().len(), indexes.len());
        assert_eq!(
            values.size(),
            indexes.keys().map(|value| field_size(value.len())).sum::<usize>()
        );
    }

    #[test]
    fn invalid_value_is_rejected() {
        assert_eq!(ValueTable::with_capacity(1).index_of(&[]), None);
        assert_eq!(ValueTable::with_capacity(1).index_of(&[0x0a, 9]), None);
    }

    proptest! {
        #[test]
        fn words_distinguish_values_of_the_same_length(
            (a, b) in (0_usize..=16).prop_flat_map(|length| {
                let bytes = || prop::collection::vec(0_u8..2, length);
                (bytes(), bytes())
            })
        ) {
            prop_assert_eq!(words(&a) == words(&b), a == b);
            prop_assert_eq!(is_same(&a, &b), a == b);
        }
    }
}
