//! The distinct values of a layer. Numbering values is the largest piece of work in a tile, so this
//! is a table for just that: the bytes stay where they are, short ones are compared as two words,
//! and however they collide, the search ends.

use super::buffer::field_size;
use crate::attributes;

/// How many slots are searched. A value not found within is written again, which a tile may do.
const REACH: usize = 32;

/// Values, numbered in the order of their first use.
pub(super) struct Values<'a> {
    list: Vec<&'a [u8]>,
    /// A power of two of them, and twice as many as values at least.
    slots: Vec<Slot>,
    size: usize,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Slot {
    hash: u32,
    /// The value's number and one, or 0 for none.
    entry: u32,
}

impl<'a> Values<'a> {
    /// With room for that many.
    pub(super) fn new(room: usize) -> Self {
        let slots = vec![Slot::default(); (2 * room).next_power_of_two().max(64)];
        Self { list: Vec::with_capacity(room), slots, size: 0 }
    }

    /// All of them.
    pub(super) fn list(&self) -> &[&'a [u8]] {
        &self.list
    }

    /// What they take as fields of a message.
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// The number of a value; `None` when it is none.
    #[inline]
    pub(super) fn number(&mut self, value: &'a [u8]) -> Option<u32> {
        let hash = hash(value);
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        for _ in 0..REACH {
            let slot = self.slots[at];
            if slot.entry == 0 {
                break;
            }
            let number = slot.entry - 1;
            if slot.hash == hash && same(self.list[number as usize], value) {
                return Some(number);
            }
            at = (at + 1) & mask;
        }
        self.add(value, hash, at)
    }

    /// Adds a value, and remembers it in this slot if that is free.
    fn add(&mut self, value: &'a [u8], hash: u32, at: usize) -> Option<u32> {
        if !attributes::is_value(value) {
            return None;
        }
        self.list.push(value);
        self.size += field_size(value.len());
        let entry = self.list.len() as u32;
        if self.slots[at].entry == 0 {
            self.slots[at] = Slot { hash, entry };
        }
        if 2 * self.list.len() > self.slots.len() {
            self.grow();
        }
        Some(entry - 1)
    }

    #[cold]
    fn grow(&mut self) {
        let mask = 4 * self.slots.len() - 1;
        let slots = std::mem::replace(&mut self.slots, vec![Slot::default(); mask + 1]);
        for slot in slots.into_iter().filter(|slot| slot.entry != 0) {
            let start = slot.hash as usize;
            let mut within_reach = (start..start + REACH).map(|at| at & mask);
            if let Some(at) = within_reach.find(|at| self.slots[*at].entry == 0) {
                self.slots[at] = slot;
            }
        }
    }

    /// Leaves the first so many. No more can be numbered after that.
    pub(super) fn truncate(&mut self, count: usize) {
        self.list.truncate(count);
        self.size = self.list.iter().map(|value| field_size(value.len())).sum();
    }
}

#[inline]
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && if a.len() <= 16 { words(a) == words(b) } else { a == b }
}

/// Good enough for a table of one tile, and quick: a multiplication for every 16 bytes.
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

/// Up to 16 bytes as two words, which differ for different bytes of the same length.
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
    fn each_value_is_numbered_once_however_many_there_are() {
        let texts: Vec<_> = (0..5_000)
            .map(|i| text(&"x".repeat(i % 40)[..].replace('x', &i.to_string()[..1])))
            .collect();
        let mut values = Values::new(1);
        let mut numbers = HashMap::new();
        for value in &texts {
            let next = numbers.len() as u32;
            let expected = *numbers.entry(value).or_insert(next);
            assert_eq!(values.number(value), Some(expected));
        }
        assert_eq!(values.list().len(), numbers.len());
        assert_eq!(
            values.size(),
            numbers.keys().map(|value| field_size(value.len())).sum::<usize>()
        );
    }

    #[test]
    fn what_is_no_value_has_no_number() {
        assert_eq!(Values::new(1).number(&[]), None);
        assert_eq!(Values::new(1).number(&[0x0a, 9]), None);
    }

    proptest! {
        #[test]
        fn words_tell_values_of_one_length_apart(
            (a, b) in (0_usize..=16).prop_flat_map(|length| {
                let bytes = || prop::collection::vec(0_u8..2, length);
                (bytes(), bytes())
            })
        ) {
            prop_assert_eq!(words(&a) == words(&b), a == b);
            prop_assert_eq!(same(&a, &b), a == b);
        }
    }
}
