//! The clock of a running process jumps an hour forward and back (libfaketime).
//!
//! On PostgreSQL the rate limit and deliveries use the clock of the database, which all replicas share.
//! Only the process's own clock jumps here, so nothing may change at all.

use crate::{
    Result, Scale, ensure,
    event_receiver::{Behavior, EventReceiver},
    fixture::Fixture,
    ledger::feature,
    report::{ScenarioResult, format_time},
};
use groma_testkit::{
    Engine, Response, ServerProcess, http::Request, server::RATE_LIMIT, wait::retry,
};
use serde_json::Value;
use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

const FAULT: &str = "clock jumps an hour";
const PATIENCE: Duration = Duration::from_secs(90);
const LIMIT: u32 = 10;
const HOUR: i64 = 3_600;

pub(crate) async fn run(scale: Scale) -> Result<Vec<ScenarioResult>> {
    let mut results = Vec::new();
    for engine in Engine::ALL {
        results.push(step(engine, scale.pick(1, 3)).await?);
    }
    Ok(results)
}

/// The library where Debian installs it.
fn library() -> Option<PathBuf> {
    let directories = std::fs::read_dir("/usr/lib").ok()?.flatten();
    let mut candidates =
        directories.map(|directory| directory.path().join("faketime/libfaketimeMT.so.1"));
    candidates.find(|path| path.exists())
}

async fn step(engine: Engine, rounds: u64) -> Result<ScenarioResult> {
    let Some(library) = library() else {
        return Ok(ScenarioResult::skipped(FAULT, &engine, "libfaketime is not installed"));
    };
    let mut fixture = Fixture::new(engine);
    fixture.set_env(RATE_LIMIT, &LIMIT.to_string());
    let receiver = EventReceiver::start(Behavior::Fail);
    let endpoint = fixture.create_endpoint(&receiver.url())?;
    let file = fixture.directory().join("clock");
    let next = fixture.directory().join("clock.next");
    // Atomically, because half a number would be another time.
    let set = |seconds: i64| {
        std::fs::write(&next, format!("{seconds:+}"))?;
        std::fs::rename(&next, &file)
    };
    set(0)?;
    let server = fixture
        .serve_with(&[
            ("LD_PRELOAD", library.to_str().ok_or("a valid path")?),
            ("FAKETIME_TIMESTAMP_FILE", file.to_str().ok_or("a valid path")?),
            ("FAKETIME_NO_CACHE", "1"),
            // The names of older and newer versions.
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1"),
            ("DONT_FAKE_MONOTONIC", "1"),
        ])
        .await?;
    set(HOUR)?;
    let request = Request::get("/folders/F0", &fixture.new_token());
    let reset = number(&request.send(server.main().address()).await?, "x-ratelimit-reset")?;
    let now = jiff::Timestamp::now().as_second();
    if reset < now.unsigned_abs() + 1_800 {
        return Ok(ScenarioResult::skipped(
            FAULT,
            &engine,
            "libfaketime does not affect the program",
        ));
    }
    set(0)?;
    let (mut slowest, mut requests, mut steps) = (Duration::ZERO, 0, 0);
    for n in 0..rounds * 2 {
        set(0)?;
        let to = if n % 2 == 0 { HOUR } else { -HOUR };
        requests += check_rate_limit(&fixture, &server, || set(to)).await?;
        // A retry is due in five seconds when the clock jumps back an hour.
        receiver.set_behavior(Behavior::Fail);
        let path = "/geometries/geojson?folder=F1";
        let request = Request::post(path, &fixture.new_token(), &feature(1, n));
        let posted = request.send(server.geo().address()).await?;
        ensure(posted.status == 200, || posted.text())?;
        retry(PATIENCE, async || {
            let is_due = |delivery: &Value| {
                delivery["state"] == "waiting" && delivery["attempts"].as_u64() == Some(1)
            };
            let due = fixture.deliveries(&endpoint)?.iter().any(is_due);
            ensure(due, || "there was no first attempt".to_owned())
        })
        .await?;
        let versions = receiver.versions().len();
        receiver.set_behavior(Behavior::Accept);
        set(to - HOUR)?;
        let start = Instant::now();
        retry(PATIENCE, async || {
            ensure(receiver.versions().len() > versions, || {
                "there was no second attempt".to_owned()
            })
        })
        .await?;
        slowest = slowest.max(start.elapsed());
        requests += 1;
        steps += 3;
    }
    Ok(ScenarioResult {
        acknowledged: requests,
        recovery: Some(slowest),
        details: format!(
            "exactly {LIMIT} requests passed, `Retry-After` was at most a minute; a retry due in 5 s came after {}",
            format_time(slowest)
        ),
        ..ScenarioResult::new(FAULT, &engine, steps)
    })
}

/// Fills the rate window, moves the clock, and verifies that the window is still full.
async fn check_rate_limit(
    fixture: &Fixture,
    server: &ServerProcess,
    step: impl FnOnce() -> std::io::Result<()>,
) -> Result<u64> {
    let request = Request::get("/folders/F0", &fixture.new_token());
    for _ in 0..LIMIT {
        let response = request.send(server.main().address()).await?;
        ensure(response.status == 200, || response.text())?;
    }
    step()?;
    let rejected = request.send(server.main().address()).await?;
    ensure(rejected.status == 429, || format!("one request too many got {}", rejected.status))?;
    let wait = number(&rejected, "retry-after")?;
    ensure((1..=60).contains(&wait), || format!("Retry-After: {wait}"))?;
    Ok(u64::from(LIMIT))
}

fn number(response: &Response, name: &str) -> Result<u64> {
    let text = response.header(name).ok_or_else(|| format!("no {name}: {}", response.text()))?;
    Ok(text.parse()?)
}
