//! Responses with an ETag: a full response, or 304 if the client has the current version.

use super::encoding::{self, Encoding};
use axum::{
    body::Body,
    extract::FromRequestParts,
    http::{HeaderValue, StatusCode, header, request::Parts},
    response::Response,
};
use bytes::Bytes;
use std::convert::Infallible;
use twox_hash::XxHash3_128;

const JSON: &str = "application/json";

/// The `Cache-Control` of a response that contains a secret.
pub(crate) const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");

/// How the client wants its response, from `Accept-Encoding` and `If-None-Match`.
pub(crate) struct ResponseOptions {
    encoding: Encoding,
    if_none_match: Vec<HeaderValue>,
}

impl<S: Sync> FromRequestParts<S> for ResponseOptions {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self {
            encoding: Encoding::preferred(&parts.headers),
            if_none_match: parts.headers.get_all(header::IF_NONE_MATCH).iter().cloned().collect(),
        })
    }
}

impl ResponseOptions {
    pub(crate) fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// A JSON response, or 304.
    pub(crate) fn json(self, body: impl Into<Bytes>) -> Response {
        self.text(JSON, body)
    }

    /// A response that is worth compressing, or 304.
    pub(crate) fn text(self, content_type: &'static str, body: impl Into<Bytes>) -> Response {
        let body = body.into();
        let encoding = self.encoding.for_text(&body);
        let etag = etag(&body, encoding);
        if self.matches(&etag) {
            return not_modified(etag);
        }
        ok(content_type, encoding, etag, encoding.encode(body))
    }

    /// A response with a body that is encoded already, or 304.
    pub(crate) fn encoded(self, content_type: &'static str, body: &EncodedBody) -> Response {
        if self.matches(&body.etag) {
            return not_modified(body.etag.clone());
        }
        ok(content_type, body.encoding, body.etag.clone(), body.bytes.clone())
    }

    /// Compresses a response that has no ETag.
    pub(crate) async fn compress(self, response: Response) -> Response {
        encoding::compress(self.encoding, response).await
    }

    fn matches(&self, etag: &HeaderValue) -> bool {
        self.if_none_match.iter().any(|value| matches_etag(value, etag))
    }
}

/// A body in one encoding with its ETag, which can be sent any number of times.
pub(crate) struct EncodedBody {
    encoding: Encoding,
    etag: HeaderValue,
    bytes: Bytes,
}

impl EncodedBody {
    /// Encodes a body; an empty body stays as it is.
    pub(crate) fn new(body: Vec<u8>, encoding: Encoding) -> Self {
        let encoding = if body.is_empty() { Encoding::Identity } else { encoding };
        let etag = etag(&body, encoding);
        Self { encoding, etag, bytes: encoding.encode(body.into()) }
    }

    /// The approximate size in memory.
    pub(crate) fn weight(&self) -> usize {
        self.bytes.len() + 256
    }
}

fn ok(content_type: &'static str, encoding: Encoding, etag: HeaderValue, body: Bytes) -> Response {
    let mut response = with_etag(etag, Body::from(body));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    if let Some(name) = encoding.name() {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(name));
    }
    response
}

fn not_modified(etag: HeaderValue) -> Response {
    let mut response = with_etag(etag, Body::empty());
    *response.status_mut() = StatusCode::NOT_MODIFIED;
    response
}

fn with_etag(etag: HeaderValue, body: Body) -> Response {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(header::ETAG, etag);
    headers.insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    response
}

/// A strong ETag: the hash of the unencoded bytes and the name of the encoding.
fn etag(body: &[u8], encoding: Encoding) -> HeaderValue {
    let hash = XxHash3_128::oneshot(body);
    let text = match encoding.name() {
        Some(name) => format!("\"{hash:032x}-{name}\""),
        None => format!("\"{hash:032x}\""),
    };
    // Quoted hexadecimal digits and letters are always a valid header value.
    HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static("\"\""))
}

/// Whether an `If-None-Match` value contains this ETag, by the weak comparison that RFC 9110 asks for.
fn matches_etag(if_none_match: &HeaderValue, etag: &HeaderValue) -> bool {
    let Ok(value) = if_none_match.to_str() else { return false };
    value.split(',').map(str::trim).any(|item| {
        item == "*" || item.strip_prefix("W/").unwrap_or(item).as_bytes() == etag.as_bytes()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn if_none_match_is_a_list_of_weak_or_strong_etags() {
        let etag = HeaderValue::from_static("\"abc\"");
        for (value, matches) in [
            ("\"abc\"", true),
            ("W/\"abc\"", true),
            ("\"x\", \"abc\"", true),
            ("*", true),
            ("\"abc-gzip\"", false),
            ("abc", false),
        ] {
            assert_eq!(matches_etag(&HeaderValue::from_static(value), &etag), matches, "{value}");
        }
    }
}
