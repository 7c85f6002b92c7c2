//! References: generated or given, and unique within a workspace and kind.

use crate::{
    Fixture,
    fixture::{TestWorkspace, change, delete, domain_error, import, new, text},
    on_both_engines,
};
use groma_domain::{Kind, Reference};
use groma_store::CommandOutcome;
use serde_json::json;
use std::sync::Arc;

on_both_engines! {
    generated_references_are_numbered_per_kind
    generated_references_skip_existing_ones
    generated_references_skip_those_of_the_same_change
    generated_references_skip_reserved_ones
    generated_reference_is_not_reused
    existing_reference_is_rejected
    other_kinds_and_workspaces_can_have_the_same_reference
    old_reference_of_a_renamed_record_is_free
    reference_can_move_to_another_record_within_one_change
    references_can_be_swapped_within_one_change
    import_updates_the_record_with_its_reference_or_creates_one
}

fn folder(reference: &str) -> groma_store::Command {
    new(Kind::Folder, json!({ "reference": reference, "name": reference }))
}

fn rename(from: &str, to: &str) -> groma_store::Command {
    change(Kind::Folder, from, json!({ "reference": to }))
}

/// The reference and name of each folder in creation order.
async fn folders(workspace: &TestWorkspace) -> Vec<String> {
    let (content, _) = workspace.list(Kind::Folder, &[]).await;
    content.iter().map(|f| format!("{} {}", text(f, "reference"), text(f, "name"))).collect()
}

async fn generated_references_are_numbered_per_kind(fixture: Fixture) {
    for expected in ["F-000001", "F-000002"] {
        let created = fixture.create(Kind::Folder, json!({ "name": "x" })).await;
        assert_eq!(created["reference"], expected);
    }
    let assignment = json!({ "folder": "F-000001", "title": "x" });
    assert_eq!(fixture.create(Kind::Assignment, assignment).await["reference"], "A-000001");
    let expense = json!({ "folder": "F-000001", "unitAmount": 1, "incurredOn": "2026-03-01" });
    assert_eq!(fixture.create(Kind::Expense, expense).await["reference"], "E-000001");
    let budget = json!({ "folder": "F-000001", "name": "x", "amount": 1 });
    assert_eq!(fixture.create(Kind::Budget, budget).await["reference"], "B-000001");
}

async fn generated_references_skip_existing_ones(fixture: Fixture) {
    fixture.apply(vec![folder("F-000002"), folder("F-000003")]).await.unwrap();
    let unnamed = || new(Kind::Folder, json!({ "name": "x" }));
    // The fifth is used in the same change.
    fixture.apply(vec![unnamed(), unnamed(), folder("F-000005"), unnamed()]).await.unwrap();
    let created = ["F-000002", "F-000003", "F-000001", "F-000004", "F-000005", "F-000006"];
    assert_eq!(fixture.references(Kind::Folder, &[]).await, created);
}

async fn generated_references_skip_those_of_the_same_change(fixture: Fixture) {
    let unnamed = |name: &str| import(Kind::Folder, json!({ "name": name }));
    let named =
        |reference: &str| import(Kind::Folder, json!({ "reference": reference, "name": "n" }));
    let rows = vec![unnamed("a"), named("F-000001"), unnamed("b"), named("F-000002"), unnamed("c")];
    fixture.apply(rows).await.unwrap();
    let all = ["F-000003 a", "F-000001 n", "F-000004 b", "F-000002 n", "F-000005 c"];
    assert_eq!(folders(&fixture).await, all);
    // Also when an existing record is renamed to it.
    fixture.apply(vec![unnamed("d"), rename("F-000003", "F-000006")]).await.unwrap();
    assert_eq!(folders(&fixture).await[0], "F-000006 a");
    assert_eq!(folders(&fixture).await[5], "F-000007 d");
}

async fn generated_references_skip_reserved_ones(fixture: Fixture) {
    let reserved = ["F-000001", "F-000003"].map(|text| Reference::parse(text).unwrap());
    let unnamed = || new(Kind::Folder, json!({ "name": "x" }));
    let part = fixture.change(vec![unnamed(), unnamed()]);
    fixture.store.apply_import(part, Arc::new(reserved.into()), None).await.unwrap();
    fixture.apply(vec![folder("F-000001"), folder("F-000003"), unnamed()]).await.unwrap();
    let all = ["F-000002", "F-000004", "F-000001", "F-000003", "F-000005"];
    assert_eq!(fixture.references(Kind::Folder, &[]).await, all);
}

async fn generated_reference_is_not_reused(fixture: Fixture) {
    fixture.create(Kind::Folder, json!({ "name": "x" })).await;
    fixture.delete(Kind::Folder, "F-000001").await;
    assert_eq!(fixture.create(Kind::Folder, json!({ "name": "x" })).await["reference"], "F-000002");
}

async fn existing_reference_is_rejected(fixture: Fixture) {
    fixture.apply(vec![folder("a"), folder("b")]).await.unwrap();
    assert_eq!(fixture.invalid_fields(folder("a")).await, ["reference"]);
    assert_eq!(fixture.invalid_fields(rename("b", "a")).await, ["reference"]);
    let (_, index) = domain_error(fixture.apply(vec![folder("c"), folder("c")]).await);
    assert_eq!(index, 1);
    // A record can keep its own reference.
    assert!(matches!(fixture.run(rename("a", "a")).await, CommandOutcome::Unchanged(..)));
}

async fn other_kinds_and_workspaces_can_have_the_same_reference(fixture: Fixture) {
    fixture.seed_folder().await;
    let next = fixture.new_workspace("Next door").await;
    next.seed_folder().await;
    let (first, other) =
        (fixture.find(Kind::Folder, "in").await, next.find(Kind::Folder, "in").await);
    assert_ne!(first["id"], other["id"]);
    assert_ne!(first["id"], fixture.find(Kind::Budget, "in").await["id"]);
}

async fn old_reference_of_a_renamed_record_is_free(fixture: Fixture) {
    fixture.apply(vec![folder("old")]).await.unwrap();
    let renamed = fixture.update(Kind::Folder, "old", json!({ "reference": "new" })).await;
    assert_eq!(fixture.get(Kind::Folder, "old").await, None);
    assert_eq!(fixture.find(Kind::Folder, "new").await, renamed);
    assert_eq!(fixture.list(Kind::Folder, &[("term", "new")]).await.1, 1);
    fixture.apply(vec![folder("old")]).await.unwrap();
    assert_eq!(folders(&fixture).await, ["new old", "old old"]);
}

async fn reference_can_move_to_another_record_within_one_change(fixture: Fixture) {
    fixture.apply(vec![folder("a"), folder("b"), folder("c")]).await.unwrap();
    // To a new record, after its record is deleted.
    fixture.apply(vec![delete(Kind::Folder, "a"), folder("a")]).await.unwrap();
    // To a record that was changed before its old record is deleted.
    fixture
        .apply(vec![
            change(Kind::Folder, "b", json!({ "name": "b once more" })),
            delete(Kind::Folder, "c"),
            rename("b", "c"),
        ])
        .await
        .unwrap();
    assert_eq!(folders(&fixture).await, ["c b once more", "a a"]);
    // Along a chain of records.
    fixture.apply(vec![rename("a", "free"), rename("c", "a"), rename("free", "c")]).await.unwrap();
    assert_eq!(folders(&fixture).await, ["a b once more", "c a"]);
}

async fn references_can_be_swapped_within_one_change(fixture: Fixture) {
    fixture.apply(vec![folder("a"), folder("b")]).await.unwrap();
    let mark = fixture.audit_position().await;
    fixture
        .apply(vec![rename("a", "aside"), rename("b", "a"), rename("aside", "b")])
        .await
        .unwrap();
    assert_eq!(folders(&fixture).await, ["b a", "a b"]);
    assert_eq!(fixture.find(Kind::Folder, "a").await["name"], "b");
    assert_eq!(fixture.events(mark).await.len(), 2);
}

async fn import_updates_the_record_with_its_reference_or_creates_one(fixture: Fixture) {
    let row = |name: &str| import(Kind::Folder, json!({ "reference": "a", "name": name }));
    let first = fixture.run(row("one")).await;
    let CommandOutcome::Created(id, reference) = first else { panic!("{first:?}") };
    assert_eq!(fixture.run(row("two")).await, CommandOutcome::Updated(id, reference.clone()));
    assert_eq!(fixture.run(row("two")).await, CommandOutcome::Unchanged(id, reference));
    let unnamed = fixture.run(import(Kind::Folder, json!({ "name": "three" }))).await;
    assert!(matches!(unnamed, CommandOutcome::Created(..)));
    assert_eq!(folders(&fixture).await, ["a two", "F-000001 three"]);
}
