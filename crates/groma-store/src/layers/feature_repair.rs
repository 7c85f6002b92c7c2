//! Repairs the features of a layer where that needs no decision by a person: repeated positions, spikes,
//! self-intersections, and copies with equal geometry and properties.
//!
//! The layer is read in chunks. What each chunk needs is decided again in the transaction that writes it, from
//! the features as they are then.

use super::{
    FeatureSpool, LayerFeature, LayerTx, Layers, StoredFeature, StoredLayer, links::Links,
    posting::Posting,
};
use crate::{
    Actor, Error, Result,
    engine::{blocking_pool::run_blocking, impl_work},
    webhooks::WebhookContext,
    workspaces,
};
use groma_domain::{
    DomainError, GeometryId, Layer, Permission, Timestamp, WorkspaceId, cql2::Candidates,
    layer::LayerKey,
};
use groma_geo::{
    Geometry,
    geojson::{Feature, FeatureBuilder},
    layer_check::{LayerCheckOptions, fingerprint},
    message, wkb,
};
use std::{collections::HashMap, sync::Arc};

/// The number of features that are read and repaired at a time.
const CHUNK_SIZE: u32 = 1_000;

/// A repair of the features of a layer.
#[derive(Clone, Debug)]
pub struct LayerRepair {
    /// The workspace.
    pub workspace: WorkspaceId,
    /// Who makes the change.
    pub actor: Actor,
    /// The layer.
    pub layer: LayerKey,
    /// The largest width of a spike in meters.
    pub tolerance: f64,
    /// Only tells what would change.
    pub is_dry_run: bool,
    /// The current time.
    pub now: Timestamp,
}

/// What a repair changed, or would change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RepairOutcome {
    /// The number of features whose geometry was repaired.
    pub repaired: u64,
    /// The number of copies that were deleted.
    pub deleted: u64,
}

impl_work! {
    RepairFeatures => RepairOutcome;
}

impl Layers {
    /// Repairs the features of a layer, a thousand at a time, so that others can write in between.
    pub(crate) async fn repair_layer(&self, repair: LayerRepair) -> Result<RepairOutcome> {
        let LayerRepair { workspace, layer: key, .. } = &repair;
        let reader = self.read_features(*workspace, key, &Candidates::default(), 0).await?;
        let mut reader = reader.ok_or_else(not_found)?;
        let options = Arc::new(options(reader.layer(), repair.tolerance)?);
        let mut total = RepairOutcome::default();
        let mut originals = Originals::default();
        loop {
            let chunk = reader.next(CHUNK_SIZE).await?;
            if chunk.is_empty() {
                return Ok(total);
            }
            let options = options.clone();
            let plan;
            (plan, originals) = run_blocking(move || {
                let plan = originals.plan(&options, &chunk)?;
                Ok::<_, Error>((plan, originals))
            })
            .await??;
            let outcome = match (repair.is_dry_run, plan.is_empty()) {
                (_, true) => RepairOutcome::default(),
                (true, false) => RepairOutcome {
                    repaired: plan.repairs.len() as u64,
                    deleted: plan.copies.len() as u64,
                },
                (false, false) => {
                    let (repair, webhooks) = (repair.clone(), self.webhooks.clone());
                    self.engine.transact(RepairFeatures { repair, plan, webhooks }).await?
                }
            };
            total.repaired += outcome.repaired;
            total.deleted += outcome.deleted;
        }
    }
}

/// What to do with the features of a chunk.
#[derive(Clone, Default)]
struct RepairPlan {
    repairs: Vec<GeometryId>,
    /// Each with the feature that it is a copy of.
    copies: Vec<(GeometryId, GeometryId)>,
}

impl RepairPlan {
    fn is_empty(&self) -> bool {
        self.repairs.is_empty() && self.copies.is_empty()
    }
}

/// The first feature with each geometry, properties and links.
#[derive(Default)]
struct Originals(HashMap<[u64; 2], GeometryId>);

impl Originals {
    fn plan(&mut self, options: &LayerCheckOptions, chunk: &[LayerFeature]) -> Result<RepairPlan> {
        let mut plan = RepairPlan::default();
        for feature in chunk {
            let Some(geometry) = geometry(options, &feature.geometry, &feature.original)? else {
                continue;
            };
            if options.repair(&geometry).is_some() {
                plan.repairs.push(feature.id);
                continue;
            }
            let content = content_hash(&geometry, feature);
            match self.0.get(&content) {
                // Another program knows it by this id.
                Some(_) if feature.external_id.is_some() => {}
                Some(original) => plan.copies.push((*original, feature.id)),
                None => _ = self.0.insert(content, feature.id),
            }
        }
        Ok(plan)
    }
}

#[derive(Clone)]
struct RepairFeatures {
    repair: LayerRepair,
    plan: RepairPlan,
    webhooks: Arc<WebhookContext>,
}

impl RepairFeatures {
    async fn run<T: LayerTx>(self, tx: &mut T) -> Result<RepairOutcome> {
        let Self { repair, plan, webhooks } = self;
        let LayerRepair { workspace, actor, layer, tolerance, now, .. } = repair;
        let (locked, actor) = workspaces::authorize(tx, workspace, actor, now).await?;
        actor.require(Permission::ChangeRecords)?;
        let stored = tx.layer(workspace, &layer).await?.ok_or_else(not_found)?;
        stored.layer.require_unlocked()?;
        let options = options(&stored.layer, tolerance)?;
        let copies = find_copies(tx, &options, workspace, &stored, &plan.copies).await?;
        let mut repaired = FeatureSpool::default();
        for feature in tx.features_by_id(workspace, stored.no, &plan.repairs).await? {
            if let Some(feature) = repaired_feature(&options, &feature)? {
                let path = || "the spool of features".to_owned();
                repaired.push(&feature).map_err(|source| Error::File { path: path(), source })?;
            }
        }
        let outcome = RepairOutcome { repaired: repaired.len(), deleted: copies.len() as u64 };
        let mut posting = Posting::new(tx, locked, now, Links::default(), stored, webhooks);
        posting.delete(&copies, actor).await?;
        if repaired.is_empty() {
            posting.finish_layer(actor).await?;
        } else {
            posting.write_all(repaired).await?;
            posting.finish(actor, None).await?;
        }
        Ok(outcome)
    }
}

/// The features that are still exact copies of others, and that no other program knows by an id.
async fn find_copies<T: LayerTx>(
    tx: &mut T,
    options: &LayerCheckOptions,
    workspace: WorkspaceId,
    stored: &StoredLayer,
    pairs: &[(GeometryId, GeometryId)],
) -> Result<Vec<GeometryId>> {
    let ids: Vec<GeometryId> = pairs.iter().flat_map(|(one, other)| [*one, *other]).collect();
    let mut contents = HashMap::new();
    for feature in tx.features_by_id(workspace, stored.no, &ids).await? {
        let feature = LayerFeature::from(feature);
        if let Some(geometry) = geometry(options, &feature.geometry, &feature.original)? {
            let has_external_id = feature.external_id.is_some();
            contents.insert(feature.id, (content_hash(&geometry, &feature), has_external_id));
        }
    }
    let is_copy = |(original, copy): &&(GeometryId, GeometryId)| {
        let found = contents.get(original).zip(contents.get(copy));
        found.is_some_and(|((one, _), (other, has_external_id))| one == other && !has_external_id)
    };
    Ok(pairs.iter().filter(is_copy).map(|(_, copy)| *copy).collect())
}

/// The feature with its geometry repaired, by its own id; `None` if it needs no repair.
fn repaired_feature(options: &LayerCheckOptions, old: &StoredFeature) -> Result<Option<Feature>> {
    let Some(geometry) = geometry(options, &old.geometry, &old.original)? else { return Ok(None) };
    let Some(repaired) = options.repair(&geometry) else { return Ok(None) };
    let properties = serde_json::from_str(&old.properties)?;
    let mut builder = FeatureBuilder::new(options.crs.clone());
    let built = builder.build(0, Some(old.id.to_string()), Some(repaired), properties);
    // It can be outside the area in which the reference system can be used.
    Ok(built.ok().map(|feature| Feature { notices: Vec::new(), ..feature }))
}

/// The geometry of a feature in the reference system of its layer.
fn geometry(
    options: &LayerCheckOptions,
    geometry: &Option<Vec<u8>>,
    original: &Option<Vec<u8>>,
) -> Result<Option<Geometry>> {
    let wkb = if options.crs.is_wgs84() { geometry } else { original };
    let read =
        |wkb: &Vec<u8>| wkb::from_wkb(wkb).map_err(|error| Error::Damaged(error.to_string()));
    wkb.as_ref().map(read).transpose()
}

/// A hash of everything that copies have in common.
fn content_hash(geometry: &Geometry, feature: &LayerFeature) -> [u64; 2] {
    let LayerFeature { properties, folder, assignment, .. } = feature;
    let links = [folder, assignment].map(|id| id.map(|id| id.to_string()).unwrap_or_default());
    fingerprint(geometry, &[properties, &links[0], &links[1]])
}

fn options(layer: &Layer, tolerance: f64) -> Result<LayerCheckOptions> {
    let crs = layer.crs.system().map_err(|error| Error::Damaged(error.to_string()))?;
    Ok(LayerCheckOptions { tolerance, ..LayerCheckOptions::new(crs) })
}

fn not_found() -> Error {
    DomainError::invalid("layer", message!("does not exist in this workspace")).into()
}
