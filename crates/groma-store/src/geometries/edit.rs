//! One geometry at a time: looked at, replaced, deleted. What is counted for its layer, the shelves of
//! its tiles and its folder's box follow, as when many are posted.

use super::{
    post::{Links, Posting},
    spool::Spool,
};
use crate::{
    Actor, ExportedFeature, Outcome, Result, Store,
    store::on_engine,
    tx::{LayerWrite, LogRow, StoredFeature, StoredLayer, Tx, Work, Write},
};
use groma_domain::{
    DomainError, GeometryId, Layer, LayerId, Permission, RecordId, Timestamp, WorkspaceId,
    geometry::UploadResult, layer::LayerKey,
};

/// A geometry to be replaced.
#[derive(Clone)]
pub struct GeometryEdit {
    /// Where.
    pub workspace: WorkspaceId,
    /// Who.
    pub actor: Actor,
    /// When.
    pub now: Timestamp,
    /// Which.
    pub id: GeometryId,
    /// The folder it is to belong to; `None` leaves it where it is.
    pub folder: Option<String>,
    /// What it is to be: one feature.
    pub feature: Spool,
}

impl Store {
    /// One geometry, with its layer.
    pub async fn geometry(
        &self,
        workspace: WorkspaceId,
        id: GeometryId,
    ) -> Result<Option<(Layer, ExportedFeature)>> {
        let found = on_engine!(self, engine => engine.feature(workspace, id).await?);
        Ok(found.map(|(stored, feature)| (stored.layer, feature.exported())))
    }

    /// The geometry that tiles of a layer show under this number.
    pub async fn drawn_geometry(
        &self,
        workspace: WorkspaceId,
        layer: LayerId,
        number: u64,
    ) -> Result<Option<(Layer, ExportedFeature)>> {
        let Some(seq) = crate::tiles::seq_of(number) else { return Ok(None) };
        let key = LayerKey::Id(layer);
        let Some(layer) = self.layer(workspace, &key).await? else { return Ok(None) };
        let mut found = self.features(workspace, &key, seq - 1, 1).await?;
        Ok(found.pop().filter(|feature| feature.seq == seq).map(|feature| (layer, feature)))
    }

    /// Up to `limit` geometries of a folder, each with the layer it is in.
    pub async fn geometries_of_folder(
        &self,
        workspace: WorkspaceId,
        folder: RecordId,
        limit: u32,
    ) -> Result<Vec<(LayerId, ExportedFeature)>> {
        let found =
            on_engine!(self, engine => engine.features_of_folder(workspace, folder, limit).await?);
        Ok(found.into_iter().map(|(layer, feature)| (layer, feature.exported())).collect())
    }

    /// The exact number of geometries of a folder.
    pub async fn count_geometries_of_folder(
        &self,
        workspace: WorkspaceId,
        folder: RecordId,
    ) -> Result<u64> {
        on_engine!(self, engine => engine.count_features_of_folder(workspace, folder).await)
    }

    /// Replaces a geometry.
    pub async fn replace_geometry(&self, edit: GeometryEdit) -> Result<UploadResult> {
        match self.transact(Replace(edit)).await? {
            Outcome::Posted(posted) => Ok(posted),
            Outcome::Replayed(_) => Err(crate::Error::Closed),
        }
    }

    /// Deletes a geometry.
    pub async fn delete_geometry(
        &self,
        workspace: WorkspaceId,
        actor: Actor,
        id: GeometryId,
        now: Timestamp,
    ) -> Result<()> {
        self.transact(Delete { workspace, actor, id, now }).await
    }
}

impl StoredFeature {
    pub(crate) fn exported(self) -> ExportedFeature {
        ExportedFeature {
            seq: self.seq,
            id: self.id,
            external_id: self.external_id,
            folder: self.folder,
            assignment: self.assignment,
            geometry: self.geometry,
            properties: self.properties,
            updated_at: self.updated_at,
        }
    }
}

#[derive(Clone)]
struct Replace(GeometryEdit);

impl Work for Replace {
    type Output = Outcome;

    async fn run<T: Tx>(self, tx: &mut T) -> Result<Outcome> {
        let GeometryEdit { workspace, actor, now, id, folder, feature } = self.0;
        let (stored, old) = find(tx, workspace, actor, id).await?;
        let links = Links::find(tx, workspace, folder, None).await?;
        let mut posting = Posting::new(tx, workspace, now, links, stored, 1);
        posting.replace(old, feature).await?;
        posting.finish(actor, false, None).await
    }
}

#[derive(Clone)]
struct Delete {
    workspace: WorkspaceId,
    actor: Actor,
    id: GeometryId,
    now: Timestamp,
}

impl Work for Delete {
    type Output = ();

    async fn run<T: Tx>(self, tx: &mut T) -> Result<()> {
        let Self { workspace, actor, id, now } = self;
        let (stored, old) = find(tx, workspace, actor, id).await?;
        let (no, layer_id) = (stored.no, stored.layer.id);
        let before = serde_json::json!({
            "id": id, "externalId": old.external_id, "folderId": old.folder,
        });
        let mut posting = Posting::new(tx, workspace, now, Links::default(), stored, 0);
        posting.remove(old).await?;
        posting.tally.shrink(posting.tx, workspace, no).await?;
        posting.place_folders(actor).await?;
        let mut layer = posting.tally.layer.clone();
        layer.revision += 1;
        layer.updated_at = now;
        let log = LogRow {
            at: now,
            actor: actor.person(),
            action: "geometry.deleted",
            subject: layer_id.0,
            before: Some(before.to_string()),
            after: None,
        };
        let writes = vec![Write::Layer(LayerWrite::Save(layer)), Write::LogChange(log)];
        tx.write(workspace, writes).await
    }
}

/// The geometry that someone wants to change, behind the workspace's lock.
async fn find<T: Tx>(
    tx: &mut T,
    workspace: WorkspaceId,
    actor: Actor,
    id: GeometryId,
) -> Result<(StoredLayer, StoredFeature)> {
    let not_found = |what, key| DomainError::NotFound { resource: what, key };
    let locked = tx.lock_workspace(workspace).await?;
    locked.ok_or_else(|| not_found("workspace", workspace.to_string()))?;
    actor.role().require(Permission::ChangeRecords)?;
    let found = tx.feature(workspace, id).await?;
    Ok(found.ok_or_else(|| not_found("geometry", id.to_string()))?)
}
