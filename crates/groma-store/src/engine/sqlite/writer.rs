//! The writer: a thread that takes all waiting changes, runs them, and commits them together. Each is
//! acknowledged after that commit has reached the disk, so many small changes share one sync.
//!
//! A change that fails before it has written anything does not affect the others. When one fails later,
//! the whole group is rolled back and each change runs by itself. Savepoints would avoid that, but each
//! keeps a copy of every page that the change touches.

use super::{
    full_text::{self, FullTextEntry},
    readers::ReaderPool,
    sql,
    transaction::{AfterCommit, SqliteTransaction},
};
use crate::{Error, Result};
use rusqlite::Connection;
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, mpsc},
    thread,
    time::{Duration, Instant},
};
use tokio::sync::oneshot;

/// A group closes after this long, so that its first change does not wait for many others.
const MAX_GROUP_TIME: Duration = Duration::from_millis(20);

/// A change in the queue.
trait Job: Send {
    /// Runs it, for the first time or again; returns whether it succeeded.
    fn run(&mut self, connection: &mut Connection, full_text: &mut Vec<FullTextEntry>) -> bool;
    /// Reports what became of its group.
    fn finish(self: Box<Self>, committed: Result<(), &str>);
}

struct PendingWrite<W, R> {
    work: W,
    outcome: Option<Result<R>>,
    after_commit: Vec<AfterCommit>,
    response: oneshot::Sender<Result<R>>,
}

impl<W, R> Job for PendingWrite<W, R>
where
    W: FnMut(&mut SqliteTransaction<'_>) -> Result<R> + Send,
    R: Send,
{
    fn run(&mut self, connection: &mut Connection, full_text: &mut Vec<FullTextEntry>) -> bool {
        let mut tx = SqliteTransaction::new(connection);
        // A panic fails one change, not all later ones.
        let outcome = catch_unwind(AssertUnwindSafe(|| (self.work)(&mut tx)))
            .unwrap_or_else(|_| Err(Error::Damaged("a change panicked".to_owned())));
        let succeeded = outcome.is_ok();
        if succeeded {
            let (entries, after_commit) = tx.finish();
            full_text.extend(entries);
            self.after_commit = after_commit;
        }
        self.outcome = Some(outcome);
        succeeded
    }

    fn finish(self: Box<Self>, committed: Result<(), &str>) {
        let outcome = match (self.outcome, committed) {
            (Some(Err(error)), _) => Err(error),
            (Some(Ok(outcome)), Ok(())) => {
                self.after_commit.into_iter().for_each(|hook| hook());
                Ok(outcome)
            }
            (_, Err(reason)) => Err(Error::Commit(reason.to_owned())),
            (None, Ok(())) => Err(Error::Closed),
        };
        // The caller may have gone away; the change stands all the same.
        let _ = self.response.send(outcome);
    }
}

pub(super) struct Writer {
    jobs: Option<mpsc::Sender<Box<dyn Job>>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Writer {
    pub(super) fn start(mut connection: Connection, readers: Arc<ReaderPool>) -> Result<Self> {
        let (jobs, queue) = mpsc::channel();
        let thread = thread::Builder::new()
            .name("sqlite-writer".to_owned())
            .spawn(move || run(&mut connection, &queue, &readers))
            .map_err(|source| Error::File { path: "sqlite-writer".to_owned(), source })?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread) })
    }

    /// Runs `work`, once or again after a rollback; returns when it is committed and on the disk, or
    /// rolled back.
    pub(super) async fn write<R: Send + 'static>(
        &self,
        work: impl FnMut(&mut SqliteTransaction<'_>) -> Result<R> + Send + 'static,
    ) -> Result<R> {
        let (response, received) = oneshot::channel();
        let job = PendingWrite { work, outcome: None, after_commit: Vec::new(), response };
        self.jobs.as_ref().ok_or(Error::Closed)?.send(Box::new(job)).map_err(|_| Error::Closed)?;
        received.await.map_err(|_| Error::Closed)?
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // Closes the channel; the thread finishes the queue and ends.
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn run(connection: &mut Connection, queue: &mpsc::Receiver<Box<dyn Job>>, readers: &ReaderPool) {
    while let Ok(first) = queue.recv() {
        let more = || queue.try_recv().ok();
        for job in run_group(connection, readers, first, more) {
            run_group(connection, readers, job, || None);
        }
    }
}

/// What became of a group.
enum GroupOutcome {
    Committed,
    /// One change failed half-way, so the transaction cannot be committed.
    Tainted,
    Failed(String),
}

/// Runs a group of changes and reports to each. Returns the changes that are to be run one by one.
fn run_group(
    connection: &mut Connection,
    readers: &ReaderPool,
    first: Box<dyn Job>,
    more: impl FnMut() -> Option<Box<dyn Job>>,
) -> Vec<Box<dyn Job>> {
    let mut group = vec![first];
    let outcome = commit_group(connection, readers, &mut group, more)
        .unwrap_or_else(|error| GroupOutcome::Failed(error.to_string()));
    if let GroupOutcome::Failed(reason) = &outcome {
        tracing::error!(%reason, changes = group.len(), "failed to commit a group of changes");
    }
    if !connection.is_autocommit()
        && let Err(error) = execute(connection, sql::ROLLBACK)
    {
        tracing::error!(%error, "the rollback failed");
    }
    readers.end_commit();
    let committed = match &outcome {
        GroupOutcome::Tainted if group.len() > 1 => return group,
        // A failed change carries its own error.
        GroupOutcome::Committed | GroupOutcome::Tainted => Ok(()),
        GroupOutcome::Failed(reason) => Err(&**reason),
    };
    for job in group {
        job.finish(committed);
    }
    Vec::new()
}

/// Runs the first change and those that arrive meanwhile, and commits.
fn commit_group(
    connection: &mut Connection,
    readers: &ReaderPool,
    group: &mut Vec<Box<dyn Job>>,
    mut more: impl FnMut() -> Option<Box<dyn Job>>,
) -> Result<GroupOutcome> {
    let start = Instant::now();
    let mut entries = Vec::new();
    execute(connection, sql::BEGIN_IMMEDIATE)?;
    for next in 0.. {
        let changes_before = connection.total_changes();
        let succeeded = group[next].run(connection, &mut entries);
        if connection.is_autocommit() {
            let reason = "the database rolled the transaction back";
            return Ok(GroupOutcome::Failed(reason.to_owned()));
        }
        if !succeeded && connection.total_changes() != changes_before {
            return Ok(GroupOutcome::Tainted);
        }
        if start.elapsed() >= MAX_GROUP_TIME {
            break;
        }
        let Some(job) = more() else { break };
        group.push(job);
    }
    full_text::write(connection, entries)?;
    readers.begin_commit();
    execute(connection, sql::COMMIT)?;
    Ok(GroupOutcome::Committed)
}

fn execute(connection: &Connection, sql: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(sql)?.execute([]).map(drop)
}
