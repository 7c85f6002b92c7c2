//! Creating, replacing, updating and deleting one feature of a layer, on a condition that is compared with the
//! feature in the transaction of the change.

use super::{
    FeatureSpool, LayerFeature, LayerTx, Layers, StoredFeature, StoredLayer,
    feature_events::deletion,
    known_features::KnownFeatures,
    links::Links,
    posting::{PostOutcome, Posting},
};
use crate::{
    Actor, Error, Result,
    actor::AuthorizedActor,
    engine::impl_work,
    idempotency::{self, IdempotentRequest},
    webhooks::WebhookContext,
    workspaces::{self, LockedWorkspace},
};
use groma_domain::{
    DomainError, GeometryId, Layer, LayerId, Permission, Timestamp, Violation, WorkspaceId,
    geometry::UploadResult, layer::LayerKey,
};
use groma_geo::{
    geojson::{Feature, FeaturePatch, OriginalGeometry},
    wkb,
};
use serde_json::{Map, Value};
use std::{fmt, sync::Arc};

/// A change of one feature of a layer.
#[derive(Clone, Debug)]
pub struct FeatureWrite {
    /// The workspace.
    pub workspace: WorkspaceId,
    /// Who makes the change.
    pub actor: Actor,
    /// The current time.
    pub now: Timestamp,
    /// The layer.
    pub layer: LayerId,
    /// The change.
    pub operation: FeatureOperation,
    /// What the feature must be before.
    pub precondition: Option<FeaturePrecondition>,
    /// The request, if it carried an idempotency key.
    pub request: Option<IdempotentRequest>,
}

/// What to do with a feature.
#[derive(Clone)]
pub enum FeatureOperation {
    /// Create it. A given ID must not name a feature of the layer.
    Create {
        /// The ID that it was sent with.
        id: Option<String>,
        /// The feature, the only one of the spool.
        feature: FeatureSpool,
    },
    /// Replace its geometry and its properties.
    Replace {
        /// The feature to replace.
        id: GeometryId,
        /// The new feature, the only one of the spool.
        feature: FeatureSpool,
    },
    /// Replace its geometry or some of its properties.
    Update {
        /// The feature to update.
        id: GeometryId,
        /// What to replace.
        patch: Box<FeaturePatch>,
    },
    /// Delete it.
    Delete(GeometryId),
}

impl FeatureOperation {
    /// The existing feature that changes.
    fn target(&self) -> Option<GeometryId> {
        match self {
            Self::Create { .. } => None,
            Self::Replace { id, .. } | Self::Update { id, .. } | Self::Delete(id) => Some(*id),
        }
    }
}

impl fmt::Debug for FeatureOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Create { .. } => "Create",
            Self::Replace { .. } => "Replace",
            Self::Update { .. } => "Update",
            Self::Delete(_) => "Delete",
        };
        f.debug_tuple(name).field(&self.target()).finish()
    }
}

/// Decides whether the current state of a feature passes.
type FeatureCheck = dyn Fn(&Layer, &LayerFeature) -> bool + Send + Sync;

/// A condition on a feature, such as that a representation of it has a certain `ETag`.
#[derive(Clone)]
pub struct FeaturePrecondition(Arc<FeatureCheck>);

impl FeaturePrecondition {
    /// A condition from a test of the feature.
    pub fn new(test: impl Fn(&Layer, &LayerFeature) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(test))
    }
}

impl fmt::Debug for FeaturePrecondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FeaturePrecondition(…)")
    }
}

/// The outcome of a change of one feature.
#[derive(Debug)]
pub enum FeatureWriteOutcome {
    /// It was written.
    Written(Box<WrittenFeature>),
    /// It was deleted.
    Deleted,
    /// The same request was handled before; this was the response.
    Replayed(Vec<u8>),
}

/// A feature after a change.
#[derive(Debug)]
pub struct WrittenFeature {
    /// Its layer.
    pub layer: Layer,
    /// The feature.
    pub feature: LayerFeature,
    /// The response to a posted document with only this feature.
    pub result: UploadResult,
}

impl_work! {
    WriteFeature => FeatureWriteOutcome;
}

impl Layers {
    /// Creates, replaces, updates or deletes one feature.
    pub(crate) async fn write_feature(&self, write: FeatureWrite) -> Result<FeatureWriteOutcome> {
        let webhooks = self.webhooks.clone();
        self.engine.transact(WriteFeature { write, webhooks }).await
    }
}

#[derive(Clone)]
struct WriteFeature {
    write: FeatureWrite,
    webhooks: Arc<WebhookContext>,
}

impl WriteFeature {
    async fn run<T: LayerTx>(self, tx: &mut T) -> Result<FeatureWriteOutcome> {
        let Self { write, webhooks } = self;
        let FeatureWrite { workspace, actor, now, .. } = write;
        let (locked, actor) = workspaces::authorize(tx, workspace, actor, now).await?;
        actor.require(Permission::ChangeRecords)?;
        let (request, cipher) = (write.request.as_ref(), webhooks.cipher());
        if let Some(response) = idempotency::find(tx, workspace, request, cipher, now).await? {
            return Ok(FeatureWriteOutcome::Replayed(response));
        }
        let stored = tx.layer(workspace, &LayerKey::Id(write.layer)).await?;
        let key = write.layer.to_string();
        let stored = stored.ok_or(DomainError::NotFound { resource: "collection", key })?;
        stored.layer.require_unlocked()?;
        let old = match write.operation.target() {
            Some(id) => Some(find(tx, workspace, &stored, id, write.precondition.as_ref()).await?),
            None => None,
        };
        match (write.operation, old) {
            (FeatureOperation::Delete(_), Some(old)) => {
                delete(tx, (locked, actor, now), stored, old, webhooks).await
            }
            (operation, old) => {
                let spool = match operation {
                    FeatureOperation::Update { patch, .. } => patched(&stored, &old, *patch)?,
                    FeatureOperation::Create { id: Some(id), feature } => {
                        require_new(tx, workspace, &stored, &id).await?;
                        feature
                    }
                    FeatureOperation::Create { feature, .. }
                    | FeatureOperation::Replace { feature, .. } => feature,
                    FeatureOperation::Delete(_) => FeatureSpool::default(),
                };
                let geometry_type = stored.layer.counts.geometry_type();
                let mut posting =
                    Posting::new(&mut *tx, locked, now, Links::default(), stored, webhooks);
                posting.geometry_type = geometry_type;
                posting.save(old.as_ref(), spool).await?;
                let PostOutcome::Posted(result) = posting.finish(actor, write.request).await?
                else {
                    return Err(Error::Closed);
                };
                written(tx, workspace, result).await
            }
        }
    }
}

/// The feature to change, if it meets the condition.
async fn find<T: LayerTx>(
    tx: &mut T,
    workspace: WorkspaceId,
    stored: &StoredLayer,
    id: GeometryId,
    precondition: Option<&FeaturePrecondition>,
) -> Result<StoredFeature> {
    let not_found = || DomainError::NotFound { resource: "item", key: id.to_string() };
    let found = tx.feature(workspace, id).await?.filter(|(layer, _)| layer.no == stored.no);
    let (_, feature) = found.ok_or_else(not_found)?;
    if let Some(FeaturePrecondition(is_met)) = precondition
        && !is_met(&stored.layer, &feature.clone().into())
    {
        let key = id.to_string();
        return Err(DomainError::PreconditionFailed { resource: "item", key }.into());
    }
    Ok(feature)
}

/// Rejects an ID that names a feature of the layer.
async fn require_new<T: LayerTx>(
    tx: &mut T,
    workspace: WorkspaceId,
    stored: &StoredLayer,
    id: &str,
) -> Result<()> {
    let known = KnownFeatures::find(tx, workspace, stored.no, vec![id]).await?;
    match known.get(id) {
        None => Ok(()),
        Some(_) => {
            Err(DomainError::invalid("id", Violation::Taken { value: id.to_owned() }).into())
        }
    }
}

/// The feature after an update.
fn patched(
    stored: &StoredLayer,
    old: &Option<StoredFeature>,
    patch: FeaturePatch,
) -> Result<FeatureSpool> {
    let FeaturePatch { feature: Feature { geometry, original, properties, notices, .. }, .. } =
        patch;
    let Some(old) = old else { return Ok(FeatureSpool::default()) };
    let mut merged: Map<String, Value> = serde_json::from_str(&old.properties)?;
    merged.extend(properties);
    let mut feature = Feature::new(None, geometry, merged);
    (feature.original, feature.notices) = (original, notices);
    if !patch.has_geometry {
        let read =
            |wkb: &Vec<u8>| wkb::from_wkb(wkb).map_err(|error| Error::Damaged(error.to_string()));
        feature.geometry = old.geometry.as_ref().map(read).transpose()?;
        if let Some(original) = &old.original {
            let crs =
                stored.layer.crs.system().map_err(|error| Error::Damaged(error.to_string()))?;
            feature.original = Some(OriginalGeometry { crs, geometry: read(original)? });
        }
    }
    let mut spool = FeatureSpool::default();
    spool
        .push(&feature)
        .map_err(|source| Error::File { path: "the spool of features".into(), source })?;
    Ok(spool)
}

async fn delete<T: LayerTx>(
    tx: &mut T,
    (locked, actor, now): (LockedWorkspace, AuthorizedActor, Timestamp),
    stored: StoredLayer,
    old: StoredFeature,
    webhooks: Arc<WebhookContext>,
) -> Result<FeatureWriteOutcome> {
    let workspace = locked.workspace.id;
    let entry = deletion(actor, now, stored.layer.id, &old);
    let mut posting = Posting::new(&mut *tx, locked, now, Links::default(), stored, webhooks);
    posting.remove(old).await?;
    posting.finish_layer(actor).await?;
    tx.log(workspace, entry).await?;
    Ok(FeatureWriteOutcome::Deleted)
}

/// The feature as it was written.
async fn written<T: LayerTx>(
    tx: &mut T,
    workspace: WorkspaceId,
    result: UploadResult,
) -> Result<FeatureWriteOutcome> {
    let id = result.geometries.first().map(|geometry| geometry.id).ok_or(Error::Closed)?;
    let (layer, feature) = tx.feature(workspace, id).await?.ok_or(Error::Closed)?;
    let written = WrittenFeature { layer: layer.layer, feature: feature.into(), result };
    Ok(FeatureWriteOutcome::Written(Box::new(written)))
}
