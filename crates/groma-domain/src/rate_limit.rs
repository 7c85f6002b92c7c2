//! The rate limit: an exact sliding window of 60 seconds, not fixed buckets.

use std::collections::VecDeque;

/// The length of the window, in microseconds.
pub const WINDOW_MICROS: u64 = 60_000_000;

/// The state of a token's rate limit after a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimitStatus {
    /// Requests allowed per window.
    pub limit: u32,
    /// Requests left in the current window.
    pub remaining: u32,
    /// Microseconds until the oldest request leaves the window.
    pub reset_micros: u64,
    /// Whether the request was accepted.
    pub accepted: bool,
    /// When it was, by the clock of its window.
    pub at: u64,
}

impl RateLimitStatus {
    /// The state after this request was taken back.
    #[must_use]
    pub fn released(self) -> Self {
        Self { remaining: self.remaining.saturating_add(1).min(self.limit), ..self }
    }
}

/// The accepted requests of one token within the last window.
///
/// Times are microseconds of a monotonic clock.
#[derive(Debug, Default)]
pub struct SlidingWindow {
    accepted: VecDeque<u64>,
}

impl SlidingWindow {
    /// A window with requests accepted at these times, in ascending order.
    #[must_use]
    pub fn of(accepted: impl IntoIterator<Item = u64>) -> Self {
        Self { accepted: accepted.into_iter().collect() }
    }

    /// The times of the accepted requests that are still in the window.
    pub fn accepted(&mut self, now: u64) -> impl Iterator<Item = u64> {
        self.remove_expired(now);
        self.accepted.iter().copied()
    }

    /// Accepts and counts a request if the limit allows it.
    pub fn try_acquire(&mut self, now: u64, limit: u32) -> RateLimitStatus {
        self.remove_expired(now);
        let accepted = self.accepted.len() < limit as usize;
        if accepted {
            self.accepted.push_back(now);
        }
        let oldest = self.accepted.front().copied().unwrap_or(now);
        RateLimitStatus {
            limit,
            remaining: limit.saturating_sub(u32::try_from(self.accepted.len()).unwrap_or(u32::MAX)),
            reset_micros: (oldest + WINDOW_MICROS).saturating_sub(now),
            accepted,
            at: now,
        }
    }

    /// Takes back a request that was accepted at this time.
    pub fn release(&mut self, at: u64) {
        if let Ok(index) = self.accepted.binary_search(&at) {
            self.accepted.remove(index);
        }
    }

    /// Whether the window is empty.
    pub fn is_idle(&mut self, now: u64) -> bool {
        self.remove_expired(now);
        self.accepted.is_empty()
    }

    fn remove_expired(&mut self, now: u64) {
        while self.accepted.front().is_some_and(|time| time + WINDOW_MICROS <= now) {
            self.accepted.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn released_request_does_not_count() {
        let mut window = SlidingWindow::default();
        let first = window.try_acquire(1, 2);
        assert!(window.try_acquire(5, 2).accepted);
        window.release(first.at);
        assert_eq!(window.accepted(6).collect::<Vec<_>>(), [5], "the other one still counts");
        window.release(first.at);
        assert!(window.try_acquire(7, 2).accepted);
        assert!(!window.try_acquire(8, 2).accepted, "a request is taken back once");
    }

    #[test]
    fn window_slides_and_rejected_requests_do_not_count() {
        let mut window = SlidingWindow::default();
        let second = 1_000_000;
        assert!(window.try_acquire(0, 2).accepted);
        assert!(window.try_acquire(30 * second, 2).accepted);
        let rejected = window.try_acquire(45 * second, 2);
        assert_eq!(
            (rejected.accepted, rejected.remaining, rejected.reset_micros),
            (false, 0, 15 * second)
        );
        assert!(!window.try_acquire(60 * second - 1, 2).accepted);
        assert!(window.try_acquire(60 * second, 2).accepted, "the first request has expired");
        assert!(!window.try_acquire(89 * second, 2).accepted, "rejected requests do not count");
        assert!(window.try_acquire(90 * second, 2).accepted);
    }
}
