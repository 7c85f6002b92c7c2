//! Events: every change of a record, once, with the document as a reader would get it.

use crate::{
    Office,
    office::{change, change_status, delete, import, new, save_status, text, within},
    on_both_engines,
};
use groma_domain::{Event, Kind};
use groma_store::ChangeRow;
use serde_json::{Value, json};
use std::{collections::BTreeSet, time::Duration};

on_both_engines! {
    all_thirteen_come_with_the_document_as_it_is_answered
    an_update_keeps_of_before_only_what_changed
    a_write_that_changes_nothing_sends_nothing
    archiving_is_archived_and_taking_back_is_updated
    deleting_a_folder_sends_deleted_for_all_it_held_and_nothing_else
    a_budget_is_updated_once_however_many_expenses_changed
    a_new_budget_with_expenses_in_one_change_is_only_created
    expenses_that_even_out_leave_their_budget_alone
    a_record_changed_twice_in_one_change_is_one_event
    a_change_undone_in_the_same_change_is_no_event
    losing_a_link_is_an_update
    events_come_in_the_order_of_the_changes_and_in_pages
    every_number_of_the_trail_is_given_once_and_rises
}

fn read(document: Option<&String>) -> Option<Value> {
    document.map(|json| serde_json::from_str(json).unwrap())
}

/// The single event behind `mark`.
async fn only_event(office: &Office, mark: i64) -> ChangeRow {
    let mut trail = office.trail(mark).await;
    assert_eq!(trail.len(), 1, "{trail:?}");
    trail.remove(0)
}

async fn all_thirteen_come_with_the_document_as_it_is_answered(office: Office) {
    office.furnish().await;
    let mut seen = BTreeSet::new();
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
        let mark = office.mark().await;
        let made = office.create(kind, values).await;
        let key = text(&made, "id");
        let created = only_event(&office, mark).await;
        assert_eq!(created.action, format!("{kind}.created"));
        assert_eq!((&read(created.after.as_ref()), created.before), (&Some(made.clone()), None));
        assert_eq!(created.subject.to_string(), key);
        assert_eq!(created.at, office.now());
        seen.insert(created.action);

        let mark = office.mark().await;
        let changed = office.update(kind, &key, json!({ "description": "y" })).await;
        let updated = only_event(&office, mark).await;
        assert_eq!(updated.action, format!("{kind}.updated"));
        assert_eq!(read(updated.after.as_ref()), Some(changed));
        seen.insert(updated.action);

        if kind == Kind::Folder {
            let mark = office.mark().await;
            let archived = json!({ "archivedAt": office.now().to_string() });
            let archived = office.update(kind, &key, archived).await;
            let event = only_event(&office, mark).await;
            assert_eq!(event.action, "folder.archived");
            assert_eq!(read(event.after.as_ref()), Some(archived));
            seen.insert(event.action);
        }

        let mark = office.mark().await;
        let last = office.shown(kind, &key).await;
        office.delete(kind, &key).await;
        let deleted = only_event(&office, mark).await;
        assert_eq!(deleted.action, format!("{kind}.deleted"));
        assert_eq!((read(deleted.before.as_ref()), deleted.after), (Some(last), None));
        seen.insert(deleted.action);
    }
    let all: BTreeSet<_> = Event::all().map(|event| event.name().to_owned()).collect();
    assert_eq!(seen, all);
}

async fn an_update_keeps_of_before_only_what_changed(office: Office) {
    office.furnish().await;
    let before = office.shown(Kind::Folder, "in").await;
    let mark = office.mark().await;
    let values = json!({ "name": "y", "tags": ["t"], "description": null, "owner": "a@b.test" });
    office.update(Kind::Folder, "in", values).await;
    let event = only_event(&office, mark).await;
    let expected = json!({
        "name": "Boundary survey", "tags": [], "owner": null, "version": 1,
        "updatedAt": before["updatedAt"],
    });
    assert_eq!(read(event.before.as_ref()), Some(expected));
}

async fn a_write_that_changes_nothing_sends_nothing(office: Office) {
    office.furnish().await;
    let mark = office.mark().await;
    let shown = office.shown(Kind::Budget, "in").await;
    office
        .apply(vec![
            change(Kind::Folder, "in", json!({})),
            change(Kind::Folder, "in", json!({ "name": "Boundary survey", "tags": [] })),
            import(Kind::Assignment, json!({ "reference": "in", "title": "Stake out" })),
            change(Kind::Budget, "in", shown.clone()),
            change(Kind::Budget, "in", json!({ "amount": "1000.0", "currency": "EUR" })),
        ])
        .await
        .unwrap();
    assert_eq!(office.trail(mark).await, []);
    assert_eq!(office.shown(Kind::Budget, "in").await, shown);
}

async fn archiving_is_archived_and_taking_back_is_updated(office: Office) {
    office.furnish().await;
    let mark = office.mark().await;
    let archive = |at: Value| change(Kind::Folder, "in", json!({ "archivedAt": at, "name": at }));
    let moments = ["2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"];
    office.done(archive(json!(moments[0]))).await;
    office.done(archive(json!(moments[1]))).await;
    office.done(change(Kind::Folder, "in", json!({ "archivedAt": null }))).await;
    office.done(archive(json!(moments[0]))).await;
    let born = json!({ "reference": "born", "name": "x", "archivedAt": moments[0] });
    office.done(new(Kind::Folder, born)).await;
    assert_eq!(
        office.events(mark).await,
        [
            "folder.archived in",
            "folder.updated in",
            "folder.updated in",
            "folder.archived in",
            "folder.created born",
        ]
    );
}

async fn deleting_a_folder_sends_deleted_for_all_it_held_and_nothing_else(office: Office) {
    office.furnish().await;
    let expense = |reference: &str| {
        json!({
            "reference": reference, "folder": "in", "budget": "in", "assignment": "in",
            "unitAmount": 5, "incurredOn": "2026-03-01",
        })
    };
    office.create(Kind::Expense, expense("one")).await;
    office.create(Kind::Expense, expense("two")).await;
    let mut before = Vec::new();
    for (kind, key) in [
        (Kind::Folder, "in"),
        (Kind::Assignment, "in"),
        (Kind::Expense, "one"),
        (Kind::Expense, "two"),
        (Kind::Budget, "in"),
    ] {
        before.push((format!("{kind}.deleted"), Some(office.shown(kind, key).await)));
    }
    let mark = office.mark().await;
    office.delete(Kind::Folder, "in").await;
    let trail = office.trail(mark).await;
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

async fn a_budget_is_updated_once_however_many_expenses_changed(office: Office) {
    office.furnish().await;
    let expense = |unit: i32| {
        let values = json!({
            "folder": "in", "budget": "in", "unitAmount": unit, "incurredOn": "2026-03-01",
        });
        new(Kind::Expense, values)
    };
    let mark = office.mark().await;
    office
        .apply(vec![
            expense(1),
            expense(2),
            change(Kind::Budget, "in", json!({ "name": "y" })),
            expense(3),
        ])
        .await
        .unwrap();
    let budget = office.shown(Kind::Budget, "in").await;
    assert_eq!((&budget["spent"], &budget["version"]), (&json!("6.00"), &json!(2)));
    let events = office.events(mark).await;
    assert_eq!(events.iter().filter(|event| *event == "budget.updated in").count(), 1);
    assert_eq!(events.len(), 4);
    let trail = office.trail(mark).await;
    let sent = trail.iter().find(|row| row.action == "budget.updated").unwrap();
    assert_eq!(read(sent.after.as_ref()), Some(budget));
    let keys: Vec<_> =
        read(sent.before.as_ref()).unwrap().as_object().unwrap().keys().cloned().collect();
    let expected = ["name", "spent", "remaining", "percentUsed", "updatedAt", "version"];
    assert_eq!(BTreeSet::from_iter(keys), expected.map(str::to_owned).into());
}

async fn a_new_budget_with_expenses_in_one_change_is_only_created(office: Office) {
    office.furnish().await;
    let mark = office.mark().await;
    let budget = json!({ "reference": "new", "folder": "in", "name": "x", "amount": 10 });
    let expense = json!({
        "reference": "e", "folder": "in", "budget": "new", "unitAmount": 4,
        "incurredOn": "2026-03-01",
    });
    office.apply(vec![new(Kind::Budget, budget), new(Kind::Expense, expense)]).await.unwrap();
    assert_eq!(office.events(mark).await, ["budget.created new", "expense.created e"]);
    let trail = office.trail(mark).await;
    let shown = office.shown(Kind::Budget, "new").await;
    assert_eq!((&shown["spent"], &shown["version"]), (&json!("4.00"), &json!(1)));
    assert_eq!(read(trail[0].after.as_ref()), Some(shown));
}

async fn expenses_that_even_out_leave_their_budget_alone(office: Office) {
    office.furnish().await;
    let expense = |unit: i32| {
        let values = json!({
            "folder": "in", "budget": "in", "unitAmount": unit, "incurredOn": "2026-03-01",
        });
        new(Kind::Expense, values)
    };
    office.apply(vec![expense(5), expense(-5)]).await.unwrap();
    assert_eq!(office.shown(Kind::Budget, "in").await["version"], 1);
    let mark = office.mark().await;
    office.update(Kind::Expense, "E-000001", json!({ "vendor": "x" })).await;
    assert_eq!(office.events(mark).await, ["expense.updated E-000001"]);
}

async fn a_record_changed_twice_in_one_change_is_one_event(office: Office) {
    office.furnish().await;
    let mark = office.mark().await;
    office
        .apply(vec![
            change(Kind::Folder, "in", json!({ "name": "one" })),
            change(Kind::Folder, "in", json!({ "name": "two", "reference": "new" })),
            change(Kind::Folder, "new", json!({ "tags": ["x"] })),
        ])
        .await
        .unwrap();
    let event = only_event(&office, mark).await;
    assert_eq!(event.action, "folder.updated");
    assert_eq!(read(event.after.as_ref()), Some(office.shown(Kind::Folder, "new").await));
    // A record changed and then deleted is deleted, as it was before the change.
    let before = office.shown(Kind::Folder, "new").await;
    let mark = office.mark().await;
    let commands =
        vec![change(Kind::Assignment, "in", json!({ "title": "x" })), delete(Kind::Folder, "new")];
    office.apply(commands).await.unwrap();
    let trail = office.trail(mark).await;
    assert_eq!(trail.len(), 3);
    assert!(trail.iter().all(|row| row.action.ends_with(".deleted")));
    let folder = trail.iter().find(|row| row.action == "folder.deleted").unwrap();
    assert_eq!(read(folder.before.as_ref()), Some(before));
    let assignment = trail.iter().find(|row| row.action == "assignment.deleted").unwrap();
    assert_eq!(read(assignment.before.as_ref()).unwrap()["title"], "Stake out");
}

async fn a_change_undone_in_the_same_change_is_no_event(office: Office) {
    office.furnish().await;
    let mark = office.mark().await;
    office
        .apply(vec![
            change(Kind::Folder, "in", json!({ "name": "another" })),
            change(Kind::Folder, "in", json!({ "name": "Boundary survey" })),
        ])
        .await
        .unwrap();
    assert_eq!(office.trail(mark).await, []);
    assert_eq!(office.shown(Kind::Folder, "in").await["version"], 1);
}

async fn losing_a_link_is_an_update(office: Office) {
    office.furnish().await;
    let expense = json!({
        "reference": "e", "folder": "in", "budget": "in", "assignment": "in", "unitAmount": 5,
        "incurredOn": "2026-03-01",
    });
    office.create(Kind::Expense, expense).await;
    let mark = office.mark().await;
    office.delete(Kind::Assignment, "in").await;
    let mut events = office.events(mark).await;
    events.sort();
    assert_eq!(events, ["assignment.deleted in", "expense.updated e"]);
    let mark = office.mark().await;
    office.delete(Kind::Budget, "in").await;
    let mut events = office.events(mark).await;
    events.sort();
    assert_eq!(events, ["budget.deleted in", "expense.updated e"]);
    let trail = office.trail(mark).await;
    let updated = trail.iter().find(|row| row.action == "expense.updated").unwrap();
    assert_eq!(read(updated.after.as_ref()), Some(office.shown(Kind::Expense, "e").await));
}

async fn events_come_in_the_order_of_the_changes_and_in_pages(office: Office) {
    let mark = office.mark().await;
    for number in 0..10 {
        office.create(Kind::Folder, json!({ "reference": number.to_string(), "name": "x" })).await;
    }
    let all = office.trail(mark).await;
    assert_eq!(
        office.events(mark).await,
        (0..10).map(|number| format!("folder.created {number}")).collect::<Vec<_>>()
    );
    let mut paged = Vec::new();
    loop {
        let after = paged.last().map_or(mark, |row: &ChangeRow| row.id);
        let page = office.store.changes(office.workspace, after, 3).await.unwrap();
        assert!(page.len() <= 3);
        if page.is_empty() {
            break;
        }
        paged.extend(page);
    }
    assert_eq!(paged, all);
}

async fn every_number_of_the_trail_is_given_once_and_rises(office: Office) {
    let next = office.neighbour("Next door").await;
    let tasks = (0..40).map(|number| {
        let desk = if number % 2 == 0 { (*office).clone() } else { next.clone() };
        tokio::spawn(async move { desk.create(Kind::Folder, json!({ "name": "x" })).await })
    });
    let tasks: Vec<_> = tasks.collect();
    // Whoever reads behind the last number seen misses nothing, while others write.
    let mut followed: Vec<ChangeRow> = Vec::new();
    within(Duration::from_secs(30), "twenty folders are followed", async || {
        let after = followed.last().map_or(0, |row| row.id);
        let rows = office.store.changes(office.workspace, after, 100).await.unwrap();
        followed.extend(rows.into_iter().filter(|row| row.action == "folder.created"));
        followed.len() >= 20
    })
    .await;
    for task in tasks {
        task.await.unwrap();
    }
    let quoted = office.status(Kind::Folder, "Quoted").await;
    office.done(change_status(&quoted, json!({ "name": "Asked" }))).await;
    office.done(save_status(json!({ "name": "x", "appliesTo": "folder" }))).await;
    let trail = office.trail(0).await;
    assert!(trail.windows(2).all(|pair| pair[0].id < pair[1].id));
    let created: Vec<_> = trail.into_iter().filter(|row| row.action == "folder.created").collect();
    assert_eq!(followed, created);
}
