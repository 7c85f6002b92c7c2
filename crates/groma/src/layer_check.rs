//! Checks the features of a stored layer: for `groma layer check` and for the page of a layer.

use groma_domain::{GeometryId, Layer, WorkspaceId, cql2::Candidates, layer::LayerKey};
use groma_geo::{
    CrsError,
    layer_check::{LayerCheck, LayerCheckOptions, LayerReport},
    wkb::{self, WkbError},
};
use groma_store::Store;
use std::collections::HashMap;
use thiserror::Error;

/// The number of features that are read at a time.
const CHUNK_SIZE: u32 = 1_000;

/// Why a layer cannot be checked.
#[derive(Debug, Error)]
pub(crate) enum LayerCheckError {
    #[error(transparent)]
    Store(#[from] groma_store::Error),
    #[error("layer `{0}` not found")]
    NotFound(String),
    #[error(transparent)]
    Crs(#[from] CrsError),
    /// What is stored cannot be read.
    #[error("{0}")]
    Damaged(#[from] WkbError),
}

/// What a check of a layer found.
pub(crate) struct CheckedLayer {
    pub(crate) layer: Layer,
    pub(crate) report: LayerReport,
    names: HashMap<u64, FeatureName>,
}

/// How a feature is called.
#[derive(Clone)]
pub(crate) struct FeatureName {
    pub(crate) id: GeometryId,
    pub(crate) external_id: Option<String>,
}

impl CheckedLayer {
    /// The names of the features of a problem, except for those that were deleted since.
    pub(crate) fn names<'a>(
        &'a self,
        numbers: &'a [u64],
    ) -> impl Iterator<Item = &'a FeatureName> + 'a {
        numbers.iter().filter_map(|number| self.names.get(number))
    }
}

/// Checks a layer. This takes seconds for a large one, and does not wait in between: it does not belong on the
/// threads that serve requests.
pub(crate) async fn check_layer(
    store: &Store,
    workspace: WorkspaceId,
    key: &LayerKey,
    tolerance: f64,
    max_listed: usize,
) -> Result<CheckedLayer, LayerCheckError> {
    let reader = store.read_features(workspace, key, &Candidates::default(), 0).await?;
    let mut reader = reader.ok_or_else(|| {
        LayerCheckError::NotFound(match key {
            LayerKey::Id(id) => id.to_string(),
            LayerKey::Slug(slug) => slug.clone(),
        })
    })?;
    let layer = reader.layer().clone();
    let crs = layer.crs.system()?;
    let has_own_crs = !crs.is_wgs84();
    let mut check =
        LayerCheck::new(LayerCheckOptions { tolerance, max_listed, ..LayerCheckOptions::new(crs) });
    loop {
        let chunk = reader.next(CHUNK_SIZE).await?;
        if chunk.is_empty() {
            break;
        }
        for feature in &chunk {
            let wkb = if has_own_crs { &feature.original } else { &feature.geometry };
            if let Some(wkb) = wkb {
                check.add(feature.position, &wkb::from_wkb(wkb)?);
            }
        }
    }
    let report = check.finish(&|| false);
    let mut positions: Vec<u64> =
        report.problems.iter().flat_map(|problem| &problem.features).copied().collect();
    positions.sort_unstable();
    positions.dedup();
    let mut names = HashMap::new();
    for positions in positions.chunks(CHUNK_SIZE as usize) {
        for feature in reader.read_at(positions).await? {
            let name = FeatureName { id: feature.id, external_id: feature.external_id };
            names.insert(feature.position, name);
        }
    }
    Ok(CheckedLayer { layer, report, names })
}
