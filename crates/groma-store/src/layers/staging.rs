//! Loading a new layer in short transactions. Until it is published, its row is in `staged_layers` instead of
//! `layers`, so nothing else finds the layer or its features. What an import that died has left is deleted
//! once its lease has ended.

use super::{
    FeatureSpool, LayerTx, LayerWrite, Layers, NewLayer, StagedLayer, StoredLayer,
    feature_events::{EventWriter, FeatureChange, FeatureChanges},
    folder_boxes::update_folder_boxes,
    layer_changes, layer_stats,
    links::Links,
    postgres,
    posting::Posting,
    sqlite,
};
use crate::{
    Actor, ImportResult, Result,
    audit_log::NewAuditEntry,
    engine::{dispatch, impl_work},
    import_jobs,
    webhooks::WebhookContext,
};
use groma_domain::{
    DomainError, ImportJobId, Layer, LayerId, Timestamp, WorkspaceId,
    event::{EventAction, MAX_FEATURE_EVENTS},
    geometry::UploadResult,
};
use groma_geo::message;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// How long a transaction of a load should take, and the pause after it. Another process that waits for a SQLite
/// database tries again every millisecond.
const STEP_TIME: Duration = Duration::from_millis(25);
const STEP_PAUSE: Duration = Duration::from_millis(2);

/// How long a load may add nothing before it counts as dead. Each batch renews the lease, and takes seconds.
const LEASE_MILLIS: i64 = 10 * 60 * 1_000;

/// The end of the lease of a layer whose features are being deleted.
const ENDED: i64 = 0;

/// A new layer to be loaded.
#[derive(Clone, Debug)]
pub struct NewLayerLoad {
    /// The workspace.
    pub workspace: WorkspaceId,
    /// Who loads it.
    pub actor: Actor,
    /// The layer.
    pub layer: NewLayer,
    /// The key of the folder of its features.
    pub folder: Option<String>,
    /// The key of their assignment.
    pub assignment: Option<String>,
    /// The import that ends when the layer is published.
    pub job: Option<ImportJobId>,
}

/// A new layer that is being loaded, and that nothing finds before it is published.
#[derive(Clone, Debug)]
pub struct LayerLoad {
    new: NewLayerLoad,
    layer: LayerId,
    links: Links,
}

impl LayerLoad {
    /// The id that the layer will have.
    #[must_use]
    pub fn layer(&self) -> LayerId {
        self.layer
    }
}

impl_work! {
    BeginLoad => LayerLoad;
    PrepareFeatures => (Vec<LayerWrite>, UploadResult);
    WriteStep => Instant;
    Publish => Layer;
    EndLease => Option<u64>;
    Forget => ();
}

impl Layers {
    /// Begins to load a new layer.
    pub(crate) async fn begin_load(&self, new: NewLayerLoad, now: Timestamp) -> Result<LayerLoad> {
        self.engine.transact(BeginLoad { new, now }).await
    }

    /// Adds a batch of features to a layer that is being loaded: at most those of a spool that became full. They
    /// are prepared without a lock, then written in steps that keep other writers waiting for a moment only.
    pub(crate) async fn load_features(
        &self,
        load: &LayerLoad,
        features: FeatureSpool,
        now: Timestamp,
    ) -> Result<UploadResult> {
        let (load, webhooks) = (Arc::new(load.clone()), self.webhooks.clone());
        let prepare = PrepareFeatures { load: load.clone(), features, now, webhooks };
        let (writes, result) = self.engine.dry_run(prepare).await?;
        let (mut writes, mut sizes) = (writes.into_iter(), StepSizes::default());
        while let Some(size) = sizes.next_step(writes.as_slice()) {
            let writes = writes.by_ref().take(size).collect();
            let start = self.engine.transact(WriteStep { load: load.clone(), writes, now }).await?;
            sizes.adapt(start.elapsed());
            tokio::time::sleep(STEP_PAUSE).await;
        }
        Ok(result)
    }

    /// Publishes a layer that was loaded, and writes the events about it.
    pub(crate) async fn publish(&self, load: &LayerLoad, now: Timestamp) -> Result<Layer> {
        let (load, webhooks) = (load.clone(), self.webhooks.clone());
        self.engine.transact(Publish { load, now, webhooks }).await
    }

    /// Deletes a layer that is being loaded. One that was published stays.
    pub(crate) async fn discard_load(&self, load: &LayerLoad) -> Result<()> {
        self.delete_staged(load.new.workspace, load.layer, None).await
    }

    /// Deletes what loads have left that ended without publishing their layer.
    pub(crate) async fn delete_dead_loads(&self, now: Timestamp) -> Result<()> {
        for (workspace, layer) in dispatch!(&self.engine, staged_layers(now))? {
            self.delete_staged(workspace, layer, Some(now)).await?;
        }
        Ok(())
    }

    /// Deletes the layers of a workspace that are being loaded.
    pub(crate) async fn discard_loads(&self, workspace: WorkspaceId) -> Result<()> {
        let all = Timestamp::from_millis(i64::MAX);
        for (of, layer) in dispatch!(&self.engine, staged_layers(all))? {
            if of == workspace {
                self.delete_staged(workspace, layer, None).await?;
            }
        }
        Ok(())
    }

    /// Deletes a layer that is being loaded, in small steps, if its lease has ended at `dead_at`.
    async fn delete_staged(
        &self,
        workspace: WorkspaceId,
        layer: LayerId,
        dead_at: Option<Timestamp>,
    ) -> Result<()> {
        let end = EndLease { workspace, layer, dead_at };
        if let Some(no) = self.engine.transact(end).await? {
            dispatch!(&self.engine, delete_features(workspace, no))?;
            self.engine.transact(Forget { workspace, no }).await?;
        }
        Ok(())
    }
}

#[derive(Clone)]
struct BeginLoad {
    new: NewLayerLoad,
    now: Timestamp,
}

impl BeginLoad {
    async fn run<T: LayerTx>(self, tx: &mut T) -> Result<LayerLoad> {
        let Self { new, now } = self;
        layer_changes::authorize(tx, new.workspace, new.actor, now).await?;
        let links = find_links(tx, &new).await?;
        let layer = layer_changes::new_layer(tx, new.workspace, new.layer.clone(), now).await?;
        let id = layer.id;
        let stage = LayerWrite::Stage { layer, lease_until: lease(now) };
        tx.write_layers(new.workspace, vec![stage]).await?;
        Ok(LayerLoad { new, layer: id, links })
    }
}

/// Reads a batch of features, and determines what is to be written.
#[derive(Clone)]
struct PrepareFeatures {
    load: Arc<LayerLoad>,
    features: FeatureSpool,
    now: Timestamp,
    webhooks: Arc<WebhookContext>,
}

impl PrepareFeatures {
    async fn run<T: LayerTx>(self, tx: &mut T) -> Result<(Vec<LayerWrite>, UploadResult)> {
        let Self { load, features, now, webhooks } = self;
        let (workspace, actor) = (load.new.workspace, load.new.actor);
        let (locked, _) = layer_changes::authorize(tx, workspace, actor, now).await?;
        let stored = find(tx, workspace, load.layer).await?;
        let posting = Posting::new(tx, locked, now, load.links, stored, webhooks);
        posting.prepare(features, lease(now)).await
    }
}

/// Writes a part of a prepared batch; returns when it began to hold the lock.
#[derive(Clone)]
struct WriteStep {
    load: Arc<LayerLoad>,
    writes: Vec<LayerWrite>,
    now: Timestamp,
}

impl WriteStep {
    async fn run<T: LayerTx>(self, tx: &mut T) -> Result<Instant> {
        let Self { load, writes, now } = self;
        let (workspace, actor) = (load.new.workspace, load.new.actor);
        layer_changes::authorize(tx, workspace, actor, now).await?;
        let start = Instant::now();
        find(tx, workspace, load.layer).await?;
        tx.write_layers(workspace, writes).await?;
        Ok(start)
    }
}

/// The number of writes in each transaction of a load: as many as take [`STEP_TIME`], going by the one before.
/// Features and blocks of the tile index are written in separate transactions, because they differ in size.
struct StepSizes {
    /// The sizes of a step of features, and of other writes.
    sizes: [usize; 2],
    /// The one that was chosen last.
    last: usize,
}

impl Default for StepSizes {
    fn default() -> Self {
        Self { sizes: [200, 50], last: 0 }
    }
}

impl StepSizes {
    /// How many of these writes to do next; `None` if there are none.
    fn next_step(&mut self, writes: &[LayerWrite]) -> Option<usize> {
        let is_block = |write: &LayerWrite| matches!(write, LayerWrite::SaveBlock { .. });
        let are_blocks = is_block(writes.first()?);
        self.last = usize::from(are_blocks);
        let alike = writes.iter().take_while(|write| is_block(write) == are_blocks).count();
        Some(alike.min(self.sizes[self.last]))
    }

    /// Adapts the size to the time that the last step took.
    fn adapt(&mut self, elapsed: Duration) {
        let size = &mut self.sizes[self.last];
        let factor = STEP_TIME.div_duration_f64(elapsed.max(Duration::from_millis(1)));
        *size = (*size as f64 * factor.clamp(0.25, 2.0)).ceil() as usize;
    }
}

#[derive(Clone)]
struct Publish {
    load: LayerLoad,
    now: Timestamp,
    webhooks: Arc<WebhookContext>,
}

impl Publish {
    async fn run<T: LayerTx>(self, tx: &mut T) -> Result<Layer> {
        let Self { load: LayerLoad { new, layer: id, links }, now, webhooks } = self;
        let workspace = new.workspace;
        let (locked, actor) = layer_changes::authorize(tx, workspace, new.actor, now).await?;
        let job = import_jobs::lock_running(tx, workspace, new.job).await?;
        let StoredLayer { no, mut layer } = find(tx, workspace, id).await?;
        if find_links(tx, &new).await? != links {
            let moved = message!("was moved to another folder during the import");
            return Err(DomainError::invalid("assignment", moved).into());
        }
        layer_changes::append(&mut layer, &tx.layers(workspace).await?)?;
        (layer.created_at, layer.updated_at) = (now, now);
        layer.revision += 1;
        let insert = LayerWrite::InsertStaged { no, layer: layer.clone() };
        tx.write_layers(workspace, vec![LayerWrite::DeleteStaged { layer: no }, insert]).await?;
        let created = layer_changes::entry(actor, now, "layer.created", id, None, Some(&layer))?;
        tx.log(workspace, created).await?;
        let count = layer.counts.total();
        if count > 0 {
            let after = serde_json::json!({ "received": count, "created": count, "updated": 0,
                "unchanged": 0 });
            let entry = NewAuditEntry {
                at: now,
                actor: actor.into(),
                action: "geometries.posted",
                subject: id.0,
                before: None,
                after: Some(after.to_string()),
            };
            tx.log(workspace, entry).await?;
        }
        if let (Some(folder), Some(bounds)) = (links.folder, layer.bounds) {
            let grown = [(folder, Some(bounds))];
            update_folder_boxes(tx, workspace, actor, now, &webhooks, grown).await?;
        }
        let changes = created_features(tx, workspace, no, &layer, links).await?;
        let events = EventWriter { locked: &locked, actor, now, webhooks: &webhooks };
        events.layer(tx, EventAction::Created, &layer).await?;
        events.features(tx, no, &layer, changes).await?;
        let result = ImportResult { layer: Some(id), created: count, ..ImportResult::default() };
        import_jobs::finish(tx, workspace, job, result, now).await?;
        Ok(layer)
    }
}

/// Ends the lease of a layer that is being loaded, unless it is valid at `dead_at`. From now on, no features
/// are added. Returns its number.
#[derive(Clone)]
struct EndLease {
    workspace: WorkspaceId,
    layer: LayerId,
    dead_at: Option<Timestamp>,
}

impl EndLease {
    async fn run<T: LayerTx>(self, tx: &mut T) -> Result<Option<u64>> {
        let Self { workspace, layer, dead_at } = self;
        tx.lock_workspace(workspace).await?;
        let Some(StagedLayer { stored, lease_until }) = tx.staged_layer(workspace, layer).await?
        else {
            return Ok(None);
        };
        if dead_at.is_some_and(|now| now <= lease_until) {
            return Ok(None);
        }
        let ended = Timestamp::from_millis(ENDED);
        let save = LayerWrite::SaveStaged { layer: stored.layer, lease_until: ended };
        tx.write_layers(workspace, vec![save]).await?;
        Ok(Some(stored.no))
    }
}

/// Deletes the row of a layer whose features are deleted.
#[derive(Clone)]
struct Forget {
    workspace: WorkspaceId,
    no: u64,
}

impl Forget {
    async fn run<T: LayerTx>(self, tx: &mut T) -> Result<()> {
        tx.write_layers(self.workspace, vec![LayerWrite::DeleteStaged { layer: self.no }]).await
    }
}

fn lease(now: Timestamp) -> Timestamp {
    now.plus_millis(LEASE_MILLIS)
}

async fn find_links<T: LayerTx>(tx: &mut T, new: &NewLayerLoad) -> Result<Links> {
    Links::find(tx, new.workspace, new.folder.clone(), new.assignment.clone()).await
}

/// A layer that is being loaded, to which features can still be added.
async fn find<T: LayerTx>(tx: &mut T, workspace: WorkspaceId, id: LayerId) -> Result<StoredLayer> {
    let staged = tx.staged_layer(workspace, id).await?;
    let alive = staged.filter(|staged| staged.lease_until != Timestamp::from_millis(ENDED));
    let deleted = || {
        let paused =
            message!("was deleted, because the import had paused for more than ten minutes");
        DomainError::invalid("layer", paused)
    };
    Ok(alive.ok_or_else(deleted)?.stored)
}

/// The features of a new layer, as changes.
async fn created_features<T: LayerTx>(
    tx: &mut T,
    workspace: WorkspaceId,
    no: u64,
    layer: &Layer,
    links: Links,
) -> Result<FeatureChanges> {
    if layer.counts.total() > MAX_FEATURE_EVENTS as u64 {
        return Ok(FeatureChanges::of_large_layer(layer, links.folder));
    }
    let mut changes = FeatureChanges::default();
    for feature in tx.features_between(workspace, no, 0, layer.last_seq).await? {
        let bbox = layer_stats::bounds(feature.geometry.as_deref().into_iter())?;
        changes.add(FeatureChange {
            id: feature.id,
            action: EventAction::Created,
            folders: [None, feature.folder],
            boxes: [None, bbox],
            deleted: None,
        });
    }
    Ok(changes)
}
