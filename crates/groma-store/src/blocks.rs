//! Where the n-th record stands, without walking: counts of live records per block of 64 places,
//! kept in memory as a Fenwick tree and brought up to date by the blocks that changed since.

use crate::tx::BLOCK;
use groma_domain::{Kind, WorkspaceId};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// The counts of one kind of record in one workspace.
#[derive(Debug, Default)]
pub(crate) struct BlockCounts {
    /// The generation of the collection that the counts are of.
    pub(crate) generation: u64,
    live: Vec<u8>,
    /// `tree[i]` sums the `lowbit(i)` blocks that end with block `i - 1`; `tree[0]` is unused.
    tree: Vec<u64>,
}

impl BlockCounts {
    /// Sets the count of a block.
    pub(crate) fn set(&mut self, block: usize, live: u8) {
        if self.tree.is_empty() {
            self.tree.push(0);
        }
        while self.live.len() <= block {
            self.live.push(0);
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
        let by = i64::from(live) - i64::from(self.live[block]);
        self.live[block] = live;
        let mut index = block + 1;
        while index < self.tree.len() {
            self.tree[index] = self.tree[index].saturating_add_signed(by);
            index += lowbit(index);
        }
    }

    /// A place from which to walk to the record behind `skip` others, and how many to walk past;
    /// `None` past the end.
    pub(crate) fn locate(&self, skip: u64) -> Option<(u64, u64)> {
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
        let first = index as u64 * BLOCK;
        match self.live.get(index) {
            // Nothing is missing in its block: it stands where it was put.
            Some(live) if u64::from(*live) == BLOCK => Some((first + rest, 0)),
            Some(_) => Some((first, rest)),
            None => None,
        }
    }
}

fn lowbit(index: usize) -> usize {
    index & index.wrapping_neg()
}

/// The counts of one collection, shared by those who read it.
pub(crate) type SharedCounts = Arc<Mutex<BlockCounts>>;

/// The counts of every collection that was asked for.
#[derive(Debug, Default)]
pub(crate) struct BlockCache {
    counts: Mutex<FxHashMap<(WorkspaceId, Kind), SharedCounts>>,
}

impl BlockCache {
    /// The counts of a collection, to be brought up to date by the caller.
    pub(crate) fn of(&self, workspace: WorkspaceId, kind: Kind) -> SharedCounts {
        self.counts.lock().entry((workspace, kind)).or_default().clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nth_record_is_found_whatever_was_set_when() {
        let mut counts = BlockCounts::default();
        let mut plain: Vec<u8> = Vec::new();
        let mut seed = 7_u64;
        for _ in 0..2_000 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let block = (seed >> 33) as usize % 300;
            // Every fourth is full.
            let live = if seed >> 62 == 0 { 64 } else { (seed >> 20) as u8 % 65 };
            plain.resize(plain.len().max(block + 1), 0);
            plain[block] = live;
            counts.set(block, live);
        }
        let mut skip = 0;
        for (block, live) in plain.iter().enumerate() {
            for inside in 0..u64::from(*live) {
                let first = block as u64 * BLOCK;
                let is_full = u64::from(*live) == BLOCK;
                let wanted = if is_full { (first + inside, 0) } else { (first, inside) };
                assert_eq!(counts.locate(skip), Some(wanted));
                skip += 1;
            }
        }
        assert_eq!(counts.locate(skip), None);
        assert_eq!(BlockCounts::default().locate(0), None);
    }
}
