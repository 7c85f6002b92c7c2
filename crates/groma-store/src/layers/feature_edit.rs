//! Reading, replacing and deleting single features. The layer's statistics, the tile index and the
//! folder's bounding box are updated as when many are posted.

use super::{
    FeatureSpool, LayerFeature, LayerTx, Layers, StoredFeature, StoredLayer,
    feature_events::deletion,
    links::Links,
    postgres,
    posting::{PostOutcome, Posting},
    sqlite, tiles,
};
use crate::{
    Actor, Result,
    actor::AuthorizedActor,
    engine::{dispatch, impl_work},
    webhooks::WebhookContext,
    workspaces::{self, LockedWorkspace},
};
use groma_domain::{
    DomainError, GeometryId, Layer, LayerId, Permission, RecordId, Timestamp, WorkspaceId,
    geometry::UploadResult, layer::LayerKey,
};
use groma_geo::message;
use std::sync::Arc;

/// A replacement of a geometry.
#[derive(Clone)]
pub struct GeometryEdit {
    /// The workspace.
    pub workspace: WorkspaceId,
    /// Who makes the change.
    pub actor: Actor,
    /// The current time.
    pub now: Timestamp,
    /// The geometry.
    pub id: GeometryId,
    /// The key of its new folder; `None` keeps the folder.
    pub folder: Option<String>,
    /// The new feature, the only one of the spool.
    pub feature: FeatureSpool,
    /// Features to add to the layer, folder and assignment of the geometry: the other parts of a split.
    pub parts: FeatureSpool,
    /// A geometry of the same layer to delete, because it was joined with this one.
    pub joined: Option<GeometryId>,
}

impl_work! {
    ReplaceGeometry => PostOutcome;
    DeleteGeometry => ();
    DeleteGeometries => u64;
}

impl Layers {
    /// One geometry, with its layer.
    pub(crate) async fn geometry(
        &self,
        workspace: WorkspaceId,
        id: GeometryId,
    ) -> Result<Option<(Layer, LayerFeature)>> {
        let found = dispatch!(&self.engine, feature(workspace, id))?;
        Ok(found.map(|(stored, feature)| (stored.layer, feature.into())))
    }

    /// The geometry that has this id in the layer's tiles.
    pub(crate) async fn geometry_by_tile_id(
        &self,
        workspace: WorkspaceId,
        layer: LayerId,
        tile_id: u64,
    ) -> Result<Option<(Layer, LayerFeature)>> {
        let Some(position) = tiles::position_of_id(tile_id) else { return Ok(None) };
        let key = LayerKey::Id(layer);
        let Some(layer) = self.get(workspace, &key).await? else { return Ok(None) };
        let mut found = self.features(workspace, &key, position - 1, 1).await?;
        Ok(found
            .pop()
            .filter(|feature| feature.position == position)
            .map(|feature| (layer, feature)))
    }

    /// Up to `limit` geometries of a folder, each with its layer.
    pub(crate) async fn geometries_of_folder(
        &self,
        workspace: WorkspaceId,
        folder: RecordId,
        limit: u32,
    ) -> Result<Vec<(LayerId, LayerFeature)>> {
        let found = dispatch!(&self.engine, features_of_folder(workspace, folder, limit))?;
        Ok(found.into_iter().map(|(layer, feature)| (layer, feature.into())).collect())
    }

    /// The exact number of geometries of a folder.
    pub(crate) async fn count_geometries_of_folder(
        &self,
        workspace: WorkspaceId,
        folder: RecordId,
    ) -> Result<u64> {
        dispatch!(&self.engine, count_features_of_folder(workspace, folder))
    }

    /// The layers that have geometries of a folder, in the order of their creation.
    pub(crate) async fn layers_of_folder(
        &self,
        workspace: WorkspaceId,
        folder: RecordId,
    ) -> Result<Vec<LayerId>> {
        dispatch!(&self.engine, layers_of_folder(workspace, folder))
    }

    /// Replaces a geometry.
    pub(crate) async fn replace_geometry(&self, edit: GeometryEdit) -> Result<UploadResult> {
        let webhooks = self.webhooks.clone();
        match self.engine.transact(ReplaceGeometry { edit, webhooks }).await? {
            PostOutcome::Posted(result) => Ok(result),
            PostOutcome::Replayed(_) => Err(crate::Error::Closed),
        }
    }

    /// Deletes a geometry.
    pub(crate) async fn delete_geometry(
        &self,
        workspace: WorkspaceId,
        actor: Actor,
        id: GeometryId,
        now: Timestamp,
    ) -> Result<()> {
        let webhooks = self.webhooks.clone();
        self.engine.transact(DeleteGeometry { workspace, actor, id, now, webhooks }).await
    }

    /// Deletes geometries of a layer; those that are no longer there are left out. Returns their number.
    pub(crate) async fn delete_geometries(
        &self,
        workspace: WorkspaceId,
        actor: Actor,
        layer: LayerKey,
        ids: Vec<GeometryId>,
        now: Timestamp,
    ) -> Result<u64> {
        let webhooks = self.webhooks.clone();
        self.engine.transact(DeleteGeometries { workspace, actor, layer, ids, now, webhooks }).await
    }
}

#[derive(Clone)]
struct ReplaceGeometry {
    edit: GeometryEdit,
    webhooks: Arc<WebhookContext>,
}

impl ReplaceGeometry {
    async fn run<T: LayerTx>(self, tx: &mut T) -> Result<PostOutcome> {
        let Self { edit, webhooks } = self;
        let GeometryEdit { workspace, actor, now, id, folder, feature, parts, joined } = edit;
        let (locked, actor, stored, old) = find(tx, workspace, actor, id, now).await?;
        let joined = match joined {
            Some(joined) => Some(find_joined(tx, workspace, &stored, id, joined).await?),
            None => None,
        };
        if let Some(joined) = &joined {
            tx.log(workspace, deletion(actor, now, stored.layer.id, joined)).await?;
        }
        let links = Links::find(tx, workspace, folder, None).await?;
        let mut posting = Posting::new(tx, locked, now, links, stored, webhooks);
        if let Some(joined) = joined {
            posting.remove(joined).await?;
        }
        posting.save(Some(&old), feature).await?;
        posting.add_parts(&old, parts).await?;
        posting.finish(actor, None).await
    }
}

#[derive(Clone)]
struct DeleteGeometry {
    workspace: WorkspaceId,
    actor: Actor,
    id: GeometryId,
    now: Timestamp,
    webhooks: Arc<WebhookContext>,
}

impl DeleteGeometry {
    async fn run<T: LayerTx>(self, tx: &mut T) -> Result<()> {
        let Self { workspace, actor, id, now, webhooks } = self;
        let (locked, actor, stored, old) = find(tx, workspace, actor, id, now).await?;
        let entry = deletion(actor, now, stored.layer.id, &old);
        let mut posting = Posting::new(tx, locked, now, Links::default(), stored, webhooks);
        posting.remove(old).await?;
        posting.finish_layer(actor).await?;
        tx.log(workspace, entry).await
    }
}

#[derive(Clone)]
struct DeleteGeometries {
    workspace: WorkspaceId,
    actor: Actor,
    layer: LayerKey,
    ids: Vec<GeometryId>,
    now: Timestamp,
    webhooks: Arc<WebhookContext>,
}

impl DeleteGeometries {
    async fn run<T: LayerTx>(self, tx: &mut T) -> Result<u64> {
        let Self { workspace, actor, layer, ids, now, webhooks } = self;
        let (locked, actor) = workspaces::authorize(tx, workspace, actor, now).await?;
        actor.require(Permission::ChangeRecords)?;
        let not_found =
            || DomainError::invalid("layer", message!("does not exist in this workspace"));
        let stored = tx.layer(workspace, &layer).await?.ok_or_else(not_found)?;
        stored.layer.require_unlocked()?;
        let mut posting = Posting::new(tx, locked, now, Links::default(), stored, webhooks);
        let count = posting.delete(&ids, actor).await?;
        posting.finish_layer(actor).await?;
        Ok(count)
    }
}

/// The geometry that is joined with another one of its layer.
async fn find_joined<T: LayerTx>(
    tx: &mut T,
    workspace: WorkspaceId,
    stored: &StoredLayer,
    id: GeometryId,
    joined: GeometryId,
) -> Result<StoredFeature> {
    let not_found = || DomainError::NotFound { resource: "geometry", key: joined.to_string() };
    let (layer, feature) = tx.feature(workspace, joined).await?.ok_or_else(not_found)?;
    if layer.no != stored.no || joined == id {
        return Err(DomainError::invalid(
            "joined",
            message!("must be another geometry of the layer"),
        )
        .into());
    }
    Ok(feature)
}

/// Locks the workspace and finds a geometry that the actor may change.
async fn find<T: LayerTx>(
    tx: &mut T,
    workspace: WorkspaceId,
    actor: Actor,
    id: GeometryId,
    now: Timestamp,
) -> Result<(LockedWorkspace, AuthorizedActor, StoredLayer, StoredFeature)> {
    let (locked, actor) = workspaces::authorize(tx, workspace, actor, now).await?;
    actor.require(Permission::ChangeRecords)?;
    let not_found = || DomainError::NotFound { resource: "geometry", key: id.to_string() };
    let (layer, feature) = tx.feature(workspace, id).await?.ok_or_else(not_found)?;
    layer.layer.require_unlocked()?;
    Ok((locked, actor, layer, feature))
}
