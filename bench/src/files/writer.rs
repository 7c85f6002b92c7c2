//! A client that creates folders through the API, one after the other, and notes how long each takes.

use crate::{Result, server::send};
use groma_testkit::{Client, http::Request};
use serde_json::json;
use std::{
    net::SocketAddr,
    sync::mpsc::{self, RecvTimeoutError},
    thread::JoinHandle,
    time::{Duration, Instant},
};

/// The pause after each folder.
const PAUSE: Duration = Duration::from_millis(5);

pub(super) struct Writer {
    stop: mpsc::Sender<()>,
    thread: JoinHandle<Result<Waits>>,
}

impl Writer {
    pub(super) fn start(address: SocketAddr, token: &str) -> Self {
        let (stop, stopped) = mpsc::channel();
        let (client, token) = (Client::new(address), token.to_owned());
        let thread = std::thread::spawn(move || {
            let request = Request::post("/folders", &token, &json!({ "name": "Survey" }));
            let mut waits = Vec::new();
            while stopped.recv_timeout(PAUSE) == Err(RecvTimeoutError::Timeout) {
                let start = Instant::now();
                send(&client, &request)?;
                waits.push((Instant::now(), start.elapsed()));
            }
            Ok(Waits(waits))
        });
        Self { stop, thread }
    }

    pub(super) fn stop(self) -> Result<Waits> {
        drop(self.stop);
        self.thread.join().map_err(|_| "the writer panicked")?
    }
}

/// When each request was answered, and how long it took.
pub(super) struct Waits(Vec<(Instant, Duration)>);

impl Waits {
    /// The longest one, in milliseconds, of those answered before this moment.
    pub(super) fn longest_before(&self, moment: Instant) -> f64 {
        longest(self.0.iter().filter(|(answered, _)| *answered < moment))
    }

    /// The longest one, in milliseconds, of those answered later.
    pub(super) fn longest_after(&self, moment: Instant) -> f64 {
        longest(self.0.iter().filter(|(answered, _)| *answered >= moment))
    }
}

fn longest<'a>(waits: impl Iterator<Item = &'a (Instant, Duration)>) -> f64 {
    waits.map(|(_, wait)| wait.as_secs_f64() * 1_000.0).fold(0.0, f64::max)
}
