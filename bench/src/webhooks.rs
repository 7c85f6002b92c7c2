//! Deliveries: from a change to the first byte at the receiver, how many a second, how a backlog
//! drains, and what endpoints that hang cost the others. Changes and the loop that delivers are in one
//! process, as in `groma serve`; the receiver is another one on the same cores.

use crate::{
    Outcome,
    load::mix,
    office::{Office, own_memory},
    postgres::database_of_its_own,
    receiver::{Arrival, Receiver, micros},
};
use clap::Args;
use groma_domain::{
    Currency, Email, Timestamp, WorkspaceId,
    input::Field,
    record::{Draft, FolderInput},
    reference::{Key, Reference},
    webhook::{EndpointDraft, EndpointUrl},
    workspace::WorkspaceName,
};
use groma_store::{Actor, Change, Command, NewEndpoint, NewUser, Store, Target};
use groma_webhooks::{AddressPolicy, Client, Deliveries, Resolver, Sender};
use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};
use tokio::{sync::oneshot, task::JoinHandle};

/// How much is measured.
#[derive(Args, Clone, Debug)]
pub(crate) struct Scale {
    /// Changes made and delivered as fast as they go.
    #[arg(long, default_value_t = Self::default().changes)]
    changes: u64,
    /// Deliveries that wait before the loop begins.
    #[arg(long, default_value_t = Self::default().backlog)]
    backlog: u64,
    /// Writers at a time.
    #[arg(long, default_value_t = Self::default().writers)]
    writers: u64,
    /// Leave out PostgreSQL.
    #[arg(long)]
    only_sqlite: bool,
    /// Leave out SQLite.
    #[arg(long)]
    only_postgres: bool,
    /// Only these parts: latency, rate, crowd, backlog.
    #[arg(long, value_delimiter = ',')]
    parts: Vec<String>,
}

impl Default for Scale {
    fn default() -> Self {
        Self {
            changes: 100_000,
            backlog: 1_000_000,
            writers: 256,
            only_sqlite: false,
            only_postgres: false,
            parts: Vec::new(),
        }
    }
}

pub(crate) async fn run(scale: &Scale) -> Outcome {
    if !scale.only_postgres {
        let folder = std::path::Path::new("target/bench");
        std::fs::create_dir_all(folder)?;
        for suffix in ["", "-wal", "-shm"] {
            let _ = std::fs::remove_file(folder.join(format!("webhooks.db{suffix}")));
        }
        measure("SQLite", "sqlite:target/bench/webhooks.db", scale).await?;
    }
    if !scale.only_sqlite {
        let Ok(server) = std::env::var("TEST_POSTGRES_URL") else {
            return Err("TEST_POSTGRES_URL is not set: run `make bench`".into());
        };
        let name = format!("webhooks_{}", micros());
        measure("PostgreSQL", &database_of_its_own(&server, &name).await?, scale).await?;
    }
    Ok(())
}

async fn measure(engine: &str, database: &str, scale: &Scale) -> Outcome {
    println!("\nWebhooks on {engine}, receiver on the same cores");
    let wants = |part: &str| scale.parts.is_empty() || scale.parts.iter().any(|p| p == part);
    let store = Store::open(&database.parse()?).await?;
    if wants("latency") {
        latency(&store).await?;
    }
    if wants("rate") {
        rate(&store, scale).await?;
    }
    if wants("crowd") {
        crowd(&store).await?;
    }
    if wants("backlog") {
        backlog(&store, database, scale).await?;
    }
    Ok(())
}

/// A loop that delivers, in this process.
struct Loop {
    stop: oneshot::Sender<()>,
    task: JoinHandle<Result<(), groma_store::Error>>,
}

impl Loop {
    fn start(store: &Store) -> Outcome<Self> {
        let policy = AddressPolicy::new(vec!["127.0.0.1/32".parse()?]);
        let client = Client::new(policy, Resolver::System, None, "bench")?;
        let deliveries = Deliveries::new(store.clone(), Sender::new(client, "Service")?, now);
        let (stop, stopped) = oneshot::channel();
        let stopped = async {
            let _ = stopped.await;
        };
        Ok(Self { stop, task: tokio::spawn(deliveries.run(stopped)) })
    }

    async fn end(self) -> Outcome {
        let _ = self.stop.send(());
        Ok(self.task.await??)
    }
}

/// 100 changes a second.
async fn latency(store: &Store) -> Outcome {
    let receiver = Receiver::start()?;
    let workspace = workspace(store, "Latency").await?;
    endpoint(store, workspace, &receiver.url("/time")).await?;
    let running = Loop::start(store)?;
    let mut committed = HashMap::new();
    let mut beat = tokio::time::interval(Duration::from_millis(10));
    for n in 0..2_000_u64 {
        beat.tick().await;
        let name = format!("Change {n}");
        apply(store, workspace, vec![create(&name)]).await?;
        committed.insert(name, micros());
    }
    receiver.wait_for(2_000).await?;
    let spans = |arrival: &Arrival| {
        let since = committed.get(&arrival.name)?;
        Some(arrival.at.saturating_sub(*since) as f64 / 1_000.0)
    };
    let spans: Vec<f64> = receiver.take()?.iter().skip(100).filter_map(spans).collect();
    println!(
        "  commit to first byte, 100 changes/s     p50 {:>7.2} ms   p99 {:>7.2} ms",
        quantile(&spans, 0.5),
        quantile(&spans, 0.99)
    );
    running.end().await
}

/// As many as go, by many writers in one workspace.
async fn rate(store: &Store, scale: &Scale) -> Outcome {
    let receiver = Receiver::start()?;
    let workspace = workspace(store, "Rate").await?;
    let folders: Vec<Command> =
        (0..scale.writers).map(|n| create(&format!("Folder {n}"))).collect();
    apply(store, workspace, folders).await?;
    endpoint(store, workspace, &receiver.url("/")).await?;
    let running = Loop::start(store)?;
    let begun = Instant::now();
    let next = Arc::new(AtomicU64::new(0));
    let writers: Vec<_> = (0..scale.writers)
        .map(|writer| {
            let (store, next, changes) = (store.clone(), next.clone(), scale.changes);
            tokio::spawn(async move {
                loop {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    if n >= changes {
                        return Ok::<_, groma_store::Error>(());
                    }
                    apply(&store, workspace, vec![edit(writer, n)]).await?;
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await??;
    }
    let made = begun.elapsed().as_secs_f64();
    receiver.wait_for(scale.changes).await?;
    let delivered = begun.elapsed().as_secs_f64();
    let changes = scale.changes as f64;
    println!(
        "  {} changes by {} writers        made {:>7.0}/s   made and delivered {:>7.0}/s",
        scale.changes,
        scale.writers,
        changes / made,
        changes / delivered
    );
    running.end().await
}

/// A thousand endpoints, without and with a hundred that hang.
async fn crowd(store: &Store) -> Outcome {
    let mut told = Vec::new();
    for hanging in [false, true] {
        let receiver = Receiver::start()?;
        let mut workspaces = Vec::new();
        for n in 0..20 {
            let name = format!("Crowd {hanging} {n} {}", micros());
            let workspace = workspace(store, &name).await?;
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
        let rounds = 500_u64;
        for n in 0..rounds {
            beat.tick().await;
            let workspace = workspaces[mix(n) as usize % workspaces.len()];
            let name = format!("Change {n}");
            apply(store, workspace, vec![create(&name)]).await?;
            committed.insert(name, micros());
        }
        let live = if hanging { 45 } else { 50 };
        receiver.wait_for(rounds * live).await?;
        let spans: Vec<f64> = receiver
            .take()?
            .iter()
            .filter_map(|arrival| {
                let since = committed.get(&arrival.name)?;
                Some(arrival.at.saturating_sub(*since) as f64 / 1_000.0)
            })
            .collect();
        told.push((quantile(&spans, 0.5), quantile(&spans, 0.99)));
        running.end().await?;
    }
    println!(
        "  1,000 endpoints                         p50 {:>7.2} ms   p99 {:>7.2} ms",
        told[0].0, told[0].1
    );
    println!(
        "  of which 100 hang: the other 900        p50 {:>7.2} ms   p99 {:>7.2} ms   ratio {:.2}",
        told[1].0,
        told[1].1,
        told[1].1 / told[0].1
    );
    Ok(())
}

/// What waits when the program starts.
async fn backlog(store: &Store, database: &str, scale: &Scale) -> Outcome {
    let receiver = Receiver::start()?;
    let workspace = workspace(store, "Backlog").await?;
    let endpoints = 20;
    for n in 0..endpoints {
        endpoint(store, workspace, &receiver.url(&format!("/{n}"))).await?;
    }
    let begun = Instant::now();
    for _ in 0..scale.backlog / (endpoints * 1_000) {
        let commands = (0..1_000).map(|n| create(&format!("Folder {n}"))).collect();
        apply(store, workspace, commands).await?;
    }
    let waiting = scale.backlog / (endpoints * 1_000) * endpoints * 1_000;
    println!("  {waiting} deliveries written in {:.0} s", begun.elapsed().as_secs_f64());
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
        memory.push(own_memory(office.id())?);
    }
    println!(
        "  drained at {:.0}/s; the program's own memory, MB after each tenth: {memory:?}",
        waiting as f64 / begun.elapsed().as_secs_f64()
    );
    Ok(())
}

fn quantile(values: &[f64], part: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let place = (sorted.len() as f64 * part) as usize;
    sorted.get(place.min(sorted.len().saturating_sub(1))).copied().unwrap_or_default()
}

async fn workspace(store: &Store, name: &str) -> Outcome<WorkspaceId> {
    let owner =
        NewUser { email: Email::parse("owner@example.test")?, name: None, password_hash: None };
    let name = WorkspaceName::parse(name)?;
    Ok(store.create_workspace(name, Currency::EUR, owner, now()).await?.id)
}

async fn endpoint(store: &Store, workspace: WorkspaceId, url: &str) -> Outcome {
    let url = EndpointUrl::parse(url, true)?;
    let draft = EndpointDraft { url: Some(url), ..EndpointDraft::default() };
    let new = NewEndpoint { workspace, actor: Actor::Operator, now: now(), draft, request: None };
    store.create_endpoint(new).await?;
    Ok(())
}

async fn apply(
    store: &Store,
    workspace: WorkspaceId,
    commands: Vec<Command>,
) -> Result<(), groma_store::Error> {
    let change = Change { workspace, actor: Actor::Operator, now: now(), commands };
    store.apply(change).await.map(drop)
}

fn create(name: &str) -> Command {
    let input = FolderInput { name: Field::Set(name.to_owned()), ..FolderInput::default() };
    Command::Save { target: Target::New, draft: Box::new(Draft::Folder(input)) }
}

/// Something of a folder that is another every time.
fn edit(folder: u64, n: u64) -> Command {
    let key = Key::Reference(Reference::made(groma_domain::Kind::Folder, folder + 1));
    let client_name = Field::Set(Some(format!("The {n}th client")));
    let input = FolderInput { client_name, ..FolderInput::default() };
    let target = Target::Existing { key, version: None };
    Command::Save { target, draft: Box::new(Draft::Folder(input)) }
}

fn now() -> Timestamp {
    jiff::Timestamp::now().into()
}
