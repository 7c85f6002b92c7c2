//! Folding of text for search: what `term` compares.

use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};

/// Stands between the fields of a record's search text. No field and no sensible term holds it, so
/// a term never matches across two fields.
pub const FIELD_SEPARATOR: char = '\u{1}';

/// Text as `term` sees it: compatibility-decomposed, case-folded, marks stripped. `Chêne` and
/// `CHENE` fold alike. Folding what is folded changes nothing.
#[must_use]
pub fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let case_folded: String = caseless::default_case_fold_str(&text.nfkd().collect::<String>());
    case_folded.nfkd().filter(|c| !is_combining_mark(*c)).collect()
}

/// The search text of a record: its searched fields, folded, kept apart.
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

/// A name of one line: trimmed, not empty, at most `max` characters, no control characters.
pub fn line(text: &str, max: usize) -> Result<String, String> {
    let text = text.trim();
    match text.chars().count() {
        0 => Err("must not be empty".to_owned()),
        length if length > max => Err(format!("must have at most {max} characters")),
        _ if text.chars().any(char::is_control) => {
            Err("must not contain control characters".to_owned())
        }
        _ => Ok(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn accents_case_and_compatibility_forms_fold_away() {
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
        fn folding_twice_is_folding_once(text in "\\PC{0,40}") {
            let once = fold(&text);
            prop_assert_eq!(fold(&once), once);
        }
    }
}
