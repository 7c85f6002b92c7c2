//! Pure geometry. It knows nothing of projects, databases or HTTP, and holds no clock.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A box in WGS 84 degrees, written `[west, south, east, north]`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(value_type = Vec<f64>, min_items = 4, max_items = 4, example = json!([2.08, 47.65, 2.09, 47.66]))]
pub struct Bbox(pub [f64; 4]);
