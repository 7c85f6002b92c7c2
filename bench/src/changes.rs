//! Durable changes of records by many writers, compared with the syncs of the disk. Changes and the
//! delivery loop are in one process, as in `groma serve`.

use crate::{
    Result,
    commands::{apply, create, endpoint, workspace, write},
    machine,
    profile::Profile,
    receiver::Receiver,
    report::{Goal, Part, Row, Unit},
    row::number,
    webhooks::RunningLoop,
};
use groma_domain::WorkspaceId;
use groma_store::Store;

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
