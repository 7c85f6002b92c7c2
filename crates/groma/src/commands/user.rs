//! `groma user add|add-service|password|reset-factors|list|disable|enable|delete`

use super::{
    CommandError, find_workspace, print, print_table, prompt::read_new_password, security_notice,
    time_cell,
};
use crate::{cli::UserCommand, clock, password, settings::Settings, web::mail::Notice};
use groma_domain::{DomainError, Email, Timestamp, UserId};
use groma_store::{AccountAuthority, Actor, DisableUser, NewUser, Store, UserFilter, UserRow};
use serde_json::{Value, json};

pub(super) async fn run(
    settings: &Settings,
    store: &Store,
    command: UserCommand,
) -> Result<(), CommandError> {
    let service = settings.service.display_name();
    match command {
        UserCommand::Add { email, workspace, role, name, json } => {
            let workspace = find_workspace(store, &workspace).await?.id;
            let password_hash = if store.has_user(&email).await? {
                None
            } else {
                match read_new_password(&[email.as_str(), service])? {
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
        UserCommand::Password { email, revoke_tokens } => {
            let password = read_new_password(&[email.as_str(), service])?.ok_or_else(|| {
                CommandError::new(
                    "the password is empty; write it to the first line of standard input",
                )
            })?;
            let hash = password::hash(password).await?;
            let now = clock::now();
            store.set_password(email.clone(), hash, revoke_tokens, now).await?;
            let notice = Notice::PasswordChanged { at: &now.to_string() };
            send_notice(settings, store, &email, &notice, now).await
        }
        UserCommand::List { json } => list(store, json).await,
        UserCommand::Disable { email, keep_tokens } => {
            let user = find_user(store, &email).await?;
            let (actor, revoke_tokens, now) = (Actor::Operator, !keep_tokens, clock::now());
            Ok(store.disable_user(DisableUser { user, actor, revoke_tokens, now }).await?)
        }
        UserCommand::Enable { email } => {
            let user = find_user(store, &email).await?;
            Ok(store.enable_user(user, Actor::Operator, clock::now()).await?)
        }
        UserCommand::Delete { email } => {
            let user = find_user(store, &email).await?;
            let authority = AccountAuthority::Actor(Actor::Operator);
            Ok(store.delete_user(user, authority, clock::now()).await?)
        }
        UserCommand::ResetFactors { email } => {
            let now = clock::now();
            store.remove_factors(email.clone(), now).await?;
            let notice = Notice::FactorChanged { at: &now.to_string() };
            send_notice(settings, store, &email, &notice, now).await
        }
    }
}

/// Queues a mail that tells a user of a change, if there is a mail server.
async fn send_notice(
    settings: &Settings,
    store: &Store,
    email: &Email,
    notice: &Notice<'_>,
    now: Timestamp,
) -> Result<(), CommandError> {
    let Some(account) = store.account(email).await? else { return Ok(()) };
    if let Some(mail) = security_notice::write(settings, account, notice, now) {
        store.queue_mail(mail, now).await?;
    }
    Ok(())
}

async fn find_user(store: &Store, email: &Email) -> Result<UserId, CommandError> {
    let not_found = || DomainError::NotFound { resource: "user", key: email.to_string() };
    let account = store.account(email).await?.ok_or_else(not_found);
    Ok(account.map_err(CommandError::new)?.user)
}

async fn list(store: &Store, json: bool) -> Result<(), CommandError> {
    let users = store.users(UserFilter::All).await?;
    if json {
        return print(&Value::from_iter(users.iter().map(to_json)).to_string());
    }
    let rows: Vec<_> = users.iter().map(row).collect();
    print_table(
        &["EMAIL", "NAME", "STATE", "WORKSPACES", "CREATED", "LAST SEEN", "VERIFIED"],
        &rows,
    )
}

fn state(user: &UserRow) -> &'static str {
    if user.disabled_at.is_some() { "disabled" } else { "active" }
}

fn row(user: &UserRow) -> Vec<String> {
    let memberships = user.workspaces.iter().filter_map(|workspace| {
        let role = workspace.role?;
        Some(format!("{} ({role})", workspace.name))
    });
    let workspaces = memberships.collect::<Vec<_>>().join(", ");
    vec![
        user.email.to_string(),
        user.name.clone(),
        state(user).to_owned(),
        if workspaces.is_empty() { "-".to_owned() } else { workspaces },
        user.created_at.to_string(),
        time_cell(user.last_seen_at),
        time_cell(user.email_verified_at),
    ]
}

fn to_json(user: &UserRow) -> Value {
    let memberships = user.workspaces.iter().filter_map(|workspace| {
        let role = workspace.role?.name();
        Some(json!({ "key": workspace.id, "name": workspace.name, "role": role }))
    });
    json!({
        "id": user.id,
        "name": user.name,
        "email": user.email,
        "state": state(user),
        "workspaces": memberships.collect::<Vec<_>>(),
        "createdAt": user.created_at,
        "lastSeenAt": user.last_seen_at,
        "emailVerifiedAt": user.email_verified_at,
        "disabledAt": user.disabled_at,
    })
}
