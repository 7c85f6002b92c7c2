//! Reading the features of a file, in parts that are ready to be stored.

use super::{ImportError, Progress, Step, Unit};
use groma_files::LayerFile;
use groma_geo::geojson::{DocumentError, Feature, ReadError};
use groma_store::FeatureSpool;
use std::{collections::HashSet, sync::Arc};
use tokio::{sync::mpsc, task::JoinHandle};

/// The most vertices of a batch.
const BATCH_VERTICES: u64 = 1_000_000;

/// Reads a file. Progress is counted in features, or in bytes if the file does not tell their number.
pub(super) fn read(
    file: &LayerFile,
    (progress, step): (&dyn Progress, Step),
    mut on_feature: impl FnMut(Feature) -> Result<(), ImportError>,
) -> Result<u64, ReadError<ImportError>> {
    let layer = file.layer();
    match layer {
        Some(layer) => progress.begin(step, layer.feature_count, Unit::Features),
        None => progress.begin(step, file.size(), Unit::Bytes),
    }
    let result = file.read(
        |bytes| progress.advance(bytes),
        |feature| {
            if layer.is_some() {
                progress.advance(1);
            }
            match progress.is_cancelled() {
                true => Err(ImportError::Cancelled),
                false => on_feature(feature),
            }
        },
    );
    progress.end();
    result
}

/// The features that were rejected.
pub(super) fn rejected_features(
    result: Result<u64, ReadError<ImportError>>,
) -> Result<Vec<DocumentError>, ImportError> {
    match result {
        Ok(_) => Ok(Vec::new()),
        Err(ReadError::Invalid(spots)) => Ok(spots),
        Err(ReadError::Input(error)) => Err(error.into()),
        Err(ReadError::Stopped(error)) => Err(error),
    }
}

/// How much of a file is a batch.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum BatchSize {
    /// What the store prepares together.
    Limited,
    WholeFile,
}

/// The features of a file, read by a thread of its own.
pub(super) struct FeatureBatches {
    batches: mpsc::Receiver<FeatureSpool>,
    reader: JoinHandle<Result<u64, ReadError<ImportError>>>,
}

impl FeatureBatches {
    /// Begins to read a file. Valid features whose number is in `skipped` are left out.
    pub(super) fn read(
        file: Arc<LayerFile>,
        progress: Arc<dyn Progress>,
        step: Step,
        skipped: HashSet<u64>,
        size: BatchSize,
    ) -> Self {
        let (sender, batches) = mpsc::channel(1);
        let reader = tokio::task::spawn_blocking(move || {
            let has_columns = file.format().has_columns();
            let spool = spool(has_columns);
            let mut batch = Batch { sender, size, spool, vertices: 0, has_columns };
            let mut numbers = 0..;
            let result = read(&file, (&*progress, step), |feature| match numbers.next() {
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

    /// The features that were rejected while the file was read.
    pub(super) async fn finish(self) -> Result<Vec<DocumentError>, ImportError> {
        drop(self.batches);
        rejected_features(self.reader.await?)
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
    fn push(&mut self, feature: &Feature) -> Result<(), ImportError> {
        if let Some(geometry) = &feature.geometry {
            geometry.each_position(&mut |_| self.vertices += 1);
        }
        self.spool.push(feature)?;
        let is_full = self.spool.is_full() || self.vertices >= BATCH_VERTICES;
        if is_full && self.size == BatchSize::Limited { self.send() } else { Ok(()) }
    }

    fn send(&mut self) -> Result<(), ImportError> {
        self.vertices = 0;
        let features = std::mem::replace(&mut self.spool, spool(self.has_columns));
        if features.is_empty() {
            return Ok(());
        }
        self.sender.blocking_send(features).map_err(|_| ImportError::Cancelled)
    }
}
