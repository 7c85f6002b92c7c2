//! A few threads for work that takes long: searches, exports, large tiles.
//!
//! The threads are always the same ones instead of tokio's blocking pool: an allocator keeps what a thread
//! has freed with that thread, so the more threads draw large tiles, the more memory the program holds.

use crate::{Error, Result};
use parking_lot::Mutex;
use std::{
    num::NonZero,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, OnceLock,
        mpsc::{self, Receiver, Sender},
    },
    thread,
};
use tokio::sync::oneshot;

/// The least number of threads, because some of the work waits for the disk. With more cores there are as
/// many threads as cores.
const MIN_THREADS: usize = 4;

type Job = Box<dyn FnOnce() + Send>;

/// Runs `work` when one of the threads is free, unless the caller has gone away by then.
pub(crate) async fn run_blocking<R: Send + 'static>(
    work: impl FnOnce() -> R + Send + 'static,
) -> Result<R> {
    static JOBS: OnceLock<Sender<Job>> = OnceLock::new();
    let (sender, receiver) = oneshot::channel();
    let job = move || {
        if !sender.is_closed() {
            // Fails only when the caller went away while the work ran.
            let _ = sender.send(work());
        }
    };
    let sent = JOBS.get_or_init(start).send(Box::new(job));
    sent.map_err(|_| Error::Closed)?;
    receiver.await.map_err(|_| Error::Closed)
}

fn start() -> Sender<Job> {
    let (jobs, queue) = mpsc::channel();
    let queue = Arc::new(Mutex::new(queue));
    let cores = thread::available_parallelism().map_or(MIN_THREADS, NonZero::get);
    for number in 1..=cores.max(MIN_THREADS) {
        let queue = queue.clone();
        let thread = thread::Builder::new().name(format!("blocking-{number}"));
        if let Err(error) = thread.spawn(move || run(&queue)) {
            tracing::error!(%error, "failed to start a thread for blocking work");
        }
    }
    jobs
}

fn run(queue: &Mutex<Receiver<Job>>) {
    loop {
        let job = queue.lock().recv();
        let Ok(job) = job else { return };
        // After a panic the caller sees the channel close, and the thread goes on.
        let _ = catch_unwind(AssertUnwindSafe(job));
    }
}
