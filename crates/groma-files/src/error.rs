//! Why a file cannot be read or written.

use crate::format_limits::{MAX_PROPERTIES, MAX_ROWS, MAX_TEXT};
use groma_geo::{Message, message};
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
    Invalid(Message),
    /// The format cannot hold the content.
    #[error(transparent)]
    Limit(#[from] FormatLimit),
}

/// Why a format cannot hold what is to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum FormatLimit {
    /// Excel has a maximum number of rows.
    #[error("an Excel sheet has at most {MAX_ROWS} rows; export as CSV")]
    SheetRows,
    /// A text in this row is longer than Excel can read.
    #[error(
        "row {row} has a text of more than {MAX_TEXT} characters, the limit of Excel; export as CSV"
    )]
    SheetText {
        /// The number of the row.
        row: u32,
    },
    /// The features have too many different properties for columns.
    #[error("the layer has more than {MAX_PROPERTIES} different properties; export it as GeoJSON")]
    Columns,
    /// The rows of a Shapefile have a maximum length.
    #[error("the properties are too long for a Shapefile; export the layer as a GeoPackage")]
    ShapefileRow,
    /// A Shapefile has a maximum size.
    #[error("the layer is too large for a Shapefile; export it as a GeoPackage")]
    ShapefileSize,
    /// KML has only one reference system.
    #[error("KML is always in WGS 84; export it with --crs EPSG:4326")]
    KmlCrs,
}

impl FileError {
    pub(crate) fn invalid(message: Message) -> Self {
        Self::Invalid(message)
    }

    /// The reason.
    #[must_use]
    pub fn message(&self) -> Message {
        match self {
            Self::Io(error) => error.into(),
            Self::Invalid(message) => message.clone(),
            Self::Limit(limit) => Message::untranslated(limit),
        }
    }
}

impl From<rusqlite::Error> for FileError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Invalid(message!("the GeoPackage cannot be used: {error}", error = error.to_string()))
    }
}

pub(crate) type Result<T> = std::result::Result<T, FileError>;
