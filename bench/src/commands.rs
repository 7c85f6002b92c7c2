//! Commands on a store that several parts of the benchmark use.

use crate::Result;
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

/// A change that differs every time.
fn edit(folder: u64, n: u64) -> Command {
    let client_name = Field::Set(Some(format!("The {n}th client")));
    change_of(folder, FolderInput { client_name, ..FolderInput::default() })
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

/// A change of the n-th folder.
pub(crate) fn change_of(n: u64, input: FolderInput) -> Command {
    let key = Key::Reference(Reference::generated(Kind::Folder, n + 1));
    let target = SaveTarget::Existing { key, version: None };
    Command::Save { target, draft: Box::new(RecordInput::Folder(input)) }
}

pub(crate) fn now() -> Timestamp {
    jiff::Timestamp::now().into()
}
