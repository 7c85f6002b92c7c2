//! People in records, members and their roles.

use crate::{
    Office,
    office::{
        Desk, OWNER, a_moment, change, delete, delete_status, new, refusal, save_status, user,
    },
    on_both_engines,
};
use groma_domain::{Email, Kind, Permission, Refusal, Role};
use groma_store::Actor;
use serde_json::{Value, json};

on_both_engines! {
    an_unknown_address_becomes_a_person
    an_address_names_the_same_person_whatever_its_case
    a_person_is_named_by_id_too
    one_person_is_made_however_many_name_them_at_once
    a_member_takes_over_the_person_of_their_address_and_their_name_shows_at_once
    a_changed_name_shows_in_lists_exports_and_searches_and_through_another_opening
    a_user_brings_their_name_along_unless_another_is_given
    a_member_is_renamed_here_and_keeps_that_name
    a_viewer_changes_nothing
    an_editor_changes_records_and_no_statuses
    an_admin_changes_statuses_and_members_below_owner
    only_an_owner_names_owners
    the_last_owner_stays
    a_change_of_members_is_on_the_audit_trail
    the_audit_trail_tells_who
    a_user_is_known_by_address_and_has_a_password
    one_address_made_a_member_of_two_workspaces_at_once_is_one_user
}

async fn add(desk: &Desk, email: &str, name: Option<&str>, role: Role) {
    let now = desk.tick();
    desk.store.add_member(desk.workspace, desk.actor, user(email, name), role, now).await.unwrap();
}

async fn an_unknown_address_becomes_a_person(office: Office) {
    let folder = json!({ "name": "x", "owner": "field.crew-two@office.test" });
    let folder = office.create(Kind::Folder, folder).await;
    let owner = &folder["owner"];
    assert_eq!(owner["name"], "Field crew two");
    assert_eq!(owner["email"], "field.crew-two@office.test");
    assert!(
        !office.store.has_user(&Email::parse("field.crew-two@office.test").unwrap()).await.unwrap()
    );
    // The same one from then on, and not the one of next door.
    let again = json!({ "name": "x", "owner": "field.crew-two@office.test" });
    assert_eq!(office.create(Kind::Folder, again.clone()).await["owner"], *owner);
    let next = office.neighbour("Next door").await;
    assert_ne!(next.create(Kind::Folder, again).await["owner"]["id"], owner["id"]);
}

async fn an_address_names_the_same_person_whatever_its_case(office: Office) {
    let written = json!({ "name": "x", "owner": "Crew@Office.test" });
    let first = office.create(Kind::Folder, written).await;
    assert_eq!(first["owner"]["email"], "Crew@Office.test", "as it was first written");
    let otherwise = json!({ "name": "x", "owner": "crew@OFFICE.TEST" });
    assert_eq!(office.create(Kind::Folder, otherwise).await["owner"], first["owner"]);
    let lead = json!({ "name": "x", "owner": OWNER.to_uppercase() });
    assert_eq!(office.create(Kind::Folder, lead).await["owner"]["name"], "Survey lead");
}

async fn a_person_is_named_by_id_too(office: Office) {
    office.furnish().await;
    let crew =
        office.create(Kind::Folder, json!({ "name": "x", "owner": "crew@office.test" })).await;
    let id = &crew["owner"]["id"];
    let by_id = office.update(Kind::Folder, "in", json!({ "owner": id })).await;
    assert_eq!(by_id["owner"], crew["owner"]);
    let assignees = json!({ "assignees": [{ "id": id }, { "email": OWNER }, "new@office.test"] });
    let assigned = office.update(Kind::Assignment, "in", assignees).await;
    let names: Vec<_> =
        assigned["assignees"].as_array().unwrap().iter().map(|p| p["name"].clone()).collect();
    assert_eq!(names, ["Crew", "Survey lead", "New"]);
}

async fn one_person_is_made_however_many_name_them_at_once(office: Office) {
    let tasks = (0..20).map(|_| {
        let desk = (*office).clone();
        tokio::spawn(async move {
            let folder = json!({ "name": "x", "owner": "crew@office.test" });
            desk.create(Kind::Folder, folder).await["owner"].clone()
        })
    });
    let mut seen = Vec::new();
    for task in tasks.collect::<Vec<_>>() {
        seen.push(task.await.unwrap());
    }
    seen.dedup();
    assert_eq!(seen.len(), 1, "{seen:?}");
}

async fn a_member_takes_over_the_person_of_their_address_and_their_name_shows_at_once(
    office: Office,
) {
    office.furnish().await;
    let people = json!({ "owner": "crew@office.test" });
    let before = office.update(Kind::Folder, "in", people).await;
    let two = json!({ "assignees": ["crew@office.test", OWNER] });
    office.update(Kind::Assignment, "in", two).await;
    let expense = json!({
        "reference": "in", "folder": "in", "unitAmount": 1, "incurredOn": "2026-03-01",
        "submittedBy": "crew@office.test",
    });
    office.create(Kind::Expense, expense).await;
    let mark = office.mark().await;
    let added = office.store.add_member(
        office.workspace,
        office.actor,
        user("CREW@office.test", Some("Ada Crew")),
        Role::Editor,
        office.tick(),
    );
    let member = added.await.unwrap();
    assert_eq!((member.role, member.is_new), (Role::Editor, true));
    assert_eq!(before["owner"]["id"], member.person.id.to_string(), "the same person");
    let after = office.shown(Kind::Folder, "in").await;
    let shown = json!({
        "id": before["owner"]["id"], "name": "Ada Crew", "email": "CREW@office.test",
    });
    assert_eq!(after["owner"], shown);
    for field in ["version", "updatedAt"] {
        assert_eq!(after[field], before[field], "the record itself did not change");
    }
    let assignment = office.shown(Kind::Assignment, "in").await;
    assert_eq!(assignment["assignees"][0], shown);
    assert_eq!(assignment["assignees"][1]["name"], "Survey lead");
    assert_eq!(office.shown(Kind::Expense, "in").await["submittedBy"], shown);
    assert_eq!(office.events(mark).await, [""; 0], "and that is no event");
}

async fn a_changed_name_shows_in_lists_exports_and_searches_and_through_another_opening(
    office: Office,
) {
    let other = office.reopened().await;
    let folder = json!({ "reference": "in", "name": "Oak", "owner": "crew@office.test" });
    office.create(Kind::Folder, folder).await;
    a_moment().await;
    for (name, workspace) in [("Crew", &*office), ("Crew", &other)] {
        assert_eq!(workspace.shown(Kind::Folder, "in").await["owner"]["name"], name);
    }
    add(&other, "crew@office.test", Some("Ada Crew"), Role::Viewer).await;
    a_moment().await;
    for desk in [&*office, &other] {
        let (listed, _) = desk.list(Kind::Folder, &[]).await;
        assert_eq!(listed[0]["owner"]["name"], "Ada Crew");
        for term in ["oa", "oak"] {
            let (found, _) = desk.list(Kind::Folder, &[("term", term)]).await;
            assert_eq!(found[0]["owner"]["name"], "Ada Crew");
        }
        let exported = desk.store.export(desk.workspace, Kind::Folder, 0, 10).await.unwrap();
        let exported: Value = serde_json::from_slice(&exported[0].json).unwrap();
        assert_eq!(exported["owner"]["name"], "Ada Crew");
        assert_eq!(desk.shown(Kind::Folder, "in").await["owner"]["name"], "Ada Crew");
    }
    // The next event tells it too, and does not call it a change of the record.
    office.update(Kind::Folder, "in", json!({ "name": "Elm" })).await;
    let trail = office.trail(0).await;
    let last = trail.last().unwrap();
    assert!(last.after.as_ref().unwrap().contains("Ada Crew"));
    assert!(!last.before.as_ref().unwrap().contains("owner"));
}

async fn a_user_brings_their_name_along_unless_another_is_given(office: Office) {
    add(&office, "ada@office.test", Some("Ada"), Role::Editor).await;
    for (workspace, given, shown) in
        [("Next door", None, "Ada"), ("Across", Some("Ada Lovelace"), "Ada Lovelace")]
    {
        let next = office.neighbour(workspace).await;
        let folder = json!({ "reference": "in", "name": "x", "owner": "ADA@office.test" });
        next.create(Kind::Folder, folder).await;
        add(&next, "Ada@office.test", given, Role::Viewer).await;
        assert_eq!(next.shown(Kind::Folder, "in").await["owner"]["name"], shown);
    }
}

async fn a_member_is_renamed_here_and_keeps_that_name(office: Office) {
    let next = office.neighbour("Next door").await;
    for desk in [&*office, &next] {
        let folder = json!({ "reference": "in", "name": "x", "owner": "ada@office.test" });
        desk.create(Kind::Folder, folder).await;
        add(desk, "ada@office.test", Some("Ada"), Role::Viewer).await;
    }
    let mark = office.mark().await;
    let name = async |desk: &Desk| desk.shown(Kind::Folder, "in").await["owner"]["name"].clone();
    add(&office, "ada@office.test", Some("Ada Lovelace"), Role::Viewer).await;
    assert_eq!(name(&office).await, "Ada Lovelace");
    add(&office, "ada@office.test", None, Role::Editor).await;
    assert_eq!(name(&office).await, "Ada Lovelace", "another role is no other name");
    assert_eq!(name(&next).await, "Ada");
    assert_eq!(office.events(mark).await, [""; 0]);
}

async fn a_viewer_changes_nothing(office: Office) {
    office.furnish().await;
    let viewer = office.member(Role::Viewer).await;
    let forbidden = Refusal::Forbidden { needs: Role::Editor };
    for command in [
        new(Kind::Folder, json!({ "name": "x" })),
        change(Kind::Folder, "in", json!({ "name": "x" })),
        change(Kind::Folder, "in", json!({})),
        delete(Kind::Expense, "nowhere"),
        delete(Kind::Folder, "in"),
    ] {
        assert_eq!(viewer.refusal(command).await, forbidden);
    }
    let status = save_status(json!({ "name": "x", "appliesTo": "folder" }));
    assert_eq!(viewer.refusal(status).await, Refusal::Forbidden { needs: Role::Admin });
    assert_eq!(viewer.shown(Kind::Folder, "in").await["name"], "Boundary survey");
}

async fn an_editor_changes_records_and_no_statuses(office: Office) {
    let editor = office.member(Role::Editor).await;
    editor.furnish().await;
    editor.update(Kind::Budget, "in", json!({ "amount": 5 })).await;
    editor.delete(Kind::Folder, "in").await;
    let forbidden = Refusal::Forbidden { needs: Role::Admin };
    let status = save_status(json!({ "name": "x", "appliesTo": "folder" }));
    assert_eq!(editor.refusal(status).await, forbidden);
    assert_eq!(editor.refusal(delete_status(Kind::Folder, "Drawing", None)).await, forbidden);
    assert_eq!(try_add(&editor, "x@office.test", Role::Viewer).await, Err(forbidden));
}

async fn an_admin_changes_statuses_and_members_below_owner(office: Office) {
    let admin = office.member(Role::Admin).await;
    admin.furnish().await;
    admin.done(save_status(json!({ "name": "x", "appliesTo": "folder" }))).await;
    admin.done(delete_status(Kind::Folder, "x", None)).await;
    for role in [Role::Viewer, Role::Editor, Role::Admin] {
        try_add(&admin, "x@office.test", role).await.unwrap();
    }
}

async fn only_an_owner_names_owners(office: Office) {
    let admin = office.member(Role::Admin).await;
    let forbidden = Err(Refusal::Forbidden { needs: Role::Owner });
    assert_eq!(try_add(&admin, "x@office.test", Role::Owner).await, forbidden);
    assert_eq!(try_add(&admin, OWNER, Role::Viewer).await, forbidden, "nor unmakes one");
    let owner = office.member(Role::Owner).await;
    try_add(&owner, "x@office.test", Role::Owner).await.unwrap();
    try_add(&owner, OWNER, Role::Viewer).await.unwrap();
}

async fn the_last_owner_stays(office: Office) {
    let refused = try_add(&office, OWNER, Role::Admin).await.unwrap_err();
    assert!(refused.to_string().contains("last owner"), "{refused}");
    try_add(&office, OWNER, Role::Owner).await.unwrap();
    try_add(&office, "second@office.test", Role::Owner).await.unwrap();
    try_add(&office, OWNER, Role::Admin).await.unwrap();
    let refused = try_add(&office, "second@office.test", Role::Viewer).await.unwrap_err();
    assert!(refused.to_string().contains("last owner"), "{refused}");
    // Two owners who leave at once are one too many.
    try_add(&office, OWNER, Role::Owner).await.unwrap();
    let (one, two) = tokio::join!(
        try_add(&office, OWNER, Role::Viewer),
        try_add(&office, "second@office.test", Role::Viewer),
    );
    assert_eq!([one.is_ok(), two.is_ok()].iter().filter(|left| **left).count(), 1);
}

async fn try_add(desk: &Desk, email: &str, role: Role) -> Result<(), Refusal> {
    let user = user(email, None);
    let added = desk.store.add_member(desk.workspace, desk.actor, user, role, desk.tick()).await;
    match added {
        Ok(member) => {
            assert_eq!(member.role, role);
            Ok(())
        }
        Err(error) => Err(refusal::<()>(Err(error)).0),
    }
}

async fn a_change_of_members_is_on_the_audit_trail(office: Office) {
    let owner = office.member(Role::Owner).await;
    let Actor::Member { person: who, .. } = owner.actor else { panic!("a member") };
    let mark = office.mark().await;
    add(&owner, "x@office.test", None, Role::Viewer).await;
    add(&owner, "x@office.test", None, Role::Editor).await;
    let trail = office.trail(mark).await;
    let lines: Vec<_> = trail
        .iter()
        .map(|row| (&*row.action, row.before.as_deref(), row.after.as_deref(), row.actor))
        .collect();
    let (viewer, editor) = (r#"{"role":"viewer"}"#, r#"{"role":"editor"}"#);
    assert_eq!(
        lines,
        [
            ("member.added", None, Some(viewer), Some(who)),
            ("member.updated", Some(viewer), Some(editor), Some(who)),
        ]
    );
}

async fn the_audit_trail_tells_who(office: Office) {
    let editor = office.member(Role::Editor).await;
    let Actor::Member { person, role } = editor.actor else { panic!("a member") };
    assert!(role.may(Permission::ChangeRecords));
    let mark = office.mark().await;
    editor.create(Kind::Folder, json!({ "name": "x" })).await;
    let made_at = office.now();
    office.update(Kind::Folder, "F-000001", json!({ "name": "y" })).await;
    let trail = office.trail(mark).await;
    let lines: Vec<_> = trail.iter().map(|row| (row.actor, row.at)).collect();
    assert_eq!(lines, [(Some(person), made_at), (None, office.now())]);
}

async fn a_user_is_known_by_address_and_has_a_password(office: Office) {
    let email = |text| Email::parse(text).unwrap();
    assert!(office.store.has_user(&email("LEAD@office.test")).await.unwrap());
    assert!(!office.store.has_user(&email("x@office.test")).await.unwrap());
    office.store.set_password(email("Lead@office.test"), "hash".into()).await.unwrap();
    let unknown = office.store.set_password(email("x@office.test"), "hash".into()).await;
    let not_found = Refusal::NotFound { what: "user", key: "x@office.test".into() };
    assert_eq!(refusal(unknown).0, not_found);
}

async fn one_address_made_a_member_of_two_workspaces_at_once_is_one_user(office: Office) {
    let mut desks = Vec::new();
    for number in 0..8 {
        desks.push(office.neighbour(&format!("Office {number}")).await);
    }
    // Several times, so that some really are at once.
    for round in 0..10 {
        let tasks = desks.iter().cloned().map(|desk| {
            let email = format!("{round}@office.test");
            tokio::spawn(async move { try_add(&desk, &email, Role::Viewer).await })
        });
        for task in tasks.collect::<Vec<_>>() {
            task.await.unwrap().unwrap();
        }
    }
}
