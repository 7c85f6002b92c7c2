//! The clock of the machine is set, an hour forth and back, under a program that runs (libfaketime).
//!
//! On PostgreSQL both the rate and deliveries go by the clock of the database, which is one for all
//! replicas; here it is the program's own clock that steps, so that nothing may change at all.

use crate::{
    Outcome, Scale, ensure,
    http::Ask,
    ledger::feature,
    office::{Engine, Office, Program, RATE},
    receiver::{Manner, Receiver},
    report::{Proof, seconds},
    wait_until,
};
use serde_json::Value;
use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

const FAULT: &str = "clock steps an hour";
const PATIENCE: Duration = Duration::from_secs(90);
const LIMIT: u32 = 10;
const HOUR: i64 = 3_600;

pub(crate) async fn run(scale: Scale) -> Outcome<Vec<Proof>> {
    let mut proofs = Vec::new();
    for engine in Engine::BOTH {
        proofs.push(step(engine, scale.pick(1, 3)).await?);
    }
    Ok(proofs)
}

/// Where Debian puts it.
fn library() -> Option<PathBuf> {
    let folders = std::fs::read_dir("/usr/lib").ok()?.filter_map(Result::ok);
    let mut candidates = folders.map(|folder| folder.path().join("faketime/libfaketimeMT.so.1"));
    candidates.find(|path| path.exists())
}

async fn step(engine: Engine, rounds: u64) -> Outcome<Proof> {
    let Some(library) = library() else {
        return Ok(Proof::skipped(FAULT, &engine, "libfaketime is not installed"));
    };
    let mut office = Office::open(engine).await?;
    office.set(RATE, &LIMIT.to_string());
    let receiver = Receiver::start(Manner::Unwell).await?;
    let endpoint = office.endpoint(&receiver.url())?;
    let file = office.folder().join("clock");
    let next = office.folder().join("clock.next");
    // In one step: half a number would be another time.
    let set = |seconds: i64| {
        std::fs::write(&next, format!("{seconds:+}"))?;
        std::fs::rename(&next, &file)
    };
    set(0)?;
    let program = office
        .serve_with(&[
            ("LD_PRELOAD", library.to_str().ok_or("a name")?),
            ("FAKETIME_TIMESTAMP_FILE", file.to_str().ok_or("a name")?),
            ("FAKETIME_NO_CACHE", "1"),
            // Both names, of older and newer versions.
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1"),
            ("DONT_FAKE_MONOTONIC", "1"),
        ])
        .await?;
    set(HOUR)?;
    let ask = Ask::get("/folders/F0", &office.new_token()?);
    let told = number(&ask.send(program.main).await?, "x-ratelimit-reset")?;
    let now = jiff::Timestamp::now().as_second();
    if told < now.unsigned_abs() + 1_800 {
        return Ok(Proof::skipped(FAULT, &engine, "libfaketime does not reach the program"));
    }
    set(0)?;
    let (mut slowest, mut requests, mut steps) = (Duration::ZERO, 0, 0);
    for n in 0..rounds * 2 {
        set(0)?;
        let to = if n % 2 == 0 { HOUR } else { -HOUR };
        requests += rate_holds(&office, &program, || set(to)).await?;
        // Something is due in five seconds when the clock goes back an hour.
        receiver.answer(Manner::Unwell);
        let path = "/geometries/geojson?folder=F1";
        let ask = Ask::post(path, &office.new_token()?, &feature(1, n));
        let posted = ask.send(program.geo).await?;
        ensure(posted.status == 200, || posted.text())?;
        wait_until(PATIENCE, async || {
            let is_due = |delivery: &Value| {
                delivery["state"] == "waiting" && delivery["attempts"].as_u64() == Some(1)
            };
            let due = office.deliveries(&endpoint)?.iter().any(is_due);
            ensure(due, || "no first attempt".to_owned())
        })
        .await?;
        let versions = receiver.versions().len();
        receiver.answer(Manner::Content);
        set(to - HOUR)?;
        let begun = Instant::now();
        wait_until(PATIENCE, async || {
            ensure(receiver.versions().len() > versions, || "it was not tried again".to_owned())
        })
        .await?;
        slowest = slowest.max(begun.elapsed());
        requests += 1;
        steps += 3;
    }
    Ok(Proof {
        acknowledged: requests,
        recovery: Some(slowest),
        seen: format!(
            "{LIMIT} of {LIMIT} requests passed and no more, `Retry-After` within a minute; a delivery due in 5 s came after {}",
            seconds(slowest)
        ),
        ..Proof::new(FAULT, &engine, steps)
    })
}

/// The window is full, the clock steps, and it is still full, for a minute at most.
async fn rate_holds(
    office: &Office,
    program: &Program,
    step: impl FnOnce() -> std::io::Result<()>,
) -> Outcome<u64> {
    let ask = Ask::get("/folders/F0", &office.new_token()?);
    for _ in 0..LIMIT {
        let answer = ask.send(program.main).await?;
        ensure(answer.status == 200, || answer.text())?;
    }
    step()?;
    let refused = ask.send(program.main).await?;
    ensure(refused.status == 429, || format!("one more was answered {}", refused.status))?;
    let wait = number(&refused, "retry-after")?;
    ensure((1..=60).contains(&wait), || format!("Retry-After: {wait}"))?;
    Ok(u64::from(LIMIT))
}

fn number(answer: &crate::http::Answer, name: &str) -> Outcome<u64> {
    let text = answer.header(name).ok_or_else(|| format!("no {name}: {}", answer.text()))?;
    Ok(text.parse()?)
}
