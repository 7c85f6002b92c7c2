//! Parameters of a request, read once.

use super::error::ApiError;
use axum::{
    extract::{FromRequestParts, RawPathParams},
    http::request::Parts,
};
use groma_domain::{ListParams, Problem, reference::Key};
use percent_encoding::percent_decode;
use std::borrow::Cow;

/// `page`, `limit` and `term` of a list.
pub(super) struct ListQuery(pub(super) ListParams);

impl<S: Sync> FromRequestParts<S> for ListQuery {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        read_list(parts.uri.query().unwrap_or_default())
            .map(Self)
            .map_err(|problem| ApiError::bad_parameter(&problem))
    }
}

fn read_list(query: &str) -> Result<ListParams, Problem> {
    if query.is_empty() {
        return Ok(ListParams::default());
    }
    let mut pairs: Vec<(Cow<'_, str>, Cow<'_, str>)> = Vec::new();
    for pair in query.split('&') {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        // A name that is not text is a stranger, and those are passed over.
        let Some(name) = decode(name) else { continue };
        match decode(value) {
            Some(value) => pairs.push((name, value)),
            None if matches!(&*name, "page" | "limit" | "term") => {
                return Err(Problem::new(name, "must be valid UTF-8"));
            }
            None => {}
        }
    }
    ListParams::parse(pairs.iter().map(|(name, value)| (&**name, &**value)))
}

/// Percent-encoding and `+` undone; `None` when what remains is not UTF-8.
fn decode(text: &str) -> Option<Cow<'_, str>> {
    if !text.contains(['%', '+']) {
        return Some(Cow::Borrowed(text));
    }
    let spaced = text.replace('+', " ");
    percent_decode(spaced.as_bytes()).decode_utf8().ok().map(|text| Cow::Owned(text.into_owned()))
}

/// The `:key` of a record.
pub(super) struct KeyPath {
    /// As it was sent, for the message.
    pub(super) sent: String,
    /// What it names; `None` when it can name nothing.
    pub(super) key: Option<Key>,
}

impl<S: Send + Sync> FromRequestParts<S> for KeyPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let params = RawPathParams::from_request_parts(parts, state).await;
        let params = params
            .map_err(|_| ApiError::bad_parameter(&Problem::new("key", "must be valid UTF-8")))?;
        let sent = params.iter().next().map(|(_, value)| value.to_owned()).unwrap_or_default();
        Ok(Self { key: Key::parse(&sent), sent })
    }
}
