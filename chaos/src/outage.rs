//! PostgreSQL crashes and stays away for a while.

use crate::{
    Outcome, Scale, ensure,
    http::Ask,
    ledger::{FOLDERS, Ledger},
    load::Load,
    office::{Engine, Office},
    receiver::{Manner, Receiver},
    report::{Proof, seconds},
    server::Server,
    wait_until,
};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

const FAULT: &str = "PostgreSQL stopped (`-m immediate`) and gone for a while";
const PATIENCE: Duration = Duration::from_secs(60);
/// Within this a request has failed.
pub(crate) const FAILS_WITHIN: Duration = Duration::from_secs(5);

pub(crate) async fn run(scale: Scale) -> Outcome<Vec<Proof>> {
    let on = Engine::Postgres;
    let Some(server) = Server::found().await? else {
        return Ok(vec![Proof::skipped(FAULT, &on, "this server is not ours to stop")]);
    };
    let rounds = scale.pick(1, 8);
    let office = Office::open(on).await?;
    let receiver = Receiver::start(Manner::Content).await?;
    office.endpoint(&receiver.url())?;
    let ledger = Arc::new(Ledger::default());
    let program = office.serve().await?;
    let load = Load::start(&ledger, office.token(), &[program.geo]);
    let (mut recovery, mut slowest) = (Duration::ZERO, Duration::ZERO);
    for _ in 0..rounds {
        ledger.wait_for(ledger.acknowledged(), 20).await?;
        let before = ledger.refused();
        server.stop()?;
        let gone = while_gone(&office, &program, &ledger, before).await;
        // Whatever came of that: others need the server.
        server.start().await?;
        slowest = slowest.max(gone?);
        let begun = Instant::now();
        ledger.wait_for(ledger.acknowledged(), 1).await?;
        wait_until(PATIENCE, async || {
            let ready = Ask::new("GET", "/readyz").send(program.admin).await?;
            ensure(ready.status == 200, || format!("/readyz answers {}", ready.status))
        })
        .await?;
        recovery = recovery.max(begun.elapsed());
    }
    load.stop().await;
    let settled = ledger.settle(&office, &program, &receiver).await?;
    slowest = slowest.max(ledger.slowest_refusal());
    ensure(slowest < FAILS_WITHIN, || format!("a request took {} to fail", seconds(slowest)))?;
    Ok(vec![Proof {
        acknowledged: ledger.acknowledged(),
        repeats: Some((settled.repeats, settled.delivered)),
        recovery: Some(recovery),
        seen: format!(
            "{} writes answered 500, the slowest after {}; `/readyz` said 503; one program all along",
            ledger.refused(),
            seconds(slowest)
        ),
        ..Proof::new(FAULT, &on, rounds)
    }])
}

/// What is seen without a database; gives how long the slowest read took to fail.
async fn while_gone(
    office: &Office,
    program: &crate::office::Program,
    ledger: &Ledger,
    before: u64,
) -> Outcome<Duration> {
    let mut slowest = Duration::ZERO;
    for path in ["/folders", "/folders/F0", "/folders?term=F", "/statuses"] {
        let begun = Instant::now();
        let answer = Ask::get(path, office.token()).send(program.main).await?;
        slowest = slowest.max(begun.elapsed());
        let is_plain = answer.json()["message"] == "Internal server error";
        ensure(answer.status == 500 && is_plain, || format!("{path}: {}", answer.text()))?;
    }
    let ready = Ask::new("GET", "/readyz").send(program.admin).await?;
    ensure(ready.status == 503, || format!("/readyz answers {}", ready.status))?;
    wait_until(PATIENCE, async || {
        let refused = ledger.refused() - before;
        ensure(refused >= FOLDERS as u64, || format!("{refused} refused"))
    })
    .await?;
    Ok(slowest)
}
