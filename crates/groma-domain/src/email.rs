//! E-mail addresses: who is who, without regard to case.

use serde::{Deserialize, Serialize};
use std::fmt;
use utoipa::ToSchema;

/// An address as it was written; [`Email::key`] is what is compared.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(transparent)]
#[schema(value_type = String, format = "email")]
pub struct Email(String);

impl Email {
    /// Reads an address: something on both sides of one `@`, no blanks, at most 254 characters.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let text = text.trim();
        let sides_ok = text.split_once('@').is_some_and(|(name, host)| {
            !name.is_empty()
                && !host.is_empty()
                && !host.contains('@')
                && !host.starts_with('.')
                && !host.ends_with('.')
        });
        if !sides_ok
            || text.chars().any(|c| c.is_whitespace() || c.is_control() || "<>,;\"".contains(c))
        {
            return Err("must be an e-mail address");
        }
        if text.len() > 254 {
            return Err("must have at most 254 characters");
        }
        Ok(Self(text.to_owned()))
    }

    /// The form that is compared and unique.
    #[must_use]
    pub fn key(&self) -> String {
        self.0.to_lowercase()
    }

    /// As it was written.
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
