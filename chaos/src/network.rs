//! The way to PostgreSQL is slow, drips, is cut, or swallows everything.

use crate::{
    Outcome, Scale, ensure,
    ledger::{FOLDERS, Ledger},
    load::Load,
    office::{Engine, Office},
    outage::FAILS_WITHIN,
    proxy::{Fault, Proxy},
    receiver::{Manner, Receiver},
    report::{Proof, seconds},
    server, wait_until,
};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

const PATIENCE: Duration = Duration::from_secs(60);

/// What is done to the connections, and whether requests still succeed.
const FAULTS: [(&str, Fault, bool); 4] = [
    (
        "the way to PostgreSQL is slow (20 ms each way)",
        Fault::Latency(Duration::from_millis(20)),
        true,
    ),
    (
        "the way to PostgreSQL drips (256 bytes a millisecond)",
        Fault::Drip { bytes: 256, every: Duration::from_millis(1) },
        true,
    ),
    ("connections to PostgreSQL are reset", Fault::Reset, false),
    ("the way to PostgreSQL swallows everything", Fault::BlackHole, false),
];

pub(crate) async fn run(scale: Scale) -> Outcome<Vec<Proof>> {
    let rounds = scale.pick(1, 5);
    let mut office = Office::open(Engine::Postgres).await?;
    let receiver = Receiver::start(Manner::Content).await?;
    office.endpoint(&receiver.url())?;
    let direct = office.database().to_owned();
    let upstream = server::address(&direct)?;
    let proxy = Proxy::start(upstream).await?;
    let proxied = direct.replace(&upstream.to_string(), &proxy.address.to_string());
    office.set_database(proxied);
    let program = office.serve().await?;
    // Commands and checks go straight there.
    office.set_database(direct);
    let mut proofs = Vec::new();
    let ledger = Arc::new(Ledger::default());
    for (name, fault, goes_on) in FAULTS {
        let (acknowledged, refused) = (ledger.acknowledged(), ledger.refused());
        let earlier = receiver.counts();
        let load = Load::start(&ledger, office.token(), &[program.geo]);
        let mut recovery = Duration::ZERO;
        for _ in 0..rounds {
            ledger.wait_for(ledger.acknowledged(), 20).await?;
            let before = ledger.refused();
            proxy.set(fault);
            if goes_on {
                ledger.wait_for(ledger.acknowledged(), 2 * FOLDERS as u64).await?;
            } else {
                wait_until(PATIENCE, async || {
                    let refused = ledger.refused() - before;
                    ensure(refused >= FOLDERS as u64, || format!("{refused} refused"))
                })
                .await?;
            }
            proxy.set(Fault::None);
            let begun = Instant::now();
            ledger.wait_for(ledger.acknowledged(), 1).await?;
            recovery = recovery.max(begun.elapsed());
        }
        load.stop().await;
        let settled = ledger.settle(&office, &program, &receiver).await?;
        let slowest = ledger.slowest_refusal();
        ensure(slowest < FAILS_WITHIN, || {
            format!("{name}: a request took {} to fail", seconds(slowest))
        })?;
        let refused = ledger.refused() - refused;
        let delivered = settled.delivered - earlier.0;
        let repeats = settled.repeats - (earlier.1 - earlier.0);
        proofs.push(Proof {
            acknowledged: ledger.acknowledged() - acknowledged,
            repeats: Some((repeats, delivered)),
            recovery: Some(recovery),
            seen: if goes_on {
                format!("writes went on; {refused} answered 500")
            } else {
                format!("{refused} writes answered 500, the slowest after {}", seconds(slowest))
            },
            ..Proof::new(name, &Engine::Postgres, rounds)
        });
    }
    Ok(proofs)
}
