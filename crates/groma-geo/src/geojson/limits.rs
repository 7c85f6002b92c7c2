//! The reasons why a feature that exceeds a limit is rejected.

use super::{MAX_COLLECTION_DEPTH, MAX_PARTS, MAX_RINGS, MAX_VERTICES};
use crate::{Message, message};

pub(super) fn too_many_vertices() -> Message {
    message!("exceeds the limit of {limit} positions per feature", limit = MAX_VERTICES)
}

pub(super) fn too_many_rings() -> Message {
    message!("exceeds the limit of {limit} rings per feature", limit = MAX_RINGS)
}

pub(super) fn too_many_parts() -> Message {
    message!("exceeds the limit of {limit} geometries per feature", limit = MAX_PARTS)
}

pub(super) fn too_deep() -> Message {
    message!(
        "GeometryCollections can be nested at most {limit} levels deep",
        limit = MAX_COLLECTION_DEPTH
    )
}
