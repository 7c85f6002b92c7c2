//! Imports files of layers and records, for `groma import` and the web application: checks the whole file first,
//! then writes it.

mod absent_features;
mod error;
mod feature_batches;
mod field_check;
mod layer;
mod progress;
mod record_file;
mod records;
mod rejected_feature;

pub(crate) use error::ImportError;
pub(crate) use layer::{CheckedFile, ImportedLayer, LayerCounts, LayerImport, LayerTarget};
pub(crate) use progress::{Progress, Step, Unit};
pub(crate) use record_file::RecordFile;
pub(crate) use records::{MAX_TRANSACTION_ROWS, RecordImport, RejectedRow, RowError, summary};
pub(crate) use rejected_feature::{FeatureError, RejectedFeature};

/// Reading a file stops after this many errors.
pub(crate) const MAX_ERRORS: usize = 100_000;

/// The longest message about a row or feature, in bytes: all are in memory together.
const MAX_MESSAGE: usize = 500;

/// A message that is not too long.
pub(crate) fn shortened(mut message: String) -> String {
    if message.len() > MAX_MESSAGE {
        message.truncate(message.floor_char_boundary(MAX_MESSAGE));
        message.push('…');
        message.shrink_to_fit();
    }
    message
}

/// Runs work that reads a file on a thread of its own.
pub(crate) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ImportError> {
    Ok(tokio::task::spawn_blocking(work).await?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn panic_is_not_taken_for_a_cancelled_import() {
        let failed = run_blocking(|| panic!("a bug")).await;
        assert!(matches!(failed, Err::<(), _>(ImportError::Panicked)), "{failed:?}");
    }
}
