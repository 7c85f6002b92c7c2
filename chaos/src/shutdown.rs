//! SIGTERM under load, and a second server on the same SQLite file.

use crate::{
    Result, Scale, ensure,
    event_receiver::{Behavior, EventReceiver},
    fixture::Fixture,
    ledger::Ledger,
    load::Load,
    report::{ScenarioResult, format_time},
};
use groma_testkit::{
    Engine, ServerProcess,
    http::{Connection, Request},
};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// A shutdown finishes pending requests within this time.
const GRACE: Duration = Duration::from_secs(10);
/// The longest shutdown without pending requests.
const IDLE_GRACE: Duration = Duration::from_secs(5);

pub(crate) async fn run(scale: Scale) -> Result<Vec<ScenarioResult>> {
    let mut results = Vec::new();
    for engine in Engine::ALL {
        results.push(terminate(engine, scale.pick(2, 20)).await?);
        results.push(stop_with_idle_connection(engine, scale.pick(1, 5)).await?);
    }
    results.push(second(scale.pick(2, 10)).await?);
    Ok(results)
}

async fn terminate(engine: Engine, rounds: u64) -> Result<ScenarioResult> {
    let fixture = Fixture::new(engine);
    let receiver = EventReceiver::start(Behavior::Accept);
    fixture.create_endpoint(&receiver.url())?;
    let ledger = Arc::new(Ledger::default());
    let mut server = fixture.serve().await?;
    let load = Load::start(&ledger, fixture.token(), &[server.geo().address()]);
    let (mut slowest, mut recovery) = (Duration::ZERO, Duration::ZERO);
    for _ in 0..rounds {
        ledger.wait_for(ledger.acknowledged(), 30).await?;
        let took = stop(server)?;
        ensure(took < GRACE, || format!("the shutdown took {}", format_time(took)))?;
        slowest = slowest.max(took);
        let start = Instant::now();
        server = fixture.serve().await?;
        load.point_to(&[server.geo().address()]);
        ledger.wait_for(ledger.acknowledged(), 1).await?;
        recovery = recovery.max(start.elapsed());
    }
    load.stop().await;
    let verified = ledger.verify(&fixture, &server, &receiver).await?;
    ensure(verified.repeats == 0, || format!("{} repeats", verified.repeats))?;
    Ok(ScenarioResult {
        acknowledged: ledger.acknowledged(),
        repeats: Some((verified.repeats, verified.delivered)),
        recovery: Some(recovery),
        details: format!("exit code 0 after {} at most", format_time(slowest)),
        ..ScenarioResult::new("SIGTERM under load", &engine, rounds)
    })
}

/// Sends SIGTERM and returns the time until the exit.
fn stop(server: ServerProcess) -> Result<Duration> {
    let start = Instant::now();
    let code = tokio::task::block_in_place(|| server.terminate());
    ensure(code == Some(0), || format!("the exit code is {code:?}"))?;
    Ok(start.elapsed())
}

/// An idle connection does not delay the shutdown.
async fn stop_with_idle_connection(engine: Engine, rounds: u64) -> Result<ScenarioResult> {
    let fixture = Fixture::new(engine);
    let mut slowest = Duration::ZERO;
    for _ in 0..rounds {
        let server = fixture.serve().await?;
        let mut idle = Connection::open(server.main().address()).await?;
        let response = idle.send(&Request::get("/folders", fixture.token())).await?;
        ensure(response.status == 200, || response.text())?;
        slowest = slowest.max(stop(server)?);
    }
    ensure(slowest < IDLE_GRACE, || format!("the shutdown took {}", format_time(slowest)))?;
    Ok(ScenarioResult {
        acknowledged: rounds,
        details: format!("exit code 0 after {} at most", format_time(slowest)),
        ..ScenarioResult::new("SIGTERM with an idle connection", &engine, rounds)
    })
}

async fn second(rounds: u64) -> Result<ScenarioResult> {
    let fixture = Fixture::new(Engine::Sqlite);
    let server = fixture.serve().await?;
    let mut message = String::new();
    for _ in 0..rounds {
        message = match fixture.run(&["serve"]).into_result() {
            Ok(_) => return Err("a second server started".into()),
            Err(error) => error.to_string(),
        };
        ensure(message.contains("is already in use by another Groma process"), || message.clone())?;
        let response =
            Request::get("/folders", fixture.token()).send(server.main().address()).await?;
        ensure(response.status == 200, || response.text())?;
    }
    let line = message.split(": ").last().unwrap_or_default();
    let line = line.rsplit_once("groma.db").map_or(line, |(_, rest)| rest.trim());
    Ok(ScenarioResult {
        acknowledged: rounds,
        details: format!("rejected with \"… {line}\"; the first server continues"),
        ..ScenarioResult::new("a second `serve` on the same SQLite file", &Engine::Sqlite, rounds)
    })
}
