//! Asked to end under load; and a second program on the same SQLite file.

use crate::{
    Outcome, Scale, ensure,
    http::Ask,
    ledger::Ledger,
    load::Load,
    office::{Engine, Office},
    receiver::{Manner, Receiver},
    report::{Proof, seconds},
};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// What runs is finished within this.
const GRACE: Duration = Duration::from_secs(10);
/// A moment more, for the machine.
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) async fn run(scale: Scale) -> Outcome<Vec<Proof>> {
    let mut proofs = Vec::new();
    for engine in Engine::BOTH {
        proofs.push(terminate(engine, scale.pick(2, 20)).await?);
    }
    proofs.push(second(scale.pick(2, 10)).await?);
    Ok(proofs)
}

async fn terminate(engine: Engine, rounds: u64) -> Outcome<Proof> {
    let office = Office::open(engine).await?;
    let receiver = Receiver::start(Manner::Content).await?;
    office.endpoint(&receiver.url())?;
    let ledger = Arc::new(Ledger::default());
    let mut program = office.serve().await?;
    let load = Load::start(&ledger, office.token(), &[program.geo]);
    let (mut slowest, mut recovery) = (Duration::ZERO, Duration::ZERO);
    for _ in 0..rounds {
        ledger.wait_for(ledger.acknowledged(), 30).await?;
        program.signal("TERM")?;
        let (code, took) = program.ended(PATIENCE).await?;
        ensure(code == Some(0), || format!("it ended with {code:?}"))?;
        ensure(took < GRACE, || format!("it ended after {}", seconds(took)))?;
        slowest = slowest.max(took);
        let begun = Instant::now();
        program = office.serve().await?;
        load.point_to(&[program.geo]);
        ledger.wait_for(ledger.acknowledged(), 1).await?;
        recovery = recovery.max(begun.elapsed());
    }
    load.stop().await;
    let settled = ledger.settle(&office, &program, &receiver).await?;
    ensure(settled.repeats == 0, || format!("{} repeats", settled.repeats))?;
    Ok(Proof {
        acknowledged: ledger.acknowledged(),
        repeats: Some((settled.repeats, settled.delivered)),
        recovery: Some(recovery),
        seen: format!("exit 0 after {} at most", seconds(slowest)),
        ..Proof::new("SIGTERM under load", &engine, rounds)
    })
}

async fn second(rounds: u64) -> Outcome<Proof> {
    let office = Office::open(Engine::Sqlite).await?;
    let program = office.serve().await?;
    let mut words = String::new();
    for _ in 0..rounds {
        words = match office.groma(&["serve"]) {
            Ok(_) => return Err("a second program served".into()),
            Err(error) => error.to_string(),
        };
        ensure(words.contains("is served by another groma already"), || words.clone())?;
        let answer = Ask::get("/folders", office.token()).send(program.main).await?;
        ensure(answer.status == 200, || answer.text())?;
    }
    let line = words.split(": ").last().unwrap_or_default();
    let line = line.rsplit_once("groma.db").map_or(line, |(_, rest)| rest.trim());
    Ok(Proof {
        acknowledged: rounds,
        seen: format!("refused: «… {line}»; the first goes on"),
        ..Proof::new("a second `serve` on the same SQLite file", &Engine::Sqlite, rounds)
    })
}
