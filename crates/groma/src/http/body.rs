//! Request bodies: decompressed, limited in size and read as a stream.

use super::HttpError;
use axum::{
    body::{Body, BodyDataStream},
    http::{HeaderMap, header},
};
use bytes::Bytes;
use futures_util::StreamExt;
use std::{
    io::{self, Read, Seek, Write},
    time::Duration,
};
use tempfile::SpooledTempFile;
use tokio_util::io::{StreamReader, SyncIoBridge};
use twox_hash::XxHash3_128;

/// How much is buffered before a blocking thread starts to read, so that a slow client does not occupy
/// a thread for a small body.
const BUFFERED_BYTES: usize = 1 << 20;
/// The longest pause of a client in the middle of a body.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);

/// Rejects a body whose media type is not one of `allowed`.
pub(crate) fn require_media_type(headers: &HeaderMap, allowed: &[&str]) -> Result<(), HttpError> {
    let content_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let media_type = content_type.and_then(|value| value.split(';').next()).unwrap_or_default();
    if allowed.iter().any(|allowed| media_type.trim().eq_ignore_ascii_case(allowed)) {
        Ok(())
    } else {
        Err(HttpError::bad_request(format!("Content-Type must be {}", allowed.join(" or "))))
    }
}

/// Passes the decompressed body to `parse` on a blocking thread. Returns its result and the hash of the
/// bytes that it read.
pub(crate) async fn read<R: Send + 'static>(
    headers: &HeaderMap,
    body: Body,
    limit: u64,
    parse: impl FnOnce(&mut dyn Read) -> R + Send + 'static,
) -> Result<(R, [u8; 16]), HttpError> {
    let encoding = ContentEncoding::parse(headers)?;
    let mut stream = body.into_data_stream();
    let mut buffer = Vec::new();
    let mut is_complete = false;
    while buffer.len() < BUFFERED_BYTES && !is_complete {
        match next_chunk(&mut stream).await {
            Some(chunk) => {
                buffer.extend_from_slice(&chunk.map_err(|error| read_error(&error, limit))?);
            }
            None => is_complete = true,
        }
    }
    let parse = move |rest: &mut dyn Read| {
        let mut encoded = io::Cursor::new(buffer).chain(rest);
        let decoded = encoding.decode(&mut encoded)?;
        let mut body = LimitedReader { inner: decoded, left: limit, hash: XxHash3_128::new() };
        let result = parse(&mut body);
        Ok((result, body.hash.finish_128().to_be_bytes()))
    };
    let result = if is_complete {
        tokio::task::spawn_blocking(move || parse(&mut io::empty())).await
    } else {
        let stream = futures_util::stream::unfold(stream, |mut stream| async move {
            next_chunk(&mut stream).await.map(|chunk| (chunk, stream))
        });
        let mut rest = SyncIoBridge::new(StreamReader::new(Box::pin(stream)));
        tokio::task::spawn_blocking(move || parse(&mut rest)).await
    };
    let result: io::Result<_> = result.map_err(|error| HttpError::internal(error.to_string()))?;
    result.map_err(|error| read_error(&error, limit))
}

async fn next_chunk(stream: &mut BodyDataStream) -> Option<io::Result<Bytes>> {
    match tokio::time::timeout(IDLE_TIMEOUT, stream.next()).await {
        Ok(chunk) => chunk.map(|chunk| chunk.map_err(io::Error::other)),
        Err(_) => Some(Err(io::ErrorKind::TimedOut.into())),
    }
}

/// The response to a body that could not be read to the end.
pub(crate) fn read_error(error: &io::Error, limit: u64) -> HttpError {
    match error.kind() {
        io::ErrorKind::FileTooLarge => {
            HttpError::bad_request(format!("The body is larger than {limit} bytes"))
        }
        io::ErrorKind::TimedOut => HttpError::bad_request("The body was not received in time"),
        _ => HttpError::bad_request(
            "The body is incomplete, or is not encoded as Content-Encoding says",
        ),
    }
}

#[derive(Clone, Copy)]
enum ContentEncoding {
    Identity,
    Gzip,
    Brotli,
    Zstd,
}

impl ContentEncoding {
    fn parse(headers: &HeaderMap) -> Result<Self, HttpError> {
        let Some(value) = headers.get(header::CONTENT_ENCODING) else { return Ok(Self::Identity) };
        match value.as_bytes().to_ascii_lowercase().as_slice() {
            b"identity" | b"" => Ok(Self::Identity),
            b"gzip" | b"x-gzip" => Ok(Self::Gzip),
            b"br" => Ok(Self::Brotli),
            b"zstd" => Ok(Self::Zstd),
            _ => Err(HttpError::bad_request("Content-Encoding must be gzip, br or zstd")),
        }
    }

    fn decode<'r>(self, encoded: &'r mut dyn Read) -> io::Result<Box<dyn Read + 'r>> {
        Ok(match self {
            Self::Identity => Box::new(encoded),
            Self::Gzip => Box::new(flate2::read::MultiGzDecoder::new(encoded)),
            Self::Brotli => Box::new(brotli::Decompressor::new(encoded, 4096)),
            Self::Zstd => Box::new(zstd::stream::read::Decoder::new(encoded)?),
        })
    }
}

/// How much of a body stays in memory; the rest goes to an unnamed temporary file.
const SPOOL_MEMORY_BYTES: usize = 8 << 20;

/// A body that can be read again from its start.
pub(crate) struct RewindableBody<'r> {
    body: &'r mut dyn Read,
    spool: SpooledTempFile,
}

impl<'r> RewindableBody<'r> {
    pub(crate) fn new(body: &'r mut dyn Read) -> Self {
        Self { body, spool: SpooledTempFile::new(SPOOL_MEMORY_BYTES) }
    }

    pub(crate) fn rewind(&mut self) -> io::Result<()> {
        self.spool.rewind()
    }
}

impl Read for RewindableBody<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.spool.read(buffer)?;
        if length > 0 {
            return Ok(length);
        }
        // The spool is at its end, so what comes next is appended to it.
        let length = self.body.read(buffer)?;
        self.spool.write_all(&buffer[..length])?;
        Ok(length)
    }
}

/// Fails once more bytes are read than allowed, and hashes the bytes.
struct LimitedReader<R> {
    inner: R,
    left: u64,
    hash: XxHash3_128,
}

impl<R: Read> Read for LimitedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.inner.read(buffer)?;
        self.left = self
            .left
            .checked_sub(length as u64)
            .ok_or(io::Error::from(io::ErrorKind::FileTooLarge))?;
        self.hash.write(&buffer[..length]);
        Ok(length)
    }
}
