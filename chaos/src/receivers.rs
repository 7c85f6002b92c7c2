//! Receivers that hang, drip, reset, have the wrong certificate or never end, beside one that is well.

use crate::{
    Outcome, Scale, ensure,
    ledger::Ledger,
    load::Load,
    office::{Engine, Office},
    proxy::{Fault, Proxy},
    receiver::{Manner, Receiver},
    report::Proof,
    wait_until,
};
use serde_json::Value;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

const FAULT: &str = "receivers slow, dripping, resetting, wrong TLS, without an end";
/// An attempt lasts up to 15 seconds, and each that failed waits for its own time.
const PATIENCE: Duration = Duration::from_secs(180);

pub(crate) async fn run(scale: Scale) -> Outcome<Vec<Proof>> {
    let writes = scale.pick(60, 400);
    let try_on = |engine| move || crate::runtime()?.block_on(deliver(engine, writes));
    // Most of it is waiting: both at a time.
    let postgres = std::thread::spawn(try_on(Engine::Postgres));
    let sqlite = tokio::task::block_in_place(|| std::thread::spawn(try_on(Engine::Sqlite)).join());
    let joined = |outcome: std::thread::Result<Outcome<Proof>>| {
        outcome.unwrap_or_else(|_| Err("it panicked".into()))
    };
    let postgres = tokio::task::block_in_place(|| postgres.join());
    Ok(vec![joined(sqlite)?, joined(postgres)?])
}

/// An endpoint whose way to a good receiver is bad.
struct Behind {
    endpoint: String,
    receiver: Receiver,
    proxy: Proxy,
}

impl Behind {
    async fn start(office: &Office, fault: Fault) -> Outcome<Self> {
        let receiver = Receiver::start(Manner::Content).await?;
        let proxy = Proxy::start(receiver.address).await?;
        proxy.set(fault);
        let endpoint = office.endpoint(&format!("http://{}/", proxy.address))?;
        Ok(Self { endpoint, receiver, proxy })
    }

    /// Waits until an attempt has failed.
    async fn fails(&self, office: &Office, with: &str) -> Outcome {
        wait_until(PATIENCE, async || {
            let shown = office.deliveries(&self.endpoint)?;
            let has_failed = |delivery: &Value| {
                delivery["lastError"].as_str().is_some_and(|error| error.starts_with(with))
            };
            ensure(shown.iter().any(has_failed), || format!("no attempt failed with «{with}»"))
        })
        .await
    }

    /// Waits until all have come.
    async fn catches_up(&self, events: u64) -> Outcome {
        wait_until(PATIENCE, async || {
            let came = self.receiver.versions().len() as u64;
            ensure(came == events, || format!("{came} of {events} came"))
        })
        .await
    }
}

async fn deliver(engine: Engine, writes: u64) -> Outcome<Proof> {
    let office = Office::open(engine).await?;
    let drip = Fault::Drip { bytes: 1, every: Duration::from_millis(500) };
    let hanging = Behind::start(&office, Fault::BlackHole).await?;
    let dripping = Behind::start(&office, drip).await?;
    let resetting = Behind::start(&office, Fault::Reset).await?;
    let slow = Behind::start(&office, Fault::Latency(Duration::from_millis(300))).await?;
    let untrusted = Receiver::untrusted().await?;
    let untrusted_id = office.endpoint(&format!("https://{}/", untrusted.address))?;
    let endless = Receiver::start(Manner::Endless).await?;
    let endless_id = office.endpoint(&endless.url())?;
    let well = Receiver::start(Manner::Content).await?;
    office.endpoint(&well.url())?;
    let ledger = Arc::new(Ledger::default());
    let program = office.serve().await?;
    let load = Load::start(&ledger, office.token(), &[program.geo]);
    ledger.wait_for(0, writes).await?;
    load.stop().await;
    resetting.fails(&office, "no HTTP answer").await?;
    let (came, _) = resetting.receiver.counts();
    ensure(came == 0, || format!("{came} went through a connection that was reset"))?;
    resetting.proxy.set(Fault::None);
    // The good one has everything, once, while the bad ones have nothing.
    let settled = ledger.settle(&office, &program, &well).await?;
    for behind in [&hanging, &dripping] {
        let (came, _) = behind.receiver.counts();
        ensure(came == 0, || format!("{came} went through"))?;
    }
    ensure(settled.repeats == 0, || format!("{} repeats", settled.repeats))?;
    let events = settled.delivered;
    wait_until(PATIENCE, async || {
        let shown = office.deliveries(&endless_id)?;
        let once =
            |delivery: &&Value| delivery["state"] == "delivered" && delivery["attempts"] == 1;
        let done = shown.iter().filter(once).count() as u64;
        ensure(done == events, || format!("{done} of {events} without an end delivered at once"))
    })
    .await?;
    wait_until(PATIENCE, async || {
        let shown = office.deliveries(&untrusted_id)?;
        let tried = |delivery: &Value| delivery["attempts"].as_u64() > Some(0);
        let is_refused = shown.iter().any(tried) && untrusted.connections() > 0;
        ensure(is_refused, || "the wrong certificate was not tried".to_owned())
    })
    .await?;
    ensure(untrusted.counts() == (0, 0), || "the wrong certificate was accepted".to_owned())?;
    for behind in [&hanging, &dripping] {
        behind.fails(&office, "no answer within 15 seconds").await?;
    }
    // Put right, all come by themselves, along the schedule.
    let begun = Instant::now();
    for behind in [&hanging, &dripping, &slow] {
        behind.proxy.set(Fault::None);
    }
    for behind in [&hanging, &dripping, &resetting, &slow] {
        behind.catches_up(events).await?;
    }
    Ok(Proof {
        acknowledged: ledger.acknowledged(),
        repeats: Some((settled.repeats, events)),
        recovery: Some(begun.elapsed()),
        seen: "the good one had all before one that hangs or drips had any; an attempt ended after 15 s; an endless answer was a success, once; the wrong certificate got nothing; put right, all came".into(),
        ..Proof::new(FAULT, &engine, 6)
    })
}
