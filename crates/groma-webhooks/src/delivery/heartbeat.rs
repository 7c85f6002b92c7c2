//! Reports whether the delivery loop is still running.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

/// The time of the loop's last iteration. A healthy loop beats at least once a second.
#[derive(Clone)]
pub struct Heartbeat {
    started: Instant,
    /// Milliseconds between the start and the last beat.
    last_beat: Arc<AtomicU64>,
}

impl Heartbeat {
    pub(super) fn new() -> Self {
        Self { started: Instant::now(), last_beat: Arc::default() }
    }

    pub(super) fn beat(&self) {
        let millis = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last_beat.store(millis, Ordering::Relaxed);
    }

    /// The time since the last beat.
    #[must_use]
    pub fn age(&self) -> Duration {
        let last_beat = Duration::from_millis(self.last_beat.load(Ordering::Relaxed));
        self.started.elapsed().saturating_sub(last_beat)
    }
}
