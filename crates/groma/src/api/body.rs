//! Bodies that clients send: unpacked, measured and read as a stream.

use super::error::ApiError;
use axum::{
    body::{Body, BodyDataStream},
    http::{HeaderMap, HeaderName, header},
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

/// What is taken in before a thread is given to the reading, so that a slow client does not hold one
/// for a small body.
const TAKEN_IN: usize = 1 << 20;
/// How long a client may be silent in the middle of a body.
const SILENCE: Duration = Duration::from_secs(30);

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// The key with which a request may be sent again.
pub(super) fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, ApiError> {
    let mut sent = headers.get_all(IDEMPOTENCY_KEY).iter();
    let Some(key) = sent.next() else { return Ok(None) };
    let key = key.as_bytes();
    let is_visible = key.iter().all(u8::is_ascii_graphic);
    match (sent.next(), (1..=255).contains(&key.len()) && is_visible) {
        (None, true) => Ok(Some(String::from_utf8_lossy(key).into_owned())),
        _ => {
            Err(ApiError::bad_request("Idempotency-Key must be 1 to 255 visible characters, once"))
        }
    }
}

/// Refuses a body of another kind than these.
pub(super) fn expect_media_type(headers: &HeaderMap, known: &[&str]) -> Result<(), ApiError> {
    let sent = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let kind = sent.and_then(|kind| kind.split(';').next()).unwrap_or_default().trim();
    if known.iter().any(|known| kind.eq_ignore_ascii_case(known)) {
        Ok(())
    } else {
        Err(ApiError::bad_request(format!("Content-Type must be {}", known.join(" or "))))
    }
}

/// Lets `read` have the unpacked body, on a thread where it may take its time, and tells the hash of
/// what was read.
pub(super) async fn read<R: Send + 'static>(
    headers: &HeaderMap,
    body: Body,
    limit: u64,
    read: impl FnOnce(&mut dyn Read) -> R + Send + 'static,
) -> Result<(R, [u8; 16]), ApiError> {
    let packing = Packing::of(headers)?;
    let mut stream = body.into_data_stream();
    let mut head = Vec::new();
    let mut is_whole = false;
    while head.len() < TAKEN_IN && !is_whole {
        match next(&mut stream).await {
            Some(chunk) => head.extend_from_slice(&chunk.map_err(|error| broken(&error, limit))?),
            None => is_whole = true,
        }
    }
    let work = move |rest: &mut dyn Read| {
        let mut packed = io::Cursor::new(head).chain(rest);
        let unpacked = packing.unpacked(&mut packed)?;
        let mut measured = Measured { inner: unpacked, left: limit, hash: XxHash3_128::new() };
        let outcome = read(&mut measured);
        Ok((outcome, measured.hash.finish_128().to_be_bytes()))
    };
    let done = if is_whole {
        tokio::task::spawn_blocking(move || work(&mut io::empty())).await
    } else {
        let stream = futures_util::stream::unfold(stream, |mut stream| async move {
            next(&mut stream).await.map(|chunk| (chunk, stream))
        });
        let mut rest = SyncIoBridge::new(StreamReader::new(Box::pin(stream)));
        tokio::task::spawn_blocking(move || work(&mut rest)).await
    };
    let done: io::Result<_> = done.map_err(|error| ApiError::internal(error.to_string()))?;
    done.map_err(|error| broken(&error, limit))
}

/// The next piece of a body.
async fn next(stream: &mut BodyDataStream) -> Option<io::Result<Bytes>> {
    match tokio::time::timeout(SILENCE, stream.next()).await {
        Ok(chunk) => chunk.map(|chunk| chunk.map_err(io::Error::other)),
        Err(_) => Some(Err(io::ErrorKind::TimedOut.into())),
    }
}

/// The answer to a body that could not be read to its end.
pub(super) fn broken(error: &io::Error, limit: u64) -> ApiError {
    match error.kind() {
        io::ErrorKind::FileTooLarge => {
            ApiError::bad_request(format!("The body is larger than {limit} bytes"))
        }
        io::ErrorKind::TimedOut => ApiError::bad_request("The body did not come in time"),
        _ => ApiError::bad_request("The body is broken, or not packed as Content-Encoding says"),
    }
}

/// How a body is packed.
#[derive(Clone, Copy)]
enum Packing {
    None,
    Gzip,
    Brotli,
    Zstd,
}

impl Packing {
    fn of(headers: &HeaderMap) -> Result<Self, ApiError> {
        let Some(sent) = headers.get(header::CONTENT_ENCODING) else { return Ok(Self::None) };
        match sent.as_bytes().to_ascii_lowercase().as_slice() {
            b"identity" | b"" => Ok(Self::None),
            b"gzip" | b"x-gzip" => Ok(Self::Gzip),
            b"br" => Ok(Self::Brotli),
            b"zstd" => Ok(Self::Zstd),
            _ => Err(ApiError::bad_request("Content-Encoding must be gzip, br or zstd")),
        }
    }

    fn unpacked<'r>(self, packed: &'r mut dyn Read) -> io::Result<Box<dyn Read + 'r>> {
        Ok(match self {
            Self::None => Box::new(packed),
            Self::Gzip => Box::new(flate2::read::MultiGzDecoder::new(packed)),
            Self::Brotli => Box::new(brotli::Decompressor::new(packed, 4096)),
            Self::Zstd => Box::new(zstd::stream::read::Decoder::new(packed)?),
        })
    }
}

/// How much of a body is kept in memory; more of it waits in a file that has no name.
const KEPT_IN_MEMORY: usize = 8 << 20;

/// A body that can be read again from its start.
pub(super) struct Kept<'r> {
    body: &'r mut dyn Read,
    /// What was read of it before.
    so_far: SpooledTempFile,
}

impl<'r> Kept<'r> {
    pub(super) fn new(body: &'r mut dyn Read) -> Self {
        Self { body, so_far: SpooledTempFile::new(KEPT_IN_MEMORY) }
    }

    /// Goes back to the start.
    pub(super) fn rewind(&mut self) -> io::Result<()> {
        self.so_far.rewind()
    }
}

impl Read for Kept<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.so_far.read(buffer)?;
        if length > 0 {
            return Ok(length);
        }
        // At the end of what is known, so what comes is written behind it.
        let length = self.body.read(buffer)?;
        self.so_far.write_all(&buffer[..length])?;
        Ok(length)
    }
}

/// Fails when more is read than is allowed, and hashes what was.
struct Measured<R> {
    inner: R,
    left: u64,
    hash: XxHash3_128,
}

impl<R: Read> Read for Measured<R> {
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
