//! `groma import layer`: checks the whole file first, then writes it in batches, so that it does
//! not block other writers.

use super::{
    MAX_ERRORS,
    absent_features::{AbsentFeatures, IdsInFile},
    field_check::{FieldCheck, Misfit},
    file_format,
    import_report::Report,
};
use crate::{
    cli::{ImportLayer, ImportMode},
    clock,
    commands::{CommandError, find_workspace, progress, record_file::stored_input},
};
use groma_domain::{
    Kind, Layer, LayerId, WorkspaceId,
    geometry::MAX_LISTED_NOTICES,
    layer::{LayerCrs, LayerKey},
    reference::Key,
};
use groma_files::{LayerFile, OpenOptions};
use groma_geo::{
    Notice,
    geojson::{DocumentError, Feature, ReadError},
};
use groma_store::{Actor, FeatureSpool, NewGeometries, NewLayer, PostMode, PostOutcome, Store};
use indicatif::ProgressBar;
use std::{collections::HashSet, path::Path, sync::Arc};
use tokio::sync::mpsc;

/// The limits of one transaction.
const BATCH_FEATURES: u64 = 10_000;
const BATCH_VERTICES: u64 = 1_000_000;

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

fn with_path(path: &Path, error: &dyn std::fmt::Display) -> CommandError {
    CommandError::new(format!("{}: {error}", path.display()))
}

/// A bar for reading a file: of features, or of bytes if their number is unknown.
fn progress_bar(file: &LayerFile, path: &Path, message: &'static str) -> ProgressBar {
    match file.layer().map(|layer| layer.feature_count) {
        None => {
            let bar = progress::byte_bar(message);
            bar.set_length(path.metadata().map_or(0, |metadata| metadata.len()));
            bar
        }
        Some(None) => progress::counter(message, "features"),
        Some(Some(count)) => {
            let bar = progress::bar(message, "features");
            bar.set_length(count);
            bar
        }
    }
}

/// Reads a file and moves its bar.
fn read<E>(
    file: &LayerFile,
    bar: &ProgressBar,
    mut on_feature: impl FnMut(Feature) -> Result<(), E>,
) -> Result<u64, ReadError<E>> {
    let has_bytes = file.layer().is_none();
    let result = file.read(
        |bytes| bar.inc(bytes),
        |feature| {
            if !has_bytes {
                bar.inc(1);
            }
            on_feature(feature)
        },
    );
    bar.finish_and_clear();
    result
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

    /// Writes the valid features, and deletes those that are not in the file if they are to be replaced. In a
    /// dry run, only counts them.
    async fn import(
        &self,
        file: &Arc<LayerFile>,
        target: TargetLayer,
        checked: &CheckResult,
        report: &mut Report,
    ) -> Result<(), CommandError> {
        let (store, workspace) = (self.store, self.workspace);
        let absent = match (&target, &checked.ids) {
            (TargetLayer::Existing(layer), Some(ids)) => {
                let (layer, last_position, ids) = (layer.id, layer.last_seq, ids.clone());
                Some(AbsentFeatures { store, workspace, layer, last_position, ids })
            }
            _ => None,
        };
        self.write(file, target, checked, report).await?;
        if let Some(absent) = absent {
            report.deleted = absent.delete(self.import.dry_run).await?;
        }
        Ok(())
    }

    async fn write(
        &self,
        file: &Arc<LayerFile>,
        target: TargetLayer,
        checked: &CheckResult,
        report: &mut Report,
    ) -> Result<(), CommandError> {
        let (layer, is_new) = match target {
            TargetLayer::Existing(layer) => (layer.id, false),
            TargetLayer::New(_) if self.import.dry_run => {
                report.created = checked.total - checked.rejected.len() as u64;
                return Ok(());
            }
            TargetLayer::New(name) => {
                let crs = if self.import.keep_crs { checked.crs } else { LayerCrs::CRS84 };
                let (workspace, actor) = (self.workspace, Actor::Operator);
                let layer = NewLayer { name, crs };
                let layer = self.store.create_layer(workspace, actor, layer, clock::now()).await?;
                (layer.id, true)
            }
        };
        report.layer = Some(layer);
        let bar = progress_bar(file, &self.import.file, "Writing");
        let (sender, mut batches) = mpsc::channel(1);
        let file = file.clone();
        let mode = PostMode {
            is_add_only: self.import.mode == ImportMode::AddOnly,
            is_dry_run: self.import.dry_run,
        };
        let skipped: HashSet<u64> = checked.misfits.iter().map(|misfit| misfit.number).collect();
        let reader = tokio::task::spawn_blocking(move || {
            let has_columns = file.format().has_columns();
            let mut batch = Batch { sender, spool: spool(has_columns), vertices: 0, has_columns };
            let mut numbers = 0..;
            let result = read(&file, &bar, |feature| match numbers.next() {
                Some(number) if skipped.contains(&number) => Ok(()),
                _ => batch.push(&feature),
            });
            let sent = batch.send();
            (result, sent)
        });
        while let Some(features) = batches.recv().await {
            let posted = self.store.post_geometries(NewGeometries {
                workspace: self.workspace,
                actor: Actor::Operator,
                now: clock::now(),
                layer: Some(LayerKey::Id(layer)),
                folder: self.import.folder.clone(),
                assignment: self.import.assignment.clone(),
                features,
                request: None,
                mode,
            });
            match posted.await {
                Ok(PostOutcome::Posted(posted)) => report.count(&posted),
                Ok(PostOutcome::Replayed(_)) => {}
                Err(error) => return Err(self.write_error(error, layer, is_new, report).await),
            }
        }
        let (result, sent) = reader.await.map_err(CommandError::new)?;
        sent?;
        if rejected_features(result, &self.import.file)? != checked.rejected {
            return Err(CommandError::new(format!(
                "{}: the file changed during the import, which stopped after {}",
                self.import.file.display(),
                report.summary()
            )));
        }
        Ok(())
    }

    /// The error for a valid batch that the store rejected. Deletes a new layer that is still empty.
    async fn write_error(
        &self,
        error: groma_store::Error,
        layer: LayerId,
        is_new: bool,
        report: &Report,
    ) -> CommandError {
        if report.created + report.updated + report.unchanged > 0 {
            return CommandError::new(format!(
                "{error}; the import stopped after {}",
                report.summary()
            ));
        }
        if is_new {
            let key = LayerKey::Id(layer);
            let (workspace, actor) = (self.workspace, Actor::Operator);
            let deleted = self.store.delete_layer(workspace, actor, key, clock::now()).await;
            if let Err(second) = deleted {
                return CommandError::new(format!(
                    "{error}; the new empty layer could not be deleted: {second}"
                ));
            }
        }
        error.into()
    }
}

/// Collects features until they fill a transaction.
struct Batch {
    sender: mpsc::Sender<FeatureSpool>,
    spool: FeatureSpool,
    vertices: u64,
    has_columns: bool,
}

fn spool(has_columns: bool) -> FeatureSpool {
    if has_columns { FeatureSpool::with_columns() } else { FeatureSpool::default() }
}

impl Batch {
    fn push(&mut self, feature: &Feature) -> Result<(), CommandError> {
        if let Some(geometry) = &feature.geometry {
            geometry.each_position(&mut |_| self.vertices += 1);
        }
        self.spool.push(feature)?;
        let is_full = self.spool.len() >= BATCH_FEATURES || self.vertices >= BATCH_VERTICES;
        if is_full { self.send() } else { Ok(()) }
    }

    fn send(&mut self) -> Result<(), CommandError> {
        self.vertices = 0;
        let features = std::mem::replace(&mut self.spool, spool(self.has_columns));
        if features.is_empty() {
            return Ok(());
        }
        self.sender.blocking_send(features).map_err(|_| CommandError::new("import stopped"))
    }
}

fn rejected_features(
    result: Result<u64, ReadError<CommandError>>,
    path: &Path,
) -> Result<Vec<DocumentError>, CommandError> {
    match result {
        Ok(_) => Ok(Vec::new()),
        Err(ReadError::Invalid(spots)) => Ok(spots),
        Err(ReadError::Input(error)) => Err(with_path(path, &error)),
        Err(ReadError::Stopped(error)) => Err(error),
    }
}

async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, CommandError> {
    tokio::task::spawn_blocking(work).await.map_err(CommandError::new)
}
