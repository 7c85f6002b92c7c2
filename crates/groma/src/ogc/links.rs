//! Links between resources.

use serde::Serialize;

/// The media types of this API.
pub(super) const JSON: &str = "application/json";
pub(super) const SCHEMA: &str = "application/schema+json";
pub(super) const OPENAPI: &str = "application/vnd.oai.openapi+json;version=3.0";

/// A link to another resource.
#[derive(Serialize)]
pub(super) struct Link {
    href: String,
    rel: &'static str,
    #[serde(rename = "type")]
    media_type: &'static str,
    title: String,
}

impl Link {
    pub(super) fn new(
        rel: &'static str,
        media_type: &'static str,
        href: impl Into<String>,
        title: impl Into<String>,
    ) -> Self {
        Self { href: href.into(), rel, media_type, title: title.into() }
    }
}
