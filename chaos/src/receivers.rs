//! Webhook receivers that hang, respond slowly, reset, have an untrusted certificate or never finish,
//! beside a working one.

use crate::{
    Result, Scale, ensure,
    event_receiver::{Behavior, EventReceiver},
    fixture::Fixture,
    ledger::Ledger,
    load::Load,
    proxy::{Fault, Proxy},
    report::ScenarioResult,
};
use groma_testkit::{Engine, wait::retry};
use serde_json::Value;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

const FAULT: &str =
    "receivers that are slow, hang, reset, have an untrusted certificate or respond endlessly";
/// An attempt takes up to 15 seconds, and retries wait longer.
const PATIENCE: Duration = Duration::from_secs(180);
/// The error of an attempt that reached the time limit.
const TIMED_OUT: &str = "no response within 15 seconds";

pub(crate) async fn run(scale: Scale) -> Result<Vec<ScenarioResult>> {
    let writes = scale.pick(60, 400);
    let try_on = |engine| move || crate::runtime()?.block_on(deliver(engine, writes));
    // Both engines at the same time, because most of it is waiting.
    let postgres = std::thread::spawn(try_on(Engine::Postgres));
    let sqlite = tokio::task::block_in_place(|| std::thread::spawn(try_on(Engine::Sqlite)).join());
    let joined = |outcome: std::thread::Result<Result<ScenarioResult>>| {
        outcome.unwrap_or_else(|_| Err("panicked".into()))
    };
    let postgres = tokio::task::block_in_place(|| postgres.join());
    Ok(vec![joined(sqlite)?, joined(postgres)?])
}

/// An endpoint with a network fault in front of a working receiver.
struct FaultyEndpoint {
    endpoint: String,
    receiver: EventReceiver,
    proxy: Proxy,
}

impl FaultyEndpoint {
    async fn start(fixture: &Fixture, fault: Fault) -> Result<Self> {
        let receiver = EventReceiver::start(Behavior::Accept);
        let proxy = Proxy::start(receiver.address).await?;
        proxy.set(fault);
        let endpoint = fixture.create_endpoint(&format!("http://{}/", proxy.address))?;
        Ok(Self { endpoint, receiver, proxy })
    }

    async fn wait_for_failure(&self, fixture: &Fixture, error: &str) -> Result {
        wait_for_failure(fixture, &self.endpoint, error).await
    }

    /// Waits until all events have arrived.
    async fn wait_for_events(&self, events: u64) -> Result {
        retry(PATIENCE, async || {
            let received = self.receiver.versions().len() as u64;
            ensure(received == events, || format!("{received} of {events} events arrived"))
        })
        .await
    }
}

/// Waits until an attempt has failed with this error.
async fn wait_for_failure(fixture: &Fixture, endpoint: &str, error: &str) -> Result {
    retry(PATIENCE, async || {
        let deliveries = fixture.deliveries(endpoint)?;
        let has_failed = |delivery: &Value| {
            delivery["lastError"].as_str().is_some_and(|found| found.starts_with(error))
        };
        ensure(deliveries.iter().any(has_failed), || format!("no attempt failed with: {error}"))
    })
    .await
}

async fn deliver(engine: Engine, writes: u64) -> Result<ScenarioResult> {
    let fixture = Fixture::new(engine);
    let throttle = Fault::Throttle { bytes: 1, every: Duration::from_millis(500) };
    let hanging = FaultyEndpoint::start(&fixture, Fault::BlackHole).await?;
    let throttled = FaultyEndpoint::start(&fixture, throttle).await?;
    let resetting = FaultyEndpoint::start(&fixture, Fault::Reset).await?;
    let slow = FaultyEndpoint::start(&fixture, Fault::Latency(Duration::from_millis(300))).await?;
    let untrusted = EventReceiver::with_untrusted_certificate();
    let untrusted_id = fixture.create_endpoint(&format!("https://{}/", untrusted.address))?;
    let endless = EventReceiver::start(Behavior::Endless);
    let endless_id = fixture.create_endpoint(&endless.url())?;
    let slow_head = EventReceiver::start(Behavior::SlowHead);
    let slow_head_id = fixture.create_endpoint(&slow_head.url())?;
    let working = EventReceiver::start(Behavior::Accept);
    fixture.create_endpoint(&working.url())?;
    let ledger = Arc::new(Ledger::default());
    let server = fixture.serve().await?;
    let load = Load::start(&ledger, fixture.token(), &[server.geo().address()]);
    ledger.wait_for(0, writes).await?;
    load.stop().await;
    resetting.wait_for_failure(&fixture, "invalid HTTP response").await?;
    let (received, _) = resetting.receiver.counts();
    ensure(received == 0, || format!("{received} deliveries passed a reset connection"))?;
    resetting.proxy.set(Fault::None);
    // The working receiver has every event once, while the faulty ones have none.
    let verified = ledger.verify(&fixture, &server, &working).await?;
    for faulty in [&hanging, &throttled] {
        let (received, _) = faulty.receiver.counts();
        ensure(received == 0, || format!("{received} deliveries arrived"))?;
    }
    ensure(verified.repeats == 0, || format!("{} repeats", verified.repeats))?;
    let events = verified.delivered;
    retry(PATIENCE, async || {
        let deliveries = fixture.deliveries(&endless_id)?;
        let once =
            |delivery: &&Value| delivery["state"] == "delivered" && delivery["attempts"] == 1;
        let done = deliveries.iter().filter(once).count() as u64;
        ensure(done == events, || format!("{done} of {events} endless responses were successful"))
    })
    .await?;
    retry(PATIENCE, async || {
        let deliveries = fixture.deliveries(&untrusted_id)?;
        let tried = |delivery: &Value| delivery["attempts"].as_u64() > Some(0);
        let is_rejected = deliveries.iter().any(tried) && untrusted.connections() > 0;
        ensure(is_rejected, || "the untrusted certificate was not tried".to_owned())
    })
    .await?;
    ensure(untrusted.counts() == (0, 0), || "the untrusted certificate was accepted".to_owned())?;
    for faulty in [&hanging, &throttled] {
        faulty.wait_for_failure(&fixture, TIMED_OUT).await?;
    }
    wait_for_failure(&fixture, &slow_head_id, TIMED_OUT).await?;
    // After the repair all events arrive by the retry schedule.
    let start = Instant::now();
    for faulty in [&hanging, &throttled, &slow] {
        faulty.proxy.set(Fault::None);
    }
    for faulty in [&hanging, &throttled, &resetting, &slow] {
        faulty.wait_for_events(events).await?;
    }
    Ok(ScenarioResult {
        acknowledged: ledger.acknowledged(),
        repeats: Some((verified.repeats, events)),
        recovery: Some(start.elapsed()),
        details: "the working receiver had all events before a hanging or slow one had any; an attempt ended after 15 s; an endless response was one success; the untrusted certificate got nothing; after the repair all events arrived".into(),
        ..ScenarioResult::new(FAULT, &engine, 7)
    })
}
