//! Writes down what came of attempts: whatever has come together while the last group was written
//! goes in one transaction. That the clock was set back is written down in its turn: what came of
//! attempts before is due by the clock as it was, what comes of later ones by the clock as it is.

use super::Told;
use groma_domain::Timestamp;
use groma_store::{Attempted, Store};
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};
use tokio::{sync::mpsc, task::JoinHandle};

/// How many go in one transaction.
const GROUP: usize = 512;
/// With so many not written down, no new attempts are begun.
const BEHIND: usize = 2_048;
/// How long it is tried to write a group down; then others have the leases.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long to wait before it is tried again.
const AGAIN: Duration = Duration::from_millis(500);

enum Entry {
    Attempt(Attempted),
    /// The clock was set back by so many milliseconds, to this moment.
    SetBack(i64, Timestamp),
}

pub(super) struct Recorder {
    entries: Option<mpsc::UnboundedSender<Entry>>,
    unwritten: Arc<AtomicUsize>,
    task: Option<JoinHandle<()>>,
}

impl Recorder {
    pub(super) fn start(store: Store, tell: mpsc::UnboundedSender<Told>) -> Self {
        let (entries, received) = mpsc::unbounded_channel();
        let unwritten = Arc::new(AtomicUsize::new(0));
        let task = tokio::spawn(run(store, received, unwritten.clone(), tell));
        Self { entries: Some(entries), unwritten, task: Some(task) }
    }

    pub(super) fn record(&self, attempt: Attempted) {
        self.unwritten.fetch_add(1, Ordering::Relaxed);
        self.enter(Entry::Attempt(attempt));
    }

    pub(super) fn set_back(&self, millis: i64, now: Timestamp) {
        self.enter(Entry::SetBack(millis, now));
    }

    fn enter(&self, entry: Entry) {
        // It ends when this does, and not before.
        let _ = self.entries.as_ref().map(|entries| entries.send(entry));
    }

    pub(super) fn is_behind(&self) -> bool {
        self.unwritten.load(Ordering::Relaxed) >= BEHIND
    }

    /// Waits until all is written down.
    pub(super) async fn finish(&mut self) {
        self.entries = None;
        if let Some(task) = self.task.take() {
            let _ = task.await;
        }
    }
}

async fn run(
    store: Store,
    mut received: mpsc::UnboundedReceiver<Entry>,
    unwritten: Arc<AtomicUsize>,
    tell: mpsc::UnboundedSender<Told>,
) {
    let mut entries = Vec::new();
    while received.recv_many(&mut entries, GROUP).await > 0 {
        let mut group = Vec::new();
        for entry in entries.drain(..) {
            match entry {
                Entry::Attempt(attempt) => group.push(attempt),
                Entry::SetBack(millis, now) => {
                    write(&store, std::mem::take(&mut group), &unwritten, &tell).await;
                    tracing::warn!(millis, "the clock was set back");
                    if let Err(error) = store.clock_was_set_back(millis, now).await {
                        tracing::warn!(%error, "deliveries wait for as long as the clock was set back");
                    }
                }
            }
        }
        write(&store, group, &unwritten, &tell).await;
    }
}

async fn write(
    store: &Store,
    group: Vec<Attempted>,
    unwritten: &AtomicUsize,
    tell: &mpsc::UnboundedSender<Told>,
) {
    if group.is_empty() {
        return;
    }
    let group = Arc::new(group);
    let begun = Instant::now();
    loop {
        match store.record_attempts(group.clone()).await {
            Ok(disabled) if disabled.is_empty() => break,
            Ok(disabled) => {
                let _ = tell.send(Told::Disabled(disabled));
                break;
            }
            Err(error) if begun.elapsed() > PATIENCE => {
                tracing::error!(%error, attempts = group.len(), "attempts were not written down");
                break;
            }
            Err(error) => {
                tracing::warn!(%error, "attempts are not written down yet");
                tokio::time::sleep(AGAIN).await;
            }
        }
    }
    if unwritten.fetch_sub(group.len(), Ordering::Relaxed) >= BEHIND {
        let _ = tell.send(Told::Written);
    }
}
