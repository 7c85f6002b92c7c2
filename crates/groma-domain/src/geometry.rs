//! What is answered to posted geometries.

use crate::{GeometryId, LayerId};
use groma_geo::Bbox;
use serde::Serialize;
use utoipa::ToSchema;

/// How many geometries an answer lists.
pub const LISTED: usize = 1_000;

/// The answer to posted geometries.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Posted {
    /// The layer they are in.
    pub layer_id: LayerId,
    /// How many features were sent.
    #[schema(minimum = 0)]
    pub received: u64,
    /// How many of them are new.
    #[schema(minimum = 0)]
    pub created: u64,
    /// How many replaced another.
    #[schema(minimum = 0)]
    pub updated: u64,
    /// How many were there already, the same.
    #[schema(minimum = 0)]
    pub unchanged: u64,
    /// The box around all that was sent.
    pub bbox: Option<Bbox>,
    /// The geometries in the order they were sent, the first 1,000 of them.
    pub geometries: Vec<PostedGeometry>,
    /// Whether there are more than are listed.
    pub truncated: bool,
}

/// One of the posted geometries.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PostedGeometry {
    /// Identifier.
    pub id: GeometryId,
    /// The Feature's own `id`.
    pub external_id: Option<String>,
    /// Type of the geometry, as in GeoJSON; null when it has none.
    #[serde(rename = "type")]
    pub kind: Option<&'static str>,
}
