//! Deliveries: latency, throughput, draining a backlog, and the effect of hanging endpoints on others.
//! Changes and the delivery loop are in one process, as in `groma serve`; the receiver is another process
//! on the same cores.

use crate::{
    Result,
    commands::{apply, create, endpoint, now, workspace, write},
    load::mix,
    profile::Profile,
    receiver::{Receiver, micros},
    report::{Goal, Part, Row, Unit, quantile},
    row::number,
    server::Server,
};
use groma_store::Store;
use groma_webhooks::{AddressPolicy, Client, DeliverySender, Resolver};
use std::{
    collections::HashMap,
    time::{Duration, Instant},
};
use tokio::{sync::oneshot, task::JoinHandle};

/// The number of concurrent writers.
const WRITERS: u64 = 256;

pub(crate) async fn run(profile: &Profile) -> Result<Part> {
    let mut part = Part::new("webhooks", "Deliveries");
    part.note(format!(
        "The receiver is a separate process. Changes with delivery: {} changes per round (a third of them on \
         PostgreSQL) by {WRITERS} writers, until the last one has arrived. Many endpoints: {} changes at 20 per second to 50 of 1,000 endpoints each.",
        number(profile.changes as f64),
        profile.many_endpoint_changes
    ));
    for (engine, database, changes, goal) in [
        ("SQLite", profile.new_sqlite("webhooks")?, profile.changes, 5_000.0),
        ("PostgreSQL", profile.new_postgres("webhooks")?, profile.changes / 3, 2_500.0),
    ] {
        let store = Store::open(&database.parse()?).await?;
        latency(profile, &mut part, engine, &store).await?;
        let rates = rates(profile, &store, changes).await?;
        let row = Row::new(format!("changes with delivery, {engine}"), Unit::PerSecond, &rates);
        part.row(row.goal(Goal::AtLeast(goal)));
        many_endpoints(profile, &mut part, engine, &store).await?;
        backlog(profile, &mut part, engine, &store, &database).await?;
    }
    Ok(part)
}

/// A delivery loop that runs in this process.
pub(crate) struct RunningLoop {
    stop: oneshot::Sender<()>,
    task: JoinHandle<std::result::Result<(), groma_store::Error>>,
}

impl RunningLoop {
    pub(crate) fn start(store: &Store) -> Result<Self> {
        let policy = AddressPolicy::new(vec!["127.0.0.1/32".parse()?]);
        let client = Client::new(policy, Resolver::System, None, "bench")?;
        let deliveries = groma_webhooks::DeliveryLoop::new(
            store.clone(),
            DeliverySender::new(client, "Service")?,
            now,
        );
        let (stop, stopped) = oneshot::channel();
        let stopped = async {
            let _ = stopped.await;
        };
        Ok(Self { stop, task: tokio::spawn(deliveries.run(stopped)) })
    }

    pub(crate) async fn stop(self) -> Result {
        let _ = self.stop.send(());
        Ok(self.task.await??)
    }
}

/// Measures latency at 100 changes per second.
async fn latency(profile: &Profile, part: &mut Part, engine: &str, store: &Store) -> Result {
    let receiver = Receiver::start()?;
    let workspace = workspace(store, "Latency").await?;
    endpoint(store, workspace, &receiver.url("/time")).await?;
    let running = RunningLoop::start(store)?;
    let (mut middle, mut slow) = (Vec::new(), Vec::new());
    // The first round is a warm-up.
    for round in 0..=profile.rounds as u64 {
        let mut committed = HashMap::new();
        let mut beat = tokio::time::interval(Duration::from_millis(10));
        let count = if round == 0 { 100 } else { profile.paced_changes };
        let before = receiver.count()?;
        for n in 0..count {
            beat.tick().await;
            let name = format!("Change {round} {n}");
            apply(store, workspace, vec![create(&name)]).await?;
            committed.insert(name, micros());
        }
        receiver.wait_for(before + count).await?;
        let latencies = latencies(&receiver, &committed)?;
        if round > 0 {
            middle.push(quantile(&latencies, 0.5));
            slow.push(quantile(&latencies, 0.99));
        }
    }
    let row = |quantile: &str, figures| {
        let work = format!("commit to first byte, {quantile}, {engine}");
        Row::new(work, Unit::Millis, figures)
    };
    part.row(row("p50", &middle).goal(Goal::AtMost(10.0)));
    part.row(row("p99", &slow).goal(Goal::AtMost(50.0)));
    running.stop().await
}

/// The rates of changes and deliveries by many writers in one workspace, per round.
async fn rates(profile: &Profile, store: &Store, changes: u64) -> Result<Vec<f64>> {
    let receiver = Receiver::start()?;
    let workspace = workspace(store, "Rate").await?;
    let folders = (0..WRITERS).map(|n| create(&format!("Folder {n}"))).collect();
    apply(store, workspace, folders).await?;
    endpoint(store, workspace, &receiver.url("/")).await?;
    let running = RunningLoop::start(store)?;
    let mut rates = Vec::new();
    for round in 1..=profile.rounds as u64 {
        let start = Instant::now();
        write(store, workspace, WRITERS, changes).await?;
        receiver.wait_for(round * changes).await?;
        rates.push(changes as f64 / start.elapsed().as_secs_f64());
    }
    running.stop().await?;
    Ok(rates)
}

/// Measures a thousand endpoints, without and with a hundred that hang.
async fn many_endpoints(profile: &Profile, part: &mut Part, engine: &str, store: &Store) -> Result {
    let mut slow = Vec::new();
    for hanging in [false, true] {
        let receiver = Receiver::start()?;
        let mut workspaces = Vec::new();
        for n in 0..20 {
            let workspace = workspace(store, &format!("Crowd {hanging} {n}")).await?;
            for e in 0..50 {
                let path =
                    if hanging && e < 5 { "/hang".to_owned() } else { format!("/time/{n}/{e}") };
                endpoint(store, workspace, &receiver.url(&path)).await?;
            }
            workspaces.push(workspace);
        }
        let running = RunningLoop::start(store)?;
        let mut committed = HashMap::new();
        let mut beat = tokio::time::interval(Duration::from_millis(50));
        for n in 0..profile.many_endpoint_changes {
            beat.tick().await;
            let workspace = workspaces[mix(n) as usize % workspaces.len()];
            let name = format!("Change {n}");
            apply(store, workspace, vec![create(&name)]).await?;
            committed.insert(name, micros());
        }
        let live = if hanging { 45 } else { 50 };
        receiver.wait_for(profile.many_endpoint_changes * live).await?;
        slow.push(quantile(&latencies(&receiver, &committed)?, 0.99));
        running.stop().await?;
    }
    let row = Row::new(
        format!("900 endpoints with 100 hanging ones, p99, {engine}"),
        Unit::Millis,
        &slow[1..],
    );
    part.row(row.compared_with("1,000 working endpoints", &slow[..1]).goal(Goal::RatioAtMost(2.0)));
    Ok(())
}

/// Measures a backlog at the start of the program.
async fn backlog(
    profile: &Profile,
    part: &mut Part,
    engine: &str,
    store: &Store,
    database: &str,
) -> Result {
    let receiver = Receiver::start()?;
    let workspace = workspace(store, "Backlog").await?;
    let endpoints = 20;
    for n in 0..endpoints {
        endpoint(store, workspace, &receiver.url(&format!("/{n}"))).await?;
    }
    let changes = profile.backlog / (endpoints * 1_000);
    for _ in 0..changes {
        let commands = (0..1_000).map(|n| create(&format!("Folder {n}"))).collect();
        apply(store, workspace, commands).await?;
    }
    let waiting = changes * endpoints * 1_000;
    // The real program, to measure its memory.
    let server = Server::start_with(
        database,
        &[
            ("GROMA_WEBHOOKS__ALLOW_HTTP", "true"),
            ("GROMA_WEBHOOKS__ALLOW_NETWORKS", "127.0.0.1/32"),
        ],
    )?;
    let start = Instant::now();
    let mut memory = Vec::new();
    for part in 1..=10 {
        receiver.wait_for(waiting * part / 10).await?;
        memory.push(server.memory()?.1 as f64);
    }
    let rate = waiting as f64 / start.elapsed().as_secs_f64();
    part.row(Row::new(
        format!("backlog of {} drained, {engine}", number(waiting as f64)),
        Unit::PerSecond,
        &[rate],
    ));
    let row =
        Row::new(format!("memory after the last tenth, {engine}"), Unit::Megabytes, &memory[9..]);
    part.row(row.compared_with("after the first", &memory[..1]).goal(Goal::AtMost(200.0)));
    Ok(())
}

/// The times from commit to first byte, in milliseconds.
fn latencies(receiver: &Receiver, committed: &HashMap<String, u64>) -> Result<Vec<f64>> {
    let arrivals = receiver.take()?;
    let span =
        |at: u64, name: &String| Some(at.saturating_sub(*committed.get(name)?) as f64 / 1_000.0);
    Ok(arrivals.iter().filter_map(|arrival| span(arrival.at, &arrival.name)).collect())
}
