//! References: made or given, one record's at a time within a workspace and kind.

use crate::{
    Office,
    office::{Desk, change, delete, import, new, refusal, text},
    on_both_engines,
};
use groma_domain::{Kind, Reference};
use groma_store::Done;
use serde_json::json;
use std::sync::Arc;

on_both_engines! {
    made_references_count_up_for_each_kind
    made_references_skip_those_that_are_taken
    made_references_skip_those_that_the_same_change_asks_for
    made_references_skip_those_that_are_reserved
    a_made_reference_is_not_made_again_for_another
    a_taken_reference_is_refused
    the_same_reference_may_name_another_kind_and_be_used_next_door
    a_renamed_record_leaves_its_old_reference_free
    a_reference_passes_on_within_one_change
    references_can_be_swapped_within_one_change
    an_import_updates_the_record_of_its_reference_or_makes_one
}

fn folder(reference: &str) -> groma_store::Command {
    new(Kind::Folder, json!({ "reference": reference, "name": reference }))
}

fn rename(from: &str, to: &str) -> groma_store::Command {
    change(Kind::Folder, from, json!({ "reference": to }))
}

/// Reference and name of each folder, in the order of creation.
async fn folders(desk: &Desk) -> Vec<String> {
    let (content, _) = desk.list(Kind::Folder, &[]).await;
    content.iter().map(|f| format!("{} {}", text(f, "reference"), text(f, "name"))).collect()
}

async fn made_references_count_up_for_each_kind(office: Office) {
    for expected in ["F-000001", "F-000002"] {
        let made = office.create(Kind::Folder, json!({ "name": "x" })).await;
        assert_eq!(made["reference"], expected);
    }
    let assignment = json!({ "folder": "F-000001", "title": "x" });
    assert_eq!(office.create(Kind::Assignment, assignment).await["reference"], "A-000001");
    let expense = json!({ "folder": "F-000001", "unitAmount": 1, "incurredOn": "2026-03-01" });
    assert_eq!(office.create(Kind::Expense, expense).await["reference"], "E-000001");
    let budget = json!({ "folder": "F-000001", "name": "x", "amount": 1 });
    assert_eq!(office.create(Kind::Budget, budget).await["reference"], "B-000001");
}

async fn made_references_skip_those_that_are_taken(office: Office) {
    office.apply(vec![folder("F-000002"), folder("F-000003")]).await.unwrap();
    let unnamed = || new(Kind::Folder, json!({ "name": "x" }));
    // The fifth is taken within the same change.
    office.apply(vec![unnamed(), unnamed(), folder("F-000005"), unnamed()]).await.unwrap();
    let made = ["F-000002", "F-000003", "F-000001", "F-000004", "F-000005", "F-000006"];
    assert_eq!(office.references(Kind::Folder, &[]).await, made);
}

async fn made_references_skip_those_that_the_same_change_asks_for(office: Office) {
    let unnamed = |name: &str| import(Kind::Folder, json!({ "name": name }));
    let named =
        |reference: &str| import(Kind::Folder, json!({ "reference": reference, "name": "n" }));
    let rows = vec![unnamed("a"), named("F-000001"), unnamed("b"), named("F-000002"), unnamed("c")];
    office.apply(rows).await.unwrap();
    let all = ["F-000003 a", "F-000001 n", "F-000004 b", "F-000002 n", "F-000005 c"];
    assert_eq!(folders(&office).await, all);
    // Also when it is a stored one that is to be renamed.
    office.apply(vec![unnamed("d"), rename("F-000003", "F-000006")]).await.unwrap();
    assert_eq!(folders(&office).await[0], "F-000006 a");
    assert_eq!(folders(&office).await[5], "F-000007 d");
}

async fn made_references_skip_those_that_are_reserved(office: Office) {
    let reserved = ["F-000001", "F-000003"].map(|text| Reference::parse(text).unwrap());
    let unnamed = || new(Kind::Folder, json!({ "name": "x" }));
    let part = office.change(vec![unnamed(), unnamed()]);
    office.store.apply_part(part, Arc::new(reserved.into())).await.unwrap();
    office.apply(vec![folder("F-000001"), folder("F-000003"), unnamed()]).await.unwrap();
    let all = ["F-000002", "F-000004", "F-000001", "F-000003", "F-000005"];
    assert_eq!(office.references(Kind::Folder, &[]).await, all);
}

async fn a_made_reference_is_not_made_again_for_another(office: Office) {
    office.create(Kind::Folder, json!({ "name": "x" })).await;
    office.delete(Kind::Folder, "F-000001").await;
    assert_eq!(office.create(Kind::Folder, json!({ "name": "x" })).await["reference"], "F-000002");
}

async fn a_taken_reference_is_refused(office: Office) {
    office.apply(vec![folder("a"), folder("b")]).await.unwrap();
    assert_eq!(office.wrong_fields(folder("a")).await, ["reference"]);
    assert_eq!(office.wrong_fields(rename("b", "a")).await, ["reference"]);
    let (_, index) = refusal(office.apply(vec![folder("c"), folder("c")]).await);
    assert_eq!(index, 1);
    // Its own is not taken from it.
    assert!(matches!(office.done(rename("a", "a")).await, Done::Unchanged(..)));
}

async fn the_same_reference_may_name_another_kind_and_be_used_next_door(office: Office) {
    office.furnish().await;
    let next = office.neighbour("Next door").await;
    next.furnish().await;
    let (here, there) =
        (office.shown(Kind::Folder, "in").await, next.shown(Kind::Folder, "in").await);
    assert_ne!(here["id"], there["id"]);
    assert_ne!(here["id"], office.shown(Kind::Budget, "in").await["id"]);
}

async fn a_renamed_record_leaves_its_old_reference_free(office: Office) {
    office.apply(vec![folder("old")]).await.unwrap();
    let renamed = office.update(Kind::Folder, "old", json!({ "reference": "new" })).await;
    assert_eq!(office.get(Kind::Folder, "old").await, None);
    assert_eq!(office.shown(Kind::Folder, "new").await, renamed);
    assert_eq!(office.list(Kind::Folder, &[("term", "new")]).await.1, 1);
    office.apply(vec![folder("old")]).await.unwrap();
    assert_eq!(folders(&office).await, ["new old", "old old"]);
}

async fn a_reference_passes_on_within_one_change(office: Office) {
    office.apply(vec![folder("a"), folder("b"), folder("c")]).await.unwrap();
    // To a new record, when its holder goes.
    office.apply(vec![delete(Kind::Folder, "a"), folder("a")]).await.unwrap();
    // To one that the change touched before its holder went.
    office
        .apply(vec![
            change(Kind::Folder, "b", json!({ "name": "b once more" })),
            delete(Kind::Folder, "c"),
            rename("b", "c"),
        ])
        .await
        .unwrap();
    assert_eq!(folders(&office).await, ["c b once more", "a a"]);
    // Along a row of records, each taking the next one's.
    office.apply(vec![rename("a", "free"), rename("c", "a"), rename("free", "c")]).await.unwrap();
    assert_eq!(folders(&office).await, ["a b once more", "c a"]);
}

async fn references_can_be_swapped_within_one_change(office: Office) {
    office.apply(vec![folder("a"), folder("b")]).await.unwrap();
    let mark = office.mark().await;
    office.apply(vec![rename("a", "aside"), rename("b", "a"), rename("aside", "b")]).await.unwrap();
    assert_eq!(folders(&office).await, ["b a", "a b"]);
    assert_eq!(office.shown(Kind::Folder, "a").await["name"], "b");
    assert_eq!(office.events(mark).await.len(), 2);
}

async fn an_import_updates_the_record_of_its_reference_or_makes_one(office: Office) {
    let row = |name: &str| import(Kind::Folder, json!({ "reference": "a", "name": name }));
    let first = office.done(row("one")).await;
    let Done::Created(id, reference) = first else { panic!("{first:?}") };
    assert_eq!(office.done(row("two")).await, Done::Updated(id, reference.clone()));
    assert_eq!(office.done(row("two")).await, Done::Unchanged(id, reference));
    let unnamed = office.done(import(Kind::Folder, json!({ "name": "three" }))).await;
    assert!(matches!(unnamed, Done::Created(..)));
    assert_eq!(folders(&office).await, ["a two", "F-000001 three"]);
}
