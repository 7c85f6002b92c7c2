//! Deliveries: from a change to the first byte at the receiver, how many a second, how a backlog
//! drains, and what endpoints that hang cost the others. Changes and the loop that delivers are in one
//! process, as in `groma serve`; the receiver is another one on the same cores.

use crate::{
    Outcome,
    changes::{apply, create, endpoint, now, workspace, write},
    effort::Effort,
    load::mix,
    office::Office,
    receiver::{Receiver, micros},
    report::{Goal, Part, Row, Unit},
    table::number,
};
use groma_store::Store;
use groma_webhooks::{AddressPolicy, Client, Deliveries, Resolver, Sender};
use std::{
    collections::HashMap,
    time::{Duration, Instant},
};
use tokio::{sync::oneshot, task::JoinHandle};

/// Writers at a time.
const WRITERS: u64 = 256;

pub(crate) async fn run(effort: &Effort) -> Outcome<Part> {
    let mut part = Part::new("webhooks", "Deliveries");
    part.note(format!(
        "The receiver is a process of its own. Made and delivered: {} changes a round (a third of it on \
         PostgreSQL) by {WRITERS} writers, until the last one has arrived. A crowd: {} changes at 20 a second to 50 endpoints each, of 1,000 in all.",
        number(effort.changes as f64),
        effort.crowd
    ));
    for (engine, database, changes, goal) in [
        ("SQLite", effort.new_sqlite("webhooks")?, effort.changes, 5_000.0),
        ("PostgreSQL", effort.new_postgres("webhooks")?, effort.changes / 3, 2_500.0),
    ] {
        let store = Store::open(&database.parse()?).await?;
        latency(effort, &mut part, engine, &store).await?;
        let rates = rates(effort, &store, changes).await?;
        let row = Row::new(format!("made and delivered, {engine}"), Unit::PerSecond, &rates);
        part.row(row.goal(Goal::AtLeast(goal)));
        crowd(effort, &mut part, engine, &store).await?;
        backlog(effort, &mut part, engine, &store, &database).await?;
    }
    Ok(part)
}

/// A loop that delivers, in this process.
pub(crate) struct Loop {
    stop: oneshot::Sender<()>,
    task: JoinHandle<Result<(), groma_store::Error>>,
}

impl Loop {
    pub(crate) fn start(store: &Store) -> Outcome<Self> {
        let policy = AddressPolicy::new(vec!["127.0.0.1/32".parse()?]);
        let client = Client::new(policy, Resolver::System, None, "bench")?;
        let deliveries = Deliveries::new(store.clone(), Sender::new(client, "Service")?, now);
        let (stop, stopped) = oneshot::channel();
        let stopped = async {
            let _ = stopped.await;
        };
        Ok(Self { stop, task: tokio::spawn(deliveries.run(stopped)) })
    }

    pub(crate) async fn end(self) -> Outcome {
        let _ = self.stop.send(());
        Ok(self.task.await??)
    }
}

/// 100 changes a second.
async fn latency(effort: &Effort, part: &mut Part, engine: &str, store: &Store) -> Outcome {
    let receiver = Receiver::start()?;
    let workspace = workspace(store, "Latency").await?;
    endpoint(store, workspace, &receiver.url("/time")).await?;
    let running = Loop::start(store)?;
    let (mut middle, mut slow) = (Vec::new(), Vec::new());
    // The first round warms up.
    for round in 0..=effort.rounds as u64 {
        let mut committed = HashMap::new();
        let mut beat = tokio::time::interval(Duration::from_millis(10));
        let count = if round == 0 { 100 } else { effort.beats };
        let before = receiver.count()?;
        for n in 0..count {
            beat.tick().await;
            let name = format!("Change {round} {n}");
            apply(store, workspace, vec![create(&name)]).await?;
            committed.insert(name, micros());
        }
        receiver.wait_for(before + count).await?;
        let spans = spans(&receiver, &committed)?;
        if round > 0 {
            middle.push(quantile(&spans, 0.5));
            slow.push(quantile(&spans, 0.99));
        }
    }
    let row = |quantile: &str, figures| {
        let work = format!("commit to first byte, {quantile}, {engine}");
        Row::new(work, Unit::Millis, figures)
    };
    part.row(row("p50", &middle).goal(Goal::AtMost(10.0)));
    part.row(row("p99", &slow).goal(Goal::AtMost(50.0)));
    running.end().await
}

/// How many are made and delivered in a second, by many writers in one workspace, round by round.
async fn rates(effort: &Effort, store: &Store, changes: u64) -> Outcome<Vec<f64>> {
    let receiver = Receiver::start()?;
    let workspace = workspace(store, "Rate").await?;
    let folders = (0..WRITERS).map(|n| create(&format!("Folder {n}"))).collect();
    apply(store, workspace, folders).await?;
    endpoint(store, workspace, &receiver.url("/")).await?;
    let running = Loop::start(store)?;
    let mut rates = Vec::new();
    for round in 1..=effort.rounds as u64 {
        let begun = Instant::now();
        write(store, workspace, WRITERS, changes).await?;
        receiver.wait_for(round * changes).await?;
        rates.push(changes as f64 / begun.elapsed().as_secs_f64());
    }
    running.end().await?;
    Ok(rates)
}

/// A thousand endpoints, without and with a hundred that hang.
async fn crowd(effort: &Effort, part: &mut Part, engine: &str, store: &Store) -> Outcome {
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
        let running = Loop::start(store)?;
        let mut committed = HashMap::new();
        let mut beat = tokio::time::interval(Duration::from_millis(50));
        for n in 0..effort.crowd {
            beat.tick().await;
            let workspace = workspaces[mix(n) as usize % workspaces.len()];
            let name = format!("Change {n}");
            apply(store, workspace, vec![create(&name)]).await?;
            committed.insert(name, micros());
        }
        let live = if hanging { 45 } else { 50 };
        receiver.wait_for(effort.crowd * live).await?;
        slow.push(quantile(&spans(&receiver, &committed)?, 0.99));
        running.end().await?;
    }
    let row = Row::new(
        format!("900 endpoints beside 100 that hang, p99, {engine}"),
        Unit::Millis,
        &slow[1..],
    );
    part.row(row.beside("1,000 that answer", &slow[..1]).goal(Goal::RatioAtMost(2.0)));
    Ok(())
}

/// What waits when the program starts.
async fn backlog(
    effort: &Effort,
    part: &mut Part,
    engine: &str,
    store: &Store,
    database: &str,
) -> Outcome {
    let receiver = Receiver::start()?;
    let workspace = workspace(store, "Backlog").await?;
    let endpoints = 20;
    for n in 0..endpoints {
        endpoint(store, workspace, &receiver.url(&format!("/{n}"))).await?;
    }
    let changes = effort.backlog / (endpoints * 1_000);
    for _ in 0..changes {
        let commands = (0..1_000).map(|n| create(&format!("Folder {n}"))).collect();
        apply(store, workspace, commands).await?;
    }
    let waiting = changes * endpoints * 1_000;
    // The real program, whose memory is watched.
    let office = Office::start_with(
        database,
        &[
            ("GROMA_WEBHOOKS__ALLOW_HTTP", "true"),
            ("GROMA_WEBHOOKS__ALLOW_NETWORKS", "127.0.0.1/32"),
        ],
    )?;
    let begun = Instant::now();
    let mut memory = Vec::new();
    for part in 1..=10 {
        receiver.wait_for(waiting * part / 10).await?;
        memory.push(office.memory()?.1 as f64);
    }
    let rate = waiting as f64 / begun.elapsed().as_secs_f64();
    part.row(Row::new(
        format!("{} waiting drained, {engine}", number(waiting as f64)),
        Unit::PerSecond,
        &[rate],
    ));
    let row =
        Row::new(format!("memory after the last tenth, {engine}"), Unit::Megabytes, &memory[9..]);
    part.row(row.beside("after the first", &memory[..1]).goal(Goal::AtMost(300.0)));
    Ok(())
}

/// From the commit to the first byte of everything that came, in milliseconds.
fn spans(receiver: &Receiver, committed: &HashMap<String, u64>) -> Outcome<Vec<f64>> {
    let arrivals = receiver.take()?;
    let span =
        |at: u64, name: &String| Some(at.saturating_sub(*committed.get(name)?) as f64 / 1_000.0);
    Ok(arrivals.iter().filter_map(|arrival| span(arrival.at, &arrival.name)).collect())
}

fn quantile(values: &[f64], part: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let place = (sorted.len() as f64 * part) as usize;
    sorted.get(place.min(sorted.len().saturating_sub(1))).copied().unwrap_or_default()
}
