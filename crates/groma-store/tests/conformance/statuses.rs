//! Statuses: the words of a workspace, and what happens to records when they change.

use crate::{
    Office,
    office::{Desk, change, change_status, delete_status, new, refusal, save_status, text},
    on_both_engines,
};
use groma_domain::{Kind, Refusal, input::StatusRef, status::StatusInput};
use groma_store::{Command, Done};
use serde_json::{Value, json};

on_both_engines! {
    a_new_workspace_has_statuses_of_each_kind_and_one_default
    a_status_is_created_changed_and_left_as_it_is
    statuses_are_listed_in_the_order_of_creation_by_page_and_term
    names_are_unique_within_a_kind_without_regard_to_case_or_accents
    names_can_be_swapped_within_one_change
    a_status_keeps_its_kind
    there_is_always_one_default
    new_records_start_with_the_default
    a_status_that_nothing_has_is_deleted_alone
    a_status_in_use_is_deleted_only_with_a_replacement
    a_status_given_up_in_the_same_change_is_free_to_go
    the_default_is_deleted_only_with_an_heir
    a_status_that_becomes_done_completes_its_assignments
    a_renamed_status_changes_no_record
    changes_of_statuses_are_on_the_audit_trail_and_no_event
}

const CHANGED: Done = Done::Status { changed: true, created: false };

/// The names of a kind's statuses.
async fn names(desk: &Desk, kind: Kind) -> Vec<String> {
    let (statuses, _) = desk.statuses(&[("limit", "100")]).await;
    let of_kind = statuses.iter().filter(|status| status["appliesTo"] == kind.name());
    of_kind.map(|status| text(status, "name")).collect()
}

async fn defaults(desk: &Desk, kind: Kind) -> Vec<String> {
    let (statuses, _) = desk.statuses(&[("limit", "100")]).await;
    let of_kind = statuses.iter().filter(|status| status["appliesTo"] == kind.name());
    of_kind.filter(|s| s["isDefault"] == true).map(|status| text(status, "name")).collect()
}

async fn a_new_workspace_has_statuses_of_each_kind_and_one_default(office: Office) {
    for kind in Kind::ALL {
        assert!(names(&office, kind).await.len() >= 3);
        assert_eq!(defaults(&office, kind).await, names(&office, kind).await[..1]);
    }
    let status = office.status(Kind::Folder, "Quoted").await;
    let expected = json!({
        "id": status["id"], "name": "Quoted", "appliesTo": "folder", "group": "todo",
        "color": "#87909d", "position": 0, "isDefault": true, "createdAt": status["createdAt"],
        "updatedAt": status["createdAt"],
    });
    assert_eq!(status, expected);
}

async fn a_status_is_created_changed_and_left_as_it_is(office: Office) {
    let values = json!({
        "name": "Invoiced", "appliesTo": "folder", "group": "done", "color": "#ABCDEF",
        "position": 7,
    });
    let created = office.done(save_status(values.clone())).await;
    assert_eq!(created, Done::Status { changed: true, created: true });
    let status = office.status(Kind::Folder, "Invoiced").await;
    let mut expected = json!({
        "id": status["id"], "name": "Invoiced", "appliesTo": "folder", "group": "done",
        "color": "#abcdef", "position": 7, "isDefault": false,
        "createdAt": office.now().to_string(), "updatedAt": office.now().to_string(),
    });
    assert_eq!(status, expected);
    let unchanged = Done::Status { changed: false, created: false };
    assert_eq!(office.done(save_status(values)).await, unchanged);
    assert_eq!(office.status(Kind::Folder, "Invoiced").await, expected);

    let renamed = change_status(&status, json!({ "name": "Paid", "group": "cancelled" }));
    assert_eq!(office.done(renamed).await, CHANGED);
    expected["name"] = "Paid".into();
    expected["group"] = "cancelled".into();
    expected["updatedAt"] = office.now().to_string().into();
    assert_eq!(office.status(Kind::Folder, "Paid").await, expected);

    let nowhere = StatusRef::Name("Nowhere".into());
    let unknown = Command::SaveStatus { target: Some(nowhere), input: StatusInput::default() };
    let not_found = Refusal::NotFound { what: "status", key: "Nowhere".into() };
    assert_eq!(office.refusal(unknown).await, not_found);
    let incomplete = save_status(json!({ "name": "x" }));
    assert_eq!(office.wrong_fields(incomplete).await, ["appliesTo"]);
    let incomplete = save_status(json!({ "appliesTo": "folder" }));
    assert_eq!(office.wrong_fields(incomplete).await, ["name"]);
    let grey = save_status(json!({ "name": "x", "appliesTo": "folder", "color": "grey" }));
    assert_eq!(office.wrong_fields(grey).await, ["color"]);
}

async fn statuses_are_listed_in_the_order_of_creation_by_page_and_term(office: Office) {
    let (all, total) = office.statuses(&[("limit", "100")]).await;
    assert_eq!((all.len() as u64, text(&all[0], "name")), (total, "Quoted".into()));
    let mut paged = Vec::new();
    for page in ["1", "2", "3", "4"] {
        let (content, of) = office.statuses(&[("page", page), ("limit", "5")]).await;
        assert_eq!(of, total);
        paged.extend(content);
    }
    assert_eq!(paged, all);
    assert_eq!(office.statuses(&[("page", "5"), ("limit", "5")]).await, (vec![], total));
    assert_eq!(office.statuses(&[("page", "2147483647")]).await, (vec![], total));
    let late = json!({ "name": "Bâtiment", "appliesTo": "folder", "position": 0 });
    office.done(save_status(late)).await;
    let (all, total) = office.statuses(&[("limit", "100")]).await;
    assert_eq!((all.len() as u64, text(all.last().unwrap(), "name")), (total, "Bâtiment".into()));
    let (found, total) = office.statuses(&[("term", "ATI")]).await;
    assert_eq!((found.len(), total, text(&found[0], "name")), (1, 1, "Bâtiment".into()));
    let (review, total) = office.statuses(&[("term", "review"), ("limit", "1")]).await;
    assert_eq!((review.len(), total), (1, 2));
    assert_eq!(office.statuses(&[("term", "folder")]).await.1, 0, "only the name is searched");
}

async fn names_are_unique_within_a_kind_without_regard_to_case_or_accents(office: Office) {
    let relevé = json!({ "name": "Relevé", "appliesTo": "folder" });
    office.done(save_status(relevé)).await;
    let status = office.status(Kind::Folder, "Quoted").await;
    for taken in ["relevé", "RELEVE", "Releve\u{301}"] {
        let rename = change_status(&status, json!({ "name": taken }));
        assert_eq!(office.wrong_fields(rename).await, ["name"], "{taken}");
    }
    // Another kind may have it, and saving under it again is a change of the one there is.
    let other_kind = save_status(json!({ "name": "Relevé", "appliesTo": "budget" }));
    assert_eq!(office.done(other_kind).await, Done::Status { changed: true, created: true });
    let again = save_status(json!({ "name": "RELEVE", "appliesTo": "folder" }));
    assert_eq!(office.done(again).await, CHANGED);
    assert!(names(&office, Kind::Folder).await.contains(&"RELEVE".to_owned()));
    // Records name it likewise.
    let folder = office.create(Kind::Folder, json!({ "name": "x", "status": "relevé" })).await;
    assert_eq!(folder["statusId"], office.status(Kind::Folder, "RELEVE").await["id"]);
}

async fn names_can_be_swapped_within_one_change(office: Office) {
    let quoted = office.status(Kind::Folder, "Quoted").await;
    let drawing = office.status(Kind::Folder, "Drawing").await;
    office
        .apply(vec![
            change_status(&quoted, json!({ "name": "Aside" })),
            change_status(&drawing, json!({ "name": "Quoted" })),
            change_status(&quoted, json!({ "name": "Drawing" })),
        ])
        .await
        .unwrap();
    assert_eq!(office.status(Kind::Folder, "Quoted").await["id"], drawing["id"]);
    assert_eq!(office.status(Kind::Folder, "Drawing").await["id"], quoted["id"]);
}

async fn a_status_keeps_its_kind(office: Office) {
    let quoted = office.status(Kind::Folder, "Quoted").await;
    let command = change_status(&quoted, json!({ "appliesTo": "budget" }));
    let (refused, _) = refusal(office.apply(vec![command]).await);
    assert!(matches!(refused, Refusal::Invalid(_) | Refusal::NotFound { .. }), "{refused}");
    assert_eq!(office.status(Kind::Folder, "Quoted").await, quoted);
}

async fn there_is_always_one_default(office: Office) {
    let review = office.status(Kind::Folder, "Review").await;
    office.done(change_status(&review, json!({ "isDefault": true }))).await;
    assert_eq!(defaults(&office, Kind::Folder).await, ["Review"]);
    assert_eq!(defaults(&office, Kind::Assignment).await, ["To do"]);
    let quoted = office.status(Kind::Folder, "Quoted").await;
    assert_eq!(quoted["updatedAt"], office.now().to_string());
    let review = change_status(&review, json!({ "isDefault": false }));
    assert_eq!(office.wrong_fields(review).await, ["isDefault"]);
    // Within one change it is passed on in any order.
    let quoted = office.status(Kind::Folder, "Quoted").await;
    let review = office.status(Kind::Folder, "Review").await;
    office
        .apply(vec![
            change_status(&review, json!({ "isDefault": false })),
            change_status(&quoted, json!({ "isDefault": true })),
        ])
        .await
        .unwrap();
    assert_eq!(defaults(&office, Kind::Folder).await, ["Quoted"]);
    let new = json!({ "name": "First", "appliesTo": "folder", "isDefault": true });
    office.done(save_status(new)).await;
    assert_eq!(defaults(&office, Kind::Folder).await, ["First"]);
}

async fn new_records_start_with_the_default(office: Office) {
    let review = office.status(Kind::Folder, "Review").await;
    let change_default = change_status(&review, json!({ "isDefault": true }));
    let folder = new(Kind::Folder, json!({ "reference": "x", "name": "x" }));
    office.apply(vec![change_default, folder]).await.unwrap();
    assert_eq!(office.shown(Kind::Folder, "x").await["statusId"], review["id"]);
    let none = office.create(Kind::Folder, json!({ "name": "y", "status": null })).await;
    assert_eq!(none["statusId"], Value::Null, "none is asked for");
}

async fn a_status_that_nothing_has_is_deleted_alone(office: Office) {
    assert_eq!(office.done(delete_status(Kind::Folder, "drawing", None)).await, CHANGED);
    assert!(!names(&office, Kind::Folder).await.contains(&"Drawing".to_owned()));
    let again = delete_status(Kind::Folder, "Drawing", None);
    assert_eq!(office.wrong_fields(again).await, ["status"]);
}

async fn a_status_in_use_is_deleted_only_with_a_replacement(office: Office) {
    office.furnish().await;
    for (kind, used, heir) in [
        (Kind::Folder, "Drawing", "Review"),
        (Kind::Assignment, "Review", "Done"),
        (Kind::Budget, "Closed", "Approved"),
    ] {
        office.update(kind, "in", json!({ "status": used })).await;
        assert_eq!(office.wrong_fields(delete_status(kind, used, None)).await, ["replacement"]);
        for wrong in [used, "Nowhere"] {
            let wrong = delete_status(kind, used, Some(wrong));
            assert_eq!(office.wrong_fields(wrong).await, ["replacement"]);
        }
        let mark = office.mark().await;
        assert_eq!(office.done(delete_status(kind, used, Some(heir))).await, CHANGED);
        let record = office.shown(kind, "in").await;
        assert_eq!(record["statusId"], office.status(kind, heir).await["id"]);
        assert_eq!(record["version"], 3);
        assert_eq!(office.events(mark).await, [format!("{kind}.updated in")]);
        assert!(!names(&office, kind).await.contains(&used.to_owned()));
    }
    let assignment = office.shown(Kind::Assignment, "in").await;
    assert!(assignment["completedAt"].is_string(), "the heir is done, so it is done");
}

async fn a_status_given_up_in_the_same_change_is_free_to_go(office: Office) {
    office.furnish().await;
    office.update(Kind::Folder, "in", json!({ "status": "Drawing" })).await;
    office
        .apply(vec![
            change(Kind::Folder, "in", json!({ "status": "Review" })),
            delete_status(Kind::Folder, "Drawing", None),
        ])
        .await
        .unwrap();
    // And one that was only just taken is not.
    let taken = vec![
        change(Kind::Folder, "in", json!({ "status": "Field work" })),
        delete_status(Kind::Folder, "Field work", None),
    ];
    let (refused, index) = refusal(office.apply(taken).await);
    assert_eq!((refused.to_string().contains("in use"), index), (true, 1));
}

async fn the_default_is_deleted_only_with_an_heir(office: Office) {
    let alone = delete_status(Kind::Budget, "Draft", None);
    assert_eq!(office.wrong_fields(alone).await, ["replacement"]);
    office.done(delete_status(Kind::Budget, "Draft", Some("Closed"))).await;
    assert_eq!(defaults(&office, Kind::Budget).await, ["Closed"]);
}

async fn a_status_that_becomes_done_completes_its_assignments(office: Office) {
    office.furnish().await;
    let other = json!({ "reference": "other", "folder": "in", "title": "x", "status": "Review" });
    office.create(Kind::Assignment, other).await;
    let to_do = office.status(Kind::Assignment, "To do").await;
    let mark = office.mark().await;
    office.done(change_status(&to_do, json!({ "group": "done" }))).await;
    assert_eq!(office.events(mark).await, ["assignment.updated in"]);
    let done = office.shown(Kind::Assignment, "in").await;
    assert_eq!(done["completedAt"], office.now().to_string());
    assert_eq!(done["version"], 2);
    assert_eq!(office.shown(Kind::Assignment, "other").await["completedAt"], Value::Null);

    office.done(change_status(&to_do, json!({ "group": "inProgress" }))).await;
    let undone = office.shown(Kind::Assignment, "in").await;
    assert_eq!((&undone["completedAt"], &undone["version"]), (&Value::Null, &json!(3)));
    let mark = office.mark().await;
    office.done(change_status(&to_do, json!({ "group": "cancelled" }))).await;
    assert_eq!(office.events(mark).await, [""; 0], "neither was nor is done");
}

async fn a_renamed_status_changes_no_record(office: Office) {
    office.furnish().await;
    let mark = office.mark().await;
    let quoted = office.status(Kind::Folder, "Quoted").await;
    office.done(change_status(&quoted, json!({ "name": "Offered", "color": "#000000" }))).await;
    assert_eq!(office.events(mark).await, [""; 0]);
    assert_eq!(office.shown(Kind::Folder, "in").await["version"], 1);
}

async fn changes_of_statuses_are_on_the_audit_trail_and_no_event(office: Office) {
    let mark = office.mark().await;
    office.done(save_status(json!({ "name": "A", "appliesTo": "folder" }))).await;
    let made = office.status(Kind::Folder, "A").await;
    office.done(change_status(&made, json!({ "name": "B" }))).await;
    let changed = office.status(Kind::Folder, "B").await;
    office.done(delete_status(Kind::Folder, "B", None)).await;
    let trail = office.trail(mark).await;
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
    assert_eq!(office.events(mark).await, [""; 0]);
}
