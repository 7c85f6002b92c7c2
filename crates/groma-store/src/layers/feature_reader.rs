//! The features of a layer, chunk by chunk, for readers that filter them themselves.

use super::{
    FeatureQuery, LayerFeature, Layers, StoredLayer, feature_query::Source, postgres, sqlite,
};
use crate::{Result, engine::dispatch};
use groma_domain::{Layer, WorkspaceId, layer::LayerKey};
use groma_geo::Bbox;

/// Reads features in the order of creation.
pub struct FeatureReader {
    layers: Layers,
    workspace: WorkspaceId,
    stored: StoredLayer,
    source: Source,
    after: u64,
}

impl Layers {
    /// A reader of the features after a position; `None` when there is no such layer. With a box, features
    /// outside it can be left out.
    pub(crate) async fn read_features(
        &self,
        workspace: WorkspaceId,
        key: &LayerKey,
        bbox: Option<Bbox>,
        after: u64,
    ) -> Result<Option<FeatureReader>> {
        let stored = dispatch!(&self.engine, layer(workspace, key))?;
        let Some(stored) = stored else { return Ok(None) };
        let query = FeatureQuery { after, bbox, ..FeatureQuery::default() };
        let source = self.source(workspace, &stored, &query).await?;
        Ok(Some(FeatureReader { layers: self.clone(), workspace, stored, source, after }))
    }
}

impl FeatureReader {
    /// The layer, as it was when reading began.
    #[must_use]
    pub fn layer(&self) -> &Layer {
        &self.stored.layer
    }

    /// The next features, up to `limit`; none at the end.
    pub async fn next(&mut self, limit: u32) -> Result<Vec<LayerFeature>> {
        let Self { layers, workspace, stored, source, after } = self;
        let chunk = layers.read_chunk(*workspace, stored.no, source, *after, limit).await?;
        let Some(last) = chunk.last() else { return Ok(Vec::new()) };
        *after = last.position;
        Ok(chunk.into_iter().map(LayerFeature::from).collect())
    }

    /// Leaves out the features up to a position.
    pub fn skip_to(&mut self, position: u64) {
        self.after = self.after.max(position);
        if let Source::Positions(positions) = &mut self.source {
            positions.retain(|other| *other > position);
        }
    }
}
