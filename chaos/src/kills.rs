//! Killed at any moment, again and again, under writes.

use crate::{
    Outcome, Scale,
    ledger::Ledger,
    load::Load,
    office::{Engine, Office},
    receiver::{Manner, Receiver},
    report::{Proof, grouped},
};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

const FAULT: &str = "kill -9 at any moment, again and again, under writes";

pub(crate) async fn run(scale: Scale) -> Outcome<Vec<Proof>> {
    let mut proofs = Vec::new();
    for engine in Engine::BOTH {
        proofs.push(kill(engine, scale.pick(5, 50)).await?);
    }
    Ok(proofs)
}

async fn kill(engine: Engine, rounds: u64) -> Outcome<Proof> {
    let office = Office::open(engine).await?;
    let receiver = Receiver::start(Manner::Content).await?;
    office.endpoint(&receiver.url())?;
    let ledger = Arc::new(Ledger::default());
    let mut program = office.serve().await?;
    let load = Load::start(&ledger, office.token(), &[program.geo]);
    let mut recovery = Duration::ZERO;
    for round in 0..rounds {
        // In the middle, at another point each round.
        ledger.wait_for(ledger.acknowledged(), 5 + round * 7 % 23).await?;
        program.kill()?;
        office.check_killed()?;
        let begun = Instant::now();
        program = office.serve().await?;
        load.point_to(&[program.geo]);
        ledger.wait_for(ledger.acknowledged(), 1).await?;
        recovery = recovery.max(begun.elapsed());
    }
    load.stop().await;
    let settled = ledger.settle(&office, &program, &receiver).await?;
    Ok(Proof {
        acknowledged: ledger.acknowledged(),
        repeats: Some((settled.repeats, settled.delivered)),
        recovery: Some(recovery),
        seen: format!(
            "of {} writes {} had no answer; clean after each kill; every event of a committed change came",
            grouped(ledger.attempted()),
            grouped(ledger.broken())
        ),
        ..Proof::new(FAULT, &engine, rounds)
    })
}
