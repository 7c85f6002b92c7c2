//! The queue of one endpoint, with the number of concurrent attempts that the endpoint can handle.

use groma_domain::WorkspaceId;
use groma_store::{Delivery, WebhookTarget};
use std::{collections::VecDeque, sync::Arc, time::Duration};

/// The initial number of concurrent attempts, and the number for slow endpoints.
const INITIAL_CONCURRENCY: usize = 2;
const MAX_CONCURRENCY: usize = 32;
/// A response within this time counts as fast.
const FAST: Duration = Duration::from_secs(1);
/// The number of deliveries to lease ahead for each concurrent attempt.
const LEASED_AHEAD: usize = 6;

pub(super) struct EndpointQueue {
    pub(super) workspace: WorkspaceId,
    /// Leased deliveries that wait for their attempt.
    pub(super) deliveries: VecDeque<Delivery>,
    pub(super) in_flight: usize,
    concurrency: usize,
    /// Whether the store has more due deliveries than are queued here.
    pub(super) has_more: bool,
    /// Whether a lease request for more deliveries is pending.
    pub(super) is_requested: bool,
    /// Whether the queue waits for the overall limit of attempts.
    pub(super) is_ready: bool,
}

impl EndpointQueue {
    pub(super) fn new(workspace: WorkspaceId) -> Self {
        Self {
            workspace,
            deliveries: VecDeque::new(),
            in_flight: 0,
            concurrency: INITIAL_CONCURRENCY,
            has_more: false,
            is_requested: false,
            is_ready: false,
        }
    }

    pub(super) fn can_start(&self) -> bool {
        self.in_flight < self.concurrency && !self.deliveries.is_empty()
    }

    /// Adapts the concurrency: fast successes raise it, failures and slow responses lower it.
    pub(super) fn adjust_concurrency(&mut self, succeeded: bool, latency: Duration) {
        self.concurrency = match (succeeded, latency <= FAST) {
            (true, true) => (self.concurrency * 2).min(MAX_CONCURRENCY),
            (true, false) => self.concurrency.saturating_sub(1).max(INITIAL_CONCURRENCY),
            (false, true) => (self.concurrency / 2).max(1),
            (false, false) => 1,
        };
    }

    /// The number of deliveries to lease; 0 while the queue is at least half full.
    pub(super) fn refill_size(&self) -> usize {
        let capacity = self.concurrency * LEASED_AHEAD;
        if self.deliveries.len() * 2 > capacity { 0 } else { capacity - self.deliveries.len() }
    }

    /// Sends the queued deliveries to the endpoint's current URL, with its current secret.
    pub(super) fn set_target(&mut self, target: &Arc<WebhookTarget>) {
        let deliveries = std::mem::take(&mut self.deliveries);
        self.deliveries = deliveries.into_iter().map(|d| d.with_target(target.clone())).collect();
    }

    pub(super) fn is_idle(&self) -> bool {
        self.deliveries.is_empty()
            && self.in_flight == 0
            && !self.has_more
            && !self.is_requested
            && !self.is_ready
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue() -> EndpointQueue {
        EndpointQueue::new(WorkspaceId(uuid::Uuid::nil()))
    }

    #[test]
    fn fast_successes_raise_concurrency_and_failures_lower_it() {
        let mut queue = queue();
        let fast = Duration::from_millis(20);
        (0..10).for_each(|_| queue.adjust_concurrency(true, fast));
        assert_eq!(queue.concurrency, MAX_CONCURRENCY);
        queue.adjust_concurrency(false, fast);
        assert_eq!(queue.concurrency, MAX_CONCURRENCY / 2);
        (0..10).for_each(|_| queue.adjust_concurrency(false, fast));
        assert_eq!(queue.concurrency, 1);
        queue.adjust_concurrency(true, fast);
        assert_eq!(queue.concurrency, 2);
    }

    #[test]
    fn timeout_lowers_concurrency_to_one_and_slow_success_to_the_initial_value() {
        let mut queue = queue();
        (0..10).for_each(|_| queue.adjust_concurrency(true, Duration::from_millis(1)));
        queue.adjust_concurrency(false, Duration::from_secs(15));
        assert_eq!(queue.concurrency, 1);
        (0..10).for_each(|_| queue.adjust_concurrency(true, Duration::from_millis(1)));
        (0..100).for_each(|_| queue.adjust_concurrency(true, Duration::from_secs(5)));
        assert_eq!(queue.concurrency, INITIAL_CONCURRENCY);
    }
}
