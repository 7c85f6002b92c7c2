//! Content encodings: which one the client prefers, and compression of response bodies.

use axum::{
    body::Body,
    http::{HeaderMap, HeaderValue, header},
    response::Response,
};
use bytes::Bytes;
use futures_util::{Stream, TryStreamExt, stream};
use std::{
    io::{self, Write},
    mem,
};

/// Text below this size is sent uncompressed.
const MIN_TEXT_BYTES: usize = 1024;

/// The encoding of a response body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Encoding {
    Identity,
    Gzip,
    Brotli,
    Zstd,
}

impl Encoding {
    /// Every encoding.
    pub(crate) const ALL: [Self; 4] = [Self::Identity, Self::Gzip, Self::Brotli, Self::Zstd];

    /// The supported encodings, cheapest first: the order decides between equal preferences.
    const SUPPORTED: [Self; 3] = [Self::Zstd, Self::Brotli, Self::Gzip];

    /// The encoding that the client prefers.
    pub(crate) fn preferred(headers: &HeaderMap) -> Self {
        Self::preferred_of(headers, &Self::SUPPORTED)
    }

    /// The encoding among `offered` that the client prefers. `identity` is used only if nothing else is
    /// accepted or the client ranks it above the others.
    pub(crate) fn preferred_of(headers: &HeaderMap, offered: &[Self]) -> Self {
        let accepted: Vec<(&str, u16)> = headers
            .get_all(header::ACCEPT_ENCODING)
            .iter()
            .flat_map(|value| value.to_str().unwrap_or_default().split(','))
            .map(|item| {
                let mut parts = item.split(';').map(str::trim);
                let name = parts.next().unwrap_or_default();
                (name, parts.find_map(|part| part.strip_prefix("q=")).map_or(1000, parse_quality))
            })
            .collect();
        let quality = |wanted: &str| {
            let item = accepted.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted));
            item.map(|(_, quality)| *quality)
        };
        let mut best = (Self::Identity, 0);
        for &encoding in offered {
            // A client that sends `*` is certain to understand only gzip.
            let wildcard = if encoding == Self::Gzip { quality("*") } else { None };
            let quality = encoding.name().and_then(quality).or(wildcard).unwrap_or(0);
            if quality > best.1 {
                best = (encoding, quality);
            }
        }
        if quality("identity").unwrap_or(0) > best.1 { Self::Identity } else { best.0 }
    }

    /// This encoding for a large text, identity for a small one.
    pub(super) fn for_text(self, body: &[u8]) -> Self {
        if body.len() < MIN_TEXT_BYTES { Self::Identity } else { self }
    }

    /// The value of `Content-Encoding`; `None` for identity.
    pub(crate) fn name(self) -> Option<&'static str> {
        match self {
            Self::Identity => None,
            Self::Gzip => Some("gzip"),
            Self::Brotli => Some("br"),
            Self::Zstd => Some("zstd"),
        }
    }

    /// Encodes a body, at levels that favour speed over the last percent of size.
    pub(super) fn encode(self, body: Bytes) -> Bytes {
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
        // Writing to a vector cannot fail.
        debug_assert!(written.is_ok());
        out.into()
    }
}

/// Encodes a body that is sent in parts. What was encoded of a part is sent with it.
pub(super) fn encode_stream(
    encoding: Encoding,
    parts: impl Stream<Item = io::Result<Bytes>> + Send + 'static,
) -> impl Stream<Item = io::Result<Bytes>> + Send + 'static {
    let start = (Box::pin(parts), Some(Encoder::new(encoding)));
    stream::try_unfold(start, async |(mut parts, encoder)| {
        let Some(encoder) = encoder else { return Ok(None) };
        let mut encoder = encoder?;
        Ok(match parts.try_next().await? {
            Some(part) => Some((encoder.write(part)?, (parts, Some(Ok(encoder))))),
            None => Some((encoder.finish()?, (parts, None))),
        })
    })
}

/// Encodes a body part by part.
enum Encoder {
    Identity,
    Gzip(flate2::write::GzEncoder<Vec<u8>>),
    Brotli(Box<brotli::CompressorWriter<Vec<u8>>>),
    Zstd(zstd::stream::write::Encoder<'static, Vec<u8>>),
}

impl Encoder {
    fn new(encoding: Encoding) -> io::Result<Self> {
        let out = Vec::new();
        Ok(match encoding {
            Encoding::Gzip => {
                Self::Gzip(flate2::write::GzEncoder::new(out, flate2::Compression::fast()))
            }
            Encoding::Brotli => {
                Self::Brotli(Box::new(brotli::CompressorWriter::new(out, 4096, 2, 20)))
            }
            Encoding::Zstd => Self::Zstd(zstd::stream::write::Encoder::new(out, 1)?),
            Encoding::Identity => Self::Identity,
        })
    }

    fn write(&mut self, part: Bytes) -> io::Result<Bytes> {
        let out = match self {
            Self::Identity => return Ok(part),
            Self::Gzip(encoder) => {
                encoder.write_all(&part)?;
                encoder.flush()?;
                encoder.get_mut()
            }
            Self::Brotli(encoder) => {
                encoder.write_all(&part)?;
                encoder.flush()?;
                encoder.get_mut()
            }
            Self::Zstd(encoder) => {
                encoder.write_all(&part)?;
                encoder.flush()?;
                encoder.get_mut()
            }
        };
        Ok(mem::take(out).into())
    }

    fn finish(self) -> io::Result<Bytes> {
        Ok(match self {
            Self::Identity => Bytes::new(),
            Self::Gzip(encoder) => encoder.finish()?.into(),
            Self::Brotli(encoder) => encoder.into_inner().into(),
            Self::Zstd(encoder) => encoder.finish()?.into(),
        })
    }
}

/// Compresses a text response unless it is small or compressed already.
pub(crate) async fn compress(encoding: Encoding, response: Response) -> Response {
    let content_type = response.headers().get(header::CONTENT_TYPE);
    let content_type = content_type.and_then(|value| value.to_str().ok()).unwrap_or_default();
    let is_text = content_type.starts_with("text/") || content_type.contains("json");
    let is_compressed = response.headers().contains_key(header::CONTENT_ENCODING);
    // A download can be larger than the memory.
    let is_download = response.headers().contains_key(header::CONTENT_DISPOSITION);
    // Events are sent as they occur.
    let is_stream = content_type.starts_with("text/event-stream");
    if !is_text || is_compressed || is_download || is_stream {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    parts.headers.append(header::VARY, HeaderValue::from_static("Accept-Encoding"));
    let Some(name) = encoding.name() else { return Response::from_parts(parts, body) };
    // Pages and JSON are in memory already, so there is nothing to limit.
    let bytes = axum::body::to_bytes(body, usize::MAX).await.unwrap_or_default();
    if bytes.len() < MIN_TEXT_BYTES {
        return Response::from_parts(parts, Body::from(bytes));
    }
    parts.headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(name));
    parts.headers.remove(header::CONTENT_LENGTH);
    Response::from_parts(parts, Body::from(encoding.encode(bytes)))
}

/// A quality value in thousandths; 0 if it is not a number.
fn parse_quality(text: &str) -> u16 {
    text.parse::<f32>().map_or(0, |quality| (quality.clamp(0.0, 1.0) * 1000.0) as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn preferred(accept_encoding: &'static str) -> Encoding {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static(accept_encoding));
        Encoding::preferred(&headers)
    }

    #[test]
    fn the_highest_quality_wins_and_cost_breaks_ties() {
        assert_eq!(preferred("gzip, deflate, br, zstd"), Encoding::Zstd);
        assert_eq!(preferred("gzip, br"), Encoding::Brotli);
        assert_eq!(preferred("gzip;q=1.0, br;q=0.5"), Encoding::Gzip);
        assert_eq!(preferred("br;q=0, gzip;q=0.1"), Encoding::Gzip);
        assert_eq!(preferred("br;q=0"), Encoding::Identity);
        assert_eq!(preferred("*"), Encoding::Gzip);
        assert_eq!(preferred("gzip;q=0, *"), Encoding::Identity);
        assert_eq!(preferred("deflate"), Encoding::Identity);
        assert_eq!(preferred("gzip;q=0.1, identity;q=1"), Encoding::Identity);
        assert_eq!(preferred("gzip, identity"), Encoding::Gzip);
        assert_eq!(preferred("identity;q=0.5, br;q=0.8"), Encoding::Brotli);
    }
}
