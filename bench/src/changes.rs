//! Changes of records by many writers, each on the disk before it is acknowledged, beside what the disk
//! alone can do. Changes and the loop that delivers are in one process, as in `groma serve`.

use crate::{
    Outcome,
    effort::Effort,
    machine,
    receiver::Receiver,
    report::{Goal, Part, Row, Unit},
    table::number,
    webhooks::Loop,
};
use groma_domain::{
    Currency, Email, Kind, Timestamp, WorkspaceId,
    input::Field,
    record::{Draft, FolderInput},
    reference::{Key, Reference},
    webhook::{EndpointDraft, EndpointUrl},
    workspace::WorkspaceName,
};
use groma_store::{Actor, Change, Command, NewEndpoint, NewUser, Store, Target};
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

const WRITERS: u64 = 64;

pub(crate) async fn run(effort: &Effort) -> Outcome<Part> {
    let mut part = Part::new("changes", "Durable changes");
    part.note(format!(
        "{} changes of folders a round (a third of it on PostgreSQL) by {WRITERS} writers, one endpoint subscribed \
         to all of them; each change and its delivery are on the disk before the writer goes on. The disk: 4 KB \
         appended and synced, one after the other; changes that wait together share a sync.",
        number(effort.changes as f64)
    ));
    let goal = Goal::AtLeast(10_000.0);
    let [waiting, sent] = ["changes", "changes_sent"];
    let databases = [effort.new_sqlite(waiting)?, effort.new_sqlite(sent)?];
    measure(effort, &mut part, "SQLite", effort.changes, &databases, goal.into()).await?;
    let databases = [effort.new_postgres(waiting)?, effort.new_postgres(sent)?];
    measure(effort, &mut part, "PostgreSQL", effort.changes / 3, &databases, None).await?;
    Ok(part)
}

/// Makes changes whose deliveries wait in one database, and such that are delivered in another.
async fn measure(
    effort: &Effort,
    part: &mut Part,
    engine: &str,
    changes: u64,
    [waiting, sent]: &[String; 2],
    goal: Option<Goal>,
) -> Outcome {
    let (waiting, sent) = (Office::new(waiting).await?, Office::new(sent).await?);
    let running = Loop::start(&sent.store)?;
    let (mut made, mut delivered, mut syncs) = (Vec::new(), Vec::new(), Vec::new());
    for round in 1..=effort.rounds as u64 {
        syncs.push(machine::sync_rate(effort)?);
        let mut order = [(&waiting, &mut made), (&sent, &mut delivered)];
        if round % 2 == 0 {
            order.reverse();
        }
        for (office, rates) in order {
            rates.push(write(&office.store, office.workspace, WRITERS, changes).await?);
        }
        sent.receiver.wait_for(round * changes).await?;
    }
    running.end().await?;
    let row = |work, figures| Row::new(work, Unit::PerSecond, figures).beside("fdatasync", &syncs);
    part.row(row(format!("changes, {engine}"), &made).goal(goal));
    part.row(row(format!("changes, {engine}, delivered meanwhile"), &delivered));
    Ok(())
}

/// A new workspace with a folder for each writer and one endpoint.
struct Office {
    store: Store,
    workspace: WorkspaceId,
    receiver: Receiver,
}

impl Office {
    async fn new(database: &str) -> Outcome<Self> {
        let store = Store::open(&database.parse()?).await?;
        let workspace = workspace(&store, "Changes").await?;
        let folders = (0..WRITERS).map(|n| create(&format!("Folder {n}"))).collect();
        apply(&store, workspace, folders).await?;
        let receiver = Receiver::start()?;
        endpoint(&store, workspace, &receiver.url("/")).await?;
        Ok(Self { store, workspace, receiver })
    }
}

/// Makes changes by many writers in one workspace, as fast as they go; how many a second.
pub(crate) async fn write(
    store: &Store,
    workspace: WorkspaceId,
    writers: u64,
    changes: u64,
) -> Outcome<f64> {
    let begun = Instant::now();
    let next = Arc::new(AtomicU64::new(0));
    let writers: Vec<_> = (0..writers)
        .map(|writer| {
            let (store, next) = (store.clone(), next.clone());
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
    Ok(changes as f64 / begun.elapsed().as_secs_f64())
}

pub(crate) async fn workspace(store: &Store, name: &str) -> Outcome<WorkspaceId> {
    let owner =
        NewUser { email: Email::parse("owner@example.test")?, name: None, password_hash: None };
    let name = WorkspaceName::parse(name)?;
    Ok(store.create_workspace(name, Currency::EUR, owner, now()).await?.id)
}

pub(crate) async fn endpoint(store: &Store, workspace: WorkspaceId, url: &str) -> Outcome {
    let url = EndpointUrl::parse(url, true)?;
    let draft = EndpointDraft { url: Some(url), ..EndpointDraft::default() };
    let new = NewEndpoint { workspace, actor: Actor::Operator, now: now(), draft, request: None };
    store.create_endpoint(new).await?;
    Ok(())
}

pub(crate) async fn apply(
    store: &Store,
    workspace: WorkspaceId,
    commands: Vec<Command>,
) -> Result<(), groma_store::Error> {
    let change = Change { workspace, actor: Actor::Operator, now: now(), commands };
    store.apply(change).await.map(drop)
}

pub(crate) fn create(name: &str) -> Command {
    let input = FolderInput { name: Field::Set(name.to_owned()), ..FolderInput::default() };
    Command::Save { target: Target::New, draft: Box::new(Draft::Folder(input)) }
}

/// Something of a folder that is another every time.
fn edit(folder: u64, n: u64) -> Command {
    let client_name = Field::Set(Some(format!("The {n}th client")));
    change_of(folder, FolderInput { client_name, ..FolderInput::default() })
}

/// A change of the nth folder.
pub(crate) fn change_of(n: u64, input: FolderInput) -> Command {
    let key = Key::Reference(Reference::made(Kind::Folder, n + 1));
    let target = Target::Existing { key, version: None };
    Command::Save { target, draft: Box::new(Draft::Folder(input)) }
}

pub(crate) fn now() -> Timestamp {
    jiff::Timestamp::now().into()
}
