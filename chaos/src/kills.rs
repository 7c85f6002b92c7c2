//! The process is killed again and again during writes.

use crate::{
    Result, Scale,
    event_receiver::{Behavior, EventReceiver},
    fixture::Fixture,
    ledger::Ledger,
    load::Load,
    report::{ScenarioResult, grouped},
};
use groma_testkit::Engine;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

const FAULT: &str = "kill -9 at random moments during writes";

pub(crate) async fn run(scale: Scale) -> Result<Vec<ScenarioResult>> {
    let mut results = Vec::new();
    for engine in Engine::ALL {
        results.push(kill(engine, scale.pick(5, 50)).await?);
    }
    Ok(results)
}

async fn kill(engine: Engine, rounds: u64) -> Result<ScenarioResult> {
    let fixture = Fixture::new(engine);
    let receiver = EventReceiver::start(Behavior::Accept);
    fixture.create_endpoint(&receiver.url())?;
    let ledger = Arc::new(Ledger::default());
    let mut server = fixture.serve().await?;
    let load = Load::start(&ledger, fixture.token(), &[server.geo().address()]);
    let mut recovery = Duration::ZERO;
    for round in 0..rounds {
        // At a different moment in each round.
        ledger.wait_for(ledger.acknowledged(), 5 + round * 7 % 23).await?;
        drop(server);
        fixture.check_killed()?;
        let start = Instant::now();
        server = fixture.serve().await?;
        load.point_to(&[server.geo().address()]);
        ledger.wait_for(ledger.acknowledged(), 1).await?;
        recovery = recovery.max(start.elapsed());
    }
    load.stop().await;
    let verified = ledger.verify(&fixture, &server, &receiver).await?;
    Ok(ScenarioResult {
        acknowledged: ledger.acknowledged(),
        repeats: Some((verified.repeats, verified.delivered)),
        recovery: Some(recovery),
        details: format!(
            "of {} writes {} got no response; the database was intact after each kill; every event of a committed change arrived",
            grouped(ledger.attempted()),
            grouped(ledger.disconnected())
        ),
        ..ScenarioResult::new(FAULT, &engine, rounds)
    })
}
