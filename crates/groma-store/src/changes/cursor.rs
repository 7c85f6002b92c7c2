//! Cursors: opaque texts that a consumer continues with. They are bound to the workspace and the database,
//! because numbers mean something else in a copy or after a restore.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use groma_domain::WorkspaceId;
use sha2::{Digest, Sha256};
use uuid::{Builder, Uuid, Variant, Version};

/// What turns numbers of changes into cursors and back.
#[derive(Clone, Copy, Debug)]
pub struct Cursors {
    /// Identifies the workspace in this database.
    tag: [u8; 8],
}

impl Cursors {
    pub(super) fn new(identity: &[u8], workspace: WorkspaceId) -> Self {
        let hash = Sha256::new().chain_update(identity).chain_update(workspace.0).finalize();
        let mut tag = [0; 8];
        tag.copy_from_slice(&hash[..8]);
        Self { tag }
    }

    /// The cursor of a number.
    #[must_use]
    pub fn encode(&self, number: i64) -> String {
        URL_SAFE_NO_PAD.encode(self.bytes(number))
    }

    /// The number of a cursor; `None` if it is not one of this workspace in this database.
    #[must_use]
    pub fn decode(&self, cursor: &str) -> Option<i64> {
        let bytes: [u8; 16] = URL_SAFE_NO_PAD.decode(cursor).ok()?.try_into().ok()?;
        let (tag, number) = bytes.split_first_chunk::<8>()?;
        let number = i64::from_be_bytes(number.try_into().ok()?);
        (*tag == self.tag && number >= 0).then_some(number)
    }

    /// The id of a change.
    #[must_use]
    pub fn id(&self, number: i64) -> Uuid {
        // Version and variant replace bits of the tag, and the first bits of the number, which are zero.
        let id = Builder::from_bytes(self.bytes(number));
        id.with_variant(Variant::RFC4122).with_version(Version::Custom).into_uuid()
    }

    fn bytes(&self, number: i64) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.tag);
        bytes[8..].copy_from_slice(&number.to_be_bytes());
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursor_is_valid_in_its_workspace_and_database_only() {
        let workspace = WorkspaceId(Uuid::from_u128(1));
        let cursors = Cursors::new(b"one", workspace);
        for number in [0, 1, 300, i64::MAX] {
            assert_eq!(cursors.decode(&cursors.encode(number)), Some(number));
        }
        let others = [
            Cursors::new(b"two", workspace),
            Cursors::new(b"one", WorkspaceId(Uuid::from_u128(2))),
        ];
        for other in others {
            assert_eq!(other.decode(&cursors.encode(5)), None);
        }
        for invalid in ["", "now", "5", "AAAA", &cursors.encode(-1), &"A".repeat(1_000)] {
            assert_eq!(cursors.decode(invalid), None, "{invalid}");
        }
        assert_ne!(cursors.id(1), cursors.id(2));
    }
}
