//! Random secrets that a browser or a link carries. The database stores only their hashes.

use crate::WorkspaceId;
use sha2::{Digest, Sha256};
use std::fmt;
use subtle::ConstantTimeEq;

/// The number of hexadecimal characters of a secret.
const HEX_LENGTH: usize = 64;

/// The secret of a session cookie, an invitation link or a device cookie. `Debug` does not print it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

/// The SHA-256 hash of a secret, the only form that is stored.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SecretHash(pub [u8; 32]);

impl Secret {
    /// Creates a secret from random bytes.
    #[must_use]
    pub fn new(random: [u8; HEX_LENGTH / 2]) -> Self {
        Self(hex::encode(random))
    }

    /// Parses a secret from a request; `None` if it is malformed.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let is_well_formed = text.len() == HEX_LENGTH
            && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        is_well_formed.then(|| Self(text.to_owned()))
    }

    /// The secret in plain text.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// The hash to store.
    #[must_use]
    pub fn hash(&self) -> SecretHash {
        SecretHash(Sha256::digest(&self.0).into())
    }

    /// The CSRF token of this session. It differs between workspaces, so that a page of one workspace
    /// cannot change another.
    #[must_use]
    pub fn csrf_token(&self, workspace: Option<WorkspaceId>) -> String {
        let workspace = workspace.map_or_else(String::new, |id| id.to_string());
        self.mac("form", workspace.as_bytes())
    }

    /// A message authentication code that only the holder of the secret can compute.
    #[must_use]
    pub fn mac(&self, purpose: &str, message: &[u8]) -> String {
        // Every part has a fixed length or is a constant, so the concatenation is unambiguous.
        let message = Sha256::digest(message);
        let mut hash = Sha256::new();
        hash.update(&self.0);
        hash.update(purpose.as_bytes());
        hash.update(message);
        hex::encode(hash.finalize())
    }
}

/// Compares two strings in a time that does not depend on where they differ.
#[must_use]
pub fn constant_time_eq(left: &str, right: &str) -> bool {
    left.as_bytes().ct_eq(right.as_bytes()).into()
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl fmt::Debug for SecretHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretHash(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_well_formed_secret_is_parsed() {
        let secret = Secret::new([0xab; 32]);
        assert_eq!(Secret::parse(secret.reveal()), Some(secret.clone()));
        assert_eq!(format!("{secret:?}"), "Secret(…)");
        for malformed in ["", "ab", &secret.reveal().to_uppercase(), &secret.reveal()[1..]] {
            assert_eq!(Secret::parse(malformed), None, "{malformed}");
        }
    }

    #[test]
    fn csrf_token_belongs_to_one_session_and_one_workspace() {
        let (one, other) = (Secret::new([1; 32]), Secret::new([2; 32]));
        let workspace = Some(WorkspaceId(uuid::Uuid::from_u128(7)));
        assert_ne!(one.csrf_token(None), other.csrf_token(None));
        assert_ne!(one.csrf_token(None), one.csrf_token(workspace));
        assert!(constant_time_eq(&one.csrf_token(workspace), &one.csrf_token(workspace)));
        assert!(!constant_time_eq("ab", "abc") && !constant_time_eq("ab", "ac"));
    }
}
