//! Passwords: the rule for a new one. Hashing is done at the edge.

use std::fmt;

/// A password in the clear, never printed.
#[derive(Clone)]
pub struct Password(String);

impl Password {
    /// Takes a new password of 8 to 1,024 characters.
    pub fn new(text: &str) -> Result<Self, &'static str> {
        match text.chars().count() {
            0..8 => Err("must have at least 8 characters"),
            1025.. => Err("must have at most 1,024 characters"),
            _ => Ok(Self(text.to_owned())),
        }
    }

    /// Its bytes, for the hash.
    #[must_use]
    pub fn reveal(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(…)")
    }
}
