//! Second factors, pending logins, and accounts of identity providers.

use crate::{
    Fixture,
    fixture::{OWNER, domain_error, token, user},
    on_both_engines,
};
use groma_domain::{
    DomainError, Email, Role, SessionId, UserId, Violation,
    scope::Scopes,
    secret::{Secret, SecretHash},
};
use groma_store::{
    Actor, EncryptionKey, EncryptionKeys, FactorChange, IdentityChange, LoginStep, NewInvitation,
    NewSession, NewToken, OwnFactorChange, PendingLogin, ProviderAccess, ProviderAccount,
    ProviderLogin, ProviderOutcome, StoredPasskey, new_passkey_id,
};

on_both_engines! {
    code_of_an_app_is_accepted_once
    secret_of_an_app_is_encrypted_and_follows_the_key
    recovery_codes_come_with_the_first_factor_and_work_once
    last_way_to_log_in_cannot_be_removed
    tokens_are_revoked_with_the_password_if_asked
    workspace_can_require_a_second_factor
    pending_login_is_taken_once_and_expires
    pending_logins_end_with_the_sessions
    provider_creates_users_only_by_its_rules
    provider_does_not_take_over_an_account_with_its_own_login
    provider_decides_roles_but_keeps_the_last_owner
    removed_member_does_not_come_back_by_the_domain
    invitation_is_accepted_with_a_provider
    operator_removes_lost_factors
}

fn secret(number: u8) -> Secret {
    Secret::new([number; 32])
}

async fn owner(fixture: &Fixture) -> UserId {
    let email = Email::parse(OWNER).unwrap();
    fixture.store.account(&email).await.unwrap().unwrap().user
}

async fn session(fixture: &Fixture, user: UserId, number: u8) -> SessionId {
    let session = NewSession {
        hash: secret(number).hash(),
        user,
        user_agent: "Browser".to_owned(),
        address: "192.0.2.1".to_owned(),
        has_second_factor: false,
        provider: None,
        now: fixture.tick(),
        ends_at: fixture.now().plus_millis(3_600_000),
    };
    fixture.store.create_session(session, None).await.unwrap()
}

fn codes(first: u8) -> Vec<SecretHash> {
    (first..first + 3).map(|number| secret(number).hash()).collect()
}

async fn change(
    fixture: &Fixture,
    session: SessionId,
    change: FactorChange,
    recovery_codes: Vec<SecretHash>,
) -> groma_store::Result<bool> {
    let address = "192.0.2.1".to_owned();
    let change = OwnFactorChange { session, change, recovery_codes, notice: None, address };
    fixture.store.change_factors(change, fixture.tick()).await
}

fn app(step: u64) -> FactorChange {
    FactorChange::AddAuthenticatorApp { secret: b"12345678901234567890".to_vec(), step }
}

fn remove_password(user: UserId, revoke_tokens: bool) -> FactorChange {
    FactorChange::RemovePassword { user, revoke_tokens }
}

fn passkey(fixture: &Fixture, number: u8) -> StoredPasskey {
    StoredPasskey {
        id: new_passkey_id(fixture.tick()),
        credential_id: vec![number; 16],
        credential: "{}".to_owned(),
        name: format!("Key {number}"),
        created_at: fixture.now(),
        last_used_at: None,
    }
}

async fn code_of_an_app_is_accepted_once(fixture: Fixture) {
    let user = owner(&fixture).await;
    let session = session(&fixture, user, 1).await;
    assert!(!fixture.store.second_factors(user).await.unwrap().exist());
    change(&fixture, session, app(100), codes(10)).await.unwrap();
    let factors = fixture.store.second_factors(user).await.unwrap();
    assert_eq!(factors.authenticator_app.unwrap().secret, b"12345678901234567890");
    let accept = async |step| fixture.store.use_authenticator_code(user, step).await.unwrap();
    assert!(!accept(100).await, "the code that proved the app");
    assert!(accept(102).await);
    assert!(!accept(102).await && !accept(101).await, "used, or earlier than a used one");
    assert!(accept(103).await);
}

async fn secret_of_an_app_is_encrypted_and_follows_the_key(fixture: Fixture) {
    let key = |byte: u8| EncryptionKey::new([byte; 32]);
    let keys = EncryptionKeys { current: Some(key(1)), previous: Vec::new() };
    fixture.store.set_encryption_keys(keys);
    let user = owner(&fixture).await;
    let session = session(&fixture, user, 1).await;
    change(&fixture, session, app(1), codes(10)).await.unwrap();
    let other = fixture.reopen().await;
    assert!(other.store.second_factors(user).await.is_err(), "without the key");
    let rekeyed = fixture.reopen().await;
    let keys = EncryptionKeys { current: Some(key(2)), previous: vec![key(1)] };
    rekeyed.store.set_encryption_keys(keys);
    assert_eq!(rekeyed.store.reencrypt_secrets().await.unwrap(), 1);
    let after = fixture.reopen().await;
    after.store.set_encryption_keys(EncryptionKeys { current: Some(key(2)), previous: vec![] });
    let factors = after.store.second_factors(user).await.unwrap();
    assert_eq!(factors.authenticator_app.unwrap().secret, b"12345678901234567890");
}

async fn recovery_codes_come_with_the_first_factor_and_work_once(fixture: Fixture) {
    let user = owner(&fixture).await;
    // Without a password, the last passkey could not be removed.
    let email = Email::parse(OWNER).unwrap();
    fixture.store.set_password(email, "hash".to_owned(), false, fixture.tick()).await.unwrap();
    let session = session(&fixture, user, 1).await;
    assert!(change(&fixture, session, app(1), codes(10)).await.unwrap(), "the first factor");
    let second = FactorChange::AddPasskey(passkey(&fixture, 1));
    assert!(!change(&fixture, session, second, codes(20)).await.unwrap(), "there are codes");
    let count = async || fixture.store.second_factors(user).await.unwrap().recovery_codes;
    assert_eq!(count().await, 3);
    let accept =
        async |number| fixture.store.use_recovery_code(user, &secret(number).hash()).await.unwrap();
    assert!(accept(10).await && !accept(10).await && !accept(20).await);
    assert_eq!(count().await, 2);
    let replace = FactorChange::ReplaceRecoveryCodes;
    assert!(change(&fixture, session, replace, codes(30)).await.unwrap());
    assert!(!accept(11).await && accept(30).await);
    for removal in [
        FactorChange::RemoveAuthenticatorApp,
        FactorChange::RemovePasskey(
            fixture.store.second_factors(user).await.unwrap().passkeys[0].id,
        ),
    ] {
        change(&fixture, session, removal, Vec::new()).await.unwrap();
    }
    assert_eq!(count().await, 0, "codes end with the last factor");
}

async fn tokens_are_revoked_with_the_password_if_asked(fixture: Fixture) {
    let user = owner(&fixture).await;
    let email = Email::parse(OWNER).unwrap();
    let (store, id) = (&fixture.store, fixture.workspace_id);
    store.set_password(email.clone(), "hash".to_owned(), false, fixture.tick()).await.unwrap();
    let session = session(&fixture, user, 1).await;
    let add = FactorChange::AddPasskey(passkey(&fixture, 1));
    change(&fixture, session, add, codes(10)).await.unwrap();
    let token = NewToken {
        id: None,
        workspace: id,
        owner: email.clone(),
        name: "Script".to_owned(),
        hash: token(1).hash(),
        hint: "abcd".to_owned(),
        scopes: Scopes::default(),
        expires_at: None,
        is_read_only: false,
        notice: None,
    };
    store.create_token(token, Actor::Operator, fixture.tick()).await.unwrap();
    let is_revoked = async || store.tokens(Some(id)).await.unwrap()[0].revoked_at.is_some();
    // Those of another user are not revoked with it.
    let crew = crate::fixture::user("crew@office.test", None);
    let added = store.add_member(id, Actor::Operator, crew, Role::Viewer, fixture.tick()).await;
    added.unwrap();
    let crew = store.account(&Email::parse("crew@office.test").unwrap()).await.unwrap().unwrap();
    let other = self::session(&fixture, crew.user, 2).await;
    let stolen = change(&fixture, other, remove_password(user, true), vec![]).await;
    assert_eq!(domain_error(stolen).0, DomainError::AccessEnded);
    assert!(!is_revoked().await);
    change(&fixture, session, remove_password(user, true), vec![]).await.unwrap();
    assert!(is_revoked().await);
    assert!(store.account(&email).await.unwrap().unwrap().password_hash.is_none());
}

async fn last_way_to_log_in_cannot_be_removed(fixture: Fixture) {
    let user = owner(&fixture).await;
    fixture
        .store
        .set_password(Email::parse(OWNER).unwrap(), "hash".to_owned(), false, fixture.tick())
        .await
        .unwrap();
    let session = session(&fixture, user, 1).await;
    let rejected = change(&fixture, session, remove_password(user, false), vec![]).await;
    assert_rejected(rejected, &Violation::LastLoginMethod);
    let key = passkey(&fixture, 1);
    let add = FactorChange::AddPasskey(key.clone());
    change(&fixture, session, add, codes(10)).await.unwrap();
    change(&fixture, session, remove_password(user, false), vec![]).await.unwrap();
    let email = Email::parse(OWNER).unwrap();
    assert!(fixture.store.account(&email).await.unwrap().unwrap().password_hash.is_none());
    let rejected = change(&fixture, session, FactorChange::RemovePasskey(key.id), vec![]).await;
    assert_rejected(rejected, &Violation::LastLoginMethod);
    let connect = IdentityChange::Connect(account("sub", OWNER));
    let (store, now) = (&fixture.store, fixture.tick());
    store.change_identity(session, connect, None, "192.0.2.1", now).await.unwrap();
    change(&fixture, session, FactorChange::RemovePasskey(key.id), vec![]).await.unwrap();
    let disconnect =
        IdentityChange::Disconnect { issuer: ISSUER.to_owned(), subject: "sub".to_owned() };
    let rejected = store.change_identity(session, disconnect, None, "", fixture.tick()).await;
    assert_rejected(rejected, &Violation::LastLoginMethod);
}

fn assert_rejected<T: std::fmt::Debug>(result: groma_store::Result<T>, expected: &Violation) {
    let error = result.unwrap_err();
    match error.domain_error() {
        Some(DomainError::Invalid(problems)) => assert_eq!(&problems[0].violation, expected),
        _ => panic!("{error}"),
    }
}

async fn workspace_can_require_a_second_factor(fixture: Fixture) {
    let user_id = owner(&fixture).await;
    let session = session(&fixture, user_id, 1).await;
    let (store, workspace) = (&fixture.store, fixture.workspace_id);
    let actor = Actor::Session(session);
    let rejected = store.require_second_factor(workspace, actor, true, fixture.tick()).await;
    assert_rejected(rejected, &Violation::SecondFactorMissing);
    assert!(!store.requires_second_factor(workspace).await.unwrap(), "nothing is written");
    change(&fixture, session, app(1), codes(10)).await.unwrap();
    store.require_second_factor(workspace, actor, true, fixture.tick()).await.unwrap();
    assert!(store.requires_second_factor(workspace).await.unwrap());
    let read = store.session(&secret(1).hash(), fixture.now()).await.unwrap().unwrap();
    assert!(read.has_second_factor && read.memberships[0].requires_second_factor);
    // A session without one has no rights any longer.
    let member = user("crew@office.test", None);
    store
        .add_member(workspace, Actor::Operator, member, Role::Admin, fixture.tick())
        .await
        .unwrap();
    let crew = Email::parse("crew@office.test").unwrap();
    let crew = store.account(&crew).await.unwrap().unwrap().user;
    let weak = self::session(&fixture, crew, 2).await;
    let rename = async || {
        store.rename_member(workspace, Actor::Session(weak), "Field crew", fixture.tick()).await
    };
    let error = rename().await.unwrap_err();
    assert!(matches!(error.domain_error(), Some(DomainError::AccessEnded)), "{error}");
    change(&fixture, weak, app(1), codes(20)).await.unwrap();
    rename().await.unwrap();
    let rejected = change(&fixture, weak, FactorChange::RemoveAuthenticatorApp, vec![]).await;
    assert_rejected(rejected, &Violation::SecondFactorRequired);
}

async fn pending_login_is_taken_once_and_expires(fixture: Fixture) {
    let store = &fixture.store;
    let save = async |number, step| {
        let pending = PendingLogin {
            step,
            user: None,
            data: format!("{{\"number\":{number}}}"),
            expires_at: fixture.now().plus_millis(60_000),
        };
        let now = fixture.tick();
        assert!(store.save_pending_login(&secret(number).hash(), pending, now).await.unwrap());
    };
    save(1, LoginStep::Provider).await;
    let (hash, now) = (secret(1).hash(), fixture.now());
    let wrong = store.take_pending_login(&hash, LoginStep::Passkey, now).await.unwrap();
    assert!(wrong.is_none(), "another step");
    let found = store.pending_login(&hash, LoginStep::Provider, now).await.unwrap().unwrap();
    assert_eq!(found.data, "{\"number\":1}");
    let taken = store.take_pending_login(&hash, LoginStep::Provider, now).await.unwrap();
    assert!(taken.is_some());
    let again = store.take_pending_login(&hash, LoginStep::Provider, now).await.unwrap();
    assert!(again.is_none());
    save(2, LoginStep::Passkey).await;
    let late = fixture.now().plus_millis(60_001);
    let expired = store.take_pending_login(&secret(2).hash(), LoginStep::Passkey, late).await;
    assert!(expired.unwrap().is_none());
}

async fn pending_logins_end_with_the_sessions(fixture: Fixture) {
    let (store, user) = (&fixture.store, owner(&fixture).await);
    let save = async |number, user| {
        let expires_at = fixture.now().plus_millis(60_000);
        let (step, data) = (LoginStep::SecondFactor, "{}".to_owned());
        let pending = PendingLogin { step, user: Some(user), data, expires_at };
        let now = fixture.tick();
        assert!(store.save_pending_login(&secret(number).hash(), pending, now).await.unwrap());
    };
    let is_pending = async |number| {
        let hash = secret(number).hash();
        let found = store.pending_login(&hash, LoginStep::SecondFactor, fixture.now()).await;
        found.unwrap().is_some()
    };
    let crew = user_of(&fixture, "crew@office.test").await;
    save(1, user).await;
    save(2, crew).await;
    let email = Email::parse(OWNER).unwrap();
    store.set_password(email, "hash".to_owned(), false, fixture.tick()).await.unwrap();
    assert!(!is_pending(1).await, "the old password was its first step");
    assert!(is_pending(2).await, "that of someone else");
}

const ISSUER: &str = "https://login.example.test";

fn account(subject: &str, email: &str) -> ProviderAccount {
    ProviderAccount {
        issuer: ISSUER.to_owned(),
        subject: subject.to_owned(),
        email: Email::parse(email).ok(),
        is_email_verified: true,
        name: Some("Survey lead".to_owned()),
    }
}

fn access(fixture: &Fixture, role: Option<Role>, is_managed: bool) -> Option<ProviderAccess> {
    Some(ProviderAccess { workspace: fixture.workspace_id, role, is_managed })
}

async fn log_in(
    fixture: &Fixture,
    account: ProviderAccount,
    access: Option<ProviderAccess>,
) -> ProviderOutcome {
    let address = "192.0.2.1".to_owned();
    let login = ProviderLogin { account, invitation: None, access, address };
    fixture.store.log_in_with_provider(login, fixture.tick()).await.unwrap()
}

async fn role_of(fixture: &Fixture, email: &str) -> Option<Role> {
    let people = fixture.store.people(fixture.workspace_id).await.unwrap();
    people.into_iter().find(|known| known.person.email.as_str() == email)?.role
}

async fn provider_creates_users_only_by_its_rules(fixture: Fixture) {
    let email = "new@office.test";
    let outcome = log_in(&fixture, account("1", email), None).await;
    assert!(matches!(outcome, ProviderOutcome::NotInvited), "{outcome:?}");
    let no_role = access(&fixture, None, false);
    let outcome = log_in(&fixture, account("1", email), no_role).await;
    assert!(matches!(outcome, ProviderOutcome::NotInvited), "{outcome:?}");
    let unverified = ProviderAccount { is_email_verified: false, ..account("1", email) };
    let viewer = access(&fixture, Some(Role::Viewer), false);
    let outcome = log_in(&fixture, unverified, viewer.clone()).await;
    assert!(matches!(outcome, ProviderOutcome::EmailNotVerified), "{outcome:?}");
    assert!(fixture.store.account(&Email::parse(email).unwrap()).await.unwrap().is_none());
    let ProviderOutcome::Accepted(first) = log_in(&fixture, account("1", email), viewer).await
    else {
        panic!("not accepted")
    };
    assert_eq!(role_of(&fixture, email).await, Some(Role::Viewer));
    let stored = fixture.store.account_of_user(first).await.unwrap().unwrap();
    assert!(stored.email_verified_at.is_some() && stored.password_hash.is_none());
    // The subject counts, not the address.
    let moved = ProviderAccount { email: None, ..account("1", email) };
    assert!(
        matches!(log_in(&fixture, moved, None).await, ProviderOutcome::Accepted(u) if u == first)
    );
    let outcome = log_in(&fixture, account("2", email), None).await;
    let is_refused = matches!(outcome, ProviderOutcome::OwnLoginRequired(user) if user == first);
    assert!(is_refused, "{outcome:?}");
}

async fn provider_does_not_take_over_an_account_with_its_own_login(fixture: Fixture) {
    let email = Email::parse(OWNER).unwrap();
    fixture
        .store
        .set_password(email.clone(), "hash".to_owned(), false, fixture.tick())
        .await
        .unwrap();
    let admin = access(&fixture, Some(Role::Admin), true);
    let outcome = log_in(&fixture, account("1", OWNER), admin).await;
    let user = owner(&fixture).await;
    let is_refused = matches!(outcome, ProviderOutcome::OwnLoginRequired(found) if found == user);
    assert!(is_refused, "{outcome:?}");
    assert!(fixture.store.identities(user).await.unwrap().is_empty());
    let session = session(&fixture, user, 1).await;
    let connect = || IdentityChange::Connect(account("1", OWNER));
    let (store, now) = (&fixture.store, fixture.tick());
    store.change_identity(session, connect(), None, "192.0.2.1", now).await.unwrap();
    let outcome = log_in(&fixture, account("1", OWNER), None).await;
    assert!(matches!(outcome, ProviderOutcome::Accepted(found) if found == user), "{outcome:?}");
    // Another user cannot connect the same identity.
    let crew = user_of(&fixture, "crew@office.test").await;
    let other = self::session(&fixture, crew, 2).await;
    let rejected = store.change_identity(other, connect(), None, "", fixture.tick()).await;
    assert_rejected(rejected, &Violation::IdentityTaken);
    // A user without any login of their own is connected by the address.
    let outcome = log_in(&fixture, account("3", "crew@office.test"), None).await;
    assert!(matches!(outcome, ProviderOutcome::Accepted(found) if found == crew), "{outcome:?}");
}

async fn user_of(fixture: &Fixture, address: &str) -> UserId {
    let (workspace, now) = (fixture.workspace_id, fixture.tick());
    let member = user(address, None);
    fixture.store.add_member(workspace, Actor::Operator, member, Role::Editor, now).await.unwrap();
    let account = fixture.store.account(&Email::parse(address).unwrap()).await.unwrap();
    account.unwrap().user
}

async fn provider_decides_roles_but_keeps_the_last_owner(fixture: Fixture) {
    let email = "crew@office.test";
    let at_login = async |role, is_managed| {
        let access = access(&fixture, role, is_managed);
        log_in(&fixture, account("1", email), access).await;
        role_of(&fixture, email).await
    };
    assert_eq!(at_login(Some(Role::Editor), true).await, Some(Role::Editor));
    assert_eq!(at_login(Some(Role::Admin), true).await, Some(Role::Admin));
    assert_eq!(at_login(Some(Role::Viewer), false).await, Some(Role::Admin), "only at first");
    assert_eq!(at_login(None, false).await, Some(Role::Admin));
    assert_eq!(at_login(None, true).await, None, "the membership ends");
    assert_eq!(at_login(Some(Role::Viewer), true).await, Some(Role::Viewer), "and begins again");
    log_in(&fixture, account("owner", OWNER), access(&fixture, Some(Role::Viewer), true)).await;
    assert_eq!(role_of(&fixture, OWNER).await, Some(Role::Owner), "the last owner stays");
    log_in(&fixture, account("owner", OWNER), access(&fixture, None, true)).await;
    assert_eq!(role_of(&fixture, OWNER).await, Some(Role::Owner));
}

async fn removed_member_does_not_come_back_by_the_domain(fixture: Fixture) {
    let email = "crew@office.test";
    let at_login = async |is_managed| {
        let access = access(&fixture, Some(Role::Viewer), is_managed);
        let outcome = log_in(&fixture, account("1", email), access).await;
        assert!(matches!(outcome, ProviderOutcome::Accepted(_)), "{outcome:?}");
        role_of(&fixture, email).await
    };
    assert_eq!(at_login(false).await, Some(Role::Viewer));
    let (store, workspace) = (&fixture.store, fixture.workspace_id);
    let people = store.people(workspace).await.unwrap();
    let crew = people.iter().find(|known| known.person.email.as_str() == email).unwrap();
    let (person, now) = (crew.person.id, fixture.tick());
    store.remove_member(workspace, Actor::Operator, person, now).await.unwrap();
    assert_eq!(at_login(false).await, None, "an administrator removed them");
    assert_eq!(at_login(true).await, Some(Role::Viewer), "groups decide at every login");
}

async fn invitation_is_accepted_with_a_provider(fixture: Fixture) {
    let invitation = NewInvitation {
        id: None,
        hash: secret(9).hash(),
        role: Role::Editor,
        email: Email::parse("crew@office.test").unwrap(),
        expires_at: fixture.now().plus_millis(3_600_000),
        mail: None,
    };
    let (workspace, actor) = (fixture.workspace_id, fixture.actor);
    fixture.store.invite(workspace, actor, invitation, fixture.tick()).await.unwrap();
    let log_in = async |email: &str, number| {
        let login = ProviderLogin {
            account: account(email, email),
            invitation: Some(secret(number).hash()),
            access: None,
            address: String::new(),
        };
        fixture.store.log_in_with_provider(login, fixture.tick()).await
    };
    assert!(log_in("other@office.test", 9).await.is_err(), "for another address");
    assert!(log_in("crew@office.test", 8).await.is_err(), "no such invitation");
    let outcome = log_in("crew@office.test", 9).await.unwrap();
    assert!(matches!(outcome, ProviderOutcome::Accepted(_)), "{outcome:?}");
    assert_eq!(role_of(&fixture, "crew@office.test").await, Some(Role::Editor));
}

async fn operator_removes_lost_factors(fixture: Fixture) {
    let user = owner(&fixture).await;
    let session = session(&fixture, user, 1).await;
    change(&fixture, session, app(1), codes(10)).await.unwrap();
    let key = FactorChange::AddPasskey(passkey(&fixture, 1));
    change(&fixture, session, key, vec![]).await.unwrap();
    let email = Email::parse(OWNER).unwrap();
    fixture.store.remove_factors(email, fixture.tick()).await.unwrap();
    let factors = fixture.store.second_factors(user).await.unwrap();
    assert!(!factors.exist() && factors.recovery_codes == 0);
    let found = fixture.store.session(&secret(1).hash(), fixture.now()).await.unwrap();
    assert!(found.is_none(), "sessions end");
}
