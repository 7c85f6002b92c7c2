//! Text in HTML.

use askama::filters::{Html, escape};

/// Marks a request whose JSON document becomes a page for people.
#[derive(Clone, Copy)]
pub(crate) struct DocumentOfPage {
    /// Larger geometries, as WKB, are replaced by empty ones.
    pub(crate) max_geometry_bytes: usize,
}

/// Escapes text for HTML, as templates do.
pub(crate) fn escape_html(text: &str) -> String {
    let Ok(escaped) = escape(text, Html);
    escaped.to_string()
}
