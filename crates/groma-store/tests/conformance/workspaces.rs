//! Workspaces: creating, finding, deleting.

use crate::{
    Fixture,
    fixture::{OWNER, TestWorkspace, domain_error, new, token, user},
    on_both_engines,
};
use groma_domain::{
    Currency, DomainError, Email, Kind, Scope, WorkspaceId, workspace::WorkspaceName,
};
use groma_store::{Actor, AuthOutcome, DatabaseUrl, NewToken, WorkspaceFilter};
use groma_testkit::{Engine, postgres::connect, wait::wait_until_true};
use serde_json::{Value, json};
use std::{collections::BTreeMap, time::Duration};

on_both_engines! {
    workspace_is_created_with_its_owner
    workspace_names_are_unique_ignoring_case_and_accents
    workspaces_are_listed_in_creation_order
    one_of_many_concurrent_workspaces_with_a_name_is_created
    workspace_is_found_by_key_or_name
    deleting_a_workspace_deletes_all_its_rows_and_no_others
    deleting_an_unknown_workspace_does_nothing
    workspace_with_thousands_of_records_can_be_deleted
    name_of_a_deleted_workspace_is_free
}

async fn workspace_is_created_with_its_owner(fixture: Fixture) {
    let made_at = fixture.tick();
    let made = fixture
        .store
        .create_workspace(
            WorkspaceName::parse("Tokyo").unwrap(),
            "JPY".parse().unwrap(),
            user("Sora@tokyo.test", Some("Sora")),
            made_at,
        )
        .await
        .unwrap();
    let all = fixture.store.workspaces().await.unwrap();
    let names: Vec<_> = all.iter().map(|workspace| workspace.name.as_str()).collect();
    assert_eq!(names, ["Office", "Tokyo"]);
    let tokyo = &all[1];
    assert_eq!((tokyo.id, tokyo.created_at), (made.id, made_at));
    assert_eq!(tokyo.currency.code(), "JPY");
    assert!(fixture.store.has_user(&Email::parse("sora@tokyo.test").unwrap()).await.unwrap());
    let workspace = fixture.in_workspace(made.id);
    let folder = json!({ "name": "x", "owner": "sora@tokyo.test" });
    let folder = workspace.create(Kind::Folder, folder).await;
    assert_eq!((&folder["currency"], &folder["owner"]["name"]), (&json!("JPY"), &json!("Sora")));
    assert_eq!(folder["workspaceKey"], made.id.to_string());
}

async fn workspace_names_are_unique_ignoring_case_and_accents(fixture: Fixture) {
    fixture.create_workspace("Chêne", OWNER).await.unwrap();
    for name in ["chêne", "CHENE", " che\u{302}ne "] {
        let (error, _) = domain_error(fixture.create_workspace(name, OWNER).await);
        assert!(matches!(error, DomainError::Invalid(_)), "{error}");
    }
    assert_eq!(fixture.store.workspaces().await.unwrap().len(), 2);
}

async fn workspaces_are_listed_in_creation_order(fixture: Fixture) {
    let names = ["d", "b", "e", "a", "c"];
    let now = fixture.tick();
    for name in names {
        let (name, owner) = (WorkspaceName::parse(name).unwrap(), user(OWNER, None));
        fixture.store.create_workspace(name, Currency::EUR, owner, now).await.unwrap();
    }
    let all = fixture.store.workspaces().await.unwrap();
    let listed: Vec<_> = all.iter().map(|workspace| workspace.name.as_str()).collect();
    assert_eq!(listed, ["Office", "d", "b", "e", "a", "c"], "also within one millisecond");
}

async fn one_of_many_concurrent_workspaces_with_a_name_is_created(fixture: Fixture) {
    // Repeated, so that some attempts really overlap.
    for round in 0..5 {
        let tasks = (0..8).map(|_| {
            let workspace = (*fixture).clone();
            tokio::spawn(async move {
                workspace.create_workspace(&format!("Wanted {round}"), OWNER).await
            })
        });
        let mut made = 0;
        for task in tasks.collect::<Vec<_>>() {
            match task.await.unwrap() {
                Ok(_) => made += 1,
                failed => assert!(matches!(domain_error(failed).0, DomainError::Invalid(_))),
            }
        }
        assert_eq!(made, 1);
    }
}

async fn workspace_is_found_by_key_or_name(fixture: Fixture) {
    let find = async |filter: WorkspaceFilter| {
        fixture.store.find_workspace(&filter).await.map(|found| found.id)
    };
    let named = |name: &str| WorkspaceFilter::Name(WorkspaceName::parse(name).unwrap());
    let next = fixture.new_workspace("Chêne").await;
    assert_eq!(find(named("CHENE")).await.unwrap(), next.workspace_id);
    assert_eq!(find(named("office")).await.unwrap(), fixture.workspace_id);
    let by_key = WorkspaceFilter::Id(next.workspace_id);
    assert_eq!(find(by_key).await.unwrap(), next.workspace_id);
    let nowhere = DomainError::NotFound { resource: "workspace", key: "Nowhere".into() };
    assert_eq!(domain_error(find(named("Nowhere")).await).0, nowhere);
    let unknown = WorkspaceFilter::Id(WorkspaceId(uuid::Uuid::now_v7()));
    assert!(matches!(domain_error(find(unknown).await).0, DomainError::NotFound { .. }));
}

/// Fills a workspace with rows of every kind.
async fn fill(workspace: &TestWorkspace, number: u8) {
    workspace.seed_folder().await;
    let expense = json!({
        "reference": "in", "folder": "in", "budget": "in", "assignment": "in", "unitAmount": 5,
        "incurredOn": "2026-03-01", "submittedBy": "crew@office.test",
    });
    workspace.create(Kind::Expense, expense).await;
    let new_token = NewToken {
        id: None,
        workspace: workspace.workspace_id,
        owner: Email::parse(OWNER).unwrap(),
        name: "x".into(),
        hash: token(number).hash(),
        hint: "abcd".to_owned(),
        scopes: Scope::ALL.into_iter().collect(),
        expires_at: None,
        is_read_only: false,
        notice: None,
    };
    workspace.store.create_token(new_token, Actor::Operator, workspace.tick()).await.unwrap();
    assert!(is_known(workspace, number).await);
}

async fn is_known(workspace: &TestWorkspace, number: u8) -> bool {
    let admitted = workspace
        .store
        .authenticate(token(number).presented(), 100, None, workspace.now())
        .await
        .unwrap();
    matches!(admitted, AuthOutcome::Valid { .. })
}

/// Everything that the store returns for a workspace.
async fn everything(workspace: &TestWorkspace) -> Vec<Value> {
    let mut all = workspace.statuses(&[]).await.0;
    for kind in Kind::ALL {
        all.extend(workspace.list(kind, &[]).await.0);
        all.extend(workspace.list(kind, &[("term", "in")]).await.0);
        all.extend(workspace.get(kind, "in").await);
    }
    all.extend(workspace.audit_log(0).await.iter().map(|row| json!(format!("{row:?}"))));
    let tokens = workspace.store.tokens(Some(workspace.workspace_id)).await.unwrap();
    all.extend(tokens.iter().map(|row| json!(format!("{row:?}"))));
    all
}

/// The number of rows of every table but the security log, which outlives workspaces.
pub(crate) async fn row_counts(fixture: &Fixture) -> BTreeMap<String, i64> {
    let mut rows = BTreeMap::new();
    match &fixture.url {
        DatabaseUrl::Sqlite(path) => {
            let connection = rusqlite::Connection::open(path).unwrap();
            let tables = "SELECT name FROM sqlite_schema WHERE type = 'table'
                AND name NOT LIKE 'sqlite_%' AND name NOT LIKE '%_search_data'
                AND name NOT LIKE '%_search_idx' AND name NOT LIKE '%_grams'";
            let mut statement = connection.prepare(tables).unwrap();
            let names = statement.query_map([], |row| row.get::<_, String>(0)).unwrap();
            for name in names.map(Result::unwrap) {
                let count = format!("SELECT count(*) FROM {name}");
                let count = connection.query_row(&count, [], |row| row.get(0)).unwrap();
                rows.insert(name, count);
            }
        }
        DatabaseUrl::Postgres(url) => {
            let client = connect(url).await.unwrap();
            let tables = "SELECT tablename::text FROM pg_tables WHERE schemaname = 'public'";
            for row in client.query(tables, &[]).await.unwrap() {
                let name: String = row.get(0);
                let count = format!("SELECT count(*) FROM {name}");
                let count = client.query_one(&count, &[]).await.unwrap().get(0);
                rows.insert(name, count);
            }
        }
    }
    assert!(rows.len() >= 12, "{rows:?}");
    rows.remove("security_log");
    rows
}

async fn deleting_a_workspace_deletes_all_its_rows_and_no_others(fixture: Fixture) {
    fill(&fixture, 1).await;
    let (here, before) = (everything(&fixture).await, row_counts(&fixture).await);
    let next = fixture.new_workspace("Next door").await;
    fill(&next, 2).await;
    assert_ne!(row_counts(&fixture).await, before);
    next.store.delete_workspace(next.workspace_id, Actor::Operator, next.now()).await.unwrap();
    assert_eq!(everything(&next).await, Vec::<Value>::new());
    assert!(!is_known(&next, 2).await);
    assert!(is_known(&fixture, 1).await);
    let outcome = next.apply(vec![new(Kind::Folder, json!({ "name": "x" }))]).await;
    assert!(matches!(domain_error(outcome).0, DomainError::NotFound { resource: "workspace", .. }));
    assert_eq!(fixture.store.workspaces().await.unwrap().len(), 1);
    assert_eq!(row_counts(&fixture).await, before);
    assert_eq!(everything(&fixture).await, here);
    // Also through a new connection.
    let again = fixture.reopen().await.in_workspace(next.workspace_id);
    assert_eq!(everything(&again).await, Vec::<Value>::new());
}

async fn deleting_an_unknown_workspace_does_nothing(fixture: Fixture) {
    let before = row_counts(&fixture).await;
    fixture
        .store
        .delete_workspace(WorkspaceId(uuid::Uuid::now_v7()), Actor::Operator, fixture.now())
        .await
        .unwrap();
    assert_eq!(row_counts(&fixture).await, before);
}

async fn workspace_with_thousands_of_records_can_be_deleted(fixture: Fixture) {
    let before = row_counts(&fixture).await;
    let next = fixture.new_workspace("Next door").await;
    for _ in 0..6 {
        let folders = (0..1_000).map(|_| new(Kind::Folder, json!({ "name": "x" })));
        next.apply(folders.collect()).await.unwrap();
    }
    // Other workspaces can be used meanwhile.
    let delete = {
        let next = next.clone();
        tokio::spawn(async move {
            next.store.delete_workspace(next.workspace_id, Actor::Operator, next.now()).await
        })
    };
    let made = fixture.create(Kind::Folder, json!({ "name": "meanwhile" })).await;
    delete.await.unwrap().unwrap();
    assert_eq!(next.list(Kind::Folder, &[]).await, (vec![], 0));
    fixture.delete(Kind::Folder, made["id"].as_str().unwrap()).await;
    let mut after = row_counts(&fixture).await;
    // A deleted folder has left rows in the audit log and in the counters.
    for own in ["audit_log", "record_counters", "page_counts"] {
        after.insert(own.to_owned(), before[own]);
    }
    assert_eq!(after, before);
}

async fn name_of_a_deleted_workspace_is_free(fixture: Fixture) {
    let next = fixture.new_workspace("Next door").await;
    fill(&next, 1).await;
    next.store.delete_workspace(next.workspace_id, Actor::Operator, next.now()).await.unwrap();
    let again = fixture.new_workspace("Next door").await;
    assert_ne!(again.workspace_id, next.workspace_id);
    for kind in Kind::ALL {
        assert_eq!(again.list(kind, &[]).await, (vec![], 0));
        assert_eq!(again.get(kind, "in").await, None);
    }
    again.seed_folder().await;
    assert_eq!(next.get(Kind::Folder, "in").await, None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgres_workspace_deleted_during_a_change_leaves_no_rows() {
    let fixture = Fixture::open(Engine::Postgres).await;
    let DatabaseUrl::Postgres(url) = &fixture.url else { panic!("on PostgreSQL") };
    let before = row_counts(&fixture).await;
    let next = fixture.new_workspace("Next door").await;
    // Locks the workspace's row, so that a change and then the deletion wait for it in this order.
    let mut holder = connect(url).await.unwrap();
    let held = holder.transaction().await.unwrap();
    let lock = "SELECT 1 FROM workspaces WHERE id = $1 FOR UPDATE";
    held.execute(lock, &[&next.workspace_id.0]).await.unwrap();
    let watcher = connect(url).await.unwrap();
    let waiting = async |count: i64| {
        wait_until_true(Duration::from_secs(20), "the others wait for the lock", async || {
            let waits = "SELECT count(*) FROM pg_stat_activity
                WHERE datname = current_database() AND wait_event_type = 'Lock'";
            watcher.query_one(waits, &[]).await.unwrap().get::<_, i64>(0) == count
        })
        .await;
    };
    let change = {
        let next = next.clone();
        tokio::spawn(async move {
            let folder = json!({ "name": "x", "owner": "late@office.test" });
            next.apply(vec![new(Kind::Folder, folder)]).await
        })
    };
    waiting(1).await;
    let deletion = {
        let next = next.clone();
        tokio::spawn(async move {
            next.store.delete_workspace(next.workspace_id, Actor::Operator, next.now()).await
        })
    };
    waiting(2).await;
    held.commit().await.unwrap();
    change.await.unwrap().unwrap();
    deletion.await.unwrap().unwrap();
    assert_eq!(row_counts(&fixture).await, before);
}
