//! Writes down what came of attempts: whatever has come together while the last group was written
//! goes in one transaction.

use super::Told;
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

pub(super) struct Recorder {
    attempts: Option<mpsc::UnboundedSender<Attempted>>,
    unwritten: Arc<AtomicUsize>,
    task: Option<JoinHandle<()>>,
}

impl Recorder {
    pub(super) fn start(store: Store, tell: mpsc::UnboundedSender<Told>) -> Self {
        let (attempts, received) = mpsc::unbounded_channel();
        let unwritten = Arc::new(AtomicUsize::new(0));
        let task = tokio::spawn(run(store, received, unwritten.clone(), tell));
        Self { attempts: Some(attempts), unwritten, task: Some(task) }
    }

    pub(super) fn record(&self, attempt: Attempted) {
        self.unwritten.fetch_add(1, Ordering::Relaxed);
        // It ends when this does, and not before.
        let _ = self.attempts.as_ref().map(|attempts| attempts.send(attempt));
    }

    pub(super) fn is_behind(&self) -> bool {
        self.unwritten.load(Ordering::Relaxed) >= BEHIND
    }

    /// Waits until all is written down.
    pub(super) async fn finish(&mut self) {
        self.attempts = None;
        if let Some(task) = self.task.take() {
            let _ = task.await;
        }
    }
}

async fn run(
    store: Store,
    mut received: mpsc::UnboundedReceiver<Attempted>,
    unwritten: Arc<AtomicUsize>,
    tell: mpsc::UnboundedSender<Told>,
) {
    let mut group = Vec::new();
    while received.recv_many(&mut group, GROUP).await > 0 {
        let group = Arc::new(std::mem::take(&mut group));
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
}
