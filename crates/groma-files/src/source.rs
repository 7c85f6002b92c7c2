//! What a reader of a format provides: layers, and rows with a geometry in the coordinates of the file.

use crate::error::Result;
use groma_geo::{Crs, Geometry, Message, message};
use serde_json::{Map, Value};

/// The most positions and rings of a feature. Readers that would take memory or time for more reject it themselves.
pub(crate) const MAX_VERTICES: usize = 1_000_000;
pub(crate) const MAX_RINGS: usize = 100_000;

/// Why a feature with more positions is rejected.
pub(crate) fn too_many_vertices() -> Message {
    message!("exceeds the limit of {limit} positions per feature", limit = MAX_VERTICES)
}

/// The column in which exported files carry the id of each feature.
pub(crate) const ID_COLUMN: &str = "groma_id";

/// The property in which formats that tell the two apart pass on that column, because a layer can have a property of
/// the same name.
pub(crate) const ID_PROPERTY: &str = "\0groma_id";

/// The reference system that a file names for a layer.
#[derive(Clone, Debug, PartialEq)]
pub enum SourceCrs {
    /// A system that Groma accepts.
    Known(Crs),
    /// The file names none.
    Missing,
    /// The file names one that is not accepted: the reason.
    Unsupported(Message),
}

/// The type of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldType {
    /// A whole number of up to 64 bits.
    Integer,
    /// A floating-point number.
    Real,
    /// True or false.
    Bool,
    /// Text.
    Text,
    /// A date, as text such as 2026-01-31.
    Date,
    /// A date and a time, as ISO 8601 text.
    DateTime,
    /// JSON.
    Json,
    /// Bytes, which are dropped.
    Binary,
}

/// A field of a layer.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Its type.
    pub kind: FieldType,
}

/// A layer of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceLayer {
    /// Its name.
    pub name: String,
    /// Its fields, as far as they are known before reading it.
    pub fields: Vec<Field>,
    /// The number of features, if it is known.
    pub feature_count: Option<u64>,
    /// Its reference system.
    pub crs: SourceCrs,
    /// The type of its geometries as the file names it; empty if unknown.
    pub geometry_type: String,
    /// The name of its primary key, which is not among the fields.
    pub key: Option<String>,
}

/// A feature as the file has it.
#[derive(Default)]
pub(crate) struct SourceFeature {
    /// The value of the primary key.
    pub(crate) key: Option<String>,
    pub(crate) geometry: Option<Geometry>,
    pub(crate) properties: Map<String, Value>,
    /// Whether the geometry has measures, which are dropped.
    pub(crate) has_measures: bool,
    /// Whether a property was dropped because it is binary.
    pub(crate) has_binary: bool,
    /// Notices about the whole file. They are passed on with the first feature that is not rejected.
    pub(crate) file_notices: Vec<Message>,
}

/// Receives the number of each feature, from 1, and the feature or why it cannot be read. Returns false to stop.
pub(crate) type OnFeature<'a> =
    dyn FnMut(u64, std::result::Result<SourceFeature, Message>) -> bool + 'a;

/// An open file.
pub(crate) trait Source: Send + Sync {
    /// Its layers.
    fn layers(&self) -> &[SourceLayer];

    /// Passes on the features of a layer, by its index.
    fn read(&self, layer: usize, on_feature: &mut OnFeature<'_>) -> Result<()>;
}
