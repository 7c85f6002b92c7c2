//! The changes of one workspace come one after the other, since each holds the lock of its row to the
//! commit. Those that wait in this program for the same workspace share one transaction, each behind a
//! savepoint of its own, and so one sync.

use super::{Postgres, counts::Grown, tx::PostgresTx};
use crate::{Error, Result, tx::Work};
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

/// A group is closed after this long, so that the first of it does not wait for a crowd, nor does
/// another program for the lock.
const GROUP_TIME: Duration = Duration::from_millis(20);

/// The changes that wait, by workspace. Where there is an entry, a task sees to it.
#[derive(Default)]
pub(super) struct Groups(Mutex<HashMap<WorkspaceId, VecDeque<Box<dyn Job>>>>);

/// A change on its way: carried out, then told what became of the group it was in.
trait Job: Send {
    /// Carries it out.
    fn run<'a>(&'a mut self, tx: &'a mut PostgresTx<'_>) -> BoxFuture<'a, Ran>;
    fn tell(self: Box<Self>, committed: Result<(), &str>);
}

/// How a change went.
#[derive(PartialEq, Eq)]
enum Ran {
    Well,
    /// A rule said no.
    Refused,
    /// Something broke.
    Badly,
}

struct Waiting<W: Work> {
    work: Option<W>,
    outcome: Option<Result<W::Output>>,
    answer: oneshot::Sender<Result<W::Output>>,
}

impl<W: Work> Job for Waiting<W> {
    fn run<'a>(&'a mut self, tx: &'a mut PostgresTx<'_>) -> BoxFuture<'a, Ran> {
        Box::pin(async move {
            let Some(work) = self.work.take() else { return Ran::Badly };
            let outcome = work.run(tx).await;
            let ran = match &outcome {
                Ok(_) => Ran::Well,
                Err(Error::Refused { .. }) => Ran::Refused,
                Err(_) => Ran::Badly,
            };
            self.outcome = Some(outcome);
            ran
        })
    }

    fn tell(self: Box<Self>, committed: Result<(), &str>) {
        let outcome = match (self.outcome, committed) {
            (Some(Err(error)), _) => Err(error),
            (Some(Ok(outcome)), Ok(())) => Ok(outcome),
            (_, Err(reason)) => Err(Error::Commit(reason.to_owned())),
            (None, Ok(())) => Err(Error::Closed),
        };
        // The one who asked may have gone away; the change stands all the same.
        let _ = self.answer.send(outcome);
    }
}

impl Postgres {
    /// Carries out work together with whatever else waits for the same workspace.
    pub(super) async fn transact_together<W: Work>(
        self: &Arc<Self>,
        workspace: WorkspaceId,
        work: W,
    ) -> Result<W::Output> {
        let (answer, answered) = oneshot::channel();
        let job = Box::new(Waiting { work: Some(work), outcome: None, answer });
        let is_first = {
            let mut groups = self.groups.0.lock();
            let is_first = !groups.contains_key(&workspace);
            groups.entry(workspace).or_default().push_back(job);
            is_first
        };
        if is_first {
            let store = self.clone();
            tokio::spawn(async move { store.see_to(workspace).await });
        }
        answered.await.map_err(|_| Error::Closed)?
    }

    /// Carries out what waits for a workspace until nothing does.
    async fn see_to(&self, workspace: WorkspaceId) {
        while self.has_waiting(workspace) {
            let mut group = Vec::new();
            // A panic is one group's misfortune, not the end of all writing.
            let run = AssertUnwindSafe(self.run_group(workspace, &mut group)).catch_unwind().await;
            let run = run.unwrap_or_else(|_| Err(Error::Damaged("a change panicked".into())));
            let (committed, grown) = match run {
                Ok(grown) => (Ok(()), grown),
                Err(error) => (Err(error.to_string()), Grown::default()),
            };
            if committed.is_err() && group.is_empty() {
                // Nothing could begin: all who wait are told so, instead of waiting in turns.
                let mut groups = self.groups.0.lock();
                group.extend(groups.get_mut(&workspace).into_iter().flat_map(|w| w.drain(..)));
            }
            for job in group {
                job.tell(committed.as_ref().copied().map_err(String::as_str));
            }
            self.tell_sizes(grown).await;
        }
    }

    /// Whether something waits; when nothing does, nobody sees to the workspace any more.
    fn has_waiting(&self, workspace: WorkspaceId) -> bool {
        let mut groups = self.groups.0.lock();
        let has_waiting = groups.get(&workspace).is_some_and(|waiting| !waiting.is_empty());
        if !has_waiting {
            groups.remove(&workspace);
        }
        has_waiting
    }

    /// Carries out the first of those that wait and whatever else comes meanwhile, and commits. Gives
    /// what has grown by it.
    async fn run_group(
        &self,
        workspace: WorkspaceId,
        group: &mut Vec<Box<dyn Job>>,
    ) -> Result<Grown> {
        let _permit = self.writers.acquire().await.map_err(|_| Error::Closed)?;
        let mut client = self.client().await?;
        let mut tx = PostgresTx::new(client.transaction().await?, &self.desk);
        let begun = Instant::now();
        let Some(mut first) = self.next_waiting(workspace) else { return Ok(Grown::default()) };
        // The first needs no savepoint: without it there is no group, and most have no other.
        let ran = first.run(&mut tx).await;
        group.push(first);
        if ran != Ran::Well {
            return Ok(Grown::default());
        }
        while begun.elapsed() < GROUP_TIME
            && let Some(mut job) = self.next_waiting(workspace)
        {
            let before = tx.begin_next();
            let ran = job.run(&mut tx).await;
            group.push(job);
            if ran != Ran::Well {
                tx.undo(before, ran == Ran::Refused).await?;
            }
        }
        tx.commit().await
    }

    fn next_waiting(&self, workspace: WorkspaceId) -> Option<Box<dyn Job>> {
        self.groups.0.lock().get_mut(&workspace).and_then(VecDeque::pop_front)
    }
}
