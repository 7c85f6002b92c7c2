//! `groma archive folder KEY`, `groma delete KIND KEY`

use super::{CommandError, find_workspace};
use crate::{cli::WorkspaceArg, clock};
use groma_domain::{
    Kind,
    input::Field,
    record::{FolderInput, RecordInput},
    reference::Key,
};
use groma_store::{Actor, Change, Command, SaveTarget, Store};

pub(super) async fn archive(
    store: &Store,
    key: &str,
    workspace: &WorkspaceArg,
) -> Result<(), CommandError> {
    let now = clock::now();
    let key = parse_key(Kind::Folder, key)?;
    let workspace = find_workspace(store, workspace).await?.id;
    let input = FolderInput { archived_at: Field::Set(Some(now)), ..FolderInput::default() };
    let target = SaveTarget::Existing { key, version: None };
    let command = Command::Save { target, draft: Box::new(RecordInput::Folder(input)) };
    store.apply(Change { workspace, actor: Actor::Operator, now, commands: vec![command] }).await?;
    Ok(())
}

pub(super) async fn delete(
    store: &Store,
    kind: Kind,
    key: &str,
    workspace: &WorkspaceArg,
) -> Result<(), CommandError> {
    let key = parse_key(kind, key)?;
    let workspace = find_workspace(store, workspace).await?.id;
    let commands = vec![Command::Delete { kind, key, version: None }];
    store.apply(Change { workspace, actor: Actor::Operator, now: clock::now(), commands }).await?;
    Ok(())
}

fn parse_key(kind: Kind, text: &str) -> Result<Key, CommandError> {
    Key::parse(text).ok_or_else(|| CommandError::new(format!("{kind} `{text}` not found")))
}
