//! The exact sliding window: so many accepted requests in any 60 seconds, not in buckets.

use std::collections::VecDeque;

/// The length of the window.
pub const WINDOW_MICROS: u64 = 60_000_000;

/// Where one token stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateState {
    /// Requests allowed in a window.
    pub limit: u32,
    /// Requests left now.
    pub remaining: u32,
    /// Microseconds until one more than now is allowed.
    pub reset_micros: u64,
    /// Whether this request was let through.
    pub accepted: bool,
}

/// The accepted requests of one token within the last window. Moments are microseconds of a clock
/// that does not go back.
#[derive(Debug, Default)]
pub struct RateWindow {
    accepted: VecDeque<u64>,
}

impl RateWindow {
    /// A window in which requests of these moments were accepted, in this order.
    #[must_use]
    pub fn of(accepted: impl IntoIterator<Item = u64>) -> Self {
        Self { accepted: accepted.into_iter().collect() }
    }

    /// The moments of the requests that count `now`.
    pub fn accepted(&mut self, now: u64) -> impl Iterator<Item = u64> {
        self.forget_before(now);
        self.accepted.iter().copied()
    }

    /// Counts a request that comes `now`, if it is allowed.
    pub fn admit(&mut self, now: u64, limit: u32) -> RateState {
        self.forget_before(now);
        let accepted = self.accepted.len() < limit as usize;
        if accepted {
            self.accepted.push_back(now);
        }
        let oldest = self.accepted.front().copied().unwrap_or(now);
        RateState {
            limit,
            remaining: limit.saturating_sub(u32::try_from(self.accepted.len()).unwrap_or(u32::MAX)),
            reset_micros: (oldest + WINDOW_MICROS).saturating_sub(now),
            accepted,
        }
    }

    /// Whether nothing that was accepted still counts.
    pub fn is_idle(&mut self, now: u64) -> bool {
        self.forget_before(now);
        self.accepted.is_empty()
    }

    fn forget_before(&mut self, now: u64) {
        while self.accepted.front().is_some_and(|moment| moment + WINDOW_MICROS <= now) {
            self.accepted.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_slides_request_by_request() {
        let mut window = RateWindow::default();
        let second = 1_000_000;
        assert!(window.admit(0, 2).accepted);
        assert!(window.admit(30 * second, 2).accepted);
        let refused = window.admit(45 * second, 2);
        assert_eq!(
            (refused.accepted, refused.remaining, refused.reset_micros),
            (false, 0, 15 * second)
        );
        assert!(!window.admit(60 * second - 1, 2).accepted);
        assert!(window.admit(60 * second, 2).accepted, "the first has left");
        assert!(!window.admit(89 * second, 2).accepted, "a refused request counts for nothing");
        assert!(window.admit(90 * second, 2).accepted);
    }
}
