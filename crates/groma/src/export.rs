//! Writes records and layers to files: for `groma export` and for the downloads of the web application.
//!
//! Memory does not depend on the number of records or features: they are read in chunks, and formats that begin
//! with what all features have in common collect them in a temporary file.

mod layer;
mod record_file;
mod records;
mod workspace;

pub(crate) use layer::LayerExport;
pub(crate) use records::{RecordExport, RecordSelection};
pub(crate) use workspace::WorkspaceExport;

use groma_files::{FileError, FormatLimit};
use std::{fmt, io};
use thiserror::Error;

/// Why an export failed.
#[derive(Debug, Error)]
pub(crate) enum ExportError {
    #[error(transparent)]
    Store(#[from] groma_store::Error),
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The format cannot hold the content.
    #[error(transparent)]
    Format(FormatLimit),
    /// A feature is outside the area in which the reference system can be used.
    #[error("feature {feature} is outside the area in which {crs} can be used")]
    OutsideArea { feature: groma_domain::GeometryId, crs: groma_geo::Crs },
    /// What is stored cannot be read.
    #[error("{0}")]
    Damaged(String),
}

impl ExportError {
    fn damaged(error: impl fmt::Display) -> Self {
        Self::Damaged(error.to_string())
    }
}

impl From<FileError> for ExportError {
    fn from(error: FileError) -> Self {
        match error {
            FileError::Io(error) => Self::Io(error),
            FileError::Limit(limit) => Self::Format(limit),
            FileError::Invalid(message) => Self::Damaged(message.to_string()),
        }
    }
}

impl From<csv::Error> for ExportError {
    fn from(error: csv::Error) -> Self {
        Self::Io(error.into())
    }
}
