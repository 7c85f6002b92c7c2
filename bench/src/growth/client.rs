//! One connection that is kept, one request at a time, each with its own time.

use crate::{Outcome, report::median};
use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    time::{Duration, Instant},
};

/// A connection with a token.
pub(crate) struct Client {
    stream: BufReader<TcpStream>,
    token: String,
}

impl Client {
    pub(crate) fn new(address: SocketAddr, token: &str) -> Outcome<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        Ok(Self { stream: BufReader::with_capacity(64 * 1024, stream), token: token.to_owned() })
    }

    /// The body of a 200.
    pub(crate) fn get(&mut self, path: &str) -> Outcome<Vec<u8>> {
        self.ask("GET", path, &[])
    }

    /// Posts GeoJSON.
    pub(crate) fn post(&mut self, path: &str, body: &[u8]) -> Outcome<Vec<u8>> {
        self.ask("POST", path, body)
    }

    fn ask(&mut self, method: &str, path: &str, body: &[u8]) -> Outcome<Vec<u8>> {
        let mut request = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n",
            self.token
        );
        if !body.is_empty() {
            let length = body.len();
            request.push_str(&format!(
                "Content-Type: application/geo+json\r\nContent-Length: {length}\r\n"
            ));
        }
        request.push_str("\r\n");
        self.stream.get_mut().write_all(&[request.as_bytes(), body].concat())?;
        let status = self.line()?;
        let mut length = 0;
        loop {
            let line = self.line()?.to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse()?;
            }
        }
        let mut answer = vec![0; length];
        self.stream.read_exact(&mut answer)?;
        if status.starts_with("HTTP/1.1 200") {
            return Ok(answer);
        }
        Err(format!("{method} {path}: {status} {}", String::from_utf8_lossy(&answer)).into())
    }

    fn line(&mut self) -> Outcome<String> {
        let mut line = String::new();
        if self.stream.read_line(&mut line)? == 0 {
            return Err("the connection ended".into());
        }
        Ok(line.trim_end().to_owned())
    }
}

/// How often something is done to tell what it costs.
pub(crate) struct Span {
    /// Done before, and not counted.
    before: u64,
    least: u64,
    most: u64,
    /// After this long, what was done at least is enough.
    enough: Duration,
}

impl Span {
    /// For what leaves no trace.
    pub(crate) const READ: Self =
        Self { before: 20, least: 5, most: 2_000, enough: Duration::from_secs(3) };
    /// For what stays in the database.
    pub(crate) const WRITE: Self =
        Self { before: 5, least: 20, most: 100, enough: Duration::from_secs(10) };

    /// The median of doing it, in milliseconds. Each time has its number.
    pub(crate) fn median(&self, mut doing: impl FnMut(u64) -> Outcome) -> Outcome<f64> {
        let begun = Instant::now();
        let mut times = Vec::new();
        let mut done = 0;
        // What takes long is warm sooner.
        while done < self.before && (done < 1 || begun.elapsed() < self.enough / 3) {
            doing(done)?;
            done += 1;
        }
        let begun = Instant::now();
        for n in done..done + self.most {
            if times.len() as u64 >= self.least && begun.elapsed() > self.enough {
                break;
            }
            let one = Instant::now();
            doing(n)?;
            times.push(one.elapsed().as_secs_f64() * 1_000.0);
        }
        Ok(median(&times))
    }
}
