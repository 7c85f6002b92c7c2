//! Features as the API shows them, and the result of uploading geometries.

use crate::{GeometryId, LayerId, RecordId, Timestamp};
use groma_geo::{Bbox, Geometry, Notice, geojson::write_geometry, wkb};
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

/// The public document of a feature: a GeoJSON Feature in WGS 84.
#[derive(Clone, Copy, Debug)]
pub struct FeatureDocument<'a> {
    /// Identifier.
    pub id: GeometryId,
    /// Its layer.
    pub layer: LayerId,
    /// The id it was posted with.
    pub external_id: Option<&'a str>,
    /// Its folder.
    pub folder: Option<RecordId>,
    /// Its assignment.
    pub assignment: Option<RecordId>,
    /// Its geometry in WGS 84, as WKB.
    pub geometry: Option<&'a [u8]>,
    /// Its properties as JSON.
    pub properties: &'a str,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// The members of a Feature besides its geometry and its properties.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Members<'a> {
    layer_id: LayerId,
    external_id: Option<&'a str>,
    folder_id: Option<RecordId>,
    assignment_id: Option<RecordId>,
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl FeatureDocument<'_> {
    /// Appends the document to `out`.
    pub fn write(&self, out: &mut Vec<u8>) -> Result<(), wkb::WkbError> {
        let geometry = self.geometry.map(wkb::from_wkb).transpose()?;
        self.write_with(geometry.as_ref(), out);
        Ok(())
    }

    /// Appends the document with another geometry to `out`, such as the same in another reference system.
    pub fn write_with(&self, geometry: Option<&Geometry>, out: &mut Vec<u8>) {
        out.extend_from_slice(format!("{{\"type\":\"Feature\",\"id\":\"{}\",", self.id).as_bytes());
        out.extend_from_slice(b"\"geometry\":");
        match geometry {
            Some(geometry) => write_geometry(geometry, out),
            None => out.extend_from_slice(b"null"),
        }
        out.extend_from_slice(b",\"properties\":");
        out.extend_from_slice(self.properties.as_bytes());
        let members = Members {
            layer_id: self.layer,
            external_id: self.external_id,
            folder_id: self.folder,
            assignment_id: self.assignment,
            created_at: self.created_at,
            updated_at: self.updated_at,
        };
        // Plain data always serializes. Its opening brace is replaced by a comma.
        let members = serde_json::to_vec(&members).unwrap_or_default();
        out.push(b',');
        out.extend_from_slice(members.get(1..).unwrap_or_default());
    }
}
