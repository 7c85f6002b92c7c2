//! Money: amounts have the decimals of their currency, and budgets are exact.

use crate::{
    Fixture,
    fixture::{TestWorkspace, change, change_status, delete, delete_status, new, save_status},
    on_both_engines,
};
use groma_domain::Kind;
use groma_store::Command;
use serde_json::{Value, json};

on_both_engines! {
    amount_has_the_decimals_of_its_currency
    amount_must_be_below_ten_to_the_fifteenth
    amount_is_quantity_times_unit_amount_rounded_half_to_even
    currency_defaults_to_the_folder_and_then_to_the_workspace
    budget_sums_its_expenses
    negative_expense_increases_the_remaining_budget
    expense_can_move_between_budgets
    cancelled_expense_does_not_count
    budgets_follow_the_group_of_a_status
    budget_of_zero_has_no_percentage
    percentage_that_rounds_to_zero_has_no_sign
    sum_of_a_thousand_cents_is_exact
    budget_sum_can_exceed_the_limit_of_an_amount
    changed_budget_keeps_its_spent_amount
    concurrent_expenses_are_all_summed
}

/// An expense of 10 in the folder `in`, with these changes.
fn expense(mut values: Value) -> Command {
    for (field, usual) in [("folder", "in"), ("unitAmount", "10"), ("incurredOn", "2026-03-01")] {
        if values.get(field).is_none() {
            values[field] = usual.into();
        }
    }
    new(Kind::Expense, values)
}

/// `spent`, `remaining` and `percentUsed` of a budget.
async fn figures(workspace: &TestWorkspace, budget: &str) -> [Value; 3] {
    let budget = workspace.find(Kind::Budget, budget).await;
    ["spent", "remaining", "percentUsed"].map(|field| budget[field].clone())
}

async fn amount_has_the_decimals_of_its_currency(fixture: Fixture) {
    fixture.seed_folder().await;
    for (currency, given, unit, amount) in [
        ("JPY", "1250", "1250", "1875"),
        ("EUR", "12.5", "12.50", "18.75"),
        ("KWD", "1.25", "1.250", "1.875"),
    ] {
        let values = json!({
            "reference": currency, "currency": currency, "unitAmount": given, "quantity": "1.5",
        });
        fixture.run(expense(values)).await;
        let made = fixture.find(Kind::Expense, currency).await;
        assert_eq!((&made["unitAmount"], &made["amount"]), (&json!(unit), &json!(amount)));
        let budget = json!({
            "reference": currency, "folder": "in", "name": "x", "currency": currency,
            "amount": given,
        });
        assert_eq!(fixture.create(Kind::Budget, budget).await["amount"], unit);
    }
    for (currency, given) in [("JPY", "0.5"), ("EUR", "0.005"), ("KWD", "0.0005")] {
        let values = json!({ "currency": currency, "unitAmount": given });
        assert_eq!(fixture.invalid_fields(expense(values)).await, ["unitAmount"], "{currency}");
        let budget = json!({ "folder": "in", "name": "x", "currency": currency, "amount": given });
        assert_eq!(fixture.invalid_fields(new(Kind::Budget, budget)).await, ["amount"]);
    }
    // A change of currency checks the existing amount too.
    let to_yen = change(Kind::Expense, "EUR", json!({ "currency": "JPY" }));
    assert_eq!(fixture.invalid_fields(to_yen).await, ["unitAmount"]);
}

async fn amount_must_be_below_ten_to_the_fifteenth(fixture: Fixture) {
    fixture.seed_folder().await;
    for most in ["999999999999999.99", "-999999999999999.99"] {
        let made = expense(json!({ "reference": most, "unitAmount": most }));
        fixture.run(made).await;
        assert_eq!(fixture.find(Kind::Expense, most).await["amount"], most);
    }
    for too_much in ["1000000000000000", "-1000000000000000", "1e15"] {
        let wrong = fixture.invalid_fields(expense(json!({ "unitAmount": too_much }))).await;
        assert_eq!(wrong, ["unitAmount"], "{too_much}");
    }
    let product = json!({ "unitAmount": "500000000000000", "quantity": 2 });
    assert_eq!(fixture.invalid_fields(expense(product)).await, ["amount"]);
    let budget = json!({ "folder": "in", "name": "x", "amount": "1000000000000000" });
    assert_eq!(fixture.invalid_fields(new(Kind::Budget, budget)).await, ["amount"]);
    let budget = json!({ "folder": "in", "name": "x", "amount": "-0.01" });
    assert_eq!(fixture.invalid_fields(new(Kind::Budget, budget)).await, ["amount"]);
}

async fn amount_is_quantity_times_unit_amount_rounded_half_to_even(fixture: Fixture) {
    fixture.seed_folder().await;
    for (quantity, unit, amount) in [
        ("0.5", "0.01", "0.00"),
        ("1.5", "0.01", "0.02"),
        ("2.5", "0.01", "0.02"),
        ("-1.5", "0.01", "-0.02"),
        ("0.333333", "3", "1.00"),
        ("3", "-19.99", "-59.97"),
        ("0.4", "-0.01", "0.00"),
    ] {
        let reference = format!("{quantity} × {unit}");
        let values = json!({ "reference": reference, "quantity": quantity, "unitAmount": unit });
        fixture.run(expense(values)).await;
        assert_eq!(fixture.find(Kind::Expense, &reference).await["amount"], amount, "{reference}");
    }
}

async fn currency_defaults_to_the_folder_and_then_to_the_workspace(fixture: Fixture) {
    assert_eq!(fixture.create(Kind::Folder, json!({ "name": "x" })).await["currency"], "EUR");
    let folder = json!({ "reference": "in", "name": "x", "currency": "CHF" });
    fixture.create(Kind::Folder, folder).await;
    fixture.run(expense(json!({}))).await;
    assert_eq!(fixture.find(Kind::Expense, "E-000001").await["currency"], "CHF");
    let budget = json!({ "folder": "in", "name": "x", "amount": 1 });
    assert_eq!(fixture.create(Kind::Budget, budget).await["currency"], "CHF");
    // A changed currency of the folder applies to new records.
    fixture.update(Kind::Folder, "in", json!({ "currency": null })).await;
    assert_eq!(fixture.find(Kind::Folder, "in").await["currency"], "EUR");
    assert_eq!(fixture.find(Kind::Expense, "E-000001").await["currency"], "CHF");
    assert_eq!(fixture.find(Kind::Budget, "B-000001").await["currency"], "CHF");
}

async fn budget_sums_its_expenses(fixture: Fixture) {
    fixture.seed_folder().await;
    assert_eq!(figures(&fixture, "in").await, ["0.00", "1000.00", "0.00"]);
    fixture.run(expense(json!({ "budget": "in", "unitAmount": "333.33" }))).await;
    assert_eq!(figures(&fixture, "in").await, ["333.33", "666.67", "33.33"]);
    fixture.run(expense(json!({ "unitAmount": 500 }))).await;
    assert_eq!(
        figures(&fixture, "in").await,
        ["333.33", "666.67", "33.33"],
        "the expense has no budget"
    );
    fixture.update(Kind::Expense, "E-000001", json!({ "quantity": 4 })).await;
    assert_eq!(figures(&fixture, "in").await, ["1333.32", "-333.32", "133.33"]);
    fixture.delete(Kind::Expense, "E-000001").await;
    assert_eq!(figures(&fixture, "in").await, ["0.00", "1000.00", "0.00"]);
    fixture.update(Kind::Expense, "E-000002", json!({ "budget": "in" })).await;
    assert_eq!(figures(&fixture, "in").await, ["500.00", "500.00", "50.00"]);
    fixture.update(Kind::Expense, "E-000002", json!({ "budget": null })).await;
    assert_eq!(figures(&fixture, "in").await, ["0.00", "1000.00", "0.00"]);
}

async fn negative_expense_increases_the_remaining_budget(fixture: Fixture) {
    fixture.seed_folder().await;
    fixture.run(expense(json!({ "budget": "in", "unitAmount": 100 }))).await;
    fixture.run(expense(json!({ "budget": "in", "unitAmount": "-100.01" }))).await;
    assert_eq!(figures(&fixture, "in").await, ["-0.01", "1000.01", "0.00"]);
    fixture.run(expense(json!({ "budget": "in", "unitAmount": "-99.99" }))).await;
    assert_eq!(figures(&fixture, "in").await, ["-100.00", "1100.00", "-10.00"]);
    fixture.run(expense(json!({ "budget": "in", "unitAmount": "100" }))).await;
    assert_eq!(figures(&fixture, "in").await, ["0.00", "1000.00", "0.00"], "zero has no sign");
}

async fn expense_can_move_between_budgets(fixture: Fixture) {
    fixture.seed_folder().await;
    let second = json!({ "reference": "second", "folder": "in", "name": "x", "amount": 200 });
    fixture.create(Kind::Budget, second).await;
    fixture.run(expense(json!({ "budget": "in", "unitAmount": 50 }))).await;
    let position = fixture.audit_position().await;
    let moved = json!({ "budget": "second", "unitAmount": 60 });
    fixture.update(Kind::Expense, "E-000001", moved).await;
    assert_eq!(figures(&fixture, "in").await, ["0.00", "1000.00", "0.00"]);
    assert_eq!(figures(&fixture, "second").await, ["60.00", "140.00", "30.00"]);
    let mut events = fixture.events(position).await;
    events.sort();
    assert_eq!(events, ["budget.updated in", "budget.updated second", "expense.updated E-000001"]);
}

async fn cancelled_expense_does_not_count(fixture: Fixture) {
    fixture.seed_folder().await;
    fixture.run(expense(json!({ "reference": "a", "budget": "in" }))).await;
    fixture.run(expense(json!({ "reference": "b", "budget": "in", "status": "Rejected" }))).await;
    assert_eq!(figures(&fixture, "in").await[0], "10.00");
    let position = fixture.audit_position().await;
    fixture.update(Kind::Expense, "a", json!({ "status": "Rejected" })).await;
    assert_eq!(figures(&fixture, "in").await[0], "0.00");
    fixture.update(Kind::Expense, "b", json!({ "status": "Submitted", "unitAmount": "4" })).await;
    assert_eq!(figures(&fixture, "in").await[0], "4.00");
    let events = fixture.events(position).await;
    let expected =
        ["expense.updated a", "budget.updated in", "expense.updated b", "budget.updated in"];
    assert_eq!(events, expected);
    fixture.run(delete(Kind::Expense, "a")).await;
    assert_eq!(figures(&fixture, "in").await[0], "4.00");
}

async fn budgets_follow_the_group_of_a_status(fixture: Fixture) {
    fixture.seed_folder().await;
    let status = json!({ "name": "On hold", "appliesTo": "expense", "group": "todo" });
    fixture.run(save_status(status)).await;
    fixture.run(expense(json!({ "budget": "in", "status": "On hold" }))).await;
    fixture.run(expense(json!({ "budget": "in" }))).await;
    let position = fixture.audit_position().await;
    let status = fixture.status(Kind::Expense, "On hold").await;
    fixture.run(change_status(&status, json!({ "group": "cancelled" }))).await;
    assert_eq!(figures(&fixture, "in").await[0], "10.00");
    assert_eq!(fixture.events(position).await, ["budget.updated in"]);
    fixture.run(change_status(&status, json!({ "group": "done" }))).await;
    assert_eq!(figures(&fixture, "in").await[0], "20.00");
    // Its expenses get a status that is cancelled.
    fixture.run(delete_status(Kind::Expense, "On hold", Some("Rejected"))).await;
    assert_eq!(figures(&fixture, "in").await[0], "10.00");
}

async fn budget_of_zero_has_no_percentage(fixture: Fixture) {
    fixture.seed_folder().await;
    let nothing = json!({ "reference": "zero", "folder": "in", "name": "x", "amount": 0 });
    fixture.create(Kind::Budget, nothing).await;
    assert_eq!(figures(&fixture, "zero").await, [json!("0.00"), json!("0.00"), Value::Null]);
    fixture.run(expense(json!({ "budget": "zero", "unitAmount": 5 }))).await;
    assert_eq!(figures(&fixture, "zero").await, [json!("5.00"), json!("-5.00"), Value::Null]);
    fixture.update(Kind::Budget, "zero", json!({ "amount": 20 })).await;
    assert_eq!(figures(&fixture, "zero").await, ["5.00", "15.00", "25.00"]);
    fixture.update(Kind::Budget, "zero", json!({ "amount": 0 })).await;
    assert_eq!(figures(&fixture, "zero").await[2], Value::Null);
}

async fn percentage_that_rounds_to_zero_has_no_sign(fixture: Fixture) {
    fixture.seed_folder().await;
    fixture.update(Kind::Budget, "in", json!({ "amount": 1_000_000 })).await;
    fixture.run(expense(json!({ "budget": "in", "unitAmount": "-0.01" }))).await;
    assert_eq!(figures(&fixture, "in").await, ["-0.01", "1000000.01", "0.00"]);
}

async fn sum_of_a_thousand_cents_is_exact(fixture: Fixture) {
    fixture.seed_folder().await;
    fixture.update(Kind::Budget, "in", json!({ "amount": "30" })).await;
    let cent = |_| expense(json!({ "budget": "in", "unitAmount": "0.01" }));
    fixture.apply((0..1_000).map(cent).collect()).await.unwrap();
    assert_eq!(figures(&fixture, "in").await, ["10.00", "20.00", "33.33"]);
    let (first, _) = fixture.list(Kind::Expense, &[("limit", "100")]).await;
    let deletes = first.iter().map(|e| delete(Kind::Expense, e["id"].as_str().unwrap()));
    fixture.apply(deletes.collect()).await.unwrap();
    assert_eq!(figures(&fixture, "in").await, ["9.00", "21.00", "30.00"]);
}

async fn budget_sum_can_exceed_the_limit_of_an_amount(fixture: Fixture) {
    fixture.seed_folder().await;
    fixture.update(Kind::Budget, "in", json!({ "amount": "0.01" })).await;
    let most = || expense(json!({ "budget": "in", "unitAmount": "999999999999999.99" }));
    fixture.apply((0..100).map(|_| most()).collect()).await.unwrap();
    assert_eq!(
        figures(&fixture, "in").await,
        ["99999999999999999.00", "-99999999999999998.99", "999999999999999990000.00"]
    );
}

async fn changed_budget_keeps_its_spent_amount(fixture: Fixture) {
    fixture.seed_folder().await;
    fixture.run(expense(json!({ "budget": "in", "unitAmount": 250 }))).await;
    fixture.update(Kind::Budget, "in", json!({ "amount": 500, "name": "Less" })).await;
    assert_eq!(figures(&fixture, "in").await, ["250.00", "250.00", "50.00"]);
    // Within one change the sums are final values, in any order.
    fixture
        .apply(vec![
            expense(json!({ "budget": "in", "unitAmount": 50 })),
            change(Kind::Budget, "in", json!({ "amount": 1_000 })),
            change(Kind::Expense, "E-000001", json!({ "unitAmount": 150 })),
        ])
        .await
        .unwrap();
    assert_eq!(figures(&fixture, "in").await, ["200.00", "800.00", "20.00"]);
    // Read-only fields are ignored.
    fixture.update(Kind::Budget, "in", json!({ "spent": "7", "name": "More" })).await;
    assert_eq!(figures(&fixture, "in").await, ["200.00", "800.00", "20.00"]);
}

async fn concurrent_expenses_are_all_summed(fixture: Fixture) {
    fixture.seed_folder().await;
    let tasks = (0..40).map(|number| {
        let workspace = (*fixture).clone();
        tokio::spawn(async move {
            workspace.run(expense(json!({ "budget": "in", "unitAmount": number }))).await
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    assert_eq!(figures(&fixture, "in").await, ["780.00", "220.00", "78.00"]);
    assert_eq!(
        fixture.find(Kind::Budget, "in").await["version"],
        40,
        "an expense of 0 does not change the budget"
    );
}
