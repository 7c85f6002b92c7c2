//! The one writer: a thread that takes whatever changes are waiting, carries each out behind a
//! savepoint of its own, writes the search texts of all, and commits them together. Each is acknowledged
//! after that commit has reached the disk. Many small changes then share the cost of one sync.
//!
//! The first of a group has no savepoint: what it wrote is all there is to undo. A savepoint is kept in
//! memory as a list that each statement behind it walks through, so a change of a thousand records
//! would take many times as long.

use super::{indexing::Indexing, readers::Readers, sql};
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
    /// Carries it out; whether it is to be committed. What a first one wrote stays when it fails.
    fn run(&mut self, connection: &mut Connection, indexing: &mut Indexing, is_first: bool)
    -> bool;
    fn tell(self: Box<Self>, committed: Result<(), &str>);
}

struct Waiting<W, R, A> {
    work: Option<W>,
    outcome: Option<Result<R>>,
    /// Done once it is committed, whether or not someone waits for the answer.
    after: A,
    answer: oneshot::Sender<Result<R>>,
}

impl<W, R, A> Job for Waiting<W, R, A>
where
    W: FnOnce(&mut Connection, &mut Indexing) -> Result<R> + Send,
    R: Send,
    A: FnOnce(&mut R) + Send,
{
    fn run(
        &mut self,
        connection: &mut Connection,
        indexing: &mut Indexing,
        is_first: bool,
    ) -> bool {
        let Some(work) = self.work.take() else { return false };
        let mut noted = Indexing::default();
        // A panic is one change's misfortune, not the end of all writing.
        let work = |connection: &mut Connection| {
            catch_unwind(AssertUnwindSafe(|| work(connection, &mut noted)))
                .unwrap_or_else(|_| Err(Error::Damaged("a change panicked".to_owned())))
        };
        let outcome = if is_first { work(connection) } else { behind_savepoint(connection, work) };
        let is_done = outcome.is_ok();
        if is_done {
            indexing.append(noted);
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

    /// Carries out `work`; returns when it is committed and on the disk, or rolled back.
    pub(super) async fn write<R: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<R> + Send + 'static,
    ) -> Result<R> {
        self.write_then(|connection, _| work(connection), |_| ()).await
    }

    /// The same for work that has search texts written too; `after` is done as soon as it is committed.
    pub(super) async fn write_then<R: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection, &mut Indexing) -> Result<R> + Send + 'static,
        after: impl FnOnce(&mut R) + Send + 'static,
    ) -> Result<R> {
        let (answer, answered) = oneshot::channel();
        let job = Box::new(Waiting { work: Some(work), outcome: None, after, answer });
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
        let begun = Instant::now();
        let mut group = vec![first];
        let mut committed = execute(&connection, sql::BEGIN_IMMEDIATE).map_err(|e| e.to_string());
        if committed.is_ok() {
            committed = run_group(&mut connection, &mut group, waiting, readers, begun);
        }
        if let Err(reason) = &committed {
            tracing::error!(%reason, changes = group.len(), "a group of changes was not committed");
            if !connection.is_autocommit()
                && let Err(error) = execute(&connection, sql::ROLLBACK)
            {
                tracing::error!(%error, "the rollback failed too");
            }
        }
        readers.note_commit();
        for job in group {
            job.tell(committed.as_ref().copied().map_err(String::as_str));
        }
    }
}

/// Carries out the first job and whatever else waits, and commits.
fn run_group(
    connection: &mut Connection,
    group: &mut Vec<Box<dyn Job>>,
    waiting: &mpsc::Receiver<Box<dyn Job>>,
    readers: &Readers,
    begun: Instant,
) -> Result<(), String> {
    let mut indexing = Indexing::default();
    for next in 0.. {
        let is_done = group[next].run(connection, &mut indexing, next == 0);
        if next == 0 && !is_done && !connection.is_autocommit() {
            return execute(connection, sql::ROLLBACK).map_err(|error| error.to_string());
        }
        if connection.is_autocommit() {
            return Err("the database rolled the transaction back".to_owned());
        }
        if begun.elapsed() >= GROUP_TIME {
            break;
        }
        let Ok(job) = waiting.try_recv() else { break };
        group.push(job);
    }
    indexing.write(connection).map_err(|error| error.to_string())?;
    readers.await_commit();
    execute(connection, sql::COMMIT).map_err(|error| error.to_string())
}

fn behind_savepoint<R>(
    connection: &mut Connection,
    work: impl FnOnce(&mut Connection) -> Result<R>,
) -> Result<R> {
    execute(connection, sql::SAVEPOINT)?;
    let outcome = work(connection);
    if outcome.is_ok() {
        execute(connection, sql::RELEASE)?;
    } else if !connection.is_autocommit() {
        execute(connection, sql::ROLLBACK_TO)?;
        execute(connection, sql::RELEASE)?;
    }
    outcome
}

fn execute(connection: &Connection, sql: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(sql)?.execute([]).map(drop)
}
