//! Text in HTML.

use askama::filters::{Html, escape};

/// Escapes text for HTML, as templates do.
pub(crate) fn escape_html(text: &str) -> String {
    let Ok(escaped) = escape(text, Html);
    escaped.to_string()
}
