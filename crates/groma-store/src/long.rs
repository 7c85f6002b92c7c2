//! Work that takes long, on a few threads that are always the same: what a thread has freed stays with
//! it for what it does next, so with many threads a program that draws large tiles keeps the memory of
//! as many of them.

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

/// How much of it goes on at a time at least: some of it waits for the disk. Where there are more cores,
/// as many as these.
const THREADS: usize = 4;

type Job = Box<dyn FnOnce() + Send>;

/// Does `work` when one of the threads is free, unless nobody waits for it any more by then.
pub(crate) async fn long<R: Send + 'static>(
    work: impl FnOnce() -> R + Send + 'static,
) -> Result<R> {
    static JOBS: OnceLock<Sender<Job>> = OnceLock::new();
    let (answer, answered) = oneshot::channel();
    let job = move || {
        if !answer.is_closed() {
            // Who went away meanwhile wants no answer.
            let _ = answer.send(work());
        }
    };
    let sent = JOBS.get_or_init(start).send(Box::new(job));
    sent.map_err(|_| Error::Closed)?;
    answered.await.map_err(|_| Error::Closed)
}

fn start() -> Sender<Job> {
    let (jobs, waiting) = mpsc::channel();
    let waiting = Arc::new(Mutex::new(waiting));
    let cores = thread::available_parallelism().map_or(THREADS, NonZero::get);
    for number in 1..=cores.max(THREADS) {
        let waiting = waiting.clone();
        let thread = thread::Builder::new().name(format!("long-work-{number}"));
        if let Err(error) = thread.spawn(move || run(&waiting)) {
            tracing::error!(%error, "a thread for long work could not be started");
        }
    }
    jobs
}

fn run(waiting: &Mutex<Receiver<Job>>) {
    loop {
        let job = waiting.lock().recv();
        let Ok(job) = job else { return };
        // Whoever waits for it sees that there will be no answer; the thread goes on.
        let _ = catch_unwind(AssertUnwindSafe(job));
    }
}
