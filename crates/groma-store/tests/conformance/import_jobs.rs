//! Imports of files: who may change them, and what happens when their process ends.

use crate::{Fixture, fixture::TestWorkspace, on_both_engines};
use groma_domain::{ImportJobId, PersonId, Role, Timestamp};
use groma_store::{Actor, DatabaseUrl, ImportJob, ImportJobChange, ImportList, ImportState};
use groma_testkit::{Engine, postgres::connect, wait::wait_until_true};
use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
        mpsc,
    },
    time::Duration,
};

on_both_engines! {
    import_without_heartbeat_is_interrupted
    import_of_this_process_is_not_interrupted
    heartbeat_changes_nothing_else
    list_has_recent_imports
    imports_that_ended_a_week_ago_are_deleted
}

/// Longer than an import can be without a heartbeat.
const TOO_LONG: i64 = 31_000;
const WEEK: i64 = 7 * 24 * 3_600 * 1_000;

async fn create(member: &TestWorkspace) -> ImportJobId {
    let (name, options) = ("lots.csv".to_owned(), "{}".to_owned());
    let created =
        member.store.create_import(member.workspace_id, member.actor, name, options, member.tick());
    created.await.unwrap().id
}

async fn find(workspace: &TestWorkspace, job: ImportJobId) -> ImportJob {
    workspace.store.import_job(workspace.workspace_id, job).await.unwrap().unwrap()
}

async fn beat(workspace: &TestWorkspace, job: ImportJobId) {
    let now = workspace.tick();
    let (store, id) = (&workspace.store, workspace.workspace_id);
    store.import_heartbeat(id, job, "half".to_owned(), move || now).await.unwrap();
}

async fn import_without_heartbeat_is_interrupted(fixture: Fixture) {
    let member = fixture.member(Role::Editor).await;
    let (dead, live) = (create(&member).await, create(&member).await);
    member.advance(TOO_LONG);
    beat(&member, live).await;
    member.store.interrupt_imports(member.tick(), false, |_| false).await.unwrap();
    assert_eq!(find(&member, dead).await.state, ImportState::Interrupted);
    assert_eq!(find(&member, live).await.state, ImportState::Checking);
    // When the only server starts, no import can be alive.
    member.store.interrupt_imports(member.tick(), true, |_| false).await.unwrap();
    assert_eq!(find(&member, live).await.state, ImportState::Interrupted);
    beat(&member, live).await;
    assert_eq!(find(&member, live).await.progress, None);
}

async fn import_of_this_process_is_not_interrupted(fixture: Fixture) {
    let member = fixture.member(Role::Editor).await;
    let (own, other) = (create(&member).await, create(&member).await);
    member.advance(TOO_LONG);
    member.store.interrupt_imports(member.tick(), false, |job| job == own).await.unwrap();
    assert_eq!(find(&member, own).await.state, ImportState::Checking);
    assert_eq!(find(&member, other).await.state, ImportState::Interrupted);
}

async fn heartbeat_changes_nothing_else(fixture: Fixture) {
    let member = fixture.member(Role::Editor).await;
    let job = create(&member).await;
    let before = find(&member, job).await;
    beat(&member, job).await;
    let progress = Some("half".to_owned());
    let expected = ImportJob { progress, heartbeat_at: member.now(), ..before };
    assert_eq!(format!("{:?}", find(&member, job).await), format!("{expected:?}"));
}

async fn cancel(member: &TestWorkspace, job: ImportJobId) {
    let (id, change) = (member.workspace_id, ImportJobChange::Cancel);
    member.store.change_import(id, job, member.actor, change, member.tick()).await.unwrap();
}

async fn listed(member: &TestWorkspace, person: Option<PersonId>, limit: u32) -> Vec<ImportJobId> {
    let list = ImportList { person, limit, now: member.now() };
    let imports = member.store.imports(member.workspace_id, list).await.unwrap();
    imports.iter().map(|job| job.id).collect()
}

async fn list_has_recent_imports(fixture: Fixture) {
    let editor = fixture.member(Role::Editor).await;
    let owner = fixture.member(Role::Owner).await;
    let (first, other, last) = (create(&editor).await, create(&owner).await, create(&editor).await);
    let Actor::Member(person) = editor.actor else { panic!("a member") };
    assert_eq!(listed(&editor, None, 9).await, [last, other, first]);
    assert_eq!(listed(&editor, None, 2).await, [last, other]);
    assert_eq!(listed(&editor, Some(person), 9).await, [last, first]);
    cancel(&editor, last).await;
    editor.advance(WEEK - 1_000);
    assert_eq!(listed(&editor, Some(person), 9).await, [last, first]);
    editor.advance(1_001);
    assert_eq!(listed(&editor, Some(person), 9).await, [first]);
}

async fn imports_that_ended_a_week_ago_are_deleted(fixture: Fixture) {
    let member = fixture.member(Role::Editor).await;
    let (ended, live) = (create(&member).await, create(&member).await);
    cancel(&member, ended).await;
    member.advance(WEEK);
    member.store.delete_ended_imports(member.now()).await.unwrap();
    assert_eq!(find(&member, ended).await.state, ImportState::Cancelled);
    member.advance(1);
    member.store.delete_ended_imports(member.now()).await.unwrap();
    let found = member.store.import_job(member.workspace_id, ended).await.unwrap();
    assert!(found.is_none());
    assert_eq!(find(&member, live).await.state, ImportState::Checking);
}

/// On PostgreSQL, they do not wait for each other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn heartbeat_that_waited_for_a_long_transaction_has_the_time_of_its_own() {
    let fixture = Fixture::open(Engine::Sqlite).await;
    let member = fixture.member(Role::Editor).await;
    let (slow, waiting) = (create(&member).await, create(&member).await);
    let (id, start) = (member.workspace_id, member.now().as_millis());
    let clock = Arc::new(AtomicI64::new(start));
    let now = |clock: &AtomicI64| Timestamp::from_millis(clock.load(Ordering::SeqCst));
    let (release, released) = mpsc::channel();
    let released = parking_lot::Mutex::new(released);
    let long = {
        let clock = clock.clone();
        member.store.import_heartbeat(id, slow, String::new(), move || {
            released.lock().recv().unwrap();
            clock.store(start + TOO_LONG, Ordering::SeqCst);
            now(&clock)
        })
    };
    let (at, clock) = (clock.clone(), clock);
    let beat = member.store.import_heartbeat(id, waiting, String::new(), move || now(&at));
    let (long, beat, _) = tokio::join!(long, beat, async { release.send(()) });
    long.unwrap();
    beat.unwrap();
    assert_eq!(now(&clock).as_millis(), start + TOO_LONG);
    assert_eq!(find(&member, waiting).await.heartbeat_at, now(&clock));
}

/// So that it cannot wait for a transaction that waits for it: erasing a person locks the workspace, then the imports.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn change_of_an_import_locks_the_workspace_first() {
    let fixture = Fixture::open(Engine::Postgres).await;
    let member = fixture.member(Role::Editor).await;
    let job = create(&member).await;
    let DatabaseUrl::Postgres(url) = &fixture.url else { panic!("on PostgreSQL") };
    let mut holder = connect(url).await.unwrap();
    let held = holder.transaction().await.unwrap();
    let lock = "SELECT 1 FROM workspaces WHERE id = $1 FOR UPDATE";
    held.execute(lock, &[&member.workspace_id.0]).await.unwrap();
    let cancel = tokio::spawn({
        let (member, now) = (member.clone(), member.tick());
        async move {
            let (id, change) = (member.workspace_id, ImportJobChange::Cancel);
            member.store.change_import(id, job, member.actor, change, now).await
        }
    });
    let watcher = connect(url).await.unwrap();
    wait_until_true(Duration::from_secs(10), "the change waits", async || {
        let waits = "SELECT count(*) FROM pg_stat_activity
            WHERE datname = current_database() AND wait_event_type = 'Lock'";
        watcher.query_one(waits, &[]).await.unwrap().get::<_, i64>(0) >= 1
    })
    .await;
    let lock = "SELECT 1 FROM import_jobs WHERE id = $1 FOR UPDATE NOWAIT";
    held.execute(lock, &[&job.0]).await.unwrap();
    held.commit().await.unwrap();
    assert_eq!(cancel.await.unwrap().unwrap().state, ImportState::Cancelled);
}
