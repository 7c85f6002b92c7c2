//! Text: folding for search, and single-line names.

use crate::Violation;
use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};

/// Separates the fields in a record's search text, so that a term never matches across two fields.
/// No stored text contains it.
pub const FIELD_SEPARATOR: char = '\u{1}';

/// Folds text for search: compatibility decomposition, case folding, removal of combining marks.
/// `Chêne` and `CHENE` fold to the same text. Folding is idempotent.
#[must_use]
pub fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let case_folded: String = caseless::default_case_fold_str(&text.nfkd().collect::<String>());
    case_folded.nfkd().filter(|c| !is_combining_mark(*c)).collect()
}

/// Folds case, but keeps accents.
pub(crate) fn fold_case(text: &str) -> String {
    match text.is_ascii() {
        true => text.to_ascii_lowercase(),
        false => caseless::default_case_fold_str(text),
    }
}

/// Removes accents, but keeps case.
pub(crate) fn fold_accents(text: &str) -> String {
    match text.is_ascii() {
        true => text.to_owned(),
        false => text.nfkd().filter(|c| !is_combining_mark(*c)).collect(),
    }
}

/// The search text of a record: its searchable fields, folded and separated.
pub(crate) fn search_text<'a>(fields: impl IntoIterator<Item = Option<&'a str>>) -> String {
    let mut text = String::new();
    for field in fields.into_iter().flatten() {
        if !text.is_empty() {
            text.push(FIELD_SEPARATOR);
        }
        text.push_str(&fold(field));
    }
    text
}

/// Parses a single-line name: trimmed, not empty, at most `max` characters, no control characters.
pub fn parse_line(text: &str, max: usize) -> Result<String, Violation> {
    let text = text.trim();
    match text.chars().count() {
        0 => Err(Violation::Empty),
        length if length > max => Err(Violation::TooLong { max }),
        _ if text.chars().any(char::is_control) => Err(Violation::ControlCharacters),
        _ => Ok(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn folding_ignores_accents_case_and_compatibility_forms() {
        for (text, folded) in [
            ("Chêne", "chene"),
            ("CHE\u{302}NE", "chene"),
            ("Straße", "strasse"),
            ("İstanbul", "istanbul"),
            ("ﬁeld №①", "field no1"),
            ("Ελλάς", "ελλασ"),
        ] {
            assert_eq!(fold(text), folded);
        }
    }

    proptest! {
        #[test]
        fn folding_is_idempotent(text in "\\PC{0,40}") {
            let once = fold(&text);
            prop_assert_eq!(fold(&once), once);
        }
    }
}
