//! `groma workspace create|list|delete`

use super::{CommandError, print, print_table, prompt::read_new_password, workspace_filter};
use crate::{
    cli::WorkspaceCommand, clock, password, settings::Settings, setup_link::SetupLinkFile,
};
use groma_domain::workspace::Workspace;
use groma_store::{Actor, NewUser, Store};
use serde_json::{Value, json};

pub(super) async fn run(
    settings: &Settings,
    store: &Store,
    command: WorkspaceCommand,
) -> Result<(), CommandError> {
    let service = settings.service.display_name();
    match command {
        WorkspaceCommand::Create { name, owner, currency, json } => {
            let password_hash = if store.has_user(&owner).await? {
                None
            } else {
                let password = read_new_password(&[owner.as_str(), service])?.ok_or_else(|| {
                    CommandError::new(
                        "a new owner needs a password; write it to the first line of standard input",
                    )
                })?;
                Some(password::hash(password).await?)
            };
            let owner = NewUser { email: owner, name: None, password_hash };
            let workspace = store.create_workspace(name, currency, owner, clock::now()).await?;
            SetupLinkFile::of(&settings.database).remove();
            if json {
                print(&to_json(&workspace).to_string())
            } else {
                print(&workspace.id.to_string())
            }
        }
        WorkspaceCommand::List { json } => {
            let workspaces = store.workspaces().await?;
            if json {
                return print(&Value::from_iter(workspaces.iter().map(to_json)).to_string());
            }
            let rows: Vec<_> = workspaces
                .iter()
                .map(|workspace| {
                    vec![
                        workspace.id.to_string(),
                        workspace.name.as_str().to_owned(),
                        workspace.currency.to_string(),
                        workspace.created_at.to_string(),
                    ]
                })
                .collect();
            print_table(&["KEY", "NAME", "CURRENCY", "CREATED"], &rows)
        }
        WorkspaceCommand::Delete { name, workspace } => {
            let filter = workspace_filter(&name.or(workspace).unwrap_or_default())?;
            let workspace = store.find_workspace(&filter).await?;
            Ok(store.delete_workspace(workspace.id, Actor::Operator, clock::now()).await?)
        }
    }
}

fn to_json(workspace: &Workspace) -> Value {
    json!({
        "id": workspace.id,
        "name": workspace.name.as_str(),
        "currency": workspace.currency,
        "createdAt": workspace.created_at,
    })
}
