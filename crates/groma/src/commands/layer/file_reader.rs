//! Reading the features of a file, with a progress bar, and in parts that are ready to be stored.

use crate::commands::{CommandError, progress};
use groma_files::LayerFile;
use groma_geo::geojson::{DocumentError, Feature, ReadError};
use groma_store::FeatureSpool;
use indicatif::ProgressBar;
use std::{collections::HashSet, path::Path, sync::Arc};
use tokio::{sync::mpsc, task::JoinHandle};

/// The limits of one transaction of a load.
const BATCH_FEATURES: u64 = 10_000;
const BATCH_VERTICES: u64 = 1_000_000;

/// A bar for reading a file: of features, or of bytes if their number is unknown.
pub(super) fn progress_bar(file: &LayerFile, path: &Path, message: &'static str) -> ProgressBar {
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
pub(super) fn read<E>(
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

/// The features that were rejected.
pub(super) fn rejected_features(
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

pub(super) fn with_path(path: &Path, error: &dyn std::fmt::Display) -> CommandError {
    CommandError::new(format!("{}: {error}", path.display()))
}

/// How much of a file is a batch.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum BatchSize {
    /// What a short transaction writes.
    Limited,
    WholeFile,
}

/// The features of a file, read by a thread of its own.
pub(super) struct FeatureBatches {
    batches: mpsc::Receiver<FeatureSpool>,
    reader: JoinHandle<Result<u64, ReadError<CommandError>>>,
}

impl FeatureBatches {
    /// Begins to read a file. Valid features whose number is in `skipped` are left out.
    pub(super) fn read(
        file: Arc<LayerFile>,
        bar: ProgressBar,
        skipped: HashSet<u64>,
        size: BatchSize,
    ) -> Self {
        let (sender, batches) = mpsc::channel(1);
        let reader = tokio::task::spawn_blocking(move || {
            let has_columns = file.format().has_columns();
            let spool = spool(has_columns);
            let mut batch = Batch { sender, size, spool, vertices: 0, has_columns };
            let mut numbers = 0..;
            let result = read(&file, &bar, |feature| match numbers.next() {
                Some(number) if skipped.contains(&number) => Ok(()),
                _ => batch.push(&feature),
            });
            match batch.send() {
                Err(error) if result.is_ok() => Err(ReadError::Stopped(error)),
                _ => result,
            }
        });
        Self { batches, reader }
    }

    /// The next batch; `None` at the end of the file.
    pub(super) async fn next(&mut self) -> Option<FeatureSpool> {
        self.batches.recv().await
    }

    /// The outcome of reading the file.
    pub(super) async fn finish(self) -> Result<Result<u64, ReadError<CommandError>>, CommandError> {
        drop(self.batches);
        self.reader.await.map_err(CommandError::new)
    }
}

/// Collects features until they fill a transaction.
struct Batch {
    sender: mpsc::Sender<FeatureSpool>,
    size: BatchSize,
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
        if is_full && self.size == BatchSize::Limited { self.send() } else { Ok(()) }
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
