//! Records the results of attempts in batches: each transaction takes everything that arrived while
//! the previous one was written.
//!
//! When the system clock is set back, the recorder adjusts the due times in the store. This happens in
//! order with the attempts: earlier attempts have due times of the old clock, later ones of the new
//! clock.

use super::LoopMessage;
use groma_domain::Timestamp;
use groma_store::{Attempt, Store};
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};
use tokio::{sync::mpsc, task::JoinHandle};

/// The maximum number of attempts per transaction.
const MAX_BATCH: usize = 512;
/// While this many attempts are unrecorded, no new attempts start.
const MAX_UNRECORDED: usize = 2_048;
/// How long to retry a batch. After that, the leases have expired and other loops own the deliveries.
const GIVE_UP_AFTER: Duration = Duration::from_secs(60);
const RETRY_INTERVAL: Duration = Duration::from_millis(500);

enum Entry {
    Attempt(Attempt),
    /// The clock was set back by `millis` to `now`.
    ClockSetBack {
        millis: i64,
        now: Timestamp,
    },
}

pub(super) struct Recorder {
    entries: Option<mpsc::UnboundedSender<Entry>>,
    unrecorded: Arc<AtomicUsize>,
    task: Option<JoinHandle<()>>,
}

impl Recorder {
    pub(super) fn start(store: Store, messages: mpsc::UnboundedSender<LoopMessage>) -> Self {
        let (entries, received) = mpsc::unbounded_channel();
        let unrecorded = Arc::new(AtomicUsize::new(0));
        let task = RecorderTask { store, unrecorded: unrecorded.clone(), messages };
        let task = tokio::spawn(task.run(received));
        Self { entries: Some(entries), unrecorded, task: Some(task) }
    }

    pub(super) fn record(&self, attempt: Attempt) {
        self.unrecorded.fetch_add(1, Ordering::Relaxed);
        self.send(Entry::Attempt(attempt));
    }

    pub(super) fn clock_set_back(&self, millis: i64, now: Timestamp) {
        self.send(Entry::ClockSetBack { millis, now });
    }

    fn send(&self, entry: Entry) {
        // The task ends only after this sender is dropped, so sending cannot fail.
        let _ = self.entries.as_ref().map(|entries| entries.send(entry));
    }

    pub(super) fn is_behind(&self) -> bool {
        self.unrecorded.load(Ordering::Relaxed) >= MAX_UNRECORDED
    }

    /// Waits until everything is recorded.
    pub(super) async fn finish(&mut self) {
        self.entries = None;
        if let Some(task) = self.task.take() {
            let _ = task.await;
        }
    }
}

struct RecorderTask {
    store: Store,
    unrecorded: Arc<AtomicUsize>,
    messages: mpsc::UnboundedSender<LoopMessage>,
}

impl RecorderTask {
    async fn run(self, mut received: mpsc::UnboundedReceiver<Entry>) {
        let mut entries = Vec::new();
        while received.recv_many(&mut entries, MAX_BATCH).await > 0 {
            let mut batch = Vec::new();
            for entry in entries.drain(..) {
                match entry {
                    Entry::Attempt(attempt) => batch.push(attempt),
                    Entry::ClockSetBack { millis, now } => {
                        self.write(std::mem::take(&mut batch)).await;
                        self.adjust_due_times(millis, now).await;
                    }
                }
            }
            self.write(batch).await;
        }
    }

    async fn adjust_due_times(&self, millis: i64, now: Timestamp) {
        tracing::warn!(millis, "the system clock was set back");
        if let Err(error) = self.store.adjust_to_clock(millis, now).await {
            tracing::warn!(
                %error,
                "failed to adjust due times; deliveries are delayed by the time the clock was set back"
            );
        }
    }

    async fn write(&self, batch: Vec<Attempt>) {
        if batch.is_empty() {
            return;
        }
        let batch = Arc::new(batch);
        let started = Instant::now();
        loop {
            match self.store.record_attempts(batch.clone()).await {
                Ok(disabled) if disabled.is_empty() => break,
                Ok(disabled) => {
                    let _ = self.messages.send(LoopMessage::Disabled(disabled));
                    break;
                }
                Err(error) if started.elapsed() > GIVE_UP_AFTER => {
                    tracing::error!(%error, attempts = batch.len(), "failed to record attempts");
                    break;
                }
                Err(error) => {
                    tracing::warn!(%error, "failed to record attempts; retrying");
                    tokio::time::sleep(RETRY_INTERVAL).await;
                }
            }
        }
        if self.unrecorded.fetch_sub(batch.len(), Ordering::Relaxed) >= MAX_UNRECORDED {
            let _ = self.messages.send(LoopMessage::CaughtUp);
        }
    }
}
