//! One endpoint's part of the loop: what is queued for it, and how much at a time it can take.

use groma_domain::WorkspaceId;
use groma_store::{Addressee, Delivery};
use std::{collections::VecDeque, sync::Arc, time::Duration};

/// How many attempts a lane begins with, and has at most.
const FIRST: usize = 2;
const MOST: usize = 32;
/// An answer that comes within this time is a quick one.
const QUICK: Duration = Duration::from_secs(1);
/// How many are leased ahead for each attempt at a time.
const AHEAD: usize = 6;

pub(super) struct Lane {
    pub(super) workspace: WorkspaceId,
    pub(super) queue: VecDeque<Delivery>,
    pub(super) in_flight: usize,
    /// How many attempts at a time.
    limit: usize,
    /// Whether more is waiting than is queued.
    pub(super) has_more: bool,
    /// Whether more was asked for.
    pub(super) is_asked: bool,
    /// Whether it waits for room to begin.
    pub(super) is_ready: bool,
}

impl Lane {
    pub(super) fn new(workspace: WorkspaceId) -> Self {
        Self {
            workspace,
            queue: VecDeque::new(),
            in_flight: 0,
            limit: FIRST,
            has_more: false,
            is_asked: false,
            is_ready: false,
        }
    }

    pub(super) fn may_begin(&self) -> bool {
        self.in_flight < self.limit && !self.queue.is_empty()
    }

    /// Learns from an attempt: quick successes widen the lane, failures and long waits narrow it.
    pub(super) fn adjust(&mut self, succeeded: bool, latency: Duration) {
        self.limit = match (succeeded, latency <= QUICK) {
            (true, true) => (self.limit * 2).min(MOST),
            (true, false) => self.limit.saturating_sub(1).max(FIRST),
            (false, true) => (self.limit / 2).max(1),
            (false, false) => 1,
        };
    }

    /// How many more it can do with, so that it does not run dry.
    pub(super) fn wanted(&self) -> usize {
        let ahead = self.limit * AHEAD;
        if self.queue.len() * 2 > ahead { 0 } else { ahead - self.queue.len() }
    }

    /// What is queued goes to the endpoint as it is now.
    pub(super) fn readdress(&mut self, target: &Arc<Addressee>) {
        let queued = std::mem::take(&mut self.queue);
        self.queue = queued.into_iter().map(|d| d.with_target(target.clone())).collect();
    }

    /// Whether nothing is known of it that is worth keeping.
    pub(super) fn is_idle(&self) -> bool {
        self.queue.is_empty()
            && self.in_flight == 0
            && !self.has_more
            && !self.is_asked
            && !self.is_ready
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lane() -> Lane {
        Lane::new(WorkspaceId(uuid::Uuid::nil()))
    }

    #[test]
    fn quick_successes_widen_a_lane_and_failures_narrow_it_to_one() {
        let mut lane = lane();
        let quick = Duration::from_millis(20);
        (0..10).for_each(|_| lane.adjust(true, quick));
        assert_eq!(lane.limit, MOST);
        lane.adjust(false, quick);
        assert_eq!(lane.limit, MOST / 2);
        (0..10).for_each(|_| lane.adjust(false, quick));
        assert_eq!(lane.limit, 1);
        lane.adjust(true, quick);
        assert_eq!(lane.limit, 2);
    }

    #[test]
    fn one_that_hangs_is_tried_one_at_a_time_and_a_slow_one_a_few() {
        let mut lane = lane();
        (0..10).for_each(|_| lane.adjust(true, Duration::from_millis(1)));
        lane.adjust(false, Duration::from_secs(15));
        assert_eq!(lane.limit, 1);
        (0..10).for_each(|_| lane.adjust(true, Duration::from_millis(1)));
        (0..100).for_each(|_| lane.adjust(true, Duration::from_secs(5)));
        assert_eq!(lane.limit, FIRST);
    }
}
