//! Tiles drawn from memory: what stands around those that are asked for is kept, ready to be drawn, for
//! as long as its layer does not change. It is read beside the requests that ask for it, so that none
//! waits for more than its own tile.

use super::sieve::Sieve;
use groma_domain::{LayerId, WorkspaceId};
use groma_geo::grid::TileId;
use groma_store::{Store, Vicinity, VicinityId};
use quick_cache::{Weighter, sync::Cache};
use std::sync::Arc;
use tokio::sync::Semaphore;

/// What one takes in memory in a town.
const USUAL_WEIGHT: u64 = 512 << 10;

/// How many are read at the same time.
const AT_ONCE: usize = 2;

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    layer: LayerId,
    revision: u64,
    id: VicinityId,
}

/// Vicinities, up to so many bytes. `None` stands for one that is not there yet, or never will be.
pub(super) struct Vicinities {
    kept: Arc<Cache<Key, Option<Arc<Vicinity>>, Weight>>,
    sieve: Sieve,
    readers: Arc<Semaphore>,
}

#[derive(Clone)]
struct Weight;

impl Weighter<Key, Option<Arc<Vicinity>>> for Weight {
    fn weight(&self, _: &Key, vicinity: &Option<Arc<Vicinity>>) -> u64 {
        vicinity.as_ref().map_or(64, |vicinity| vicinity.weight() as u64)
    }
}

impl Vicinities {
    pub(super) fn new(bytes: u64) -> Self {
        let usual = usize::try_from(bytes / USUAL_WEIGHT).unwrap_or_default();
        Self {
            kept: Arc::new(Cache::with_weighter(usual, bytes, Weight)),
            sieve: Sieve::new(),
            readers: Arc::new(Semaphore::new(if bytes == 0 { 0 } else { AT_ONCE })),
        }
    }

    pub(super) fn bytes(&self) -> u64 {
        self.kept.weight()
    }

    /// The vicinity of a tile of a layer, when it is there.
    pub(super) fn of(
        &self,
        store: &Store,
        workspace: WorkspaceId,
        (layer, revision): (LayerId, u64),
        tile: TileId,
    ) -> Option<Arc<Vicinity>> {
        let key = Key { layer, revision, id: VicinityId::of(tile)? };
        match self.kept.get(&key) {
            Some(vicinity) => vicinity,
            None => {
                self.read(store, workspace, key);
                None
            }
        }
    }

    /// Has a vicinity read when it was asked for before and there is nothing else to do.
    fn read(&self, store: &Store, workspace: WorkspaceId, key: Key) {
        if !self.sieve.was_asked(&key) {
            return;
        }
        let Ok(permit) = self.readers.clone().try_acquire_owned() else { return };
        self.kept.insert(key, None);
        let (kept, store) = (self.kept.clone(), store.clone());
        tokio::spawn(async move {
            match store.vicinity(workspace, key.layer, key.id).await {
                Ok(Some(vicinity)) => {
                    let key = Key { revision: vicinity.revision(), ..key };
                    kept.insert(key, Some(Arc::new(vicinity)));
                }
                Ok(None) => {}
                // The request has its own answer; another will ask again.
                Err(_) => drop(kept.remove(&key)),
            }
            drop(permit);
        });
    }
}
