//! Workspaces: made, found, deleted with all they hold.

use crate::{
    Engine, Office,
    database::connect,
    office::{Desk, OWNER, new, refusal, token, user, within},
    on_both_engines,
};
use groma_domain::{Currency, Email, Kind, Refusal, Scope, WorkspaceId, workspace::WorkspaceName};
use groma_store::{Actor, Admission, DatabaseUrl, NewToken, WorkspaceFilter};
use serde_json::{Value, json};
use std::{collections::BTreeMap, time::Duration};

on_both_engines! {
    a_workspace_is_made_with_its_owner
    names_are_unique_without_regard_to_case_or_accents
    workspaces_are_listed_in_the_order_of_creation
    of_many_who_make_the_same_name_at_once_one_gets_it
    a_workspace_is_found_by_its_key_or_by_its_name
    a_deleted_workspace_leaves_nothing_behind_and_its_neighbour_untouched
    deleting_a_workspace_that_is_not_there_is_no_harm
    a_workspace_of_thousands_is_deleted
    a_deleted_workspaces_name_is_free
}

async fn a_workspace_is_made_with_its_owner(office: Office) {
    let made_at = office.tick();
    let made = office
        .store
        .create_workspace(
            WorkspaceName::parse("Tokyo").unwrap(),
            "JPY".parse().unwrap(),
            user("Sora@tokyo.test", Some("Sora")),
            made_at,
        )
        .await
        .unwrap();
    let all = office.store.workspaces().await.unwrap();
    let names: Vec<_> = all.iter().map(|workspace| workspace.name.as_str()).collect();
    assert_eq!(names, ["Office", "Tokyo"]);
    let tokyo = &all[1];
    assert_eq!((tokyo.id, tokyo.created_at), (made.id, made_at));
    assert_eq!(tokyo.currency.code(), "JPY");
    assert!(office.store.has_user(&Email::parse("sora@tokyo.test").unwrap()).await.unwrap());
    let desk = office.in_workspace(made.id);
    let folder = json!({ "name": "x", "owner": "sora@tokyo.test" });
    let folder = desk.create(Kind::Folder, folder).await;
    assert_eq!((&folder["currency"], &folder["owner"]["name"]), (&json!("JPY"), &json!("Sora")));
    assert_eq!(folder["workspaceKey"], made.id.to_string());
}

async fn names_are_unique_without_regard_to_case_or_accents(office: Office) {
    office.make_workspace("Chêne", OWNER).await.unwrap();
    for name in ["chêne", "CHENE", " che\u{302}ne "] {
        let (refused, _) = refusal(office.make_workspace(name, OWNER).await);
        assert!(matches!(refused, Refusal::Invalid(_)), "{refused}");
    }
    assert_eq!(office.store.workspaces().await.unwrap().len(), 2);
}

async fn workspaces_are_listed_in_the_order_of_creation(office: Office) {
    let names = ["d", "b", "e", "a", "c"];
    let now = office.tick();
    for name in names {
        let (name, owner) = (WorkspaceName::parse(name).unwrap(), user(OWNER, None));
        office.store.create_workspace(name, Currency::EUR, owner, now).await.unwrap();
    }
    let all = office.store.workspaces().await.unwrap();
    let listed: Vec<_> = all.iter().map(|workspace| workspace.name.as_str()).collect();
    assert_eq!(listed, ["Office", "d", "b", "e", "a", "c"], "also within one millisecond");
}

async fn of_many_who_make_the_same_name_at_once_one_gets_it(office: Office) {
    // Several times, so that some really are at once.
    for round in 0..5 {
        let tasks = (0..8).map(|_| {
            let desk = (*office).clone();
            tokio::spawn(
                async move { desk.make_workspace(&format!("Wanted {round}"), OWNER).await },
            )
        });
        let mut made = 0;
        for task in tasks.collect::<Vec<_>>() {
            match task.await.unwrap() {
                Ok(_) => made += 1,
                refused => assert!(matches!(refusal(refused).0, Refusal::Invalid(_))),
            }
        }
        assert_eq!(made, 1);
    }
}

async fn a_workspace_is_found_by_its_key_or_by_its_name(office: Office) {
    let find = async |filter: WorkspaceFilter| {
        office.store.find_workspace(&filter).await.map(|found| found.id)
    };
    let named = |name: &str| WorkspaceFilter::Name(WorkspaceName::parse(name).unwrap());
    let next = office.neighbour("Chêne").await;
    assert_eq!(find(named("CHENE")).await.unwrap(), next.workspace);
    assert_eq!(find(named("office")).await.unwrap(), office.workspace);
    let by_key = WorkspaceFilter::Id(next.workspace);
    assert_eq!(find(by_key).await.unwrap(), next.workspace);
    let nowhere = Refusal::NotFound { what: "workspace", key: "Nowhere".into() };
    assert_eq!(refusal(find(named("Nowhere")).await).0, nowhere);
    let unknown = WorkspaceFilter::Id(WorkspaceId(uuid::Uuid::now_v7()));
    assert!(matches!(refusal(find(unknown).await).0, Refusal::NotFound { .. }));
}

/// Something of everything that a workspace can hold.
async fn fill(desk: &Desk, number: u8) {
    desk.furnish().await;
    let expense = json!({
        "reference": "in", "folder": "in", "budget": "in", "assignment": "in", "unitAmount": 5,
        "incurredOn": "2026-03-01", "submittedBy": "crew@office.test",
    });
    desk.create(Kind::Expense, expense).await;
    let new_token = NewToken {
        id: None,
        workspace: desk.workspace,
        owner: Email::parse(OWNER).unwrap(),
        name: "x".into(),
        hash: token(number).hash(),
        hint: "abcd".to_owned(),
        scopes: Scope::ALL.into_iter().collect(),
        expires_at: None,
    };
    desk.store.create_token(new_token, Actor::Operator, desk.tick()).await.unwrap();
    assert!(is_known(desk, number).await);
}

async fn is_known(desk: &Desk, number: u8) -> bool {
    let admitted = desk.store.admit(token(number).sent(), 100, desk.now()).await.unwrap();
    matches!(admitted, Admission::Known { .. })
}

/// All that the store tells of a workspace.
async fn everything(desk: &Desk) -> Vec<Value> {
    let mut all = desk.statuses(&[]).await.0;
    for kind in Kind::ALL {
        all.extend(desk.list(kind, &[]).await.0);
        all.extend(desk.list(kind, &[("term", "in")]).await.0);
        all.extend(desk.get(kind, "in").await);
    }
    all.extend(desk.trail(0).await.iter().map(|row| json!(format!("{row:?}"))));
    let tokens = desk.store.tokens(Some(desk.workspace)).await.unwrap();
    all.extend(tokens.iter().map(|row| json!(format!("{row:?}"))));
    all
}

/// How many rows every table has, as the database itself counts.
async fn rows(office: &Office) -> BTreeMap<String, i64> {
    let mut rows = BTreeMap::new();
    match &office.url {
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
            let client = connect(url).await;
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
    rows
}

async fn a_deleted_workspace_leaves_nothing_behind_and_its_neighbour_untouched(office: Office) {
    fill(&office, 1).await;
    let (here, before) = (everything(&office).await, rows(&office).await);
    let next = office.neighbour("Next door").await;
    fill(&next, 2).await;
    assert_ne!(rows(&office).await, before);
    next.store.delete_workspace(next.workspace, Actor::Operator).await.unwrap();
    assert_eq!(everything(&next).await, Vec::<Value>::new());
    assert!(!is_known(&next, 2).await);
    assert!(is_known(&office, 1).await);
    let outcome = next.apply(vec![new(Kind::Folder, json!({ "name": "x" }))]).await;
    assert!(matches!(refusal(outcome).0, Refusal::NotFound { what: "workspace", .. }));
    assert_eq!(office.store.workspaces().await.unwrap().len(), 1);
    assert_eq!(rows(&office).await, before);
    assert_eq!(everything(&office).await, here);
    // Through another opening that knows nothing yet.
    let again = office.reopened().await.in_workspace(next.workspace);
    assert_eq!(everything(&again).await, Vec::<Value>::new());
}

async fn deleting_a_workspace_that_is_not_there_is_no_harm(office: Office) {
    let before = rows(&office).await;
    office
        .store
        .delete_workspace(WorkspaceId(uuid::Uuid::now_v7()), Actor::Operator)
        .await
        .unwrap();
    assert_eq!(rows(&office).await, before);
}

async fn a_workspace_of_thousands_is_deleted(office: Office) {
    let before = rows(&office).await;
    let next = office.neighbour("Next door").await;
    for _ in 0..6 {
        let folders = (0..1_000).map(|_| new(Kind::Folder, json!({ "name": "x" })));
        next.apply(folders.collect()).await.unwrap();
    }
    // Others go on meanwhile.
    let delete = {
        let next = next.clone();
        tokio::spawn(
            async move { next.store.delete_workspace(next.workspace, Actor::Operator).await },
        )
    };
    let made = office.create(Kind::Folder, json!({ "name": "meanwhile" })).await;
    delete.await.unwrap().unwrap();
    assert_eq!(next.list(Kind::Folder, &[]).await, (vec![], 0));
    office.delete(Kind::Folder, made["id"].as_str().unwrap()).await;
    let mut after = rows(&office).await;
    // The folder that came and went has left its lines on the trail and its counts.
    for own in ["changes", "collections", "blocks"] {
        after.insert(own.to_owned(), before[own]);
    }
    assert_eq!(after, before);
}

async fn a_deleted_workspaces_name_is_free(office: Office) {
    let next = office.neighbour("Next door").await;
    fill(&next, 1).await;
    next.store.delete_workspace(next.workspace, Actor::Operator).await.unwrap();
    let again = office.neighbour("Next door").await;
    assert_ne!(again.workspace, next.workspace);
    for kind in Kind::ALL {
        assert_eq!(again.list(kind, &[]).await, (vec![], 0));
        assert_eq!(again.get(kind, "in").await, None);
    }
    again.furnish().await;
    assert_eq!(next.get(Kind::Folder, "in").await, None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_workspace_deleted_on_postgres_behind_a_change_under_way_leaves_nothing() {
    let office = Office::open(Engine::Postgres).await;
    let DatabaseUrl::Postgres(url) = &office.url else { panic!("on PostgreSQL") };
    let before = rows(&office).await;
    let next = office.neighbour("Next door").await;
    // Holds the workspace's row, so that a change and then the deletion wait for it in that order.
    let mut holder = connect(url).await;
    let held = holder.transaction().await.unwrap();
    let lock = "SELECT 1 FROM workspaces WHERE id = $1 FOR UPDATE";
    held.execute(lock, &[&next.workspace.0]).await.unwrap();
    let watcher = connect(url).await;
    let waiting = async |count: i64| {
        within(Duration::from_secs(20), "the others wait for the row", async || {
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
        tokio::spawn(
            async move { next.store.delete_workspace(next.workspace, Actor::Operator).await },
        )
    };
    waiting(2).await;
    held.commit().await.unwrap();
    change.await.unwrap().unwrap();
    deletion.await.unwrap().unwrap();
    assert_eq!(rows(&office).await, before);
}
