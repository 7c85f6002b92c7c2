//! `groma workspace create|list|delete`

use super::{Failure, named_workspace, print, print_table};
use crate::{cli::WorkspaceCommand, clock::now, password};
use groma_domain::workspace::Workspace;
use groma_store::{Actor, NewUser, Store};
use serde_json::{Value, json};

pub(super) async fn run(store: &Store, command: WorkspaceCommand) -> Result<(), Failure> {
    match command {
        WorkspaceCommand::Create { name, owner, currency, json } => {
            let password_hash = if store.has_user(&owner).await? {
                None
            } else {
                let password = password::read_new()?;
                let missing = || {
                    Failure::new("a new owner needs a password: the first line of standard input")
                };
                Some(password::hash(password.ok_or_else(missing)?).await?)
            };
            let owner = NewUser { email: owner, name: None, password_hash };
            let workspace = store.create_workspace(name, currency, owner, now()).await?;
            if json {
                print(&shown(&workspace).to_string())
            } else {
                print(&workspace.id.to_string())
            }
        }
        WorkspaceCommand::List { json } => {
            let workspaces = store.workspaces().await?;
            if json {
                return print(&Value::from_iter(workspaces.iter().map(shown)).to_string());
            }
            let rows: Vec<_> = workspaces
                .iter()
                .map(|w| {
                    vec![
                        w.id.to_string(),
                        w.name.as_str().to_owned(),
                        w.currency.to_string(),
                        w.created_at.to_string(),
                    ]
                })
                .collect();
            print_table(&["KEY", "NAME", "CURRENCY", "CREATED"], &rows)
        }
        WorkspaceCommand::Delete { name, workspace } => {
            let named = named_workspace(&name.or(workspace).unwrap_or_default())?;
            let workspace = store.find_workspace(&named).await?;
            Ok(store.delete_workspace(workspace.id, Actor::Operator).await?)
        }
    }
}

fn shown(workspace: &Workspace) -> Value {
    json!({
        "id": workspace.id,
        "name": workspace.name.as_str(),
        "currency": workspace.currency,
        "createdAt": workspace.created_at,
    })
}
