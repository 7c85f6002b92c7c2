//! Links between resources.

use serde::Serialize;

/// The media types of this API.
pub(super) const HTML: &str = "text/html";
pub(super) const JSON: &str = "application/json";
pub(super) const OPENAPI: &str = "application/vnd.oai.openapi+json;version=3.0";

/// A link to another resource.
#[derive(Serialize)]
pub(super) struct Link {
    href: String,
    rel: &'static str,
    #[serde(rename = "type")]
    media_type: &'static str,
    title: String,
    /// Whether the address is a template (RFC 6570).
    #[serde(skip_serializing_if = "Option::is_none")]
    templated: Option<bool>,
}

impl Link {
    pub(super) fn new(
        rel: &'static str,
        media_type: &'static str,
        href: impl Into<String>,
        title: impl Into<String>,
    ) -> Self {
        Self { href: href.into(), rel, media_type, title: title.into(), templated: None }
    }

    /// The link to the page for people of a document.
    pub(super) fn page(document_url: &str) -> Self {
        let (path, query) = document_url.split_once('?').unwrap_or((document_url, ""));
        let mut html = form_urlencoded::Serializer::new(String::new());
        let pairs = form_urlencoded::parse(query.as_bytes());
        html.extend_pairs(pairs.filter(|(name, _)| name != "f")).append_pair("f", "html");
        Self::new("alternate", HTML, format!("{path}?{}", html.finish()), "As HTML")
    }

    /// A link whose address has variables, such as `{tileRow}`.
    pub(super) fn template(
        rel: &'static str,
        media_type: &'static str,
        href: impl Into<String>,
        title: impl Into<String>,
    ) -> Self {
        Self { templated: Some(true), ..Self::new(rel, media_type, href, title) }
    }
}
