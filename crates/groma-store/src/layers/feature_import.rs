//! Importing a file into a layer that exists: everything in one transaction, however much it is. What does not
//! change is found before, without a lock.

use super::{
    LayerTx, Layers, NewGeometries,
    links::Links,
    posting::{PostOutcome, Posting, find_layer},
};
use crate::{
    Error, ImportResult, Result, actor::AuthorizedActor, engine::impl_work, import_jobs,
    webhooks::WebhookContext, workspaces,
};
use groma_domain::{GeometryId, ImportJobId, Permission, geometry::UploadResult};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// The features of a file, and the stored ones to be deleted.
#[derive(Clone)]
pub struct FeatureImport {
    /// The features of the file. An idempotency key is ignored.
    pub geometries: NewGeometries,
    /// Features of the layer to be deleted; those that are no longer there are left out.
    pub deletions: Vec<GeometryId>,
    /// The import that ends with them.
    pub job: Option<ImportJobId>,
}

/// The outcome of an import.
#[derive(Debug)]
pub struct ImportOutcome {
    /// What became of the features of the file.
    pub posted: UploadResult,
    /// The number of deleted features.
    pub deleted: u64,
    /// How long the transaction took, during which other changes had to wait.
    pub published_in: Duration,
}

impl_work! {
    CompareFeatures => UnchangedFeatures;
    ImportFeatures => (UploadResult, u64);
}

impl Layers {
    /// Imports features: all of them, or none. They are compared with the stored ones first, so that the
    /// transaction has to do only with those that change.
    pub(crate) async fn import(&self, import: FeatureImport) -> Result<ImportOutcome> {
        let (import, webhooks) = (Arc::new(import), self.webhooks.clone());
        let compare = CompareFeatures { import: import.clone(), webhooks: webhooks.clone() };
        let compared = self.engine.dry_run(compare).await?;
        let start = Instant::now();
        let work = ImportFeatures { import, compared, webhooks };
        let (posted, deleted) = self.engine.transact(work).await?;
        Ok(ImportOutcome { posted, deleted, published_in: start.elapsed() })
    }
}

/// Which features of a file a layer already has.
#[derive(Clone)]
struct UnchangedFeatures {
    /// The revision of the layer.
    revision: u64,
    /// Whether each feature, in the order of the file, is unchanged.
    is_unchanged: Arc<Vec<bool>>,
}

#[derive(Clone)]
struct CompareFeatures {
    import: Arc<FeatureImport>,
    webhooks: Arc<WebhookContext>,
}

impl CompareFeatures {
    async fn run<T: LayerTx>(self, tx: &mut T) -> Result<UnchangedFeatures> {
        let geometries = &self.import.geometries;
        let (mut posting, _, revision) = begin(tx, geometries, self.webhooks).await?;
        posting.mode.is_dry_run = true;
        posting.write_all(geometries.features.clone()).await?;
        Ok(UnchangedFeatures { revision, is_unchanged: Arc::new(posting.into_unchanged()) })
    }
}

#[derive(Clone)]
struct ImportFeatures {
    import: Arc<FeatureImport>,
    compared: UnchangedFeatures,
    webhooks: Arc<WebhookContext>,
}

impl ImportFeatures {
    async fn run<T: LayerTx>(self, tx: &mut T) -> Result<(UploadResult, u64)> {
        let FeatureImport { geometries, deletions, job } = &*self.import;
        let (mut posting, actor, revision) = begin(tx, geometries, self.webhooks).await?;
        let job = import_jobs::lock_running(posting.tx(), geometries.workspace, *job).await?;
        let mut features = geometries.features.clone();
        // If the layer has changed since, all features are compared again.
        if self.compared.revision == revision {
            let unchanged = self.compared.is_unchanged;
            posting.count_unchanged(unchanged.iter().filter(|is| **is).count() as u64);
            features = features.skip(unchanged);
        }
        posting.write_all(features).await?;
        let deleted = posting.delete(deletions, actor).await?;
        let PostOutcome::Posted(posted) = posting.finish(actor, None).await? else {
            return Err(Error::Closed);
        };
        let result = ImportResult {
            layer: Some(posted.layer_id),
            created: posted.created,
            updated: posted.updated,
            unchanged: posted.unchanged,
            deleted,
        };
        import_jobs::finish(tx, geometries.workspace, job, result, geometries.now).await?;
        Ok((posted, deleted))
    }
}

/// Begins to post to a layer; returns also its revision.
async fn begin<'t, T: LayerTx>(
    tx: &'t mut T,
    geometries: &NewGeometries,
    webhooks: Arc<WebhookContext>,
) -> Result<(Posting<'t, T>, AuthorizedActor, u64)> {
    let NewGeometries { workspace, actor, now, layer, folder, assignment, mode, .. } = geometries;
    let (locked, actor) = workspaces::authorize(tx, *workspace, *actor, *now).await?;
    actor.require(Permission::ChangeRecords)?;
    let links = Links::find(tx, *workspace, folder.clone(), assignment.clone()).await?;
    let (stored, is_new) = find_layer(tx, *workspace, layer.clone(), *now).await?;
    let revision = stored.layer.revision;
    let mut posting = Posting::new(tx, locked, *now, links, stored, webhooks);
    posting.is_new_layer = is_new;
    posting.mode = *mode;
    Ok((posting, actor, revision))
}
