//! What happens when many write at once, when a part is refused, and when someone only asks.

use crate::{
    Engine, Office,
    database::{OwnDatabase, connect},
    office::{
        Desk, a_moment, change, change_seen, delete, new, refusal, save_status, text, within,
    },
    on_both_engines,
};
use groma_domain::{Kind, Refusal, Role};
use groma_store::{DatabaseUrl, Done, Error, Store};
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
    a_change_is_carried_out_whole_or_not_at_all
    a_refusal_tells_which_command_it_is_about
    many_changes_at_once_all_land
    a_refused_change_does_not_disturb_those_around_it
    a_change_that_fails_half_way_leaves_nothing_and_disturbs_no_other
    of_many_who_saw_the_same_version_one_wins
    of_many_who_want_one_reference_one_gets_it
    made_references_are_unique_however_many_ask_at_once
    writers_through_two_openings_all_land
    what_is_asked_over_and_over_never_goes_back
    what_another_opening_wrote_shows_however_often_it_was_asked_before
    two_workspaces_are_written_side_by_side
    a_check_names_every_refused_command_and_writes_nothing
    a_check_of_what_is_right_finds_nothing
    an_empty_change_is_no_change
    what_was_acknowledged_is_there_after_opening_again
    the_database_gives_a_sign_of_life
}

fn folder(reference: &str) -> groma_store::Command {
    new(Kind::Folder, json!({ "reference": reference, "name": "x" }))
}

async fn a_change_is_carried_out_whole_or_not_at_all(office: Office) {
    office.furnish().await;
    let mark = office.mark().await;
    let before = office.shown(Kind::Budget, "in").await;
    let expense = json!({
        "folder": "in", "budget": "in", "unitAmount": 5, "incurredOn": "2026-03-01",
        "submittedBy": "new@office.test",
    });
    let outcome = office
        .apply(vec![
            folder("kept?"),
            new(Kind::Expense, expense),
            save_status(json!({ "name": "Kept?", "appliesTo": "folder" })),
            delete(Kind::Assignment, "in"),
            change(Kind::Folder, "nowhere", json!({})),
        ])
        .await;
    let not_found = Refusal::NotFound { what: "folder", key: "nowhere".into() };
    assert_eq!(refusal(outcome), (not_found, 4));
    assert_eq!(office.trail(mark).await, []);
    assert_eq!(office.get(Kind::Folder, "kept?").await, None);
    assert_eq!(office.list(Kind::Folder, &[]).await.1, 1);
    assert_eq!(office.list(Kind::Folder, &[("term", "kept?")]).await.1, 0);
    assert_eq!(office.list(Kind::Expense, &[]).await.1, 0);
    assert_eq!(office.statuses(&[("term", "kept")]).await.1, 0);
    assert_eq!(office.shown(Kind::Budget, "in").await, before);
    assert_eq!(office.shown(Kind::Assignment, "in").await["reference"], "in");
    // Not even a number was used up.
    assert_eq!(office.create(Kind::Folder, json!({ "name": "x" })).await["reference"], "F-000001");
}

async fn a_refusal_tells_which_command_it_is_about(office: Office) {
    office.furnish().await;
    for wrong in 0..4 {
        let mut commands: Vec<_> = ["a", "b", "c"].map(folder).into();
        commands.insert(wrong, new(Kind::Folder, json!({})));
        let (refused, index) = refusal(office.apply(commands).await);
        assert_eq!((refused.to_string(), index), ("name is needed".into(), wrong));
    }
}

async fn many_changes_at_once_all_land(office: Office) {
    let tasks = (0..120).map(|number| {
        let desk = (*office).clone();
        tokio::spawn(async move { desk.done(folder(&number.to_string())).await })
    });
    for task in tasks.collect::<Vec<_>>() {
        assert!(matches!(task.await.unwrap(), Done::Created(..)));
    }
    let mut seen = BTreeSet::new();
    for page in ["1", "2"] {
        seen.extend(office.references(Kind::Folder, &[("page", page), ("limit", "100")]).await);
    }
    assert_eq!(seen, (0..120).map(|number| number.to_string()).collect());
    let created = office.trail(0).await;
    assert_eq!(created.iter().filter(|row| row.action == "folder.created").count(), 120);
}

async fn a_refused_change_does_not_disturb_those_around_it(office: Office) {
    let tasks = (0..90).map(|number| {
        let desk = (*office).clone();
        tokio::spawn(async move {
            let good = folder(&number.to_string());
            match number % 3 {
                0 => desk.apply(vec![good]).await,
                1 => desk.apply(vec![good, change(Kind::Folder, "nowhere", json!({}))]).await,
                _ => desk.apply(vec![good, folder(&format!("and {number}"))]).await,
            }
        })
    });
    for (number, task) in tasks.collect::<Vec<_>>().into_iter().enumerate() {
        let outcome = task.await.unwrap();
        if number % 3 == 1 {
            assert_eq!(refusal(outcome).1, 1);
        } else {
            outcome.unwrap();
        }
    }
    let (_, total) = office.list(Kind::Folder, &[]).await;
    assert_eq!(total, 30 + 60);
    assert_eq!(office.list(Kind::Folder, &[("term", "and ")]).await.1, 30);
    for number in (1..90).step_by(3) {
        assert_eq!(office.get(Kind::Folder, &number.to_string()).await, None);
    }
}

/// Makes the database itself refuse the event of a record that is called «explode», when the record
/// has been written already.
async fn sabotage(office: &Office) {
    match &office.url {
        DatabaseUrl::Sqlite(path) => {
            let trigger = "CREATE TRIGGER sabotage BEFORE INSERT ON changes
                WHEN new.after LIKE '%explode%'
                BEGIN SELECT raise(ABORT, 'as the test wants it'); END";
            rusqlite::Connection::open(path).unwrap().execute_batch(trigger).unwrap();
        }
        DatabaseUrl::Postgres(url) => {
            let trigger = "CREATE FUNCTION sabotage() RETURNS trigger LANGUAGE plpgsql AS
                    $$ BEGIN RAISE 'as the test wants it'; END $$;
                CREATE TRIGGER sabotage BEFORE INSERT ON changes FOR EACH ROW
                    WHEN (new.after LIKE '%explode%') EXECUTE FUNCTION sabotage()";
            connect(url).await.batch_execute(trigger).await.unwrap();
        }
    }
}

async fn a_change_that_fails_half_way_leaves_nothing_and_disturbs_no_other(office: Office) {
    sabotage(&office).await;
    let tasks = (0..60).map(|number| {
        let desk = (*office).clone();
        tokio::spawn(async move {
            let name = if number % 2 == 0 { "survey" } else { "explode" };
            let reference = format!("{number}");
            let values = json!({ "reference": reference, "name": name, "owner": "a@b.test" });
            desk.apply(vec![folder(&format!("with {number}")), new(Kind::Folder, values)]).await
        })
    });
    for (number, task) in tasks.collect::<Vec<_>>().into_iter().enumerate() {
        let outcome = task.await.unwrap();
        assert_eq!(outcome.is_ok(), number % 2 == 0, "{outcome:?}");
        if let Err(error) = outcome {
            assert!(error.refusal().is_none(), "it failed, no rule refused it: {error}");
        }
    }
    assert_eq!(office.list(Kind::Folder, &[]).await.1, 60);
    assert_eq!(office.list(Kind::Folder, &[("term", "with")]).await.1, 30);
    assert_eq!(office.list(Kind::Folder, &[("term", "explode")]).await.1, 0);
    assert_eq!(office.get(Kind::Folder, "with 1").await, None);
    let created = office.trail(0).await;
    assert_eq!(created.iter().filter(|row| row.action == "folder.created").count(), 60);
}

async fn of_many_who_saw_the_same_version_one_wins(office: Office) {
    office.furnish().await;
    let tasks = (0..20).map(|number: i32| {
        let desk = (*office).clone();
        tokio::spawn(async move {
            let values = json!({ "name": number.to_string() });
            desk.apply(vec![change_seen(Kind::Folder, "in", 1, values)]).await
        })
    });
    let mut won = Vec::new();
    for (number, task) in tasks.collect::<Vec<_>>().into_iter().enumerate() {
        match task.await.unwrap() {
            Ok(_) => won.push(number.to_string()),
            Err(error) => assert!(matches!(error.refusal(), Some(Refusal::Conflict { .. }))),
        }
    }
    let folder = office.shown(Kind::Folder, "in").await;
    assert_eq!(won, [text(&folder, "name")]);
    assert_eq!(folder["version"], 2);
}

async fn of_many_who_want_one_reference_one_gets_it(office: Office) {
    let tasks = (0..20).map(|_| {
        let desk = (*office).clone();
        tokio::spawn(async move { desk.apply(vec![folder("wanted")]).await })
    });
    let mut got_it = 0;
    for task in tasks.collect::<Vec<_>>() {
        match task.await.unwrap() {
            Ok(_) => got_it += 1,
            refused => assert_eq!(refusal(refused).0.to_string(), "reference `wanted` is taken"),
        }
    }
    assert_eq!((got_it, office.list(Kind::Folder, &[]).await.1), (1, 1));
}

async fn made_references_are_unique_however_many_ask_at_once(office: Office) {
    let other = office.reopened().await;
    let tasks = (0..40).map(|number| {
        let desk = if number % 2 == 0 { (*office).clone() } else { other.clone() };
        tokio::spawn(async move { desk.create(Kind::Folder, json!({ "name": "x" })).await })
    });
    let mut made = BTreeSet::new();
    for task in tasks.collect::<Vec<_>>() {
        made.insert(text(&task.await.unwrap(), "reference"));
    }
    assert_eq!(made, (1..=40).map(|number| format!("F-{number:06}")).collect());
    a_moment().await;
    let listed = office.references(Kind::Folder, &[]).await;
    assert!(listed.is_sorted(), "numbers and places are taken together: {listed:?}");
}

async fn writers_through_two_openings_all_land(office: Office) {
    office.furnish().await;
    let other = office.reopened().await;
    let tasks = (0..60).map(|number| {
        let desk = if number % 2 == 0 { (*office).clone() } else { other.clone() };
        tokio::spawn(async move {
            let expense = json!({
                "folder": "in", "budget": "in", "unitAmount": 1, "incurredOn": "2026-03-01",
            });
            desk.create(Kind::Expense, expense).await
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    a_moment().await;
    for desk in [&*office, &other] {
        assert_eq!(desk.shown(Kind::Budget, "in").await["spent"], "60.00");
        assert_eq!(desk.list(Kind::Expense, &[]).await.1, 60);
    }
}

/// The number in the name of a folder.
async fn asked(desk: &Desk, key: &str) -> u64 {
    desk.shown(Kind::Folder, key).await["name"].as_str().unwrap().parse().unwrap()
}

async fn what_is_asked_over_and_over_never_goes_back(office: Office) {
    office.create(Kind::Folder, json!({ "reference": "a", "name": "0" })).await;
    // The highest number that anybody was shown or told was written.
    let seen = Arc::new(AtomicU64::new(0));
    let readers = (0..3).map(|_| {
        let (desk, seen) = ((*office).clone(), seen.clone());
        tokio::spawn(async move {
            loop {
                let before = seen.load(Ordering::SeqCst);
                let shown = asked(&desk, "a").await;
                assert!(shown >= before, "{shown} was shown after {before}");
                seen.fetch_max(shown, Ordering::SeqCst);
                if shown == 200 {
                    return;
                }
            }
        })
    });
    let readers: Vec<_> = readers.collect();
    for number in 1..=200 {
        office.update(Kind::Folder, "a", json!({ "name": number.to_string() })).await;
        seen.fetch_max(number, Ordering::SeqCst);
    }
    for reader in readers {
        reader.await.unwrap();
    }
}

async fn what_another_opening_wrote_shows_however_often_it_was_asked_before(office: Office) {
    office.create(Kind::Folder, json!({ "reference": "a", "name": "0" })).await;
    office.create(Kind::Folder, json!({ "reference": "b", "name": "0" })).await;
    let other = office.reopened().await;
    for number in 1..=20 {
        for key in ["a", "b", "a", "b"] {
            assert_eq!(asked(&office, key).await, number - 1);
        }
        // Both read while the other writes.
        tokio::join!(
            async {
                for _ in 0..50 {
                    asked(&office, "a").await;
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
        a_moment().await;
        for key in ["a", "b"] {
            assert_eq!(asked(&office, key).await, number);
        }
    }
}

async fn two_workspaces_are_written_side_by_side(office: Office) {
    let next = office.neighbour("Next door").await;
    let tasks = (0..60).map(|number| {
        let desk = if number % 2 == 0 { (*office).clone() } else { next.clone() };
        tokio::spawn(async move { desk.create(Kind::Folder, json!({ "name": "x" })).await })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    for desk in [&*office, &next] {
        let references = desk.references(Kind::Folder, &[]).await;
        let expected: Vec<_> = (1..=30).map(|number| format!("F-{number:06}")).collect();
        assert_eq!(references, expected);
    }
}

async fn a_check_names_every_refused_command_and_writes_nothing(office: Office) {
    office.furnish().await;
    let mark = office.mark().await;
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
    let refused = office.refused(checked).await;
    let refused: Vec<_> =
        refused.iter().map(|(index, refusal)| (*index, refusal.to_string())).collect();
    assert_eq!(
        refused,
        [
            (1, "reference `new` is taken".to_owned()),
            (3, "budget names no budget: `nowhere`".to_owned()),
            (8, "budget names no budget: `in`".to_owned()),
        ]
    );
    assert_eq!(office.trail(mark).await, []);
    assert_eq!(office.get(Kind::Folder, "new").await, None);
    assert_eq!(office.list(Kind::Folder, &[]).await.1, 1);
    assert_eq!(office.shown(Kind::Budget, "in").await["version"], 1);
    assert_eq!(office.statuses(&[("term", "new")]).await.1, 0);
    assert_eq!(office.create(Kind::Folder, json!({ "name": "x" })).await["reference"], "F-000001");
    let viewer = office.member(Role::Viewer).await;
    let forbidden = Refusal::Forbidden { needs: Role::Editor };
    assert_eq!(viewer.refused(vec![folder("new")]).await, [(0, forbidden)]);
}

async fn a_check_of_what_is_right_finds_nothing(office: Office) {
    office.furnish().await;
    // Also while others write.
    let writer = {
        let desk = (*office).clone();
        tokio::spawn(async move {
            for _ in 0..20 {
                desk.create(Kind::Folder, json!({ "name": "x" })).await;
            }
        })
    };
    while !writer.is_finished() {
        let checked = vec![folder("a"), delete(Kind::Folder, "in"), folder("in")];
        assert_eq!(office.refused(checked).await, []);
    }
    writer.await.unwrap();
    assert_eq!(office.list(Kind::Folder, &[]).await.1, 21);
}

async fn an_empty_change_is_no_change(office: Office) {
    let mark = office.mark().await;
    assert_eq!(office.apply(vec![]).await.unwrap(), []);
    assert_eq!(office.store.check(office.change(vec![])).await.unwrap(), []);
    assert_eq!(office.trail(mark).await, []);
}

async fn what_was_acknowledged_is_there_after_opening_again(office: Office) {
    office.furnish().await;
    let expense = json!({
        "folder": "in", "budget": "in", "unitAmount": 5, "incurredOn": "2026-03-01",
        "submittedBy": "crew@office.test",
    });
    office.create(Kind::Expense, expense).await;
    let again = office.reopened().await;
    for kind in Kind::ALL {
        assert_eq!(again.list(kind, &[]).await, office.list(kind, &[]).await);
    }
    assert_eq!(again.statuses(&[]).await, office.statuses(&[]).await);
    assert_eq!(again.trail(0).await, office.trail(0).await);
}

async fn the_database_gives_a_sign_of_life(office: Office) {
    office.store.ping().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_database_is_migrated_once_by_many_who_open_it_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let database = OwnDatabase::copy_of("template1").await;
    for url in
        [DatabaseUrl::Sqlite(folder.path().join("groma.db")), DatabaseUrl::Postgres(database.url())]
    {
        let tasks = (0..6).map(|_| {
            let url = url.clone();
            tokio::spawn(async move {
                let store = Store::open(&url).await.unwrap();
                assert_eq!(store.workspaces().await.unwrap().len(), 0);
            })
        });
        for task in tasks.collect::<Vec<_>>() {
            task.await.unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_on_postgres_are_answered_while_many_writers_wait_for_one_workspace() {
    let office = Office::open(Engine::Postgres).await;
    office.furnish().await;
    let DatabaseUrl::Postgres(url) = &office.url else { panic!("on PostgreSQL") };
    // A long change of another program holds the workspace.
    let mut holder = connect(url).await;
    let held = holder.transaction().await.unwrap();
    let lock = "SELECT 1 FROM workspaces WHERE id = $1 FOR UPDATE";
    held.execute(lock, &[&office.workspace.0]).await.unwrap();
    let writers = (0..40).map(|number| {
        let desk = (*office).clone();
        tokio::spawn(async move { desk.apply(vec![folder(&number.to_string())]).await })
    });
    let writers: Vec<_> = writers.collect();
    // Among them are some that are refused, after they have done something: the others stand.
    let refused = (0..10).map(|_| {
        let desk = (*office).clone();
        tokio::spawn(async move { desk.apply(vec![folder("lost"), folder("in")]).await })
    });
    let refused: Vec<_> = refused.collect();
    let watcher = connect(url).await;
    within(Duration::from_secs(10), "writers wait", async || {
        let waits = "SELECT count(*) FROM pg_stat_activity
            WHERE datname = current_database() AND wait_event_type = 'Lock'";
        // Those of one program wait together, in one transaction.
        watcher.query_one(waits, &[]).await.unwrap().get::<_, i64>(0) >= 1
    })
    .await;
    for _ in 0..20 {
        assert_eq!(office.shown(Kind::Folder, "in").await["reference"], "in");
        assert_eq!(office.list(Kind::Folder, &[]).await.1, 1);
    }
    held.commit().await.unwrap();
    for writer in writers {
        writer.await.unwrap().unwrap();
    }
    for writer in refused {
        assert!(writer.await.unwrap().is_err());
    }
    assert_eq!(office.list(Kind::Folder, &[]).await.1, 41);
    assert_eq!(office.get(Kind::Folder, "lost").await, None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_table_on_postgres_that_grew_at_once_is_looked_up_by_the_index_of_its_key() {
    let office = Office::open(Engine::Postgres).await;
    let DatabaseUrl::Postgres(url) = &office.url else { panic!("on PostgreSQL") };
    let client = connect(url).await;
    // The database would learn it by itself, a minute later.
    let alone = "ALTER TABLE folders SET (autovacuum_enabled = false);
        SET enable_seqscan = off; SET plan_cache_mode = force_generic_plan;
        PREPARE look AS SELECT doc FROM folders WHERE workspace_id = $1 AND reference = $2";
    client.batch_execute(alone).await.unwrap();
    office.apply((0..300).map(|number| folder(&number.to_string())).collect()).await.unwrap();
    within(Duration::from_secs(10), "the database knows of the records", async || {
        let known = "SELECT reltuples::bigint FROM pg_class WHERE oid = 'folders'::regclass";
        client.query_one(known, &[]).await.unwrap().get::<_, i64>(0) >= 300
    })
    .await;
    let plan = format!("EXPLAIN EXECUTE look ('{}', '7')", office.workspace);
    let plan = client.query(&plan, &[]).await.unwrap();
    let plan: Vec<&str> = plan.iter().map(|row| row.get(0)).collect();
    let plan = plan.join("\n");
    assert!(plan.contains("folders_by_reference"), "{plan}");
}

#[test]
fn a_database_is_named_by_its_engine_and_place() {
    let sqlite = |path: &str| DatabaseUrl::Sqlite(path.into());
    for (text, url) in [
        ("sqlite:data/groma.db", sqlite("data/groma.db")),
        ("sqlite://data/groma.db", sqlite("data/groma.db")),
        ("sqlite:/var/groma.db", sqlite("/var/groma.db")),
        ("sqlite:///var/groma.db", sqlite("/var/groma.db")),
        ("postgres://h/d", DatabaseUrl::Postgres("postgres://h/d".into())),
        ("postgresql://h/d", DatabaseUrl::Postgres("postgresql://h/d".into())),
    ] {
        assert_eq!(text.parse::<DatabaseUrl>().unwrap(), url, "{text}");
    }
    for text in ["", "sqlite:", "sqlite://", "mysql://h/d", "data/groma.db", "sqlite:/a?mode=ro"] {
        assert!(matches!(text.parse::<DatabaseUrl>(), Err(Error::Url(_))), "{text}");
    }
}

#[tokio::test]
async fn a_database_out_of_reach_is_an_error() {
    let nobody = DatabaseUrl::Postgres("postgres://nobody@127.0.0.1:1/nothing".into());
    assert!(Store::open(&nobody).await.is_err());
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("file"), "no folder").unwrap();
    let inside_a_file = DatabaseUrl::Sqlite(folder.path().join("file/groma.db"));
    assert!(Store::open(&inside_a_file).await.is_err());
    std::fs::write(folder.path().join("groma.db"), "no database, though long enough").unwrap();
    let no_database = DatabaseUrl::Sqlite(folder.path().join("groma.db"));
    assert!(Store::open(&no_database).await.is_err());
}

#[tokio::test]
async fn a_sqlite_file_that_must_be_there_is_not_made() {
    let folder = tempfile::tempdir().unwrap();
    let url = DatabaseUrl::Sqlite(folder.path().join("new/groma.db"));
    assert!(matches!(Store::open_existing(&url).await, Err(Error::Missing(_))));
    assert!(matches!(Store::pending_migrations(&url).await, Err(Error::Missing(_))));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    drop(Store::open(&url).await.unwrap());
    drop(Store::open_existing(&url).await.unwrap());
}

#[tokio::test]
async fn a_sqlite_file_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let office = Office::open(Engine::Sqlite).await;
    let DatabaseUrl::Sqlite(path) = &office.url else { panic!("not a file") };
    for beside in ["", "-wal", "-shm"] {
        let file = std::fs::metadata(format!("{}{beside}", path.display())).unwrap();
        assert_eq!(file.permissions().mode() & 0o777, 0o600, "{beside}");
    }
}

#[tokio::test]
async fn what_a_database_lacks_is_told_and_not_done() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("groma.db");
    let url = DatabaseUrl::Sqlite(path.clone());
    std::fs::write(&path, "").unwrap();
    let pending = Store::pending_migrations(&url).await.unwrap();
    assert_eq!(pending.first().map(String::as_str), Some("V1__records"));
    assert_eq!(std::fs::metadata(&path).unwrap().len(), 0);
    drop(Store::open(&url).await.unwrap());
    assert_eq!(Store::pending_migrations(&url).await.unwrap(), [""; 0]);
    let blank = OwnDatabase::copy_of("template1").await;
    let url = DatabaseUrl::Postgres(blank.url());
    for _ in 0..2 {
        let pending = Store::pending_migrations(&url).await.unwrap();
        assert_eq!(pending.first().map(String::as_str), Some("V1__records"));
    }
    drop(Store::open(&url).await.unwrap());
    assert_eq!(Store::pending_migrations(&url).await.unwrap(), [""; 0]);
}

#[tokio::test]
async fn a_sqlite_file_has_one_server_at_a_time() {
    let office = Office::open(Engine::Sqlite).await;
    let second = Store::open(&office.url).await.unwrap();
    office.store.claim().unwrap();
    let refused = second.claim().unwrap_err();
    assert!(matches!(refused, Error::AlreadyServed(_)), "{refused}");
    // It may still be used beside the server.
    second.ping().await.unwrap();
    assert_eq!(second.workspaces().await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_sqlite_file_can_be_served_again_when_its_server_has_ended() {
    let folder = tempfile::tempdir().unwrap();
    let url = DatabaseUrl::Sqlite(folder.path().join("new/folder/groma.db"));
    let first = Store::open(&url).await.unwrap();
    first.claim().unwrap();
    drop(first);
    Store::open(&url).await.unwrap().claim().unwrap();
}

#[tokio::test]
async fn a_postgres_database_has_any_number_of_servers() {
    let office = Office::open(Engine::Postgres).await;
    let second = office.reopened().await;
    office.store.claim().unwrap();
    second.store.claim().unwrap();
}
