//! The result of uploading geometries.

use crate::{GeometryId, LayerId};
use groma_geo::{Bbox, Notice};
use serde::Serialize;
use utoipa::ToSchema;

/// The maximum number of notices that a response lists.
pub const MAX_LISTED_NOTICES: usize = 20;
/// The maximum number of geometries that a response lists.
pub const MAX_LISTED_GEOMETRIES: usize = 1_000;

/// The response to an upload of geometries.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Posted)]
pub struct UploadResult {
    /// Layer that contains the geometries.
    pub layer_id: LayerId,
    /// Number of features in the request.
    #[schema(minimum = 0)]
    pub received: u64,
    /// Number of new geometries.
    #[schema(minimum = 0)]
    pub created: u64,
    /// Number of geometries that replaced an existing one.
    #[schema(minimum = 0)]
    pub updated: u64,
    /// Number of geometries that already existed and did not change.
    #[schema(minimum = 0)]
    pub unchanged: u64,
    /// Bounding box of the uploaded geometries.
    pub bbox: Option<Bbox>,
    /// The first 1,000 geometries, in the order of the request.
    pub geometries: Vec<UploadedGeometry>,
    /// Whether `geometries` was cut off.
    pub truncated: bool,
    /// What was accepted but looks wrong: the first 20 notices.
    pub notices: Vec<Notice>,
    /// Number of all notices.
    #[schema(minimum = 0)]
    pub notice_count: u64,
}

/// An uploaded geometry.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = PostedGeometry)]
pub struct UploadedGeometry {
    /// Identifier.
    pub id: GeometryId,
    /// The Feature's own `id`.
    pub external_id: Option<String>,
    /// GeoJSON type of the geometry; null for a feature without geometry.
    #[serde(rename = "type")]
    pub kind: Option<&'static str>,
}
