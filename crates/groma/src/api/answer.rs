//! An answer with a body: its ETag, the 304 instead of it, and its compression.

use axum::{
    body::Body,
    extract::FromRequestParts,
    http::{HeaderMap, HeaderValue, StatusCode, header, request::Parts},
    response::Response,
};
use bytes::Bytes;
use std::{convert::Infallible, io::Write};
use twox_hash::XxHash3_128;

/// JSON smaller than this goes out as it is.
const COMPRESS_FROM: usize = 1024;

const JSON: &str = "application/json";

/// What the client says about the answer it would like.
pub(super) struct Wishes {
    encoding: Encoding,
    if_none_match: Vec<HeaderValue>,
}

impl<S: Sync> FromRequestParts<S> for Wishes {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self {
            encoding: Encoding::wished(&parts.headers),
            if_none_match: parts.headers.get_all(header::IF_NONE_MATCH).iter().cloned().collect(),
        })
    }
}

impl Wishes {
    /// The answer with this JSON, or 304 when the client has it.
    pub(super) fn json(self, body: impl Into<Bytes>) -> Response {
        let body = body.into();
        let encoding = self.encoding.of_json(&body);
        let etag = encoding.etag(&body);
        if self.knows(&etag) {
            return not_modified(etag);
        }
        answer(JSON, encoding, etag, encoding.compress(body))
    }

    /// An answer that is in memory, compressed as the client likes it unless it is small.
    pub(super) async fn packed(self, response: Response) -> Response {
        packed(self.encoding, response).await
    }

    /// How the client would like a body to be compressed.
    pub(super) fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// The answer with a body that was made before, or 304 when the client has it.
    pub(super) fn made(self, content_type: &'static str, made: &Made) -> Response {
        if self.knows(&made.etag) {
            return not_modified(made.etag.clone());
        }
        answer(content_type, made.encoding, made.etag.clone(), made.body.clone())
    }

    fn knows(&self, etag: &HeaderValue) -> bool {
        self.if_none_match.iter().any(|sent| names(sent, etag))
    }
}

/// A body in one encoding with its ETag, to be sent any number of times.
pub(super) struct Made {
    encoding: Encoding,
    etag: HeaderValue,
    body: Bytes,
}

impl Made {
    /// Compresses a body, unless it is empty.
    pub(super) fn new(body: Vec<u8>, encoding: Encoding) -> Self {
        let encoding = if body.is_empty() { Encoding::Identity } else { encoding };
        let etag = encoding.etag(&body);
        Self { encoding, etag, body: encoding.compress(body.into()) }
    }

    /// What it takes in memory, nearly.
    pub(super) fn weight(&self) -> usize {
        self.body.len() + 256
    }
}

fn answer(
    content_type: &'static str,
    encoding: Encoding,
    etag: HeaderValue,
    body: Bytes,
) -> Response {
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
    // These, those above, of the rate and of the edge, without growing on the way.
    headers.reserve(16);
    headers.insert(header::ETAG, etag);
    headers.insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    response
}

/// Whether `If-None-Match` names this ETag. The comparison is the weak one, as for every GET.
fn names(sent: &HeaderValue, etag: &HeaderValue) -> bool {
    let Ok(sent) = sent.to_str() else { return false };
    sent.split(',').map(str::trim).any(|one| {
        one == "*" || one.strip_prefix("W/").unwrap_or(one).as_bytes() == etag.as_bytes()
    })
}

/// How a body is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Encoding {
    /// Not at all.
    Identity,
    Gzip,
    Brotli,
    Zstd,
}

impl Encoding {
    /// Those there are; among equals the one that costs least comes first.
    const OFFERED: [Self; 3] = [Self::Zstd, Self::Brotli, Self::Gzip];

    /// The one that the client likes best.
    pub(crate) fn wished(headers: &HeaderMap) -> Self {
        Self::among(headers, &Self::OFFERED)
    }

    /// The one of those offered that the client likes best. What it does not name has the quality of
    /// `*`; not to compress is the last resort, unless it says how much it likes that.
    pub(crate) fn among(headers: &HeaderMap, offered: &[Self]) -> Self {
        let wishes = headers.get_all(header::ACCEPT_ENCODING).iter();
        let wishes: Vec<(&str, u16)> = wishes
            .flat_map(|value| value.to_str().unwrap_or_default().split(','))
            .map(|wish| {
                let mut parts = wish.split(';').map(str::trim);
                let name = parts.next().unwrap_or_default();
                (name, parts.find_map(|part| part.strip_prefix("q=")).map_or(1000, thousandths))
            })
            .collect();
        let quality = |wanted: &str| {
            let named = wishes.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted));
            named.map(|(_, quality)| *quality)
        };
        let mut best = (Self::Identity, 0);
        // Only gzip is certain to be understood by someone who says `*`.
        for &encoding in offered {
            let any = if encoding == Self::Gzip { quality("*") } else { None };
            let quality = encoding.name().and_then(quality).or(any).unwrap_or(0);
            if quality > best.1 {
                best = (encoding, quality);
            }
        }
        if quality("identity").unwrap_or(0) > best.1 { Self::Identity } else { best.0 }
    }

    /// The one that JSON comes in to someone who likes this one.
    fn of_json(self, body: &[u8]) -> Self {
        if body.len() < COMPRESS_FROM { Self::Identity } else { self }
    }

    pub(crate) fn name(self) -> Option<&'static str> {
        match self {
            Self::Identity => None,
            Self::Gzip => Some("gzip"),
            Self::Brotli => Some("br"),
            Self::Zstd => Some("zstd"),
        }
    }

    /// A strong ETag: the hash of the bytes, and the encoding they come in.
    fn etag(self, body: &[u8]) -> HeaderValue {
        // Quotes, and between them what is written here.
        let mut text = [b'"'; 40];
        let mut end = 1 + 32;
        // There is room for two digits a byte.
        let _ = hex::encode_to_slice(XxHash3_128::oneshot(body).to_be_bytes(), &mut text[1..end]);
        if let Some(name) = self.name() {
            text[end] = b'-';
            text[end + 1..][..name.len()].copy_from_slice(name.as_bytes());
            end += 1 + name.len();
        }
        // Hexadecimal digits and letters in quotes are a header value.
        HeaderValue::from_bytes(&text[..=end]).unwrap_or(HeaderValue::from_static("\"\""))
    }

    /// The body in this encoding, at a level where speed counts for more than the last percent.
    fn compress(self, body: Bytes) -> Bytes {
        let mut out = Vec::with_capacity(body.len() / 4);
        let written = match self {
            Self::Identity => return body,
            Self::Gzip => {
                let mut encoder =
                    flate2::write::GzEncoder::new(&mut out, flate2::Compression::fast());
                encoder.write_all(&body).and_then(|()| encoder.finish().map(drop))
            }
            Self::Brotli => {
                let mut encoder = brotli::CompressorWriter::new(&mut out, 4096, 2, 20);
                encoder.write_all(&body).and_then(|()| encoder.flush()).map(|()| drop(encoder))
            }
            Self::Zstd => zstd::stream::copy_encode(&body[..], &mut out, 1),
        };
        // Writing to memory does not fail.
        debug_assert!(written.is_ok());
        out.into()
    }
}

/// Compresses an answer that is text and not small, as the client likes it.
pub(crate) async fn packed(encoding: Encoding, response: Response) -> Response {
    let kind = response.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let is_text = kind.is_some_and(|kind| kind.starts_with("text/") || kind.contains("json"));
    let is_packed = response.headers().contains_key(header::CONTENT_ENCODING);
    if !is_text || is_packed {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    parts.headers.append(header::VARY, HeaderValue::from_static("Accept-Encoding"));
    let Some(name) = encoding.name() else { return Response::from_parts(parts, body) };
    // What is made here is in memory as a whole.
    let bytes = axum::body::to_bytes(body, usize::MAX).await.unwrap_or_default();
    if bytes.len() < COMPRESS_FROM {
        return Response::from_parts(parts, Body::from(bytes));
    }
    parts.headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(name));
    parts.headers.remove(header::CONTENT_LENGTH);
    Response::from_parts(parts, Body::from(encoding.compress(bytes)))
}

fn thousandths(quality: &str) -> u16 {
    quality.parse::<f32>().map_or(0, |quality| (quality.clamp(0.0, 1.0) * 1000.0) as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepted(text: &'static str) -> Encoding {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static(text));
        Encoding::wished(&headers)
    }

    #[test]
    fn the_client_chooses_and_equals_go_by_cost() {
        assert_eq!(accepted("gzip, deflate, br, zstd"), Encoding::Zstd);
        assert_eq!(accepted("gzip, br"), Encoding::Brotli);
        assert_eq!(accepted("gzip;q=1.0, br;q=0.5"), Encoding::Gzip);
        assert_eq!(accepted("br;q=0, gzip;q=0.1"), Encoding::Gzip);
        assert_eq!(accepted("br;q=0"), Encoding::Identity);
        assert_eq!(accepted("*"), Encoding::Gzip);
        assert_eq!(accepted("gzip;q=0, *"), Encoding::Identity);
        assert_eq!(accepted("deflate"), Encoding::Identity);
        assert_eq!(accepted("gzip;q=0.1, identity;q=1"), Encoding::Identity);
        assert_eq!(accepted("gzip, identity"), Encoding::Gzip);
        assert_eq!(accepted("identity;q=0.5, br;q=0.8"), Encoding::Brotli);
    }

    #[test]
    fn an_etag_is_found_in_a_list_weak_or_not() {
        let etag = HeaderValue::from_static("\"abc\"");
        for (sent, found) in [
            ("\"abc\"", true),
            ("W/\"abc\"", true),
            ("\"x\", \"abc\"", true),
            ("*", true),
            ("\"abc-gzip\"", false),
            ("abc", false),
        ] {
            assert_eq!(names(&HeaderValue::from_static(sent), &etag), found, "{sent}");
        }
    }
}
