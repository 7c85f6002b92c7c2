//! `groma security-log`

use super::{CommandError, find_workspace, print, print_table};
use crate::{
    cli::{SecurityLogArgs, UserKey},
    clock,
};
use groma_domain::DomainError;
use groma_store::{SecurityEntry, SecurityLogFilter, Store};
use serde_json::{Value, json};

/// Entries are read in pages of this size.
const PAGE: u32 = 1_000;

pub(super) async fn run(store: &Store, arguments: SecurityLogArgs) -> Result<(), CommandError> {
    let SecurityLogArgs { workspace, user, action, last, limit, json } = arguments;
    let workspace = match workspace.name_or_key {
        Some(_) => Some(find_workspace(store, &workspace).await?.id),
        None => None,
    };
    let user = match user {
        // The user may be deleted.
        Some(UserKey::Id(id)) => Some(id),
        Some(UserKey::Email(email)) => {
            let not_found = || DomainError::NotFound { resource: "user", key: email.to_string() };
            Some(
                store.account(&email).await?.ok_or_else(not_found).map_err(CommandError::new)?.user,
            )
        }
        None => None,
    };
    let since = last.map(|millis| clock::now().plus_millis(-millis));
    let mut filter =
        SecurityLogFilter { workspace, user, action, since, ..SecurityLogFilter::default() };
    let mut rows = Vec::new();
    let mut left = limit;
    while left > 0 {
        let page = left.min(PAGE);
        let entries = store.security_entries(filter.clone(), page).await?;
        let is_last = entries.len() < page as usize;
        filter.before = entries.last().map(|entry| entry.id);
        left -= page;
        for entry in entries {
            if json {
                print(&to_json(&entry).to_string())?;
            } else {
                rows.push(row(entry));
            }
        }
        if is_last {
            break;
        }
    }
    if json {
        return Ok(());
    }
    print_table(&["TIME", "ACTION", "BY", "TO", "WORKSPACE", "ADDRESS", "DETAILS"], &rows)
}

fn row(entry: SecurityEntry) -> Vec<String> {
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let former = |is_former: bool| is_former.then(|| "Former member".to_owned());
    vec![
        entry.at.to_string(),
        entry.action,
        or_dash(entry.email.or_else(|| former(entry.is_by_former))),
        or_dash(
            entry
                .subject_email
                .or_else(|| former(entry.is_about_former))
                .or_else(|| entry.subject.map(|subject| subject.to_string())),
        ),
        entry.workspace_name.unwrap_or_else(|| or_dash(entry.workspace.map(|key| key.to_string()))),
        or_dash(entry.address),
        or_dash(entry.details),
    ]
}

fn to_json(entry: &SecurityEntry) -> Value {
    let details = entry.details.as_deref().and_then(|details| serde_json::from_str(details).ok());
    json!({
        "id": entry.id,
        "at": entry.at,
        "action": entry.action,
        "userId": entry.user,
        "user": entry.email,
        "workspaceKey": entry.workspace,
        "workspace": entry.workspace_name,
        "subjectId": entry.subject,
        "subjectUserId": entry.subject_user,
        "subject": entry.subject_email,
        "address": entry.address,
        "details": details.unwrap_or(Value::Null),
    })
}
