//! Why features of a file are rejected.

use groma_domain::PropertyError;
use groma_geo::{Message, geojson::DocumentError};
use std::fmt;

/// A feature that cannot be imported.
pub(crate) struct RejectedFeature {
    /// Its location in the file as a JSON pointer; empty if the file is no JSON document.
    pub(crate) pointer: String,
    /// Its line, or its number in formats that are not text.
    pub(crate) line: u64,
    pub(crate) reason: FeatureError,
}

/// Why a feature is rejected.
pub(crate) enum FeatureError {
    /// It cannot be read.
    Unreadable(Message),
    /// Its properties do not fit the fields of the layer.
    Properties(Vec<PropertyError>),
}

impl From<DocumentError> for RejectedFeature {
    fn from(error: DocumentError) -> Self {
        let DocumentError { pointer, line, message, .. } = error;
        Self { pointer, line, reason: FeatureError::Unreadable(message) }
    }
}

impl fmt::Display for FeatureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(message) => message.fmt(f),
            Self::Properties(problems) => match problems.as_slice() {
                [only] => only.violation.fmt(f),
                problems => {
                    let sentence =
                        |one: &PropertyError| format!("`{}` {}", one.property, one.violation);
                    f.write_str(&problems.iter().map(sentence).collect::<Vec<_>>().join("; "))
                }
            },
        }
    }
}
