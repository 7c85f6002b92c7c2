//! Cursors: places in a list, next to the record that was read last. They stay valid when other records come
//! and go.

use crate::{Error, Result};
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use groma_domain::{DomainError, WorkspaceId};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Positions fit into the integers of both engines.
const MAX_POSITION: u64 = i64::MAX as u64;

/// A place in a list.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(crate) struct Cursor {
    /// The record beside it; `None` at the beginning or the end of the list.
    pub(crate) beside: Option<SortKey>,
    /// Whether the page ends here, instead of beginning here.
    pub(crate) is_backward: bool,
}

/// What decides the order of a record.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct SortKey {
    /// Its value in the column of the order. `None` if it has none, and in the order of creation.
    pub(crate) value: Option<SortValue>,
    pub(crate) position: u64,
}

/// A value that records are sorted by.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) enum SortValue {
    Integer(i64),
    #[serde(with = "bits")]
    Number(f64),
    Text(String),
}

/// Numbers as their bits, so that they stay exact.
mod bits {
    use serde::{Deserialize, Deserializer, Serializer};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    pub(super) fn serialize<S: Serializer>(number: &f64, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(number.to_bits())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
        u64::deserialize(from).map(f64::from_bits)
    }
}

/// The cursors of one list: of a workspace, a kind of item, and an order.
pub(crate) struct ListCursors {
    tag: [u8; 8],
}

impl ListCursors {
    pub(crate) fn new(workspace: WorkspaceId, list: &str) -> Self {
        let hash = Sha256::new().chain_update(workspace.0).chain_update(list).finalize();
        let mut tag = [0; 8];
        tag.copy_from_slice(&hash[..8]);
        Self { tag }
    }

    pub(crate) fn encode(&self, cursor: &Cursor) -> String {
        let mut bytes = self.tag.to_vec();
        // Plain data always serializes.
        bytes.extend(serde_json::to_vec(cursor).unwrap_or_default());
        BASE64_URL_SAFE_NO_PAD.encode(bytes)
    }

    /// The place that a client sent; empty is the beginning. `is_value` tells whether the column of the order
    /// can have a value.
    pub(crate) fn decode(
        &self,
        text: &str,
        is_value: impl Fn(Option<&SortValue>) -> bool,
    ) -> Result<Cursor> {
        if text.is_empty() {
            return Ok(Cursor::default());
        }
        let bytes = BASE64_URL_SAFE_NO_PAD.decode(text).unwrap_or_default();
        let cursor = bytes.strip_prefix(&self.tag).map(serde_json::from_slice::<Cursor>);
        let is_valid = |key: &SortKey| {
            let is_storable = match &key.value {
                Some(SortValue::Number(number)) => number.is_finite(),
                Some(SortValue::Text(text)) => !text.contains('\0'),
                Some(SortValue::Integer(_)) | None => true,
            };
            is_storable && key.position < MAX_POSITION && is_value(key.value.as_ref())
        };
        match cursor {
            Some(Ok(cursor)) if cursor.beside.as_ref().is_none_or(is_valid) => Ok(cursor),
            _ => Err(Error::from(DomainError::invalid(
                "cursor",
                "is not from this list in this workspace and order; to start over, send an empty cursor",
            ))),
        }
    }
}
