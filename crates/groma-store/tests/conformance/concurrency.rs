//! Concurrent writes and reads, rejected commands, and dry runs.

use crate::{
    Fixture,
    fixture::{
        TestWorkspace, change, delete, domain_error, new, save_status, text, update_version,
        wait_for_other_connections,
    },
    on_both_engines,
};
use groma_domain::{DomainError, Kind, Role};
use groma_store::{CommandOutcome, DatabaseUrl};
use groma_testkit::{Engine, postgres::connect, wait::wait_until_true};
use serde_json::json;
use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

on_both_engines! {
    change_is_applied_completely_or_not_at_all
    error_has_the_index_of_the_rejected_command
    concurrent_changes_are_all_applied
    rejected_change_does_not_affect_concurrent_ones
    change_that_fails_halfway_leaves_nothing_and_affects_no_other
    one_of_many_updates_of_the_same_version_succeeds
    one_of_many_records_with_the_same_reference_is_created
    concurrently_generated_references_are_unique
    writes_through_two_connections_are_all_applied
    repeated_reads_never_return_an_older_version
    writes_of_another_connection_are_seen_after_repeated_reads
    two_workspaces_can_be_written_concurrently
    dry_run_reports_every_rejected_command_and_writes_nothing
    dry_run_of_valid_commands_reports_nothing
    empty_change_does_nothing
    acknowledged_writes_survive_reopening
    ping_succeeds
}

fn folder(reference: &str) -> groma_store::Command {
    new(Kind::Folder, json!({ "reference": reference, "name": "x" }))
}

async fn change_is_applied_completely_or_not_at_all(fixture: Fixture) {
    fixture.seed_folder().await;
    let mark = fixture.audit_position().await;
    let before = fixture.find(Kind::Budget, "in").await;
    let expense = json!({
        "folder": "in", "budget": "in", "unitAmount": 5, "incurredOn": "2026-03-01",
        "submittedBy": "new@office.test",
    });
    let outcome = fixture
        .apply(vec![
            folder("kept?"),
            new(Kind::Expense, expense),
            save_status(json!({ "name": "Kept?", "appliesTo": "folder" })),
            delete(Kind::Assignment, "in"),
            change(Kind::Folder, "nowhere", json!({})),
        ])
        .await;
    let not_found = DomainError::NotFound { resource: "folder", key: "nowhere".into() };
    assert_eq!(domain_error(outcome), (not_found, 4));
    assert_eq!(fixture.audit_log(mark).await, []);
    assert_eq!(fixture.get(Kind::Folder, "kept?").await, None);
    assert_eq!(fixture.list(Kind::Folder, &[]).await.1, 1);
    assert_eq!(fixture.list(Kind::Folder, &[("term", "kept?")]).await.1, 0);
    assert_eq!(fixture.list(Kind::Expense, &[]).await.1, 0);
    assert_eq!(fixture.statuses(&[("term", "kept")]).await.1, 0);
    assert_eq!(fixture.find(Kind::Budget, "in").await, before);
    assert_eq!(fixture.find(Kind::Assignment, "in").await["reference"], "in");
    // No sequence number was used either.
    assert_eq!(fixture.create(Kind::Folder, json!({ "name": "x" })).await["reference"], "F-000001");
}

async fn error_has_the_index_of_the_rejected_command(fixture: Fixture) {
    fixture.seed_folder().await;
    for wrong in 0..4 {
        let mut commands: Vec<_> = ["a", "b", "c"].map(folder).into();
        commands.insert(wrong, new(Kind::Folder, json!({})));
        let (error, index) = domain_error(fixture.apply(commands).await);
        assert_eq!((error.to_string(), index), ("name is required".into(), wrong));
    }
}

async fn concurrent_changes_are_all_applied(fixture: Fixture) {
    let tasks = (0..120).map(|number| {
        let workspace = (*fixture).clone();
        tokio::spawn(async move { workspace.run(folder(&number.to_string())).await })
    });
    for task in tasks.collect::<Vec<_>>() {
        assert!(matches!(task.await.unwrap(), CommandOutcome::Created(..)));
    }
    let mut seen = BTreeSet::new();
    for page in ["1", "2"] {
        seen.extend(fixture.references(Kind::Folder, &[("page", page), ("limit", "100")]).await);
    }
    assert_eq!(seen, (0..120).map(|number| number.to_string()).collect());
    let created = fixture.audit_log(0).await;
    assert_eq!(created.iter().filter(|row| row.action == "folder.created").count(), 120);
}

async fn rejected_change_does_not_affect_concurrent_ones(fixture: Fixture) {
    let tasks = (0..90).map(|number| {
        let workspace = (*fixture).clone();
        tokio::spawn(async move {
            let good = folder(&number.to_string());
            match number % 3 {
                0 => workspace.apply(vec![good]).await,
                1 => workspace.apply(vec![good, change(Kind::Folder, "nowhere", json!({}))]).await,
                _ => workspace.apply(vec![good, folder(&format!("and {number}"))]).await,
            }
        })
    });
    for (number, task) in tasks.collect::<Vec<_>>().into_iter().enumerate() {
        let outcome = task.await.unwrap();
        if number % 3 == 1 {
            assert_eq!(domain_error(outcome).1, 1);
        } else {
            outcome.unwrap();
        }
    }
    let (_, total) = fixture.list(Kind::Folder, &[]).await;
    assert_eq!(total, 30 + 60);
    assert_eq!(fixture.list(Kind::Folder, &[("term", "and ")]).await.1, 30);
    for number in (1..90).step_by(3) {
        assert_eq!(fixture.get(Kind::Folder, &number.to_string()).await, None);
    }
}

/// Adds a trigger that rejects the event of a record with the name `explode`, after the record was
/// written.
async fn add_failing_trigger(fixture: &Fixture) {
    match &fixture.url {
        DatabaseUrl::Sqlite(path) => {
            let trigger = "CREATE TRIGGER add_failing_trigger BEFORE INSERT ON audit_log
                WHEN new.after LIKE '%explode%'
                BEGIN SELECT raise(ABORT, 'as the test wants it'); END";
            rusqlite::Connection::open(path).unwrap().execute_batch(trigger).unwrap();
        }
        DatabaseUrl::Postgres(url) => {
            let trigger =
                "CREATE FUNCTION add_failing_trigger() RETURNS trigger LANGUAGE plpgsql AS
                    $$ BEGIN RAISE 'as the test wants it'; END $$;
                CREATE TRIGGER add_failing_trigger BEFORE INSERT ON audit_log FOR EACH ROW
                    WHEN (new.after LIKE '%explode%') EXECUTE FUNCTION add_failing_trigger()";
            connect(url).await.unwrap().batch_execute(trigger).await.unwrap();
        }
    }
}

async fn change_that_fails_halfway_leaves_nothing_and_affects_no_other(fixture: Fixture) {
    add_failing_trigger(&fixture).await;
    let tasks = (0..60).map(|number| {
        let workspace = (*fixture).clone();
        tokio::spawn(async move {
            let name = if number % 2 == 0 { "survey" } else { "explode" };
            let reference = format!("{number}");
            let values = json!({ "reference": reference, "name": name, "owner": "a@b.test" });
            workspace
                .apply(vec![folder(&format!("with {number}")), new(Kind::Folder, values)])
                .await
        })
    });
    for (number, task) in tasks.collect::<Vec<_>>().into_iter().enumerate() {
        let outcome = task.await.unwrap();
        assert_eq!(outcome.is_ok(), number % 2 == 0, "{outcome:?}");
        if let Err(error) = outcome {
            assert!(error.domain_error().is_none(), "not a domain error expected: {error}");
        }
    }
    assert_eq!(fixture.list(Kind::Folder, &[]).await.1, 60);
    assert_eq!(fixture.list(Kind::Folder, &[("term", "with")]).await.1, 30);
    assert_eq!(fixture.list(Kind::Folder, &[("term", "explode")]).await.1, 0);
    assert_eq!(fixture.get(Kind::Folder, "with 1").await, None);
    let created = fixture.audit_log(0).await;
    assert_eq!(created.iter().filter(|row| row.action == "folder.created").count(), 60);
}

async fn one_of_many_updates_of_the_same_version_succeeds(fixture: Fixture) {
    fixture.seed_folder().await;
    let tasks = (0..20).map(|number: i32| {
        let workspace = (*fixture).clone();
        tokio::spawn(async move {
            let values = json!({ "name": number.to_string() });
            workspace.apply(vec![update_version(Kind::Folder, "in", 1, values)]).await
        })
    });
    let mut won = Vec::new();
    for (number, task) in tasks.collect::<Vec<_>>().into_iter().enumerate() {
        match task.await.unwrap() {
            Ok(_) => won.push(number.to_string()),
            Err(error) => {
                assert!(matches!(error.domain_error(), Some(DomainError::Conflict { .. })));
            }
        }
    }
    let folder = fixture.find(Kind::Folder, "in").await;
    assert_eq!(won, [text(&folder, "name")]);
    assert_eq!(folder["version"], 2);
}

async fn one_of_many_records_with_the_same_reference_is_created(fixture: Fixture) {
    let tasks = (0..20).map(|_| {
        let workspace = (*fixture).clone();
        tokio::spawn(async move { workspace.apply(vec![folder("wanted")]).await })
    });
    let mut got_it = 0;
    for task in tasks.collect::<Vec<_>>() {
        match task.await.unwrap() {
            Ok(_) => got_it += 1,
            error => {
                assert_eq!(
                    domain_error(error).0.to_string(),
                    "reference `wanted` is already in use"
                );
            }
        }
    }
    assert_eq!((got_it, fixture.list(Kind::Folder, &[]).await.1), (1, 1));
}

async fn concurrently_generated_references_are_unique(fixture: Fixture) {
    let other = fixture.reopen().await;
    let tasks = (0..40).map(|number| {
        let workspace = if number % 2 == 0 { (*fixture).clone() } else { other.clone() };
        tokio::spawn(async move { workspace.create(Kind::Folder, json!({ "name": "x" })).await })
    });
    let mut made = BTreeSet::new();
    for task in tasks.collect::<Vec<_>>() {
        made.insert(text(&task.await.unwrap(), "reference"));
    }
    assert_eq!(made, (1..=40).map(|number| format!("F-{number:06}")).collect());
    wait_for_other_connections().await;
    let listed = fixture.references(Kind::Folder, &[]).await;
    assert!(listed.is_sorted(), "references are not in creation order: {listed:?}");
}

async fn writes_through_two_connections_are_all_applied(fixture: Fixture) {
    fixture.seed_folder().await;
    let other = fixture.reopen().await;
    let tasks = (0..60).map(|number| {
        let workspace = if number % 2 == 0 { (*fixture).clone() } else { other.clone() };
        tokio::spawn(async move {
            let expense = json!({
                "folder": "in", "budget": "in", "unitAmount": 1, "incurredOn": "2026-03-01",
            });
            workspace.create(Kind::Expense, expense).await
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    wait_for_other_connections().await;
    for workspace in [&*fixture, &other] {
        assert_eq!(workspace.find(Kind::Budget, "in").await["spent"], "60.00");
        assert_eq!(workspace.list(Kind::Expense, &[]).await.1, 60);
    }
}

/// The number in the name of a folder.
async fn number_in_name(workspace: &TestWorkspace, key: &str) -> u64 {
    workspace.find(Kind::Folder, key).await["name"].as_str().unwrap().parse().unwrap()
}

async fn repeated_reads_never_return_an_older_version(fixture: Fixture) {
    fixture.create(Kind::Folder, json!({ "reference": "a", "name": "0" })).await;
    // The highest number that was read or confirmed.
    let seen = Arc::new(AtomicU64::new(0));
    let readers = (0..3).map(|_| {
        let (workspace, seen) = ((*fixture).clone(), seen.clone());
        tokio::spawn(async move {
            loop {
                let before = seen.load(Ordering::SeqCst);
                let shown = number_in_name(&workspace, "a").await;
                assert!(shown >= before, "read {shown} after {before}");
                seen.fetch_max(shown, Ordering::SeqCst);
                if shown == 200 {
                    return;
                }
            }
        })
    });
    let readers: Vec<_> = readers.collect();
    for number in 1..=200 {
        fixture.update(Kind::Folder, "a", json!({ "name": number.to_string() })).await;
        seen.fetch_max(number, Ordering::SeqCst);
    }
    for reader in readers {
        reader.await.unwrap();
    }
}

async fn writes_of_another_connection_are_seen_after_repeated_reads(fixture: Fixture) {
    fixture.create(Kind::Folder, json!({ "reference": "a", "name": "0" })).await;
    fixture.create(Kind::Folder, json!({ "reference": "b", "name": "0" })).await;
    let other = fixture.reopen().await;
    for number in 1..=20 {
        for key in ["a", "b", "a", "b"] {
            assert_eq!(number_in_name(&fixture, key).await, number - 1);
        }
        // Each connection reads while the other writes.
        tokio::join!(
            async {
                for _ in 0..50 {
                    number_in_name(&fixture, "a").await;
                    tokio::task::yield_now().await;
                }
            },
            async {
                for key in ["a", "b"] {
                    let name = json!({ "name": number.to_string() });
                    other.update(Kind::Folder, key, name).await;
                }
            }
        );
        wait_for_other_connections().await;
        for key in ["a", "b"] {
            assert_eq!(number_in_name(&fixture, key).await, number);
        }
    }
}

async fn two_workspaces_can_be_written_concurrently(fixture: Fixture) {
    let next = fixture.new_workspace("Next door").await;
    let tasks = (0..60).map(|number| {
        let workspace = if number % 2 == 0 { (*fixture).clone() } else { next.clone() };
        tokio::spawn(async move { workspace.create(Kind::Folder, json!({ "name": "x" })).await })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    for workspace in [&*fixture, &next] {
        let references = workspace.references(Kind::Folder, &[]).await;
        let expected: Vec<_> = (1..=30).map(|number| format!("F-{number:06}")).collect();
        assert_eq!(references, expected);
    }
}

async fn dry_run_reports_every_rejected_command_and_writes_nothing(fixture: Fixture) {
    fixture.seed_folder().await;
    let mark = fixture.audit_position().await;
    let expense = |budget: &str| {
        let values = json!({
            "folder": "in", "budget": budget, "unitAmount": 5, "incurredOn": "2026-03-01",
            "submittedBy": "new@office.test",
        });
        new(Kind::Expense, values)
    };
    let checked = vec![
        folder("new"),
        folder("new"),
        new(Kind::Assignment, json!({ "folder": "new", "title": "x" })),
        expense("nowhere"),
        expense("in"),
        save_status(json!({ "name": "New", "appliesTo": "folder" })),
        change(Kind::Folder, "new", json!({ "status": "New" })),
        delete(Kind::Budget, "in"),
        expense("in"),
        new(Kind::Folder, json!({ "name": "x" })),
    ];
    let error = fixture.rejected(checked).await;
    let error: Vec<_> =
        error.iter().map(|(index, domain_error)| (*index, domain_error.to_string())).collect();
    assert_eq!(
        error,
        [
            (1, "reference `new` is already in use".to_owned()),
            (3, "budget `nowhere` does not exist".to_owned()),
            (8, "budget `in` does not exist".to_owned()),
        ]
    );
    assert_eq!(fixture.audit_log(mark).await, []);
    assert_eq!(fixture.get(Kind::Folder, "new").await, None);
    assert_eq!(fixture.list(Kind::Folder, &[]).await.1, 1);
    assert_eq!(fixture.find(Kind::Budget, "in").await["version"], 1);
    assert_eq!(fixture.statuses(&[("term", "new")]).await.1, 0);
    assert_eq!(fixture.create(Kind::Folder, json!({ "name": "x" })).await["reference"], "F-000001");
    let viewer = fixture.member(Role::Viewer).await;
    let forbidden = DomainError::Forbidden { required_role: Role::Editor };
    assert_eq!(viewer.rejected(vec![folder("new")]).await, [(0, forbidden)]);
}

async fn dry_run_of_valid_commands_reports_nothing(fixture: Fixture) {
    fixture.seed_folder().await;
    // Also during concurrent writes.
    let writer = {
        let workspace = (*fixture).clone();
        tokio::spawn(async move {
            for _ in 0..20 {
                workspace.create(Kind::Folder, json!({ "name": "x" })).await;
            }
        })
    };
    while !writer.is_finished() {
        let checked = vec![folder("a"), delete(Kind::Folder, "in"), folder("in")];
        assert_eq!(fixture.rejected(checked).await, []);
    }
    writer.await.unwrap();
    assert_eq!(fixture.list(Kind::Folder, &[]).await.1, 21);
}

async fn empty_change_does_nothing(fixture: Fixture) {
    let mark = fixture.audit_position().await;
    assert_eq!(fixture.apply(vec![]).await.unwrap(), []);
    assert_eq!(fixture.store.check(fixture.change(vec![])).await.unwrap(), []);
    assert_eq!(fixture.audit_log(mark).await, []);
}

async fn acknowledged_writes_survive_reopening(fixture: Fixture) {
    fixture.seed_folder().await;
    let expense = json!({
        "folder": "in", "budget": "in", "unitAmount": 5, "incurredOn": "2026-03-01",
        "submittedBy": "crew@office.test",
    });
    fixture.create(Kind::Expense, expense).await;
    let again = fixture.reopen().await;
    for kind in Kind::ALL {
        assert_eq!(again.list(kind, &[]).await, fixture.list(kind, &[]).await);
    }
    assert_eq!(again.statuses(&[]).await, fixture.statuses(&[]).await);
    assert_eq!(again.audit_log(0).await, fixture.audit_log(0).await);
}

async fn ping_succeeds(fixture: Fixture) {
    fixture.store.ping().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgres_reads_succeed_while_many_writes_wait_for_a_workspace() {
    let fixture = Fixture::open(Engine::Postgres).await;
    fixture.seed_folder().await;
    let DatabaseUrl::Postgres(url) = &fixture.url else { panic!("on PostgreSQL") };
    // A long transaction of another program locks the workspace.
    let mut holder = connect(url).await.unwrap();
    let held = holder.transaction().await.unwrap();
    let lock = "SELECT 1 FROM workspaces WHERE id = $1 FOR UPDATE";
    held.execute(lock, &[&fixture.workspace_id.0]).await.unwrap();
    let writers = (0..40).map(|number| {
        let workspace = (*fixture).clone();
        tokio::spawn(async move { workspace.apply(vec![folder(&number.to_string())]).await })
    });
    let writers: Vec<_> = writers.collect();
    // Some of them are rejected after they have written something; the others succeed.
    let error = (0..10).map(|_| {
        let workspace = (*fixture).clone();
        tokio::spawn(async move { workspace.apply(vec![folder("lost"), folder("in")]).await })
    });
    let error: Vec<_> = error.collect();
    let watcher = connect(url).await.unwrap();
    wait_until_true(Duration::from_secs(10), "the writers wait", async || {
        let waits = "SELECT count(*) FROM pg_stat_activity
            WHERE datname = current_database() AND wait_event_type = 'Lock'";
        // The writers of one program wait in one transaction.
        watcher.query_one(waits, &[]).await.unwrap().get::<_, i64>(0) >= 1
    })
    .await;
    for _ in 0..20 {
        assert_eq!(fixture.find(Kind::Folder, "in").await["reference"], "in");
        assert_eq!(fixture.list(Kind::Folder, &[]).await.1, 1);
    }
    held.commit().await.unwrap();
    for writer in writers {
        writer.await.unwrap().unwrap();
    }
    for writer in error {
        assert!(writer.await.unwrap().is_err());
    }
    assert_eq!(fixture.list(Kind::Folder, &[]).await.1, 41);
    assert_eq!(fixture.get(Kind::Folder, "lost").await, None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgres_uses_the_primary_key_of_a_table_that_grew_suddenly() {
    let fixture = Fixture::open(Engine::Postgres).await;
    let DatabaseUrl::Postgres(url) = &fixture.url else { panic!("on PostgreSQL") };
    let client = connect(url).await.unwrap();
    // Autovacuum would update the statistics only a minute later.
    let alone = "ALTER TABLE folders SET (autovacuum_enabled = false);
        SET enable_seqscan = off; SET plan_cache_mode = force_generic_plan;
        PREPARE look AS SELECT doc FROM folders WHERE workspace_id = $1 AND reference = $2";
    client.batch_execute(alone).await.unwrap();
    fixture.apply((0..300).map(|number| folder(&number.to_string())).collect()).await.unwrap();
    wait_until_true(Duration::from_secs(10), "the statistics are updated", async || {
        let known = "SELECT reltuples::bigint FROM pg_class WHERE oid = 'folders'::regclass";
        client.query_one(known, &[]).await.unwrap().get::<_, i64>(0) >= 300
    })
    .await;
    let plan = format!("EXPLAIN EXECUTE look ('{}', '7')", fixture.workspace_id);
    let plan = client.query(&plan, &[]).await.unwrap();
    let plan: Vec<&str> = plan.iter().map(|row| row.get(0)).collect();
    let plan = plan.join("\n");
    assert!(plan.contains("folders_by_reference"), "{plan}");
}
