//! `groma user add|add-service|password`

use super::{CommandError, find_workspace, print, prompt::read_new_password};
use crate::{cli::UserCommand, clock, password};
use groma_store::{Actor, NewUser, Store};
use serde_json::json;

pub(super) async fn run(store: &Store, command: UserCommand) -> Result<(), CommandError> {
    match command {
        UserCommand::Add { email, workspace, role, name, json } => {
            let workspace = find_workspace(store, &workspace).await?.id;
            let password_hash = if store.has_user(&email).await? {
                None
            } else {
                match read_new_password()? {
                    Some(password) => Some(password::hash(password).await?),
                    None => None,
                }
            };
            let user = NewUser { email, name, password_hash };
            let member =
                store.add_member(workspace, Actor::Operator, user, role, clock::now()).await?;
            if !json {
                return Ok(());
            }
            let person = &member.person;
            let json = json!({
                "id": person.id,
                "name": person.name,
                "email": person.email,
                "role": role.name(),
            });
            print(&json.to_string())
        }
        UserCommand::AddService { name, workspace, role, json } => {
            let workspace = find_workspace(store, &workspace).await?.id;
            let (actor, now) = (Actor::Operator, clock::now());
            let person = store.add_service_account(workspace, actor, &name, role, now).await?;
            if !json {
                return print(person.email.as_str());
            }
            let json = json!({
                "id": person.id,
                "name": person.name,
                "email": person.email,
                "role": role.name(),
            });
            print(&json.to_string())
        }
        UserCommand::Password { email } => {
            let password = read_new_password()?.ok_or_else(|| {
                CommandError::new(
                    "the password is empty; write it to the first line of standard input",
                )
            })?;
            Ok(store.set_password(email, password::hash(password).await?, clock::now()).await?)
        }
    }
}
