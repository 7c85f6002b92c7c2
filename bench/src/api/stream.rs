//! The time from a change to its event at many clients that follow the stream.

use super::{Engine, FOLDERS};
use crate::{
    Result,
    profile::Profile,
    receiver::micros,
    report::{Goal, Part, Row, Unit, quantile},
    server::Server,
};
use groma_testkit::http::{Connection, Request};
use serde_json::json;
use std::{net::SocketAddr, time::Duration};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines},
    net::TcpStream,
    time::timeout,
};

pub(super) const TOKENS: usize = 20;
/// The most that a token may open.
pub(super) const STREAMS_PER_TOKEN: usize = 10;

/// A client that waits longer for an event has lost it.
const PATIENCE: Duration = Duration::from_secs(60);

pub(super) async fn measure(
    profile: &Profile,
    part: &mut Part,
    engine: &Engine,
    server: &Server,
    tokens: &[&str],
) -> Result {
    // The first round is a warm-up.
    let changes = profile.paced_changes * (profile.rounds as u64 + 1);
    let mut followers = Vec::new();
    for token in &tokens[..TOKENS] {
        for _ in 0..STREAMS_PER_TOKEN {
            let follower = Follower::open(server.main, token).await?;
            followers.push(tokio::spawn(follower.latencies(changes)));
        }
    }
    let mut writer = Connection::open(server.main).await?;
    let mut beat = tokio::time::interval(Duration::from_millis(10));
    for n in 0..changes {
        beat.tick().await;
        let path = format!("/folders/F-{:06}", n % FOLDERS + 1);
        let body = json!({ "clientName": format!("{SENT_AT}{}", micros()) });
        let response = writer.send(&Request::patch(&path, tokens[TOKENS], &body)).await?;
        if response.status != 200 {
            return Err(response.text().into());
        }
    }
    let mut rounds = vec![Vec::new(); profile.rounds + 1];
    for follower in followers {
        let latencies = follower.await??;
        let parts = latencies.chunks(profile.paced_changes as usize);
        for (round, part) in rounds.iter_mut().zip(parts) {
            round.extend_from_slice(part);
        }
    }
    let quantiles = |part| rounds[1..].iter().map(|all| quantile(all, part)).collect::<Vec<f64>>();
    let row = |name: &str, figures: &[f64]| {
        Row::new(format!("PATCH to streamed event, {name}, {}", engine.name), Unit::Millis, figures)
    };
    part.row(row("p50", &quantiles(0.5)));
    part.row(row("p99", &quantiles(0.99)).goal(Goal::AtMost(50.0)));
    Ok(())
}

/// The client name that the writer sets, followed by the time in microseconds.
const SENT_AT: &str = "Sent at ";

/// A client that follows the stream.
struct Follower {
    lines: Lines<BufReader<TcpStream>>,
}

impl Follower {
    /// Opens a stream and waits for its first comment.
    async fn open(address: SocketAddr, token: &str) -> Result<Self> {
        let mut stream = TcpStream::connect(address).await?;
        let request = Request::get("/changes/stream?after=now", token);
        stream.write_all(request.head().as_bytes()).await?;
        let mut follower = Self { lines: BufReader::new(stream).lines() };
        while follower.line().await? != ":" {}
        Ok(follower)
    }

    /// The time from each change to its event, in milliseconds.
    async fn latencies(mut self, changes: u64) -> Result<Vec<f64>> {
        let mut latencies = Vec::new();
        while (latencies.len() as u64) < changes {
            // Events are whole lines; those of the chunked encoding are skipped.
            let line = self.line().await?;
            let Some((_, sent)) = line.split_once(SENT_AT) else { continue };
            let sent: u64 = sent.split('"').next().unwrap_or_default().parse()?;
            latencies.push(micros().saturating_sub(sent) as f64 / 1_000.0);
        }
        Ok(latencies)
    }

    async fn line(&mut self) -> Result<String> {
        let line = timeout(PATIENCE, self.lines.next_line()).await??;
        line.ok_or_else(|| "the server ended the stream".into())
    }
}
