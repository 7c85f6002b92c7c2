//! `groma import layer --mode replace`: finds and deletes the features of a layer that a file does not contain.

use crate::{clock, commands::CommandError};
use groma_domain::{GeometryId, LayerId, WorkspaceId, layer::LayerKey};
use groma_store::{Actor, LayerFeature, Store};
use std::collections::HashSet;
use twox_hash::XxHash3_128;

/// The number of features read and deleted at a time.
const BATCH: u32 = 1_000;

/// The ids of the features of a file, as hashes.
#[derive(Clone, Default)]
pub(super) struct IdsInFile(HashSet<u128>);

impl IdsInFile {
    pub(super) fn add(&mut self, id: Option<&str>) {
        if let Some(id) = id {
            self.0.insert(hash(id));
            // An id of Groma is recognised in upper case, too.
            self.0.insert(hash(&id.to_ascii_lowercase()));
        }
    }

    fn contains(&self, feature: &LayerFeature) -> bool {
        self.0.contains(&hash(&feature.id.to_string()))
            || feature.external_id.as_ref().is_some_and(|id| self.0.contains(&hash(id)))
    }
}

fn hash(id: &str) -> u128 {
    XxHash3_128::oneshot(id.as_bytes())
}

/// Features of a layer that existed before an import.
pub(super) struct AbsentFeatures<'a> {
    pub(super) store: &'a Store,
    pub(super) workspace: WorkspaceId,
    pub(super) layer: LayerId,
    /// The position of the last one.
    pub(super) last_position: u64,
    pub(super) ids: IdsInFile,
}

impl AbsentFeatures<'_> {
    /// Deletes those that are not in the file, unless it is a dry run. Returns their number.
    pub(super) async fn delete(&self, is_dry_run: bool) -> Result<u64, CommandError> {
        let key = LayerKey::Id(self.layer);
        let (mut count, mut after) = (0, 0);
        loop {
            let features = self.store.features(self.workspace, &key, after, BATCH).await?;
            let old = features.iter().filter(|feature| feature.position <= self.last_position);
            let absent = old.filter(|feature| !self.ids.contains(feature));
            let absent: Vec<GeometryId> = absent.map(|feature| feature.id).collect();
            count += match is_dry_run {
                true => absent.len() as u64,
                false if absent.is_empty() => 0,
                false => {
                    let (workspace, key) = (self.workspace, key.clone());
                    let now = clock::now();
                    self.store
                        .delete_geometries(workspace, Actor::Operator, key, absent, now)
                        .await?
                }
            };
            match features.last() {
                Some(last) if last.position < self.last_position => after = last.position,
                _ => return Ok(count),
            }
        }
    }
}
