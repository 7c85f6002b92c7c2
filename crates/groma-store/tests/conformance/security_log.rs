//! The security log: what it contains, who finds what in it, and how long it lasts.

use crate::{
    Fixture,
    fixture::{OWNER, token, user},
    on_both_engines,
};
use groma_domain::{Email, Role, Timestamp, UserId, scope::Scopes};
use groma_store::{
    AccountAuthority, Actor, NewSecurityEntry, NewToken, SecurityEntry, SecurityLogFilter,
};
use serde_json::json;
use std::time::Duration;

on_both_engines! {
    changes_of_members_are_in_the_security_log
    entries_of_tokens_name_who_acted_and_the_owner
    settings_of_a_workspace_are_in_the_security_log
    entries_are_found_by_workspace_user_action_and_time
    entries_of_former_members_end_with_their_membership
    entries_outlive_their_workspace
    entries_are_read_in_pages
    old_entries_are_deleted
}

async fn read(fixture: &Fixture, filter: SecurityLogFilter) -> Vec<SecurityEntry> {
    fixture.store.security_entries(filter, 100).await.unwrap()
}

async fn actions(fixture: &Fixture, filter: SecurityLogFilter) -> Vec<String> {
    read(fixture, filter).await.into_iter().map(|entry| entry.action).collect()
}

async fn owner(fixture: &Fixture) -> UserId {
    fixture.store.account(&Email::parse(OWNER).unwrap()).await.unwrap().unwrap().user
}

fn login(user: UserId, at: Timestamp) -> NewSecurityEntry {
    NewSecurityEntry::new("login.succeeded", at).by(user).from_address("192.0.2.7")
}

async fn changes_of_members_are_in_the_security_log(fixture: Fixture) {
    let admin = fixture.member(Role::Admin).await;
    let (id, now) = (fixture.workspace_id, fixture.tick());
    let crew = user("crew@office.test", Some("Crew"));
    fixture.store.add_member(id, admin.actor, crew, Role::Viewer, now).await.unwrap();
    let filter = SecurityLogFilter::default();
    let entries = read(&fixture, filter).await;
    let newest = &entries[0];
    assert_eq!(
        (newest.action.as_str(), newest.email.as_deref(), newest.subject_email.as_deref()),
        ("member.added", Some("admin@office.test"), Some("crew@office.test"))
    );
    assert_eq!((newest.at, newest.workspace), (now, Some(id)));
    let details: serde_json::Value =
        serde_json::from_str(newest.details.as_deref().unwrap()).unwrap();
    assert_eq!(details, json!({ "after": { "role": "viewer" } }));
    // The operator made the workspace and its owner, at the same time.
    let mut oldest: Vec<_> = entries[entries.len() - 2..].iter().collect();
    oldest.sort_unstable_by(|one, other| one.action.cmp(&other.action));
    let (owner, created) = (oldest[0], oldest[1]);
    assert_eq!((owner.action.as_str(), owner.email.as_deref()), ("member.added", None));
    assert_eq!(owner.subject_email.as_deref(), Some(OWNER));
    assert_eq!((created.action.as_str(), created.workspace), ("workspace.created", Some(id)));
    assert_eq!(created.details.as_deref(), Some(r#"{"name":"Office"}"#));
}

async fn entries_of_tokens_name_who_acted_and_the_owner(fixture: Fixture) {
    let admin = fixture.member(Role::Admin).await;
    let workspace = fixture.workspace_id;
    let secret = token(1);
    let new_token = NewToken {
        id: None,
        workspace,
        owner: Email::parse(OWNER).unwrap(),
        name: "QGIS".to_owned(),
        hash: secret.hash(),
        hint: secret.hint(),
        scopes: Scopes::default(),
        expires_at: None,
        is_read_only: false,
        notice: None,
    };
    let created = fixture.store.create_token(new_token, Actor::Operator, fixture.tick());
    let created = created.await.unwrap();
    fixture.store.revoke_token(workspace, created, admin.actor, fixture.tick()).await.unwrap();
    let entries = read(&fixture, SecurityLogFilter::default()).await;
    let found: Vec<_> = entries[..2]
        .iter()
        .map(|entry| {
            (entry.action.as_str(), entry.email.as_deref(), entry.subject_email.as_deref())
        })
        .collect();
    let expected = [
        ("token.revoked", Some("admin@office.test"), Some(OWNER)),
        ("token.created", None, Some(OWNER)),
    ];
    assert_eq!(found, expected);
    assert_eq!(entries[0].subject, Some(created.0));
}

async fn settings_of_a_workspace_are_in_the_security_log(fixture: Fixture) {
    let (store, id, operator) = (&fixture.store, fixture.workspace_id, Actor::Operator);
    store.require_second_factor(id, operator, true, fixture.tick()).await.unwrap();
    store.set_max_token_days(id, operator, Some(30), fixture.tick()).await.unwrap();
    let entries = read(&fixture, SecurityLogFilter::default()).await;
    let details: Vec<serde_json::Value> = entries[..2]
        .iter()
        .map(|entry| serde_json::from_str(entry.details.as_deref().unwrap()).unwrap())
        .collect();
    let change = |name: &str, before: serde_json::Value, after: serde_json::Value| json!({ "before": { (name): before }, "after": { (name): after } });
    assert_eq!(
        details,
        [
            change("maxTokenDays", json!(null), json!(30)),
            change("requiresSecondFactor", json!(false), json!(true)),
        ]
    );
}

async fn entries_are_found_by_workspace_user_action_and_time(fixture: Fixture) {
    let user_id = owner(&fixture).await;
    let start = fixture.tick();
    fixture.store.log_security(login(user_id, start)).await.unwrap();
    let later = fixture.tick();
    let failed = NewSecurityEntry::new("login.failed", later).from_address("192.0.2.8");
    fixture.store.log_security(failed).await.unwrap();
    let wrong = NewSecurityEntry::new("login.failed", fixture.tick()).about(user_id);
    fixture.store.log_security(wrong).await.unwrap();
    let export = NewSecurityEntry::new("export.created", fixture.tick());
    let export = export.in_workspace(fixture.workspace_id);
    fixture.store.log_security(export).await.unwrap();
    let none = SecurityLogFilter { since: Some(start), ..SecurityLogFilter::default() };
    assert_eq!(
        actions(&fixture, none.clone()).await,
        ["export.created", "login.failed", "login.failed", "login.succeeded"]
    );
    let workspace = SecurityLogFilter { workspace: Some(fixture.workspace_id), ..none.clone() };
    // The failed login of a member is theirs, that of a stranger nobody's.
    let found = actions(&fixture, workspace).await;
    assert_eq!(found, ["export.created", "login.failed", "login.succeeded"]);
    let by_user = SecurityLogFilter { user: Some(user_id), ..none.clone() };
    assert_eq!(actions(&fixture, by_user).await, ["login.failed", "login.succeeded"]);
    let logins = SecurityLogFilter { action: Some("login.".to_owned()), ..none.clone() };
    let found = actions(&fixture, logins).await;
    assert_eq!(found, ["login.failed", "login.failed", "login.succeeded"]);
    let first = SecurityLogFilter { until: Some(later), ..none };
    assert_eq!(actions(&fixture, first).await, ["login.succeeded"]);
    // A neighbour sees nothing of it.
    let branch = fixture.create_workspace("Branch", "other@office.test").await.unwrap();
    let branch = SecurityLogFilter {
        workspace: Some(branch.id),
        since: Some(start),
        ..SecurityLogFilter::default()
    };
    let sorted_actions = async || {
        let mut found = actions(&fixture, branch.clone()).await;
        // The first two have the same time.
        found.sort_unstable();
        found
    };
    assert_eq!(sorted_actions().await, ["member.added", "workspace.created"]);
    // What the operator does with the installation concerns every workspace.
    let backup = NewSecurityEntry::new("backup.started", fixture.tick());
    fixture.store.log_security(backup).await.unwrap();
    assert_eq!(sorted_actions().await, ["backup.started", "member.added", "workspace.created"]);
}

async fn entries_of_former_members_end_with_their_membership(fixture: Fixture) {
    let (store, workspace, operator) = (&fixture.store, fixture.workspace_id, Actor::Operator);
    let add = async |address: &str| {
        let (new, now) = (user(address, None), fixture.tick());
        let member = store.add_member(workspace, operator, new, Role::Editor, now).await.unwrap();
        let account = store.account(&Email::parse(address).unwrap()).await.unwrap().unwrap();
        (member.person.id, account.user)
    };
    let (person, crew) = add("crew@office.test").await;
    let (_, deleted) = add("deleted@office.test").await;
    let branch = fixture.create_workspace("Branch", "crew@office.test").await.unwrap();
    let log_in = async |user| store.log_security(login(user, fixture.tick())).await.unwrap();
    let logins = async |workspace| {
        let action = Some("login.".to_owned());
        let filter = SecurityLogFilter { workspace: Some(workspace), action, ..Default::default() };
        let entries = read(&fixture, filter).await;
        entries.into_iter().map(|entry| entry.at).collect::<Vec<_>>()
    };
    log_in(crew).await;
    let crew_login = fixture.now();
    log_in(deleted).await;
    let deleted_login = fixture.now();
    store.remove_member(workspace, operator, person, fixture.tick()).await.unwrap();
    let authority = AccountAuthority::Actor(operator);
    store.delete_user(deleted, authority, fixture.tick()).await.unwrap();
    assert_eq!(logins(workspace).await, [deleted_login, crew_login]);
    // What a former member does in other workspaces is not shown.
    log_in(crew).await;
    let later_login = fixture.now();
    assert_eq!(logins(workspace).await, [deleted_login, crew_login]);
    assert_eq!(logins(branch.id).await, [later_login, crew_login]);
}

async fn entries_outlive_their_workspace(fixture: Fixture) {
    let branch = fixture.new_workspace("Branch").await;
    let id = branch.workspace_id;
    fixture.store.delete_workspace(id, Actor::Operator, fixture.tick()).await.unwrap();
    let filter = SecurityLogFilter { workspace: Some(id), ..SecurityLogFilter::default() };
    let entries = read(&fixture, filter).await;
    let mut names: Vec<_> = entries.iter().map(|entry| entry.action.as_str()).collect();
    // The first two have the same time.
    names[1..].sort_unstable();
    assert_eq!(names, ["workspace.deleted", "member.added", "workspace.created"]);
    assert_eq!((entries[0].workspace_name.as_deref(), entries[0].workspace), (None, Some(id)));
    assert_eq!(entries[0].details.as_deref(), Some(r#"{"name":"Branch"}"#));
}

async fn entries_are_read_in_pages(fixture: Fixture) {
    let user_id = owner(&fixture).await;
    for _ in 0..5 {
        fixture.store.log_security(login(user_id, fixture.tick())).await.unwrap();
    }
    let mut filter =
        SecurityLogFilter { action: Some("login.".to_owned()), ..SecurityLogFilter::default() };
    let mut times = Vec::new();
    loop {
        let page = fixture.store.security_entries(filter.clone(), 2).await.unwrap();
        let Some(last) = page.last() else { break };
        filter.before = Some(last.id);
        times.extend(page.iter().map(|entry| entry.at));
    }
    assert_eq!(times.len(), 5);
    assert!(times.is_sorted_by(|later, earlier| later > earlier));
}

async fn old_entries_are_deleted(fixture: Fixture) {
    let user_id = owner(&fixture).await;
    let old = fixture.now().plus_millis(-10 * 86_400_000);
    fixture.store.log_security(login(user_id, old)).await.unwrap();
    fixture.store.log_security(login(user_id, fixture.now())).await.unwrap();
    let week = Duration::from_secs(7 * 86_400);
    let deleted = fixture.store.delete_old_security_entries(fixture.now(), week).await.unwrap();
    assert_eq!(deleted, 1);
    let filter =
        SecurityLogFilter { action: Some("login.".to_owned()), ..SecurityLogFilter::default() };
    assert_eq!(actions(&fixture, filter).await.len(), 1);
}
