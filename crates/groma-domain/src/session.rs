//! Secrets that a browser or a link carries: 64 hexadecimal characters, kept as a hash.

use crate::WorkspaceId;
use sha2::{Digest, Sha256};
use std::fmt;

/// How many hexadecimal characters a secret has.
const HEX_LENGTH: usize = 64;

/// A session's cookie, an invitation's link, a device's mark. Never printed by `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

/// The SHA-256 of a secret, all that is kept of it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SecretHash(pub [u8; 32]);

impl Secret {
    /// A secret of these random bytes.
    #[must_use]
    pub fn new(random: [u8; HEX_LENGTH / 2]) -> Self {
        Self(hex::encode(random))
    }

    /// Reads one that was sent back; `None` when it has not the form of one.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let well_formed = text.len() == HEX_LENGTH
            && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        well_formed.then(|| Self(text.to_owned()))
    }

    /// The secret itself, for the one who is to carry it.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// What is stored.
    #[must_use]
    pub fn hash(&self) -> SecretHash {
        SecretHash(Sha256::digest(&self.0).into())
    }

    /// What a form of this session must carry. It differs between workspaces, so that a page of one
    /// changes nothing in another.
    #[must_use]
    pub fn form_token(&self, workspace: Option<WorkspaceId>) -> String {
        let place = workspace.map_or_else(String::new, |id| id.to_string());
        self.mark("form", place.as_bytes())
    }

    /// A mark that only the holder of the secret could have put on `text`.
    #[must_use]
    pub fn mark(&self, purpose: &str, text: &[u8]) -> String {
        let text = Sha256::digest(text);
        let mut hash = Sha256::new();
        hash.update(&self.0);
        hash.update(purpose.as_bytes());
        hash.update(text);
        hex::encode(hash.finalize())
    }
}

/// Whether two texts are the same, in a time that tells nothing of where they differ.
#[must_use]
pub fn same(one: &str, other: &str) -> bool {
    let differs = one.bytes().zip(other.bytes()).fold(0, |differs, (a, b)| differs | (a ^ b));
    one.len() == other.len() && differs == 0
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
    fn a_secret_is_read_back_and_nothing_else_is() {
        let secret = Secret::new([0xab; 32]);
        assert_eq!(Secret::parse(secret.reveal()), Some(secret.clone()));
        assert_eq!(format!("{secret:?}"), "Secret(…)");
        for sent in ["", "ab", &secret.reveal().to_uppercase(), &secret.reveal()[1..]] {
            assert_eq!(Secret::parse(sent), None, "{sent}");
        }
    }

    #[test]
    fn a_forms_token_is_of_one_session_and_one_workspace() {
        let (one, other) = (Secret::new([1; 32]), Secret::new([2; 32]));
        let workspace = Some(WorkspaceId(uuid::Uuid::from_u128(7)));
        assert_ne!(one.form_token(None), other.form_token(None));
        assert_ne!(one.form_token(None), one.form_token(workspace));
        assert!(same(&one.form_token(workspace), &one.form_token(workspace)));
        assert!(!same("ab", "abc") && !same("ab", "ac"));
    }
}
