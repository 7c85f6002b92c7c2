//! The changes of one workspace come one after the other, since each holds the lock of its row to the
//! commit. Those that wait in this program for the same workspace share one transaction, and so one
//! sync. A rule that refuses one of them does so before it has written anything, which the others do not
//! notice; when a statement fails, nothing of the group is kept, and each is carried out by itself.

use super::{Postgres, counts::Grown, tx::PostgresTx};
use crate::{Applied, Change, Error, Result, change::Apply, tx::Work};
use futures_util::FutureExt;
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
pub(super) struct Groups(Mutex<HashMap<WorkspaceId, VecDeque<Job>>>);

/// A change on its way: carried out, then told what became of the group it was in.
struct Job {
    change: Change,
    outcome: Option<Result<Applied>>,
    answer: oneshot::Sender<Result<Applied>>,
}

impl Job {
    fn tell(self, committed: Result<()>) {
        let outcome = match (self.outcome, committed) {
            (Some(Err(error)), _) | (_, Err(error)) => Err(error),
            (Some(Ok(outcome)), Ok(())) => Ok(outcome),
            (None, Ok(())) => Err(Error::Closed),
        };
        // The one who asked may have gone away; the change stands all the same.
        let _ = self.answer.send(outcome);
    }
}

impl Postgres {
    /// Carries out a change together with whatever else waits for the same workspace.
    pub(crate) async fn apply_together(self: &Arc<Self>, change: Change) -> Result<Applied> {
        let workspace = change.workspace;
        let (answer, answered) = oneshot::channel();
        let job = Job { change, outcome: None, answer };
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
        self.within_reach(async { answered.await.map_err(|_| Error::Closed)? }).await
    }

    /// Carries out what waits for a workspace until nothing does.
    async fn see_to(&self, workspace: WorkspaceId) {
        while self.has_waiting(workspace) {
            let next = || self.groups.0.lock().get_mut(&workspace).and_then(VecDeque::pop_front);
            for job in self.carry_out(next).await {
                let mut job = Some(job);
                self.carry_out(|| job.take()).await;
            }
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

    /// Carries out a group of changes, and tells each what came of it. Gives back those that are to be
    /// tried one by one.
    async fn carry_out(&self, mut next: impl FnMut() -> Option<Job>) -> Vec<Job> {
        let mut group = Vec::new();
        // A panic is one group's misfortune, not the end of all writing.
        let run = AssertUnwindSafe(self.run_group(&mut next, &mut group)).catch_unwind().await;
        match run.unwrap_or_else(|_| Err(Error::Damaged("a change panicked".into()))) {
            Ok(grown) => {
                group.into_iter().for_each(|job| job.tell(Ok(())));
                self.tell_sizes(grown).await;
            }
            Err(error) if is_of_a_statement(&error) && group.len() > 1 => {
                group.iter_mut().for_each(|job| job.outcome = None);
                return group;
            }
            Err(error) => {
                if group.is_empty() {
                    // Nothing could begin: all who wait are told so, instead of waiting in turns.
                    group.extend(std::iter::from_fn(next));
                }
                let (last, reason) = (group.pop(), error.to_string());
                for job in group {
                    job.tell(Err(Error::Commit(reason.clone())));
                }
                // It is the one that failed, if one did.
                if let Some(last) = last {
                    last.tell(Err(error));
                }
            }
        }
        Vec::new()
    }

    /// Carries out the first of those that wait and whatever else comes meanwhile, and commits. Gives
    /// what has grown by it.
    async fn run_group(
        &self,
        next: &mut impl FnMut() -> Option<Job>,
        group: &mut Vec<Job>,
    ) -> Result<Grown> {
        let _permit = self.writers.acquire().await.map_err(|_| Error::Closed)?;
        let mut client = self.client().await?;
        let transaction = client.transaction().await?;
        let mut tx = PostgresTx::new(&transaction, &self.desk);
        let begun = Instant::now();
        while (group.is_empty() || begun.elapsed() < GROUP_TIME)
            && let Some(mut job) = next()
        {
            let outcome = Apply(job.change.clone()).run(&mut tx).await;
            match (outcome, tx.has_written()) {
                (Err(error), has_written) if has_written || is_of_a_statement(&error) => {
                    group.push(job);
                    return Err(error);
                }
                (outcome, _) => job.outcome = Some(outcome),
            }
            group.push(job);
        }
        let written = tx.finish().await?;
        // From here on it may have been committed, whatever the database says: it is not tried again.
        let committed = written.commit(transaction, &self.desk).await;
        committed.map_err(|error| Error::Commit(error.to_string()))
    }
}

/// Whether the database refused a statement, and with it the whole transaction.
fn is_of_a_statement(error: &Error) -> bool {
    matches!(error, Error::Postgres(error) if error.as_db_error().is_some())
}
