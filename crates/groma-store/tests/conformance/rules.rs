//! Rules for links, currencies, dates and completion.

use crate::{
    Fixture,
    fixture::{change, delete, new, text},
    on_both_engines,
};
use groma_domain::Kind;
use groma_store::CommandOutcome;
use serde_json::{Value, json};

on_both_engines! {
    links_must_exist
    budget_and_assignment_of_an_expense_must_be_in_its_folder
    expense_must_have_the_currency_of_its_budget
    folder_and_currency_of_a_budget_with_expenses_cannot_change
    folder_of_an_assignment_with_expenses_cannot_change
    link_that_is_removed_earlier_in_the_same_change_does_not_count
    completed_at_is_set_on_entering_done_and_cleared_on_leaving
    hours_are_decimals_with_limits
    end_cannot_be_before_start
    record_deleted_earlier_in_the_same_change_cannot_be_linked
}

async fn links_must_exist(fixture: Fixture) {
    fixture.seed_folder().await;
    let expense = |field: &str, key: Value| {
        let mut values = json!({ "folder": "in", "unitAmount": 1, "incurredOn": "2026-03-01" });
        values[field] = key;
        new(Kind::Expense, values)
    };
    for (field, wrong) in [
        ("folder", "folder"),
        ("assignment", "assignment"),
        ("assignmentId", "assignment"),
        ("budget", "budget"),
        ("budgetId", "budget"),
        ("status", "status"),
        ("statusId", "status"),
    ] {
        let unknown = expense(field, json!("nowhere"));
        assert_eq!(fixture.invalid_fields(unknown).await, [wrong], "{field}");
        let unknown = expense(field, json!(uuid::Uuid::now_v7().to_string()));
        assert_eq!(fixture.invalid_fields(unknown).await, [wrong], "{field}");
    }
    // The id of a folder is not a budget.
    let folder = fixture.find(Kind::Folder, "in").await["id"].clone();
    assert_eq!(fixture.invalid_fields(expense("budget", folder)).await, ["budget"]);
    let nobody = json!({ "name": "x", "owner": uuid::Uuid::now_v7().to_string() });
    assert_eq!(fixture.invalid_fields(new(Kind::Folder, nobody)).await, ["owner"]);
    let of_another_kind = expense("status", json!("Quoted"));
    assert_eq!(fixture.invalid_fields(of_another_kind).await, ["status"]);
}

/// Two folders with contents, `in` and `out`, and an expense of the first with all links.
async fn two_folders(fixture: &Fixture) {
    fixture.seed_folder().await;
    let folder = json!({ "reference": "out", "name": "Out" });
    let assignment = json!({ "reference": "out", "folder": "out", "title": "x" });
    let budget = json!({ "reference": "out", "folder": "out", "name": "x", "amount": 10 });
    let expense = json!({
        "folder": "in", "assignment": "in", "budget": "in", "unitAmount": 1,
        "incurredOn": "2026-03-01",
    });
    fixture
        .apply(vec![
            new(Kind::Folder, folder),
            new(Kind::Assignment, assignment),
            new(Kind::Budget, budget),
            new(Kind::Expense, expense),
        ])
        .await
        .unwrap();
}

async fn budget_and_assignment_of_an_expense_must_be_in_its_folder(fixture: Fixture) {
    two_folders(&fixture).await;
    let wrong =
        async |values| fixture.invalid_fields(change(Kind::Expense, "E-000001", values)).await;
    assert_eq!(wrong(json!({ "budget": "out" })).await, ["budget"]);
    assert_eq!(wrong(json!({ "assignment": "out" })).await, ["assignment"]);
    assert_eq!(wrong(json!({ "folder": "out" })).await, ["assignment", "budget"]);
    assert_eq!(wrong(json!({ "folder": "out", "budget": "out" })).await, ["assignment"]);
    let with_all = json!({ "folder": "out", "budget": "out", "assignment": "out" });
    let moved = fixture.update(Kind::Expense, "E-000001", with_all).await;
    assert_eq!(moved["folderId"], fixture.find(Kind::Folder, "out").await["id"]);
    assert_eq!(fixture.find(Kind::Budget, "in").await["spent"], "0.00");
    assert_eq!(fixture.find(Kind::Budget, "out").await["spent"], "1.00");
    // The same holds after a move to another folder.
    assert_eq!(fixture.run(delete(Kind::Folder, "out")).await, CommandOutcome::Deleted { with: 3 });
    assert_eq!(fixture.run(delete(Kind::Folder, "in")).await, CommandOutcome::Deleted { with: 2 });
}

async fn expense_must_have_the_currency_of_its_budget(fixture: Fixture) {
    two_folders(&fixture).await;
    let yen = json!({ "currency": "JPY" });
    assert_eq!(fixture.invalid_fields(change(Kind::Expense, "E-000001", yen)).await, ["currency"]);
    let yen = json!({
        "folder": "in", "budget": "in", "currency": "JPY", "unitAmount": 1,
        "incurredOn": "2026-03-01",
    });
    assert_eq!(fixture.invalid_fields(new(Kind::Expense, yen)).await, ["currency"]);
    let without = json!({ "currency": "JPY", "budget": null });
    assert_eq!(fixture.update(Kind::Expense, "E-000001", without).await["currency"], "JPY");
}

async fn folder_and_currency_of_a_budget_with_expenses_cannot_change(fixture: Fixture) {
    two_folders(&fixture).await;
    let wrong = async |values| fixture.invalid_fields(change(Kind::Budget, "in", values)).await;
    assert_eq!(wrong(json!({ "currency": "CHF" })).await, ["currency"]);
    assert_eq!(wrong(json!({ "folder": "out" })).await, ["folder"]);
    fixture.delete(Kind::Expense, "E-000001").await;
    let moved = json!({ "folder": "out", "currency": "CHF" });
    let moved = fixture.update(Kind::Budget, "in", moved).await;
    assert_eq!((&moved["currency"], &moved["spent"]), (&json!("CHF"), &json!("0.00")));
}

async fn folder_of_an_assignment_with_expenses_cannot_change(fixture: Fixture) {
    two_folders(&fixture).await;
    let moving = || change(Kind::Assignment, "in", json!({ "folder": "out" }));
    assert_eq!(fixture.invalid_fields(moving()).await, ["folder"]);
    fixture.update(Kind::Expense, "E-000001", json!({ "assignment": null })).await;
    assert!(matches!(fixture.run(moving()).await, CommandOutcome::Updated(..)));
}

async fn link_that_is_removed_earlier_in_the_same_change_does_not_count(fixture: Fixture) {
    two_folders(&fixture).await;
    fixture
        .apply(vec![
            change(Kind::Expense, "E-000001", json!({ "assignment": null, "status": "Approved" })),
            change(Kind::Assignment, "in", json!({ "folder": "out" })),
        ])
        .await
        .unwrap();
    fixture
        .apply(vec![
            delete(Kind::Expense, "E-000001"),
            change(Kind::Budget, "in", json!({ "folder": "out", "currency": "CHF" })),
        ])
        .await
        .unwrap();
    let out = fixture.find(Kind::Folder, "out").await["id"].clone();
    assert_eq!(fixture.find(Kind::Assignment, "in").await["folderId"], out);
    assert_eq!(fixture.find(Kind::Budget, "in").await["folderId"], out);
}

async fn completed_at_is_set_on_entering_done_and_cleared_on_leaving(fixture: Fixture) {
    fixture.seed_folder().await;
    let status = async |name| {
        let changed = fixture.update(Kind::Assignment, "in", json!({ "status": name })).await;
        changed["completedAt"].clone()
    };
    assert_eq!(status(json!("In progress")).await, Value::Null);
    let done_at = {
        let completed = status(json!("done")).await;
        assert_eq!(completed, fixture.now().to_string());
        completed
    };
    let renamed = fixture.update(Kind::Assignment, "in", json!({ "title": "Later" })).await;
    assert_eq!(renamed["completedAt"], done_at, "another change keeps the time");
    assert_eq!(status(json!("Cancelled")).await, Value::Null);
    assert_eq!(status(json!("Done")).await, fixture.now().to_string());
    assert_eq!(status(Value::Null).await, Value::Null);
    // A record can be created as done, and the field is read-only.
    let born = json!({
        "folder": "in", "title": "x", "status": "Done", "completedAt": "2000-01-01T00:00:00Z",
    });
    let born = fixture.create(Kind::Assignment, born).await;
    assert_eq!(born["completedAt"], fixture.now().to_string());
    // It stays done with another status of the same group.
    let also_done = json!({ "name": "Filed", "appliesTo": "assignment", "group": "done" });
    fixture.run(crate::fixture::save_status(also_done)).await;
    let key = text(&born, "reference");
    let filed = fixture.update(Kind::Assignment, &key, json!({ "status": "Filed" })).await;
    assert_eq!(filed["completedAt"], born["completedAt"]);
}

async fn hours_are_decimals_with_limits(fixture: Fixture) {
    fixture.seed_folder().await;
    for wrong in ["-0.5", "1000000"] {
        let hours = json!({ "estimatedHours": wrong });
        let wrong = fixture.invalid_fields(change(Kind::Assignment, "in", hours)).await;
        assert_eq!(wrong, ["estimatedHours"]);
    }
    let hours = json!({ "estimatedHours": "999999.9999", "spentHours": "0.2500" });
    let changed = fixture.update(Kind::Assignment, "in", hours).await;
    assert_eq!(changed["estimatedHours"], "999999.9999");
    assert_eq!(changed["spentHours"], "0.25");
    let nothing = fixture.update(Kind::Assignment, "in", json!({ "spentHours": "-0" })).await;
    assert_eq!(nothing["spentHours"], "0", "zero has no sign");
}

async fn end_cannot_be_before_start(fixture: Fixture) {
    fixture.seed_folder().await;
    for (kind, end) in
        [(Kind::Folder, "dueDate"), (Kind::Assignment, "dueDate"), (Kind::Budget, "endDate")]
    {
        fixture.update(kind, "in", json!({ "startDate": "2026-03-02", end: "2026-03-02" })).await;
        let early = change(kind, "in", json!({ end: "2026-03-01" }));
        assert_eq!(fixture.invalid_fields(early).await, [end]);
        let late = change(kind, "in", json!({ "startDate": "2026-03-03" }));
        assert_eq!(fixture.invalid_fields(late).await, [end]);
    }
}

async fn record_deleted_earlier_in_the_same_change_cannot_be_linked(fixture: Fixture) {
    two_folders(&fixture).await;
    let expense = json!({
        "folder": "in", "budget": "in", "unitAmount": 1, "incurredOn": "2026-03-01",
    });
    let gone_budget = vec![delete(Kind::Budget, "in"), new(Kind::Expense, expense)];
    let (error, index) = crate::fixture::domain_error(fixture.apply(gone_budget).await);
    assert_eq!((error.to_string(), index), ("budget `in` does not exist".into(), 1));
    let assignment = json!({ "folder": "in", "title": "x" });
    let gone_folder = vec![delete(Kind::Folder, "in"), new(Kind::Assignment, assignment)];
    let (_, index) = crate::fixture::domain_error(fixture.apply(gone_folder).await);
    assert_eq!(index, 1);
    // A record that was moved out of the folder earlier is kept.
    fixture
        .apply(vec![
            change(
                Kind::Expense,
                "E-000001",
                json!({ "folder": "out", "budget": "out", "assignment": "out" }),
            ),
            delete(Kind::Folder, "in"),
        ])
        .await
        .unwrap();
    assert_eq!(fixture.find(Kind::Budget, "out").await["spent"], "1.00");
    assert_eq!(fixture.references(Kind::Expense, &[]).await, ["E-000001"]);
}
