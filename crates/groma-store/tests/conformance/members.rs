//! People in records, members and their roles.

use crate::{
    Fixture,
    fixture::{
        OWNER, TestWorkspace, change, delete, delete_status, domain_error, new, save_status, user,
        wait_for_other_connections,
    },
    on_both_engines,
};
use groma_domain::{DomainError, Email, Kind, Role};
use groma_store::Actor;
use serde_json::{Value, json};

on_both_engines! {
    unknown_email_address_creates_a_person
    email_addresses_are_case_insensitive
    person_can_be_given_by_id
    concurrent_uses_of_an_address_create_one_person
    new_member_takes_over_the_person_with_their_address
    changed_name_is_in_lists_exports_and_searches
    user_keeps_their_name_unless_another_is_given
    member_name_is_per_workspace
    viewer_cannot_change_anything
    editor_can_change_records_but_not_statuses
    admin_can_change_statuses_and_members_below_owner
    only_owners_can_add_owners
    last_owner_cannot_be_removed
    member_changes_are_in_the_audit_log
    audit_log_has_the_actor
    user_is_found_by_address_and_has_a_password
    concurrent_invitations_of_an_address_create_one_user
}

async fn add(workspace: &TestWorkspace, email: &str, name: Option<&str>, role: Role) {
    let now = workspace.tick();
    workspace
        .store
        .add_member(workspace.workspace_id, workspace.actor, user(email, name), role, now)
        .await
        .unwrap();
}

async fn unknown_email_address_creates_a_person(fixture: Fixture) {
    let folder = json!({ "name": "x", "owner": "field.crew-two@office.test" });
    let folder = fixture.create(Kind::Folder, folder).await;
    let owner = &folder["owner"];
    assert_eq!(owner["name"], "Field crew two");
    assert_eq!(owner["email"], "field.crew-two@office.test");
    assert!(
        !fixture
            .store
            .has_user(&Email::parse("field.crew-two@office.test").unwrap())
            .await
            .unwrap()
    );
    // Later uses find the same person, and not the one of another workspace.
    let again = json!({ "name": "x", "owner": "field.crew-two@office.test" });
    assert_eq!(fixture.create(Kind::Folder, again.clone()).await["owner"], *owner);
    let next = fixture.new_workspace("Next door").await;
    assert_ne!(next.create(Kind::Folder, again).await["owner"]["id"], owner["id"]);
}

async fn email_addresses_are_case_insensitive(fixture: Fixture) {
    let written = json!({ "name": "x", "owner": "Crew@Office.test" });
    let first = fixture.create(Kind::Folder, written).await;
    assert_eq!(first["owner"]["email"], "Crew@Office.test", "in its first spelling");
    let otherwise = json!({ "name": "x", "owner": "crew@OFFICE.TEST" });
    assert_eq!(fixture.create(Kind::Folder, otherwise).await["owner"], first["owner"]);
    let lead = json!({ "name": "x", "owner": OWNER.to_uppercase() });
    assert_eq!(fixture.create(Kind::Folder, lead).await["owner"]["name"], "Survey lead");
}

async fn person_can_be_given_by_id(fixture: Fixture) {
    fixture.seed_folder().await;
    let crew =
        fixture.create(Kind::Folder, json!({ "name": "x", "owner": "crew@office.test" })).await;
    let id = &crew["owner"]["id"];
    let by_id = fixture.update(Kind::Folder, "in", json!({ "owner": id })).await;
    assert_eq!(by_id["owner"], crew["owner"]);
    let assignees = json!({ "assignees": [{ "id": id }, { "email": OWNER }, "new@office.test"] });
    let assigned = fixture.update(Kind::Assignment, "in", assignees).await;
    let names: Vec<_> =
        assigned["assignees"].as_array().unwrap().iter().map(|p| p["name"].clone()).collect();
    assert_eq!(names, ["Crew", "Survey lead", "New"]);
}

async fn concurrent_uses_of_an_address_create_one_person(fixture: Fixture) {
    let tasks = (0..20).map(|_| {
        let workspace = (*fixture).clone();
        tokio::spawn(async move {
            let folder = json!({ "name": "x", "owner": "crew@office.test" });
            workspace.create(Kind::Folder, folder).await["owner"].clone()
        })
    });
    let mut ids = Vec::new();
    for task in tasks.collect::<Vec<_>>() {
        ids.push(task.await.unwrap());
    }
    ids.dedup();
    assert_eq!(ids.len(), 1, "{ids:?}");
}

async fn new_member_takes_over_the_person_with_their_address(fixture: Fixture) {
    fixture.seed_folder().await;
    let people = json!({ "owner": "crew@office.test" });
    let before = fixture.update(Kind::Folder, "in", people).await;
    let two = json!({ "assignees": ["crew@office.test", OWNER] });
    fixture.update(Kind::Assignment, "in", two).await;
    let expense = json!({
        "reference": "in", "folder": "in", "unitAmount": 1, "incurredOn": "2026-03-01",
        "submittedBy": "crew@office.test",
    });
    fixture.create(Kind::Expense, expense).await;
    let position = fixture.audit_position().await;
    let added = fixture.store.add_member(
        fixture.workspace_id,
        fixture.actor,
        user("CREW@office.test", Some("Ada Crew")),
        Role::Editor,
        fixture.tick(),
    );
    let member = added.await.unwrap();
    assert_eq!((member.role, member.is_new), (Role::Editor, true));
    assert_eq!(before["owner"]["id"], member.person.id.to_string(), "the same person id");
    let after = fixture.find(Kind::Folder, "in").await;
    let expected = json!({
        "id": before["owner"]["id"], "name": "Ada Crew", "email": "CREW@office.test",
    });
    assert_eq!(after["owner"], expected);
    for field in ["version", "updatedAt"] {
        assert_eq!(after[field], before[field], "the record has changed");
    }
    let assignment = fixture.find(Kind::Assignment, "in").await;
    assert_eq!(assignment["assignees"][0], expected);
    assert_eq!(assignment["assignees"][1]["name"], "Survey lead");
    assert_eq!(fixture.find(Kind::Expense, "in").await["submittedBy"], expected);
    assert_eq!(fixture.events(position).await, [""; 0], "a renamed person sends no event");
}

async fn changed_name_is_in_lists_exports_and_searches(fixture: Fixture) {
    let other = fixture.reopen().await;
    let folder = json!({ "reference": "in", "name": "Oak", "owner": "crew@office.test" });
    fixture.create(Kind::Folder, folder).await;
    wait_for_other_connections().await;
    for (name, workspace) in [("Crew", &*fixture), ("Crew", &other)] {
        assert_eq!(workspace.find(Kind::Folder, "in").await["owner"]["name"], name);
    }
    add(&other, "crew@office.test", Some("Ada Crew"), Role::Viewer).await;
    wait_for_other_connections().await;
    for workspace in [&*fixture, &other] {
        let (listed, _) = workspace.list(Kind::Folder, &[]).await;
        assert_eq!(listed[0]["owner"]["name"], "Ada Crew");
        for term in ["oa", "oak"] {
            let (found, _) = workspace.list(Kind::Folder, &[("term", term)]).await;
            assert_eq!(found[0]["owner"]["name"], "Ada Crew");
        }
        let exported =
            workspace.store.export(workspace.workspace_id, Kind::Folder, 0, 10).await.unwrap();
        let exported: Value = serde_json::from_slice(&exported[0].document).unwrap();
        assert_eq!(exported["owner"]["name"], "Ada Crew");
        assert_eq!(workspace.find(Kind::Folder, "in").await["owner"]["name"], "Ada Crew");
    }
    // The next event has the new name, but not as a change of the record.
    fixture.update(Kind::Folder, "in", json!({ "name": "Elm" })).await;
    let trail = fixture.audit_log(0).await;
    let last = trail.last().unwrap();
    assert!(last.after.as_ref().unwrap().contains("Ada Crew"));
    assert!(!last.before.as_ref().unwrap().contains("owner"));
}

async fn user_keeps_their_name_unless_another_is_given(fixture: Fixture) {
    add(&fixture, "ada@office.test", Some("Ada"), Role::Editor).await;
    for (workspace, given, expected) in
        [("Next door", None, "Ada"), ("Across", Some("Ada Lovelace"), "Ada Lovelace")]
    {
        let next = fixture.new_workspace(workspace).await;
        let folder = json!({ "reference": "in", "name": "x", "owner": "ADA@office.test" });
        next.create(Kind::Folder, folder).await;
        add(&next, "Ada@office.test", given, Role::Viewer).await;
        assert_eq!(next.find(Kind::Folder, "in").await["owner"]["name"], expected);
    }
}

async fn member_name_is_per_workspace(fixture: Fixture) {
    let next = fixture.new_workspace("Next door").await;
    for workspace in [&*fixture, &next] {
        let folder = json!({ "reference": "in", "name": "x", "owner": "ada@office.test" });
        workspace.create(Kind::Folder, folder).await;
        add(workspace, "ada@office.test", Some("Ada"), Role::Viewer).await;
    }
    let position = fixture.audit_position().await;
    let name = async |workspace: &TestWorkspace| {
        workspace.find(Kind::Folder, "in").await["owner"]["name"].clone()
    };
    add(&fixture, "ada@office.test", Some("Ada Lovelace"), Role::Viewer).await;
    assert_eq!(name(&fixture).await, "Ada Lovelace");
    add(&fixture, "ada@office.test", None, Role::Editor).await;
    assert_eq!(name(&fixture).await, "Ada Lovelace", "changing the role keeps the name");
    assert_eq!(name(&next).await, "Ada");
    assert_eq!(fixture.events(position).await, [""; 0]);
}

async fn viewer_cannot_change_anything(fixture: Fixture) {
    fixture.seed_folder().await;
    let viewer = fixture.member(Role::Viewer).await;
    let forbidden = DomainError::Forbidden { required_role: Role::Editor };
    for command in [
        new(Kind::Folder, json!({ "name": "x" })),
        change(Kind::Folder, "in", json!({ "name": "x" })),
        change(Kind::Folder, "in", json!({})),
        delete(Kind::Expense, "nowhere"),
        delete(Kind::Folder, "in"),
    ] {
        assert_eq!(viewer.domain_error(command).await, forbidden);
    }
    let status = save_status(json!({ "name": "x", "appliesTo": "folder" }));
    assert_eq!(
        viewer.domain_error(status).await,
        DomainError::Forbidden { required_role: Role::Admin }
    );
    assert_eq!(viewer.find(Kind::Folder, "in").await["name"], "Boundary survey");
}

async fn editor_can_change_records_but_not_statuses(fixture: Fixture) {
    let editor = fixture.member(Role::Editor).await;
    editor.seed_folder().await;
    editor.update(Kind::Budget, "in", json!({ "amount": 5 })).await;
    editor.delete(Kind::Folder, "in").await;
    let forbidden = DomainError::Forbidden { required_role: Role::Admin };
    let status = save_status(json!({ "name": "x", "appliesTo": "folder" }));
    assert_eq!(editor.domain_error(status).await, forbidden);
    assert_eq!(editor.domain_error(delete_status(Kind::Folder, "Drawing", None)).await, forbidden);
    assert_eq!(try_add(&editor, "x@office.test", Role::Viewer).await, Err(forbidden));
}

async fn admin_can_change_statuses_and_members_below_owner(fixture: Fixture) {
    let admin = fixture.member(Role::Admin).await;
    admin.seed_folder().await;
    admin.run(save_status(json!({ "name": "x", "appliesTo": "folder" }))).await;
    admin.run(delete_status(Kind::Folder, "x", None)).await;
    for role in [Role::Viewer, Role::Editor, Role::Admin] {
        try_add(&admin, "x@office.test", role).await.unwrap();
    }
}

async fn only_owners_can_add_owners(fixture: Fixture) {
    let admin = fixture.member(Role::Admin).await;
    let forbidden = Err(DomainError::Forbidden { required_role: Role::Owner });
    assert_eq!(try_add(&admin, "x@office.test", Role::Owner).await, forbidden);
    assert_eq!(
        try_add(&admin, OWNER, Role::Viewer).await,
        forbidden,
        "an admin cannot demote an owner"
    );
    let owner = fixture.member(Role::Owner).await;
    try_add(&owner, "x@office.test", Role::Owner).await.unwrap();
    try_add(&owner, OWNER, Role::Viewer).await.unwrap();
}

async fn last_owner_cannot_be_removed(fixture: Fixture) {
    let error = try_add(&fixture, OWNER, Role::Admin).await.unwrap_err();
    assert!(error.to_string().contains("a workspace needs an owner"), "{error}");
    try_add(&fixture, OWNER, Role::Owner).await.unwrap();
    try_add(&fixture, "second@office.test", Role::Owner).await.unwrap();
    try_add(&fixture, OWNER, Role::Admin).await.unwrap();
    let error = try_add(&fixture, "second@office.test", Role::Viewer).await.unwrap_err();
    assert!(error.to_string().contains("a workspace needs an owner"), "{error}");
    // Of two owners who leave concurrently one stays.
    try_add(&fixture, OWNER, Role::Owner).await.unwrap();
    let (one, two) = tokio::join!(
        try_add(&fixture, OWNER, Role::Viewer),
        try_add(&fixture, "second@office.test", Role::Viewer),
    );
    assert_eq!([one.is_ok(), two.is_ok()].iter().filter(|left| **left).count(), 1);
}

async fn try_add(workspace: &TestWorkspace, email: &str, role: Role) -> Result<(), DomainError> {
    let user = user(email, None);
    let added = workspace
        .store
        .add_member(workspace.workspace_id, workspace.actor, user, role, workspace.tick())
        .await;
    match added {
        Ok(member) => {
            assert_eq!(member.role, role);
            Ok(())
        }
        Err(error) => Err(domain_error::<()>(Err(error)).0),
    }
}

async fn member_changes_are_in_the_audit_log(fixture: Fixture) {
    let owner = fixture.member(Role::Owner).await;
    let Actor::Member(who) = owner.actor else { panic!("a member") };
    let position = fixture.audit_position().await;
    add(&owner, "x@office.test", None, Role::Viewer).await;
    add(&owner, "x@office.test", None, Role::Editor).await;
    let trail = fixture.audit_log(position).await;
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

async fn audit_log_has_the_actor(fixture: Fixture) {
    let editor = fixture.member(Role::Editor).await;
    let Actor::Member(person) = editor.actor else { panic!("a member") };
    let position = fixture.audit_position().await;
    editor.create(Kind::Folder, json!({ "name": "x" })).await;
    let made_at = fixture.now();
    fixture.update(Kind::Folder, "F-000001", json!({ "name": "y" })).await;
    let trail = fixture.audit_log(position).await;
    let lines: Vec<_> = trail.iter().map(|row| (row.actor, row.at)).collect();
    assert_eq!(lines, [(Some(person), made_at), (None, fixture.now())]);
}

async fn user_is_found_by_address_and_has_a_password(fixture: Fixture) {
    let email = |text| Email::parse(text).unwrap();
    assert!(fixture.store.has_user(&email("LEAD@office.test")).await.unwrap());
    assert!(!fixture.store.has_user(&email("x@office.test")).await.unwrap());
    fixture
        .store
        .set_password(email("Lead@office.test"), "hash".into(), false, fixture.now())
        .await
        .unwrap();
    let unknown = fixture
        .store
        .set_password(email("x@office.test"), "hash".into(), false, fixture.now())
        .await;
    let not_found = DomainError::NotFound { resource: "user", key: "x@office.test".into() };
    assert_eq!(domain_error(unknown).0, not_found);
}

async fn concurrent_invitations_of_an_address_create_one_user(fixture: Fixture) {
    let mut workspaces = Vec::new();
    for number in 0..8 {
        workspaces.push(fixture.new_workspace(&format!("Office {number}")).await);
    }
    // Repeated, so that some attempts really overlap.
    for round in 0..10 {
        let tasks = workspaces.iter().cloned().map(|workspace| {
            let email = format!("{round}@office.test");
            tokio::spawn(async move { try_add(&workspace, &email, Role::Viewer).await })
        });
        for task in tasks.collect::<Vec<_>>() {
            task.await.unwrap().unwrap();
        }
    }
}
