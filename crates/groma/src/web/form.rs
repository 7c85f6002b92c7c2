//! What a browser sends: the fields of a form, the parameters of an address.

use super::WebError;
use axum::{extract::FromRequestParts, http::request::Parts};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode, utf8_percent_encode};
use std::{convert::Infallible, sync::Arc};

/// Names with their values, in the order they came.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pairs(Arc<Vec<(String, String)>>);

impl Pairs {
    /// Reads `name=value&…`. What is no UTF-8 loses the bytes that are not.
    pub(crate) fn parse(text: &[u8]) -> Self {
        let pairs = text.split(|byte| *byte == b'&').filter(|pair| !pair.is_empty());
        let pairs = pairs.map(|pair| {
            let mut halves = pair.splitn(2, |byte| *byte == b'=');
            let mut half = || decode(halves.next().unwrap_or_default());
            (half(), half())
        });
        Self(Arc::new(pairs.collect()))
    }

    /// The first value of a name; empty when there is none.
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

    /// Everything, in its order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The same with other values for these names; an empty one takes the name away.
    pub(crate) fn with(&self, changes: &[(&str, &str)]) -> Self {
        let kept =
            self.0.iter().filter(|(name, _)| !changes.iter().any(|(other, _)| other == name));
        let added = changes.iter().filter(|(_, value)| !value.is_empty());
        let added = added.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Self(Arc::new(kept.cloned().chain(added).collect()))
    }

    /// As the query of an address, with its question mark; nothing when there is none.
    pub(crate) fn query(&self) -> String {
        let pairs = self.iter().filter(|(_, value)| !value.is_empty());
        let pairs: Vec<_> =
            pairs.map(|(name, value)| format!("{}={}", encode(name), encode(value))).collect();
        if pairs.is_empty() { String::new() } else { format!("?{}", pairs.join("&")) }
    }
}

/// The fields of the form that was sent; put there by the guard.
#[derive(Clone, Debug, Default)]
pub(crate) struct Form(pub(crate) Pairs);

impl<S: Sync> FromRequestParts<S> for Form {
    type Rejection = WebError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, WebError> {
        parts.extensions.get::<Self>().cloned().ok_or_else(|| WebError::bad("This is not a form."))
    }
}

impl std::ops::Deref for Form {
    type Target = Pairs;

    fn deref(&self) -> &Pairs {
        &self.0
    }
}

/// The parameters of the address.
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

fn decode(text: &[u8]) -> String {
    let spaced: Vec<u8> =
        text.iter().map(|byte| if *byte == b'+' { b' ' } else { *byte }).collect();
    percent_decode(&spaced).decode_utf8_lossy().into_owned()
}

/// What stays as it is in a segment of a path or a value of a query.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// A text as a part of an address.
pub(crate) fn encode(text: &str) -> String {
    utf8_percent_encode(text, PLAIN).to_string()
}

/// Where to go afterwards: a path of this application, else the beginning.
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
    fn a_form_is_read_and_written_back() {
        let pairs = Pairs::parse(b"name=Ch%C3%AAne+nord&tag=a&tag=b&empty=&alone");
        assert_eq!(pairs.get("name"), "Chêne nord");
        assert_eq!(pairs.all("tag").collect::<Vec<_>>(), ["a", "b"]);
        assert!(pairs.has("alone") && pairs.given("empty").is_none());
        let again = pairs.with(&[("tag", ""), ("page", "2")]);
        assert_eq!(again.query(), "?name=Ch%C3%AAne%20nord&page=2");
    }

    #[test]
    fn only_paths_of_this_application_are_gone_to() {
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
