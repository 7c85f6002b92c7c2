//! Records: creating, finding, changing, deleting.

use crate::{
    Fixture,
    fixture::{change, delete, domain_error, import, new, text, update_version},
    on_both_engines,
};
use groma_domain::{DomainError, Key, Kind, WorkspaceId};
use groma_store::{Command, CommandOutcome};
use serde_json::{Value, json};

on_both_engines! {
    new_record_has_all_given_fields
    new_record_has_default_values
    required_fields_must_be_given
    missing_field_is_kept_and_null_clears_it
    custom_fields_can_be_set_one_by_one_or_together
    record_is_found_by_id_and_reference
    record_of_another_workspace_is_not_found
    unknown_workspace_is_empty_and_read_only
    change_increments_the_version_and_updates_the_time
    stale_version_is_a_conflict
    saving_the_same_values_changes_nothing
    custom_field_numbers_keep_all_digits
    longest_values_are_stored
    deleted_record_is_not_found
    deleting_a_folder_deletes_its_contents_and_nothing_else
    deleting_an_assignment_or_budget_unlinks_its_expenses
    record_created_and_deleted_in_one_change_leaves_no_trace
    commands_see_earlier_commands_of_the_same_change
    folder_can_be_archived_and_unarchived
}

/// The required fields of each kind, in the folder `in`.
fn required_fields(kind: Kind) -> Value {
    match kind {
        Kind::Folder => json!({ "name": "Chêne" }),
        Kind::Assignment => json!({ "folder": "in", "title": "Stake out" }),
        Kind::Expense => {
            json!({ "folder": "in", "unitAmount": "12.5", "incurredOn": "2026-03-01" })
        }
        Kind::Budget => json!({ "folder": "in", "name": "Travel", "amount": "100" }),
    }
}

/// The fields of a document with those that every record has at version 1.
fn with_common_fields(document: &Value, mut own: Value) -> Value {
    for field in ["id", "workspaceKey", "createdAt"] {
        own[field] = document[field].clone();
    }
    own["updatedAt"] = document["createdAt"].clone();
    own["version"] = 1.into();
    own
}

async fn new_record_has_all_given_fields(fixture: Fixture) {
    let given = json!({
        "reference": "CH-1", "externalId": "erp:7", "name": "Chêne", "description": "Two\nlines",
        "clientName": "Commune", "status": "Field work", "owner": "crew@office.test",
        "startDate": "2026-01-02", "dueDate": "2026-06-30", "currency": "CHF",
        "tags": ["urban", "lidar"], "customFields": { "sheet": 12, "paid": true, "note": null },
    });
    let folder = fixture.create(Kind::Folder, given.clone()).await;
    let mut own = given;
    let fields = own.as_object_mut().unwrap();
    fields.remove("status");
    fields
        .insert("statusId".into(), fixture.status(Kind::Folder, "Field work").await["id"].clone());
    let person = json!({
        "id": folder["owner"]["id"], "name": "Crew", "email": "crew@office.test",
    });
    fields.insert("owner".into(), person.clone());
    fields.extend([("bbox".into(), Value::Null), ("archivedAt".into(), Value::Null)]);
    assert_eq!(folder, with_common_fields(&folder, own));
    assert_eq!(folder["workspaceKey"], fixture.workspace_id.to_string());
    assert_eq!(folder["createdAt"], fixture.now().to_string());

    let assignment = fixture
        .create(
            Kind::Assignment,
            json!({
                "reference": "CH-1", "externalId": "7.1", "folder": "CH-1", "title": "Stake out",
                "description": "North line", "status": "In progress", "priority": "urgent",
                "assignees": ["crew@office.test", "lead@office.test", "CREW@office.test"],
                "startDate": "2026-02-01", "dueDate": "2026-02-03", "estimatedHours": "7.50",
                "spentHours": 2, "customFields": {},
            }),
        )
        .await;
    let own = json!({
        "reference": "CH-1", "externalId": "7.1", "folderId": folder["id"], "title": "Stake out",
        "description": "North line", "priority": "urgent",
        "statusId": fixture.status(Kind::Assignment, "In progress").await["id"],
        "assignees": [
            person,
            { "id": assignment["assignees"][1]["id"], "name": "Survey lead", "email": "lead@office.test" },
        ],
        "startDate": "2026-02-01", "dueDate": "2026-02-03", "estimatedHours": "7.5",
        "spentHours": "2", "completedAt": null, "customFields": {},
    });
    assert_eq!(assignment, with_common_fields(&assignment, own));

    let budget = fixture
        .create(
            Kind::Budget,
            json!({
                "reference": "CH-1", "externalId": "b", "folder": folder["id"], "name": "Travel",
                "description": "To and fro", "status": "Approved", "category": "Field",
                "amount": "1250", "currency": "EUR", "startDate": "2026-01-01",
                "endDate": "2026-12-31", "customFields": { "k": "v" },
            }),
        )
        .await;
    let own = json!({
        "reference": "CH-1", "externalId": "b", "folderId": folder["id"], "name": "Travel",
        "description": "To and fro", "category": "Field", "amount": "1250.00", "currency": "EUR",
        "statusId": fixture.status(Kind::Budget, "Approved").await["id"],
        "startDate": "2026-01-01", "endDate": "2026-12-31", "spent": "0.00",
        "remaining": "1250.00", "percentUsed": "0.00", "customFields": { "k": "v" },
    });
    assert_eq!(budget, with_common_fields(&budget, own));

    let expense = fixture
        .create(
            Kind::Expense,
            json!({
                "reference": "CH-1", "externalId": "e", "folder": "CH-1", "assignment": "CH-1",
                "budget": "CH-1", "status": "Approved", "category": "Fuel",
                "description": "Van", "vendor": "Station", "quantity": "2.50",
                "unitAmount": "1.1", "currency": "EUR", "incurredOn": "2026-03-01",
                "submittedBy": "crew@office.test", "billable": true, "customFields": { "n": 1.5 },
            }),
        )
        .await;
    let own = json!({
        "reference": "CH-1", "externalId": "e", "folderId": folder["id"],
        "assignmentId": assignment["id"], "budgetId": budget["id"],
        "statusId": fixture.status(Kind::Expense, "Approved").await["id"],
        "category": "Fuel", "description": "Van", "vendor": "Station", "quantity": "2.5",
        "unitAmount": "1.10", "amount": "2.75", "currency": "EUR", "incurredOn": "2026-03-01",
        "submittedBy": person, "billable": true, "customFields": { "n": 1.5 },
    });
    assert_eq!(expense, with_common_fields(&expense, own));
}

async fn new_record_has_default_values(fixture: Fixture) {
    fixture
        .apply(vec![new(Kind::Folder, json!({ "reference": "in", "name": "In" }))])
        .await
        .unwrap();
    let folder_id = fixture.find(Kind::Folder, "in").await["id"].clone();
    let status = async |kind, name: &str| fixture.status(kind, name).await["id"].clone();

    let folder = fixture.create(Kind::Folder, required_fields(Kind::Folder)).await;
    let own = json!({
        "reference": "F-000001", "externalId": null, "name": "Chêne", "description": null,
        "clientName": null, "statusId": status(Kind::Folder, "Quoted").await, "owner": null,
        "startDate": null, "dueDate": null, "currency": "EUR", "tags": [], "bbox": null,
        "archivedAt": null, "customFields": {},
    });
    assert_eq!(folder, with_common_fields(&folder, own));

    let assignment = fixture.create(Kind::Assignment, required_fields(Kind::Assignment)).await;
    let own = json!({
        "reference": "A-000001", "externalId": null, "folderId": folder_id, "title": "Stake out",
        "description": null, "statusId": status(Kind::Assignment, "To do").await,
        "priority": "normal", "assignees": [], "startDate": null, "dueDate": null,
        "estimatedHours": null, "spentHours": null, "completedAt": null, "customFields": {},
    });
    assert_eq!(assignment, with_common_fields(&assignment, own));

    let expense = fixture.create(Kind::Expense, required_fields(Kind::Expense)).await;
    let own = json!({
        "reference": "E-000001", "externalId": null, "folderId": folder_id, "assignmentId": null,
        "budgetId": null, "statusId": status(Kind::Expense, "Submitted").await, "category": null,
        "description": null, "vendor": null, "quantity": "1", "unitAmount": "12.50",
        "amount": "12.50", "currency": "EUR", "incurredOn": "2026-03-01", "submittedBy": null,
        "billable": false, "customFields": {},
    });
    assert_eq!(expense, with_common_fields(&expense, own));

    let budget = fixture.create(Kind::Budget, required_fields(Kind::Budget)).await;
    let own = json!({
        "reference": "B-000001", "externalId": null, "folderId": folder_id, "name": "Travel",
        "description": null, "statusId": status(Kind::Budget, "Draft").await, "category": null,
        "amount": "100.00", "currency": "EUR", "startDate": null, "endDate": null,
        "spent": "0.00", "remaining": "100.00", "percentUsed": "0.00", "customFields": {},
    });
    assert_eq!(budget, with_common_fields(&budget, own));
}

async fn required_fields_must_be_given(fixture: Fixture) {
    for (kind, needed) in [
        (Kind::Folder, &["name"][..]),
        (Kind::Assignment, &["title", "folder"]),
        (Kind::Expense, &["folder", "unitAmount", "incurredOn"]),
        (Kind::Budget, &["name", "folder", "amount"]),
    ] {
        assert_eq!(fixture.invalid_fields(new(kind, json!({}))).await, needed, "{kind}");
    }
}

async fn missing_field_is_kept_and_null_clears_it(fixture: Fixture) {
    fixture.seed_folder().await;
    let given = json!({
        "folder": "in", "budget": "in", "assignment": "in", "unitAmount": 10, "quantity": 3,
        "incurredOn": "2026-03-01", "vendor": "Station", "submittedBy": "crew@office.test",
        "billable": true, "status": "Approved", "customFields": { "a": 1 },
    });
    let made = fixture.create(Kind::Expense, given).await;
    let mut expected = made.clone();
    let changed = fixture.update(Kind::Expense, "E-000001", json!({ "category": "Fuel" })).await;
    expected["category"] = "Fuel".into();
    expected["version"] = 2.into();
    expected["updatedAt"] = fixture.now().to_string().into();
    assert_eq!(changed, expected);

    let nothing = json!({
        "budget": null, "assignmentId": null, "quantity": null, "vendor": "", "submittedBy": null,
        "billable": null, "status": null, "customFields": null, "category": null,
        "reference": null,
    });
    let emptied = fixture.update(Kind::Expense, "E-000001", nothing).await;
    for field in ["budgetId", "assignmentId", "vendor", "submittedBy", "category", "statusId"] {
        assert_eq!(emptied[field], Value::Null, "{field}");
    }
    assert_eq!(emptied["quantity"], "1");
    assert_eq!(emptied["amount"], "10.00");
    assert_eq!(emptied["billable"], false);
    assert_eq!(emptied["customFields"], json!({}));
    assert_eq!(emptied["reference"], "E-000001", "a reference cannot be cleared");
}

async fn custom_fields_can_be_set_one_by_one_or_together(fixture: Fixture) {
    fixture.seed_folder().await;
    let set = json!({ "customFields": { "a": 1, "b": "two" } });
    fixture.update(Kind::Folder, "in", set).await;
    let alone = fixture.update(Kind::Folder, "in", json!({ "customFields.b": null })).await;
    assert_eq!(alone["customFields"], json!({ "a": 1, "b": null }));
    let all = fixture.update(Kind::Folder, "in", json!({ "customFields": { "c": false } })).await;
    assert_eq!(all["customFields"], json!({ "c": false }));
}

async fn record_is_found_by_id_and_reference(fixture: Fixture) {
    fixture.seed_folder().await;
    for kind in Kind::ALL {
        let mut values = required_fields(kind);
        values["reference"] = "Été/1 %".into();
        let made = fixture.create(kind, values).await;
        let id = text(&made, "id");
        for key in
            [&*id, &id.to_uppercase(), &id.replace('-', ""), "Été/1 %", "E\u{301}te\u{301}/1 %"]
        {
            assert_eq!(fixture.find(kind, key).await, made, "{kind} {key}");
        }
        for key in ["été/1 %", "Ete/1 %", "Été/1", "019cae52-0000-7000-8000-000000000000"] {
            assert_eq!(fixture.get(kind, key).await, None, "{kind} {key}");
        }
        for other in Kind::ALL.into_iter().filter(|other| *other != kind) {
            assert_eq!(fixture.get(other, &id).await, None, "{kind} as {other}");
        }
    }
}

async fn record_of_another_workspace_is_not_found(fixture: Fixture) {
    fixture.seed_folder().await;
    let next = fixture.new_workspace("Next door").await;
    for kind in Kind::ALL {
        if kind == Kind::Expense {
            fixture.create(kind, json!({
                "reference": "in", "folder": "in", "unitAmount": 1, "incurredOn": "2026-03-01",
            })).await;
        }
        let here = fixture.find(kind, "in").await;
        let id = text(&here, "id");
        for key in [&*id, "in"] {
            assert_eq!(next.get(kind, key).await, None);
            let not_found = DomainError::NotFound { resource: kind.name(), key: key.to_owned() };
            assert_eq!(next.domain_error(change(kind, key, json!({}))).await, not_found);
            assert_eq!(next.domain_error(delete(kind, key)).await, not_found);
        }
        assert_eq!(next.list(kind, &[]).await, (vec![], 0));
        assert_eq!(next.list(kind, &[("term", "in")]).await, (vec![], 0));
        if kind != Kind::Folder {
            let mut values = required_fields(kind);
            values["folder"] = fixture.find(Kind::Folder, "in").await["id"].clone();
            assert_eq!(next.invalid_fields(new(kind, values)).await, ["folder"]);
        }
        assert_eq!(fixture.find(kind, "in").await, here);
    }
    // Statuses and people of another workspace are not found either.
    let status = next.status(Kind::Folder, "Quoted").await["id"].clone();
    let folder = json!({ "name": "x", "statusId": status });
    assert_eq!(fixture.invalid_fields(new(Kind::Folder, folder)).await, ["status"]);
    let stranger = next.create(Kind::Folder, json!({ "name": "x", "owner": "a@next.test" })).await;
    let folder = json!({ "name": "x", "owner": stranger["owner"]["id"] });
    assert_eq!(fixture.invalid_fields(new(Kind::Folder, folder)).await, ["owner"]);
}

async fn unknown_workspace_is_empty_and_read_only(fixture: Fixture) {
    let unknown = WorkspaceId(uuid::Uuid::now_v7());
    let nowhere = fixture.in_workspace(unknown);
    let outcome = nowhere.apply(vec![new(Kind::Folder, json!({ "name": "x" }))]).await;
    let not_found = DomainError::NotFound { resource: "workspace", key: unknown.to_string() };
    assert_eq!(domain_error(outcome), (not_found, 0));
    assert!(
        nowhere.store.check(nowhere.change(vec![])).await.unwrap_err().domain_error().is_some()
    );
    for kind in Kind::ALL {
        assert_eq!(nowhere.get(kind, "in").await, None);
        assert_eq!(nowhere.list(kind, &[]).await, (vec![], 0));
        assert_eq!(nowhere.list(kind, &[("term", "x")]).await, (vec![], 0));
        assert_eq!(nowhere.list(kind, &[("term", "xyz")]).await, (vec![], 0));
        assert!(nowhere.store.export(unknown, kind, 0, 10).await.unwrap().is_empty());
    }
    assert_eq!(nowhere.statuses(&[]).await, (vec![], 0));
    assert_eq!(nowhere.audit_log(0).await, []);
}

async fn change_increments_the_version_and_updates_the_time(fixture: Fixture) {
    let made = fixture.create(Kind::Folder, json!({ "name": "One" })).await;
    let made_at = fixture.now().to_string();
    assert_eq!((&made["version"], &made["updatedAt"]), (&json!(1), &json!(made_at)));
    let changed = fixture.update(Kind::Folder, "F-000001", json!({ "name": "Two" })).await;
    assert_eq!(changed["version"], 2);
    assert_eq!(changed["createdAt"], made_at);
    assert_eq!(changed["updatedAt"], fixture.now().to_string());
    // Several commands in one change are one version.
    fixture
        .apply(vec![
            change(Kind::Folder, "F-000001", json!({ "name": "Three" })),
            change(Kind::Folder, "F-000001", json!({ "tags": ["x"] })),
        ])
        .await
        .unwrap();
    let changed = fixture.find(Kind::Folder, "F-000001").await;
    assert_eq!((&changed["version"], &changed["name"]), (&json!(3), &json!("Three")));
    assert_eq!(changed["tags"], json!(["x"]));
}

async fn stale_version_is_a_conflict(fixture: Fixture) {
    fixture.seed_folder().await;
    for kind in Kind::ALL {
        let made = fixture.create(kind, required_fields(kind)).await;
        let key = text(&made, "reference");
        let id = text(&made, "id");
        let done = fixture.run(update_version(kind, &key, 1, json!({ "externalId": "a" }))).await;
        assert!(matches!(done, CommandOutcome::Updated(..)));
        let conflict = DomainError::Conflict {
            resource: kind.name(),
            key: id.clone(),
            expected: 1,
            current: 2,
        };
        let stale = update_version(kind, &id, 1, json!({ "externalId": "b" }));
        assert_eq!(fixture.domain_error(stale).await, conflict);
        let stale = Command::Delete { kind, key: Key::parse(&id).unwrap(), version: Some(1) };
        assert_eq!(fixture.domain_error(stale).await, conflict);
        assert_eq!(fixture.find(kind, &key).await["externalId"], "a");
        let fresh = Command::Delete { kind, key: Key::parse(&id).unwrap(), version: Some(2) };
        assert_eq!(fixture.run(fresh).await, CommandOutcome::Deleted { with: 0 });
    }
}

async fn saving_the_same_values_changes_nothing(fixture: Fixture) {
    fixture.seed_folder().await;
    for kind in Kind::ALL {
        let mut values = required_fields(kind);
        let own = json!({
            "reference": "twice", "externalId": "x", "customFields": { "a": 0.1, "b": 7 },
        });
        values.as_object_mut().unwrap().extend(own.as_object().unwrap().clone());
        let first = fixture.run(import(kind, values.clone())).await;
        assert!(matches!(first, CommandOutcome::Created(..)), "{kind}");
        let made = fixture.find(kind, "twice").await;
        let mark = fixture.audit_position().await;
        let again = fixture.run(import(kind, values)).await;
        assert!(matches!(again, CommandOutcome::Unchanged(..)), "{kind}: {again:?}");
        // Saving the document as it was returned changes nothing either.
        let again = fixture.run(import(kind, made.clone())).await;
        assert!(matches!(again, CommandOutcome::Unchanged(..)), "{kind}: {again:?}");
        assert_eq!(fixture.find(kind, "twice").await, made);
        assert_eq!(fixture.audit_log(mark).await, []);
    }
}

async fn custom_field_numbers_keep_all_digits(fixture: Fixture) {
    let mut random = fastrand::Rng::with_seed(42);
    let mut fields = serde_json::Map::new();
    for index in 0..100 {
        let number = f64::from_bits(random.u64(..));
        let number = if number.is_finite() { number } else { random.f64() };
        fields.insert(format!("n{index}"), number.into());
    }
    let folder = json!({ "reference": "digits", "name": "x", "customFields": fields });
    fixture.create(Kind::Folder, folder.clone()).await;
    // The document has the given numbers, and saving them again changes nothing.
    let key = Key::parse("digits").unwrap();
    let document = fixture.store.get(fixture.workspace_id, Kind::Folder, &key);
    let document = String::from_utf8(document.await.unwrap().unwrap().to_vec()).unwrap();
    for (name, number) in &fields {
        assert!(document.contains(&format!("\"{name}\":{number}")), "{name} differs from {number}");
    }
    let again = fixture.run(import(Kind::Folder, folder)).await;
    assert!(matches!(again, CommandOutcome::Unchanged(..)), "{again:?}");
    // A change of another field keeps them.
    fixture.update(Kind::Folder, "digits", json!({ "name": "y" })).await;
    let trail = fixture.audit_log(0).await;
    let before = trail.last().unwrap().before.clone().unwrap();
    assert!(!before.contains("customFields"), "{before}");
    let after = trail.last().unwrap().after.clone().unwrap();
    for (name, number) in &fields {
        assert!(after.contains(&format!("\"{name}\":{number}")), "{name} is no longer {number}");
    }
}

async fn longest_values_are_stored(fixture: Fixture) {
    // Also with characters that normalize to several.
    let text = |length: usize| -> String {
        let mut random = fastrand::Rng::with_seed(length as u64);
        let wide: Vec<char> = ('\u{3300}'..='\u{3357}').chain("ﷺ😀é".chars()).collect();
        (0..length).map(|_| *random.choice(&wide).unwrap()).collect()
    };
    let custom: serde_json::Map<_, _> =
        (0..100).map(|n| (format!("{n:064}"), text(2_000).into())).collect();
    let tags: Vec<_> = (0..50).map(|n| format!("{n:02}{}", text(62))).collect();
    let status = json!({ "name": text(200), "appliesTo": "folder" });
    fixture.run(crate::fixture::save_status(status)).await;
    let folder = json!({
        "reference": text(64), "externalId": text(200), "name": text(300),
        "description": text(20_000), "clientName": text(300), "status": text(200), "tags": tags,
        "customFields": custom,
    });
    let made = fixture.create(Kind::Folder, folder.clone()).await;
    for (field, value) in folder.as_object().unwrap().iter().filter(|(name, _)| *name != "status") {
        assert_eq!(made[field], *value, "{field}");
    }
    assert_eq!(fixture.find(Kind::Folder, &text(64)).await, made);
    let term: String = text(20_000).chars().skip(10_000).take(200).collect();
    assert_eq!(fixture.list(Kind::Folder, &[("term", &*term)]).await, (vec![made], 1));
    assert_eq!(fixture.list(Kind::Folder, &[("term", &*text(199))]).await.1, 0);
    fixture
        .create_workspace(&text(100), &format!("{}@office.test", "x".repeat(200)))
        .await
        .unwrap();
}

async fn deleted_record_is_not_found(fixture: Fixture) {
    fixture.seed_folder().await;
    for kind in [Kind::Expense, Kind::Budget, Kind::Assignment, Kind::Folder] {
        let mut values = required_fields(kind);
        values["reference"] = "short-lived".into();
        let made = fixture.create(kind, values).await;
        let (_, total) = fixture.list(kind, &[]).await;
        fixture.delete(kind, "short-lived").await;
        assert_eq!(fixture.get(kind, "short-lived").await, None);
        assert_eq!(fixture.get(kind, &text(&made, "id")).await, None);
        let (content, left) = fixture.list(kind, &[]).await;
        assert_eq!(left, total - 1);
        assert!(!content.contains(&made));
        assert_eq!(fixture.list(kind, &[("term", "short-lived")]).await, (vec![], 0));
        assert_eq!(
            fixture.domain_error(delete(kind, "short-lived")).await,
            DomainError::NotFound { resource: kind.name(), key: "short-lived".into() }
        );
    }
}

async fn deleting_a_folder_deletes_its_contents_and_nothing_else(fixture: Fixture) {
    fixture.seed_folder().await;
    let other = json!({ "reference": "other", "name": "Other" });
    fixture.create(Kind::Folder, other).await;
    for folder in ["in", "other"] {
        for kind in [Kind::Assignment, Kind::Expense, Kind::Budget] {
            let mut values = required_fields(kind);
            values["folder"] = folder.into();
            values["reference"] = format!("of {folder}").into();
            fixture.create(kind, values).await;
        }
    }
    assert_eq!(fixture.run(delete(Kind::Folder, "in")).await, CommandOutcome::Deleted { with: 5 });
    assert_eq!(fixture.references(Kind::Folder, &[]).await, ["other"]);
    for kind in [Kind::Assignment, Kind::Expense, Kind::Budget] {
        assert_eq!(fixture.references(kind, &[]).await, ["of other"], "{kind}");
        assert_eq!(fixture.list(kind, &[]).await.1, 1);
        assert_eq!(fixture.get(kind, "of in").await, None);
    }
}

async fn deleting_an_assignment_or_budget_unlinks_its_expenses(fixture: Fixture) {
    fixture.seed_folder().await;
    let expense = json!({
        "folder": "in", "assignment": "in", "budget": "in", "unitAmount": 5,
        "incurredOn": "2026-03-01",
    });
    let made = fixture.create(Kind::Expense, expense).await;
    fixture.delete(Kind::Assignment, "in").await;
    let left = fixture.find(Kind::Expense, "E-000001").await;
    assert_eq!((&left["assignmentId"], &left["budgetId"]), (&Value::Null, &made["budgetId"]));
    fixture.delete(Kind::Budget, "in").await;
    let left = fixture.find(Kind::Expense, "E-000001").await;
    assert_eq!((&left["budgetId"], &left["version"]), (&Value::Null, &json!(3)));
}

async fn record_created_and_deleted_in_one_change_leaves_no_trace(fixture: Fixture) {
    fixture.seed_folder().await;
    let mark = fixture.audit_position().await;
    let expense = json!({
        "reference": "x", "folder": "in", "budget": "in", "unitAmount": 5, "incurredOn": "2026-03-01",
    });
    fixture.apply(vec![new(Kind::Expense, expense), delete(Kind::Expense, "x")]).await.unwrap();
    assert_eq!(fixture.audit_log(mark).await, []);
    assert_eq!(fixture.list(Kind::Expense, &[]).await, (vec![], 0));
    assert_eq!(fixture.find(Kind::Budget, "in").await["version"], 1);
}

async fn commands_see_earlier_commands_of_the_same_change(fixture: Fixture) {
    let applied = fixture
        .apply(vec![
            new(Kind::Folder, json!({ "reference": "a", "name": "A", "currency": "JPY" })),
            new(Kind::Budget, json!({ "folder": "a", "name": "B", "amount": 900 })),
            new(Kind::Assignment, json!({ "folder": "a", "title": "T" })),
            new(
                Kind::Expense,
                json!({
                    "folder": "a", "budget": "B-000001", "assignment": "A-000001",
                    "unitAmount": 300, "incurredOn": "2026-03-01",
                }),
            ),
            change(Kind::Expense, "E-000001", json!({ "quantity": 2 })),
        ])
        .await
        .unwrap();
    let created = applied.iter().filter(|done| matches!(done, CommandOutcome::Created(..))).count();
    assert_eq!(created, 5, "a new record counts as created in the whole change: {applied:?}");
    let budget = fixture.find(Kind::Budget, "B-000001").await;
    assert_eq!(
        (&budget["spent"], &budget["currency"], &budget["version"]),
        (&json!("600"), &json!("JPY"), &json!(1))
    );
}

async fn folder_can_be_archived_and_unarchived(fixture: Fixture) {
    fixture.seed_folder().await;
    let moment = "2026-02-01T10:00:00.000Z";
    let archived = fixture.update(Kind::Folder, "in", json!({ "archivedAt": moment })).await;
    assert_eq!(archived["archivedAt"], moment);
    assert_eq!(
        fixture.references(Kind::Folder, &[]).await,
        ["in"],
        "an archived folder is still listed"
    );
    let later = change(Kind::Folder, "in", json!({ "archivedAt": "2026-02-02T10:00:00Z" }));
    assert!(
        matches!(fixture.run(later).await, CommandOutcome::Unchanged(..)),
        "the time of archiving does not change"
    );
    let back = fixture.update(Kind::Folder, "in", json!({ "archivedAt": null })).await;
    assert_eq!((&back["archivedAt"], &back["version"]), (&Value::Null, &json!(3)));
}
