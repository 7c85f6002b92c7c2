//! Finds the features of a layer that a file does not contain.

use super::ImportError;
use groma_domain::{GeometryId, Layer, WorkspaceId, layer::LayerKey};
use groma_store::{LayerFeature, Store};
use std::collections::HashSet;
use twox_hash::XxHash3_128;

/// The number of features read at a time.
const BATCH: u32 = 1_000;

/// The length of an id of Groma as text.
const ID_LENGTH: usize = 36;

/// The ids of the features of a file, as hashes.
#[derive(Default)]
pub(super) struct IdsInFile {
    /// As they are: an external id is case-sensitive.
    texts: HashSet<u128>,
    /// In lower case, if they can be ids of Groma, which are recognised in upper case, too.
    own: HashSet<u128>,
}

impl IdsInFile {
    pub(super) fn add(&mut self, id: Option<&str>) {
        if let Some(id) = id {
            self.texts.insert(hash(id));
            if id.len() == ID_LENGTH {
                self.own.insert(hash(&id.to_ascii_lowercase()));
            }
        }
    }

    /// The features of a layer that are not in the file. Those added since `layer` was read are not among them.
    pub(super) async fn absent(
        &self,
        store: &Store,
        workspace: WorkspaceId,
        layer: &Layer,
    ) -> Result<Vec<GeometryId>, ImportError> {
        let key = LayerKey::Id(layer.id);
        let (mut absent, mut after) = (Vec::new(), 0);
        loop {
            let features = store.features(workspace, &key, after, BATCH).await?;
            let old = features.iter().filter(|feature| feature.position <= layer.last_seq);
            let missing = old.filter(|feature| !self.contains(feature));
            absent.extend(missing.map(|feature| feature.id));
            match features.last() {
                Some(last) if last.position < layer.last_seq => after = last.position,
                _ => return Ok(absent),
            }
        }
    }

    fn contains(&self, feature: &LayerFeature) -> bool {
        self.own.contains(&hash(&feature.id.to_string()))
            || feature.external_id.as_ref().is_some_and(|id| self.texts.contains(&hash(id)))
    }
}

fn hash(id: &str) -> u128 {
    XxHash3_128::oneshot(id.as_bytes())
}
