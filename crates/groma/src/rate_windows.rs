//! Sliding windows of requests in memory. Each replica counts its own.

use groma_domain::rate_limit::{RateLimitStatus, SlidingWindow};
use parking_lot::Mutex;
use std::{collections::HashMap, hash::Hash, time::Instant};

/// The requests of each client in the last minute.
pub(crate) struct RateWindows<K> {
    limit: u32,
    start: Instant,
    windows: Mutex<HashMap<K, SlidingWindow>>,
}

impl<K: Eq + Hash> RateWindows<K> {
    /// With more windows than this, those of idle clients are removed.
    const MANY: usize = 1_000;

    /// Accepts `limit` requests per minute; any number if it is 0.
    pub(crate) fn new(limit: u32) -> Self {
        Self { limit, start: Instant::now(), windows: Mutex::default() }
    }

    /// Counts a request; `None` if there is no limit.
    pub(crate) fn count(&self, client: K) -> Option<RateLimitStatus> {
        if self.limit == 0 {
            return None;
        }
        let now = u64::try_from(self.start.elapsed().as_micros()).unwrap_or(u64::MAX);
        let mut windows = self.windows.lock();
        if windows.len() > Self::MANY && !windows.contains_key(&client) {
            windows.retain(|_, window| !window.is_idle(now));
        }
        Some(windows.entry(client).or_default().try_acquire(now, self.limit))
    }

    /// Takes back an accepted request.
    pub(crate) fn release(&self, client: &K, rate: RateLimitStatus) {
        if let Some(window) = self.windows.lock().get_mut(client) {
            window.release(rate.at);
        }
    }
}
