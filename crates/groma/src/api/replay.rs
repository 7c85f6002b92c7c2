//! Answers to POSTs, which may be sent again: the first answer is then given again.

use super::{admit::Caller, body, error::ApiError};
use axum::{
    body::Body,
    http::{HeaderName, HeaderValue, header, request::Parts},
    response::Response,
};
use groma_store::{ReplayKey, Replayable};

const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// A request's key, read before its body.
pub(super) struct SentKey(Option<String>);

impl SentKey {
    pub(super) fn read(parts: &Parts) -> Result<Self, ApiError> {
        body::idempotency_key(&parts.headers).map(Self)
    }

    /// The request as it is remembered, by its key, its token, its path and its body.
    pub(super) fn with_body(
        self,
        parts: &Parts,
        caller: &Caller,
        body_hash: [u8; 16],
    ) -> Option<Replayable> {
        let path = parts.uri.path_and_query().map_or("", |path| path.as_str()).to_owned();
        let key = ReplayKey { token: caller.0.token, path, key: self.0? };
        Some(Replayable { key, body_hash })
    }
}

/// The first answer.
pub(super) fn first(body: serde_json::Result<Vec<u8>>) -> Result<Response, ApiError> {
    let body = body.map_err(|error| ApiError::internal(error.to_string()))?;
    let mut response = Response::new(Body::from(body));
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    Ok(response)
}

/// An answer that was given before.
pub(super) fn again(body: Vec<u8>) -> Result<Response, ApiError> {
    let mut response = first(Ok(body))?;
    response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
    Ok(response)
}
