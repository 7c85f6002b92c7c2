//! Requests one at a time, and the median of their times.

use crate::{Result, report::median, server::send};
use groma_testkit::http::Request;
use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

/// A client with a token.
pub(crate) struct Client {
    client: groma_testkit::Client,
    token: String,
}

impl Client {
    pub(crate) fn new(address: SocketAddr, token: &str) -> Self {
        Self { client: groma_testkit::Client::new(address), token: token.to_owned() }
    }

    /// The body of a successful response.
    pub(crate) fn get(&self, path: &str) -> Result<Vec<u8>> {
        send(&self.client, &Request::new("GET", path).token(&self.token))
    }

    /// Posts GeoJSON.
    pub(crate) fn post(&self, path: &str, body: &[u8]) -> Result<Vec<u8>> {
        let request = Request::new("POST", path)
            .token(&self.token)
            .header("Content-Type", "application/geo+json")
            .body(body);
        send(&self.client, &request)
    }
}

/// The number of executions of a measurement.
pub(crate) struct Repetitions {
    /// Executions before the measurement.
    warm_up: u64,
    min: u64,
    max: u64,
    /// After this time the minimum number is sufficient.
    time: Duration,
}

impl Repetitions {
    /// For reads.
    pub(crate) const READ: Self =
        Self { warm_up: 20, min: 5, max: 2_000, time: Duration::from_secs(3) };
    /// For writes.
    pub(crate) const WRITE: Self =
        Self { warm_up: 5, min: 20, max: 100, time: Duration::from_secs(10) };

    /// The median time in milliseconds. Each execution gets its number.
    pub(crate) fn median(&self, mut operation: impl FnMut(u64) -> Result) -> Result<f64> {
        let start = Instant::now();
        let mut times = Vec::new();
        let mut done = 0;
        // Slow operations need fewer executions to warm up.
        while done < self.warm_up && (done < 1 || start.elapsed() < self.time / 3) {
            operation(done)?;
            done += 1;
        }
        let start = Instant::now();
        for n in done..done + self.max {
            if times.len() as u64 >= self.min && start.elapsed() > self.time {
                break;
            }
            let one = Instant::now();
            operation(n)?;
            times.push(one.elapsed().as_secs_f64() * 1_000.0);
        }
        Ok(median(&times))
    }
}
