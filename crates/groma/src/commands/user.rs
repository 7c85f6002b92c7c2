//! `groma user add|password`

use super::{Failure, print, workspace_of};
use crate::{cli::UserCommand, clock::now, password};
use groma_store::{Actor, NewUser, Store};
use serde_json::json;

pub(super) async fn run(store: &Store, command: UserCommand) -> Result<(), Failure> {
    match command {
        UserCommand::Add { email, at, role, name, json } => {
            let workspace = workspace_of(store, &at).await?;
            let password_hash = if store.has_user(&email).await? {
                None
            } else {
                match password::read_new()? {
                    Some(password) => Some(password::hash(password).await?),
                    None => None,
                }
            };
            let user = NewUser { email, name, password_hash };
            let member = store.add_member(workspace.id, Actor::Operator, user, role, now()).await?;
            if !json {
                return Ok(());
            }
            let person = &member.person;
            let shown = json!({ "id": person.id, "name": person.name, "email": person.email, "role": role.name() });
            print(&shown.to_string())
        }
        UserCommand::Password { email } => {
            let password =
                password::read_new()?.ok_or_else(|| Failure::new("the password is empty"))?;
            Ok(store.set_password(email, password::hash(password).await?).await?)
        }
    }
}
