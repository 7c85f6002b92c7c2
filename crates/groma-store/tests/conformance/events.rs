//! Events: one for every changed record, with the document as a read returns it.

use crate::{
    Fixture,
    fixture::{change, change_status, delete, import, new, save_status, text},
    on_both_engines,
};
use groma_domain::{Event, Kind};
use groma_store::AuditEntry;
use groma_testkit::wait::wait_until_true;
use serde_json::{Value, json};
use std::{collections::BTreeSet, time::Duration};

on_both_engines! {
    every_event_has_the_current_document
    update_event_has_the_previous_values_of_changed_fields_only
    unchanged_record_sends_no_event
    archiving_sends_archived_and_unarchiving_sends_updated
    deleting_a_folder_sends_deleted_for_all_its_contents_only
    budget_sends_one_update_for_many_changed_expenses
    new_budget_with_expenses_in_one_change_sends_created_only
    expenses_with_an_unchanged_sum_do_not_update_their_budget
    record_changed_twice_in_one_change_sends_one_event
    change_that_is_undone_in_the_same_change_sends_no_event
    losing_a_link_sends_updated
    events_are_listed_in_order_and_in_pages
    audit_log_numbers_are_unique_and_increasing
}

fn read(document: Option<&String>) -> Option<Value> {
    document.map(|json| serde_json::from_str(json).unwrap())
}

/// The only event after this position.
async fn only_event(fixture: &Fixture, position: i64) -> AuditEntry {
    let mut trail = fixture.audit_log(position).await;
    assert_eq!(trail.len(), 1, "{trail:?}");
    trail.remove(0)
}

async fn every_event_has_the_current_document(fixture: Fixture) {
    fixture.seed_folder().await;
    let mut actions = BTreeSet::new();
    for (kind, values) in [
        (Kind::Folder, json!({ "name": "x", "owner": "crew@office.test" })),
        (
            Kind::Assignment,
            json!({ "folder": "in", "title": "x", "assignees": ["a@b.test", "c@d.test"] }),
        ),
        (
            Kind::Expense,
            json!({
                "folder": "in", "unitAmount": 5, "incurredOn": "2026-03-01",
                "submittedBy": "crew@office.test",
            }),
        ),
        (Kind::Budget, json!({ "folder": "in", "name": "x", "amount": 7 })),
    ] {
        let position = fixture.audit_position().await;
        let created_record = fixture.create(kind, values).await;
        let key = text(&created_record, "id");
        let created = only_event(&fixture, position).await;
        assert_eq!(created.action, format!("{kind}.created"));
        assert_eq!(
            (&read(created.after.as_ref()), created.before),
            (&Some(created_record.clone()), None)
        );
        assert_eq!(created.subject.to_string(), key);
        assert_eq!(created.at, fixture.now());
        actions.insert(created.action);

        let position = fixture.audit_position().await;
        let changed = fixture.update(kind, &key, json!({ "description": "y" })).await;
        let updated = only_event(&fixture, position).await;
        assert_eq!(updated.action, format!("{kind}.updated"));
        assert_eq!(read(updated.after.as_ref()), Some(changed));
        actions.insert(updated.action);

        if kind == Kind::Folder {
            let position = fixture.audit_position().await;
            let archived = json!({ "archivedAt": fixture.now().to_string() });
            let archived = fixture.update(kind, &key, archived).await;
            let event = only_event(&fixture, position).await;
            assert_eq!(event.action, "folder.archived");
            assert_eq!(read(event.after.as_ref()), Some(archived));
            actions.insert(event.action);
        }

        let position = fixture.audit_position().await;
        let last = fixture.find(kind, &key).await;
        fixture.delete(kind, &key).await;
        let deleted = only_event(&fixture, position).await;
        assert_eq!(deleted.action, format!("{kind}.deleted"));
        assert_eq!((read(deleted.before.as_ref()), deleted.after), (Some(last), None));
        actions.insert(deleted.action);
    }
    let of_records = Event::all().filter(|event| event.is_of_record());
    let all: BTreeSet<_> = of_records.map(|event| event.name().to_owned()).collect();
    assert_eq!(actions, all);
}

async fn update_event_has_the_previous_values_of_changed_fields_only(fixture: Fixture) {
    fixture.seed_folder().await;
    let before = fixture.find(Kind::Folder, "in").await;
    let position = fixture.audit_position().await;
    let values = json!({ "name": "y", "tags": ["t"], "description": null, "owner": "a@b.test" });
    fixture.update(Kind::Folder, "in", values).await;
    let event = only_event(&fixture, position).await;
    let expected = json!({
        "name": "Boundary survey", "tags": [], "owner": null, "version": 1,
        "updatedAt": before["updatedAt"],
    });
    assert_eq!(read(event.before.as_ref()), Some(expected));
}

async fn unchanged_record_sends_no_event(fixture: Fixture) {
    fixture.seed_folder().await;
    let position = fixture.audit_position().await;
    let document = fixture.find(Kind::Budget, "in").await;
    fixture
        .apply(vec![
            change(Kind::Folder, "in", json!({})),
            change(Kind::Folder, "in", json!({ "name": "Boundary survey", "tags": [] })),
            import(Kind::Assignment, json!({ "reference": "in", "title": "Stake out" })),
            change(Kind::Budget, "in", document.clone()),
            change(Kind::Budget, "in", json!({ "amount": "1000.0", "currency": "EUR" })),
        ])
        .await
        .unwrap();
    assert_eq!(fixture.audit_log(position).await, []);
    assert_eq!(fixture.find(Kind::Budget, "in").await, document);
}

async fn archiving_sends_archived_and_unarchiving_sends_updated(fixture: Fixture) {
    fixture.seed_folder().await;
    let position = fixture.audit_position().await;
    let archive = |at: Value| change(Kind::Folder, "in", json!({ "archivedAt": at, "name": at }));
    let moments = ["2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"];
    fixture.run(archive(json!(moments[0]))).await;
    fixture.run(archive(json!(moments[1]))).await;
    fixture.run(change(Kind::Folder, "in", json!({ "archivedAt": null }))).await;
    fixture.run(archive(json!(moments[0]))).await;
    let born = json!({ "reference": "born", "name": "x", "archivedAt": moments[0] });
    fixture.run(new(Kind::Folder, born)).await;
    assert_eq!(
        fixture.events(position).await,
        [
            "folder.archived in",
            "folder.updated in",
            "folder.updated in",
            "folder.archived in",
            "folder.created born",
        ]
    );
}

async fn deleting_a_folder_sends_deleted_for_all_its_contents_only(fixture: Fixture) {
    fixture.seed_folder().await;
    let expense = |reference: &str| {
        json!({
            "reference": reference, "folder": "in", "budget": "in", "assignment": "in",
            "unitAmount": 5, "incurredOn": "2026-03-01",
        })
    };
    fixture.create(Kind::Expense, expense("one")).await;
    fixture.create(Kind::Expense, expense("two")).await;
    let mut before = Vec::new();
    for (kind, key) in [
        (Kind::Folder, "in"),
        (Kind::Assignment, "in"),
        (Kind::Expense, "one"),
        (Kind::Expense, "two"),
        (Kind::Budget, "in"),
    ] {
        before.push((format!("{kind}.deleted"), Some(fixture.find(kind, key).await)));
    }
    let position = fixture.audit_position().await;
    fixture.delete(Kind::Folder, "in").await;
    let trail = fixture.audit_log(position).await;
    assert!(trail.iter().all(|row| row.after.is_none()));
    let mut sent: Vec<_> =
        trail.iter().map(|row| (row.action.clone(), read(row.before.as_ref()))).collect();
    let by_id = |(action, document): &(String, Option<Value>)| {
        (action.clone(), text(document.as_ref().unwrap(), "id"))
    };
    sent.sort_by_key(by_id);
    before.sort_by_key(by_id);
    assert_eq!(sent, before);
}

async fn budget_sends_one_update_for_many_changed_expenses(fixture: Fixture) {
    fixture.seed_folder().await;
    let expense = |unit: i32| {
        let values = json!({
            "folder": "in", "budget": "in", "unitAmount": unit, "incurredOn": "2026-03-01",
        });
        new(Kind::Expense, values)
    };
    let position = fixture.audit_position().await;
    fixture
        .apply(vec![
            expense(1),
            expense(2),
            change(Kind::Budget, "in", json!({ "name": "y" })),
            expense(3),
        ])
        .await
        .unwrap();
    let budget = fixture.find(Kind::Budget, "in").await;
    assert_eq!((&budget["spent"], &budget["version"]), (&json!("6.00"), &json!(2)));
    let events = fixture.events(position).await;
    assert_eq!(events.iter().filter(|event| *event == "budget.updated in").count(), 1);
    assert_eq!(events.len(), 4);
    let trail = fixture.audit_log(position).await;
    let sent = trail.iter().find(|row| row.action == "budget.updated").unwrap();
    assert_eq!(read(sent.after.as_ref()), Some(budget));
    let keys: Vec<_> =
        read(sent.before.as_ref()).unwrap().as_object().unwrap().keys().cloned().collect();
    let expected = ["name", "spent", "remaining", "percentUsed", "updatedAt", "version"];
    assert_eq!(BTreeSet::from_iter(keys), expected.map(str::to_owned).into());
}

async fn new_budget_with_expenses_in_one_change_sends_created_only(fixture: Fixture) {
    fixture.seed_folder().await;
    let position = fixture.audit_position().await;
    let budget = json!({ "reference": "new", "folder": "in", "name": "x", "amount": 10 });
    let expense = json!({
        "reference": "e", "folder": "in", "budget": "new", "unitAmount": 4,
        "incurredOn": "2026-03-01",
    });
    fixture.apply(vec![new(Kind::Budget, budget), new(Kind::Expense, expense)]).await.unwrap();
    assert_eq!(fixture.events(position).await, ["budget.created new", "expense.created e"]);
    let trail = fixture.audit_log(position).await;
    let document = fixture.find(Kind::Budget, "new").await;
    assert_eq!((&document["spent"], &document["version"]), (&json!("4.00"), &json!(1)));
    assert_eq!(read(trail[0].after.as_ref()), Some(document));
}

async fn expenses_with_an_unchanged_sum_do_not_update_their_budget(fixture: Fixture) {
    fixture.seed_folder().await;
    let expense = |unit: i32| {
        let values = json!({
            "folder": "in", "budget": "in", "unitAmount": unit, "incurredOn": "2026-03-01",
        });
        new(Kind::Expense, values)
    };
    fixture.apply(vec![expense(5), expense(-5)]).await.unwrap();
    assert_eq!(fixture.find(Kind::Budget, "in").await["version"], 1);
    let position = fixture.audit_position().await;
    fixture.update(Kind::Expense, "E-000001", json!({ "vendor": "x" })).await;
    assert_eq!(fixture.events(position).await, ["expense.updated E-000001"]);
}

async fn record_changed_twice_in_one_change_sends_one_event(fixture: Fixture) {
    fixture.seed_folder().await;
    let position = fixture.audit_position().await;
    fixture
        .apply(vec![
            change(Kind::Folder, "in", json!({ "name": "one" })),
            change(Kind::Folder, "in", json!({ "name": "two", "reference": "new" })),
            change(Kind::Folder, "new", json!({ "tags": ["x"] })),
        ])
        .await
        .unwrap();
    let event = only_event(&fixture, position).await;
    assert_eq!(event.action, "folder.updated");
    assert_eq!(read(event.after.as_ref()), Some(fixture.find(Kind::Folder, "new").await));
    // A record that is changed and then deleted sends its state before the change.
    let before = fixture.find(Kind::Folder, "new").await;
    let position = fixture.audit_position().await;
    let commands =
        vec![change(Kind::Assignment, "in", json!({ "title": "x" })), delete(Kind::Folder, "new")];
    fixture.apply(commands).await.unwrap();
    let trail = fixture.audit_log(position).await;
    assert_eq!(trail.len(), 3);
    assert!(trail.iter().all(|row| row.action.ends_with(".deleted")));
    let folder = trail.iter().find(|row| row.action == "folder.deleted").unwrap();
    assert_eq!(read(folder.before.as_ref()), Some(before));
    let assignment = trail.iter().find(|row| row.action == "assignment.deleted").unwrap();
    assert_eq!(read(assignment.before.as_ref()).unwrap()["title"], "Stake out");
}

async fn change_that_is_undone_in_the_same_change_sends_no_event(fixture: Fixture) {
    fixture.seed_folder().await;
    let position = fixture.audit_position().await;
    fixture
        .apply(vec![
            change(Kind::Folder, "in", json!({ "name": "another" })),
            change(Kind::Folder, "in", json!({ "name": "Boundary survey" })),
        ])
        .await
        .unwrap();
    assert_eq!(fixture.audit_log(position).await, []);
    assert_eq!(fixture.find(Kind::Folder, "in").await["version"], 1);
}

async fn losing_a_link_sends_updated(fixture: Fixture) {
    fixture.seed_folder().await;
    let expense = json!({
        "reference": "e", "folder": "in", "budget": "in", "assignment": "in", "unitAmount": 5,
        "incurredOn": "2026-03-01",
    });
    fixture.create(Kind::Expense, expense).await;
    let position = fixture.audit_position().await;
    fixture.delete(Kind::Assignment, "in").await;
    let mut events = fixture.events(position).await;
    events.sort();
    assert_eq!(events, ["assignment.deleted in", "expense.updated e"]);
    let position = fixture.audit_position().await;
    fixture.delete(Kind::Budget, "in").await;
    let mut events = fixture.events(position).await;
    events.sort();
    assert_eq!(events, ["budget.deleted in", "expense.updated e"]);
    let trail = fixture.audit_log(position).await;
    let updated = trail.iter().find(|row| row.action == "expense.updated").unwrap();
    assert_eq!(read(updated.after.as_ref()), Some(fixture.find(Kind::Expense, "e").await));
}

async fn events_are_listed_in_order_and_in_pages(fixture: Fixture) {
    let position = fixture.audit_position().await;
    for number in 0..10 {
        fixture.create(Kind::Folder, json!({ "reference": number.to_string(), "name": "x" })).await;
    }
    let all = fixture.audit_log(position).await;
    assert_eq!(
        fixture.events(position).await,
        (0..10).map(|number| format!("folder.created {number}")).collect::<Vec<_>>()
    );
    let mut paged = Vec::new();
    loop {
        let after = paged.last().map_or(position, |row: &AuditEntry| row.id);
        let page = fixture.store.audit_entries(fixture.workspace_id, after, 3).await.unwrap();
        assert!(page.len() <= 3);
        if page.is_empty() {
            break;
        }
        paged.extend(page);
    }
    assert_eq!(paged, all);
}

async fn audit_log_numbers_are_unique_and_increasing(fixture: Fixture) {
    let next = fixture.new_workspace("Next door").await;
    let tasks = (0..40).map(|number| {
        let workspace = if number % 2 == 0 { (*fixture).clone() } else { next.clone() };
        tokio::spawn(async move { workspace.create(Kind::Folder, json!({ "name": "x" })).await })
    });
    let tasks: Vec<_> = tasks.collect();
    // A reader that continues after its last number misses nothing during concurrent writes.
    let mut followed: Vec<AuditEntry> = Vec::new();
    wait_until_true(Duration::from_secs(30), "the reader has seen twenty folders", async || {
        let after = followed.last().map_or(0, |row| row.id);
        let rows = fixture.store.audit_entries(fixture.workspace_id, after, 100).await.unwrap();
        followed.extend(rows.into_iter().filter(|row| row.action == "folder.created"));
        followed.len() >= 20
    })
    .await;
    for task in tasks {
        task.await.unwrap();
    }
    let quoted = fixture.status(Kind::Folder, "Quoted").await;
    fixture.run(change_status(&quoted, json!({ "name": "Asked" }))).await;
    fixture.run(save_status(json!({ "name": "x", "appliesTo": "folder" }))).await;
    let trail = fixture.audit_log(0).await;
    assert!(trail.windows(2).all(|pair| pair[0].id < pair[1].id));
    let created: Vec<_> = trail.into_iter().filter(|row| row.action == "folder.created").collect();
    assert_eq!(followed, created);
}
