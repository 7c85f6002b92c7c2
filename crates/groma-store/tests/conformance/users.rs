//! Users of the installation: listing, disabling, enabling and deleting them, and who may do so.

use crate::{
    Fixture,
    fixture::{OWNER, TestWorkspace, domain_error, new, token, user},
    on_both_engines,
};
use groma_domain::{
    DomainError, Email, Kind, Role, SessionId, UserId, Violation, scope::Scopes, secret::Secret,
};
use groma_store::{
    AccountAuthority, Actor, AuthOutcome, DisableUser, Error, LinkPurpose, MailKind, NewEmailLink,
    NewInvitation, NewMail, NewSession, NewToken, PasswordChange, SecurityLogFilter, UserFilter,
    UserRow,
};
use serde_json::json;

on_both_engines! {
    users_are_listed_with_their_workspaces
    disabled_user_loses_sessions_and_rights_at_once
    disabled_user_cannot_begin_a_session_or_join
    disabling_revokes_tokens_unless_they_are_kept
    last_owner_cannot_be_disabled_or_deleted
    disabled_owner_does_not_count_as_an_owner
    only_owners_of_all_workspaces_change_an_account
    password_change_revokes_tokens_if_asked
    disabling_and_logging_in_at_the_same_time_leaves_no_session
}

const CREW: &str = "crew@office.test";
const HOUR: i64 = 60 * 60 * 1_000;

fn email(text: &str) -> Email {
    Email::parse(text).unwrap()
}

async fn user_of(workspace: &TestWorkspace, address: &str) -> UserId {
    workspace.store.account(&email(address)).await.unwrap().unwrap().user
}

/// Adds a member and returns the user.
async fn add(workspace: &TestWorkspace, address: &str, role: Role) -> UserId {
    let (id, now) = (workspace.workspace_id, workspace.tick());
    let member = user(address, None);
    workspace.store.add_member(id, Actor::Operator, member, role, now).await.unwrap();
    user_of(workspace, address).await
}

async fn open(workspace: &TestWorkspace, user: UserId, number: u8) -> Result<SessionId, Error> {
    let session = NewSession {
        hash: Secret::new([number; 32]).hash(),
        user,
        user_agent: "Browser".to_owned(),
        address: "192.0.2.1".to_owned(),
        has_second_factor: false,
        provider: None,
        now: workspace.tick(),
        ends_at: workspace.now().plus_millis(HOUR),
    };
    workspace.store.create_session(session, None).await
}

async fn new_token(workspace: &TestWorkspace, owner: &str, number: u8) {
    let new_token = NewToken {
        id: None,
        workspace: workspace.workspace_id,
        owner: email(owner),
        name: "Script".to_owned(),
        hash: token(number).hash(),
        hint: "abcd".to_owned(),
        scopes: Scopes::default(),
        expires_at: None,
        is_read_only: false,
        notice: None,
    };
    workspace.store.create_token(new_token, Actor::Operator, workspace.tick()).await.unwrap();
}

async fn is_valid(workspace: &TestWorkspace, number: u8) -> bool {
    let access = token(number);
    let outcome = workspace.store.authenticate(access.presented(), 0, None, workspace.now()).await;
    !matches!(outcome.unwrap(), AuthOutcome::Unknown)
}

async fn disable(
    workspace: &TestWorkspace,
    user: UserId,
    actor: Actor,
    revoke_tokens: bool,
) -> Result<(), Error> {
    let disable = DisableUser { user, actor, revoke_tokens, now: workspace.tick() };
    workspace.store.disable_user(disable).await
}

async fn row(workspace: &TestWorkspace, user: UserId) -> UserRow {
    workspace.store.users(UserFilter::User(user)).await.unwrap().remove(0)
}

async fn users_are_listed_with_their_workspaces(fixture: Fixture) {
    let branch = fixture.new_workspace("Branch").await;
    let crew = add(&fixture, CREW, Role::Editor).await;
    let seen_at = fixture.now().plus_millis(1_000);
    open(&fixture, crew, 1).await.unwrap();
    let all = fixture.store.users(UserFilter::All).await.unwrap();
    let lines: Vec<_> = all
        .iter()
        .map(|row| {
            let roles = row.workspaces.iter().map(|w| (w.name.as_str(), w.role));
            (row.email.as_str(), roles.collect::<Vec<_>>(), row.last_seen_at, row.disabled_at)
        })
        .collect();
    assert_eq!(
        lines,
        [
            (CREW, vec![("Office", Some(Role::Editor))], Some(seen_at), None),
            (OWNER, vec![("Branch", Some(Role::Owner)), ("Office", Some(Role::Owner))], None, None),
        ]
    );
    let there = fixture.store.users(UserFilter::Workspace(branch.workspace_id)).await.unwrap();
    assert_eq!(there.len(), 1);
    // It outlives the session.
    let session = fixture.store.sessions(crew, fixture.now()).await.unwrap()[0].id;
    fixture.store.end_session(crew, session).await.unwrap();
    assert_eq!(row(&fixture, crew).await.last_seen_at, Some(seen_at));
}

async fn disabled_user_loses_sessions_and_rights_at_once(fixture: Fixture) {
    let crew = add(&fixture, CREW, Role::Editor).await;
    let session = open(&fixture, crew, 1).await.unwrap();
    let mut acting = (*fixture).clone();
    acting.actor = Actor::Session(session);
    acting.apply(vec![new(Kind::Folder, json!({ "name": "x" }))]).await.unwrap();
    disable(&fixture, crew, Actor::Operator, true).await.unwrap();
    // Also through another connection, as a replica has it.
    let other = fixture.reopen().await;
    let hash = Secret::new([1; 32]).hash();
    assert!(fixture.store.session(&hash, fixture.now()).await.unwrap().is_none());
    assert!(other.store.session(&hash, other.now()).await.unwrap().is_none());
    let changed = acting.apply(vec![new(Kind::Folder, json!({ "name": "y" }))]).await;
    assert_eq!(domain_error(changed).0, DomainError::AccessEnded);
    assert!(row(&fixture, crew).await.disabled_at.is_some());
    let filter =
        SecurityLogFilter { action: Some("user.".to_owned()), ..SecurityLogFilter::default() };
    let entries = fixture.store.security_entries(filter, 10).await.unwrap();
    assert_eq!(entries[0].action, "user.disabled");
    assert_eq!(entries[0].subject_email.as_deref(), Some(CREW));
}

async fn disabled_user_cannot_begin_a_session_or_join(fixture: Fixture) {
    let branch = fixture.new_workspace("Branch").await;
    let crew = add(&fixture, CREW, Role::Editor).await;
    let link = Secret::new([7; 32]).hash();
    let mail = NewMail {
        kind: MailKind::PasswordReset,
        recipient: email(CREW),
        user: Some(crew),
        workspace: None,
        subject: String::new(),
        body: "A link".to_owned(),
        expires_at: fixture.now().plus_millis(HOUR),
    };
    let (purpose, expires_at) = (LinkPurpose::ResetPassword, fixture.now().plus_millis(HOUR));
    let new_link = NewEmailLink { hash: link, user: crew, purpose, expires_at, mail };
    assert!(fixture.store.send_email_link(new_link, fixture.tick()).await.unwrap());
    let secret = Secret::new([9; 32]).hash();
    let invitation = NewInvitation {
        id: None,
        hash: secret,
        role: Role::Viewer,
        email: email(CREW),
        expires_at,
        mail: None,
    };
    let (id, now) = (branch.workspace_id, branch.tick());
    branch.store.invite(id, Actor::Operator, invitation, now).await.unwrap();

    disable(&fixture, crew, Actor::Operator, true).await.unwrap();
    assert_eq!(domain_error(open(&fixture, crew, 2).await).0, DomainError::AccountDisabled);
    assert!(fixture.store.email_link(&link, purpose, fixture.now()).await.unwrap().is_none());
    assert_eq!(fixture.store.count_waiting_mails().await.unwrap(), 0);
    let join = || fixture.store.accept_invitation(secret, user(CREW, None), false, fixture.now());
    assert_eq!(domain_error(join().await).0, DomainError::AccountDisabled);

    fixture.store.enable_user(crew, Actor::Operator, fixture.tick()).await.unwrap();
    open(&fixture, crew, 3).await.unwrap();
    join().await.unwrap();
}

async fn disabling_revokes_tokens_unless_they_are_kept(fixture: Fixture) {
    let branch = fixture.new_workspace("Branch").await;
    let crew = add(&fixture, CREW, Role::Editor).await;
    add(&branch, CREW, Role::Viewer).await;
    new_token(&fixture, CREW, 1).await;
    new_token(&branch, CREW, 2).await;
    new_token(&fixture, OWNER, 3).await;
    disable(&fixture, crew, Actor::Operator, false).await.unwrap();
    assert!(is_valid(&fixture, 1).await && is_valid(&fixture, 2).await);
    // Also when the account is already disabled.
    disable(&fixture, crew, Actor::Operator, true).await.unwrap();
    assert!(!is_valid(&fixture, 1).await && !is_valid(&fixture, 2).await);
    assert!(is_valid(&fixture, 3).await);
}

async fn last_owner_cannot_be_disabled_or_deleted(fixture: Fixture) {
    let branch = fixture.new_workspace("Branch").await;
    let owner = user_of(&fixture, OWNER).await;
    let second = add(&fixture, "second@office.test", Role::Owner).await;
    let only = |workspaces: &str| {
        let workspaces = workspaces.to_owned();
        DomainError::invalid("user", Violation::LastOwnerOf { workspaces })
    };
    let disabled = disable(&fixture, owner, Actor::Operator, true).await;
    assert_eq!(domain_error(disabled).0, only("Branch"));
    let operator = AccountAuthority::Actor(Actor::Operator);
    let deleted = fixture.store.delete_user(owner, operator, fixture.tick()).await;
    assert_eq!(domain_error(deleted).0, only("Branch"));
    let session = AccountAuthority::Own(open(&fixture, owner, 1).await.unwrap());
    let deleted = fixture.store.delete_user(owner, session, fixture.tick()).await;
    assert_eq!(domain_error(deleted).0, only("Branch"));
    add(&branch, "second@office.test", Role::Owner).await;
    disable(&fixture, owner, Actor::Operator, true).await.unwrap();
    let disabled = domain_error(disable(&fixture, second, Actor::Operator, true).await).0;
    assert!(disabled == only("Branch, Office") || disabled == only("Office, Branch"), "{disabled}");
}

async fn disabled_owner_does_not_count_as_an_owner(fixture: Fixture) {
    let owner = user_of(&fixture, OWNER).await;
    add(&fixture, "second@office.test", Role::Owner).await;
    disable(&fixture, owner, Actor::Operator, true).await.unwrap();
    let (id, now) = (fixture.workspace_id, fixture.tick());
    let member = user("second@office.test", None);
    let demoted = fixture.store.add_member(id, Actor::Operator, member, Role::Admin, now).await;
    assert_eq!(domain_error(demoted).0, DomainError::invalid("role", Violation::LastOwner));
    // The disabled one can be removed.
    let people = fixture.store.people(id).await.unwrap();
    let person = people.iter().find(|known| known.person.email == email(OWNER)).unwrap();
    fixture.store.remove_member(id, Actor::Operator, person.person.id, now).await.unwrap();
}

async fn only_owners_of_all_workspaces_change_an_account(fixture: Fixture) {
    let branch = fixture.create_workspace("Branch", "other@office.test").await.unwrap();
    let branch = fixture.in_workspace(branch.id);
    let crew = add(&fixture, CREW, Role::Editor).await;
    let owner = user_of(&fixture, OWNER).await;
    let session = Actor::Session(open(&fixture, owner, 1).await.unwrap());
    let admin = add(&fixture, "admin@office.test", Role::Admin).await;
    let admin = Actor::Session(open(&fixture, admin, 2).await.unwrap());
    let forbidden = DomainError::Forbidden { required_role: Role::Owner };
    assert_eq!(domain_error(disable(&fixture, crew, admin, true).await).0, forbidden);
    disable(&fixture, crew, session, true).await.unwrap();
    fixture.store.enable_user(crew, session, fixture.tick()).await.unwrap();

    // The owner is no member of the other workspace.
    add(&branch, CREW, Role::Viewer).await;
    let rejected = domain_error(disable(&fixture, crew, session, true).await).0;
    assert!(matches!(rejected, DomainError::Forbidden { .. }), "{rejected}");
    let authority = AccountAuthority::Actor(session);
    let rejected = fixture.store.delete_user(crew, authority, fixture.tick()).await;
    assert!(matches!(domain_error(rejected).0, DomainError::Forbidden { .. }));
    // An account without any workspace is nobody's.
    let other = user_of(&fixture, "other@office.test").await;
    assert!(disable(&fixture, other, session, true).await.is_err());
    // A user deletes no account but their own.
    let own = AccountAuthority::Own(open(&fixture, crew, 3).await.unwrap());
    let deleted = fixture.store.delete_user(owner, own, fixture.tick()).await;
    assert!(deleted.is_err());
    fixture.store.delete_user(crew, own, fixture.tick()).await.unwrap();
    assert!(!fixture.store.has_user(&email(CREW)).await.unwrap());
}

async fn password_change_revokes_tokens_if_asked(fixture: Fixture) {
    let owner = user_of(&fixture, OWNER).await;
    let session = open(&fixture, owner, 1).await.unwrap();
    new_token(&fixture, OWNER, 1).await;
    let change = |revoke_tokens| PasswordChange {
        session,
        user: owner,
        hash: "hash".to_owned(),
        revoke_tokens,
        address: "192.0.2.1".to_owned(),
        now: fixture.tick(),
    };
    fixture.store.change_password(change(false)).await.unwrap();
    assert!(is_valid(&fixture, 1).await);
    fixture.store.change_password(change(true)).await.unwrap();
    assert!(!is_valid(&fixture, 1).await);
    new_token(&fixture, OWNER, 2).await;
    let set = |revoke| {
        fixture.store.set_password(email(OWNER), "hash".to_owned(), revoke, fixture.tick())
    };
    set(false).await.unwrap();
    assert!(is_valid(&fixture, 2).await);
    set(true).await.unwrap();
    assert!(!is_valid(&fixture, 2).await);
}

async fn disabling_and_logging_in_at_the_same_time_leaves_no_session(fixture: Fixture) {
    let crew = add(&fixture, CREW, Role::Editor).await;
    let other = fixture.reopen().await;
    for round in 0..20 {
        let (_, disabled) =
            tokio::join!(open(&other, crew, round), disable(&fixture, crew, Actor::Operator, true));
        disabled.unwrap();
        assert_eq!(fixture.store.sessions(crew, fixture.now()).await.unwrap().len(), 0);
        fixture.store.enable_user(crew, Actor::Operator, fixture.tick()).await.unwrap();
    }
}
