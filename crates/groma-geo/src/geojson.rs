//! Reads and writes GeoJSON (RFC 7946).
//!
//! Documents are read as a stream: memory depends on the largest feature, not on their number. Each
//! feature is passed to a callback as soon as it is complete, transformed to WGS 84 and repaired.
//! Errors name their location by JSON pointer. The callback has to undo what it did if an error
//! follows.

mod coordinates;
mod feature_builder;
mod finished_geometry;
mod id;
mod limits;
mod object_type;
mod parse_error;
mod properties;
mod reader;
mod scanner;
mod to_wgs84;
mod write;

#[cfg(test)]
mod tests;

pub use feature_builder::FeatureBuilder;
pub use write::write_geometry;

use crate::{Crs, Geometry, Message, Notice};
use parse_error::{ErrorDetail, ParseError};
use reader::Reader;
use serde_json::{Map, Value};
use std::{convert::Infallible, io};
use thiserror::Error;

/// The media type of GeoJSON.
pub const GEOJSON: &str = "application/geo+json";

/// The most positions of a feature.
const MAX_VERTICES: usize = 1_000_000;
/// The most rings of a feature.
const MAX_RINGS: usize = 100_000;
/// The most geometries in the collections of a feature.
const MAX_PARTS: usize = 100_000;
/// The most keys in the `properties` of a feature, and unknown members of any other object.
const MAX_KEYS: usize = 1_000;
/// The most memory that the `properties` of a feature can take, in bytes.
const MAX_PROPERTIES_BYTES: usize = 16 << 20;
/// How deep GeometryCollections can be nested.
pub(crate) const MAX_COLLECTION_DEPTH: usize = 4;
/// The default of [`Options::max_errors`].
const MAX_ERRORS: usize = 20;

/// How to read a document.
#[derive(Clone, Debug)]
pub struct Options {
    /// The reference system of coordinates if the document does not name one.
    pub crs: Crs,
    /// Whether the document must not name another reference system.
    pub is_crs_fixed: bool,
    /// Whether northing or latitude comes first in coordinates.
    pub is_northing_first: bool,
    /// Whether the document must be a Feature.
    pub is_feature: bool,
    /// Reading stops after this many errors.
    pub max_errors: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            crs: Crs::WGS84,
            is_crs_fixed: false,
            is_northing_first: false,
            is_feature: false,
            max_errors: MAX_ERRORS,
        }
    }
}

/// A Feature. A bare geometry is read as a Feature without properties.
#[derive(Clone, Debug, PartialEq)]
pub struct Feature {
    /// Its `id` as text.
    pub external_id: Option<String>,
    /// Its geometry in WGS 84; `None` if it is null.
    pub geometry: Option<Geometry>,
    /// Its geometry as it was sent, if that was in another reference system.
    pub original: Option<OriginalGeometry>,
    /// Its properties. Numbers keep all their digits.
    pub properties: Map<String, Value>,
    /// Its index in the `features` of a FeatureCollection.
    pub index: Option<usize>,
    /// The line on which it starts, from 1.
    pub line: u64,
    /// What looks wrong in its geometry.
    pub notices: Vec<Notice>,
}

/// A geometry in another reference system than WGS 84.
#[derive(Clone, Debug, PartialEq)]
pub struct OriginalGeometry {
    /// The reference system.
    pub crs: Crs,
    /// The geometry, with the coordinates as they were sent.
    pub geometry: Geometry,
}

impl Feature {
    /// A Feature that is not from a document, with a geometry in WGS 84.
    #[must_use]
    pub fn new(
        external_id: Option<String>,
        geometry: Option<Geometry>,
        properties: Map<String, Value>,
    ) -> Self {
        Self {
            external_id,
            geometry,
            original: None,
            properties,
            index: None,
            line: 0,
            notices: Vec::new(),
        }
    }

    /// Its location in the document as a JSON pointer.
    #[must_use]
    pub fn pointer(&self) -> String {
        self.index.map_or_else(String::new, |index| format!("/features/{index}"))
    }
}

/// A change of a Feature: the members that a JSON merge patch (RFC 7396) names.
#[derive(Clone, Debug, PartialEq)]
pub struct FeaturePatch {
    /// The `id`, the new geometry and the new properties.
    pub feature: Feature,
    /// Whether the geometry changes. If not, that of `feature` is `None`.
    pub has_geometry: bool,
}

/// An error in a document and its location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentError {
    /// The location as a JSON pointer (RFC 6901), for example `/features/3/geometry/coordinates/0/2`.
    pub pointer: String,
    /// The line that was being read, from 1.
    pub line: u64,
    /// What is wrong, without the location.
    pub message: Message,
    /// Whether reading stopped here, so that the rest of the document was not checked.
    pub is_fatal: bool,
    /// Whether coordinates in another reference system would explain the error, for example one
    /// that is named after the features. See [`find_crs`].
    pub suggests_other_crs: bool,
}

impl From<ErrorDetail> for DocumentError {
    fn from(detail: ErrorDetail) -> Self {
        Self {
            pointer: detail.pointer(),
            line: detail.line,
            message: detail.message,
            is_fatal: false,
            suggests_other_crs: detail.suggests_other_crs,
        }
    }
}

/// Why reading failed.
#[derive(Debug, Error)]
pub enum ReadError<E> {
    /// The document has errors: at least one, in document order.
    #[error("{} at `{}`", .0.first().map_or_else(String::new, |error| error.message.to_string()), .0.first().map_or("", |error| &error.pointer))]
    Invalid(Vec<DocumentError>),
    /// The input could not be read.
    #[error(transparent)]
    Input(io::Error),
    /// The callback returned an error.
    #[error("stopped")]
    Stopped(E),
}

/// Reads one GeoJSON object of any type and passes its features to `on_feature`, which can stop the
/// reading. Returns the number of features.
///
/// After an error in a feature, reading continues with the next feature so that several errors can
/// be reported at once. Features are therefore passed on even after an error.
pub fn read<E>(
    input: impl io::Read,
    options: &Options,
    on_feature: impl FnMut(Feature) -> Result<(), E>,
) -> Result<u64, ReadError<E>> {
    read_texts(Texts::Single, input, options, on_feature)
}

/// Reads a sequence of GeoJSON objects: one per line (NDJSON), or each after a record separator
/// (RFC 8142). A text that is not valid JSON does not prevent the next from being read. Pointers
/// start at the root of each object.
pub fn read_sequence<E>(
    input: impl io::Read,
    options: &Options,
    on_feature: impl FnMut(Feature) -> Result<(), E>,
) -> Result<u64, ReadError<E>> {
    read_texts(Texts::Sequence, input, options, on_feature)
}

/// Reads a JSON merge patch of a Feature. Each of its members can be left out.
pub fn read_patch(
    mut input: impl io::Read,
    options: &Options,
) -> Result<FeaturePatch, ReadError<Infallible>> {
    let result = Reader::new(&mut input, options, &mut |_| false).read_patch();
    result.map_err(|error| match *error {
        ParseError::Input(error) => ReadError::Input(error),
        ParseError::Syntax(detail) | ParseError::Invalid(detail) => {
            ReadError::Invalid(vec![DocumentError { is_fatal: true, ..detail.into() }])
        }
        ParseError::TooManyErrors | ParseError::Stopped => ReadError::Invalid(Vec::new()),
    })
}

/// Finds the `crs` (GeoJSON 2008) of a document, wherever in the outermost object it is.
///
/// [`read`] respects a `crs` only if it comes before the features. If an error
/// [suggests another reference system](DocumentError::suggests_other_crs), call this function and
/// read the document again with the result in [`Options::crs`].
pub fn find_crs(mut input: impl io::Read) -> Option<Crs> {
    let options = Options::default();
    Reader::new(&mut input, &options, &mut |_| false).read_root_crs().ok().flatten()
}

/// What the input consists of.
#[derive(Clone, Copy)]
enum Texts {
    Single,
    Sequence,
}

fn read_texts<E>(
    texts: Texts,
    mut input: impl io::Read,
    options: &Options,
    mut on_feature: impl FnMut(Feature) -> Result<(), E>,
) -> Result<u64, ReadError<E>> {
    let mut callback_error = None;
    let mut on_feature = |feature| match on_feature(feature) {
        Ok(()) => true,
        Err(error) => {
            callback_error = Some(error);
            false
        }
    };
    let mut reader = Reader::new(&mut input, options, &mut on_feature);
    let result = match texts {
        Texts::Single => reader.read_document(),
        Texts::Sequence => reader.read_sequence(),
    };
    let (count, mut errors) = reader.into_result();
    if let Err(error) = result {
        match *error {
            ParseError::Input(error) => return Err(ReadError::Input(error)),
            ParseError::Syntax(detail) | ParseError::Invalid(detail) => {
                errors.push(DocumentError { is_fatal: true, ..detail.into() });
            }
            ParseError::TooManyErrors | ParseError::Stopped => {}
        }
    }
    match callback_error {
        Some(error) => Err(ReadError::Stopped(error)),
        None if errors.is_empty() => Ok(count),
        None => Err(ReadError::Invalid(errors)),
    }
}
