//! Personal access tokens: a prefix such as `svc_` and 48 lowercase hexadecimal characters. The
//! database stores only their hashes.

use crate::{DomainError, Role, Scope, Violation, scope::Scopes, text::parse_line};
use sha2::{Digest, Sha256};
use std::fmt;

/// The number of hexadecimal characters after the prefix.
const HEX_LENGTH: usize = 48;

/// The prefix of this installation's tokens, without the underscore.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenPrefix(String);

impl TokenPrefix {
    /// Parses a prefix: 1 to 16 lowercase letters and digits.
    pub fn parse(text: &str) -> Result<Self, Violation> {
        let is_valid = (1..=16).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
        if is_valid { Ok(Self(text.to_owned())) } else { Err(Violation::NotTokenPrefix) }
    }

    /// The prefix without the underscore.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A token in plain text. It is shown once; `Debug` does not print it.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// Creates a token from random bytes.
    #[must_use]
    pub fn new(prefix: &TokenPrefix, random: [u8; HEX_LENGTH / 2]) -> Self {
        Self(format!("{}_{}", prefix.0, hex::encode(random)))
    }

    /// The token in plain text.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// The last four characters, so that the owner can recognize the token in a list.
    #[must_use]
    pub fn hint(&self) -> String {
        self.0[self.0.len() - 4..].to_owned()
    }

    /// The token as a client presents it.
    #[must_use]
    pub fn presented(&self) -> PresentedToken<'_> {
        PresentedToken(&self.0)
    }

    /// The hash to store.
    #[must_use]
    pub fn hash(&self) -> TokenHash {
        self.presented().hash()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

/// A well-formed token from a request, not yet authenticated. `Debug` does not print it.
#[derive(Clone, Copy)]
pub struct PresentedToken<'t>(&'t str);

impl<'t> PresentedToken<'t> {
    /// Parses a token; `None` if it is malformed.
    #[must_use]
    pub fn parse(prefix: &TokenPrefix, text: &'t str) -> Option<Self> {
        let hex = text.strip_prefix(prefix.0.as_str())?.strip_prefix('_')?;
        let is_hex = hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        (hex.len() == HEX_LENGTH && is_hex).then_some(Self(text))
    }

    /// The hash to look up.
    #[must_use]
    pub fn hash(self) -> TokenHash {
        TokenHash(Sha256::digest(self.0).into())
    }

    /// The bytes of the token, as a cache key.
    #[must_use]
    pub fn as_bytes(self) -> &'t [u8] {
        self.0.as_bytes()
    }
}

impl fmt::Debug for PresentedToken<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PresentedToken(…)")
    }
}

/// The SHA-256 hash of a token, the only form that is stored.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct TokenHash(pub [u8; 32]);

impl fmt::Debug for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenHash(…)")
    }
}

/// Parses a token's name: one line of 1 to 100 characters.
pub fn parse_name(text: &str) -> Result<String, Violation> {
    parse_line(text, 100)
}

/// Returns an error unless a member with `role` may create a token with these scopes.
pub fn check_grantable(scopes: Scopes, role: Role) -> Result<(), DomainError> {
    // The error names the role that all of them require.
    let permissions = scopes.iter().map(Scope::permission);
    let highest = permissions.max_by_key(|permission| permission.required_role());
    highest.map_or(Ok(()), |permission| role.require(permission))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_is_the_prefix_and_48_lowercase_hex_digits() {
        let prefix = TokenPrefix::parse("svc").unwrap();
        let token = Token::new(&prefix, [0xab; 24]);
        assert_eq!(token.reveal(), format!("svc_{}", "ab".repeat(24)));
        let presented = PresentedToken::parse(&prefix, token.reveal()).unwrap();
        assert_eq!(presented.hash(), token.hash());
        assert_eq!(format!("{token:?} {presented:?}"), "Token(…) PresentedToken(…)");
        for malformed in [
            "",
            "svc_",
            "svc",
            &token.reveal().to_uppercase(),
            &token.reveal()[1..],
            &format!("{}0", token.reveal()),
            &format!("{}g", &token.reveal()[..51]),
            &format!("svc_g{}", &token.reveal()[5..]),
        ] {
            assert!(PresentedToken::parse(&prefix, malformed).is_none(), "{malformed}");
        }
    }
}
