//! Imports features: all of a file, or nothing. A new layer is loaded in short transactions, which do not block
//! other writers, and then published.

use super::{
    ImportError, MAX_ERRORS, Progress, Step, Unit,
    absent_features::IdsInFile,
    feature_batches::{BatchSize, FeatureBatches, read, rejected_features},
    field_check::FieldCheck,
    rejected_feature::RejectedFeature,
    run_blocking,
};
use crate::{cli::ImportMode, clock};
use groma_domain::{
    GeometryId, ImportJobId, Kind, Layer, LayerId, WorkspaceId,
    geometry::{MAX_LISTED_NOTICES, UploadResult},
    layer::{LayerCrs, LayerKey},
    reference::Key,
};
use groma_files::LayerFile;
use groma_geo::{
    Notice,
    geojson::{DocumentError, Feature},
    message,
};
use groma_store::{
    Actor, FeatureImport, FeatureSpool, LayerLoad, NewGeometries, NewLayer, NewLayerLoad, PostMode,
    PostOutcome, Store,
};
use std::{
    collections::HashSet,
    sync::Arc,
    time::{Duration, Instant},
};

/// Where the features of a file go.
pub(crate) struct LayerImport {
    pub(crate) store: Store,
    pub(crate) workspace: WorkspaceId,
    pub(crate) actor: Actor,
    pub(crate) target: LayerTarget,
    pub(crate) mode: ImportMode,
    /// Whether a new layer has the reference system of the file.
    pub(crate) keep_crs: bool,
    /// The keys of the folder and the assignment of the features.
    pub(crate) folder: Option<String>,
    pub(crate) assignment: Option<String>,
    /// The job that ends with the import, in the same transaction.
    pub(crate) job: Option<ImportJobId>,
    pub(crate) progress: Arc<dyn Progress>,
}

/// The layer to import into.
#[derive(Clone)]
pub(crate) enum LayerTarget {
    Existing(Box<Layer>),
    /// The name of a layer to create once the file is checked.
    New(String),
}

impl LayerTarget {
    pub(crate) fn id(&self) -> Option<LayerId> {
        match self {
            Self::Existing(layer) => Some(layer.id),
            Self::New(_) => None,
        }
    }
}

/// What became of the features of a file, or would become of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LayerCounts {
    pub(crate) created: u64,
    pub(crate) updated: u64,
    pub(crate) unchanged: u64,
    pub(crate) deleted: u64,
}

impl LayerCounts {
    fn add(&mut self, posted: &UploadResult) {
        self.created += posted.created;
        self.updated += posted.updated;
        self.unchanged += posted.unchanged;
    }
}

/// A file that was read without writing anything.
pub(crate) struct CheckedFile {
    pub(crate) file: Arc<LayerFile>,
    /// The number of features, valid or not.
    pub(crate) total: u64,
    /// The features that cannot be read or do not fit the fields of the layer, in the order of the file.
    pub(crate) rejected: Vec<RejectedFeature>,
    /// Whether the file was read to the end.
    pub(crate) is_complete: bool,
    /// What looks wrong: the line and the notice of the first ones, and the number of all.
    pub(crate) notices: Vec<(u64, Notice)>,
    pub(crate) notice_count: u64,
    /// The reference system of the first feature.
    pub(crate) crs: LayerCrs,
    /// The features that cannot be read.
    unreadable: Vec<DocumentError>,
    /// The numbers of the readable features that do not fit, from 0.
    misfits: HashSet<u64>,
    /// The ids of all features, if those that are not in the file are deleted.
    ids: Option<IdsInFile>,
}

impl CheckedFile {
    fn new(file: Arc<LayerFile>, mode: ImportMode) -> Self {
        Self {
            file,
            total: 0,
            rejected: Vec::new(),
            is_complete: false,
            notices: Vec::new(),
            notice_count: 0,
            crs: LayerCrs::CRS84,
            unreadable: Vec::new(),
            misfits: HashSet::new(),
            ids: (mode == ImportMode::Replace).then(IdsInFile::default),
        }
    }

    /// Counts a valid feature.
    fn count(&mut self, feature: Feature) {
        if self.total == 0 {
            self.crs = feature.original.map_or(LayerCrs::CRS84, |original| original.crs.into());
        }
        self.total += 1;
        if let Some(ids) = &mut self.ids {
            ids.add(feature.external_id.as_deref());
        }
        self.notice_count += feature.notices.len() as u64;
        let room = MAX_LISTED_NOTICES - self.notices.len();
        let notices = feature.notices.into_iter().take(room);
        self.notices.extend(notices.map(|notice| (feature.line, notice)));
    }

    /// Why the rest of the file cannot be read.
    pub(crate) fn fatal_error(&self) -> Option<&DocumentError> {
        self.unreadable.iter().find(|error| error.is_fatal)
    }

    /// Whether the file may be imported, without the features that were rejected if `keep_good`.
    pub(crate) fn can_be_imported(&self, keep_good: bool) -> bool {
        self.is_complete && (self.rejected.is_empty() || keep_good)
    }
}

/// A finished import.
pub(crate) struct ImportedLayer {
    pub(crate) layer: LayerId,
    pub(crate) counts: LayerCounts,
    /// How long the last step took, which makes everything visible.
    pub(crate) published_in: Duration,
}

impl LayerImport {
    /// Rejects a locked layer and an unknown folder or assignment before a large file is read. The store checks
    /// the rest.
    pub(crate) async fn check_target(&self) -> Result<(), ImportError> {
        if let LayerTarget::Existing(layer) = &self.target
            && layer.is_locked
        {
            return Err(ImportError::File(message!(
                "layer `{layer}` is locked; unlock it to change its features",
                layer = layer.slug.as_str()
            )));
        }
        for (kind, key) in [(Kind::Folder, &self.folder), (Kind::Assignment, &self.assignment)] {
            let Some(text) = key else { continue };
            let record = match Key::parse(text) {
                Some(key) => self.store.get(self.workspace, kind, &key).await?,
                None => None,
            };
            if record.is_none() {
                return Err(ImportError::File(match kind {
                    Kind::Assignment => {
                        message!("assignment `{key}` not found", key = text.as_str())
                    }
                    _ => message!("folder `{key}` not found", key = text.as_str()),
                }));
            }
        }
        Ok(())
    }

    /// Reads a file without writing anything, and shows each valid feature to what `inspect` returns. A GeoJSON
    /// file whose reference system follows its features is read twice.
    pub(crate) async fn check<I: FnMut(&Feature) + Send + 'static>(
        &self,
        file: LayerFile,
        inspect: impl Fn() -> I,
    ) -> Result<CheckedFile, ImportError> {
        let file = Arc::new(file);
        let checked = self.check_once(file.clone(), inspect()).await?;
        if checked.unreadable.iter().any(|error| error.suggests_other_crs) {
            let reprojected = run_blocking(move || file.with_declared_crs()).await??;
            if let Some(file) = reprojected {
                return self.check_once(Arc::new(file), inspect()).await;
            }
        }
        Ok(checked)
    }

    async fn check_once(
        &self,
        file: Arc<LayerFile>,
        mut inspect: impl FnMut(&Feature) + Send + 'static,
    ) -> Result<CheckedFile, ImportError> {
        let progress = self.progress.clone();
        let mut checked = CheckedFile::new(file.clone(), self.mode);
        let mut fields = FieldCheck::new(match &self.target {
            LayerTarget::Existing(layer) => &layer.declared_fields,
            LayerTarget::New(_) => &[],
        });
        let (mut checked, fields, result) = run_blocking(move || {
            let result = read(&file, (&*progress, Step::Checking), |feature| {
                inspect(&feature);
                fields.check(&feature);
                checked.count(feature);
                Ok(())
            });
            (checked, fields, result)
        })
        .await?;
        let misfits = match &self.target {
            LayerTarget::Existing(layer) => {
                fields.misfits(&self.store, self.workspace, layer.id).await?
            }
            LayerTarget::New(_) => Vec::new(),
        };
        checked.unreadable = rejected_features(result)?;
        checked.total += checked.unreadable.len() as u64;
        checked.misfits = misfits.iter().map(|misfit| misfit.number).collect();
        checked.rejected = checked.unreadable.iter().cloned().map(RejectedFeature::from).collect();
        checked.rejected.extend(misfits.into_iter().map(|misfit| misfit.rejected));
        checked.rejected.sort_by_key(|feature| feature.line);
        checked.is_complete =
            checked.rejected.len() < MAX_ERRORS && checked.fatal_error().is_none();
        Ok(checked)
    }

    /// Counts what importing the valid features would do.
    pub(crate) async fn expect(&self, checked: &CheckedFile) -> Result<LayerCounts, ImportError> {
        let layer = match &self.target {
            LayerTarget::Existing(layer) => layer,
            LayerTarget::New(_) => {
                let created = checked.total - checked.rejected.len() as u64;
                return Ok(LayerCounts { created, ..LayerCounts::default() });
            }
        };
        let mut counts = LayerCounts::default();
        let mut batches = self.batches(checked, Step::Comparing, BatchSize::Limited);
        while let Some(features) = batches.next().await {
            let posted = self.store.post_geometries(self.geometries(layer.id, features, true));
            if let PostOutcome::Posted(posted) = posted.await? {
                counts.add(&posted);
            }
        }
        expect_same_file(batches, checked).await?;
        counts.deleted = self.absent_features(layer, checked).await?.len() as u64;
        Ok(counts)
    }

    /// Imports the valid features: all of them, or none.
    pub(crate) async fn write(&self, checked: &CheckedFile) -> Result<ImportedLayer, ImportError> {
        match &self.target {
            LayerTarget::New(name) => self.load(name.clone(), checked).await,
            LayerTarget::Existing(layer) => self.update(layer, checked).await,
        }
    }

    /// Loads a new layer in short transactions, which nothing shows before it is published.
    async fn load(
        &self,
        name: String,
        checked: &CheckedFile,
    ) -> Result<ImportedLayer, ImportError> {
        self.store.delete_dead_layer_loads(clock::now()).await?;
        let new = NewLayerLoad {
            workspace: self.workspace,
            actor: self.actor,
            layer: NewLayer {
                name,
                crs: if self.keep_crs { checked.crs } else { LayerCrs::CRS84 },
            },
            folder: self.folder.clone(),
            assignment: self.assignment.clone(),
            job: self.job,
        };
        let load = self.store.begin_layer_load(new, clock::now()).await?;
        let loaded = self.load_and_publish(&load, checked).await;
        if loaded.is_err() {
            // What cannot be deleted now, the server or a later import deletes.
            let _ = self.store.discard_layer_load(&load).await;
        }
        loaded
    }

    async fn load_and_publish(
        &self,
        load: &LayerLoad,
        checked: &CheckedFile,
    ) -> Result<ImportedLayer, ImportError> {
        let mut counts = LayerCounts::default();
        let mut batches = self.batches(checked, Step::Writing, BatchSize::Limited);
        while let Some(features) = batches.next().await {
            counts.add(&self.store.load_features(load, features, clock::now()).await?);
        }
        expect_same_file(batches, checked).await?;
        self.progress.begin(Step::Publishing, None, Unit::Features);
        let start = Instant::now();
        let layer = self.store.publish_layer(load, clock::now()).await?;
        self.progress.end();
        Ok(ImportedLayer { layer: layer.id, counts, published_in: start.elapsed() })
    }

    /// Changes a layer in one transaction.
    async fn update(
        &self,
        layer: &Layer,
        checked: &CheckedFile,
    ) -> Result<ImportedLayer, ImportError> {
        let mut batches = self.batches(checked, Step::Reading, BatchSize::WholeFile);
        let features = batches.next().await.unwrap_or_default();
        expect_same_file(batches, checked).await?;
        let deletions = self.absent_features(layer, checked).await?;
        let geometries = self.geometries(layer.id, features, false);
        let import = FeatureImport { geometries, deletions, job: self.job };
        self.progress.begin(Step::Publishing, None, Unit::Features);
        let outcome = self.store.import_features(import).await?;
        self.progress.end();
        let mut counts = LayerCounts { deleted: outcome.deleted, ..LayerCounts::default() };
        counts.add(&outcome.posted);
        Ok(ImportedLayer { layer: layer.id, counts, published_in: outcome.published_in })
    }

    fn batches(&self, checked: &CheckedFile, step: Step, size: BatchSize) -> FeatureBatches {
        let (file, progress) = (checked.file.clone(), self.progress.clone());
        FeatureBatches::read(file, progress, step, checked.misfits.clone(), size)
    }

    fn geometries(
        &self,
        layer: LayerId,
        features: FeatureSpool,
        is_dry_run: bool,
    ) -> NewGeometries {
        NewGeometries {
            workspace: self.workspace,
            actor: self.actor,
            now: clock::now(),
            layer: Some(LayerKey::Id(layer)),
            folder: self.folder.clone(),
            assignment: self.assignment.clone(),
            features,
            request: None,
            mode: PostMode { is_add_only: self.mode == ImportMode::AddOnly, is_dry_run },
        }
    }

    /// The stored features that are to be deleted, because they are not in the file.
    async fn absent_features(
        &self,
        layer: &Layer,
        checked: &CheckedFile,
    ) -> Result<Vec<GeometryId>, ImportError> {
        match &checked.ids {
            Some(ids) => ids.absent(&self.store, self.workspace, layer).await,
            None => Ok(Vec::new()),
        }
    }
}

/// Rejects a file that is no longer the one that was checked.
async fn expect_same_file(
    batches: FeatureBatches,
    checked: &CheckedFile,
) -> Result<(), ImportError> {
    match batches.finish().await? == checked.unreadable {
        true => Ok(()),
        false => Err(ImportError::FileChanged),
    }
}
