//! Why a file cannot be read or written.

use std::io;
use thiserror::Error;

/// Why a file cannot be read or written.
#[derive(Debug, Error)]
pub enum FileError {
    /// Reading or writing failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The content is not what it should be.
    #[error("{0}")]
    Invalid(String),
}

impl FileError {
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::Invalid(message.into())
    }
}

impl From<rusqlite::Error> for FileError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Invalid(format!("the GeoPackage cannot be used: {error}"))
    }
}

pub(crate) type Result<T> = std::result::Result<T, FileError>;
