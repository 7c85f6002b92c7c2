//! Durable changes of records by many writers, compared with the syncs of the disk. Changes and the
//! delivery loop are in one process, as in `groma serve`.

use crate::{
    Result, machine,
    profile::Profile,
    receiver::Receiver,
    report::{Goal, Part, Row, Unit},
    table::number,
    webhooks::RunningLoop,
};
use groma_domain::{
    Currency, Email, Kind, Timestamp, WorkspaceId,
    input::Field,
    record::{FolderInput, RecordInput},
    reference::{Key, Reference},
    webhook::{EndpointInput, EndpointUrl},
    workspace::WorkspaceName,
};
use groma_store::{Actor, Change, Command, NewEndpoint, NewUser, SaveTarget, Store};
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

const WRITERS: u64 = 64;

pub(crate) async fn run(profile: &Profile) -> Result<Part> {
    let mut part = Part::new("changes", "Durable changes");
    part.note(format!(
        "{} changes of folders per round (a third of them on PostgreSQL) by {WRITERS} writers, with one subscribed \
         endpoint; each change and its delivery are synced before the writer continues. fdatasync: sequential \
         appends of 4 KB with a sync each. Concurrent changes share a sync.",
        number(profile.changes as f64)
    ));
    let goal = Goal::AtLeast(10_000.0);
    let [waiting, sent] = ["changes", "changes_sent"];
    let databases = [profile.new_sqlite(waiting)?, profile.new_sqlite(sent)?];
    measure(profile, &mut part, "SQLite", profile.changes, &databases, goal.into()).await?;
    let databases = [profile.new_postgres(waiting)?, profile.new_postgres(sent)?];
    measure(profile, &mut part, "PostgreSQL", profile.changes / 3, &databases, None).await?;
    Ok(part)
}

/// Measures changes with waiting deliveries in one database, and with running deliveries in another.
async fn measure(
    profile: &Profile,
    part: &mut Part,
    engine: &str,
    changes: u64,
    [waiting, sent]: &[String; 2],
    goal: Option<Goal>,
) -> Result {
    let (waiting, sent) = (WriteTarget::new(waiting).await?, WriteTarget::new(sent).await?);
    let running = RunningLoop::start(&sent.store)?;
    let (mut made, mut delivered, mut syncs) = (Vec::new(), Vec::new(), Vec::new());
    for round in 1..=profile.rounds as u64 {
        syncs.push(machine::sync_rate(profile)?);
        let mut order = [(&waiting, &mut made), (&sent, &mut delivered)];
        if round % 2 == 0 {
            order.reverse();
        }
        for (target, rates) in order {
            rates.push(write(&target.store, target.workspace, WRITERS, changes).await?);
        }
        sent.receiver.wait_for(round * changes).await?;
    }
    running.stop().await?;
    let row =
        |work, figures| Row::new(work, Unit::PerSecond, figures).compared_with("fdatasync", &syncs);
    part.row(row(format!("changes, {engine}"), &made).goal(goal));
    part.row(row(format!("changes, {engine}, with deliveries"), &delivered));
    Ok(())
}

/// A new workspace with a folder for each writer and one endpoint.
struct WriteTarget {
    store: Store,
    workspace: WorkspaceId,
    receiver: Receiver,
}

impl WriteTarget {
    async fn new(database: &str) -> Result<Self> {
        let store = Store::open(&database.parse()?).await?;
        let workspace = workspace(&store, "Changes").await?;
        let folders = (0..WRITERS).map(|n| create(&format!("Folder {n}"))).collect();
        apply(&store, workspace, folders).await?;
        let receiver = Receiver::start()?;
        endpoint(&store, workspace, &receiver.url("/")).await?;
        Ok(Self { store, workspace, receiver })
    }
}

/// Applies changes by many writers in one workspace and returns the rate per second.
pub(crate) async fn write(
    store: &Store,
    workspace: WorkspaceId,
    writers: u64,
    changes: u64,
) -> Result<f64> {
    let start = Instant::now();
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
    Ok(changes as f64 / start.elapsed().as_secs_f64())
}

pub(crate) async fn workspace(store: &Store, name: &str) -> Result<WorkspaceId> {
    let owner =
        NewUser { email: Email::parse("owner@example.test")?, name: None, password_hash: None };
    let name = WorkspaceName::parse(name)?;
    Ok(store.create_workspace(name, Currency::EUR, owner, now()).await?.id)
}

pub(crate) async fn endpoint(store: &Store, workspace: WorkspaceId, url: &str) -> Result {
    let url = EndpointUrl::parse(url, true)?;
    let draft = EndpointInput { url: Some(url), ..EndpointInput::default() };
    let new = NewEndpoint { workspace, actor: Actor::Operator, now: now(), draft, request: None };
    store.create_endpoint(new).await?;
    Ok(())
}

pub(crate) async fn apply(
    store: &Store,
    workspace: WorkspaceId,
    commands: Vec<Command>,
) -> std::result::Result<(), groma_store::Error> {
    let change = Change { workspace, actor: Actor::Operator, now: now(), commands };
    store.apply(change).await.map(drop)
}

pub(crate) fn create(name: &str) -> Command {
    let input = FolderInput { name: Field::Set(name.to_owned()), ..FolderInput::default() };
    Command::Save { target: SaveTarget::New, draft: Box::new(RecordInput::Folder(input)) }
}

/// A change that differs every time.
fn edit(folder: u64, n: u64) -> Command {
    let client_name = Field::Set(Some(format!("The {n}th client")));
    change_of(folder, FolderInput { client_name, ..FolderInput::default() })
}

/// A change of the n-th folder.
pub(crate) fn change_of(n: u64, input: FolderInput) -> Command {
    let key = Key::Reference(Reference::generated(Kind::Folder, n + 1));
    let target = SaveTarget::Existing { key, version: None };
    Command::Save { target, draft: Box::new(RecordInput::Folder(input)) }
}

pub(crate) fn now() -> Timestamp {
    jiff::Timestamp::now().into()
}
