//! The representation of each resource: every field of contract § 5 with its type and format.

use crate::{
    on_both_engines, sample_records, sample_records::ASSIGNMENT, sample_records::BUDGET,
    sample_records::EXPENSE, sample_records::FOLDER, sample_records::KINDS,
    sample_records::Placeholders, sample_records::is_time, sample_records::is_uuid_v7,
    sample_records::text,
};
use groma_testkit::{Engine, TestServer, server::NO_RATE_LIMIT};
use serde_json::{Value, json};

/// A server with the sample records, and placeholders for the ids of its statuses: `<id 1>` is the
/// folder status Quoted, `<id 18>` the budget status Closed.
fn start_with_samples(engine: groma_testkit::Engine) -> (TestServer, String, Placeholders) {
    let server = TestServer::start_with(engine, &[NO_RATE_LIMIT]);
    sample_records::fill(&server);
    let token = server.create_full_token();
    let mut names = Placeholders::default();
    names.json(&server.get("/statuses", &token));
    (server, token, names)
}

on_both_engines! {
    folder_has_all_fields
    assignment_has_all_fields
    expense_has_all_fields
    budget_has_all_fields_and_sums_its_expenses
    new_workspace_has_statuses_of_each_kind_with_one_default
    ids_are_version_7_uuids_and_times_have_milliseconds
    list_and_detail_show_the_same_record
    list_is_exactly_the_envelope
    money_has_the_decimals_of_its_currency_and_is_a_string
    budget_follows_every_change_of_its_expenses
    completed_at_is_set_on_entering_done_and_cleared_on_leaving
    every_change_increments_the_version_and_keeps_created_at
    renamed_person_is_shown_immediately_and_changes_no_record
}

fn folder_has_all_fields(engine: Engine) {
    let (server, token, mut names) = start_with_samples(engine);
    let full = names.json(&server.get(&format!("/folders/{FOLDER}"), &token));
    assert_eq!(
        full,
        json!({
            "id": "<id 19>",
            "reference": "CHENE-1",
            "workspaceKey": "<id 20>",
            "externalId": "erp-77",
            "name": "Chêne, boundary survey",
            "description": "North of the river.\nTwo parcels.",
            "clientName": "Mairie de Chêne",
            "statusId": "<id 2>",
            "owner": { "id": "<id 21>", "name": "Survey lead", "email": "survey.lead@example.test" },
            "startDate": "2026-01-02",
            "dueDate": "2026-03-04",
            "currency": "EUR",
            "tags": ["cadastre", "north"],
            "bbox": null,
            "archivedAt": null,
            "customFields": { "parcel": "AB 12", "area": 12.5, "fenced": true, "note": null },
            "createdAt": "<time>",
            "updatedAt": "<time>",
            "version": 1,
        })
    );
    let bare = names.json(&server.get("/folders/F-000001", &token));
    assert_eq!(
        bare,
        json!({
            "id": "<id 22>",
            "reference": "F-000001",
            "workspaceKey": "<id 20>",
            "externalId": null,
            "name": "Bare",
            "description": null,
            "clientName": null,
            "statusId": "<id 1>",
            "owner": null,
            "startDate": null,
            "dueDate": null,
            "currency": "EUR",
            "tags": [],
            "bbox": null,
            "archivedAt": null,
            "customFields": {},
            "createdAt": "<time>",
            "updatedAt": "<time>",
            "version": 1,
        })
    );
}

fn assignment_has_all_fields(engine: Engine) {
    let (server, token, mut names) = start_with_samples(engine);
    names.json(&server.get(&format!("/folders/{FOLDER}"), &token));
    let full = names.json(&server.get(&format!("/assignments/{ASSIGNMENT}"), &token));
    assert_eq!(
        full,
        json!({
            "id": "<id 22>",
            "reference": "STAKE-1",
            "workspaceKey": "<id 20>",
            "externalId": "task-9",
            "folderId": "<id 19>",
            "title": "Stake out north line",
            "description": "With the total station",
            "statusId": "<id 10>",
            "priority": "urgent",
            "assignees": [
                { "id": "<id 23>", "name": "Field crew", "email": "field.crew@example.test" },
                { "id": "<id 21>", "name": "Survey lead", "email": "survey.lead@example.test" },
            ],
            "startDate": "2026-01-05",
            "dueDate": "2026-01-06",
            "estimatedHours": "7.5",
            "spentHours": "8",
            "completedAt": "<time>",
            "customFields": { "crew": 2 },
            "createdAt": "<time>",
            "updatedAt": "<time>",
            "version": 1,
        })
    );
    let bare = names.json(&server.get("/assignments/A-000001", &token));
    assert_eq!(
        bare,
        json!({
            "id": "<id 24>",
            "reference": "A-000001",
            "workspaceKey": "<id 20>",
            "externalId": null,
            "folderId": "<id 25>",
            "title": "Bare",
            "description": null,
            "statusId": "<id 7>",
            "priority": "normal",
            "assignees": [],
            "startDate": null,
            "dueDate": null,
            "estimatedHours": null,
            "spentHours": null,
            "completedAt": null,
            "customFields": {},
            "createdAt": "<time>",
            "updatedAt": "<time>",
            "version": 1,
        })
    );
}

fn expense_has_all_fields(engine: Engine) {
    let (server, token, mut names) = start_with_samples(engine);
    names.json(&server.get(&format!("/assignments/{ASSIGNMENT}"), &token));
    let full = names.json(&server.get(&format!("/expenses/{EXPENSE}"), &token));
    assert_eq!(
        full,
        json!({
            "id": "<id 24>",
            "reference": "FUEL-1",
            "workspaceKey": "<id 20>",
            "externalId": "receipt-3",
            "folderId": "<id 21>",
            "assignmentId": "<id 19>",
            "budgetId": "<id 25>",
            "statusId": "<id 14>",
            "category": "Fuel",
            "description": "Diesel for the van",
            "vendor": "Station Léman",
            "quantity": "42.5",
            "unitAmount": "1.79",
            "amount": "76.08",
            "currency": "EUR",
            "incurredOn": "2026-01-05",
            "submittedBy": { "id": "<id 22>", "name": "Field crew", "email": "field.crew@example.test" },
            "billable": true,
            "customFields": { "receipt": "R-3" },
            "createdAt": "<time>",
            "updatedAt": "<time>",
            "version": 1,
        })
    );
    let bare = names.json(&server.get("/expenses/E-000001", &token));
    assert_eq!(
        bare,
        json!({
            "id": "<id 26>",
            "reference": "E-000001",
            "workspaceKey": "<id 20>",
            "externalId": null,
            "folderId": "<id 27>",
            "assignmentId": null,
            "budgetId": null,
            "statusId": "<id 12>",
            "category": null,
            "description": null,
            "vendor": null,
            "quantity": "1",
            "unitAmount": "-5.00",
            "amount": "-5.00",
            "currency": "EUR",
            "incurredOn": "2026-02-01",
            "submittedBy": null,
            "billable": false,
            "customFields": {},
            "createdAt": "<time>",
            "updatedAt": "<time>",
            "version": 1,
        })
    );
}

fn budget_has_all_fields_and_sums_its_expenses(engine: Engine) {
    let (server, token, mut names) = start_with_samples(engine);
    let full = names.json(&server.get(&format!("/budgets/{BUDGET}"), &token));
    assert_eq!(
        full,
        json!({
            "id": "<id 19>",
            "reference": "FIELD-2026",
            "workspaceKey": "<id 20>",
            "externalId": "b-1",
            "folderId": "<id 21>",
            "name": "Field work 2026",
            "description": "Travel and fuel",
            "statusId": "<id 17>",
            "category": "Travel",
            "amount": "1250.00",
            "currency": "EUR",
            "startDate": "2026-01-01",
            "endDate": "2026-12-31",
            "spent": "76.08",
            "remaining": "1173.92",
            "percentUsed": "6.09",
            "customFields": { "cc": "4711" },
            "createdAt": "<time>",
            "updatedAt": "<time>",
            "version": 2,
        })
    );
    let bare = names.json(&server.get("/budgets/B-000001", &token));
    assert_eq!(
        bare,
        json!({
            "id": "<id 22>",
            "reference": "B-000001",
            "workspaceKey": "<id 20>",
            "externalId": null,
            "folderId": "<id 23>",
            "name": "Bare",
            "description": null,
            "statusId": "<id 16>",
            "category": null,
            "amount": "0.00",
            "currency": "EUR",
            "startDate": null,
            "endDate": null,
            "spent": "0.00",
            "remaining": "0.00",
            "percentUsed": null,
            "customFields": {},
            "createdAt": "<time>",
            "updatedAt": "<time>",
            "version": 1,
        })
    );
}

fn new_workspace_has_statuses_of_each_kind_with_one_default(engine: Engine) {
    let server = TestServer::start(engine);
    let statuses = server.get("/statuses", &server.create_token(&[])).ok();
    let content = statuses["content"].as_array().unwrap();
    for status in content {
        let fields: Vec<_> = status.as_object().unwrap().keys().map(String::as_str).collect();
        let expected = [
            "id",
            "name",
            "appliesTo",
            "group",
            "color",
            "position",
            "isDefault",
            "createdAt",
            "updatedAt",
        ];
        assert_eq!(fields, expected);
        assert!(
            is_uuid_v7(&status["id"])
                && is_time(&status["createdAt"])
                && is_time(&status["updatedAt"])
        );
        assert!(["todo", "inProgress", "done", "cancelled"].contains(&text(&status["group"])));
        let color = text(&status["color"]);
        let hex = color.strip_prefix('#').unwrap();
        assert!(hex.len() == 6 && hex.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')));
        assert!(status["position"].is_u64() && status["isDefault"].is_boolean());
    }
    for kind in ["folder", "assignment", "expense", "budget"] {
        let of_kind: Vec<_> = content.iter().filter(|s| s["appliesTo"] == kind).collect();
        assert!(of_kind.len() >= 3, "{kind}");
        assert_eq!(of_kind.iter().filter(|s| s["isDefault"] == true).count(), 1, "{kind}");
    }
    assert_eq!(statuses["total"], content.len());
}

fn ids_are_version_7_uuids_and_times_have_milliseconds(engine: Engine) {
    let (server, token, _) = start_with_samples(engine);
    for (path, _, _) in KINDS {
        for record in server.get(path, &token).content() {
            assert!(is_uuid_v7(&record["id"]) && is_uuid_v7(&record["workspaceKey"]), "{record}");
            assert!(is_time(&record["createdAt"]) && is_time(&record["updatedAt"]), "{record}");
            for (name, value) in record.as_object().unwrap() {
                if name.ends_with("Id") && name != "externalId" && !value.is_null() {
                    assert!(is_uuid_v7(value), "{name}: {value}");
                }
            }
        }
    }
}

fn list_and_detail_show_the_same_record(engine: Engine) {
    let (server, token, _) = start_with_samples(engine);
    for (path, _, _) in KINDS {
        let list = server.get(path, &token);
        for record in list.content() {
            let detail = server.get(&format!("{path}/{}", text(&record["id"])), &token);
            assert_eq!(detail.ok(), record);
            assert!(
                list.text().contains(&detail.text()),
                "the list does not contain the detail's bytes"
            );
        }
    }
}

fn list_is_exactly_the_envelope(engine: Engine) {
    let (server, token, _) = start_with_samples(engine);
    for path in ["/folders", "/assignments", "/expenses", "/budgets", "/statuses"] {
        let envelope = server.get(path, &token).ok();
        let fields: Vec<_> = envelope.as_object().unwrap().keys().collect();
        assert_eq!(fields, ["content", "total", "page", "size", "pages"], "{path}");
        let total = if path == "/statuses" { 18 } else { 2 };
        let numbers = ["total", "page", "size", "pages"].map(|name| envelope[name].as_u64());
        assert_eq!(numbers, [total, 1, 50, 1].map(Some), "{path}");
        assert_eq!(envelope["content"].as_array().unwrap().len() as u64, total);
    }
}

fn money_has_the_decimals_of_its_currency_and_is_a_string(engine: Engine) {
    let server = TestServer::start(engine);
    let token = server.create_full_token();
    server.import(
        "folders",
        &[
            json!({ "reference": "EURO", "name": "e" }),
            json!({ "reference": "YEN", "name": "y", "currency": "JPY" }),
            json!({ "reference": "DINAR", "name": "k", "currency": "KWD" }),
        ],
    );
    let expense = |folder: &str, quantity: &str, unit: &str| json!({ "folder": folder, "quantity": quantity, "unitAmount": unit, "incurredOn": "2026-01-01" });
    server.import(
        "expenses",
        &[
            expense("EURO", "0.5", "0.01"),
            expense("EURO", "1.5", "0.01"),
            expense("EURO", "2.5", "0.01"),
            expense("EURO", "-3", "19.99"),
            expense("EURO", "1", "999999999999999.99"),
            expense("YEN", "2.5", "1"),
            expense("YEN", "3", "100"),
            expense("DINAR", "2", "7.125"),
        ],
    );
    let page = server.get("/expenses", &token);
    assert_eq!(
        page.column("amount"),
        ["0.00", "0.02", "0.02", "-59.97", "999999999999999.99", "2", "300", "14.250",]
    );
    assert_eq!(page.column("currency"), ["EUR", "EUR", "EUR", "EUR", "EUR", "JPY", "JPY", "KWD",]);
    let rejected = server.try_import(
        "expenses",
        &[
            expense("YEN", "1", "1.5"),
            expense("EURO", "1", "0.001"),
            expense("EURO", "1", "1000000000000000"),
            expense("EURO", "1000", "999999999999999.99"),
        ],
    );
    let lines: Vec<_> = rejected.rejected_rows().into_iter().map(|(line, _)| line).collect();
    assert_eq!(lines, [1, 2, 3, 4]);
}

fn budget_follows_every_change_of_its_expenses(engine: Engine) {
    let (server, token, _) = start_with_samples(engine);
    let standing = || {
        let budget = server.get(&format!("/budgets/{BUDGET}"), &token).ok();
        ["spent", "remaining", "percentUsed"].map(|name| text(&budget[name]).to_owned())
    };
    assert_eq!(standing(), ["76.08", "1173.92", "6.09"]);
    let more = json!({
        "reference": "R-1", "folder": FOLDER, "budget": BUDGET, "unitAmount": "-76.08",
        "incurredOn": "2026-01-09",
    });
    server.import("expenses", &[more]);
    assert_eq!(standing(), ["0.00", "1250.00", "0.00"]);
    server.import("expenses", &[json!({ "reference": "R-1", "unitAmount": "2000" })]);
    assert_eq!(standing(), ["2076.08", "-826.08", "166.09"]);
    server.import("expenses", &[json!({ "reference": "R-1", "budget": null })]);
    assert_eq!(standing(), ["76.08", "1173.92", "6.09"]);
    server.run(&["delete", "expense", EXPENSE]).expect_success();
    assert_eq!(standing(), ["0.00", "1250.00", "0.00"]);
    server.import("budgets", &[json!({ "reference": BUDGET, "amount": "0" })]);
    let budget = server.get(&format!("/budgets/{BUDGET}"), &token).ok();
    assert_eq!((&budget["amount"], &budget["percentUsed"]), (&json!("0.00"), &Value::Null));
}

fn completed_at_is_set_on_entering_done_and_cleared_on_leaving(engine: Engine) {
    let (server, token, _) = start_with_samples(engine);
    let path = format!("/assignments/{ASSIGNMENT}");
    let completed_at = || server.get(&path, &token).ok()["completedAt"].clone();
    let first = completed_at();
    assert!(is_time(&first));
    server.import("assignments", &[json!({ "reference": ASSIGNMENT, "title": "Renamed" })]);
    assert_eq!(completed_at(), first, "the time is kept while the assignment stays done");
    server.import("assignments", &[json!({ "reference": ASSIGNMENT, "status": "Review" })]);
    assert_eq!(completed_at(), Value::Null);
    server.import("assignments", &[json!({ "reference": ASSIGNMENT, "status": "Done" })]);
    assert!(is_time(&completed_at()) && completed_at() != first);
}

fn every_change_increments_the_version_and_keeps_created_at(engine: Engine) {
    let (server, token, _) = start_with_samples(engine);
    let path = format!("/folders/{FOLDER}");
    let before = server.get(&path, &token).ok();
    server.import("folders", &[json!({ "reference": FOLDER, "name": "Renamed" })]);
    let after = server.get(&path, &token).ok();
    assert_eq!((&before["version"], &after["version"]), (&json!(1), &json!(2)));
    assert_eq!(before["createdAt"], after["createdAt"]);
    assert!(text(&before["updatedAt"]) < text(&after["updatedAt"]));
    assert_eq!(before["id"], after["id"]);
}

fn renamed_person_is_shown_immediately_and_changes_no_record(engine: Engine) {
    let (server, token, _) = start_with_samples(engine);
    let path = format!("/folders/{FOLDER}");
    let before = server.get(&path, &token).ok();
    let add = ["user", "add", "SURVEY.LEAD@example.test", "--workspace", "Cadastre"];
    let add = [&add[..], &["--role", "editor", "--name", "Lea Durand"]].concat();
    server.run(&add).expect_success();
    let renamed = server
        .get_until(&path, &token, |response| response.ok()["owner"]["name"] == "Lea Durand")
        .ok();
    assert_eq!(renamed["version"], before["version"]);
    assert_eq!(renamed["updatedAt"], before["updatedAt"]);
    assert_eq!(renamed["owner"]["id"], before["owner"]["id"]);
    let listed = server.get("/folders", &token).content();
    assert_eq!(listed[0], renamed);
}
