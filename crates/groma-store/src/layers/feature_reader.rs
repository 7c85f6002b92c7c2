//! The features of a layer, chunk by chunk, for readers that filter them themselves.

use super::{
    LayerFeature, Layers, StoredFeature, StoredLayer, feature_query::Source, postgres, sqlite,
};
use crate::{Result, engine::dispatch};
use groma_domain::{Layer, WorkspaceId, cql2::Candidates, layer::LayerKey};

/// The most bytes of features that are read at a time, except for a single feature.
const MAX_CHUNK_BYTES: usize = 8 << 20;

/// Reads features in the order of creation.
pub struct FeatureReader {
    layers: Layers,
    workspace: WorkspaceId,
    stored: StoredLayer,
    source: Source,
    after: u64,
}

impl Layers {
    /// A reader of the features after a position; `None` when there is no such layer. Features that are no
    /// candidates can be left out.
    pub(crate) async fn read_features(
        &self,
        workspace: WorkspaceId,
        key: &LayerKey,
        candidates: &Candidates,
        after: u64,
    ) -> Result<Option<FeatureReader>> {
        let stored = dispatch!(&self.engine, layer(workspace, key))?;
        let Some(stored) = stored else { return Ok(None) };
        let source = self.candidate_source(workspace, &stored, candidates, after).await?;
        Ok(Some(FeatureReader { layers: self.clone(), workspace, stored, source, after }))
    }
}

impl FeatureReader {
    /// The layer, as it was when reading began.
    #[must_use]
    pub fn layer(&self) -> &Layer {
        &self.stored.layer
    }

    /// The next features, up to `limit` and to some megabytes; none at the end.
    pub async fn next(&mut self, limit: u32) -> Result<Vec<LayerFeature>> {
        let Self { layers, workspace, stored, source, after } = self;
        let (engine, workspace, no) = (&layers.engine, *workspace, stored.no);
        let chunk = match source {
            Source::Positions(positions) => loop {
                let next = &positions[..positions.len().min(limit as usize)];
                let found =
                    dispatch!(engine, feature_chunk_at(workspace, no, next, MAX_CHUNK_BYTES))?;
                match (found.last(), next.last()) {
                    (None, None) => break found,
                    // Features may have been deleted since.
                    (None, Some(last)) => {
                        let last = *last;
                        drain_up_to(positions, last);
                    }
                    (Some(last), _) => {
                        let last = last.position;
                        drain_up_to(positions, last);
                        break found;
                    }
                }
            },
            _ => {
                let (after, max) = (*after, MAX_CHUNK_BYTES);
                dispatch!(engine, feature_chunk(workspace, no, after, limit, max))?
            }
        };
        let Some(last) = chunk.last() else { return Ok(Vec::new()) };
        *after = last.position;
        Ok(chunk.into_iter().map(LayerFeature::from).collect())
    }

    /// The features at these positions.
    pub async fn read_at(&self, positions: &[u64]) -> Result<Vec<LayerFeature>> {
        let Self { layers, workspace, stored, .. } = self;
        let (workspace, no) = (*workspace, stored.no);
        let found = dispatch!(&layers.engine, features_at(workspace, no, positions))?;
        Ok(found.into_iter().map(LayerFeature::from).collect())
    }

    /// Leaves out the features up to a position.
    pub fn skip_to(&mut self, position: u64) {
        self.after = self.after.max(position);
        if let Source::Positions(positions) = &mut self.source {
            drain_up_to(positions, position);
        }
    }
}

/// Removes the positions up to this one, which are in order.
fn drain_up_to(positions: &mut Vec<u64>, position: u64) {
    let end = positions.partition_point(|other| *other <= position);
    positions.drain(..end);
}

impl StoredFeature {
    /// About how many bytes it has.
    pub(super) fn size(&self) -> usize {
        let blob = |blob: &Option<Vec<u8>>| blob.as_ref().map_or(0, Vec::len);
        blob(&self.geometry) + blob(&self.original) + self.properties.len()
    }
}
