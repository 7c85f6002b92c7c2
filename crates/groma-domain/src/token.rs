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

    /// The token as a client sends it.
    #[must_use]
    pub fn sent(&self) -> SentToken<'_> {
        SentToken(&self.0)
    }

    /// What is stored.
    #[must_use]
    pub fn hash(&self) -> TokenHash {
        self.sent().hash()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

/// What a client sent, of the form of a token; whether it is anybody's is not said. It is never printed
/// by `Debug`.
#[derive(Clone, Copy)]
pub struct SentToken<'t>(&'t str);

impl<'t> SentToken<'t> {
    /// Takes a token; `None` when it has not the form of one.
    #[must_use]
    pub fn parse(prefix: &TokenPrefix, sent: &'t str) -> Option<Self> {
        let hex = sent.strip_prefix(prefix.0.as_str())?.strip_prefix('_')?;
        // All of them, without an end at the first that is none: so they are looked at many at once.
        let is_hex = hex
            .bytes()
            .fold(true, |so_far, byte| so_far & matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        (hex.len() == HEX_LENGTH && is_hex).then_some(Self(sent))
    }

    /// What is stored of it.
    #[must_use]
    pub fn hash(self) -> TokenHash {
        TokenHash(Sha256::digest(self.0).into())
    }

    /// Its bytes, to be known again by.
    #[must_use]
    pub fn as_bytes(self) -> &'t [u8] {
        self.0.as_bytes()
    }
}

impl fmt::Debug for SentToken<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SentToken(…)")
    }
}

/// The SHA-256 of a token, all that is kept of it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct TokenHash(pub [u8; 32]);

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
        let sent = SentToken::parse(&prefix, token.reveal()).unwrap();
        assert_eq!(sent.hash(), token.hash());
        assert_eq!(format!("{token:?} {sent:?}"), "Token(…) SentToken(…)");
        for sent in [
            "",
            "svc_",
            "svc",
            &token.reveal().to_uppercase(),
            &token.reveal()[1..],
            &format!("{}0", token.reveal()),
            &format!("{}g", &token.reveal()[..51]),
            &format!("svc_g{}", &token.reveal()[5..]),
        ] {
            assert!(SentToken::parse(&prefix, sent).is_none(), "{sent}");
        }
    }
}
