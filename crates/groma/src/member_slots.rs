//! Limits how many searches or exports run at once, for each member and for each workspace, so that a few threads
//! and connections are left for everyone else. Each replica counts its own.

use groma_domain::{PersonId, WorkspaceId};
use parking_lot::Mutex;
use std::{
    collections::HashMap,
    sync::{Arc, Weak},
    time::Duration,
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

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
            members: SlotMap::default(),
            workspaces: SlotMap::default(),
        }
    }

    /// Waits for a slot; `None` if there is none in time.
    pub(crate) async fn acquire(
        &self,
        workspace: WorkspaceId,
        person: PersonId,
    ) -> Option<MemberSlot> {
        // The member first: a member who waits must not take the slots of the workspace.
        let member = semaphore(&self.members, (workspace, person), self.per_member);
        let workspace = semaphore(&self.workspaces, workspace, self.per_workspace);
        let acquire = async {
            let mut permits = Vec::new();
            for semaphore in [member, workspace].into_iter().flatten() {
                permits.push(semaphore.acquire_owned().await.ok()?);
            }
            Some(MemberSlot { _permits: permits })
        };
        tokio::time::timeout(self.max_wait, acquire).await.ok().flatten()
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
    async fn zero_is_no_limit() {
        let slots = MemberSlots::new(0, 0);
        let (workspace, person) = (WorkspaceId(Uuid::nil()), PersonId(Uuid::nil()));
        let mut held = Vec::new();
        for _ in 0..100 {
            held.push(slots.acquire(workspace, person).await.unwrap());
        }
    }
}
