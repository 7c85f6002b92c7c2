//! The rules that tie records to each other and to the calendar.

use crate::{
    Office,
    office::{change, delete, new, text},
    on_both_engines,
};
use groma_domain::Kind;
use groma_store::Done;
use serde_json::{Value, json};

on_both_engines! {
    links_must_name_something
    an_expenses_budget_and_assignment_belong_to_its_folder
    a_budget_and_its_expenses_share_one_currency
    a_budget_with_expenses_keeps_its_folder_and_currency
    an_assignment_with_expenses_keeps_its_folder
    a_link_given_up_earlier_in_the_same_change_holds_nothing_back
    completion_is_set_on_entering_done_and_cleared_on_leaving
    hours_are_bounded_decimals
    an_end_is_not_before_its_start
    nothing_is_linked_to_what_the_same_change_deleted
}

async fn links_must_name_something(office: Office) {
    office.furnish().await;
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
        assert_eq!(office.wrong_fields(unknown).await, [wrong], "{field}");
        let unknown = expense(field, json!(uuid::Uuid::now_v7().to_string()));
        assert_eq!(office.wrong_fields(unknown).await, [wrong], "{field}");
    }
    // A folder's id names no budget.
    let folder = office.shown(Kind::Folder, "in").await["id"].clone();
    assert_eq!(office.wrong_fields(expense("budget", folder)).await, ["budget"]);
    let nobody = json!({ "name": "x", "owner": uuid::Uuid::now_v7().to_string() });
    assert_eq!(office.wrong_fields(new(Kind::Folder, nobody)).await, ["owner"]);
    let of_another_kind = expense("status", json!("Quoted"));
    assert_eq!(office.wrong_fields(of_another_kind).await, ["status"]);
}

/// Two furnished folders, `in` and `out`, and an expense of the first with all its links.
async fn two_folders(office: &Office) {
    office.furnish().await;
    let folder = json!({ "reference": "out", "name": "Out" });
    let assignment = json!({ "reference": "out", "folder": "out", "title": "x" });
    let budget = json!({ "reference": "out", "folder": "out", "name": "x", "amount": 10 });
    let expense = json!({
        "folder": "in", "assignment": "in", "budget": "in", "unitAmount": 1,
        "incurredOn": "2026-03-01",
    });
    office
        .apply(vec![
            new(Kind::Folder, folder),
            new(Kind::Assignment, assignment),
            new(Kind::Budget, budget),
            new(Kind::Expense, expense),
        ])
        .await
        .unwrap();
}

async fn an_expenses_budget_and_assignment_belong_to_its_folder(office: Office) {
    two_folders(&office).await;
    let wrong = async |values| office.wrong_fields(change(Kind::Expense, "E-000001", values)).await;
    assert_eq!(wrong(json!({ "budget": "out" })).await, ["budget"]);
    assert_eq!(wrong(json!({ "assignment": "out" })).await, ["assignment"]);
    assert_eq!(wrong(json!({ "folder": "out" })).await, ["assignment", "budget"]);
    assert_eq!(wrong(json!({ "folder": "out", "budget": "out" })).await, ["assignment"]);
    let with_all = json!({ "folder": "out", "budget": "out", "assignment": "out" });
    let moved = office.update(Kind::Expense, "E-000001", with_all).await;
    assert_eq!(moved["folderId"], office.shown(Kind::Folder, "out").await["id"]);
    assert_eq!(office.shown(Kind::Budget, "in").await["spent"], "0.00");
    assert_eq!(office.shown(Kind::Budget, "out").await["spent"], "1.00");
    // And so it goes with its new folder.
    assert_eq!(office.done(delete(Kind::Folder, "out")).await, Done::Deleted { with: 3 });
    assert_eq!(office.done(delete(Kind::Folder, "in")).await, Done::Deleted { with: 2 });
}

async fn a_budget_and_its_expenses_share_one_currency(office: Office) {
    two_folders(&office).await;
    let yen = json!({ "currency": "JPY" });
    assert_eq!(office.wrong_fields(change(Kind::Expense, "E-000001", yen)).await, ["currency"]);
    let yen = json!({
        "folder": "in", "budget": "in", "currency": "JPY", "unitAmount": 1,
        "incurredOn": "2026-03-01",
    });
    assert_eq!(office.wrong_fields(new(Kind::Expense, yen)).await, ["currency"]);
    let without = json!({ "currency": "JPY", "budget": null });
    assert_eq!(office.update(Kind::Expense, "E-000001", without).await["currency"], "JPY");
}

async fn a_budget_with_expenses_keeps_its_folder_and_currency(office: Office) {
    two_folders(&office).await;
    let wrong = async |values| office.wrong_fields(change(Kind::Budget, "in", values)).await;
    assert_eq!(wrong(json!({ "currency": "CHF" })).await, ["currency"]);
    assert_eq!(wrong(json!({ "folder": "out" })).await, ["folder"]);
    office.delete(Kind::Expense, "E-000001").await;
    let moved = json!({ "folder": "out", "currency": "CHF" });
    let moved = office.update(Kind::Budget, "in", moved).await;
    assert_eq!((&moved["currency"], &moved["spent"]), (&json!("CHF"), &json!("0.00")));
}

async fn an_assignment_with_expenses_keeps_its_folder(office: Office) {
    two_folders(&office).await;
    let moving = || change(Kind::Assignment, "in", json!({ "folder": "out" }));
    assert_eq!(office.wrong_fields(moving()).await, ["folder"]);
    office.update(Kind::Expense, "E-000001", json!({ "assignment": null })).await;
    assert!(matches!(office.done(moving()).await, Done::Updated(..)));
}

async fn a_link_given_up_earlier_in_the_same_change_holds_nothing_back(office: Office) {
    two_folders(&office).await;
    office
        .apply(vec![
            change(Kind::Expense, "E-000001", json!({ "assignment": null, "status": "Approved" })),
            change(Kind::Assignment, "in", json!({ "folder": "out" })),
        ])
        .await
        .unwrap();
    office
        .apply(vec![
            delete(Kind::Expense, "E-000001"),
            change(Kind::Budget, "in", json!({ "folder": "out", "currency": "CHF" })),
        ])
        .await
        .unwrap();
    let out = office.shown(Kind::Folder, "out").await["id"].clone();
    assert_eq!(office.shown(Kind::Assignment, "in").await["folderId"], out);
    assert_eq!(office.shown(Kind::Budget, "in").await["folderId"], out);
}

async fn completion_is_set_on_entering_done_and_cleared_on_leaving(office: Office) {
    office.furnish().await;
    let status = async |name| {
        let changed = office.update(Kind::Assignment, "in", json!({ "status": name })).await;
        changed["completedAt"].clone()
    };
    assert_eq!(status(json!("In progress")).await, Value::Null);
    let done_at = {
        let completed = status(json!("done")).await;
        assert_eq!(completed, office.now().to_string());
        completed
    };
    let renamed = office.update(Kind::Assignment, "in", json!({ "title": "Later" })).await;
    assert_eq!(renamed["completedAt"], done_at, "another change leaves it");
    assert_eq!(status(json!("Cancelled")).await, Value::Null);
    assert_eq!(status(json!("Done")).await, office.now().to_string());
    assert_eq!(status(Value::Null).await, Value::Null);
    // Born done, and the field itself cannot be written.
    let born = json!({
        "folder": "in", "title": "x", "status": "Done", "completedAt": "2000-01-01T00:00:00Z",
    });
    let born = office.create(Kind::Assignment, born).await;
    assert_eq!(born["completedAt"], office.now().to_string());
    // From one status of the group to another it stays done.
    let also_done = json!({ "name": "Filed", "appliesTo": "assignment", "group": "done" });
    office.done(crate::office::save_status(also_done)).await;
    let key = text(&born, "reference");
    let filed = office.update(Kind::Assignment, &key, json!({ "status": "Filed" })).await;
    assert_eq!(filed["completedAt"], born["completedAt"]);
}

async fn hours_are_bounded_decimals(office: Office) {
    office.furnish().await;
    for wrong in ["-0.5", "1000000"] {
        let hours = json!({ "estimatedHours": wrong });
        let wrong = office.wrong_fields(change(Kind::Assignment, "in", hours)).await;
        assert_eq!(wrong, ["estimatedHours"]);
    }
    let hours = json!({ "estimatedHours": "999999.9999", "spentHours": "0.2500" });
    let changed = office.update(Kind::Assignment, "in", hours).await;
    assert_eq!(changed["estimatedHours"], "999999.9999");
    assert_eq!(changed["spentHours"], "0.25");
    let nothing = office.update(Kind::Assignment, "in", json!({ "spentHours": "-0" })).await;
    assert_eq!(nothing["spentHours"], "0", "nothing has no sign");
}

async fn an_end_is_not_before_its_start(office: Office) {
    office.furnish().await;
    for (kind, end) in
        [(Kind::Folder, "dueDate"), (Kind::Assignment, "dueDate"), (Kind::Budget, "endDate")]
    {
        office.update(kind, "in", json!({ "startDate": "2026-03-02", end: "2026-03-02" })).await;
        let early = change(kind, "in", json!({ end: "2026-03-01" }));
        assert_eq!(office.wrong_fields(early).await, [end]);
        let late = change(kind, "in", json!({ "startDate": "2026-03-03" }));
        assert_eq!(office.wrong_fields(late).await, [end]);
    }
}

async fn nothing_is_linked_to_what_the_same_change_deleted(office: Office) {
    two_folders(&office).await;
    let expense = json!({
        "folder": "in", "budget": "in", "unitAmount": 1, "incurredOn": "2026-03-01",
    });
    let gone_budget = vec![delete(Kind::Budget, "in"), new(Kind::Expense, expense)];
    let (refusal, index) = crate::office::refusal(office.apply(gone_budget).await);
    assert_eq!((refusal.to_string(), index), ("budget names no budget: `in`".into(), 1));
    let assignment = json!({ "folder": "in", "title": "x" });
    let gone_folder = vec![delete(Kind::Folder, "in"), new(Kind::Assignment, assignment)];
    let (_, index) = crate::office::refusal(office.apply(gone_folder).await);
    assert_eq!(index, 1);
    // What an earlier command moved out of the folder is spared.
    office
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
    assert_eq!(office.shown(Kind::Budget, "out").await["spent"], "1.00");
    assert_eq!(office.references(Kind::Expense, &[]).await, ["E-000001"]);
}
