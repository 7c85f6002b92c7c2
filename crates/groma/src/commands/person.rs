//! `groma person erase`

use super::{CommandError, find_workspace};
use crate::{cli::PersonCommand, clock};
use groma_domain::DomainError;
use groma_store::{Actor, Store};

pub(super) async fn run(store: &Store, command: PersonCommand) -> Result<(), CommandError> {
    let PersonCommand::Erase { email, workspace } = command;
    let workspace = find_workspace(store, &workspace).await?.id;
    let mut people = store.people(workspace).await?.into_iter();
    let not_found = || DomainError::NotFound { resource: "person", key: email.to_string() };
    let known = people.find(|known| known.person.email == email).ok_or_else(not_found);
    let person = known.map_err(CommandError::new)?.person.id;
    Ok(store.erase_person(workspace, person, Actor::Operator, clock::now()).await?)
}
