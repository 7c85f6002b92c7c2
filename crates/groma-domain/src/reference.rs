//! References and keys: how a record is named in an address.

use crate::{Kind, RecordId};
use serde::{Deserialize, Serialize};
use std::fmt;
use unicode_normalization::UnicodeNormalization;
use utoipa::ToSchema;
use uuid::Uuid;

/// A record's short name, unique within its workspace and kind: 1–64 characters, NFC,
/// case-sensitive, no control characters, never shaped like a UUID.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
#[serde(transparent)]
#[schema(value_type = String, min_length = 1, max_length = 64, example = "F-000123")]
pub struct Reference(String);

impl Reference {
    /// Reads a reference, or says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let text = text.trim();
        // What is ASCII is in its normal form.
        let text = if text.is_ascii() { text.to_owned() } else { text.nfc().collect() };
        match text.chars().count() {
            0 => Err("must not be empty"),
            65.. => Err("must have at most 64 characters"),
            _ if text.chars().any(char::is_control) => Err("must not contain control characters"),
            _ if Uuid::try_parse(&text).is_ok() => Err("must not have the shape of a UUID"),
            _ => Ok(Self(text)),
        }
    }

    /// The reference made for the `number`-th record of a kind: `F-000123`.
    #[must_use]
    pub fn made(kind: Kind, number: u64) -> Self {
        Self(format!("{}-{number:06}", kind.letter()))
    }

    /// Whether it has the form of those that are made for this kind.
    #[must_use]
    pub fn is_like_made(&self, kind: Kind) -> bool {
        let number = self.0.strip_prefix(kind.letter()).and_then(|rest| rest.strip_prefix('-'));
        number.is_some_and(|digits| digits.len() >= 6 && digits.bytes().all(|b| b.is_ascii_digit()))
    }

    /// The text of it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What `:key` holds: a record's id or its reference.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Key {
    /// An id.
    Id(RecordId),
    /// A reference.
    Reference(Reference),
}

impl Key {
    /// Reads a key; `None` for text that can name no record. Space at either end is part of it, and
    /// no reference has any.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        match Uuid::try_parse(text) {
            Ok(id) => Some(Self::Id(RecordId(id))),
            Err(_) if text.trim() != text => None,
            Err(_) => Reference::parse(text).ok().map(Self::Reference),
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id(id) => id.fmt(f),
            Self::Reference(reference) => reference.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_is_normalised_and_bounded() {
        assert_eq!(Reference::parse("CHE\u{302}NE").unwrap().as_str(), "CHÊNE");
        assert!(Reference::parse(&"é".repeat(64)).is_ok());
        assert!(Reference::parse(&"é".repeat(65)).is_err());
        assert!(Reference::parse("a\u{7}b").is_err());
        assert!(Reference::parse("019a8b7c-0000-7000-8000-000000000000").is_err());
        assert!(Reference::parse("019a8b7c000070008000000000000000").is_err());
    }

    #[test]
    fn what_is_made_is_known_by_its_form() {
        let is_like_made = |text| Reference::parse(text).unwrap().is_like_made(Kind::Folder);
        assert!(Reference::made(Kind::Folder, 7).is_like_made(Kind::Folder));
        assert!(is_like_made("F-1234567"));
        assert!(!is_like_made("F-12345") && !is_like_made("A-000001") && !is_like_made("F-00000x"));
    }

    #[test]
    fn a_key_is_an_id_or_a_reference() {
        assert!(matches!(Key::parse("019A8B7C-0000-7000-8000-000000000000"), Some(Key::Id(_))));
        assert!(matches!(Key::parse("F-000123"), Some(Key::Reference(_))));
        assert_eq!(Key::parse("nul\0"), None);
        assert_eq!(Key::parse("F-000123 "), None);
    }
}
