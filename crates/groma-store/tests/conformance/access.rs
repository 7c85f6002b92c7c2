//! Coming in: the one set-up, sessions, attempts to log in, invitations, and leaving.

use crate::{
    Office,
    office::{OWNER, refusal, token, user},
    on_both_engines,
};
use groma_domain::{
    Currency, Email, Kind, Refusal, Role, Scope, Timestamp,
    session::{Secret, SecretHash},
    workspace::WorkspaceName,
};
use groma_store::{
    ATTEMPT_COUNTS_FOR_MILLIS, Actor, Admission, Bucket, NewInvitation, NewSession, NewToken,
};
use serde_json::json;

on_both_engines! {
    a_set_up_is_refused_once_there_is_a_user
    a_session_is_found_by_its_secret_until_it_ends
    a_changed_password_ends_the_other_sessions
    attempts_are_counted_before_they_are_tried
    an_invitation_makes_one_member_of_the_role_it_names
    an_invitation_is_worth_what_its_maker_may_give_now
    who_leaves_takes_the_tokens_along_for_good
    a_workspace_changes_its_name_and_currency
    tokens_are_made_for_oneself_and_revoked_by_those_who_may
}

fn secret(number: u8) -> Secret {
    Secret::new([number; 32])
}

fn email(text: &str) -> Email {
    Email::parse(text).unwrap()
}

async fn open(office: &Office, number: u8, ends_at: Timestamp) -> groma_domain::SessionId {
    let account = office.store.account(&email(OWNER)).await.unwrap().unwrap();
    let session = NewSession {
        hash: secret(number).hash(),
        user: account.user,
        user_agent: "Browser".to_owned(),
        address: "192.0.2.1".to_owned(),
        now: office.tick(),
        ends_at,
    };
    office.store.open_session(session, Some(secret(200).hash())).await.unwrap()
}

async fn a_set_up_is_refused_once_there_is_a_user(office: Office) {
    assert!(office.store.has_users().await.unwrap());
    let name = WorkspaceName::parse("Second").unwrap();
    let set_up =
        office.store.set_up(name, Currency::EUR, user("new@office.test", None), office.tick());
    let (refused, _) = refusal(set_up.await);
    assert!(matches!(refused, Refusal::Invalid(_)), "{refused}");
    assert_eq!(office.store.workspaces().await.unwrap().len(), 1);
}

async fn a_session_is_found_by_its_secret_until_it_ends(office: Office) {
    let branch = office.neighbour("Branch").await;
    let ends_at = office.now().plus_millis(60_000);
    let id = open(&office, 1, ends_at).await;
    let session =
        async |number: u8, now| office.store.session(&secret(number).hash(), now).await.unwrap();
    let found = session(1, office.now()).await.expect("a session");
    assert_eq!((found.id, found.email.as_str(), found.workspace), (id, OWNER, None));
    let names: Vec<_> = found.memberships.iter().map(|m| m.workspace.name.as_str()).collect();
    assert_eq!(names, ["Branch", "Office"], "by name");
    assert!(found.memberships.iter().all(|member| member.role == Role::Owner));
    assert!(session(2, office.now()).await.is_none());
    assert!(session(1, ends_at).await.is_none());
    office.store.enter_workspace(id, found.user, branch.workspace).await.unwrap();
    let later = ends_at.plus_millis(60_000);
    office.store.touch_session(id, office.tick(), later).await.unwrap();
    let found = session(1, ends_at).await.expect("it goes on");
    assert_eq!((found.workspace, found.ends_at), (Some(branch.workspace), later));
    // The next login begins where the last one was.
    let next = open(&office, 3, later).await;
    assert_eq!(session(3, office.now()).await.unwrap().workspace, Some(branch.workspace));
    let listed = office.store.sessions(found.user, office.now()).await.unwrap();
    assert_eq!(listed.iter().map(|row| row.id).collect::<Vec<_>>(), [next, id]);
    assert_eq!(
        (listed[0].user_agent.as_str(), listed[0].address.as_str()),
        ("Browser", "192.0.2.1")
    );
    assert!(office.store.knows_device(found.user, &secret(200).hash()).await.unwrap());
    assert!(!office.store.knows_device(found.user, &secret(201).hash()).await.unwrap());
    office.store.end_session(found.user, id).await.unwrap();
    assert!(session(1, office.now()).await.is_none());
    assert!(session(3, office.now()).await.is_some());
}

async fn a_changed_password_ends_the_other_sessions(office: Office) {
    let ends_at = office.now().plus_millis(60_000);
    let (kept, _) = (open(&office, 1, ends_at).await, open(&office, 2, ends_at).await);
    let account = office.store.account(&email(OWNER)).await.unwrap().unwrap();
    office.store.change_password(account.user, "hash".to_owned(), kept).await.unwrap();
    let count = async || office.store.sessions(account.user, office.now()).await.unwrap().len();
    assert_eq!(count().await, 1);
    let account = office.store.account(&email(OWNER)).await.unwrap().unwrap();
    assert_eq!(account.password_hash.as_deref(), Some("hash"));
    office.store.set_password(email(OWNER), "other".to_owned()).await.unwrap();
    assert_eq!(count().await, 0);
}

async fn attempts_are_counted_before_they_are_tried(office: Office) {
    let buckets = |names: &[&str]| -> Vec<Bucket> {
        names.iter().map(|name| Bucket { name: (*name).to_owned(), limit: 3 }).collect()
    };
    let begin =
        async |names: &[&str], now| office.store.begin_attempt(buckets(names), now).await.unwrap();
    let now = office.tick();
    // Many at once: no more than are allowed pass.
    let tasks = (0..8).map(|_| {
        let (store, buckets) = (office.store.clone(), buckets(&["both", "account"]));
        tokio::spawn(async move { store.begin_attempt(buckets, now).await.unwrap() })
    });
    let mut passed = 0;
    for task in tasks.collect::<Vec<_>>() {
        passed += usize::from(task.await.unwrap());
    }
    assert_eq!(passed, 3);
    assert!(!begin(&["other", "account"], now).await, "any full bucket refuses");
    let later = now.plus_millis(1);
    assert!(begin(&["other"], later).await);
    // One that succeeded is taken back, and the first bucket with it.
    office.store.forget_attempt(buckets(&["both", "account"]), now).await.unwrap();
    assert!(begin(&["both", "account"], later).await);
    let after = now.plus_millis(ATTEMPT_COUNTS_FOR_MILLIS + 2);
    for _ in 0..3 {
        assert!(begin(&["both", "account", "other"], after).await, "old ones do not count");
    }
}

fn invitation(number: u8, role: Role, ends_at: Timestamp) -> NewInvitation {
    NewInvitation { hash: secret(number).hash(), role, email: None, expires_at: ends_at }
}

fn hash(number: u8) -> SecretHash {
    secret(number).hash()
}

async fn an_invitation_makes_one_member_of_the_role_it_names(office: Office) {
    let ends_at = office.now().plus_millis(60_000);
    let admin = office.member(Role::Admin).await;
    let invite =
        async |actor, new| office.store.invite(office.workspace, actor, new, office.tick()).await;
    let id = invite(admin.actor, invitation(1, Role::Editor, ends_at)).await.unwrap();
    let (refused, _) = refusal(invite(admin.actor, invitation(2, Role::Owner, ends_at)).await);
    assert_eq!(refused, Refusal::Forbidden { needs: Role::Owner });
    let open = office.store.invitations(office.workspace, office.now()).await.unwrap();
    assert_eq!((open.len(), open[0].id, open[0].role), (1, id, Role::Editor));
    assert!(office.store.invitations(office.workspace, ends_at).await.unwrap().is_empty());
    let (place, found) = office.store.invitation(&hash(1), office.now()).await.unwrap().unwrap();
    assert_eq!((place.id, found.id), (office.workspace, id));
    let accept = async |number, who: &str, is_stranger, now| {
        office.store.accept_invitation(hash(number), user(who, None), is_stranger, now).await
    };
    assert!(accept(1, "late@office.test", true, ends_at).await.is_err(), "too late");
    let (refused, _) = refusal(accept(1, OWNER, true, office.tick()).await);
    assert!(refused.to_string().contains("is known here"), "{refused}");
    let (refused, _) = refusal(accept(1, OWNER, false, office.tick()).await);
    assert!(refused.to_string().contains("member already"), "{refused}");
    let (place, member) = accept(1, "crew@office.test", true, office.tick()).await.unwrap();
    assert_eq!((place, member.role), (office.workspace, Role::Editor));
    let (refused, _) = refusal(accept(1, "other@office.test", true, office.tick()).await);
    assert!(matches!(refused, Refusal::NotFound { .. }), "used up: {refused}");
    // For one address only, and taken back.
    let named = NewInvitation {
        email: Some(email("Some@office.test")),
        ..invitation(3, Role::Viewer, ends_at)
    };
    let id = invite(admin.actor, named).await.unwrap();
    let (refused, _) = refusal(accept(3, "else@office.test", true, office.tick()).await);
    assert!(matches!(refused, Refusal::Invalid(_)), "{refused}");
    office.store.cancel_invitation(office.workspace, admin.actor, id, office.tick()).await.unwrap();
    assert!(accept(3, "some@office.test", true, office.tick()).await.is_err());
}

async fn an_invitation_is_worth_what_its_maker_may_give_now(office: Office) {
    let ends_at = office.now().plus_millis(60_000);
    let admin = office.member(Role::Admin).await;
    office
        .store
        .invite(office.workspace, admin.actor, invitation(1, Role::Viewer, ends_at), office.tick())
        .await
        .unwrap();
    let demoted = user("admin@office.test", None);
    office
        .store
        .add_member(office.workspace, Actor::Operator, demoted, Role::Viewer, office.tick())
        .await
        .unwrap();
    let accepted = office.store.accept_invitation(
        hash(1),
        user("crew@office.test", None),
        true,
        office.tick(),
    );
    let (refused, _) = refusal(accepted.await);
    assert!(matches!(refused, Refusal::NotFound { .. }), "{refused}");
    assert!(!office.store.has_user(&email("crew@office.test")).await.unwrap(), "nothing half done");
}

fn new_token(office: &Office, number: u8, owner: &str) -> NewToken {
    NewToken {
        id: None,
        workspace: office.workspace,
        owner: email(owner),
        name: "x".to_owned(),
        hash: token(number).hash(),
        hint: "abcd".to_owned(),
        scopes: [Scope::ReadFolder].into_iter().collect(),
        expires_at: None,
    }
}

async fn who_leaves_takes_the_tokens_along_for_good(office: Office) {
    let editor = office.member(Role::Editor).await;
    let admin = office.member(Role::Admin).await;
    let new = new_token(&office, 7, "editor@office.test");
    office.store.create_token(new.clone(), editor.actor, office.tick()).await.unwrap();
    let is_known = async || {
        let admitted = office.store.admit(token(7).sent(), 0, office.now()).await.unwrap();
        matches!(admitted, Admission::Known { .. })
    };
    assert!(is_known().await);
    let Actor::Member { person, .. } = editor.actor else { unreachable!("a member") };
    let Actor::Member { person: admin_person, .. } = admin.actor else { unreachable!("a member") };
    let remove = async |actor, who| {
        office.store.remove_member(office.workspace, actor, who, office.tick()).await
    };
    let (refused, _) = refusal(remove(editor.actor, admin_person).await);
    assert_eq!(refused, Refusal::Forbidden { needs: Role::Admin });
    remove(admin.actor, person).await.unwrap();
    assert!(!is_known().await);
    office
        .store
        .add_member(
            office.workspace,
            Actor::Operator,
            user("editor@office.test", None),
            Role::Editor,
            office.tick(),
        )
        .await
        .unwrap();
    assert!(!is_known().await, "it stays ended");
    // One may go by oneself, but not as the last owner.
    remove(editor.actor, person).await.unwrap();
    let people = office.store.people(office.workspace).await.unwrap();
    let owner = people.iter().find(|known| known.person.email.as_str() == OWNER).unwrap().person.id;
    let (refused, _) = refusal(remove(Actor::Operator, owner).await);
    assert!(refused.to_string().contains("the last owner stays"), "{refused}");
    // Records keep the name.
    let folder =
        office.create(Kind::Folder, json!({ "name": "x", "owner": "editor@office.test" })).await;
    assert_eq!(folder["owner"]["id"], person.to_string());
}

async fn a_workspace_changes_its_name_and_currency(office: Office) {
    office.neighbour("Branch").await;
    let change = async |actor, name: &str, code: &str| {
        let name = WorkspaceName::parse(name).unwrap();
        let currency = code.parse().unwrap();
        office.store.change_workspace(office.workspace, actor, name, currency, office.tick()).await
    };
    let editor = office.member(Role::Editor).await;
    let (refused, _) = refusal(change(editor.actor, "Bureau", "CHF").await);
    assert_eq!(refused, Refusal::Forbidden { needs: Role::Admin });
    let (refused, _) = refusal(change(office.actor, "BRANCH", "CHF").await);
    assert!(matches!(refused, Refusal::Invalid(_)), "{refused}");
    let changed = change(office.actor, "Bureau", "CHF").await.unwrap();
    assert_eq!((changed.name.as_str(), changed.currency.code()), ("Bureau", "CHF"));
    let mark = office.mark().await;
    change(office.actor, "bureau", "CHF").await.unwrap();
    let trail = office.trail(mark).await;
    assert_eq!((trail.len(), trail[0].action.as_str()), (1, "workspace.updated"));
    let folder = office.create(Kind::Folder, json!({ "name": "x" })).await;
    assert_eq!(folder["currency"], "CHF");
}

async fn tokens_are_made_for_oneself_and_revoked_by_those_who_may(office: Office) {
    let (editor, viewer) = (office.member(Role::Editor).await, office.member(Role::Viewer).await);
    let admin = office.member(Role::Admin).await;
    let make = async |new, actor| office.store.create_token(new, actor, office.tick()).await;
    let others = make(new_token(&office, 1, "editor@office.test"), viewer.actor).await;
    assert!(matches!(refusal(others).0, Refusal::NotFound { .. }));
    let id = make(new_token(&office, 1, "editor@office.test"), editor.actor).await.unwrap();
    let again = NewToken { id: Some(id), ..new_token(&office, 2, "editor@office.test") };
    assert!(
        matches!(refusal(make(again, editor.actor).await).0, Refusal::Invalid(_)),
        "asked twice, made once"
    );
    let revoke =
        async |actor| office.store.revoke_token(office.workspace, id, actor, office.tick()).await;
    assert_eq!(refusal(revoke(viewer.actor).await).0, Refusal::Forbidden { needs: Role::Admin });
    revoke(editor.actor).await.unwrap();
    revoke(admin.actor).await.unwrap();
    let branch = office.neighbour("Branch").await;
    let elsewhere =
        office.store.revoke_token(branch.workspace, id, Actor::Operator, office.tick()).await;
    assert!(matches!(refusal(elsewhere).0, Refusal::NotFound { .. }));
}
