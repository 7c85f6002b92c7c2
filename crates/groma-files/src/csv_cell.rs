//! Cells of CSV files that a spreadsheet would run as formulas. An export puts an apostrophe before
//! them, as OWASP recommends, and an import takes it away again.

use std::borrow::Cow;

/// The first characters of a formula. A spreadsheet skips a leading tab or line break.
const FORMULA_STARTS: [char; 11] = ['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠'];

/// The cell that contains `text`.
pub fn escape(text: String) -> String {
    if looks_like_formula(&text) && !is_negative_number(&text) { format!("'{text}") } else { text }
}

/// The text of a cell.
pub fn unescape(cell: &str) -> Cow<'_, str> {
    match cell.strip_prefix('\'') {
        Some(text) if looks_like_formula(text) => text.into(),
        _ => cell.into(),
    }
}

/// Apostrophes before a formula count as well, so that they are the same after an import.
fn looks_like_formula(text: &str) -> bool {
    text.trim_start_matches('\'').starts_with(FORMULA_STARTS)
}

fn is_negative_number(text: &str) -> bool {
    let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    text.strip_prefix('-').is_some_and(|number| match number.split_once('.') {
        Some((whole, fraction)) => is_digits(whole) && is_digits(fraction),
        None => is_digits(number),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_are_escaped_and_read_back() {
        for (text, cell) in [
            ("=1+1", "'=1+1"),
            ("+33 1 23 45", "'+33 1 23 45"),
            ("-1+cmd|x", "'-1+cmd|x"),
            ("-", "'-"),
            ("-.5", "'-.5"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("\t=1", "'\t=1"),
            ("\r=1", "'\r=1"),
            ("＝1", "'＝1"),
            ("'=1", "''=1"),
            ("''-", "'''-"),
        ] {
            assert_eq!(escape(text.to_owned()), cell);
            assert_eq!(unescape(cell), text);
        }
    }

    #[test]
    fn other_cells_stay_as_they_are() {
        for text in ["", "a", "1=1", "-20.00", "-7", "'", "'quoted'", "l'eau", "{\"a\":1}"] {
            assert_eq!(escape(text.to_owned()), text);
            assert_eq!(unescape(text), text);
        }
    }
}
