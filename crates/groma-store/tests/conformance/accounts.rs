//! First setup, sessions, login throttling, invitations, and leaving a workspace.

use crate::{
    Fixture,
    fixture::{OWNER, domain_error, token, user},
    on_both_engines,
};
use groma_domain::{
    Currency, DomainError, Email, Kind, Role, Scope, SessionId, Timestamp, UserId,
    secret::{Secret, SecretHash},
    workspace::WorkspaceName,
};
use groma_store::{
    Actor, AuthOutcome, LoginAttemptOutcome, NewInvitation, NewSession, NewToken, PasswordChange,
    Preferences, SecurityLogFilter, ThrottleBucket, ThrottleRule,
};
use serde_json::json;

on_both_engines! {
    setup_is_rejected_if_a_user_exists
    session_is_found_by_its_secret_until_it_expires
    all_sessions_end_together
    password_change_ends_the_other_sessions
    login_attempts_are_counted_before_they_are_checked
    failed_logins_delay_the_next_one
    invitation_adds_one_member_with_its_role
    invitation_is_limited_by_the_current_role_of_its_creator
    removed_members_tokens_are_revoked_permanently
    workspace_name_and_currency_can_be_changed
    members_create_their_own_tokens_and_admins_revoke_all
}

fn secret(number: u8) -> Secret {
    Secret::new([number; 32])
}

fn email(text: &str) -> Email {
    Email::parse(text).unwrap()
}

async fn open(fixture: &Fixture, number: u8, ends_at: Timestamp) -> SessionId {
    let account = fixture.store.account(&email(OWNER)).await.unwrap().unwrap();
    let session = NewSession {
        hash: secret(number).hash(),
        user: account.user,
        user_agent: "Browser".to_owned(),
        address: "192.0.2.1".to_owned(),
        has_second_factor: false,
        provider: None,
        now: fixture.tick(),
        ends_at,
    };
    fixture.store.create_session(session, Some(secret(200).hash())).await.unwrap()
}

/// The password of a user becomes `hash`, and their tokens stay.
fn password_change(user: UserId, session: SessionId, now: Timestamp) -> PasswordChange {
    let (hash, address) = ("hash".to_owned(), "192.0.2.1".to_owned());
    PasswordChange { session, user, hash, revoke_tokens: false, address, now }
}

async fn setup_is_rejected_if_a_user_exists(fixture: Fixture) {
    assert!(fixture.store.has_users().await.unwrap());
    let name = WorkspaceName::parse("Second").unwrap();
    let set_up =
        fixture.store.set_up(name, Currency::EUR, user("new@office.test", None), fixture.tick());
    let (error, _) = domain_error(set_up.await);
    assert!(matches!(error, DomainError::Invalid(_)), "{error}");
    assert_eq!(fixture.store.workspaces().await.unwrap().len(), 1);
}

async fn session_is_found_by_its_secret_until_it_expires(fixture: Fixture) {
    let branch = fixture.new_workspace("Branch").await;
    let ends_at = fixture.now().plus_millis(60_000);
    let id = open(&fixture, 1, ends_at).await;
    let session =
        async |number: u8, now| fixture.store.session(&secret(number).hash(), now).await.unwrap();
    let found = session(1, fixture.now()).await.expect("a session");
    assert_eq!((found.id, found.email.as_str(), found.workspace), (id, OWNER, None));
    let names: Vec<_> = found.memberships.iter().map(|m| m.workspace.name.as_str()).collect();
    assert_eq!(names, ["Branch", "Office"], "sorted by name");
    assert!(found.memberships.iter().all(|member| member.role == Role::Owner));
    assert!(session(2, fixture.now()).await.is_none());
    assert!(session(1, ends_at).await.is_none());
    fixture.store.select_workspace(id, found.user, branch.workspace_id).await.unwrap();
    let later = ends_at.plus_millis(60_000);
    fixture.store.touch_session(id, fixture.tick(), later).await.unwrap();
    let found = session(1, ends_at).await.expect("a valid session");
    assert_eq!((found.workspace, found.ends_at), (Some(branch.workspace_id), later));
    assert_eq!(found.preferences, Preferences::default());
    let chosen = Preferences { language: Some("fr".into()), theme: Some("dark".into()) };
    fixture.store.set_preferences(id, chosen.clone(), fixture.now()).await.unwrap();
    assert_eq!(session(1, ends_at).await.unwrap().preferences, chosen);
    // The next login starts in the last workspace.
    let next = open(&fixture, 3, later).await;
    assert_eq!(session(3, fixture.now()).await.unwrap().workspace, Some(branch.workspace_id));
    let listed = fixture.store.sessions(found.user, fixture.now()).await.unwrap();
    assert_eq!(listed.iter().map(|row| row.id).collect::<Vec<_>>(), [next, id]);
    assert_eq!(
        (listed[0].user_agent.as_str(), listed[0].address.as_str()),
        ("Browser", "192.0.2.1")
    );
    assert!(fixture.store.is_known_device(found.user, &secret(200).hash()).await.unwrap());
    assert!(!fixture.store.is_known_device(found.user, &secret(201).hash()).await.unwrap());
    fixture.store.end_session(found.user, id).await.unwrap();
    assert!(session(1, fixture.now()).await.is_none());
    assert!(session(3, fixture.now()).await.is_some());
}

async fn all_sessions_end_together(fixture: Fixture) {
    let ends_at = fixture.now().plus_millis(60_000);
    let (kept, ended) = (open(&fixture, 1, ends_at).await, open(&fixture, 2, ends_at).await);
    let user = fixture.store.account(&email(OWNER)).await.unwrap().unwrap().user;
    let end = async |session, keep_own| {
        fixture.store.end_sessions(session, keep_own, "192.0.2.1".to_owned(), fixture.tick()).await
    };
    let open_sessions = async || {
        let rows = fixture.store.sessions(user, fixture.now()).await.unwrap();
        rows.into_iter().map(|row| row.id).collect::<Vec<_>>()
    };
    end(kept, true).await.unwrap();
    assert_eq!(open_sessions().await, [kept]);
    // A session that ended ends no others.
    let (error, _) = domain_error(end(ended, false).await);
    assert_eq!(error, DomainError::AccessEnded);
    assert_eq!(open_sessions().await, [kept]);
    end(kept, false).await.unwrap();
    assert_eq!(open_sessions().await, []);
    let entries = fixture.store.security_entries(SecurityLogFilter::default(), 2).await.unwrap();
    let logged: Vec<_> = entries
        .iter()
        .map(|entry| (entry.action.as_str(), entry.user, entry.address.as_deref()))
        .collect();
    let by = |action| (action, Some(user), Some("192.0.2.1"));
    assert_eq!(logged, [by("session.allEnded"), by("session.othersEnded")]);
}

async fn password_change_ends_the_other_sessions(fixture: Fixture) {
    let ends_at = fixture.now().plus_millis(60_000);
    let (kept, _) = (open(&fixture, 1, ends_at).await, open(&fixture, 2, ends_at).await);
    let account = fixture.store.account(&email(OWNER)).await.unwrap().unwrap();
    fixture
        .store
        .change_password(password_change(account.user, kept, fixture.now()))
        .await
        .unwrap();
    let count = async || fixture.store.sessions(account.user, fixture.now()).await.unwrap().len();
    assert_eq!(count().await, 1);
    let account = fixture.store.account(&email(OWNER)).await.unwrap().unwrap();
    assert_eq!(account.password_hash.as_deref(), Some("hash"));
    fixture
        .store
        .set_password(email(OWNER), "other".to_owned(), false, fixture.now())
        .await
        .unwrap();
    assert_eq!(count().await, 0);
}

async fn login_attempts_are_counted_before_they_are_checked(fixture: Fixture) {
    let begin = async |names: &[&str], now| {
        let buckets = buckets(names, ThrottleRule::Limit(3));
        fixture.store.begin_login_attempt(buckets, now).await.unwrap()
    };
    let now = fixture.tick();
    // Of many concurrent attempts only the allowed number passes.
    let tasks = (0..8).map(|_| {
        let buckets = buckets(&["both", "account"], ThrottleRule::Limit(3));
        let store = fixture.store.clone();
        tokio::spawn(async move { store.begin_login_attempt(buckets, now).await.unwrap() })
    });
    let end = now.plus_millis(15 * MINUTE);
    let first = LoginAttemptOutcome::Rejected { retry_at: end, is_first: true };
    let (mut passed, mut rejected_first) = (0, 0);
    for task in tasks.collect::<Vec<_>>() {
        let outcome = task.await.unwrap();
        passed += usize::from(outcome == LoginAttemptOutcome::Accepted);
        rejected_first += usize::from(outcome == first);
    }
    assert_eq!((passed, rejected_first), (3, 1));
    let rejected = begin(&["other", "account"], now).await;
    let expected = LoginAttemptOutcome::Rejected { retry_at: end, is_first: false };
    assert_eq!(rejected, expected, "any full bucket rejects the attempt");
    let later = now.plus_millis(1);
    assert_eq!(begin(&["other"], later).await, LoginAttemptOutcome::Accepted);
    // A successful attempt is not counted and clears the first bucket.
    let succeeded = buckets(&["both", "account"], ThrottleRule::Limit(3));
    fixture.store.clear_login_attempt(succeeded, now).await.unwrap();
    assert_eq!(begin(&["both", "account"], later).await, LoginAttemptOutcome::Accepted);
    let after = end.plus_millis(2);
    for _ in 0..3 {
        let outcome = begin(&["both", "account", "other"], after).await;
        assert_eq!(outcome, LoginAttemptOutcome::Accepted, "old attempts do not count");
    }
}

async fn failed_logins_delay_the_next_one(fixture: Fixture) {
    let rule = ThrottleRule::Backoff { after: 10 };
    let begin = async |now| {
        fixture.store.begin_login_attempt(buckets(&["account"], rule), now).await.unwrap()
    };
    let start = fixture.tick();
    let mut now = start;
    for _ in 0..10 {
        assert_eq!(begin(now).await, LoginAttemptOutcome::Accepted);
    }
    for seconds in [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900, 900] {
        let retry_at = now.plus_millis(seconds * 1_000);
        // Attempts within the delay do not count, or one who tries all the time would never come in.
        for (early, is_first) in [(0, true), (seconds * 1_000 - 1, false)] {
            let outcome = begin(now.plus_millis(early)).await;
            assert_eq!(outcome, LoginAttemptOutcome::Rejected { retry_at, is_first });
        }
        assert_eq!(begin(retry_at).await, LoginAttemptOutcome::Accepted);
        now = retry_at;
    }
    let other = fixture.store.begin_login_attempt(buckets(&["other"], rule), now).await.unwrap();
    assert_eq!(other, LoginAttemptOutcome::Accepted, "other accounts are not delayed");
    // After a day without failures, and after a success, there is no delay.
    let next_day = now.plus_millis(24 * 60 * MINUTE);
    for _ in 0..10 {
        assert_eq!(begin(next_day).await, LoginAttemptOutcome::Accepted);
    }
    assert_ne!(begin(next_day).await, LoginAttemptOutcome::Accepted);
    fixture.store.clear_login_attempt(buckets(&["account"], rule), next_day).await.unwrap();
    assert_eq!(begin(next_day).await, LoginAttemptOutcome::Accepted);
}

const MINUTE: i64 = 60 * 1_000;

fn buckets(names: &[&str], rule: ThrottleRule) -> Vec<ThrottleBucket> {
    names.iter().map(|name| ThrottleBucket { name: (*name).to_owned(), rule }).collect()
}

fn invitation(number: u8, role: Role, ends_at: Timestamp) -> NewInvitation {
    NewInvitation {
        id: None,
        hash: secret(number).hash(),
        role,
        email: email("crew@office.test"),
        expires_at: ends_at,
        mail: None,
    }
}

fn hash(number: u8) -> SecretHash {
    secret(number).hash()
}

async fn invitation_adds_one_member_with_its_role(fixture: Fixture) {
    let ends_at = fixture.now().plus_millis(60_000);
    let admin = fixture.member(Role::Admin).await;
    let invite = async |actor, new| {
        fixture.store.invite(fixture.workspace_id, actor, new, fixture.tick()).await
    };
    let id = invite(admin.actor, invitation(1, Role::Editor, ends_at)).await.unwrap();
    let (error, _) = domain_error(invite(admin.actor, invitation(2, Role::Owner, ends_at)).await);
    assert_eq!(error, DomainError::Forbidden { required_role: Role::Owner });
    let open = fixture.store.invitations(fixture.workspace_id, fixture.now()).await.unwrap();
    assert_eq!((open.len(), open[0].id, open[0].role), (1, id, Role::Editor));
    assert!(fixture.store.invitations(fixture.workspace_id, ends_at).await.unwrap().is_empty());
    let (place, found) = fixture.store.invitation(&hash(1), fixture.now()).await.unwrap().unwrap();
    assert_eq!((place.id, found.id), (fixture.workspace_id, id));
    let accept = async |number, who: &str, is_stranger, now| {
        fixture.store.accept_invitation(hash(number), user(who, None), is_stranger, now).await
    };
    assert!(
        accept(1, "late@office.test", true, ends_at).await.is_err(),
        "the invitation has expired"
    );
    for is_stranger in [true, false] {
        let (error, _) = domain_error(accept(1, OWNER, is_stranger, fixture.tick()).await);
        assert!(error.to_string().contains("must be crew@office.test"), "{error}");
    }
    let for_owner = NewInvitation { email: email(OWNER), ..invitation(4, Role::Editor, ends_at) };
    invite(admin.actor, for_owner).await.unwrap();
    let (error, _) = domain_error(accept(4, OWNER, true, fixture.tick()).await);
    assert!(error.to_string().contains("belongs to an existing account"), "{error}");
    let (error, _) = domain_error(accept(4, OWNER, false, fixture.tick()).await);
    assert!(error.to_string().contains("already a member"), "{error}");
    let (place, member) = accept(1, "crew@office.test", true, fixture.tick()).await.unwrap();
    assert_eq!((place, member.role), (fixture.workspace_id, Role::Editor));
    let (error, _) = domain_error(accept(1, "other@office.test", true, fixture.tick()).await);
    assert!(
        matches!(error, DomainError::NotFound { .. }),
        "the invitation was used already: {error}"
    );
    // A revoked invitation.
    let named =
        NewInvitation { email: email("Some@office.test"), ..invitation(3, Role::Viewer, ends_at) };
    let id = invite(admin.actor, named).await.unwrap();
    let (error, _) = domain_error(accept(3, "else@office.test", true, fixture.tick()).await);
    assert!(matches!(error, DomainError::Invalid(_)), "{error}");
    fixture
        .store
        .cancel_invitation(fixture.workspace_id, admin.actor, id, fixture.tick())
        .await
        .unwrap();
    assert!(accept(3, "some@office.test", true, fixture.tick()).await.is_err());
}

async fn invitation_is_limited_by_the_current_role_of_its_creator(fixture: Fixture) {
    let ends_at = fixture.now().plus_millis(60_000);
    let admin = fixture.member(Role::Admin).await;
    fixture
        .store
        .invite(
            fixture.workspace_id,
            admin.actor,
            invitation(1, Role::Viewer, ends_at),
            fixture.tick(),
        )
        .await
        .unwrap();
    let demoted = user("admin@office.test", None);
    fixture
        .store
        .add_member(fixture.workspace_id, Actor::Operator, demoted, Role::Viewer, fixture.tick())
        .await
        .unwrap();
    let accepted = fixture.store.accept_invitation(
        hash(1),
        user("crew@office.test", None),
        true,
        fixture.tick(),
    );
    let (error, _) = domain_error(accepted.await);
    assert!(matches!(error, DomainError::NotFound { .. }), "{error}");
    assert!(
        !fixture.store.has_user(&email("crew@office.test")).await.unwrap(),
        "nothing was changed"
    );
}

fn new_token(fixture: &Fixture, number: u8, owner: &str) -> NewToken {
    NewToken {
        id: None,
        workspace: fixture.workspace_id,
        owner: email(owner),
        name: "x".to_owned(),
        hash: token(number).hash(),
        hint: "abcd".to_owned(),
        scopes: [Scope::ReadFolder].into_iter().collect(),
        expires_at: None,
        is_read_only: false,
        notice: None,
    }
}

async fn removed_members_tokens_are_revoked_permanently(fixture: Fixture) {
    let editor = fixture.member(Role::Editor).await;
    let admin = fixture.member(Role::Admin).await;
    let new = new_token(&fixture, 7, "editor@office.test");
    fixture.store.create_token(new.clone(), editor.actor, fixture.tick()).await.unwrap();
    let is_known = async || {
        let admitted =
            fixture.store.authenticate(token(7).presented(), 0, None, fixture.now()).await.unwrap();
        matches!(admitted, AuthOutcome::Valid { .. })
    };
    assert!(is_known().await);
    let Actor::Member(person) = editor.actor else { unreachable!("a member") };
    let Actor::Member(admin_person) = admin.actor else { unreachable!("a member") };
    let remove = async |actor, who| {
        fixture.store.remove_member(fixture.workspace_id, actor, who, fixture.tick()).await
    };
    let (error, _) = domain_error(remove(editor.actor, admin_person).await);
    assert_eq!(error, DomainError::Forbidden { required_role: Role::Admin });
    remove(admin.actor, person).await.unwrap();
    assert!(!is_known().await);
    fixture
        .store
        .add_member(
            fixture.workspace_id,
            Actor::Operator,
            user("editor@office.test", None),
            Role::Editor,
            fixture.tick(),
        )
        .await
        .unwrap();
    assert!(!is_known().await, "the token stays revoked");
    // A member can leave, but not as the last owner.
    remove(editor.actor, person).await.unwrap();
    let people = fixture.store.people(fixture.workspace_id).await.unwrap();
    let owner = people.iter().find(|known| known.person.email.as_str() == OWNER).unwrap().person.id;
    let (error, _) = domain_error(remove(Actor::Operator, owner).await);
    assert!(error.to_string().contains("a workspace needs an owner"), "{error}");
    // Records keep the person's name.
    let folder =
        fixture.create(Kind::Folder, json!({ "name": "x", "owner": "editor@office.test" })).await;
    assert_eq!(folder["owner"]["id"], person.to_string());
}

async fn workspace_name_and_currency_can_be_changed(fixture: Fixture) {
    fixture.new_workspace("Branch").await;
    let change = async |actor, name: &str, code: &str| {
        let name = WorkspaceName::parse(name).unwrap();
        let currency = code.parse().unwrap();
        fixture
            .store
            .change_workspace(fixture.workspace_id, actor, name, currency, fixture.tick())
            .await
    };
    let editor = fixture.member(Role::Editor).await;
    let (error, _) = domain_error(change(editor.actor, "Bureau", "CHF").await);
    assert_eq!(error, DomainError::Forbidden { required_role: Role::Admin });
    let (error, _) = domain_error(change(fixture.actor, "BRANCH", "CHF").await);
    assert!(matches!(error, DomainError::Invalid(_)), "{error}");
    let changed = change(fixture.actor, "Bureau", "CHF").await.unwrap();
    assert_eq!((changed.name.as_str(), changed.currency.code()), ("Bureau", "CHF"));
    let mark = fixture.audit_position().await;
    change(fixture.actor, "bureau", "CHF").await.unwrap();
    let trail = fixture.audit_log(mark).await;
    assert_eq!((trail.len(), trail[0].action.as_str()), (1, "workspace.updated"));
    let folder = fixture.create(Kind::Folder, json!({ "name": "x" })).await;
    assert_eq!(folder["currency"], "CHF");
}

async fn members_create_their_own_tokens_and_admins_revoke_all(fixture: Fixture) {
    let (editor, viewer) = (fixture.member(Role::Editor).await, fixture.member(Role::Viewer).await);
    let admin = fixture.member(Role::Admin).await;
    let make = async |new, actor| fixture.store.create_token(new, actor, fixture.tick()).await;
    let others = make(new_token(&fixture, 1, "editor@office.test"), viewer.actor).await;
    assert!(matches!(domain_error(others).0, DomainError::NotFound { .. }));
    let id = make(new_token(&fixture, 1, "editor@office.test"), editor.actor).await.unwrap();
    let again = NewToken { id: Some(id), ..new_token(&fixture, 2, "editor@office.test") };
    assert!(
        matches!(domain_error(make(again, editor.actor).await).0, DomainError::Invalid(_)),
        "a repeated request creates one token"
    );
    let revoke = async |actor| {
        fixture.store.revoke_token(fixture.workspace_id, id, actor, fixture.tick()).await
    };
    assert_eq!(
        domain_error(revoke(viewer.actor).await).0,
        DomainError::Forbidden { required_role: Role::Admin }
    );
    revoke(editor.actor).await.unwrap();
    revoke(admin.actor).await.unwrap();
    let branch = fixture.new_workspace("Branch").await;
    let elsewhere =
        fixture.store.revoke_token(branch.workspace_id, id, Actor::Operator, fixture.tick()).await;
    assert!(matches!(domain_error(elsewhere).0, DomainError::NotFound { .. }));
}
