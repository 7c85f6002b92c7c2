//! Money is exact: amounts in their currency's decimals, budgets to the last unit.

use crate::{
    Office,
    office::{Desk, change, delete, new},
    on_both_engines,
};
use groma_domain::Kind;
use groma_store::Command;
use serde_json::{Value, json};

on_both_engines! {
    amounts_have_the_decimals_of_their_currency
    money_stays_under_ten_to_the_fifteenth
    an_amount_is_quantity_times_unit_rounded_half_to_even
    currency_comes_from_the_folder_and_the_folders_from_the_workspace
    a_budget_counts_the_expenses_that_name_it
    a_refund_gives_back_to_its_budget
    an_expense_moves_between_budgets
    a_budget_of_nothing_has_no_percentage
    a_percentage_that_rounds_to_nothing_has_no_sign
    a_budget_adds_a_thousand_cents_exactly
    a_budget_sums_far_beyond_a_single_amount
    a_budget_keeps_what_was_spent_when_it_changes
    concurrent_expenses_all_count
}

/// An expense of 10 in the folder `in`, but for what is given.
fn expense(mut values: Value) -> Command {
    for (field, usual) in [("folder", "in"), ("unitAmount", "10"), ("incurredOn", "2026-03-01")] {
        if values.get(field).is_none() {
            values[field] = usual.into();
        }
    }
    new(Kind::Expense, values)
}

/// `spent`, `remaining` and `percentUsed` of a budget.
async fn figures(desk: &Desk, budget: &str) -> [Value; 3] {
    let budget = desk.shown(Kind::Budget, budget).await;
    ["spent", "remaining", "percentUsed"].map(|field| budget[field].clone())
}

async fn amounts_have_the_decimals_of_their_currency(office: Office) {
    office.furnish().await;
    for (currency, given, unit, amount) in [
        ("JPY", "1250", "1250", "1875"),
        ("EUR", "12.5", "12.50", "18.75"),
        ("KWD", "1.25", "1.250", "1.875"),
    ] {
        let values = json!({
            "reference": currency, "currency": currency, "unitAmount": given, "quantity": "1.5",
        });
        office.done(expense(values)).await;
        let made = office.shown(Kind::Expense, currency).await;
        assert_eq!((&made["unitAmount"], &made["amount"]), (&json!(unit), &json!(amount)));
        let budget = json!({
            "reference": currency, "folder": "in", "name": "x", "currency": currency,
            "amount": given,
        });
        assert_eq!(office.create(Kind::Budget, budget).await["amount"], unit);
    }
    for (currency, given) in [("JPY", "0.5"), ("EUR", "0.005"), ("KWD", "0.0005")] {
        let values = json!({ "currency": currency, "unitAmount": given });
        assert_eq!(office.wrong_fields(expense(values)).await, ["unitAmount"], "{currency}");
        let budget = json!({ "folder": "in", "name": "x", "currency": currency, "amount": given });
        assert_eq!(office.wrong_fields(new(Kind::Budget, budget)).await, ["amount"]);
    }
    // A change of currency asks the same of what stays.
    let to_yen = change(Kind::Expense, "EUR", json!({ "currency": "JPY" }));
    assert_eq!(office.wrong_fields(to_yen).await, ["unitAmount"]);
}

async fn money_stays_under_ten_to_the_fifteenth(office: Office) {
    office.furnish().await;
    for most in ["999999999999999.99", "-999999999999999.99"] {
        let made = expense(json!({ "reference": most, "unitAmount": most }));
        office.done(made).await;
        assert_eq!(office.shown(Kind::Expense, most).await["amount"], most);
    }
    for too_much in ["1000000000000000", "-1000000000000000", "1e15"] {
        let wrong = office.wrong_fields(expense(json!({ "unitAmount": too_much }))).await;
        assert_eq!(wrong, ["unitAmount"], "{too_much}");
    }
    let product = json!({ "unitAmount": "500000000000000", "quantity": 2 });
    assert_eq!(office.wrong_fields(expense(product)).await, ["amount"]);
    let budget = json!({ "folder": "in", "name": "x", "amount": "1000000000000000" });
    assert_eq!(office.wrong_fields(new(Kind::Budget, budget)).await, ["amount"]);
    let budget = json!({ "folder": "in", "name": "x", "amount": "-0.01" });
    assert_eq!(office.wrong_fields(new(Kind::Budget, budget)).await, ["amount"]);
}

async fn an_amount_is_quantity_times_unit_rounded_half_to_even(office: Office) {
    office.furnish().await;
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
        office.done(expense(values)).await;
        assert_eq!(office.shown(Kind::Expense, &reference).await["amount"], amount, "{reference}");
    }
}

async fn currency_comes_from_the_folder_and_the_folders_from_the_workspace(office: Office) {
    assert_eq!(office.create(Kind::Folder, json!({ "name": "x" })).await["currency"], "EUR");
    let folder = json!({ "reference": "in", "name": "x", "currency": "CHF" });
    office.create(Kind::Folder, folder).await;
    office.done(expense(json!({}))).await;
    assert_eq!(office.shown(Kind::Expense, "E-000001").await["currency"], "CHF");
    let budget = json!({ "folder": "in", "name": "x", "amount": 1 });
    assert_eq!(office.create(Kind::Budget, budget).await["currency"], "CHF");
    // The folder's next currency is for what comes next.
    office.update(Kind::Folder, "in", json!({ "currency": null })).await;
    assert_eq!(office.shown(Kind::Folder, "in").await["currency"], "EUR");
    assert_eq!(office.shown(Kind::Expense, "E-000001").await["currency"], "CHF");
    assert_eq!(office.shown(Kind::Budget, "B-000001").await["currency"], "CHF");
}

async fn a_budget_counts_the_expenses_that_name_it(office: Office) {
    office.furnish().await;
    assert_eq!(figures(&office, "in").await, ["0.00", "1000.00", "0.00"]);
    office.done(expense(json!({ "budget": "in", "unitAmount": "333.33" }))).await;
    assert_eq!(figures(&office, "in").await, ["333.33", "666.67", "33.33"]);
    office.done(expense(json!({ "unitAmount": 500 }))).await;
    assert_eq!(figures(&office, "in").await, ["333.33", "666.67", "33.33"], "it names none");
    office.update(Kind::Expense, "E-000001", json!({ "quantity": 4 })).await;
    assert_eq!(figures(&office, "in").await, ["1333.32", "-333.32", "133.33"]);
    office.delete(Kind::Expense, "E-000001").await;
    assert_eq!(figures(&office, "in").await, ["0.00", "1000.00", "0.00"]);
    office.update(Kind::Expense, "E-000002", json!({ "budget": "in" })).await;
    assert_eq!(figures(&office, "in").await, ["500.00", "500.00", "50.00"]);
    office.update(Kind::Expense, "E-000002", json!({ "budget": null })).await;
    assert_eq!(figures(&office, "in").await, ["0.00", "1000.00", "0.00"]);
}

async fn a_refund_gives_back_to_its_budget(office: Office) {
    office.furnish().await;
    office.done(expense(json!({ "budget": "in", "unitAmount": 100 }))).await;
    office.done(expense(json!({ "budget": "in", "unitAmount": "-100.01" }))).await;
    assert_eq!(figures(&office, "in").await, ["-0.01", "1000.01", "0.00"]);
    office.done(expense(json!({ "budget": "in", "unitAmount": "-99.99" }))).await;
    assert_eq!(figures(&office, "in").await, ["-100.00", "1100.00", "-10.00"]);
    office.done(expense(json!({ "budget": "in", "unitAmount": "100" }))).await;
    assert_eq!(figures(&office, "in").await, ["0.00", "1000.00", "0.00"], "nothing has no sign");
}

async fn an_expense_moves_between_budgets(office: Office) {
    office.furnish().await;
    let second = json!({ "reference": "second", "folder": "in", "name": "x", "amount": 200 });
    office.create(Kind::Budget, second).await;
    office.done(expense(json!({ "budget": "in", "unitAmount": 50 }))).await;
    let mark = office.mark().await;
    let moved = json!({ "budget": "second", "unitAmount": 60 });
    office.update(Kind::Expense, "E-000001", moved).await;
    assert_eq!(figures(&office, "in").await, ["0.00", "1000.00", "0.00"]);
    assert_eq!(figures(&office, "second").await, ["60.00", "140.00", "30.00"]);
    let mut events = office.events(mark).await;
    events.sort();
    assert_eq!(events, ["budget.updated in", "budget.updated second", "expense.updated E-000001"]);
}

async fn a_budget_of_nothing_has_no_percentage(office: Office) {
    office.furnish().await;
    let nothing = json!({ "reference": "zero", "folder": "in", "name": "x", "amount": 0 });
    office.create(Kind::Budget, nothing).await;
    assert_eq!(figures(&office, "zero").await, [json!("0.00"), json!("0.00"), Value::Null]);
    office.done(expense(json!({ "budget": "zero", "unitAmount": 5 }))).await;
    assert_eq!(figures(&office, "zero").await, [json!("5.00"), json!("-5.00"), Value::Null]);
    office.update(Kind::Budget, "zero", json!({ "amount": 20 })).await;
    assert_eq!(figures(&office, "zero").await, ["5.00", "15.00", "25.00"]);
    office.update(Kind::Budget, "zero", json!({ "amount": 0 })).await;
    assert_eq!(figures(&office, "zero").await[2], Value::Null);
}

async fn a_percentage_that_rounds_to_nothing_has_no_sign(office: Office) {
    office.furnish().await;
    office.update(Kind::Budget, "in", json!({ "amount": 1_000_000 })).await;
    office.done(expense(json!({ "budget": "in", "unitAmount": "-0.01" }))).await;
    assert_eq!(figures(&office, "in").await, ["-0.01", "1000000.01", "0.00"]);
}

async fn a_budget_adds_a_thousand_cents_exactly(office: Office) {
    office.furnish().await;
    office.update(Kind::Budget, "in", json!({ "amount": "30" })).await;
    let cent = |_| expense(json!({ "budget": "in", "unitAmount": "0.01" }));
    office.apply((0..1_000).map(cent).collect()).await.unwrap();
    assert_eq!(figures(&office, "in").await, ["10.00", "20.00", "33.33"]);
    let (first, _) = office.list(Kind::Expense, &[("limit", "100")]).await;
    let deletes = first.iter().map(|e| delete(Kind::Expense, e["id"].as_str().unwrap()));
    office.apply(deletes.collect()).await.unwrap();
    assert_eq!(figures(&office, "in").await, ["9.00", "21.00", "30.00"]);
}

async fn a_budget_sums_far_beyond_a_single_amount(office: Office) {
    office.furnish().await;
    office.update(Kind::Budget, "in", json!({ "amount": "0.01" })).await;
    let most = || expense(json!({ "budget": "in", "unitAmount": "999999999999999.99" }));
    office.apply((0..100).map(|_| most()).collect()).await.unwrap();
    assert_eq!(
        figures(&office, "in").await,
        ["99999999999999999.00", "-99999999999999998.99", "999999999999999990000.00"]
    );
}

async fn a_budget_keeps_what_was_spent_when_it_changes(office: Office) {
    office.furnish().await;
    office.done(expense(json!({ "budget": "in", "unitAmount": 250 }))).await;
    office.update(Kind::Budget, "in", json!({ "amount": 500, "name": "Less" })).await;
    assert_eq!(figures(&office, "in").await, ["250.00", "250.00", "50.00"]);
    // In one change, in either order, the sums are those of the end.
    office
        .apply(vec![
            expense(json!({ "budget": "in", "unitAmount": 50 })),
            change(Kind::Budget, "in", json!({ "amount": 1_000 })),
            change(Kind::Expense, "E-000001", json!({ "unitAmount": 150 })),
        ])
        .await
        .unwrap();
    assert_eq!(figures(&office, "in").await, ["200.00", "800.00", "20.00"]);
    // Read-only fields are passed over.
    office.update(Kind::Budget, "in", json!({ "spent": "7", "name": "More" })).await;
    assert_eq!(figures(&office, "in").await, ["200.00", "800.00", "20.00"]);
}

async fn concurrent_expenses_all_count(office: Office) {
    office.furnish().await;
    let tasks = (0..40).map(|number| {
        let desk = (*office).clone();
        tokio::spawn(async move {
            desk.done(expense(json!({ "budget": "in", "unitAmount": number }))).await
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    assert_eq!(figures(&office, "in").await, ["780.00", "220.00", "78.00"]);
    assert_eq!(office.shown(Kind::Budget, "in").await["version"], 40, "the one of 0 is no change");
}
