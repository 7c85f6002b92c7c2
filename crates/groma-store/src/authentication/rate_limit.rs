//! Rate limits on SQLite, where one program serves: exact sliding windows in memory.

use groma_domain::{
    TokenId,
    rate_limit::{RateLimitStatus, SlidingWindow, WINDOW_MICROS},
};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// The rate windows of all tokens, in the memory of the one program that serves a SQLite database.
pub(super) struct RateWindows {
    start: Instant,
    windows: Mutex<FxHashMap<TokenId, SlidingWindow>>,
}

impl RateWindows {
    pub(super) fn new() -> Self {
        Self { start: Instant::now(), windows: Mutex::default() }
    }

    pub(super) fn count(&self, token: TokenId, limit: u32) -> Option<RateLimitStatus> {
        if limit == 0 {
            return None;
        }
        let mut windows = self.windows.lock();
        // Read under the lock, so that times enter a window in their order.
        let now = self.now();
        Some(windows.entry(token).or_default().try_acquire(now, limit))
    }

    /// Takes back a request that was accepted at this time.
    pub(super) fn release(&self, token: TokenId, at: u64) {
        if let Some(window) = self.windows.lock().get_mut(&token) {
            window.release(at);
        }
    }

    /// The windows in a form that outlives the program: tokens with the times of their requests, by the
    /// wall clock.
    pub(super) fn export(&self) -> Vec<(TokenId, Vec<u8>)> {
        let mut windows = self.windows.lock();
        let (now, wall) = (self.now(), wall_micros());
        let times = |window: &mut SlidingWindow| {
            let times = window.accepted(now).map(|time| wall.saturating_sub(now - time));
            times.flat_map(u64::to_le_bytes).collect::<Vec<u8>>()
        };
        let exported = windows.iter_mut().map(|(token, window)| (*token, times(window)));
        exported.filter(|(_, times)| !times.is_empty()).collect()
    }

    /// Restores exported windows.
    pub(super) fn import(&self, exported: Vec<(TokenId, Vec<u8>)>) {
        let mut windows = self.windows.lock();
        let (now, wall) = (self.now(), wall_micros());
        for (token, times) in exported {
            let ages = times
                .as_chunks()
                .0
                .iter()
                .map(|time| wall.saturating_sub(u64::from_le_bytes(*time)));
            let recent = ages.filter(|age| *age < WINDOW_MICROS);
            windows.insert(token, SlidingWindow::of(recent.map(|age| now - age)));
        }
    }

    /// Removes empty windows.
    pub(super) fn prune(&self) {
        let mut windows = self.windows.lock();
        let now = self.now();
        windows.retain(|_, window| !window.is_idle(now));
    }

    /// The time by a monotonic clock. It starts at the length of a window, so that it can represent
    /// requests from before the program started.
    fn now(&self) -> u64 {
        WINDOW_MICROS + u64::try_from(self.start.elapsed().as_micros()).unwrap_or(u64::MAX / 2)
    }
}

/// Microseconds since 1970.
fn wall_micros() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}
