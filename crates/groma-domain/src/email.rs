//! Email addresses, compared without regard to case.

use crate::Violation;
use serde::{Deserialize, Serialize};
use std::fmt;
use utoipa::ToSchema;

/// The maximum length of an address, in bytes (RFC 5321).
const MAX_LENGTH: usize = 254;

/// An email address, kept as it was written. Addresses are compared by [`Email::key`].
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(transparent)]
#[schema(value_type = String, format = "email")]
pub struct Email(String);

impl Email {
    /// Parses an address. The check is deliberately loose: text on both sides of one `@`, and no
    /// whitespace.
    pub fn parse(text: &str) -> Result<Self, Violation> {
        let text = text.trim();
        let has_both_parts = text.split_once('@').is_some_and(|(local, host)| {
            !local.is_empty()
                && !host.is_empty()
                && !host.contains('@')
                && !host.starts_with('.')
                && !host.ends_with('.')
        });
        let is_forbidden = |c: char| c.is_whitespace() || c.is_control() || "<>,;\"".contains(c);
        if !has_both_parts || text.chars().any(is_forbidden) {
            return Err(Violation::NotEmail);
        }
        if text.len() > MAX_LENGTH {
            return Err(Violation::TooLong { max: MAX_LENGTH });
        }
        Ok(Self(text.to_owned()))
    }

    /// The normalized address, used for comparison and uniqueness.
    #[must_use]
    pub fn key(&self) -> String {
        self.0.to_lowercase()
    }

    /// The address as it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl PartialEq for Email {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Email {}

impl fmt::Display for Email {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
