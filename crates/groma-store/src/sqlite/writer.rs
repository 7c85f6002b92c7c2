//! The one writer: a thread that takes whatever changes are waiting, carries them out, writes what is
//! derived from them, and commits them together. Each is acknowledged after that commit has reached the disk.
//! Many small changes then share the cost of one sync.
//!
//! A change that fails before it has written anything is not noticed by the others. When one fails
//! later, nothing of the group is kept, and each is carried out by itself. Savepoints would spare that,
//! but each keeps a copy of every page that the change touches.

use super::{derived::Derived, readers::Readers, sql};
use crate::{Error, Result};
use rusqlite::Connection;
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, mpsc},
    thread,
    time::{Duration, Instant},
};
use tokio::sync::oneshot;

/// A group is closed after this long, so that the first of it does not wait for a crowd.
const GROUP_TIME: Duration = Duration::from_millis(20);

/// A change on its way: carried out, then told what became of the group it was in.
trait Job: Send {
    /// Carries it out, for the first time or again; whether that succeeded.
    fn run(&mut self, connection: &mut Connection, derived: &mut Derived) -> bool;
    fn tell(self: Box<Self>, committed: Result<(), &str>);
}

struct Waiting<W, R, A> {
    work: W,
    outcome: Option<Result<R>>,
    /// Done once it is committed, whether or not someone waits for the answer.
    after: A,
    answer: oneshot::Sender<Result<R>>,
}

impl<W, R, A> Job for Waiting<W, R, A>
where
    W: FnMut(&mut Connection, &mut Derived) -> Result<R> + Send,
    R: Send,
    A: FnOnce(&mut R) + Send,
{
    fn run(&mut self, connection: &mut Connection, derived: &mut Derived) -> bool {
        let mut noted = Derived::default();
        // A panic is one change's misfortune, not the end of all writing.
        let outcome = catch_unwind(AssertUnwindSafe(|| (self.work)(connection, &mut noted)))
            .unwrap_or_else(|_| Err(Error::Damaged("a change panicked".to_owned())));
        let is_done = outcome.is_ok();
        if is_done {
            derived.append(noted);
        }
        self.outcome = Some(outcome);
        is_done
    }

    fn tell(self: Box<Self>, committed: Result<(), &str>) {
        let outcome = match (self.outcome, committed) {
            (Some(Err(error)), _) => Err(error),
            (Some(Ok(mut outcome)), Ok(())) => {
                (self.after)(&mut outcome);
                Ok(outcome)
            }
            (_, Err(reason)) => Err(Error::Commit(reason.to_owned())),
            (None, Ok(())) => Err(Error::Closed),
        };
        // The one who asked may have gone away; the change stands all the same.
        let _ = self.answer.send(outcome);
    }
}

pub(super) struct Writer {
    jobs: Option<mpsc::Sender<Box<dyn Job>>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Writer {
    pub(super) fn start(connection: Connection, readers: Arc<Readers>) -> Result<Self> {
        let (jobs, waiting) = mpsc::channel();
        let thread = thread::Builder::new()
            .name("sqlite-writer".to_owned())
            .spawn(move || run(connection, &waiting, &readers))
            .map_err(|source| Error::File { path: "sqlite-writer".to_owned(), source })?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread) })
    }

    /// Carries out `work`, once or again after it was undone; returns when it is committed and on the
    /// disk, or rolled back.
    pub(super) async fn write<R: Send + 'static>(
        &self,
        mut work: impl FnMut(&mut Connection) -> Result<R> + Send + 'static,
    ) -> Result<R> {
        self.write_then(move |connection, _| work(connection), |_| ()).await
    }

    /// The same for work that has something derived from it; `after` is done as soon as it is committed.
    pub(super) async fn write_then<R: Send + 'static>(
        &self,
        work: impl FnMut(&mut Connection, &mut Derived) -> Result<R> + Send + 'static,
        after: impl FnOnce(&mut R) + Send + 'static,
    ) -> Result<R> {
        let (answer, answered) = oneshot::channel();
        let job = Box::new(Waiting { work, outcome: None, after, answer });
        self.jobs.as_ref().ok_or(Error::Closed)?.send(job).map_err(|_| Error::Closed)?;
        answered.await.map_err(|_| Error::Closed)?
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // Closes the channel; the thread finishes what waits and ends.
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn run(mut connection: Connection, waiting: &mpsc::Receiver<Box<dyn Job>>, readers: &Readers) {
    while let Ok(first) = waiting.recv() {
        let more = || waiting.try_recv().ok();
        for job in carry_out(&mut connection, readers, first, more) {
            carry_out(&mut connection, readers, job, || None);
        }
    }
}

/// What became of a group.
enum Outcome {
    Committed,
    /// One of it failed half-way.
    Spoilt,
    Failed(String),
}

/// Carries out a group of changes, and tells each what came of it. Gives back those that are to be tried
/// one by one.
fn carry_out(
    connection: &mut Connection,
    readers: &Readers,
    first: Box<dyn Job>,
    more: impl FnMut() -> Option<Box<dyn Job>>,
) -> Vec<Box<dyn Job>> {
    let mut group = vec![first];
    let outcome = run_group(connection, readers, &mut group, more)
        .unwrap_or_else(|error| Outcome::Failed(error.to_string()));
    if let Outcome::Failed(reason) = &outcome {
        tracing::error!(%reason, changes = group.len(), "a group of changes was not committed");
    }
    if !connection.is_autocommit()
        && let Err(error) = execute(connection, sql::ROLLBACK)
    {
        tracing::error!(%error, "the rollback failed");
    }
    readers.note_commit();
    let committed = match &outcome {
        Outcome::Spoilt if group.len() > 1 => return group,
        // The one that it is knows why.
        Outcome::Committed | Outcome::Spoilt => Ok(()),
        Outcome::Failed(reason) => Err(&**reason),
    };
    for job in group {
        job.tell(committed);
    }
    Vec::new()
}

/// Carries out the first change and whatever else comes meanwhile, and commits.
fn run_group(
    connection: &mut Connection,
    readers: &Readers,
    group: &mut Vec<Box<dyn Job>>,
    mut more: impl FnMut() -> Option<Box<dyn Job>>,
) -> Result<Outcome> {
    let begun = Instant::now();
    let mut derived = Derived::default();
    execute(connection, sql::BEGIN_IMMEDIATE)?;
    for next in 0.. {
        let written = connection.total_changes();
        let is_done = group[next].run(connection, &mut derived);
        if connection.is_autocommit() {
            return Ok(Outcome::Failed("the database rolled the transaction back".to_owned()));
        }
        if !is_done && connection.total_changes() != written {
            return Ok(Outcome::Spoilt);
        }
        if begun.elapsed() >= GROUP_TIME {
            break;
        }
        let Some(job) = more() else { break };
        group.push(job);
    }
    derived.write(connection)?;
    readers.await_commit();
    execute(connection, sql::COMMIT)?;
    Ok(Outcome::Committed)
}

fn execute(connection: &Connection, sql: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(sql)?.execute([]).map(drop)
}
