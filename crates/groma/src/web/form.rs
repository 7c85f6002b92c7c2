//! Submitted forms and query parameters.

use super::{WebError, i18n::id};
use axum::{extract::FromRequestParts, http::request::Parts};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use std::{convert::Infallible, sync::Arc};

/// Names with their values, in the order in which they were sent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pairs(Arc<Vec<(String, String)>>);

impl Pairs {
    /// Parses `name=value&…`. Invalid UTF-8 is replaced.
    pub(crate) fn parse(text: &[u8]) -> Self {
        let pairs = form_urlencoded::parse(text);
        Self(Arc::new(pairs.map(|(name, value)| (name.into_owned(), value.into_owned())).collect()))
    }

    pub(crate) fn of(pairs: Vec<(String, String)>) -> Self {
        Self(Arc::new(pairs))
    }

    /// The first value of a name, or an empty text.
    pub(crate) fn get(&self, name: &str) -> &str {
        let found = self.0.iter().find(|(other, _)| other == name);
        found.map(|(_, value)| value.as_str()).unwrap_or_default()
    }

    /// The first value of a name, unless it is empty.
    pub(crate) fn given(&self, name: &str) -> Option<&str> {
        Some(self.get(name).trim()).filter(|value| !value.is_empty())
    }

    /// Every value of a name.
    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    /// Whether a name was sent at all.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.all(name).next().is_some()
    }

    /// All pairs, in their order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// A copy with other values for these names. An empty value removes the name.
    pub(crate) fn with(&self, changes: &[(&str, &str)]) -> Self {
        let kept =
            self.0.iter().filter(|(name, _)| !changes.iter().any(|(other, _)| other == name));
        let added = changes.iter().filter(|(_, value)| !value.is_empty());
        let added = added.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Self(Arc::new(kept.cloned().chain(added).collect()))
    }

    /// The pairs as a query string with its question mark, or an empty text.
    pub(crate) fn query(&self) -> String {
        let pairs = self.iter().filter(|(_, value)| !value.is_empty());
        let pairs: Vec<_> =
            pairs.map(|(name, value)| format!("{}={}", encode(name), encode(value))).collect();
        if pairs.is_empty() { String::new() } else { format!("?{}", pairs.join("&")) }
    }
}

/// The fields of a submitted form, read by the access check.
#[derive(Clone, Debug, Default)]
pub(crate) struct Form(pub(crate) Pairs);

impl<S: Sync> FromRequestParts<S> for Form {
    type Rejection = WebError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, WebError> {
        parts
            .extensions
            .get::<Self>()
            .cloned()
            .ok_or_else(|| WebError::bad_request(id("error-not-a-form")))
    }
}

impl std::ops::Deref for Form {
    type Target = Pairs;

    fn deref(&self) -> &Pairs {
        &self.0
    }
}

/// The parameters of the query string.
#[derive(Clone, Debug, Default)]
pub(crate) struct Query(pub(crate) Pairs);

impl<S: Sync> FromRequestParts<S> for Query {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self(Pairs::parse(parts.uri.query().unwrap_or_default().as_bytes())))
    }
}

impl std::ops::Deref for Query {
    type Target = Pairs;

    fn deref(&self) -> &Pairs {
        &self.0
    }
}

/// The characters that need no encoding in a path segment or a query value.
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// Percent-encodes a text for a path or a query.
pub(crate) fn encode(text: &str) -> String {
    utf8_percent_encode(text, UNRESERVED).to_string()
}

/// A path of this application, or `/` for anything else: redirects never leave the application.
pub(crate) fn local_path(wanted: &str) -> &str {
    let is_local = wanted.starts_with('/')
        && !wanted.starts_with("//")
        && !wanted.contains(['\\', '\n', '\r', '\t'])
        && !wanted.chars().any(char::is_control);
    if is_local { wanted } else { "/" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn form_is_parsed_and_written_back() {
        let pairs = Pairs::parse(b"name=Ch%C3%AAne+nord&tag=a&tag=b&empty=&alone");
        assert_eq!(pairs.get("name"), "Chêne nord");
        assert_eq!(pairs.all("tag").collect::<Vec<_>>(), ["a", "b"]);
        assert!(pairs.has("alone") && pairs.given("empty").is_none());
        let again = pairs.with(&[("tag", ""), ("page", "2")]);
        assert_eq!(again.query(), "?name=Ch%C3%AAne%20nord&page=2");
    }

    #[test]
    fn only_local_paths_are_accepted_for_redirects() {
        assert_eq!(local_path("/folders?page=2"), "/folders?page=2");
        for elsewhere in [
            "",
            "//evil.test",
            "/\\evil.test",
            "https://evil.test",
            "javascript:alert(1)",
            "/a\r\nSet-Cookie: x",
            "/\t/evil.test",
        ] {
            assert_eq!(local_path(elsewhere), "/", "{elsewhere}");
        }
    }
}
