//! Responses with an ETag: a full response, or 304 if the client has the current version.

use super::encoding::{self, Encoding};
use axum::{
    body::Body,
    extract::FromRequestParts,
    http::{HeaderMap, HeaderValue, StatusCode, header, request::Parts},
    response::Response,
};
use bytes::Bytes;
use futures_util::Stream;
use std::{convert::Infallible, io};
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

    /// The response to a write: a JSON resource with its new ETag.
    pub(crate) fn written(self, body: impl Into<Bytes>) -> Response {
        self.written_as(JSON, body)
    }

    /// The response to a write: a resource with its new ETag.
    pub(crate) fn written_as(self, content_type: &'static str, body: impl Into<Bytes>) -> Response {
        let body = body.into();
        let encoding = self.encoding.for_text(&body);
        ok(content_type, encoding, etag(&body, encoding), encoding.encode(body))
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

    /// 304 if the client has the version with this ETag.
    pub(crate) fn if_current(&self, etag: &HeaderValue) -> Option<Response> {
        self.matches(etag).then(|| not_modified(etag.clone()))
    }

    /// A response whose body is sent in parts.
    pub(crate) fn stream(
        self,
        content_type: &'static str,
        etag: Option<HeaderValue>,
        parts: impl Stream<Item = io::Result<Bytes>> + Send + 'static,
    ) -> Response {
        let encoding = self.encoding;
        let body = Body::from_stream(encoding::encode_stream(encoding, parts));
        let mut response = revalidated(body);
        let headers = response.headers_mut();
        headers.extend(etag.map(|etag| (header::ETAG, etag)));
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
        if let Some(name) = encoding.name() {
            headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(name));
        }
        response
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
    let mut response = revalidated(body);
    response.headers_mut().insert(header::ETAG, etag);
    response
}

/// A response that caches must not use without asking again.
fn revalidated(body: Body) -> Response {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    response
}

/// The ETag of a body that is sent without encoding.
pub(crate) fn unencoded_etag(body: &[u8]) -> HeaderValue {
    etag(body, Encoding::Identity)
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

/// The `If-Match` header of a request.
pub(crate) struct IfMatch(Vec<String>);

impl IfMatch {
    /// The header; `None` if there is none.
    pub(crate) fn parse(headers: &HeaderMap) -> Option<Self> {
        let values = headers.get_all(header::IF_MATCH).iter();
        let items = values.flat_map(|value| value.to_str().unwrap_or_default().split(','));
        let items: Vec<String> = items.map(|item| item.trim().to_owned()).collect();
        (!items.is_empty()).then_some(Self(items))
    }

    /// Whether it names this body in any encoding, by the strong comparison that RFC 9110 asks for.
    pub(crate) fn matches(&self, body: &[u8]) -> bool {
        let etags = Encoding::ALL.map(|encoding| etag(body, encoding));
        let is_current = |item: &String| etags.iter().any(|etag| etag == item.as_str());
        self.0.iter().any(|item| item == "*" || is_current(item))
    }
}

/// The `If-None-Match` header of a request that changes a resource.
pub(crate) struct IfNoneMatch(Vec<HeaderValue>);

impl IfNoneMatch {
    /// The header; `None` if there is none.
    pub(crate) fn parse(headers: &HeaderMap) -> Option<Self> {
        let values: Vec<_> = headers.get_all(header::IF_NONE_MATCH).iter().cloned().collect();
        (!values.is_empty()).then_some(Self(values))
    }

    /// Whether it names this body in any encoding.
    pub(crate) fn matches(&self, body: &[u8]) -> bool {
        let etags = Encoding::ALL.map(|encoding| etag(body, encoding));
        self.0.iter().any(|value| etags.iter().any(|etag| matches_etag(value, etag)))
    }
}

/// Whether an `If-None-Match` value contains this ETag, by the weak comparison that RFC 9110 asks for.
fn matches_etag(if_none_match: &HeaderValue, etag: &HeaderValue) -> bool {
    let Ok(value) = if_none_match.to_str() else { return false };
    value
        .split(',')
        .map(str::trim)
        .any(|item| item == "*" || strip_weak(item.as_bytes()) == strip_weak(etag.as_bytes()))
}

/// An ETag without the mark of a weak one.
fn strip_weak(etag: &[u8]) -> &[u8] {
    etag.strip_prefix(b"W/").unwrap_or(etag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn if_match_names_a_body_in_any_encoding() {
        let matches = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::IF_MATCH, HeaderValue::try_from(value).unwrap());
            IfMatch::parse(&headers).unwrap().matches(b"{}")
        };
        for encoding in Encoding::ALL {
            let etag = etag(b"{}", encoding);
            assert!(matches(etag.to_str().unwrap()), "{encoding:?}");
            assert!(matches(&format!("\"x\", {}", etag.to_str().unwrap())));
            assert!(!matches(&format!("W/{}", etag.to_str().unwrap())));
        }
        assert!(matches("*") && !matches("\"x\"") && !matches("") && !matches("abc"));
        assert!(IfMatch::parse(&HeaderMap::new()).is_none());
    }

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
