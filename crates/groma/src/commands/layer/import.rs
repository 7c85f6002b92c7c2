//! `groma import layer`: checks the whole file first, then imports all of it or nothing. A new layer is loaded in
//! short transactions, which do not block other writers, and then published.

use super::{
    MAX_ERRORS,
    absent_features::IdsInFile,
    field_check::{FieldCheck, Misfit},
    file_format,
    file_reader::{BatchSize, FeatureBatches, progress_bar, read, rejected_features, with_path},
    import_report::Report,
};
use crate::{
    cli::{ImportLayer, ImportMode},
    clock,
    commands::{CommandError, find_workspace, record_file::stored_input},
};
use groma_domain::{
    GeometryId, Kind, Layer, LayerId, WorkspaceId,
    geometry::MAX_LISTED_NOTICES,
    layer::{LayerCrs, LayerKey},
    reference::Key,
};
use groma_files::{LayerFile, OpenOptions};
use groma_geo::{
    Notice,
    geojson::{DocumentError, Feature},
};
use groma_store::{
    Actor, FeatureImport, FeatureSpool, LayerLoad, NewGeometries, NewLayer, NewLayerLoad, PostMode,
    PostOutcome, Store,
};
use std::{sync::Arc, time::Instant};

pub(in crate::commands) async fn run(
    store: &Store,
    import: ImportLayer,
) -> Result<(), CommandError> {
    let format = file_format(&import.file, import.format, false)?;
    let workspace = find_workspace(store, &import.workspace).await?.id;
    let job = ImportJob { store, workspace, import: &import };
    let target = job.target().await?;
    if let TargetLayer::Existing(layer) = &target {
        layer.require_unlocked().map_err(CommandError::new)?;
    }
    job.check_links().await?;
    let path = import.file.clone();
    let input = run_blocking(move || stored_input(&path)).await?;
    let input = input.map_err(|error| with_path(&import.file, &error))?;
    let (path, options) = (input.path().to_owned(), open_options(&import));
    let opened = run_blocking(move || LayerFile::open(&path, format, options)).await?;
    let mut file = Arc::new(opened.map_err(|error| with_path(&import.file, &error))?);
    let mut checked = job.check(&file, &target).await?;
    if checked.rejected.iter().any(|spot| spot.suggests_other_crs) {
        let first = file.clone();
        if let Some(reprojected) = run_blocking(move || first.with_declared_crs())
            .await?
            .map_err(|error| with_path(&import.file, &error))?
        {
            file = Arc::new(reprojected);
            checked = job.check(&file, &target).await?;
        }
    }
    let mut rejected = checked.rejected.clone();
    rejected.extend(checked.misfits.iter().map(|misfit| misfit.error.clone()));
    rejected.sort_by_key(|error| error.line);
    let is_valid = rejected.is_empty();
    let mut report = Report {
        counts_features: file.layer().is_some(),
        layer: target.id(),
        rejected,
        notices: std::mem::take(&mut checked.notices),
        notice_count: checked.notice_count,
        ..Report::default()
    };
    if checked.is_complete && (is_valid || import.keep_good || import.dry_run) {
        job.import(&file, target, &checked, &mut report).await?;
    }
    report.print(&import, checked.total)?;
    match report.rejected.len() {
        0 => Ok(()),
        _ if import.keep_good && !checked.is_complete => Err(CommandError::new(format!(
            "{}: the file could not be read to the end; nothing was imported",
            import.file.display()
        ))),
        _ if import.keep_good && !import.dry_run => Ok(()),
        1 => Err(CommandError::new("1 feature was rejected; nothing was imported")),
        count => {
            Err(CommandError::new(format!("{count} features were rejected; nothing was imported")))
        }
    }
}

fn open_options(import: &ImportLayer) -> OpenOptions {
    OpenOptions {
        crs: import.crs.clone(),
        layer: import.source_layer.clone(),
        id_field: import.id_field.clone(),
        max_errors: MAX_ERRORS,
    }
}

struct ImportJob<'a> {
    store: &'a Store,
    workspace: WorkspaceId,
    import: &'a ImportLayer,
}

/// The layer to import into.
enum TargetLayer {
    Existing(Box<Layer>),
    /// The name of a layer to create once the file is checked.
    New(String),
}

impl TargetLayer {
    fn id(&self) -> Option<LayerId> {
        match self {
            Self::Existing(layer) => Some(layer.id),
            Self::New(_) => None,
        }
    }
}

#[derive(Default)]
struct CheckResult {
    /// The number of features, valid or not.
    total: u64,
    rejected: Vec<DocumentError>,
    /// Valid features whose properties do not fit the fields of the layer.
    misfits: Vec<Misfit>,
    /// Whether the file was read to the end.
    is_complete: bool,
    /// What looks wrong: the line and the notice of the first ones, and the number of all.
    notices: Vec<(u64, Notice)>,
    notice_count: u64,
    /// The reference system of the first feature.
    crs: LayerCrs,
    /// The ids of all features, if those that are not in the file are deleted.
    ids: Option<IdsInFile>,
}

impl CheckResult {
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
}

impl ImportJob<'_> {
    /// Finds the layer by ID, slug or name; the default name is that of the file.
    async fn target(&self) -> Result<TargetLayer, CommandError> {
        let name = match &self.import.layer {
            Some(key) => {
                let key = LayerKey::parse(key);
                if let Some(layer) = self.store.layer(self.workspace, &key).await? {
                    return Ok(TargetLayer::Existing(Box::new(layer)));
                }
                match key {
                    LayerKey::Id(id) => {
                        return Err(CommandError::new(format!("layer `{id}` not found")));
                    }
                    LayerKey::Slug(name) => name,
                }
            }
            None => match &self.import.source_layer {
                Some(name) => name.clone(),
                None => {
                    self.import.file.file_stem().unwrap_or_default().to_string_lossy().into_owned()
                }
            },
        };
        let now = clock::now();
        let new = Layer::new(LayerId::new(now, [0; 10]), &name, LayerCrs::CRS84, 0, now)
            .map_err(|error| CommandError::new(format!("layer `{name}`: {error}")))?;
        let slug = LayerKey::Slug(new.slug.as_str().to_owned());
        let layer = self.store.layer(self.workspace, &slug).await?;
        Ok(match layer {
            Some(layer) => TargetLayer::Existing(Box::new(layer)),
            None => TargetLayer::New(new.name),
        })
    }

    /// Rejects an unknown folder or assignment before reading a large file. The store checks the
    /// rest.
    async fn check_links(&self) -> Result<(), CommandError> {
        let ImportLayer { folder, assignment, .. } = self.import;
        for (kind, key) in [(Kind::Folder, folder), (Kind::Assignment, assignment)] {
            let Some(text) = key else { continue };
            let record = match Key::parse(text) {
                Some(key) => self.store.get(self.workspace, kind, &key).await?,
                None => None,
            };
            if record.is_none() {
                return Err(CommandError::new(format!("{kind} `{text}` not found")));
            }
        }
        Ok(())
    }

    /// Reads the file without writing anything.
    async fn check(
        &self,
        file: &Arc<LayerFile>,
        target: &TargetLayer,
    ) -> Result<CheckResult, CommandError> {
        let bar = progress_bar(file, &self.import.file, "Checking");
        let file = file.clone();
        let ids = (self.import.mode == ImportMode::Replace).then(IdsInFile::default);
        let mut checked = CheckResult { ids, ..CheckResult::default() };
        let mut fields = FieldCheck::new(match target {
            TargetLayer::Existing(layer) => &layer.declared_fields,
            TargetLayer::New(_) => &[],
        });
        let (mut checked, fields, result) = run_blocking(move || {
            let count = |feature: Feature| {
                fields.check(&feature);
                checked.count(feature);
                Ok::<(), CommandError>(())
            };
            let result = read(&file, &bar, count);
            (checked, fields, result)
        })
        .await?;
        if let TargetLayer::Existing(layer) = target {
            checked.misfits = fields.misfits(self.store, self.workspace, layer.id).await?;
        }
        let rejected = rejected_features(result, &self.import.file)?;
        checked.is_complete = rejected.len() + checked.misfits.len() < MAX_ERRORS
            && !rejected.iter().any(|spot| spot.is_fatal);
        checked.total += rejected.len() as u64;
        checked.rejected = rejected;
        Ok(checked)
    }

    /// Imports the valid features: all of them, or none. In a dry run, only counts them.
    async fn import(
        &self,
        file: &Arc<LayerFile>,
        target: TargetLayer,
        checked: &CheckResult,
        report: &mut Report,
    ) -> Result<(), CommandError> {
        match target {
            TargetLayer::New(_) if self.import.dry_run => {
                report.created = checked.total - checked.rejected.len() as u64;
                Ok(())
            }
            TargetLayer::New(name) => self.load(file, name, checked, report).await,
            TargetLayer::Existing(layer) if self.import.dry_run => {
                self.count(file, &layer, checked, report).await
            }
            TargetLayer::Existing(layer) => self.update(file, &layer, checked, report).await,
        }
    }

    /// Loads a new layer in short transactions, which nothing shows before it is published.
    async fn load(
        &self,
        file: &Arc<LayerFile>,
        name: String,
        checked: &CheckResult,
        report: &mut Report,
    ) -> Result<(), CommandError> {
        self.store.delete_dead_layer_loads(clock::now()).await?;
        let ImportLayer { folder, assignment, keep_crs, .. } = self.import;
        let new = NewLayerLoad {
            workspace: self.workspace,
            actor: Actor::Operator,
            layer: NewLayer { name, crs: if *keep_crs { checked.crs } else { LayerCrs::CRS84 } },
            folder: folder.clone(),
            assignment: assignment.clone(),
        };
        let load = self.store.begin_layer_load(new, clock::now()).await?;
        let loaded = self.load_and_publish(file, &load, checked, report).await;
        if loaded.is_err() {
            // What cannot be deleted now, the server or a later import deletes.
            let _ = self.store.discard_layer_load(&load).await;
        }
        loaded
    }

    async fn load_and_publish(
        &self,
        file: &Arc<LayerFile>,
        load: &LayerLoad,
        checked: &CheckResult,
        report: &mut Report,
    ) -> Result<(), CommandError> {
        let mut batches = self.batches(file, checked, "Writing", BatchSize::Limited);
        while let Some(features) = batches.next().await {
            report.count(&self.store.load_features(load, features, clock::now()).await?);
        }
        self.expect_same_file(batches, checked).await?;
        let start = Instant::now();
        let layer = self.store.publish_layer(load, clock::now()).await?;
        report.published(layer.id, start.elapsed());
        Ok(())
    }

    /// Changes a layer in one transaction.
    async fn update(
        &self,
        file: &Arc<LayerFile>,
        layer: &Layer,
        checked: &CheckResult,
        report: &mut Report,
    ) -> Result<(), CommandError> {
        let mut batches = self.batches(file, checked, "Reading", BatchSize::WholeFile);
        let features = batches.next().await.unwrap_or_default();
        self.expect_same_file(batches, checked).await?;
        let deletions = self.absent_features(layer, checked).await?;
        let geometries = self.geometries(layer.id, features);
        let import = FeatureImport { geometries, deletions };
        let outcome = self.store.import_features(import).await?;
        report.published(layer.id, outcome.published_in);
        report.count(&outcome.posted);
        report.deleted = outcome.deleted;
        Ok(())
    }

    /// Counts what would change.
    async fn count(
        &self,
        file: &Arc<LayerFile>,
        layer: &Layer,
        checked: &CheckResult,
        report: &mut Report,
    ) -> Result<(), CommandError> {
        let mut batches = self.batches(file, checked, "Comparing", BatchSize::Limited);
        while let Some(features) = batches.next().await {
            let posted = self.store.post_geometries(self.geometries(layer.id, features));
            if let PostOutcome::Posted(posted) = posted.await? {
                report.count(&posted);
            }
        }
        self.expect_same_file(batches, checked).await?;
        report.deleted = self.absent_features(layer, checked).await?.len() as u64;
        Ok(())
    }

    fn batches(
        &self,
        file: &Arc<LayerFile>,
        checked: &CheckResult,
        message: &'static str,
        size: BatchSize,
    ) -> FeatureBatches {
        let bar = progress_bar(file, &self.import.file, message);
        let skipped = checked.misfits.iter().map(|misfit| misfit.number).collect();
        FeatureBatches::read(file.clone(), bar, skipped, size)
    }

    /// Rejects a file that is no longer the one that was checked.
    async fn expect_same_file(
        &self,
        batches: FeatureBatches,
        checked: &CheckResult,
    ) -> Result<(), CommandError> {
        let file = &self.import.file;
        if rejected_features(batches.finish().await?, file)? == checked.rejected {
            return Ok(());
        }
        let changed = "the file changed during the import; nothing was imported";
        Err(with_path(file, &changed))
    }

    fn geometries(&self, layer: LayerId, features: FeatureSpool) -> NewGeometries {
        NewGeometries {
            workspace: self.workspace,
            actor: Actor::Operator,
            now: clock::now(),
            layer: Some(LayerKey::Id(layer)),
            folder: self.import.folder.clone(),
            assignment: self.import.assignment.clone(),
            features,
            request: None,
            mode: PostMode {
                is_add_only: self.import.mode == ImportMode::AddOnly,
                is_dry_run: self.import.dry_run,
            },
        }
    }

    /// The stored features that are to be deleted, because they are not in the file.
    async fn absent_features(
        &self,
        layer: &Layer,
        checked: &CheckResult,
    ) -> Result<Vec<GeometryId>, CommandError> {
        match &checked.ids {
            Some(ids) => ids.absent(self.store, self.workspace, layer).await,
            None => Ok(Vec::new()),
        }
    }
}

async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, CommandError> {
    tokio::task::spawn_blocking(work).await.map_err(CommandError::new)
}
