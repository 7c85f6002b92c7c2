//! Why an import fails.

use groma_files::FileError;
use groma_geo::Message;
use thiserror::Error;
use tokio::task::JoinError;

/// Why an import fails. Nothing was written, unless the error says so.
#[derive(Debug, Error)]
pub(crate) enum ImportError {
    /// The file cannot be imported, for this reason.
    #[error("{0}")]
    File(Message),
    /// The file is no longer the one that was checked.
    #[error("the file changed during the import; nothing was imported")]
    FileChanged,
    /// The data changed after the check, so that a row is no longer valid.
    #[error(
        "line {line}: {reason}; the data changed after the check, and the import stopped after {written}; run it \
         again"
    )]
    DataChanged {
        /// The line of the row.
        line: u64,
        /// Why it is not valid.
        reason: String,
        /// What was written before.
        written: String,
    },
    /// Somebody cancelled it, or the program stops.
    #[error("the import was cancelled")]
    Cancelled,
    /// A bug of the program.
    #[error("the program failed at this file; nothing was imported")]
    Panicked,
    /// The store rejected it, or failed.
    #[error(transparent)]
    Store(#[from] groma_store::Error),
}

impl From<FileError> for ImportError {
    fn from(error: FileError) -> Self {
        Self::File(error.message())
    }
}

impl From<JoinError> for ImportError {
    /// Why a thread that reads a file has no result. The program stops if it was cancelled.
    fn from(error: JoinError) -> Self {
        if error.is_panic() { Self::Panicked } else { Self::Cancelled }
    }
}

impl From<std::io::Error> for ImportError {
    fn from(error: std::io::Error) -> Self {
        Self::File((&error).into())
    }
}
