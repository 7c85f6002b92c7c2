//! What was asked lately, so that only what is asked for again is kept: what goes through everything
//! once would otherwise push out what is asked for all the time.

use quick_cache::DefaultHashBuilder;
use std::{
    hash::{BuildHasher, Hash},
    sync::atomic::{AtomicU64, Ordering},
};

/// How many questions are remembered.
const REMEMBERED: usize = 8 << 10;

pub(super) struct Sieve {
    hasher: DefaultHashBuilder,
    /// Hashes of what was asked, each in its place.
    questions: Box<[AtomicU64]>,
}

impl Sieve {
    pub(super) fn new() -> Self {
        Self {
            hasher: DefaultHashBuilder::default(),
            questions: (0..REMEMBERED).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    /// Whether this was asked lately. From here on it was.
    pub(super) fn was_asked(&self, question: &impl Hash) -> bool {
        let hash = self.hasher.hash_one(question);
        let place = hash as usize % REMEMBERED;
        self.questions[place].swap(hash, Ordering::Relaxed) == hash
    }
}
