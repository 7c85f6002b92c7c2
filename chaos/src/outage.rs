//! PostgreSQL crashes and stays down for a while.

use crate::{
    Result, Scale, ensure,
    event_receiver::{Behavior, EventReceiver},
    fixture::FOLDERS,
    fixture::Fixture,
    ledger::Ledger,
    load::Load,
    postgres_server::PostgresServer,
    report::{ScenarioResult, format_time},
};
use groma_testkit::{Engine, ServerProcess, http::Request, wait::retry};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

const FAULT: &str = "PostgreSQL is stopped (`-m immediate`) for a while";
const PATIENCE: Duration = Duration::from_secs(60);
/// The longest time until a request fails.
pub(crate) const MAX_FAILURE_TIME: Duration = Duration::from_secs(5);

pub(crate) async fn run(scale: Scale) -> Result<Vec<ScenarioResult>> {
    let engine = Engine::Postgres;
    let Some(postgres) = PostgresServer::find()? else {
        return Ok(vec![ScenarioResult::skipped(
            FAULT,
            &engine,
            "this server was not started by scripts/with-postgres",
        )]);
    };
    let rounds = scale.pick(1, 8);
    let fixture = Fixture::new(engine);
    let receiver = EventReceiver::start(Behavior::Accept);
    fixture.create_endpoint(&receiver.url())?;
    let ledger = Arc::new(Ledger::default());
    let server = fixture.serve().await?;
    let load = Load::start(&ledger, fixture.token(), &[server.geo().address()]);
    let (mut recovery, mut slowest) = (Duration::ZERO, Duration::ZERO);
    for _ in 0..rounds {
        ledger.wait_for(ledger.acknowledged(), 20).await?;
        let before = ledger.errors();
        postgres.stop()?;
        let outage = check_outage(&fixture, &server, &ledger, before).await;
        // Other scenarios need the server, whatever the outcome is.
        postgres.start().await?;
        slowest = slowest.max(outage?);
        let start = Instant::now();
        ledger.wait_for(ledger.acknowledged(), 1).await?;
        retry(PATIENCE, async || {
            let ready = Request::new("GET", "/readyz").send(server.admin().address()).await?;
            ensure(ready.status == 200, || format!("/readyz returned {}", ready.status))
        })
        .await?;
        recovery = recovery.max(start.elapsed());
    }
    load.stop().await;
    let verified = ledger.verify(&fixture, &server, &receiver).await?;
    slowest = slowest.max(ledger.slowest_error());
    ensure(slowest < MAX_FAILURE_TIME, || {
        format!("a request took {} to fail", format_time(slowest))
    })?;
    Ok(vec![ScenarioResult {
        acknowledged: ledger.acknowledged(),
        repeats: Some((verified.repeats, verified.delivered)),
        recovery: Some(recovery),
        details: format!(
            "{} writes got a 500, the slowest after {}; `/readyz` returned 503; the process kept running",
            ledger.errors(),
            format_time(slowest)
        ),
        ..ScenarioResult::new(FAULT, &engine, rounds)
    }])
}

/// Checks the responses without a database, and returns the time of the slowest.
async fn check_outage(
    fixture: &Fixture,
    server: &ServerProcess,
    ledger: &Ledger,
    before: u64,
) -> Result<Duration> {
    let mut slowest = Duration::ZERO;
    for path in ["/folders", "/folders/F0", "/folders?term=F", "/statuses"] {
        let start = Instant::now();
        let response = Request::get(path, fixture.token()).send(server.main().address()).await?;
        slowest = slowest.max(start.elapsed());
        let is_plain = response.json()["message"] == "Internal server error";
        ensure(response.status == 500 && is_plain, || format!("{path}: {}", response.text()))?;
    }
    let ready = Request::new("GET", "/readyz").send(server.admin().address()).await?;
    ensure(ready.status == 503, || format!("/readyz returned {}", ready.status))?;
    retry(PATIENCE, async || {
        let failed = ledger.errors() - before;
        ensure(failed >= FOLDERS as u64, || format!("{failed} writes failed"))
    })
    .await?;
    Ok(slowest)
}
