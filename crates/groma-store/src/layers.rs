//! Layers: made, listed, deleted.

use crate::{
    Actor, Page, Result, Store,
    geometries::{NewGeometries, Outcome, Post, place_folders},
    store::{on_engine, on_engine_often},
    tiles::Tile,
    tx::{self, LayerWrite, LogRow, StoredLayer, Tx, Work, Write},
    vicinity::{Vicinity, VicinityId},
};
use groma_domain::{
    DomainError, GeometryId, Layer, LayerId, ListParams, Permission, RecordId, Timestamp,
    WorkspaceId, layer::LayerKey,
};
use groma_geo::grid::TileId;

/// A feature on its way out.
#[derive(Clone, Debug)]
pub struct ExportedFeature {
    /// Its number, to go on behind.
    pub seq: u64,
    /// Its id.
    pub id: GeometryId,
    /// The id it came with.
    pub external_id: Option<String>,
    /// The folder it belongs to.
    pub folder: Option<RecordId>,
    /// The assignment it belongs to.
    pub assignment: Option<RecordId>,
    /// WKB.
    pub geometry: Option<Vec<u8>>,
    /// JSON.
    pub properties: String,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// What a layer is to be called and to look like.
#[derive(Clone, Debug)]
pub struct LayerChange {
    /// Which.
    pub layer: LayerKey,
    /// Its name. The slug stays.
    pub name: String,
    /// Its description.
    pub description: Option<String>,
    /// Its colour.
    pub color: String,
}

impl Store {
    /// A page of the layers, each as `render` writes it, appended to `body`.
    pub async fn layers(
        &self,
        workspace: WorkspaceId,
        params: &ListParams,
        body: Vec<u8>,
        render: impl Fn(&Layer, &mut Vec<u8>),
    ) -> Result<Page> {
        // There are few: they are read whole, and searched and paged here for both engines.
        let layers = on_engine!(self, engine => engine.layers(workspace).await?);
        let matches =
            |layer: &&Layer| params.term.as_ref().is_none_or(|term| layer.matches(term.as_str()));
        let matching: Vec<&Layer> = layers.iter().filter(matches).collect();
        Ok(Page::of(&matching, params, body, |layer, body| render(layer, body)))
    }

    /// Every layer of a workspace, oldest first.
    pub async fn all_layers(&self, workspace: WorkspaceId) -> Result<Vec<Layer>> {
        on_engine!(self, engine => engine.layers(workspace).await)
    }

    /// One layer.
    pub async fn layer(&self, workspace: WorkspaceId, key: &LayerKey) -> Result<Option<Layer>> {
        let stored = on_engine!(self, engine => engine.layer(workspace, key).await?);
        Ok(stored.map(|stored| stored.layer))
    }

    /// The revision of a layer; `None` when there is no such layer.
    pub async fn layer_revision(
        &self,
        workspace: WorkspaceId,
        layer: LayerId,
    ) -> Result<Option<u64>> {
        on_engine_often!(self, engine => engine.layer_revision(workspace, layer))
    }

    /// The revision that a layer had when it was last read, where asking for the one of now takes time.
    #[must_use]
    pub fn last_revision(&self, workspace: WorkspaceId, layer: LayerId) -> Option<u64> {
        match self {
            Self::Sqlite(_) => None,
            Self::Postgres(engine) => engine.last_revision(workspace, layer),
        }
    }

    /// A tile of a layer; `None` when there is no such layer.
    pub async fn tile(
        &self,
        workspace: WorkspaceId,
        layer: LayerId,
        tile: TileId,
    ) -> Result<Option<Tile>> {
        on_engine_often!(self, engine => engine.tile(workspace, layer, tile))
    }

    /// What the tiles of a vicinity are drawn from; `None` when that is too much to be kept, or nothing.
    pub async fn vicinity(
        &self,
        workspace: WorkspaceId,
        layer: LayerId,
        id: VicinityId,
    ) -> Result<Option<Vicinity>> {
        on_engine_often!(self, engine => engine.vicinity(workspace, layer, id))
    }

    /// Makes a layer.
    pub async fn create_layer(
        &self,
        workspace: WorkspaceId,
        actor: Actor,
        name: String,
        now: Timestamp,
    ) -> Result<Layer> {
        self.transact(CreateLayer { workspace, actor, name, now }).await
    }

    /// Gives a layer another name, description or colour.
    pub async fn change_layer(
        &self,
        workspace: WorkspaceId,
        actor: Actor,
        change: LayerChange,
        now: Timestamp,
    ) -> Result<Layer> {
        self.transact(ChangeLayer { workspace, actor, change, now }).await
    }

    /// Deletes a layer. It is gone at once; its features go in batches, so that other writers go on.
    pub async fn delete_layer(
        &self,
        workspace: WorkspaceId,
        actor: Actor,
        key: LayerKey,
        now: Timestamp,
    ) -> Result<Layer> {
        let (no, layer) = self.transact(DeleteLayer { workspace, actor, key, now }).await?;
        on_engine!(self, engine => engine.purge_layer(workspace, no).await?);
        Ok(layer)
    }

    /// Writes geometries: all of them, or none.
    pub async fn post_geometries(&self, geometries: NewGeometries) -> Result<Outcome> {
        self.transact(Post(geometries)).await
    }

    /// Up to `limit` features of a layer behind `after`, in the order of creation.
    pub async fn features(
        &self,
        workspace: WorkspaceId,
        key: &LayerKey,
        after: u64,
        limit: u32,
    ) -> Result<Vec<ExportedFeature>> {
        let stored = on_engine!(self, engine => engine.layer(workspace, key).await?);
        let Some(no) = stored.map(|stored| stored.no) else { return Ok(Vec::new()) };
        let features =
            on_engine!(self, engine => engine.features(workspace, no, after, limit).await?);
        Ok(features.into_iter().map(crate::tx::StoredFeature::exported).collect())
    }
}

#[derive(Clone)]
struct CreateLayer {
    workspace: WorkspaceId,
    actor: Actor,
    name: String,
    now: Timestamp,
}

impl Work for CreateLayer {
    type Output = Layer;

    async fn run<T: Tx>(self, tx: &mut T) -> Result<Layer> {
        let Self { workspace, actor, name, now } = self;
        lock(tx, workspace, actor).await?;
        let others = tx.layers(workspace).await?;
        let layer = Layer::new(LayerId::new(now, tx::random()), &name, others.len(), now)?;
        if others.iter().any(|other| other.layer.slug == layer.slug) {
            let taken = format!("gives the slug `{}`, which is taken", layer.slug.as_str());
            return Err(DomainError::invalid("name", taken).into());
        }
        let log = log(actor, now, "layer.created", layer.id, None, Some(&layer))?;
        let writes = vec![Write::Layer(LayerWrite::Insert(layer.clone())), Write::LogChange(log)];
        tx.write(workspace, writes).await?;
        Ok(layer)
    }
}

#[derive(Clone)]
struct ChangeLayer {
    workspace: WorkspaceId,
    actor: Actor,
    change: LayerChange,
    now: Timestamp,
}

impl Work for ChangeLayer {
    type Output = Layer;

    async fn run<T: Tx>(self, tx: &mut T) -> Result<Layer> {
        let Self { workspace, actor, change, now } = self;
        lock(tx, workspace, actor).await?;
        let stored = find(tx, workspace, &change.layer).await?;
        let mut layer = stored.layer.clone();
        layer.edit(&change.name, change.description.as_deref(), &change.color)?;
        if layer == stored.layer {
            return Ok(layer);
        }
        layer.revision += 1;
        layer.updated_at = now;
        let log = log(actor, now, "layer.updated", layer.id, Some(&stored.layer), Some(&layer))?;
        let writes = vec![Write::Layer(LayerWrite::Save(layer.clone())), Write::LogChange(log)];
        tx.write(workspace, writes).await?;
        Ok(layer)
    }
}

#[derive(Clone)]
struct DeleteLayer {
    workspace: WorkspaceId,
    actor: Actor,
    key: LayerKey,
    now: Timestamp,
}

impl Work for DeleteLayer {
    type Output = (u64, Layer);

    async fn run<T: Tx>(self, tx: &mut T) -> Result<Self::Output> {
        let Self { workspace, actor, key, now } = self;
        lock(tx, workspace, actor).await?;
        let stored = find(tx, workspace, &key).await?;
        let log = log(actor, now, "layer.deleted", stored.layer.id, Some(&stored.layer), None)?;
        let folders = tx.folders_of_layer(workspace, stored.no).await?;
        let remove = Write::Layer(LayerWrite::Remove { layer: stored.no });
        tx.write(workspace, vec![remove, Write::LogChange(log)]).await?;
        let folders = folders.into_iter().map(|folder| (folder, None));
        place_folders(tx, workspace, actor, now, folders).await?;
        Ok((stored.no, stored.layer))
    }
}

async fn find<T: Tx>(tx: &mut T, workspace: WorkspaceId, key: &LayerKey) -> Result<StoredLayer> {
    let named = match key {
        LayerKey::Id(id) => id.to_string(),
        LayerKey::Slug(slug) => slug.clone(),
    };
    let not_found = || DomainError::NotFound { resource: "layer", key: named };
    Ok(tx.layer(workspace, key).await?.ok_or_else(not_found)?)
}

async fn lock<T: Tx>(tx: &mut T, workspace: WorkspaceId, actor: Actor) -> Result<()> {
    let not_found = || DomainError::NotFound { resource: "workspace", key: workspace.to_string() };
    tx.lock_workspace(workspace).await?.ok_or_else(not_found)?;
    Ok(actor.role().require(Permission::Administer)?)
}

fn log(
    actor: Actor,
    at: Timestamp,
    action: &'static str,
    layer: LayerId,
    before: Option<&Layer>,
    after: Option<&Layer>,
) -> Result<LogRow> {
    let shown = |layer: Option<&Layer>| layer.map(serde_json::to_string).transpose();
    Ok(LogRow {
        at,
        actor: actor.person(),
        action,
        subject: layer.0,
        before: shown(before)?,
        after: shown(after)?,
    })
}
