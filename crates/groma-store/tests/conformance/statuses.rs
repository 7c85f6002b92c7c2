//! Statuses: creating, changing and deleting them, and the effect on records.

use crate::{
    Fixture,
    fixture::{
        TestWorkspace, change, change_status, delete_status, domain_error, new, save_status, text,
    },
    on_both_engines,
};
use groma_domain::{DomainError, Kind, input::StatusRef, status::StatusInput};
use groma_store::{Command, CommandOutcome, StatusTarget};
use serde_json::{Value, json};

on_both_engines! {
    new_workspace_has_statuses_of_each_kind_with_one_default
    status_can_be_created_and_changed
    statuses_are_listed_in_creation_order_with_pages_and_terms
    status_names_are_unique_within_a_kind_ignoring_case_and_accents
    names_can_be_swapped_within_one_change
    kind_of_a_status_cannot_change
    each_kind_always_has_one_default
    new_records_have_the_default_status
    unused_status_can_be_deleted
    used_status_can_be_deleted_only_with_a_replacement
    status_released_in_the_same_change_can_be_deleted
    default_status_can_be_deleted_only_with_a_replacement
    changing_a_status_to_done_completes_its_assignments
    renaming_a_status_changes_no_record
    status_changes_are_in_the_audit_log_and_send_no_event
}

const CHANGED: CommandOutcome = CommandOutcome::Status { changed: true, created: false };

/// The names of the statuses of a kind.
async fn names(workspace: &TestWorkspace, kind: Kind) -> Vec<String> {
    let (statuses, _) = workspace.statuses(&[("limit", "100")]).await;
    let of_kind = statuses.iter().filter(|status| status["appliesTo"] == kind.name());
    of_kind.map(|status| text(status, "name")).collect()
}

async fn defaults(workspace: &TestWorkspace, kind: Kind) -> Vec<String> {
    let (statuses, _) = workspace.statuses(&[("limit", "100")]).await;
    let of_kind = statuses.iter().filter(|status| status["appliesTo"] == kind.name());
    of_kind.filter(|s| s["isDefault"] == true).map(|status| text(status, "name")).collect()
}

async fn new_workspace_has_statuses_of_each_kind_with_one_default(fixture: Fixture) {
    for kind in Kind::ALL {
        assert!(names(&fixture, kind).await.len() >= 3);
        assert_eq!(defaults(&fixture, kind).await, names(&fixture, kind).await[..1]);
    }
    let status = fixture.status(Kind::Folder, "Quoted").await;
    let expected = json!({
        "id": status["id"], "name": "Quoted", "appliesTo": "folder", "group": "todo",
        "color": "#87909d", "position": 0, "isDefault": true, "createdAt": status["createdAt"],
        "updatedAt": status["createdAt"],
    });
    assert_eq!(status, expected);
}

async fn status_can_be_created_and_changed(fixture: Fixture) {
    let values = json!({
        "name": "Invoiced", "appliesTo": "folder", "group": "done", "color": "#ABCDEF",
        "position": 7,
    });
    let created = fixture.run(save_status(values.clone())).await;
    assert_eq!(created, CommandOutcome::Status { changed: true, created: true });
    let status = fixture.status(Kind::Folder, "Invoiced").await;
    let mut expected = json!({
        "id": status["id"], "name": "Invoiced", "appliesTo": "folder", "group": "done",
        "color": "#abcdef", "position": 7, "isDefault": false,
        "createdAt": fixture.now().to_string(), "updatedAt": fixture.now().to_string(),
    });
    assert_eq!(status, expected);
    let unchanged = CommandOutcome::Status { changed: false, created: false };
    assert_eq!(fixture.run(save_status(values)).await, unchanged);
    assert_eq!(fixture.status(Kind::Folder, "Invoiced").await, expected);

    let renamed = change_status(&status, json!({ "name": "Paid", "group": "cancelled" }));
    assert_eq!(fixture.run(renamed).await, CHANGED);
    expected["name"] = "Paid".into();
    expected["group"] = "cancelled".into();
    expected["updatedAt"] = fixture.now().to_string().into();
    assert_eq!(fixture.status(Kind::Folder, "Paid").await, expected);

    let nowhere = StatusRef::Name("Nowhere".into());
    let unknown = Command::SaveStatus {
        target: StatusTarget::Existing(nowhere),
        input: StatusInput::default(),
    };
    let not_found = DomainError::NotFound { resource: "status", key: "Nowhere".into() };
    assert_eq!(fixture.domain_error(unknown).await, not_found);
    let incomplete = save_status(json!({ "name": "x" }));
    assert_eq!(fixture.invalid_fields(incomplete).await, ["appliesTo"]);
    let incomplete = save_status(json!({ "appliesTo": "folder" }));
    assert_eq!(fixture.invalid_fields(incomplete).await, ["name"]);
    let grey = save_status(json!({ "name": "x", "appliesTo": "folder", "color": "grey" }));
    assert_eq!(fixture.invalid_fields(grey).await, ["color"]);
}

async fn statuses_are_listed_in_creation_order_with_pages_and_terms(fixture: Fixture) {
    let (all, total) = fixture.statuses(&[("limit", "100")]).await;
    assert_eq!((all.len() as u64, text(&all[0], "name")), (total, "Quoted".into()));
    let mut paged = Vec::new();
    for page in ["1", "2", "3", "4"] {
        let (content, of) = fixture.statuses(&[("page", page), ("limit", "5")]).await;
        assert_eq!(of, total);
        paged.extend(content);
    }
    assert_eq!(paged, all);
    assert_eq!(fixture.statuses(&[("page", "5"), ("limit", "5")]).await, (vec![], total));
    assert_eq!(fixture.statuses(&[("page", "2147483647")]).await, (vec![], total));
    let late = json!({ "name": "Bâtiment", "appliesTo": "folder", "position": 0 });
    fixture.run(save_status(late)).await;
    let (all, total) = fixture.statuses(&[("limit", "100")]).await;
    assert_eq!((all.len() as u64, text(all.last().unwrap(), "name")), (total, "Bâtiment".into()));
    let (found, total) = fixture.statuses(&[("term", "ATI")]).await;
    assert_eq!((found.len(), total, text(&found[0], "name")), (1, 1, "Bâtiment".into()));
    let (review, total) = fixture.statuses(&[("term", "review"), ("limit", "1")]).await;
    assert_eq!((review.len(), total), (1, 2));
    assert_eq!(fixture.statuses(&[("term", "folder")]).await.1, 0, "only the name is searched");
}

async fn status_names_are_unique_within_a_kind_ignoring_case_and_accents(fixture: Fixture) {
    let relevé = json!({ "name": "Relevé", "appliesTo": "folder" });
    fixture.run(save_status(relevé)).await;
    let status = fixture.status(Kind::Folder, "Quoted").await;
    for taken in ["relevé", "RELEVE", "Releve\u{301}"] {
        let rename = change_status(&status, json!({ "name": taken }));
        assert_eq!(fixture.invalid_fields(rename).await, ["name"], "{taken}");
    }
    // Another kind can have the name, and saving it again changes the existing status.
    let other_kind = save_status(json!({ "name": "Relevé", "appliesTo": "budget" }));
    assert_eq!(
        fixture.run(other_kind).await,
        CommandOutcome::Status { changed: true, created: true }
    );
    let again = save_status(json!({ "name": "RELEVE", "appliesTo": "folder" }));
    assert_eq!(fixture.run(again).await, CHANGED);
    assert!(names(&fixture, Kind::Folder).await.contains(&"RELEVE".to_owned()));
    // Records can use any spelling.
    let folder = fixture.create(Kind::Folder, json!({ "name": "x", "status": "relevé" })).await;
    assert_eq!(folder["statusId"], fixture.status(Kind::Folder, "RELEVE").await["id"]);
}

async fn names_can_be_swapped_within_one_change(fixture: Fixture) {
    let quoted = fixture.status(Kind::Folder, "Quoted").await;
    let drawing = fixture.status(Kind::Folder, "Drawing").await;
    fixture
        .apply(vec![
            change_status(&quoted, json!({ "name": "Aside" })),
            change_status(&drawing, json!({ "name": "Quoted" })),
            change_status(&quoted, json!({ "name": "Drawing" })),
        ])
        .await
        .unwrap();
    assert_eq!(fixture.status(Kind::Folder, "Quoted").await["id"], drawing["id"]);
    assert_eq!(fixture.status(Kind::Folder, "Drawing").await["id"], quoted["id"]);
}

async fn kind_of_a_status_cannot_change(fixture: Fixture) {
    let quoted = fixture.status(Kind::Folder, "Quoted").await;
    let command = change_status(&quoted, json!({ "appliesTo": "budget" }));
    let (error, _) = domain_error(fixture.apply(vec![command]).await);
    assert!(matches!(error, DomainError::Invalid(_) | DomainError::NotFound { .. }), "{error}");
    assert_eq!(fixture.status(Kind::Folder, "Quoted").await, quoted);
}

async fn each_kind_always_has_one_default(fixture: Fixture) {
    let review = fixture.status(Kind::Folder, "Review").await;
    fixture.run(change_status(&review, json!({ "isDefault": true }))).await;
    assert_eq!(defaults(&fixture, Kind::Folder).await, ["Review"]);
    assert_eq!(defaults(&fixture, Kind::Assignment).await, ["To do"]);
    let quoted = fixture.status(Kind::Folder, "Quoted").await;
    assert_eq!(quoted["updatedAt"], fixture.now().to_string());
    let review = change_status(&review, json!({ "isDefault": false }));
    assert_eq!(fixture.invalid_fields(review).await, ["isDefault"]);
    // Within one change the default can move in any order.
    let quoted = fixture.status(Kind::Folder, "Quoted").await;
    let review = fixture.status(Kind::Folder, "Review").await;
    fixture
        .apply(vec![
            change_status(&review, json!({ "isDefault": false })),
            change_status(&quoted, json!({ "isDefault": true })),
        ])
        .await
        .unwrap();
    assert_eq!(defaults(&fixture, Kind::Folder).await, ["Quoted"]);
    let new = json!({ "name": "First", "appliesTo": "folder", "isDefault": true });
    fixture.run(save_status(new)).await;
    assert_eq!(defaults(&fixture, Kind::Folder).await, ["First"]);
}

async fn new_records_have_the_default_status(fixture: Fixture) {
    let review = fixture.status(Kind::Folder, "Review").await;
    let change_default = change_status(&review, json!({ "isDefault": true }));
    let folder = new(Kind::Folder, json!({ "reference": "x", "name": "x" }));
    fixture.apply(vec![change_default, folder]).await.unwrap();
    assert_eq!(fixture.find(Kind::Folder, "x").await["statusId"], review["id"]);
    let none = fixture.create(Kind::Folder, json!({ "name": "y", "status": null })).await;
    assert_eq!(none["statusId"], Value::Null, "null means no status");
}

async fn unused_status_can_be_deleted(fixture: Fixture) {
    assert_eq!(fixture.run(delete_status(Kind::Folder, "drawing", None)).await, CHANGED);
    assert!(!names(&fixture, Kind::Folder).await.contains(&"Drawing".to_owned()));
    let again = delete_status(Kind::Folder, "Drawing", None);
    assert_eq!(fixture.invalid_fields(again).await, ["status"]);
}

async fn used_status_can_be_deleted_only_with_a_replacement(fixture: Fixture) {
    fixture.seed_folder().await;
    for (kind, used, heir) in [
        (Kind::Folder, "Drawing", "Review"),
        (Kind::Assignment, "Review", "Done"),
        (Kind::Budget, "Closed", "Approved"),
    ] {
        fixture.update(kind, "in", json!({ "status": used })).await;
        assert_eq!(fixture.invalid_fields(delete_status(kind, used, None)).await, ["replacement"]);
        for wrong in [used, "Nowhere"] {
            let wrong = delete_status(kind, used, Some(wrong));
            assert_eq!(fixture.invalid_fields(wrong).await, ["replacement"]);
        }
        let position = fixture.audit_position().await;
        assert_eq!(fixture.run(delete_status(kind, used, Some(heir))).await, CHANGED);
        let record = fixture.find(kind, "in").await;
        assert_eq!(record["statusId"], fixture.status(kind, heir).await["id"]);
        assert_eq!(record["version"], 3);
        assert_eq!(fixture.events(position).await, [format!("{kind}.updated in")]);
        assert!(!names(&fixture, kind).await.contains(&used.to_owned()));
    }
    let assignment = fixture.find(Kind::Assignment, "in").await;
    assert!(assignment["completedAt"].is_string(), "the replacement is a done status");
}

async fn status_released_in_the_same_change_can_be_deleted(fixture: Fixture) {
    fixture.seed_folder().await;
    fixture.update(Kind::Folder, "in", json!({ "status": "Drawing" })).await;
    fixture
        .apply(vec![
            change(Kind::Folder, "in", json!({ "status": "Review" })),
            delete_status(Kind::Folder, "Drawing", None),
        ])
        .await
        .unwrap();
    // A status that was assigned in the same change cannot.
    let taken = vec![
        change(Kind::Folder, "in", json!({ "status": "Field work" })),
        delete_status(Kind::Folder, "Field work", None),
    ];
    let (error, index) = domain_error(fixture.apply(taken).await);
    assert_eq!((error.to_string().contains("in use"), index), (true, 1));
}

async fn default_status_can_be_deleted_only_with_a_replacement(fixture: Fixture) {
    let alone = delete_status(Kind::Budget, "Draft", None);
    assert_eq!(fixture.invalid_fields(alone).await, ["replacement"]);
    fixture.run(delete_status(Kind::Budget, "Draft", Some("Closed"))).await;
    assert_eq!(defaults(&fixture, Kind::Budget).await, ["Closed"]);
}

async fn changing_a_status_to_done_completes_its_assignments(fixture: Fixture) {
    fixture.seed_folder().await;
    let other = json!({ "reference": "other", "folder": "in", "title": "x", "status": "Review" });
    fixture.create(Kind::Assignment, other).await;
    let to_do = fixture.status(Kind::Assignment, "To do").await;
    let position = fixture.audit_position().await;
    fixture.run(change_status(&to_do, json!({ "group": "done" }))).await;
    assert_eq!(fixture.events(position).await, ["assignment.updated in"]);
    let done = fixture.find(Kind::Assignment, "in").await;
    assert_eq!(done["completedAt"], fixture.now().to_string());
    assert_eq!(done["version"], 2);
    assert_eq!(fixture.find(Kind::Assignment, "other").await["completedAt"], Value::Null);

    fixture.run(change_status(&to_do, json!({ "group": "inProgress" }))).await;
    let undone = fixture.find(Kind::Assignment, "in").await;
    assert_eq!((&undone["completedAt"], &undone["version"]), (&Value::Null, &json!(3)));
    let position = fixture.audit_position().await;
    fixture.run(change_status(&to_do, json!({ "group": "cancelled" }))).await;
    assert_eq!(fixture.events(position).await, [""; 0], "neither status is done");
}

async fn renaming_a_status_changes_no_record(fixture: Fixture) {
    fixture.seed_folder().await;
    let position = fixture.audit_position().await;
    let quoted = fixture.status(Kind::Folder, "Quoted").await;
    fixture.run(change_status(&quoted, json!({ "name": "Offered", "color": "#000000" }))).await;
    assert_eq!(fixture.events(position).await, [""; 0]);
    assert_eq!(fixture.find(Kind::Folder, "in").await["version"], 1);
}

async fn status_changes_are_in_the_audit_log_and_send_no_event(fixture: Fixture) {
    let position = fixture.audit_position().await;
    fixture.run(save_status(json!({ "name": "A", "appliesTo": "folder" }))).await;
    let made = fixture.status(Kind::Folder, "A").await;
    fixture.run(change_status(&made, json!({ "name": "B" }))).await;
    let changed = fixture.status(Kind::Folder, "B").await;
    fixture.run(delete_status(Kind::Folder, "B", None)).await;
    let trail = fixture.audit_log(position).await;
    let read = |document: &Option<String>| {
        document.as_ref().map(|json| serde_json::from_str::<Value>(json).unwrap())
    };
    let lines: Vec<_> =
        trail.iter().map(|row| (&*row.action, read(&row.before), read(&row.after))).collect();
    let expected = [
        ("status.created", None, Some(made.clone())),
        ("status.updated", Some(made), Some(changed.clone())),
        ("status.deleted", Some(changed), None),
    ];
    assert_eq!(lines, expected);
    assert_eq!(fixture.events(position).await, [""; 0]);
}
