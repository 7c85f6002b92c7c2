//! Changes to one workspace wait for its lock, so those that wait in this program share one transaction
//! and one commit.
//!
//! A change that fails before it has written anything does not affect the others. When a statement fails,
//! the whole group is rolled back and each change runs by itself.

use super::{
    Postgres,
    transaction::{PostgresTransaction, PostgresWork},
};
use crate::{Error, Result};
use futures_util::{FutureExt, future::BoxFuture};
use groma_domain::WorkspaceId;
use parking_lot::Mutex;
use std::{
    collections::{HashMap, VecDeque},
    panic::AssertUnwindSafe,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::sync::oneshot;

/// A group closes after this long, so that its first change does not wait for many others, nor another
/// program for the lock.
const MAX_GROUP_TIME: Duration = Duration::from_millis(20);

/// The changes that wait, by workspace. Where there is an entry, a task works on it.
#[derive(Default)]
pub(super) struct Groups(Mutex<HashMap<WorkspaceId, VecDeque<Box<dyn Job>>>>);

/// A change in a queue.
trait Job: Send {
    /// Runs it, for the first time or again. `Err` only when the database rejected a statement or
    /// something was written before the failure, so that the transaction cannot be committed.
    fn run<'t>(
        &'t mut self,
        tx: &'t mut PostgresTransaction<'_>,
    ) -> BoxFuture<'t, Result<(), Error>>;
    /// Reports what became of its group.
    fn finish(self: Box<Self>, committed: Result<()>);
}

struct PendingWork<W: PostgresWork> {
    work: W,
    outcome: Option<Result<W::Output>>,
    response: oneshot::Sender<Result<W::Output>>,
}

impl<W: PostgresWork> Job for PendingWork<W> {
    fn run<'t>(
        &'t mut self,
        tx: &'t mut PostgresTransaction<'_>,
    ) -> BoxFuture<'t, Result<(), Error>> {
        Box::pin(async move {
            self.outcome = None;
            let outcome = self.work.clone().run_on_postgres(tx).await;
            let has_written = tx.take_has_written();
            match outcome {
                Err(error) if has_written || is_rejected_statement(&error) => Err(error),
                outcome => {
                    self.outcome = Some(outcome);
                    Ok(())
                }
            }
        })
    }

    fn finish(self: Box<Self>, committed: Result<()>) {
        let outcome = match (self.outcome, committed) {
            (Some(Err(error)), _) | (_, Err(error)) => Err(error),
            (Some(Ok(outcome)), Ok(())) => Ok(outcome),
            (None, Ok(())) => Err(Error::Closed),
        };
        // The caller may have gone away; the change stands all the same.
        let _ = self.response.send(outcome);
    }
}

/// Queues work for a workspace and awaits its outcome.
pub(super) async fn submit<W: PostgresWork>(
    engine: &Arc<Postgres>,
    workspace: WorkspaceId,
    work: W,
) -> Result<W::Output> {
    let (response, received) = oneshot::channel();
    let job = Box::new(PendingWork { work, outcome: None, response });
    let is_first = {
        let mut groups = engine.groups.0.lock();
        let is_first = !groups.contains_key(&workspace);
        groups.entry(workspace).or_default().push_back(job);
        is_first
    };
    if is_first {
        let engine = engine.clone();
        tokio::spawn(async move { drain(&engine, workspace).await });
    }
    received.await.map_err(|_| Error::Closed)?
}

/// Runs what waits for a workspace until nothing does.
async fn drain(engine: &Arc<Postgres>, workspace: WorkspaceId) {
    while has_waiting(engine, workspace) {
        let next = || engine.groups.0.lock().get_mut(&workspace).and_then(VecDeque::pop_front);
        for job in run_group(engine, next).await {
            let mut job = Some(job);
            run_group(engine, || job.take()).await;
        }
    }
}

/// Whether anything waits; when nothing does, the workspace's queue is removed.
fn has_waiting(engine: &Postgres, workspace: WorkspaceId) -> bool {
    let mut groups = engine.groups.0.lock();
    let has_waiting = groups.get(&workspace).is_some_and(|waiting| !waiting.is_empty());
    if !has_waiting {
        groups.remove(&workspace);
    }
    has_waiting
}

/// Runs a group of changes and reports to each. Returns the changes that are to be run one by one.
async fn run_group(
    engine: &Arc<Postgres>,
    mut next: impl FnMut() -> Option<Box<dyn Job>> + Send,
) -> Vec<Box<dyn Job>> {
    let mut group = Vec::new();
    // A panic fails one group, not all later ones.
    let run = AssertUnwindSafe(commit_group(engine, &mut next, &mut group)).catch_unwind().await;
    match run.unwrap_or_else(|_| Err(Error::Damaged("a change panicked".into()))) {
        Ok(()) => group.into_iter().for_each(|job| job.finish(Ok(()))),
        Err(error) if is_rejected_statement(&error) && group.len() > 1 => return group,
        Err(error) => {
            if group.is_empty() {
                // Not even a transaction could begin: all that wait fail now instead of one by one.
                group.extend(std::iter::from_fn(next));
            }
            let (last, reason) = (group.pop(), error.to_string());
            for job in group {
                job.finish(Err(Error::Commit(reason.clone())));
            }
            // If a change failed, it is the last one.
            if let Some(last) = last {
                last.finish(Err(error));
            }
        }
    }
    Vec::new()
}

/// Runs the first change that waits and those that arrive meanwhile, and commits.
async fn commit_group(
    engine: &Arc<Postgres>,
    next: &mut (impl FnMut() -> Option<Box<dyn Job>> + Send),
    group: &mut Vec<Box<dyn Job>>,
) -> Result<()> {
    let _permit = engine.writers.acquire().await.map_err(|_| Error::Closed)?;
    let mut client = engine.client().await?;
    let transaction = client.transaction().await?;
    let mut tx = PostgresTransaction::new(&transaction);
    let start = Instant::now();
    while (group.is_empty() || start.elapsed() < MAX_GROUP_TIME)
        && let Some(mut job) = next()
    {
        let outcome = job.run(&mut tx).await;
        group.push(job);
        outcome?;
    }
    let hooks = tx.finish().await?;
    // From here on it may be committed, whatever the database reports: it is not run again.
    transaction.commit().await.map_err(|error| Error::Commit(Error::from(error).to_string()))?;
    hooks.run(engine);
    Ok(())
}

/// Whether the database rejected a statement, and with it the whole transaction.
fn is_rejected_statement(error: &Error) -> bool {
    matches!(error, Error::Postgres(error) if error.as_db_error().is_some())
}
