//! Limits how many searches, exports or imports run at once, for each member and for each workspace, so that a
//! few threads and connections are left for everyone else. Each replica counts its own.

use groma_domain::{PersonId, WorkspaceId};
use parking_lot::Mutex;
use std::{
    collections::HashMap,
    sync::{Arc, Weak},
    time::Duration,
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::Instant,
};

/// How long work waits for other work of the same member or workspace.
const MAX_WAIT: Duration = Duration::from_secs(5);
/// With more entries than this, those that are not in use are removed.
const MANY: usize = 1_000;

/// The work of one sort that runs. Cheap to clone.
#[derive(Clone)]
pub(crate) struct MemberSlots {
    per_member: u32,
    per_workspace: u32,
    max_wait: Duration,
    /// How long a search that reads in steps may take; `None` if there is no limit.
    time_limit: Option<Duration>,
    members: SlotMap<(WorkspaceId, PersonId)>,
    workspaces: SlotMap<WorkspaceId>,
}

type SlotMap<K> = Arc<Mutex<HashMap<K, Weak<Semaphore>>>>;

/// Work that runs. Dropping it lets the next one begin.
pub(crate) struct MemberSlot {
    _permits: Vec<OwnedSemaphorePermit>,
}

impl MemberSlots {
    /// Allows this much work at once; 0 is no limit.
    pub(crate) fn new(per_member: u32, per_workspace: u32) -> Self {
        Self {
            per_member,
            per_workspace,
            max_wait: MAX_WAIT,
            time_limit: None,
            members: SlotMap::default(),
            workspaces: SlotMap::default(),
        }
    }

    /// Ends searches that read in steps after this time.
    pub(crate) fn with_time_limit(self, time_limit: Option<Duration>) -> Self {
        Self { time_limit, ..self }
    }

    /// Waits a few seconds for a slot; `None` if there is none in time.
    pub(crate) async fn acquire(
        &self,
        workspace: WorkspaceId,
        person: PersonId,
    ) -> Option<MemberSlot> {
        tokio::time::timeout(self.max_wait, self.wait(workspace, person)).await.ok().flatten()
    }

    /// Begins a search that reads in steps; `None` if there is no slot in time.
    pub(crate) async fn begin_search(
        &self,
        workspace: WorkspaceId,
        person: PersonId,
    ) -> Option<SteppedSearch> {
        let slot = self.acquire(workspace, person).await?;
        let (slots, left) = (self.clone(), self.time_limit);
        Some(SteppedSearch { slots, workspace, person, slot: Some(slot), left })
    }

    /// Waits for a slot, for any time.
    pub(crate) async fn wait(
        &self,
        workspace: WorkspaceId,
        person: PersonId,
    ) -> Option<MemberSlot> {
        // The member first: a member who waits must not take the slots of the workspace.
        let member = semaphore(&self.members, (workspace, person), self.per_member);
        let workspace = semaphore(&self.workspaces, workspace, self.per_workspace);
        let mut permits = Vec::new();
        for semaphore in [member, workspace].into_iter().flatten() {
            permits.push(semaphore.acquire_owned().await.ok()?);
        }
        Some(MemberSlot { _permits: permits })
    }
}

/// A search that reads in steps. It has a slot while a step runs, but not while a client receives what was
/// found, and it ends when its steps have taken too long.
pub(crate) struct SteppedSearch {
    slots: MemberSlots,
    workspace: WorkspaceId,
    person: PersonId,
    /// The slot of the first step.
    slot: Option<MemberSlot>,
    /// The time that is left.
    left: Option<Duration>,
}

impl SteppedSearch {
    /// Runs a step; `None` if the search takes too long.
    pub(crate) async fn step<T>(&mut self, step: impl Future<Output = T>) -> Option<T> {
        let _slot = match self.slot.take() {
            Some(slot) => Some(slot),
            None => self.slots.wait(self.workspace, self.person).await,
        };
        let Some(left) = self.left else { return Some(step.await) };
        let began = Instant::now();
        let outcome = tokio::time::timeout(left, step).await.ok();
        self.left = Some(left.saturating_sub(began.elapsed()));
        outcome
    }
}

/// The semaphore of a key; `None` if there is no limit. A permit keeps it alive.
fn semaphore<K: Eq + std::hash::Hash>(
    all: &SlotMap<K>,
    key: K,
    limit: u32,
) -> Option<Arc<Semaphore>> {
    if limit == 0 {
        return None;
    }
    let mut all = all.lock();
    if let Some(semaphore) = all.get(&key).and_then(Weak::upgrade) {
        return Some(semaphore);
    }
    if all.len() > MANY {
        all.retain(|_, semaphore| semaphore.strong_count() > 0);
    }
    let semaphore = Arc::new(Semaphore::new(limit as usize));
    all.insert(key, Arc::downgrade(&semaphore));
    Some(semaphore)
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    #[tokio::test]
    async fn member_and_workspace_wait_for_their_own_work_only() {
        let [one, other] = [1, 2].map(|number| WorkspaceId(Uuid::from_u128(number)));
        let [first, second, third] = [1, 2, 3].map(|number| PersonId(Uuid::from_u128(number)));
        let slots = MemberSlots { max_wait: Duration::ZERO, ..MemberSlots::new(1, 2) };
        let held = slots.acquire(one, first).await.unwrap();
        assert!(slots.acquire(one, first).await.is_none());
        let _second = slots.acquire(one, second).await.unwrap();
        assert!(slots.acquire(one, third).await.is_none());
        let _other = slots.acquire(other, first).await.unwrap();
        drop(held);
        assert!(slots.acquire(one, third).await.is_some());
    }

    #[tokio::test]
    async fn search_has_a_slot_only_while_a_step_runs() {
        let (workspace, person) = (WorkspaceId(Uuid::nil()), PersonId(Uuid::nil()));
        let slots = MemberSlots { max_wait: Duration::ZERO, ..MemberSlots::new(1, 1) };
        let mut search = slots.begin_search(workspace, person).await.unwrap();
        assert!(slots.begin_search(workspace, person).await.is_none());
        let is_alone = async || slots.acquire(workspace, person).await.is_none();
        assert_eq!(search.step(is_alone()).await, Some(true));
        assert!(!is_alone().await, "between two steps");
        assert_eq!(search.step(is_alone()).await, Some(true));
    }

    #[tokio::test]
    async fn steps_of_a_search_share_its_time() {
        let (workspace, person) = (WorkspaceId(Uuid::nil()), PersonId(Uuid::nil()));
        let slots = MemberSlots::new(1, 1).with_time_limit(Some(Duration::from_millis(1)));
        let mut search = slots.begin_search(workspace, person).await.unwrap();
        assert!(search.step(std::future::pending::<()>()).await.is_none());
        assert_eq!(search.left, Some(Duration::ZERO));
    }

    #[tokio::test]
    async fn zero_is_no_limit() {
        let slots = MemberSlots::new(0, 0);
        let (workspace, person) = (WorkspaceId(Uuid::nil()), PersonId(Uuid::nil()));
        let mut held = Vec::new();
        for _ in 0..100 {
            held.push(slots.acquire(workspace, person).await.unwrap());
        }
    }
}
