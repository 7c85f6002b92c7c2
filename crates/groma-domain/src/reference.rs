//! References and keys: how a URL, a command or an import identifies a record.

use crate::{Kind, RecordId, Violation};
use serde::{Deserialize, Serialize};
use std::fmt;
use unicode_normalization::UnicodeNormalization;
use utoipa::ToSchema;
use uuid::Uuid;

const MAX_LENGTH: usize = 64;

/// A record's short name, unique within its workspace and kind: 1 to 64 characters, NFC,
/// case-sensitive, no control characters. It is never a UUID, so that a [`Key`] is unambiguous.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
#[serde(transparent)]
#[schema(value_type = String, min_length = 1, max_length = 64, example = "F-000123")]
pub struct Reference(String);

impl Reference {
    /// Parses a reference.
    pub fn parse(text: &str) -> Result<Self, Violation> {
        let text = text.trim();
        // ASCII text is already normalized.
        let text = if text.is_ascii() { text.to_owned() } else { text.nfc().collect() };
        match text.chars().count() {
            0 => Err(Violation::Empty),
            length if length > MAX_LENGTH => Err(Violation::TooLong { max: MAX_LENGTH }),
            _ if text.chars().any(char::is_control) => Err(Violation::ControlCharacters),
            _ if Uuid::try_parse(&text).is_ok() => Err(Violation::LooksLikeUuid),
            _ => Ok(Self(text)),
        }
    }

    /// The generated reference with this number, for example `F-000123`.
    #[must_use]
    pub fn generated(kind: Kind, number: u64) -> Self {
        Self(format!("{}-{number:06}", kind.letter()))
    }

    /// Whether the reference has the format of generated ones of this kind.
    #[must_use]
    pub fn has_generated_format(&self, kind: Kind) -> bool {
        let number = self.0.strip_prefix(kind.letter()).and_then(|rest| rest.strip_prefix('-'));
        number.is_some_and(|digits| digits.len() >= 6 && digits.bytes().all(|b| b.is_ascii_digit()))
    }

    /// The reference as text.
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

/// The `:key` of a URL: a record's ID or its reference.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Key {
    /// An ID.
    Id(RecordId),
    /// A reference.
    Reference(Reference),
}

impl Key {
    /// Parses a key; `None` if no record can have it. Surrounding spaces are significant, and no
    /// reference has any.
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
    fn reference_is_normalized_and_bounded() {
        assert_eq!(Reference::parse("CHE\u{302}NE").unwrap().as_str(), "CHÊNE");
        assert!(Reference::parse(&"é".repeat(64)).is_ok());
        assert!(Reference::parse(&"é".repeat(65)).is_err());
        assert!(Reference::parse("a\u{7}b").is_err());
        assert!(Reference::parse("019a8b7c-0000-7000-8000-000000000000").is_err());
        assert!(Reference::parse("019a8b7c000070008000000000000000").is_err());
    }

    #[test]
    fn generated_format_is_recognized() {
        let is_generated =
            |text| Reference::parse(text).unwrap().has_generated_format(Kind::Folder);
        assert!(Reference::generated(Kind::Folder, 7).has_generated_format(Kind::Folder));
        assert!(is_generated("F-1234567"));
        assert!(!is_generated("F-12345") && !is_generated("A-000001") && !is_generated("F-00000x"));
    }

    #[test]
    fn key_is_an_id_or_a_reference() {
        assert!(matches!(Key::parse("019A8B7C-0000-7000-8000-000000000000"), Some(Key::Id(_))));
        assert!(matches!(Key::parse("F-000123"), Some(Key::Reference(_))));
        assert_eq!(Key::parse("nul\0"), None);
        assert_eq!(Key::parse("F-000123 "), None);
    }
}
