//! `groma import layer`: checks the whole file first, then writes it in batches, so that it does
//! not block other writers.

use super::{
    feature_file::{FeatureFile, MAX_ERRORS},
    field_check::{FieldCheck, Misfit},
    file_format,
};
use crate::{
    cli::ImportLayer,
    clock,
    commands::{CommandError, find_workspace, print, progress},
};
use groma_domain::{
    Kind, Layer, LayerId, WorkspaceId,
    geometry::{MAX_LISTED_NOTICES, UploadResult},
    layer::{LayerCrs, LayerKey},
    reference::Key,
};
use groma_geo::{
    Notice,
    geojson::{DocumentError, Feature, ReadError},
};
use groma_store::{Actor, FeatureSpool, NewGeometries, NewLayer, PostOutcome, Store};
use serde_json::{Value, json};
use std::{collections::HashSet, path::Path, sync::Arc};
use tokio::sync::mpsc;

/// The limits of one transaction.
const BATCH_FEATURES: u64 = 10_000;
const BATCH_VERTICES: u64 = 1_000_000;

pub(in crate::commands) async fn run(
    store: &Store,
    import: ImportLayer,
) -> Result<(), CommandError> {
    let format = file_format(&import.file, import.format)?;
    let workspace = find_workspace(store, &import.workspace).await?.id;
    let job = ImportJob { store, workspace, import: &import };
    let target = job.target().await?;
    if let TargetLayer::Existing(layer) = &target {
        layer.require_unlocked().map_err(CommandError::new)?;
    }
    job.check_links().await?;
    let (path, crs) = (import.file.clone(), import.crs.clone());
    let mut file = Arc::new(run_blocking(move || FeatureFile::open(&path, format, crs)).await??);
    let mut checked = job.check(&file, &target).await?;
    if checked.rejected.iter().any(|spot| spot.suggests_other_crs) {
        let first = file.clone();
        if let Some(reprojected) = run_blocking(move || first.with_declared_crs()).await?? {
            file = Arc::new(reprojected);
            checked = job.check(&file, &target).await?;
        }
    }
    let mut rejected = checked.rejected.clone();
    rejected.extend(checked.misfits.iter().map(|misfit| misfit.error.clone()));
    rejected.sort_by_key(|error| error.line);
    let is_valid = rejected.is_empty();
    let mut report = Report {
        layer: target.id(),
        rejected,
        notices: std::mem::take(&mut checked.notices),
        notice_count: checked.notice_count,
        ..Report::default()
    };
    if checked.is_complete && !import.dry_run && (is_valid || import.keep_good) {
        let crs = if import.keep_crs { checked.crs } else { LayerCrs::CRS84 };
        job.write(&file, target, crs, &checked, &mut report).await?;
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
}

impl CheckResult {
    /// Counts a valid feature.
    fn count(&mut self, feature: Feature) {
        if self.total == 0 {
            self.crs = feature.original.map_or(LayerCrs::CRS84, |original| original.crs.into());
        }
        self.total += 1;
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
            None => self.import.file.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
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
        file: &Arc<FeatureFile>,
        target: &TargetLayer,
    ) -> Result<CheckResult, CommandError> {
        let bar = progress::byte_bar("Checking");
        bar.set_length(file.len()?);
        let file = file.clone();
        let mut checked = CheckResult::default();
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
            let result = file.read(&bar, count);
            bar.finish_and_clear();
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

    /// Writes the valid features.
    async fn write(
        &self,
        file: &Arc<FeatureFile>,
        target: TargetLayer,
        crs: LayerCrs,
        checked: &CheckResult,
        report: &mut Report,
    ) -> Result<(), CommandError> {
        let (layer, is_new) = match target {
            TargetLayer::Existing(layer) => (layer.id, false),
            TargetLayer::New(name) => {
                let (workspace, actor) = (self.workspace, Actor::Operator);
                let layer = NewLayer { name, crs };
                let layer = self.store.create_layer(workspace, actor, layer, clock::now()).await?;
                (layer.id, true)
            }
        };
        report.layer = Some(layer);
        let bar = progress::byte_bar("Writing");
        bar.set_length(file.len()?);
        let (sender, mut batches) = mpsc::channel(1);
        let file = file.clone();
        let skipped: HashSet<u64> = checked.misfits.iter().map(|misfit| misfit.number).collect();
        let reader = tokio::task::spawn_blocking(move || {
            let mut batch = Batch { sender, spool: FeatureSpool::default(), vertices: 0 };
            let mut numbers = 0..;
            let result = file.read(&bar, |feature| match numbers.next() {
                Some(number) if skipped.contains(&number) => Ok(()),
                _ => batch.push(&feature),
            });
            let sent = batch.send();
            bar.finish_and_clear();
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
        let features = std::mem::take(&mut self.spool);
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
        Err(ReadError::Input(error)) => {
            Err(CommandError::new(format!("{}: {error}", path.display())))
        }
        Err(ReadError::Stopped(error)) => Err(error),
    }
}

#[derive(Default)]
struct Report {
    layer: Option<LayerId>,
    created: u64,
    updated: u64,
    unchanged: u64,
    rejected: Vec<DocumentError>,
    notices: Vec<(u64, Notice)>,
    notice_count: u64,
}

impl Report {
    fn count(&mut self, posted: &UploadResult) {
        self.created += posted.created;
        self.updated += posted.updated;
        self.unchanged += posted.unchanged;
    }

    fn print(&self, import: &ImportLayer, total: u64) -> Result<(), CommandError> {
        for DocumentError { pointer, line, message, .. } in &self.rejected {
            let at = if pointer.is_empty() { String::new() } else { format!("{pointer}: ") };
            eprintln!("{}:{line}: {at}{message}", import.file.display());
        }
        self.print_notices(&import.file);
        if import.json {
            print(&self.to_json().to_string())
        } else if import.dry_run {
            print(&format!("{total} features checked, {} rejected.", self.rejected.len()))
        } else {
            print(&self.summary())
        }
    }

    /// Prints what was accepted but looks wrong.
    fn print_notices(&self, file: &Path) {
        for (line, Notice { pointer, message }) in &self.notices {
            let at = if pointer.is_empty() { String::new() } else { format!("{pointer}: ") };
            eprintln!("{}:{line}: notice: {at}{message}", file.display());
        }
        let unlisted = self.notice_count - self.notices.len() as u64;
        if unlisted > 0 {
            eprintln!("{}: {unlisted} more notices", file.display());
        }
    }

    fn summary(&self) -> String {
        let Self { created, updated, unchanged, rejected, .. } = self;
        format!(
            "{created} created, {updated} updated, {unchanged} unchanged, {} rejected",
            rejected.len()
        )
    }

    fn to_json(&self) -> Value {
        let rejected = self.rejected.iter().map(
            |spot| json!({ "line": spot.line, "pointer": spot.pointer, "message": spot.message }),
        );
        let notices = self.notices.iter().map(|(line, notice)| {
            json!({ "line": line, "pointer": notice.pointer, "message": notice.message })
        });
        json!({
            "layerId": self.layer,
            "created": self.created,
            "updated": self.updated,
            "unchanged": self.unchanged,
            "rejected": Vec::from_iter(rejected),
            "notices": Vec::from_iter(notices),
            "noticeCount": self.notice_count,
        })
    }
}

async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, CommandError> {
    tokio::task::spawn_blocking(work).await.map_err(CommandError::new)
}
