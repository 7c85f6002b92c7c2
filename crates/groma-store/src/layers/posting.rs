//! Writing posted geometries, in one transaction with everything that must stay exact: the layer's
//! statistics, fields and bounds, the tile index, and the bounding boxes of folders.

mod finish;

use super::{
    FeatureRow, LayerTx, LayerWrite, StoredFeature, StoredLayer,
    column_merge::ColumnMerge,
    declared_fields::PropertyCheck,
    feature_events::{FeatureChange, FeatureChanges, deletion, document},
    feature_spool::{FeatureSpool, PreparedFeature, PreparedGeometry, SpoolReader},
    index_update::{IndexChange, NewShape, update_index},
    known_features::KnownFeatures,
    layer_changes::last_order,
    layer_stats::LayerStats,
    links::Links,
    tile_index::{IndexedShape, TileIndex},
    unmoved_positions::UnmovedPositions,
    value_index::ValueIndex,
};
use crate::{
    Actor, Error, Result,
    actor::AuthorizedActor,
    engine::{impl_work, random},
    idempotency::{self, IdempotentRequest},
    webhooks::WebhookContext,
    workspaces::{self, LockedWorkspace},
};
use groma_domain::{
    DomainError, GeometryId, Layer, LayerId, Permission, RecordId, Timestamp, WorkspaceId,
    event::EventAction,
    geometry::{MAX_LISTED_GEOMETRIES, UploadResult, UploadedGeometry},
    json::is_same_value,
    layer::{DEFAULT_LAYER_SLUG, GeometryType, LayerCrs, LayerKey},
};
use groma_geo::{Bbox, Crs, Geometry, Message, attributes, message, wkb};
use rustc_hash::FxHashSet;
use std::{collections::BTreeMap, sync::Arc, thread};

/// The number of features that are deleted at a time.
const DELETE_BATCH: usize = 1_000;

/// From this number of features on, a thread of its own updates the tile index while rows are written.
const MANY: usize = 1_000;

/// Geometries to be written together.
#[derive(Clone)]
pub struct NewGeometries {
    /// The workspace.
    pub workspace: WorkspaceId,
    /// Who posts them.
    pub actor: Actor,
    /// The current time.
    pub now: Timestamp,
    /// The layer; `None` for the default layer.
    pub layer: Option<LayerKey>,
    /// The key of their folder.
    pub folder: Option<String>,
    /// The key of their assignment.
    pub assignment: Option<String>,
    /// The features.
    pub features: FeatureSpool,
    /// The request, if it carried an idempotency key.
    pub request: Option<IdempotentRequest>,
    /// What is written.
    pub mode: PostMode,
}

/// What posting features does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PostMode {
    /// Leaves stored features as they are.
    pub is_add_only: bool,
    /// Only tells what would be written.
    pub is_dry_run: bool,
}

/// The outcome of posting geometries.
#[derive(Debug)]
pub enum PostOutcome {
    /// They were written.
    Posted(UploadResult),
    /// The same request was handled before; this was the response.
    Replayed(Vec<u8>),
}

impl_work! {
    PostGeometries => PostOutcome;
}

/// Writes geometries.
#[derive(Clone)]
pub(super) struct PostGeometries {
    pub(super) geometries: NewGeometries,
    pub(super) webhooks: Arc<WebhookContext>,
}

impl PostGeometries {
    async fn run<T: LayerTx>(self, tx: &mut T) -> Result<PostOutcome> {
        let Self { geometries, webhooks } = self;
        let NewGeometries {
            workspace,
            actor,
            now,
            layer,
            folder,
            assignment,
            features,
            request,
            mode,
        } = geometries;
        let (locked, actor) = workspaces::authorize(tx, workspace, actor, now).await?;
        actor.require(Permission::ChangeRecords)?;
        let cipher = webhooks.cipher();
        let replayed = idempotency::find(tx, workspace, request.as_ref(), cipher, now).await?;
        if let Some(response) = replayed {
            return Ok(PostOutcome::Replayed(response));
        }
        let links = Links::find(tx, workspace, folder, assignment).await?;
        let (stored, is_new) = find_layer(tx, workspace, layer, now).await?;
        let mut posting = Posting::new(tx, locked, now, links, stored, webhooks);
        posting.is_new_layer = is_new;
        posting.mode = mode;
        posting.write_all(features).await?;
        posting.finish(actor, request).await
    }
}

/// The layer to post to, and whether it was created for that.
pub(super) async fn find_layer<T: LayerTx>(
    tx: &mut T,
    workspace: WorkspaceId,
    key: Option<LayerKey>,
    now: Timestamp,
) -> Result<(StoredLayer, bool)> {
    let layer_key = key.clone().unwrap_or_else(|| LayerKey::Slug(DEFAULT_LAYER_SLUG.to_owned()));
    if let Some(found) = tx.layer(workspace, &layer_key).await? {
        found.layer.require_unlocked()?;
        return Ok((found, false));
    }
    if key.is_some() {
        return Err(
            DomainError::invalid("layer", message!("does not exist in this workspace")).into()
        );
    }
    let others = tx.layers(workspace).await?;
    let id = LayerId::new(now, random());
    let mut layer = Layer::new(id, "Submissions", LayerCrs::CRS84, others.len(), now)?;
    layer.order = last_order(&others);
    tx.write_layers(workspace, vec![LayerWrite::Insert(layer)]).await?;
    let created = tx.layer(workspace, &layer_key).await?;
    Ok((created.ok_or(Error::Closed)?, true))
}

/// Features being written to a layer.
pub(super) struct Posting<'t, T> {
    tx: &'t mut T,
    workspace: WorkspaceId,
    locked: LockedWorkspace,
    now: Timestamp,
    layer: u64,
    pub(super) is_new_layer: bool,
    pub(super) mode: PostMode,
    /// The type of geometry that a saved feature must have; any if there is none.
    pub(super) geometry_type: Option<GeometryType>,
    links: Links,
    result: UploadResult,
    changes: FeatureChanges,
    stats: LayerStats,
    /// The layer's numbers of the spool's fields.
    fields: Vec<u32>,
    properties: PropertyCheck,
    values: ValueIndex,
    /// For features from a table.
    columns: Option<ColumnMerge>,
    /// How the boxes of folders grow; `None` if a geometry was removed and the box must be recomputed.
    folders: BTreeMap<RecordId, Option<Bbox>>,
    /// The stored features that were updated.
    updated_positions: FxHashSet<u64>,
    /// Whether each feature, in their order, is unchanged.
    unchanged: Vec<bool>,
    /// The rows to be written later, for a layer that is being loaded: reading the features and updating the tile
    /// index then needs no lock.
    prepared: Option<Vec<LayerWrite>>,
    /// The layer's own reference system, once it is needed.
    own_crs: Option<Crs>,
    unmoved_positions: UnmovedPositions,
    next_id: u128,
    webhooks: Arc<WebhookContext>,
}

fn spool_error(source: std::io::Error) -> Error {
    Error::File { path: "the spool of features".into(), source }
}

impl<'t, T: LayerTx> Posting<'t, T> {
    pub(super) fn tx(&mut self) -> &mut T {
        self.tx
    }

    pub(super) fn new(
        tx: &'t mut T,
        locked: LockedWorkspace,
        now: Timestamp,
        links: Links,
        stored: StoredLayer,
        webhooks: Arc<WebhookContext>,
    ) -> Self {
        Self {
            tx,
            workspace: locked.workspace.id,
            locked,
            now,
            layer: stored.no,
            is_new_layer: false,
            mode: PostMode::default(),
            geometry_type: None,
            links,
            result: UploadResult {
                layer_id: stored.layer.id,
                received: 0,
                created: 0,
                updated: 0,
                unchanged: 0,
                bbox: None,
                geometries: Vec::new(),
                truncated: false,
                notices: Vec::new(),
                notice_count: 0,
            },
            changes: FeatureChanges::default(),
            values: ValueIndex::new(&stored.layer),
            stats: LayerStats::new(stored.layer),
            fields: Vec::new(),
            properties: PropertyCheck::default(),
            columns: None,
            folders: BTreeMap::new(),
            updated_positions: FxHashSet::default(),
            unchanged: Vec::new(),
            prepared: None,
            own_crs: None,
            unmoved_positions: UnmovedPositions::default(),
            next_id: u128::from_be_bytes(random()),
            webhooks,
        }
    }

    /// Begins to read the features to be written.
    fn open(&mut self, features: FeatureSpool) -> SpoolReader {
        let (notices, notice_count) = features.notices();
        self.result.notices.extend_from_slice(notices);
        self.result.notice_count += notice_count;
        self.result.received += features.len();
        self.result.truncated = self.result.received > MAX_LISTED_GEOMETRIES as u64;
        let has_columns = features.has_columns();
        let (mut names, reader) = features.read();
        self.columns = has_columns.then(|| ColumnMerge::new(&names));
        self.properties = PropertyCheck::new(&self.stats.layer.declared_fields, &mut names);
        self.fields = names.iter().map(|name| self.stats.field_number(name) as u32).collect();
        self.values.find_numbers(&self.stats.layer);
        reader
    }

    /// Creates a feature, or replaces one, by the only one of the spool.
    pub(super) async fn save(
        &mut self,
        old: Option<&StoredFeature>,
        features: FeatureSpool,
    ) -> Result<()> {
        let mut reader = self.open(features);
        let Some(mut prepared) = reader.next_batch().map_err(spool_error)?.pop() else {
            return Ok(());
        };
        if let Some(old) = old {
            prepared.external_id.clone_from(&old.external_id);
        }
        if let (Some(geometry), Some(required)) = (&prepared.geometry, self.geometry_type) {
            geometry.require_type(required)?;
        }
        self.properties.check(&mut prepared, old)?;
        self.properties.require_valid()?;
        let mut writes = Vec::new();
        let change = self.write_feature(prepared, old, &mut writes)?;
        writes.extend(self.stats.grown_extents(self.layer));
        self.write_and_index(writes, change.into_iter().collect()).await
    }

    /// Adds features beside another one: to its folder and assignment, unless they are changed, too.
    pub(super) async fn add_parts(
        &mut self,
        beside: &StoredFeature,
        parts: FeatureSpool,
    ) -> Result<()> {
        let links = self.links;
        if links.folder.is_none() {
            self.links = Links { folder: beside.folder, assignment: beside.assignment };
        }
        self.write_all(parts).await?;
        self.links = links;
        Ok(())
    }

    /// Removes a feature.
    pub(super) async fn remove(&mut self, old: StoredFeature) -> Result<()> {
        self.remove_all(vec![old]).await
    }

    /// Removes features.
    pub(super) async fn remove_all(&mut self, features: Vec<StoredFeature>) -> Result<()> {
        let (mut deletions, mut changes) = (Vec::new(), Vec::new());
        for old in features {
            let geometry = self.stats.remove(&old)?;
            self.changes.add(FeatureChange {
                id: old.id,
                action: EventAction::Deleted,
                folders: [old.folder, None],
                boxes: [geometry.as_ref().and_then(Geometry::bbox), None],
                deleted: Some(document(old.clone(), self.result.layer_id)?),
            });
            if let (Some(folder), Some(_)) = (old.folder, &geometry) {
                self.folders.insert(folder, None);
            }
            let (layer, position) = (self.layer, old.position);
            let properties = Some(old.properties.as_str());
            deletions.extend(self.values.writes(layer, position, properties, None)?);
            let external_id = old.external_id;
            deletions.push(LayerWrite::DeleteFeature { layer, position, external_id });
            let old = IndexedShape::of(geometry);
            changes.push(IndexChange { position, is_known: true, old, new: None });
        }
        self.write_and_index(deletions, changes).await
    }

    /// Deletes features, with an audit entry for each; those that are no longer there are left out. Returns
    /// their number.
    pub(super) async fn delete(
        &mut self,
        ids: &[GeometryId],
        actor: AuthorizedActor,
    ) -> Result<u64> {
        let mut count = 0;
        for ids in ids.chunks(DELETE_BATCH) {
            let features = self.tx.features_by_id(self.workspace, self.layer, ids).await?;
            count += features.len() as u64;
            for old in &features {
                let entry = deletion(actor, self.now, self.result.layer_id, old);
                self.tx.log(self.workspace, entry).await?;
            }
            self.remove_all(features).await?;
        }
        Ok(count)
    }

    pub(super) async fn write_all(&mut self, features: FeatureSpool) -> Result<()> {
        let mut reader = self.open(features);
        loop {
            let batch = reader.next_batch().map_err(spool_error)?;
            if batch.is_empty() {
                return self.properties.require_valid();
            }
            self.write_batch(batch).await?;
        }
    }

    async fn write_batch(&mut self, batch: Vec<PreparedFeature>) -> Result<()> {
        let ids = batch.iter().filter_map(|feature| feature.external_id.as_deref()).collect();
        let known = KnownFeatures::find(self.tx, self.workspace, self.layer, ids).await?;
        let mut writes = Vec::new();
        let mut changes = Vec::new();
        for mut prepared in batch {
            let old = prepared.external_id.as_deref().and_then(|id| known.get(id));
            if let Some(old) = old {
                // A layer that is being loaded has only features of the same file.
                if self.prepared.is_some() || !self.updated_positions.insert(old.position) {
                    let message = message!(
                        "names the feature {id} for a second time",
                        id = old.id.to_string()
                    );
                    return Err(DomainError::invalid("id", message).into());
                }
                if self.mode.is_add_only {
                    self.result.unchanged += 1;
                    self.unchanged.push(true);
                    continue;
                }
                prepared.external_id.clone_from(&old.external_id);
                if let Some(columns) = &self.columns {
                    columns.merge(&mut prepared, old)?;
                }
                let layer_crs = self.stats.layer.crs;
                let restore = |sent| self.unmoved_positions.restore(sent, old, layer_crs);
                prepared.geometry = prepared.geometry.take().map(restore).transpose()?;
            } else if let Some(columns) = &self.columns {
                columns.drop_nulls(&mut prepared)?;
            }
            self.properties.check(&mut prepared, old)?;
            // After a problem, the rest is only checked.
            if self.properties.is_valid() {
                let before = self.result.unchanged;
                changes.extend(self.write_feature(prepared, old, &mut writes)?);
                self.unchanged.push(self.result.unchanged > before);
            }
        }
        if !self.properties.is_valid() {
            return Ok(());
        }
        writes.extend(self.stats.grown_extents(self.layer));
        self.write_and_index(writes, changes).await
    }

    /// Writes a feature unless it is unchanged; returns how the tile index changes.
    fn write_feature(
        &mut self,
        mut prepared: PreparedFeature,
        old: Option<&StoredFeature>,
        writes: &mut Vec<LayerWrite>,
    ) -> Result<Option<IndexChange>> {
        let shape = prepared.tile_shape();
        let PreparedFeature { external_id, geometry, properties, attributes, .. } = prepared;
        let bbox = geometry.as_ref().and_then(|geometry| geometry.bbox).map(Bbox);
        if let Some(bbox) = bbox {
            self.result.bbox = Some(self.result.bbox.map_or(bbox, |all| all.union(bbox)));
        }
        let (kind, class) = geometry.as_ref().map_or((None, None), |geometry| {
            let (kind, class) = geometry.kind();
            (Some(kind), Some(class))
        });
        let has_heights = geometry.as_ref().is_some_and(|geometry| geometry.has_heights);
        let (position, id, created_at) = match old {
            Some(old) => (old.position, old.id, old.created_at),
            None => (self.stats.layer.last_seq + 1, self.new_id(), self.now),
        };
        if self.result.geometries.len() < MAX_LISTED_GEOMETRIES {
            let external_id = external_id.clone();
            self.result.geometries.push(UploadedGeometry { id, external_id, kind });
        }
        let old_links = old.map(|old| (old.folder, old.assignment)).unwrap_or_default();
        // Another order of the members or spelling of a number is no change.
        let stored = old.map(|old| &old.properties);
        let properties = match stored.filter(|stored| is_same_json(stored, &properties)) {
            Some(stored) => stored.clone(),
            None => properties,
        };
        let feature = StoredFeature {
            position,
            id,
            external_id,
            folder: self.links.folder.or(old_links.0),
            assignment: match self.links {
                Links { folder: None, .. } => old_links.1,
                Links { assignment, .. } => assignment,
            },
            original: self.original(geometry.as_ref(), old)?,
            geometry: geometry.map(|geometry| geometry.wkb),
            properties,
            created_at,
            updated_at: self.now,
        };
        if old.is_some_and(|old| old.is_same(&feature)) {
            self.result.unchanged += 1;
            return Ok(None);
        }
        if self.mode.is_dry_run {
            let count =
                if old.is_some() { &mut self.result.updated } else { &mut self.result.created };
            *count += 1;
            return Ok(None);
        }
        let attributes = attributes::renumber_fields(&attributes, &self.fields);
        let (mut old_shape, mut old_bbox) = (None, None);
        match old {
            None => {
                self.result.created += 1;
                self.stats.layer.last_seq = position;
            }
            Some(old) => {
                self.result.updated += 1;
                let geometry = self.stats.remove(old)?;
                old_bbox = geometry.as_ref().and_then(Geometry::bbox);
                if let (Some(folder), Some(_)) = (old.folder, &geometry) {
                    self.folders.insert(folder, None);
                }
                old_shape = IndexedShape::of(geometry);
            }
        }
        self.stats.add(position, class, bbox, &attributes);
        if let (Some(folder), Some(bbox)) = (feature.folder, bbox) {
            let grown = self.folders.entry(folder).or_insert(Some(bbox));
            *grown = grown.map(|grown| grown.union(bbox));
        }
        let is_new = old.is_none();
        let before = old.map(|old| old.properties.as_str());
        let after = Some(feature.properties.as_str());
        writes.extend(self.values.writes(self.layer, position, before, after)?);
        self.changes.add(FeatureChange {
            id,
            action: if is_new { EventAction::Created } else { EventAction::Updated },
            folders: [old_links.0, feature.folder],
            boxes: [old_bbox, bbox],
            deleted: None,
        });
        let row = FeatureRow { layer: self.layer, is_new, has_heights, feature };
        writes.push(LayerWrite::SaveFeature(row));
        let new =
            shape.map(|shape| NewShape { indexed: IndexedShape::new(&shape), shape, attributes });
        Ok(Some(IndexChange { position, is_known: !is_new, old: old_shape, new }))
    }

    /// A geometry in the reference system of the layer: as it was sent, or else derived from WGS 84.
    fn original(
        &mut self,
        geometry: Option<&PreparedGeometry>,
        old: Option<&StoredFeature>,
    ) -> Result<Option<Vec<u8>>> {
        let (Some(code), Some(geometry)) = (self.stats.layer.crs.code(), geometry) else {
            return Ok(None);
        };
        let invalid = |reason: Message| DomainError::invalid("geometry", reason);
        if let Some((sent_in, wkb)) = &geometry.original
            && *sent_in == code
        {
            return Ok(Some(wkb.clone()));
        }
        // The stored original can have its rings in another order.
        if let Some(old) = old
            && old.original.is_some()
            && old.geometry.as_ref() == Some(&geometry.wkb)
        {
            return Ok(old.original.clone());
        }
        let crs = match &self.own_crs {
            Some(crs) => crs,
            None => self
                .own_crs
                .insert(self.stats.layer.crs.system().map_err(|error| invalid(error.message()))?),
        };
        let read =
            |wkb: &[u8]| wkb::from_wkb(wkb).map_err(|error| Error::Damaged(error.to_string()));
        let before = old.and_then(|old| old.original.as_deref()).map(read).transpose()?;
        let derived = crs.geometry_from_wgs84(&read(&geometry.wkb)?, before.as_ref());
        let outside = || {
            invalid(message!(
                "has a position outside the area in which {crs} can be used",
                crs = crs.to_string()
            ))
        };
        Ok(Some(wkb::to_wkb(&derived.ok_or_else(outside)?)))
    }

    /// Writes rows, and updates the tile index.
    async fn write_and_index(
        &mut self,
        mut writes: Vec<LayerWrite>,
        changes: Vec<IndexChange>,
    ) -> Result<()> {
        let (index, layer) = (self.load_index(&changes).await?, self.layer);
        let are_many = changes.len() >= MANY;
        let update = move || update_index(index, layer, changes);
        let updated = if are_many {
            let thread = thread::Builder::new().name("tile-index".to_owned()).spawn(update);
            let thread =
                thread.map_err(|source| Error::File { path: "tile-index".to_owned(), source })?;
            self.write(std::mem::take(&mut writes)).await?;
            let panicked = || Error::Damaged("updating the tile index panicked".to_owned());
            thread.join().map_err(|_| panicked())?
        } else {
            update()
        };
        for (tier, size_class) in updated.size_classes {
            let largest = self.stats.layer.max_size_class.entry(tier).or_default();
            *largest = (*largest).max(size_class);
        }
        writes.extend(updated.writes);
        if writes.is_empty() {
            return Ok(());
        }
        self.write(writes).await
    }

    async fn write(&mut self, writes: Vec<LayerWrite>) -> Result<()> {
        match &mut self.prepared {
            Some(prepared) => {
                prepared.extend(writes);
                Ok(())
            }
            None => self.tx.write_layers(self.workspace, writes).await,
        }
    }

    /// Prepares to write a batch of new features to a layer that is being loaded; returns the rows, the last of
    /// which is the layer with its statistics. The spool must not be larger than one batch.
    pub(super) async fn prepare(
        mut self,
        features: FeatureSpool,
        lease_until: Timestamp,
    ) -> Result<(Vec<LayerWrite>, UploadResult)> {
        self.prepared = Some(Vec::new());
        self.write_all(features).await?;
        let mut writes = self.prepared.unwrap_or_default();
        writes.push(LayerWrite::SaveStaged { layer: self.stats.layer, lease_until });
        Ok((writes, self.result))
    }

    /// The part of the tile index that these changes affect.
    async fn load_index(&mut self, changes: &[IndexChange]) -> Result<TileIndex> {
        let is_empty = self.stats.layer.max_size_class.is_empty();
        self.stats.layer.has_small_feature_tier |= is_empty;
        let mut index = TileIndex::new(&self.stats.layer);
        let ranges = index.affected_ranges(changes.iter().flat_map(IndexChange::shapes));
        if !is_empty {
            index.load(self.tx.tile_blocks(self.workspace, self.layer, &ranges).await?);
        }
        Ok(index)
    }

    /// After a dry run: whether each feature, in their order, is unchanged.
    pub(super) fn into_unchanged(self) -> Vec<bool> {
        self.unchanged
    }

    /// Counts features that were compared before.
    pub(super) fn count_unchanged(&mut self, count: u64) {
        self.result.unchanged += count;
    }

    fn new_id(&mut self) -> GeometryId {
        self.next_id = self.next_id.wrapping_add(1);
        let [_, _, _, _, _, _, random @ ..] = self.next_id.to_be_bytes();
        GeometryId::new(self.now, random)
    }
}

/// Whether two texts in JSON mean the same.
fn is_same_json(one: &str, other: &str) -> bool {
    let parse = |text: &str| serde_json::from_str(text).ok();
    let parsed = || parse(one).zip(parse(other));
    one == other || parsed().is_some_and(|(one, other)| is_same_value(&one, &other))
}

impl StoredFeature {
    fn is_same(&self, other: &Self) -> bool {
        self.geometry == other.geometry
            && self.original == other.original
            && self.properties == other.properties
            && self.folder == other.folder
            && self.assignment == other.assignment
    }
}
