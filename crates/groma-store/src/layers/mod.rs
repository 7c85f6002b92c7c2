//! Map layers: their features, the index that tiles are read from, and the tiles.

mod candidates;
mod column_merge;
mod declared_fields;
mod feature_edit;
mod feature_events;
mod feature_import;
mod feature_query;
mod feature_reader;
mod feature_repair;
mod feature_spool;
mod feature_table;
mod feature_write;
mod folder_boxes;
mod index_update;
mod known_features;
mod layer_changes;
mod layer_stats;
mod links;
pub(crate) mod postgres;
mod posting;
mod property_filter;
pub(crate) mod sqlite;
mod staging;
mod tile_index;
mod tiles;
mod unmoved_positions;
mod value_index;

pub use feature_edit::GeometryEdit;
pub use feature_import::{FeatureImport, ImportOutcome};
pub use feature_query::{FeaturePage, FeatureQuery};
pub use feature_reader::FeatureReader;
pub use feature_repair::{LayerRepair, RepairOutcome};
pub use feature_spool::FeatureSpool;
pub use feature_table::{FeatureSort, FeatureTablePage, FeatureTableQuery};
pub use feature_write::{
    FeatureOperation, FeaturePrecondition, FeatureWrite, FeatureWriteOutcome, WrittenFeature,
};
pub use posting::{NewGeometries, PostMode, PostOutcome};
pub use property_filter::{Comparison, PropertyCondition};
pub use staging::{LayerLoad, NewLayerLoad};
pub use tiles::Tile;

use crate::{
    Actor, Page, Result,
    engine::{Engine, dispatch},
    records::RecordTx,
    webhooks::WebhookContext,
};
use groma_domain::{
    GeometryId, Layer, LayerId, ListParams, RecordId, Timestamp, WorkspaceId,
    geometry::FeatureDocument,
    layer::{LayerCrs, LayerEdit, LayerKey, LayerSetup},
};
use groma_geo::{
    Bbox,
    grid::TileId,
    tile_block::{TierKey, TileBlock},
};
use layer_changes::{ChangeLayer, CreateLayer, DeleteLayer, LayerCommand, PlaceLayer};
use posting::PostGeometries;
use std::sync::Arc;
use tile_index::TierRanges;
use tiles::LayerCache;
use value_index::IndexedValue;

/// A feature of a layer.
#[derive(Clone, Debug)]
pub struct LayerFeature {
    /// Its position in the order of creation, to continue after.
    pub position: u64,
    /// Its id.
    pub id: GeometryId,
    /// The id it was posted with.
    pub external_id: Option<String>,
    /// Its folder.
    pub folder: Option<RecordId>,
    /// Its assignment.
    pub assignment: Option<RecordId>,
    /// Its geometry in WGS 84, as WKB.
    pub geometry: Option<Vec<u8>>,
    /// Its geometry in the reference system of the layer, as WKB, if the layer has one of its own.
    pub original: Option<Vec<u8>>,
    /// Its properties as JSON.
    pub properties: String,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

impl LayerFeature {
    /// Its public document, as a feature of `layer`.
    #[must_use]
    pub fn document(&self, layer: LayerId) -> FeatureDocument<'_> {
        FeatureDocument {
            id: self.id,
            layer,
            external_id: self.external_id.as_deref(),
            folder: self.folder,
            assignment: self.assignment,
            geometry: self.geometry.as_deref(),
            properties: &self.properties,
            created_at: self.created_at,
            updated_at: self.updated_at,
        }
    }
}

/// A layer to be created.
#[derive(Clone, Debug)]
pub struct NewLayer {
    /// Its name.
    pub name: String,
    /// Its reference system.
    pub crs: LayerCrs,
}

impl NewLayer {
    /// A layer without a reference system of its own.
    pub fn named(name: impl Into<String>) -> Self {
        Self { name: name.into(), crs: LayerCrs::CRS84 }
    }
}

/// Layers of a database.
#[derive(Clone)]
pub(crate) struct Layers {
    engine: Engine,
    cache: Arc<LayerCache>,
    webhooks: Arc<WebhookContext>,
}

impl Layers {
    pub(crate) fn new(engine: &Engine, webhooks: &Arc<WebhookContext>) -> Self {
        Self { engine: engine.clone(), cache: Arc::default(), webhooks: webhooks.clone() }
    }

    /// A page of the layers; `render` writes the public document of one.
    pub(crate) async fn list(
        &self,
        workspace: WorkspaceId,
        params: &ListParams,
        render: impl Fn(&Layer) -> Vec<u8>,
    ) -> Result<Page> {
        // There are few: they are read whole, and searched and paged here for both engines.
        let layers = dispatch!(&self.engine, layers(workspace))?.into_iter();
        let matches =
            |layer: &Layer| params.term.as_ref().is_none_or(|term| layer.matches(term.as_str()));
        let matching: Vec<(u64, Layer)> = layers
            .filter(|stored| matches(&stored.layer))
            .map(|StoredLayer { no, layer }| (no, layer))
            .collect();
        Page::of(workspace, "layers", &matching, params, render)
    }

    /// Every layer of a workspace, oldest first.
    pub(crate) async fn all(&self, workspace: WorkspaceId) -> Result<Vec<Layer>> {
        let layers = dispatch!(&self.engine, layers(workspace))?;
        Ok(layers.into_iter().map(|stored| stored.layer).collect())
    }

    /// One layer.
    pub(crate) async fn get(
        &self,
        workspace: WorkspaceId,
        key: &LayerKey,
    ) -> Result<Option<Layer>> {
        let stored = dispatch!(&self.engine, layer(workspace, key))?;
        Ok(stored.map(|stored| stored.layer))
    }

    /// The revision of a layer; `None` when there is no such layer.
    pub(crate) async fn revision(
        &self,
        workspace: WorkspaceId,
        layer: LayerId,
    ) -> Result<Option<u64>> {
        dispatch!(&self.engine, revision(workspace, layer))
    }

    /// A tile of a layer; `None` when there is no such layer.
    pub(crate) async fn tile(
        &self,
        workspace: WorkspaceId,
        layer: LayerId,
        tile: TileId,
    ) -> Result<Option<Tile>> {
        dispatch!(&self.engine, tile(&self.cache, workspace, layer, tile))
    }

    /// Creates a layer.
    pub(crate) async fn create(
        &self,
        workspace: WorkspaceId,
        actor: Actor,
        layer: NewLayer,
        now: Timestamp,
    ) -> Result<Layer> {
        let webhooks = self.webhooks.clone();
        self.engine.transact(CreateLayer { workspace, actor, layer, now, webhooks }).await
    }

    /// Changes a layer, but not its features.
    pub(crate) async fn change(
        &self,
        workspace: WorkspaceId,
        actor: Actor,
        key: LayerKey,
        edit: LayerEdit,
        now: Timestamp,
    ) -> Result<Layer> {
        self.apply(workspace, actor, key, LayerCommand::Edit(edit), now).await
    }

    /// Changes the fields, the style or the lock of a layer.
    pub(crate) async fn set_up(
        &self,
        workspace: WorkspaceId,
        actor: Actor,
        key: LayerKey,
        setup: LayerSetup,
        now: Timestamp,
    ) -> Result<Layer> {
        self.apply(workspace, actor, key, LayerCommand::SetUp(setup), now).await
    }

    async fn apply(
        &self,
        workspace: WorkspaceId,
        actor: Actor,
        key: LayerKey,
        command: LayerCommand,
        now: Timestamp,
    ) -> Result<Layer> {
        let webhooks = self.webhooks.clone();
        self.engine.transact(ChangeLayer { workspace, actor, key, command, now, webhooks }).await
    }

    /// Moves a layer to a position on maps, where 0 is the top. Returns all layers in their new order.
    pub(crate) async fn place(
        &self,
        workspace: WorkspaceId,
        actor: Actor,
        key: LayerKey,
        position: usize,
        now: Timestamp,
    ) -> Result<Vec<Layer>> {
        self.engine.transact(PlaceLayer { workspace, actor, key, position, now }).await
    }

    /// Deletes a layer. It is gone at once; its features are deleted in small steps, so that others can
    /// write in between.
    pub(crate) async fn delete(
        &self,
        workspace: WorkspaceId,
        actor: Actor,
        key: LayerKey,
        now: Timestamp,
    ) -> Result<Layer> {
        let webhooks = self.webhooks.clone();
        let delete = DeleteLayer { workspace, actor, key, now, webhooks };
        let (no, layer) = self.engine.transact(delete).await?;
        dispatch!(&self.engine, delete_features(workspace, no))?;
        Ok(layer)
    }

    /// Writes geometries: all of them, or none.
    pub(crate) async fn post(&self, geometries: NewGeometries) -> Result<PostOutcome> {
        let webhooks = self.webhooks.clone();
        self.engine.transact(PostGeometries { geometries, webhooks }).await
    }

    /// Up to `limit` features of a layer after a position, in the order of creation.
    pub(crate) async fn features(
        &self,
        workspace: WorkspaceId,
        key: &LayerKey,
        after: u64,
        limit: u32,
    ) -> Result<Vec<LayerFeature>> {
        let stored = dispatch!(&self.engine, layer(workspace, key))?;
        let Some(no) = stored.map(|stored| stored.no) else { return Ok(Vec::new()) };
        let features = dispatch!(&self.engine, features(workspace, no, after, limit))?;
        Ok(features.into_iter().map(LayerFeature::from).collect())
    }
}

/// Operations of a transaction on layers.
pub(crate) trait LayerTx: RecordTx {
    /// A layer by its key.
    fn layer(
        &mut self,
        workspace: WorkspaceId,
        key: &LayerKey,
    ) -> impl Future<Output = Result<Option<StoredLayer>>> + Send;

    /// The layers of the workspace, in the order of creation.
    fn layers(
        &mut self,
        workspace: WorkspaceId,
    ) -> impl Future<Output = Result<Vec<StoredLayer>>> + Send;

    /// A layer that is being loaded.
    fn staged_layer(
        &mut self,
        workspace: WorkspaceId,
        id: LayerId,
    ) -> impl Future<Output = Result<Option<StagedLayer>>> + Send;

    /// The features of a layer that were posted with one of these ids.
    fn features_by_external_id(
        &mut self,
        workspace: WorkspaceId,
        layer: u64,
        ids: &[&str],
    ) -> impl Future<Output = Result<Vec<StoredFeature>>> + Send;

    /// The features of a layer with these ids.
    fn features_by_id(
        &mut self,
        workspace: WorkspaceId,
        layer: u64,
        ids: &[GeometryId],
    ) -> impl Future<Output = Result<Vec<StoredFeature>>> + Send;

    /// The features of a layer from one position to another, both included.
    fn features_between(
        &mut self,
        workspace: WorkspaceId,
        layer: u64,
        first: u64,
        last: u64,
    ) -> impl Future<Output = Result<Vec<StoredFeature>>> + Send;

    /// A feature by its id, with its layer; not if the layer is deleted.
    fn feature(
        &mut self,
        workspace: WorkspaceId,
        id: GeometryId,
    ) -> impl Future<Output = Result<Option<(StoredLayer, StoredFeature)>>> + Send;

    /// The folders that features of a layer belong to.
    fn folders_of_layer(
        &mut self,
        workspace: WorkspaceId,
        layer: u64,
    ) -> impl Future<Output = Result<Vec<RecordId>>> + Send;

    /// The geometries, as WKB, of a folder's features; not of deleted layers.
    fn geometries_of_folder(
        &mut self,
        workspace: WorkspaceId,
        folder: RecordId,
    ) -> impl Future<Output = Result<Vec<Vec<u8>>>> + Send;

    /// The bounding boxes of runs of a layer's features: of these runs, or of all.
    fn extents(
        &mut self,
        workspace: WorkspaceId,
        layer: u64,
        runs: Option<&[u64]>,
    ) -> impl Future<Output = Result<Vec<(u64, Bbox)>>> + Send;

    /// The tile blocks of a layer that may have entries in one of these ranges.
    fn tile_blocks(
        &mut self,
        workspace: WorkspaceId,
        layer: u64,
        ranges: &TierRanges,
    ) -> impl Future<Output = Result<Vec<StoredBlock>>> + Send;

    /// Executes writes in their order.
    fn write_layers(
        &mut self,
        workspace: WorkspaceId,
        writes: Vec<LayerWrite>,
    ) -> impl Future<Output = Result<()>> + Send;
}

/// A write to layers.
#[derive(Clone)]
pub(crate) enum LayerWrite {
    Insert(Layer),
    Update(Layer),
    Delete {
        layer: u64,
    },
    /// Gives a layer a number, but does not publish it.
    Stage {
        layer: Layer,
        lease_until: Timestamp,
    },
    SaveStaged {
        layer: Layer,
        lease_until: Timestamp,
    },
    DeleteStaged {
        layer: u64,
    },
    /// Publishes a layer with the number that it was staged with.
    InsertStaged {
        no: u64,
        layer: Layer,
    },
    SaveFeature(FeatureRow),
    DeleteFeature {
        layer: u64,
        position: u64,
        external_id: Option<String>,
    },
    GrowExtent {
        layer: u64,
        run: u64,
        bounds: Bbox,
    },
    SetExtent {
        layer: u64,
        run: u64,
        bounds: Option<Bbox>,
    },
    SaveBlock {
        layer: u64,
        tier: u8,
        is_new: bool,
        block: TileBlock,
    },
    DeleteBlock {
        layer: u64,
        tier: u8,
        key: TierKey,
    },
    SaveLargeFeature {
        layer: u64,
        position: u64,
        max_zoom: u8,
        shape: Vec<u8>,
    },
    DeleteLargeFeature {
        layer: u64,
        position: u64,
    },
    SaveValues {
        layer: u64,
        position: u64,
        values: Vec<IndexedValue>,
    },
    DeleteValues {
        layer: u64,
        position: u64,
        values: Vec<IndexedValue>,
    },
    DeleteFieldValues {
        layer: u64,
        field: u64,
    },
}

/// A layer as it is stored.
#[derive(Clone, Debug)]
pub(crate) struct StoredLayer {
    /// The number by which its features refer to it.
    no: u64,
    layer: Layer,
}

/// A layer that is being loaded, as it is stored.
pub(crate) struct StagedLayer {
    stored: StoredLayer,
    /// When the import counts as dead; 0 when the features are being deleted.
    lease_until: Timestamp,
}

/// A feature as it is stored. Its geometries are WKB.
#[derive(Clone, Debug)]
pub(crate) struct StoredFeature {
    position: u64,
    id: GeometryId,
    external_id: Option<String>,
    folder: Option<RecordId>,
    assignment: Option<RecordId>,
    geometry: Option<Vec<u8>>,
    original: Option<Vec<u8>>,
    properties: String,
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl From<StoredFeature> for LayerFeature {
    fn from(stored: StoredFeature) -> Self {
        Self {
            position: stored.position,
            id: stored.id,
            external_id: stored.external_id,
            folder: stored.folder,
            assignment: stored.assignment,
            geometry: stored.geometry,
            original: stored.original,
            properties: stored.properties,
            created_at: stored.created_at,
            updated_at: stored.updated_at,
        }
    }
}

/// A record that features belong to.
#[derive(Clone, Copy)]
enum Link {
    Folder(RecordId),
    Assignment(RecordId),
}

/// A feature to be written.
#[derive(Clone)]
pub(crate) struct FeatureRow {
    layer: u64,
    is_new: bool,
    has_heights: bool,
    feature: StoredFeature,
}

/// A tile block as it is stored.
pub(crate) struct StoredBlock {
    tier: u8,
    key: TierKey,
    block: Vec<u8>,
}

/// A Morton code as the databases sort it.
fn sortable(code: u64) -> i64 {
    (code ^ 1 << 63).cast_signed()
}

/// The Morton code that [`sortable`] was given.
fn morton_code(sorted: i64) -> u64 {
    sorted.cast_unsigned() ^ 1 << 63
}
