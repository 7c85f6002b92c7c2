//! Request bodies: received within a time, decompressed and limited in size.
//!
//! No thread waits for a client. A body is received in memory, a large one in a temporary file, and only
//! then parsed, on a blocking thread.

use super::HttpError;
use crate::quota::Share;
use axum::{
    body::{Body, BodyDataStream},
    http::{HeaderMap, header},
};
use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use ipnet::IpNet;
use std::{
    fs::File,
    io::{self, Read, Seek, Write},
    time::Duration,
};
use tempfile::SpooledTempFile;
use tokio::time::Instant;
use twox_hash::XxHash3_128;

/// How much of a body is in memory; the rest goes to an unnamed temporary file.
const MEMORY_BYTES: usize = 1 << 20;
/// A body that is no larger, or a form, needs no place among the uploads if it arrives within this time. So a burst
/// of ordinary requests is never rejected.
const FREE_BYTES: usize = 64 << 10;
const FREE_TIME: Duration = Duration::from_secs(1);
/// The memory of a form that counts against a quota grows in these steps.
const FORM_STEP: usize = 1 << 10;
/// Browsers send a form together with its headers.
const FREE_FORM_TIME: Duration = Duration::from_millis(100);
/// The largest window of a compressed body that decoders must support (RFC 9659). The memory of a decoder
/// is of this size.
const ZSTD_WINDOW_LOG: u32 = 23;

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

/// How long a client can take to send a body.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Pace {
    /// The whole body within this time.
    Within(Duration),
    /// No pause longer than this, and at least this many bytes per second after this time.
    Steady(Duration, u64),
}

impl Pace {
    /// When the next piece must be there.
    fn deadline(self, start: Instant, received: u64) -> Instant {
        match self {
            Self::Within(time) => start + time,
            Self::Steady(pause, 0) => Instant::now() + pause,
            Self::Steady(pause, rate) => {
                let earned = Duration::from_millis(received.saturating_mul(1_000) / rate);
                (Instant::now() + pause).min(start + pause + earned)
            }
        }
    }
}

/// A body on its way.
struct Incoming {
    stream: BodyDataStream,
    pace: Pace,
    start: Instant,
    limit: u64,
    received: u64,
    buffer: Vec<u8>,
}

impl Incoming {
    fn new(body: Body, pace: Pace, limit: u64) -> Self {
        let stream = body.into_data_stream();
        Self { stream, pace, start: Instant::now(), limit, received: 0, buffer: Vec::new() }
    }

    /// The next piece; `None` at the end.
    async fn next(&mut self) -> io::Result<Option<Bytes>> {
        let deadline = self.pace.deadline(self.start, self.received);
        let chunk = tokio::time::timeout_at(deadline, self.stream.next()).await;
        let Some(chunk) = chunk.map_err(|_| io::ErrorKind::TimedOut)? else { return Ok(None) };
        let chunk = chunk.map_err(io::Error::other)?;
        self.received += chunk.len() as u64;
        if self.received > self.limit {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        Ok(Some(chunk))
    }

    /// Receives until the buffer has this size. Returns whether the body is complete.
    async fn fill(&mut self, size: usize) -> io::Result<bool> {
        while self.buffer.len() < size {
            // Copied, because a piece keeps the whole read buffer of its connection.
            match self.next().await? {
                Some(chunk) => self.buffer.extend_from_slice(&chunk),
                None => return Ok(true),
            }
        }
        Ok(false)
    }

    /// Receives the rest, beyond the buffer in a temporary file.
    async fn receive_rest(&mut self) -> Result<Option<File>, HttpError> {
        let mut file = None;
        while !self.fill(MEMORY_BYTES).await.map_err(|error| read_error(&error, self.limit))? {
            let buffer = std::mem::take(&mut self.buffer);
            let appended = in_background(move || append(buffer, file)).await?;
            (self.buffer, file) =
                appended.map_err(|error| HttpError::internal(error.to_string()))?;
        }
        Ok(file)
    }
}

/// Moves the contents of the buffer to the file.
fn append(mut buffer: Vec<u8>, file: Option<File>) -> io::Result<(Vec<u8>, Option<File>)> {
    let mut file = match file {
        Some(file) => file,
        None => tempfile::tempfile()?,
    };
    file.write_all(&buffer)?;
    buffer.clear();
    Ok((buffer, Some(file)))
}

async fn in_background<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, HttpError> {
    let result = tokio::task::spawn_blocking(work).await;
    result.map_err(|error| HttpError::internal(error.to_string()))
}

/// Receives a body and passes it, decompressed, to `parse` on a blocking thread. Returns its result and
/// the hash of the bytes that it read. A body that does not arrive at once needs a place, which `admit`
/// returns.
pub(crate) async fn read<R: Send + 'static, P>(
    headers: &HeaderMap,
    body: Body,
    (limit, pace): (u64, Pace),
    admit: impl FnOnce() -> Result<P, HttpError>,
    parse: impl Fn(&mut dyn Read) -> R + Clone + Send + 'static,
) -> Result<(R, [u8; 16]), HttpError> {
    let encoding = ContentEncoding::parse(headers)?;
    let failed = |error: io::Error| read_error(&error, limit);
    let mut body = Incoming::new(body, pace, limit);
    let parse = move |input: &mut dyn Read| -> io::Result<_> {
        let decoded = encoding.decode(input)?;
        let mut body = LimitedReader { inner: decoded, left: limit, hash: XxHash3_128::new() };
        let result = parse(&mut body);
        Ok((result, body.hash.finish_128().to_be_bytes()))
    };
    let start = tokio::time::timeout(FREE_TIME, body.fill(FREE_BYTES)).await;
    let mut file = None;
    if !start.unwrap_or(Ok(false)).map_err(failed)? {
        let _place = admit()?;
        if !body.fill(MEMORY_BYTES).await.map_err(failed)? {
            // An error at the beginning is reported at once, not after minutes.
            let (buffer, parse) = (std::mem::take(&mut body.buffer), parse.clone());
            let (buffer, error) = in_background(move || {
                let mut start = BodyStart { bytes: &buffer, is_at_end: false };
                let result = parse(&mut start);
                let is_at_end = start.is_at_end;
                (buffer, (!is_at_end).then_some(result))
            })
            .await?;
            if let Some(result) = error {
                return result.map_err(failed);
            }
            body.buffer = buffer;
            file = body.receive_rest().await?;
        }
    }
    let buffer = body.buffer;
    let parsed = in_background(move || match file {
        Some(mut file) => {
            file.rewind()?;
            parse(&mut io::BufReader::new(file).chain(buffer.as_slice()))
        }
        None => parse(&mut buffer.as_slice()),
    });
    parsed.await?.map_err(failed)
}

/// The beginning of a body whose rest has not arrived.
struct BodyStart<'b> {
    bytes: &'b [u8],
    /// Whether the reader wanted more. Then its result is not meaningful.
    is_at_end: bool,
}

impl Read for BodyStart<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.bytes.is_empty() {
            self.is_at_end = true;
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.bytes.read(buffer)
    }
}

/// The pieces of a body as they arrive.
pub(crate) fn stream(
    body: Body,
    limit: u64,
    pace: Pace,
) -> impl Stream<Item = io::Result<Bytes>> + Send {
    stream::try_unfold(Incoming::new(body, pace, limit), async |mut body| {
        Ok(body.next().await?.map(|chunk| (chunk, body)))
    })
}

/// Why a form was not received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FormError {
    TooLarge,
    TooSlow,
    /// Too many forms are in memory.
    Busy,
    Incomplete,
}

impl From<io::Error> for FormError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::FileTooLarge => Self::TooLarge,
            io::ErrorKind::TimedOut => Self::TooSlow,
            _ => Self::Incomplete,
        }
    }
}

/// Receives a form of a member in memory. If it does not arrive at once, it needs a place, which `admit` returns.
pub(crate) async fn read_form<P>(
    body: Body,
    limit: usize,
    pace: Pace,
    admit: impl FnOnce() -> Option<P>,
) -> Result<Vec<u8>, FormError> {
    let mut body = Incoming::new(body, pace, limit as u64);
    if let Ok(received) = tokio::time::timeout(FREE_TIME, body.fill(usize::MAX)).await {
        received?;
        return Ok(body.buffer);
    }
    let _place = admit().ok_or(FormError::Busy)?;
    body.fill(usize::MAX).await?;
    Ok(body.buffer)
}

/// Receives a form of a stranger in memory. If it does not arrive at once, its memory counts against a
/// quota, of which `admit` returns a share. So stalled forms do not keep others from logging in.
pub(crate) async fn read_stranger_form(
    body: Body,
    limit: usize,
    pace: Pace,
    admit: impl FnOnce() -> Option<Share<IpNet>>,
) -> Result<Vec<u8>, FormError> {
    let mut body = Incoming::new(body, pace, limit as u64);
    if let Ok(received) = tokio::time::timeout(FREE_FORM_TIME, body.fill(usize::MAX)).await {
        received?;
        return Ok(body.buffer);
    }
    let mut memory = admit().ok_or(FormError::Busy)?;
    body.buffer.shrink_to_fit();
    let mut missing = body.buffer.capacity();
    loop {
        if missing > 0 && !memory.grow(missing as u64) {
            return Err(FormError::Busy);
        }
        let Some(chunk) = body.next().await? else { return Ok(body.buffer) };
        let free = body.buffer.capacity() - body.buffer.len();
        missing = chunk.len().saturating_sub(free).next_multiple_of(FORM_STEP);
        body.buffer.reserve_exact(free + missing);
        body.buffer.extend_from_slice(&chunk);
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
            Self::Brotli => Box::new(brotli::Decompressor::new(standard_brotli(encoded)?, 4096)),
            Self::Zstd => {
                let mut decoder = zstd::stream::read::Decoder::new(encoded)?;
                decoder.window_log_max(ZSTD_WINDOW_LOG)?;
                Box::new(decoder)
            }
        })
    }
}

/// Rejects brotli with a large window, an extension of the format with windows of up to 1 GB. The decoder
/// has no option for this; such a body begins with a pattern that RFC 7932 does not allow.
fn standard_brotli<'r>(encoded: &'r mut dyn Read) -> io::Result<impl Read + 'r> {
    let mut first = Vec::new();
    encoded.take(1).read_to_end(&mut first)?;
    if first.first().is_some_and(|byte| byte & 0x7f == 0x11) {
        return Err(io::ErrorKind::InvalidData.into());
    }
    Ok(io::Cursor::new(first).chain(encoded))
}

/// How much of a decompressed body stays in memory; the rest goes to an unnamed temporary file.
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
