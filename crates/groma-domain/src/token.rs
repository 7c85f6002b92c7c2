//! Personal access tokens: `svc_` and 48 lowercase hexadecimal characters, kept as a hash.

use crate::{Scope, scope::Scopes};
use sha2::{Digest, Sha256};
use std::fmt;

/// How many hexadecimal characters follow the prefix.
const HEX_LENGTH: usize = 48;

/// The fixed prefix of this installation's tokens, without the underscore.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenPrefix(String);

impl TokenPrefix {
    /// Takes 1–16 lowercase letters and digits.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let fits = (1..=16).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
        if fits {
            Ok(Self(text.to_owned()))
        } else {
            Err("must be 1 to 16 lowercase letters or digits")
        }
    }

    /// Its text, without the underscore.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A token in the clear. It is shown once and never printed by `Debug`.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// A token of these random bytes.
    #[must_use]
    pub fn new(prefix: &TokenPrefix, random: [u8; HEX_LENGTH / 2]) -> Self {
        Self(format!("{}_{}", prefix.0, hex::encode(random)))
    }

    /// The token itself, for the one who asked for it.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Its last characters, by which its owner knows it again.
    #[must_use]
    pub fn hint(&self) -> String {
        self.0[self.0.len() - 4..].to_owned()
    }

    /// What is stored.
    #[must_use]
    pub fn hash(&self) -> TokenHash {
        TokenHash(Sha256::digest(&self.0).into())
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

/// The SHA-256 of a token, all that is kept of it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TokenHash(pub [u8; 32]);

impl TokenHash {
    /// The hash of a token as a client sent it; `None` when it has not the form of one.
    #[must_use]
    pub fn of_sent(prefix: &TokenPrefix, sent: &str) -> Option<Self> {
        let hex = sent.strip_prefix(prefix.0.as_str())?.strip_prefix('_')?;
        let well_formed = hex.len() == HEX_LENGTH
            && hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        well_formed.then(|| Self(Sha256::digest(sent).into()))
    }
}

impl fmt::Debug for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenHash(…)")
    }
}

/// The 403's message, to the letter.
#[must_use]
pub fn missing_scope(scope: Scope) -> String {
    format!("Token missing required scope: {scope}")
}

/// A token's name: one line of 1–100 characters.
pub fn parse_name(text: &str) -> Result<String, String> {
    crate::text::line(text, 100)
}

/// Whether a member with `role` may hand out these scopes: webhooks are an administrator's.
pub fn grantable(scopes: Scopes, role: crate::Role) -> Result<(), crate::Refusal> {
    if scopes.contains(Scope::ManageWebhook) {
        role.require(crate::Permission::Administer)
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_the_prefix_and_48_lowercase_hex() {
        let prefix = TokenPrefix::parse("svc").unwrap();
        let token = Token::new(&prefix, [0xab; 24]);
        assert_eq!(token.reveal(), format!("svc_{}", "ab".repeat(24)));
        assert_eq!(TokenHash::of_sent(&prefix, token.reveal()), Some(token.hash()));
        assert_eq!(format!("{token:?}"), "Token(…)");
        for sent in [
            "",
            "svc_",
            "svc",
            &token.reveal().to_uppercase(),
            &token.reveal()[1..],
            &format!("{}0", token.reveal()),
        ] {
            assert_eq!(TokenHash::of_sent(&prefix, sent), None, "{sent}");
        }
    }
}
