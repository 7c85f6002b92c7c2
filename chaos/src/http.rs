//! An HTTP client that takes every answer as it is, and tells what became of the connection.

use serde_json::Value;
use std::{io, net::SocketAddr, time::Duration};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// What every public path begins with.
pub(crate) const API: &str = "/api/public/v1";

/// Longer than any answer may take; what takes longer has failed.
const PATIENCE: Duration = Duration::from_secs(40);

/// A request.
pub(crate) struct Ask {
    head: String,
    body: Vec<u8>,
}

impl Ask {
    pub(crate) fn new(method: &str, path: &str) -> Self {
        Self { head: format!("{method} {path} HTTP/1.1\r\nHost: chaos\r\n"), body: Vec::new() }
    }

    /// A GET of the public API; `path` is what follows `/api/public/v1`.
    pub(crate) fn get(path: &str, token: &str) -> Self {
        Self::new("GET", &format!("{API}{path}")).token(token)
    }

    /// A POST of JSON to the public API.
    pub(crate) fn post(path: &str, token: &str, body: &Value) -> Self {
        let ask = Self::new("POST", &format!("{API}{path}")).token(token);
        ask.body("application/json", body.to_string())
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.head += &format!("{name}: {value}\r\n");
        self
    }

    pub(crate) fn token(self, token: &str) -> Self {
        self.header("Authorization", &format!("Bearer {token}"))
    }

    pub(crate) fn body(self, media_type: &str, body: impl Into<Vec<u8>>) -> Self {
        Self { body: body.into(), ..self.header("Content-Type", media_type) }
    }

    /// Sends it on a connection of its own.
    pub(crate) async fn send(&self, address: SocketAddr) -> io::Result<Answer> {
        Connection::open(address).await?.send(self).await
    }

    /// Its head, ready to be sent.
    pub(crate) fn head(&self) -> String {
        format!("{}Content-Length: {}\r\n\r\n", self.head, self.body.len())
    }
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers(name).next()
    }

    pub(crate) fn headers(&self, name: &str) -> impl Iterator<Item = &str> {
        let lines = self.head.split("\r\n").filter_map(|line| line.split_once(": "));
        lines.filter(move |(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

/// A connection that is kept.
pub(crate) struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Connection {
    pub(crate) async fn open(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: Vec::new() })
    }

    /// Sends a request and reads its answer.
    pub(crate) async fn send(&mut self, ask: &Ask) -> io::Result<Answer> {
        let mut bytes = ask.head().into_bytes();
        bytes.extend_from_slice(&ask.body);
        let exchange = async {
            self.stream.write_all(&bytes).await?;
            self.read().await
        };
        let late = |_| io::Error::new(io::ErrorKind::TimedOut, "no answer");
        tokio::time::timeout(PATIENCE, exchange).await.map_err(late)?
    }

    async fn read(&mut self) -> io::Result<Answer> {
        let end = loop {
            if let Some(end) = self.buffer.windows(4).position(|four| four == b"\r\n\r\n") {
                break end;
            }
            self.more().await?;
        };
        let head = String::from_utf8_lossy(&self.buffer[..end]).into_owned();
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.ok_or(io::ErrorKind::InvalidData)?;
        let mut answer = Answer { status, head, body: Vec::new() };
        let length = answer.header("content-length").and_then(|length| length.parse().ok());
        let length = end + 4 + length.unwrap_or(0_usize);
        while self.buffer.len() < length {
            self.more().await?;
        }
        answer.body = self.buffer[end + 4..length].to_vec();
        self.buffer.drain(..length);
        Ok(answer)
    }

    async fn more(&mut self) -> io::Result<()> {
        match self.stream.read_buf(&mut self.buffer).await? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }
}
