//! Serialization of stored documents.

use serde::Serialize;

pub(crate) fn to_json<T: Serialize>(value: &T) -> String {
    // Structs with string keys always serialize.
    serde_json::to_string(value).unwrap_or_default()
}
