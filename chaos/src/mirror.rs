//! A consumer mirrors the workspace from the change feed while records and features are changed in every
//! way and the processes are killed.
//!
//! It knows only the feed and its last cursor, and must end with a byte-identical copy. Webhooks must have
//! delivered the same changes, and the feed must be in the order of the commits.

mod consumer;
mod journal;
mod writers;

use crate::{
    Result, Scale, ensure,
    event_receiver::{Behavior, EventReceiver},
    fixture::Fixture,
    report::{ScenarioResult, grouped},
};
use consumer::{Change, Consumer, Mirror};
use groma_testkit::{Engine, ServerProcess, http::Request, wait::retry};
use journal::Journal;
use parking_lot::RwLock;
use serde_json::{Value, value::RawValue};
use std::{
    collections::{BTreeMap, BTreeSet},
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use writers::Writers;

const FAULT: &str = "kill -9 while a consumer mirrors the workspace from the change feed";
/// Longer than any delivery can take, including a lease that has to expire.
const PATIENCE: Duration = Duration::from_secs(120);
/// All kinds of changes.
const KINDS: &str = "folder,assignment,expense,budget,geometry,layer";
/// The lists of records.
const LISTS: [&str; 4] = ["/folders", "/assignments", "/expenses", "/budgets"];

pub(crate) async fn run(scale: Scale) -> Result<Vec<ScenarioResult>> {
    let rounds = scale.pick(5, 50);
    Ok(vec![mirror(Engine::Sqlite, 1, rounds).await?, mirror(Engine::Postgres, 3, rounds).await?])
}

/// The main and geo addresses of the processes.
type Addresses = Arc<RwLock<Vec<[SocketAddr; 2]>>>;

/// What writers and the consumer share.
#[derive(Clone)]
struct Target {
    addresses: Addresses,
    token: String,
    is_stopped: Arc<AtomicBool>,
}

impl Target {
    /// The main and the geo address of one of the processes.
    fn address(&self, turn: usize) -> [SocketAddr; 2] {
        let addresses = self.addresses.read();
        addresses[turn % addresses.len()]
    }

    fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed)
    }
}

async fn mirror(engine: Engine, replicas: usize, rounds: u64) -> Result<ScenarioResult> {
    let fixture = Arc::new(Fixture::new(engine));
    fixture.run_in_workspace(&["layer", "create", "Survey points"])?;
    let receiver = EventReceiver::start(Behavior::Accept);
    let events = "*,geometry.*,layer.*";
    fixture.run_in_workspace(&["webhook", "create", &receiver.url(), "--events", events])?;
    let mut servers = Vec::new();
    for _ in 0..replicas {
        servers.push(fixture.serve().await?);
    }
    let target = Target {
        addresses: Arc::new(RwLock::new(servers.iter().map(addresses).collect())),
        token: fixture.token().to_owned(),
        is_stopped: Arc::default(),
    };
    // What was written before the endpoint existed is not delivered.
    let all = read(&target, 0, &format!("/changes?kinds={KINDS}&limit=1000")).await?;
    let before = serde_json::from_str::<Value>(&all)?["content"].as_array().map_or(0, Vec::len);
    let journal = Arc::new(Journal::default());
    let consumer = Consumer::start(&target);
    let writers = Writers::start(&target, &fixture, &journal).await?;
    for round in 0..rounds {
        // At a different moment in each round.
        journal.wait_for(20 + round * 13 % 41).await?;
        let index = round as usize % replicas;
        // The process is killed here.
        drop(servers.remove(index));
        fixture.check_killed()?;
        let server = fixture.serve().await?;
        target.addresses.write()[index] = addresses(&server);
        servers.insert(index, server);
    }
    journal.wait_for(20).await?;
    let counts = writers.stop().await?;
    let end = feed_end(&target).await?;
    let mirror = consumer.finish(&end).await?;
    mirror.check_order()?;
    journal.check(&mirror)?;
    compare(&mirror, &target).await?;
    compare_deliveries(&mirror.changes[before..], &receiver).await?;
    fixture.check_database()?;
    let engine = match replicas {
        1 => engine.to_string(),
        _ => format!("{engine}, three replicas"),
    };
    Ok(ScenarioResult {
        acknowledged: journal.len(),
        details: format!(
            "the mirror of {} records and {} features was identical after {} changes by the API, the web \
             application and commands; {} requests got no response; webhooks delivered the same changes",
            grouped(mirror.records.len() as u64),
            grouped(mirror.features.len() as u64),
            grouped(mirror.changes.len() as u64),
            grouped(counts.disconnected),
        ),
        ..ScenarioResult::new(FAULT, &engine, rounds)
    })
}

fn addresses(server: &ServerProcess) -> [SocketAddr; 2] {
    [server.main().address(), server.geo().address()]
}

/// The cursor after the last change.
async fn feed_end(target: &Target) -> Result<String> {
    let now = Request::get("/changes?after=now", &target.token);
    let body = now.send(target.address(0)[0]).await?.json();
    Ok(body["next"].as_str().ok_or("no cursor")?.to_owned())
}

/// Compares the mirror with what the API serves, byte by byte.
async fn compare(mirror: &Mirror, target: &Target) -> Result {
    let mut records = BTreeMap::new();
    for list in LISTS {
        for page in 1.. {
            let path = format!("{list}?limit=100&page={page}");
            let body = read(target, 0, &path).await?;
            let found = documents(&body, "content")?;
            if found.is_empty() {
                break;
            }
            records.extend(found);
        }
    }
    compare_documents("records", &mirror.records, &records)?;
    compare_documents("features", &mirror.features, &all_features(target).await?)
}

async fn all_features(target: &Target) -> Result<BTreeMap<String, String>> {
    let layers: Value = serde_json::from_str(&read(target, 1, "/layers?limit=100").await?)?;
    let mut features = BTreeMap::new();
    for layer in layers["content"].as_array().ok_or("no layers")? {
        features.extend(features_of(target, layer["id"].as_str().ok_or("no id")?).await?);
    }
    Ok(features)
}

/// The features of a layer; none if the layer is gone.
async fn features_of(target: &Target, layer: &str) -> Result<BTreeMap<String, String>> {
    let mut features = BTreeMap::new();
    let mut path = format!("/layers/{layer}/features?limit=1000");
    loop {
        let request = Request::get(&path, &target.token);
        let response = request.send(target.address(0)[1]).await?;
        if response.status == 404 {
            return Ok(BTreeMap::new());
        }
        ensure(response.status == 200, || response.text())?;
        features.extend(documents(&response.text(), "features")?);
        let Some(link) = response.header("link") else { return Ok(features) };
        let next = link.split(['<', '>']).nth(1).and_then(|url| url.split_once("/v1"));
        path = next.ok_or("no path in a link")?.1.to_owned();
    }
}

async fn read(target: &Target, address: usize, path: &str) -> Result<String> {
    let request = Request::get(path, &target.token);
    let response = request.send(target.address(0)[address]).await?;
    ensure(response.status == 200, || response.text())?;
    Ok(response.text())
}

/// The documents of a list by their ids, as they were sent.
fn documents(body: &str, member: &str) -> Result<Vec<(String, String)>> {
    let body: BTreeMap<&str, &RawValue> = serde_json::from_str(body)?;
    let list = body.get(member).ok_or("no list")?;
    let documents: Vec<&RawValue> = serde_json::from_str(list.get())?;
    documents
        .into_iter()
        .map(|document| Ok((id_of(document.get())?, document.get().to_owned())))
        .collect()
}

/// The `id` of a document.
fn id_of(document: &str) -> Result<String> {
    let document: Value = serde_json::from_str(document)?;
    Ok(document["id"].as_str().ok_or("a document without an id")?.to_owned())
}

fn compare_documents(
    name: &str,
    mirrored: &BTreeMap<String, String>,
    served: &BTreeMap<String, String>,
) -> Result {
    for (id, document) in served {
        match mirrored.get(id) {
            Some(known) if known == document => {}
            known => return Err(format!("{name}: {known:?} instead of {document}").into()),
        }
    }
    let extra = mirrored.keys().find(|id| !served.contains_key(*id));
    ensure(extra.is_none(), || format!("{name}: {extra:?} is gone, but in the mirror"))
}

/// Compares changes of the feed with those that webhooks delivered.
async fn compare_deliveries(changes: &[Change], receiver: &EventReceiver) -> Result {
    let expected: BTreeSet<_> = changes.iter().map(|change| change.key.clone()).collect();
    retry(PATIENCE, async || {
        let delivered = receiver.changes();
        let missing: Vec<_> = expected.difference(&delivered).collect();
        ensure(missing.is_empty(), || {
            format!("{} deliveries are missing: {missing:.3?}", missing.len())
        })
    })
    .await?;
    let delivered = receiver.changes();
    let extra = delivered.difference(&expected).next();
    ensure(extra.is_none(), || format!("{extra:?} was delivered, but is not in the feed"))
}
