//! `groma archive folder KEY`, `groma delete KIND KEY`

use super::{Failure, workspace_of};
use crate::{cli::At, clock::now};
use groma_domain::{
    Kind,
    input::Field,
    record::{Draft, FolderInput},
    reference::Key,
};
use groma_store::{Actor, Change, Command, Store, Target};

pub(super) async fn archive(store: &Store, key: &str, at: &At) -> Result<(), Failure> {
    let now = now();
    let key = parse_key(Kind::Folder, key)?;
    let workspace = workspace_of(store, at).await?.id;
    let input = FolderInput { archived_at: Field::Set(Some(now)), ..FolderInput::default() };
    let target = Target::Existing { key, version: None };
    let command = Command::Save { target, draft: Box::new(Draft::Folder(input)) };
    store.apply(Change { workspace, actor: Actor::Operator, now, commands: vec![command] }).await?;
    Ok(())
}

pub(super) async fn delete(store: &Store, kind: Kind, key: &str, at: &At) -> Result<(), Failure> {
    let key = parse_key(kind, key)?;
    let workspace = workspace_of(store, at).await?.id;
    let commands = vec![Command::Delete { kind, key, version: None }];
    store.apply(Change { workspace, actor: Actor::Operator, now: now(), commands }).await?;
    Ok(())
}

fn parse_key(kind: Kind, text: &str) -> Result<Key, Failure> {
    Key::parse(text).ok_or_else(|| Failure::new(format!("{kind} `{text}` not found")))
}
