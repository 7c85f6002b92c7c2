//! The stored features that the ids of posted features name.

use super::{LayerTx, StoredFeature};
use crate::Result;
use groma_domain::{GeometryId, WorkspaceId};
use std::collections::HashMap;
use uuid::{Uuid, fmt::Hyphenated};

/// Stored features of a layer, by their own ids and by their external ids.
pub(super) struct KnownFeatures {
    by_id: HashMap<GeometryId, StoredFeature>,
    by_external_id: HashMap<String, StoredFeature>,
}

impl KnownFeatures {
    /// Finds the features that the ids of posted features name.
    pub(super) async fn find<T: LayerTx>(
        tx: &mut T,
        workspace: WorkspaceId,
        layer: u64,
        texts: Vec<&str>,
    ) -> Result<Self> {
        let mut known = Self { by_id: HashMap::new(), by_external_id: HashMap::new() };
        if !texts.is_empty() {
            let found = tx.features_by_external_id(workspace, layer, &texts).await?;
            let by_text = |feature: StoredFeature| Some((feature.external_id.clone()?, feature));
            known.by_external_id = found.into_iter().filter_map(by_text).collect();
        }
        let ids: Vec<GeometryId> = texts.into_iter().filter_map(parse_id).collect();
        if !ids.is_empty() {
            let found = tx.features_by_id(workspace, layer, &ids).await?;
            known.by_id = found.into_iter().map(|feature| (feature.id, feature)).collect();
        }
        Ok(known)
    }

    /// The feature that a posted id names: by its own id, or else by its external id.
    pub(super) fn get(&self, id: &str) -> Option<&StoredFeature> {
        let by_id = parse_id(id).and_then(|id| self.by_id.get(&id));
        by_id.or_else(|| self.by_external_id.get(id))
    }
}

/// Parses an id as Groma writes it, in upper or lower case. Without hyphens, for example, it is an external
/// id.
fn parse_id(text: &str) -> Option<GeometryId> {
    let id = Uuid::try_parse(text).ok().filter(|_| text.len() == Hyphenated::LENGTH);
    id.map(GeometryId)
}
