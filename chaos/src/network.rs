//! A network to PostgreSQL that is slow, drops connections, or loses all packets.

use crate::{
    Result, Scale, ensure,
    event_receiver::{Behavior, EventReceiver},
    fixture::FOLDERS,
    fixture::Fixture,
    ledger::Ledger,
    load::Load,
    outage::MAX_FAILURE_TIME,
    postgres_server,
    proxy::{Fault, Proxy},
    report::{ScenarioResult, format_time},
};
use groma_testkit::{Engine, wait::retry};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

const PATIENCE: Duration = Duration::from_secs(60);

/// The faults, and whether requests still succeed.
const FAULTS: [(&str, Fault, bool); 4] = [
    (
        "slow network to PostgreSQL (20 ms each way)",
        Fault::Latency(Duration::from_millis(20)),
        true,
    ),
    (
        "slow network to PostgreSQL (256 bytes per millisecond)",
        Fault::Throttle { bytes: 256, every: Duration::from_millis(1) },
        true,
    ),
    ("connections to PostgreSQL are reset", Fault::Reset, false),
    ("network to PostgreSQL loses everything", Fault::BlackHole, false),
];

pub(crate) async fn run(scale: Scale) -> Result<Vec<ScenarioResult>> {
    let rounds = scale.pick(1, 5);
    let mut fixture = Fixture::new(Engine::Postgres);
    let receiver = EventReceiver::start(Behavior::Accept);
    fixture.create_endpoint(&receiver.url())?;
    let direct = fixture.database_url().to_owned();
    let upstream = postgres_server::address(&direct)?;
    let proxy = Proxy::start(upstream).await?;
    let proxied = direct.replace(&upstream.to_string(), &proxy.address.to_string());
    fixture.set_env("GROMA_DATABASE__URL", &proxied);
    let server = fixture.serve().await?;
    // Commands and checks do not use the proxy.
    fixture.set_env("GROMA_DATABASE__URL", &direct);
    let mut results = Vec::new();
    let ledger = Arc::new(Ledger::default());
    for (name, fault, succeeds) in FAULTS {
        let (acknowledged, errors) = (ledger.acknowledged(), ledger.errors());
        let earlier = receiver.counts();
        let load = Load::start(&ledger, fixture.token(), &[server.geo().address()]);
        let mut recovery = Duration::ZERO;
        for _ in 0..rounds {
            ledger.wait_for(ledger.acknowledged(), 20).await?;
            let before = ledger.errors();
            proxy.set(fault);
            if succeeds {
                ledger.wait_for(ledger.acknowledged(), 2 * FOLDERS as u64).await?;
            } else {
                retry(PATIENCE, async || {
                    let failed = ledger.errors() - before;
                    ensure(failed >= FOLDERS as u64, || format!("{failed} writes failed"))
                })
                .await?;
            }
            proxy.set(Fault::None);
            let start = Instant::now();
            ledger.wait_for(ledger.acknowledged(), 1).await?;
            recovery = recovery.max(start.elapsed());
        }
        load.stop().await;
        let verified = ledger.verify(&fixture, &server, &receiver).await?;
        let slowest = ledger.slowest_error();
        ensure(slowest < MAX_FAILURE_TIME, || {
            format!("{name}: a request took {} to fail", format_time(slowest))
        })?;
        let errors = ledger.errors() - errors;
        let delivered = verified.delivered - earlier.0;
        let repeats = verified.repeats - (earlier.1 - earlier.0);
        results.push(ScenarioResult {
            acknowledged: ledger.acknowledged() - acknowledged,
            repeats: Some((repeats, delivered)),
            recovery: Some(recovery),
            details: if succeeds {
                format!("writes succeeded; {errors} got a 500")
            } else {
                format!("{errors} writes got a 500, the slowest after {}", format_time(slowest))
            },
            ..ScenarioResult::new(name, &Engine::Postgres, rounds)
        });
    }
    Ok(results)
}
