//! Idempotency keys: a POST that is repeated with the same key gets the first response again.

use crate::{http::HttpError, token_auth::Caller};
use axum::{
    body::Body,
    http::{HeaderMap, HeaderName, HeaderValue, header, request::Parts},
    response::Response,
};
use groma_store::{IdempotencyKey, IdempotentRequest};

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
pub(crate) const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// The `Idempotency-Key` of a request, checked before its body is read.
pub(crate) struct KeyHeader(Option<String>);

impl KeyHeader {
    pub(crate) fn parse(headers: &HeaderMap) -> Result<Self, HttpError> {
        let mut values = headers.get_all(IDEMPOTENCY_KEY).iter();
        let Some(key) = values.next() else { return Ok(Self(None)) };
        let key = key.as_bytes();
        let is_valid = (1..=255).contains(&key.len()) && key.iter().all(u8::is_ascii_graphic);
        if is_valid && values.next().is_none() {
            Ok(Self(Some(String::from_utf8_lossy(key).into_owned())))
        } else {
            Err(HttpError::bad_request(
                "Idempotency-Key must be 1 to 255 visible characters and must be sent once",
            ))
        }
    }

    /// Identifies the request by key, token, path and body; `None` if it has no key.
    pub(crate) fn with_body(
        self,
        parts: &Parts,
        caller: &Caller,
        body_hash: [u8; 16],
    ) -> Option<IdempotentRequest> {
        let path = parts.uri.path_and_query().map_or("", |path| path.as_str()).to_owned();
        let key = IdempotencyKey { token: caller.token.token, path, key: self.0? };
        Some(IdempotentRequest { key, body_hash })
    }
}

/// The response to a request that was carried out.
pub(crate) fn first_response(body: serde_json::Result<Vec<u8>>) -> Result<Response, HttpError> {
    let body = body.map_err(|error| HttpError::internal(error.to_string()))?;
    let mut response = Response::new(Body::from(body));
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    Ok(response)
}

/// The stored response to a repeated request.
pub(crate) fn replayed_response(body: Vec<u8>) -> Result<Response, HttpError> {
    let mut response = first_response(Ok(body))?;
    response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
    Ok(response)
}
