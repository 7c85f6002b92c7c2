//! The page index: finds the n-th record without walking over those before it.
//!
//! Positions are grouped into buckets of 64. The database counts the records in each bucket; memory holds
//! the counts as a Fenwick tree, updated by the buckets that changed since the generation it knows.

use groma_domain::{Kind, WorkspaceId};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// The number of positions in a bucket.
pub(super) const BUCKET_SIZE: u64 = 64;

/// The counts of one kind of record in one workspace.
#[derive(Debug, Default)]
pub(super) struct PageIndex {
    /// The generation of the counters that the index is of.
    pub(super) generation: u64,
    records: Vec<u8>,
    /// `tree[i]` sums the `lowbit(i)` buckets that end with bucket `i - 1`; `tree[0]` is unused.
    tree: Vec<u64>,
}

impl PageIndex {
    /// Sets the number of records in a bucket.
    pub(super) fn set(&mut self, bucket: usize, records: u8) {
        if self.tree.is_empty() {
            self.tree.push(0);
        }
        while self.records.len() <= bucket {
            self.records.push(0);
            let index = self.tree.len();
            let first = index - lowbit(index);
            let mut sum = 0;
            let mut part = index - 1;
            while part > first {
                sum += self.tree[part];
                part -= lowbit(part);
            }
            self.tree.push(sum);
        }
        let difference = i64::from(records) - i64::from(self.records[bucket]);
        self.records[bucket] = records;
        let mut index = bucket + 1;
        while index < self.tree.len() {
            self.tree[index] = self.tree[index].saturating_add_signed(difference);
            index += lowbit(index);
        }
    }

    /// The position from which to read the record after `skip` others, and how many records to skip from
    /// there; `None` past the end.
    pub(super) fn locate(&self, skip: u64) -> Option<(u64, u64)> {
        let mut step = self.tree.len().checked_next_power_of_two()?;
        let (mut index, mut rest) = (0, skip);
        while step > 0 {
            let next = index + step;
            if next < self.tree.len() && self.tree[next] <= rest {
                index = next;
                rest -= self.tree[next];
            }
            step /= 2;
        }
        let first = index as u64 * BUCKET_SIZE;
        match self.records.get(index) {
            // In a full bucket the position follows directly.
            Some(records) if u64::from(*records) == BUCKET_SIZE => Some((first + rest, 0)),
            Some(_) => Some((first, rest)),
            None => None,
        }
    }
}

fn lowbit(index: usize) -> usize {
    index & index.wrapping_neg()
}

/// The index of one kind of record in one workspace.
type SharedPageIndex = Arc<Mutex<PageIndex>>;

/// The indexes that were used, by workspace and kind.
#[derive(Debug, Default)]
pub(super) struct PageIndexCache {
    indexes: Mutex<FxHashMap<(WorkspaceId, Kind), SharedPageIndex>>,
}

impl PageIndexCache {
    /// The index of a kind, which the caller updates.
    pub(super) fn of(&self, workspace: WorkspaceId, kind: Kind) -> SharedPageIndex {
        self.indexes.lock().entry((workspace, kind)).or_default().clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nth_record_is_found_after_any_sequence_of_updates() {
        let mut index = PageIndex::default();
        let mut plain: Vec<u8> = Vec::new();
        let mut seed = 7_u64;
        for _ in 0..2_000 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let bucket = (seed >> 33) as usize % 300;
            // Every fourth is full.
            let records = if seed >> 62 == 0 { 64 } else { (seed >> 20) as u8 % 65 };
            plain.resize(plain.len().max(bucket + 1), 0);
            plain[bucket] = records;
            index.set(bucket, records);
        }
        let mut skip = 0;
        for (bucket, records) in plain.iter().enumerate() {
            for inside in 0..u64::from(*records) {
                let first = bucket as u64 * BUCKET_SIZE;
                let is_full = u64::from(*records) == BUCKET_SIZE;
                let expected = if is_full { (first + inside, 0) } else { (first, inside) };
                assert_eq!(index.locate(skip), Some(expected));
                skip += 1;
            }
        }
        assert_eq!(index.locate(skip), None);
        assert_eq!(PageIndex::default().locate(0), None);
    }
}
