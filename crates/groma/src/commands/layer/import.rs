//! `groma import layer`: the whole file is checked first, then written in batches, so that other
//! writers go on in between.

use super::{
    format_of,
    source::{MAX_FAULTS, Source},
};
use crate::{
    cli::ImportLayer,
    clock::now,
    commands::{Failure, print, workspace_of},
};
use groma_domain::{
    Kind, Layer, LayerId, WorkspaceId, geometry::Posted, layer::LayerKey, reference::Key,
};
use groma_geo::geojson::{Feature, ReadError, Spot};
use groma_store::{Actor, NewGeometries, Outcome, Spool, Store};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::{Value, json};
use std::{path::Path, sync::Arc};
use tokio::sync::mpsc;

/// What is written in one transaction at most.
const BATCH_FEATURES: u64 = 10_000;
const BATCH_VERTICES: u64 = 1_000_000;

pub(in crate::commands) async fn run(store: &Store, import: ImportLayer) -> Result<(), Failure> {
    let format = format_of(&import.file, import.format)?;
    let workspace = workspace_of(store, &import.at).await?.id;
    let job = Job { store, workspace, import: &import };
    let target = job.target().await?;
    job.check_links().await?;
    let (path, crs) = (import.file.clone(), import.crs.clone());
    let mut source = Arc::new(apart(move || Source::open(&path, format, crs)).await??);
    let mut checked = job.check(&source).await?;
    if checked.rejected.iter().any(|spot| spot.strays) {
        let first = source.clone();
        if let Some(elsewhere) = apart(move || first.elsewhere()).await?? {
            source = Arc::new(elsewhere);
            checked = job.check(&source).await?;
        }
    }
    let is_clean = checked.rejected.is_empty();
    let mut report = Report { layer: target.id(), rejected: checked.rejected, ..Report::default() };
    if checked.is_whole && !import.dry_run && (is_clean || import.keep_good) {
        job.write(&source, target, &mut report).await?;
    }
    report.tell(&import, checked.total)?;
    match report.rejected.len() {
        0 => Ok(()),
        _ if import.keep_good && !checked.is_whole => Err(Failure::new(format!(
            "{}: could not be read to its end; nothing was kept",
            import.file.display()
        ))),
        _ if import.keep_good && !import.dry_run => Ok(()),
        1 => Err(Failure::new("1 feature was rejected; nothing was kept")),
        count => Err(Failure::new(format!("{count} features were rejected; nothing was kept"))),
    }
}

struct Job<'a> {
    store: &'a Store,
    workspace: WorkspaceId,
    import: &'a ImportLayer,
}

/// Where the features go.
enum Target {
    Existing(LayerId),
    /// A layer of this name, to be made when all is checked.
    New(String),
}

impl Target {
    fn id(&self) -> Option<LayerId> {
        match self {
            Self::Existing(id) => Some(*id),
            Self::New(_) => None,
        }
    }
}

/// What a first reading found.
struct Checked {
    /// How many features there are, good or bad.
    total: u64,
    rejected: Vec<Spot>,
    /// Whether the file was read to its end.
    is_whole: bool,
}

impl Job<'_> {
    /// The layer that is named by id, slug or name, or else by the file's name.
    async fn target(&self) -> Result<Target, Failure> {
        let name = match &self.import.layer {
            Some(key) => {
                let key = LayerKey::parse(key);
                if let Some(layer) = self.store.layer(self.workspace, &key).await? {
                    return Ok(Target::Existing(layer.id));
                }
                match key {
                    LayerKey::Id(id) => {
                        return Err(Failure::new(format!("layer `{id}` not found")));
                    }
                    LayerKey::Slug(name) => name,
                }
            }
            None => self.import.file.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        };
        let now = now();
        let unmade = Layer::new(LayerId::new(now, [0; 10]), &name, 0, now)
            .map_err(|refusal| Failure::new(format!("layer `{name}`: {refusal}")))?;
        let slug = LayerKey::Slug(unmade.slug.as_str().to_owned());
        let found = self.store.layer(self.workspace, &slug).await?;
        Ok(found.map_or(Target::New(unmade.name), |layer| Target::Existing(layer.id)))
    }

    /// Finds a wrong key before a large file is read. Everything else about links is for the store.
    async fn check_links(&self) -> Result<(), Failure> {
        let ImportLayer { folder, assignment, .. } = self.import;
        for (kind, key) in [(Kind::Folder, folder), (Kind::Assignment, assignment)] {
            let Some(text) = key else { continue };
            let found = match Key::parse(text) {
                Some(key) => self.store.get(self.workspace, kind, &key).await?,
                None => None,
            };
            if found.is_none() {
                return Err(Failure::new(format!("{kind} `{text}` not found")));
            }
        }
        Ok(())
    }

    /// Reads everything and keeps nothing.
    async fn check(&self, source: &Arc<Source>) -> Result<Checked, Failure> {
        let bar = progress(source.len()?, "checking");
        let source = source.clone();
        let outcome = apart(move || {
            let mut good = 0;
            let count = |_: Feature| {
                good += 1;
                Ok::<(), Failure>(())
            };
            let outcome = source.read(&bar, count);
            bar.finish_and_clear();
            (good, outcome)
        });
        let (good, outcome) = outcome.await?;
        let rejected = faults(outcome, &self.import.file)?;
        let is_whole = rejected.len() < MAX_FAULTS && !rejected.iter().any(|spot| spot.is_last);
        Ok(Checked { total: good + rejected.len() as u64, rejected, is_whole })
    }

    /// Writes the features that are good.
    async fn write(
        &self,
        source: &Arc<Source>,
        target: Target,
        report: &mut Report,
    ) -> Result<(), Failure> {
        let (layer, is_new) = match target {
            Target::Existing(id) => (id, false),
            Target::New(name) => {
                let made = self.store.create_layer(self.workspace, Actor::Operator, name, now());
                (made.await?.id, true)
            }
        };
        report.layer = Some(layer);
        let bar = progress(source.len()?, "writing");
        let (send, mut batches) = mpsc::channel(1);
        let source = source.clone();
        let reading = tokio::task::spawn_blocking(move || {
            let mut batch = Batch { send, spool: Spool::default(), vertices: 0 };
            let outcome = source.read(&bar, |feature| batch.push(&feature));
            let sent = batch.hand_over();
            bar.finish_and_clear();
            (outcome, sent)
        });
        while let Some(features) = batches.recv().await {
            let posted = self.store.post_geometries(NewGeometries {
                workspace: self.workspace,
                actor: Actor::Operator,
                now: now(),
                layer: Some(LayerKey::Id(layer)),
                folder: self.import.folder.clone(),
                assignment: self.import.assignment.clone(),
                features,
                request: None,
            });
            match posted.await {
                Ok(Outcome::Posted(posted)) => report.count(&posted),
                Ok(Outcome::Replayed(_)) => {}
                Err(error) => return Err(self.stopped(error, layer, is_new, report).await),
            }
        }
        let (outcome, sent) = reading.await.map_err(Failure::new)?;
        sent?;
        if faults(outcome, &self.import.file)? != report.rejected {
            return Err(Failure::new(format!(
                "{}: changed while it was read; kept so far: {}",
                self.import.file.display(),
                report.summary()
            )));
        }
        Ok(())
    }

    /// What to say when the store does not take a batch that passed the check.
    async fn stopped(
        &self,
        error: groma_store::Error,
        layer: LayerId,
        is_new: bool,
        report: &Report,
    ) -> Failure {
        if report.created + report.updated + report.unchanged > 0 {
            return Failure::new(format!("{error}; kept so far: {}", report.summary()));
        }
        // The layer was made for this, and is empty.
        if is_new {
            let key = LayerKey::Id(layer);
            let deleted = self.store.delete_layer(self.workspace, Actor::Operator, key, now());
            if let Err(second) = deleted.await {
                return Failure::new(format!("{error}; the new layer stays: {second}"));
            }
        }
        error.into()
    }
}

/// Features on their way to the store.
struct Batch {
    send: mpsc::Sender<Spool>,
    spool: Spool,
    vertices: u64,
}

impl Batch {
    fn push(&mut self, feature: &Feature) -> Result<(), Failure> {
        if let Some(geometry) = &feature.geometry {
            geometry.each_position(&mut |_| self.vertices += 1);
        }
        self.spool.push(feature)?;
        match self.spool.len() >= BATCH_FEATURES || self.vertices >= BATCH_VERTICES {
            true => self.hand_over(),
            false => Ok(()),
        }
    }

    fn hand_over(&mut self) -> Result<(), Failure> {
        self.vertices = 0;
        let features = std::mem::take(&mut self.spool);
        if features.is_empty() {
            return Ok(());
        }
        self.send.blocking_send(features).map_err(|_| Failure::new("nobody writes any more"))
    }
}

/// What was wrong in a file that was read.
fn faults(outcome: Result<u64, ReadError<Failure>>, path: &Path) -> Result<Vec<Spot>, Failure> {
    match outcome {
        Ok(_) => Ok(Vec::new()),
        Err(ReadError::Refused(spots)) => Ok(spots),
        Err(ReadError::Input(error)) => Err(Failure::new(format!("{}: {error}", path.display()))),
        Err(ReadError::Stopped(failure)) => Err(failure),
    }
}

#[derive(Default)]
struct Report {
    layer: Option<LayerId>,
    created: u64,
    updated: u64,
    unchanged: u64,
    rejected: Vec<Spot>,
}

impl Report {
    fn count(&mut self, posted: &Posted) {
        self.created += posted.created;
        self.updated += posted.updated;
        self.unchanged += posted.unchanged;
    }

    fn tell(&self, import: &ImportLayer, total: u64) -> Result<(), Failure> {
        for Spot { pointer, line, message, .. } in &self.rejected {
            let at = if pointer.is_empty() { String::new() } else { format!("{pointer}: ") };
            eprintln!("{}:{line}: {at}{message}", import.file.display());
        }
        if import.json {
            print(&self.shown().to_string())
        } else if import.dry_run {
            print(&format!("{total} features checked, {} rejected", self.rejected.len()))
        } else {
            print(&self.summary())
        }
    }

    fn summary(&self) -> String {
        let Self { created, updated, unchanged, rejected, .. } = self;
        format!(
            "{created} created, {updated} updated, {unchanged} unchanged, {} rejected",
            rejected.len()
        )
    }

    fn shown(&self) -> Value {
        let rejected = self.rejected.iter().map(
            |spot| json!({ "line": spot.line, "pointer": spot.pointer, "message": spot.message }),
        );
        json!({
            "layerId": self.layer,
            "created": self.created,
            "updated": self.updated,
            "unchanged": self.unchanged,
            "rejected": Vec::from_iter(rejected),
        })
    }
}

/// Runs what takes long on a thread of its own.
async fn apart<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Failure> {
    tokio::task::spawn_blocking(work).await.map_err(Failure::new)
}

/// A bar on a terminal, nothing elsewhere.
fn progress(bytes: u64, what: &'static str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(bytes), ProgressDrawTarget::stderr());
    let template = "{msg} {wide_bar} {bytes} of {total_bytes}, {eta} left";
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.set_message(what);
    bar
}
