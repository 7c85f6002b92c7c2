//! Tokens: owner, expiry, revocation and rate limit.

use crate::{
    Fixture,
    fixture::{OWNER, TestWorkspace, domain_error, new as command, token, user},
    on_both_engines,
};
use groma_domain::{
    DomainError, Email, Role, Scope, Timestamp, TokenId, rate_limit::RateLimitStatus, scope::Scopes,
};
use groma_store::{Actor, AuthOutcome, AuthenticatedToken, DatabaseUrl, Error, NewToken};
use groma_testkit::{
    Engine,
    postgres::connect,
    wait::{PATIENCE, wait_until_true},
};
use std::sync::Arc;

on_both_engines! {
    token_authenticates_its_owner
    unknown_token_is_rejected
    token_is_valid_until_it_expires
    lowered_limit_ends_existing_tokens
    limit_of_the_installation_ends_existing_tokens
    revoked_token_is_rejected_immediately
    token_has_the_current_role_of_its_owner
    token_owner_must_be_a_member
    only_admins_and_owners_can_create_webhook_tokens
    tokens_are_listed_with_all_details
    last_use_is_stored_by_flush
    token_changes_are_in_the_audit_log
    exactly_100_of_150_concurrent_requests_pass
    rate_window_reports_remaining_requests_and_reset_time
    each_token_has_its_own_rate_window
    batched_requests_are_counted_individually
    rejected_expired_and_unknown_requests_do_not_count
    released_request_does_not_count
    nothing_is_counted_without_a_limit
    token_revoked_by_another_connection_is_rejected
    role_changed_by_another_connection_takes_effect
}

async fn try_create(workspace: &TestWorkspace, new: NewToken) -> Result<TokenId, Error> {
    workspace.store.create_token(new, Actor::Operator, workspace.tick()).await
}

fn new_token(workspace: &TestWorkspace, number: u8) -> NewToken {
    NewToken {
        id: None,
        workspace: workspace.workspace_id,
        owner: Email::parse(OWNER).unwrap(),
        name: format!("Token {number}"),
        hash: token(number).hash(),
        hint: "abcd".to_owned(),
        scopes: [Scope::ReadFolder, Scope::ReadBudget].into_iter().collect(),
        expires_at: None,
        is_read_only: false,
        notice: None,
    }
}

async fn create(workspace: &TestWorkspace, number: u8) -> TokenId {
    try_create(workspace, new_token(workspace, number)).await.unwrap()
}

async fn authenticate(workspace: &TestWorkspace, number: u8, limit: u32) -> AuthOutcome {
    workspace
        .store
        .authenticate(token(number).presented(), limit, None, workspace.now())
        .await
        .unwrap()
}

async fn authenticated(workspace: &TestWorkspace, number: u8) -> Arc<AuthenticatedToken> {
    match authenticate(workspace, number, 100).await {
        AuthOutcome::Valid { token, .. } => token,
        other => panic!("unknown token: {other:?}"),
    }
}

async fn rate(workspace: &TestWorkspace, number: u8, limit: u32) -> RateLimitStatus {
    match authenticate(workspace, number, limit).await {
        AuthOutcome::Valid { rate: Some(rate), .. } => rate,
        other => panic!("no rate limit: {other:?}"),
    }
}

async fn is_unknown(workspace: &TestWorkspace, number: u8) -> bool {
    matches!(authenticate(workspace, number, 0).await, AuthOutcome::Unknown)
}

async fn token_authenticates_its_owner(fixture: Fixture) {
    let next = fixture.new_workspace("Next door").await;
    let id = create(&fixture, 1).await;
    let other = create(&next, 2).await;
    let token_here = authenticated(&fixture, 1).await;
    assert_eq!((token_here.token, token_here.workspace), (id, fixture.workspace_id));
    assert_eq!((token_here.role, token_here.expires_at), (Role::Owner, None));
    assert_eq!(token_here.scopes.to_string(), "READ_FOLDER,READ_BUDGET");
    let folder = serde_json::json!({ "name": "x", "owner": OWNER });
    let owner = fixture.create(groma_domain::Kind::Folder, folder).await["owner"]["id"].clone();
    assert_eq!(owner, token_here.person.to_string());
    let token_there = authenticated(&fixture, 2).await;
    assert_eq!((token_there.token, token_there.workspace), (other, next.workspace_id));
    assert_ne!(token_there.person, token_here.person);
}

async fn unknown_token_is_rejected(fixture: Fixture) {
    assert!(is_unknown(&fixture, 1).await);
    create(&fixture, 1).await;
    assert!(!is_unknown(&fixture, 1).await, "a new token works immediately");
    assert!(is_unknown(&fixture, 2).await);
}

async fn token_is_valid_until_it_expires(fixture: Fixture) {
    let end = fixture.now().plus_millis(60_000);
    try_create(&fixture, NewToken { expires_at: Some(end), ..new_token(&fixture, 1) })
        .await
        .unwrap();
    let at = async |moment: Timestamp| {
        fixture.store.authenticate(token(1).presented(), 100, None, moment).await.unwrap()
    };
    for (moment, is_good) in [(-1, true), (0, false), (1, false), (-1, true)] {
        let admission = at(end.plus_millis(moment)).await;
        let answered = match &admission {
            AuthOutcome::Valid { token, .. } => {
                assert_eq!(token.expires_at, Some(end));
                true
            }
            AuthOutcome::Expired => false,
            AuthOutcome::Unknown => panic!("unknown"),
        };
        assert_eq!(answered, is_good, "{moment}");
    }
}

const DAY: i64 = 24 * 60 * 60 * 1_000;

/// When a token ends, as the list of tokens shows it, and whether it is by a limit.
async fn end(workspace: &TestWorkspace, id: TokenId) -> (Option<Timestamp>, bool) {
    let tokens = workspace.store.tokens(Some(workspace.workspace_id)).await.unwrap();
    let token = tokens.into_iter().find(|token| token.id == id).unwrap();
    (token.expires_at, token.is_shortened)
}

async fn lowered_limit_ends_existing_tokens(fixture: Fixture) {
    let next = fixture.new_workspace("Next door").await;
    let created = fixture.tick();
    let (workspace, owner) = (fixture.workspace_id, Actor::Operator);
    let create_at = async |new| fixture.store.create_token(new, owner, created).await.unwrap();
    let in_days = |days: i64| Some(created.plus_millis(days * DAY));
    let endless = create_at(new_token(&fixture, 1)).await;
    let long = create_at(NewToken { expires_at: in_days(90), ..new_token(&fixture, 2) }).await;
    let short = create_at(NewToken { expires_at: in_days(5), ..new_token(&fixture, 3) }).await;
    let elsewhere = create(&next, 4).await;
    let set = async |days| {
        let now = fixture.tick();
        fixture.store.set_max_token_days(workspace, owner, days, now).await.unwrap();
    };
    fixture.advance(8 * DAY);
    set(Some(30)).await;
    assert_eq!(authenticated(&fixture, 1).await.expires_at, in_days(30));
    assert_eq!(end(&fixture, endless).await, (in_days(30), true));
    assert_eq!(end(&fixture, long).await, (in_days(30), true));
    assert_eq!(end(&fixture, short).await, (in_days(5), false));
    assert_eq!(end(&next, elsewhere).await, (None, false));
    // Tokens that are older than the limit end at once.
    set(Some(7)).await;
    for number in [1, 2, 3] {
        let outcome = authenticate(&fixture, number, 100).await;
        assert!(matches!(outcome, AuthOutcome::Expired), "{number}: {outcome:?}");
    }
    assert_eq!(authenticated(&next, 4).await.expires_at, None);
    // A change whose request was authenticated before is rejected.
    let create_folder = async |ends_at| {
        let actor = Actor::Token { token: endless, ends_at, scope: None };
        let mut script = (*fixture).clone();
        script.actor = actor;
        let folder = serde_json::json!({ "name": "Folder", "owner": OWNER });
        script.apply(vec![command(groma_domain::Kind::Folder, folder)]).await
    };
    assert!(matches!(domain_error(create_folder(None).await).0, DomainError::AccessEnded));
    set(None).await;
    assert_eq!(authenticated(&fixture, 1).await.expires_at, None);
    assert_eq!(authenticated(&fixture, 2).await.expires_at, in_days(90));
    create_folder(None).await.unwrap();
    // The end by the limit of the installation comes with the request.
    let ended = create_folder(Some(fixture.now())).await;
    assert!(matches!(domain_error(ended).0, DomainError::AccessEnded));
}

async fn limit_of_the_installation_ends_existing_tokens(fixture: Fixture) {
    let created = fixture.tick();
    let new = new_token(&fixture, 1);
    let id = fixture.store.create_token(new, Actor::Operator, created).await.unwrap();
    let limited = fixture.reopen().await;
    limited.store.limit_tokens(60);
    let in_days = |days: i64| Some(created.plus_millis(days * DAY));
    assert_eq!(authenticated(&limited, 1).await.expires_at, in_days(60));
    assert_eq!(end(&limited, id).await, (in_days(60), true));
    let (workspace, now) = (limited.workspace_id, fixture.tick());
    assert_eq!(limited.store.token_limit(workspace).await.unwrap(), Some(60));
    // The lower limit counts.
    limited.store.set_max_token_days(workspace, Actor::Operator, Some(90), now).await.unwrap();
    assert_eq!(limited.store.token_limit(workspace).await.unwrap(), Some(60));
    assert_eq!(authenticated(&limited, 1).await.expires_at, in_days(60));
    limited.store.set_max_token_days(workspace, Actor::Operator, Some(30), now).await.unwrap();
    assert_eq!(limited.store.token_limit(workspace).await.unwrap(), Some(30));
    assert_eq!(authenticated(&limited, 1).await.expires_at, in_days(30));
    fixture.advance(30 * DAY);
    assert!(matches!(authenticate(&limited, 1, 100).await, AuthOutcome::Expired));
}

async fn revoked_token_is_rejected_immediately(fixture: Fixture) {
    let id = create(&fixture, 1).await;
    create(&fixture, 2).await;
    assert!(!is_unknown(&fixture, 1).await);
    fixture
        .store
        .revoke_token(fixture.workspace_id, id, fixture.actor, fixture.tick())
        .await
        .unwrap();
    let revoked_at = fixture.now();
    assert!(is_unknown(&fixture, 1).await);
    assert!(!is_unknown(&fixture, 2).await);
    // Revoking it again changes nothing, and an unknown token is not found.
    fixture
        .store
        .revoke_token(fixture.workspace_id, id, fixture.actor, fixture.tick())
        .await
        .unwrap();
    let tokens = fixture.store.tokens(None).await.unwrap();
    assert_eq!(tokens[0].revoked_at, Some(revoked_at));
    let never = TokenId(uuid::Uuid::now_v7());
    let outcome = fixture
        .store
        .revoke_token(fixture.workspace_id, never, fixture.actor, fixture.tick())
        .await;
    let not_found = DomainError::NotFound { resource: "token", key: never.to_string() };
    assert_eq!(domain_error(outcome).0, not_found);
}

async fn set_role(workspace: &TestWorkspace, email: &str, role: Role) {
    let user = user(email, None);
    workspace
        .store
        .add_member(workspace.workspace_id, workspace.actor, user, role, workspace.tick())
        .await
        .unwrap();
}

async fn token_has_the_current_role_of_its_owner(fixture: Fixture) {
    set_role(&fixture, "crew@office.test", Role::Editor).await;
    let owner = Email::parse("CREW@office.test").unwrap();
    try_create(&fixture, NewToken { owner, ..new_token(&fixture, 1) }).await.unwrap();
    assert_eq!(authenticated(&fixture, 1).await.role, Role::Editor);
    set_role(&fixture, "crew@office.test", Role::Viewer).await;
    assert_eq!(authenticated(&fixture, 1).await.role, Role::Viewer);
}

async fn token_owner_must_be_a_member(fixture: Fixture) {
    let folder = serde_json::json!({ "name": "x", "owner": "crew@office.test" });
    fixture.create(groma_domain::Kind::Folder, folder).await;
    let next = fixture.new_workspace("Next door").await;
    set_role(&next, "next@office.test", Role::Admin).await;
    // A person without a role, a member of another workspace, an unknown address.
    for email in ["crew@office.test", "next@office.test", "nobody@office.test"] {
        let owner = Email::parse(email).unwrap();
        let outcome = try_create(&fixture, NewToken { owner, ..new_token(&fixture, 1) }).await;
        let not_found = DomainError::NotFound { resource: "member", key: email.to_owned() };
        assert_eq!(domain_error(outcome).0, not_found);
    }
    let nowhere = groma_domain::WorkspaceId(uuid::Uuid::now_v7());
    let outcome =
        try_create(&fixture, NewToken { workspace: nowhere, ..new_token(&fixture, 1) }).await;
    assert!(matches!(domain_error(outcome).0, DomainError::NotFound { resource: "workspace", .. }));
}

async fn only_admins_and_owners_can_create_webhook_tokens(fixture: Fixture) {
    let scopes: Scopes = Scope::ALL.into_iter().collect();
    for (number, role) in (1..).zip([Role::Viewer, Role::Editor, Role::Admin, Role::Owner]) {
        set_role(&fixture, "crew@office.test", role).await;
        let owner = Email::parse("crew@office.test").unwrap();
        let new = NewToken { owner: owner.clone(), scopes, ..new_token(&fixture, number) };
        let outcome = try_create(&fixture, new).await;
        if role >= Role::Admin {
            outcome.unwrap();
            assert_eq!(authenticated(&fixture, number).await.scopes, scopes);
        } else {
            assert_eq!(
                domain_error(outcome).0,
                DomainError::Forbidden { required_role: Role::Admin }
            );
            let reading = NewToken { owner, ..new_token(&fixture, number) };
            try_create(&fixture, reading).await.unwrap();
        }
    }
}

async fn tokens_are_listed_with_all_details(fixture: Fixture) {
    let next = fixture.new_workspace("Next door").await;
    let end = fixture.now().plus_millis(1_000_000);
    let with_end = NewToken { expires_at: Some(end), ..new_token(&fixture, 1) };
    let first = try_create(&fixture, with_end).await.unwrap();
    let made_at = fixture.now();
    let second = create(&fixture, 2).await;
    let elsewhere = create(&next, 3).await;
    let here = fixture.store.tokens(Some(fixture.workspace_id)).await.unwrap();
    let ids: Vec<_> = here.iter().map(|row| row.id).collect();
    assert_eq!(ids, [first, second], "oldest first");
    let row = &here[0];
    assert_eq!((&*row.name, &*row.workspace, &*row.owner), ("Token 1", "Office", OWNER));
    assert_eq!(row.scopes.to_string(), "READ_FOLDER,READ_BUDGET");
    assert_eq!((row.created_at, row.expires_at), (made_at, Some(end)));
    assert_eq!((row.revoked_at, row.last_used_at), (None, None));
    let all = fixture.store.tokens(None).await.unwrap();
    let ids: Vec<_> = all.iter().map(|row| row.id).collect();
    assert_eq!(ids, [first, second, elsewhere]);
}

async fn last_use_is_stored_by_flush(fixture: Fixture) {
    create(&fixture, 1).await;
    create(&fixture, 2).await;
    let last_uses = async || {
        let tokens = fixture.store.tokens(None).await.unwrap();
        tokens.iter().map(|row| row.last_used_at).collect::<Vec<_>>()
    };
    fixture.tick();
    authenticated(&fixture, 1).await;
    assert_eq!(last_uses().await, [None, None], "a request does not write immediately");
    fixture.store.flush(fixture.now()).await.unwrap();
    let first_use = fixture.now();
    assert_eq!(last_uses().await, [Some(first_use), None]);
    fixture.tick();
    fixture.store.flush(fixture.now()).await.unwrap();
    assert_eq!(last_uses().await, [Some(first_use), None]);
    authenticated(&fixture, 1).await;
    authenticated(&fixture, 2).await;
    fixture.store.flush(fixture.now()).await.unwrap();
    assert_eq!(last_uses().await, [Some(fixture.now()), Some(fixture.now())]);
    // A request over the rate limit does not count as a use.
    let used = fixture.now();
    fixture.tick();
    assert!(!rate(&fixture, 1, 1).await.accepted);
    fixture.store.flush(fixture.now()).await.unwrap();
    assert_eq!(last_uses().await, [Some(used), Some(used)]);
}

async fn token_changes_are_in_the_audit_log(fixture: Fixture) {
    let position = fixture.audit_position().await;
    let id = create(&fixture, 1).await;
    fixture
        .store
        .revoke_token(fixture.workspace_id, id, fixture.actor, fixture.tick())
        .await
        .unwrap();
    let trail = fixture.audit_log(position).await;
    let lines: Vec<_> = trail.iter().map(|row| (&*row.action, row.subject)).collect();
    assert_eq!(lines, [("token.created", id.0), ("token.revoked", id.0)]);
    let after: serde_json::Value = serde_json::from_str(trail[0].after.as_ref().unwrap()).unwrap();
    assert_eq!(
        after,
        serde_json::json!({
            "name": "Token 1", "scopes": "READ_FOLDER,READ_BUDGET", "readOnly": false,
            "expiresAt": null,
        })
    );
}

/// Sends concurrent requests and returns the number of accepted ones.
async fn accepted(workspaces: &[&TestWorkspace], requests: usize) -> usize {
    let tasks = (0..requests).map(|number| {
        let workspace = workspaces[number % workspaces.len()].clone();
        tokio::spawn(async move { rate(&workspace, 1, 100).await.accepted })
    });
    let mut accepted = 0;
    for task in tasks.collect::<Vec<_>>() {
        accepted += usize::from(task.await.unwrap());
    }
    accepted
}

async fn exactly_100_of_150_concurrent_requests_pass(fixture: Fixture) {
    create(&fixture, 1).await;
    assert_eq!(accepted(&[&fixture], 150).await, 100);
    assert_eq!(accepted(&[&fixture], 10).await, 0);
}

async fn rate_window_reports_remaining_requests_and_reset_time(fixture: Fixture) {
    create(&fixture, 1).await;
    let minute = 60_000_000;
    let first = rate(&fixture, 1, 3).await;
    assert_eq!((first.limit, first.remaining, first.accepted), (3, 2, true));
    assert!(first.reset_micros <= minute && first.reset_micros > minute - 10_000_000);
    let second = rate(&fixture, 1, 3).await;
    assert_eq!((second.remaining, second.accepted), (1, true));
    assert!(second.reset_micros < first.reset_micros, "the first request leaves the window next");
    assert_eq!(rate(&fixture, 1, 3).await.remaining, 0);
    let rejected = rate(&fixture, 1, 3).await;
    assert_eq!((rejected.remaining, rejected.accepted), (0, false));
    assert!(rejected.reset_micros > 0 && rejected.reset_micros < second.reset_micros);
}

async fn each_token_has_its_own_rate_window(fixture: Fixture) {
    create(&fixture, 1).await;
    create(&fixture, 2).await;
    assert!(rate(&fixture, 1, 1).await.accepted);
    assert!(!rate(&fixture, 1, 1).await.accepted);
    assert!(rate(&fixture, 2, 1).await.accepted);
}

async fn batched_requests_are_counted_individually(fixture: Fixture) {
    for number in 1..=3 {
        create(&fixture, number).await;
    }
    // Twenty of each token, alternating, and some of an unknown token.
    let workspace: &TestWorkspace = &fixture;
    let asked =
        (0..80_u8).map(|n| async move { (n % 4 + 1, authenticate(workspace, n % 4 + 1, 7).await) });
    let answers = futures_util::future::join_all(asked).await;
    for number in 1..=3 {
        let of_token = answers.iter().filter(|(of, _)| *of == number);
        let rates: Vec<RateLimitStatus> = of_token
            .map(|(_, admission)| match admission {
                AuthOutcome::Valid { rate: Some(rate), .. } => *rate,
                other => panic!("no rate limit: {other:?}"),
            })
            .collect();
        let mut left: Vec<u32> =
            rates.iter().filter(|rate| rate.accepted).map(|rate| rate.remaining).collect();
        left.sort_unstable();
        assert_eq!(left, [0, 1, 2, 3, 4, 5, 6]);
        let rejected = rates.iter().filter(|rate| !rate.accepted);
        assert_eq!(rejected.map(|rate| rate.remaining).collect::<Vec<_>>(), [0; 13]);
    }
    let unknown = answers.iter().filter(|(of, _)| *of == 4);
    assert!(unknown.into_iter().all(|(_, admission)| matches!(admission, AuthOutcome::Unknown)));
}

async fn released_request_does_not_count(fixture: Fixture) {
    let id = create(&fixture, 1).await;
    let (first, second) = (rate(&fixture, 1, 2).await, rate(&fixture, 1, 2).await);
    assert!(first.accepted && second.accepted && !rate(&fixture, 1, 2).await.accepted);
    for _ in 0..2 {
        // The second time, there is nothing left to release.
        fixture.store.release_request(id, first).await.unwrap();
    }
    assert!(rate(&fixture, 1, 2).await.accepted);
    assert!(!rate(&fixture, 1, 2).await.accepted);
    fixture.store.release_request(id, second).await.unwrap();
    assert_eq!(rate(&fixture, 1, 2).await.remaining, 0);
    assert!(!rate(&fixture, 1, 2).await.accepted);
}

async fn rejected_expired_and_unknown_requests_do_not_count(fixture: Fixture) {
    let end = fixture.now().plus_millis(60_000);
    try_create(&fixture, NewToken { expires_at: Some(end), ..new_token(&fixture, 1) })
        .await
        .unwrap();
    for _ in 0..5 {
        let late = fixture.store.authenticate(token(1).presented(), 2, None, end).await.unwrap();
        assert!(matches!(late, AuthOutcome::Expired));
    }
    assert_eq!(rate(&fixture, 1, 2).await.remaining, 1);
    assert_eq!(rate(&fixture, 1, 2).await.remaining, 0);
    for _ in 0..5 {
        assert!(!rate(&fixture, 1, 2).await.accepted);
    }
    let more = rate(&fixture, 1, 4).await;
    assert_eq!((more.remaining, more.accepted), (1, true), "only accepted requests count");
}

async fn nothing_is_counted_without_a_limit(fixture: Fixture) {
    create(&fixture, 1).await;
    for _ in 0..5 {
        let admission = authenticate(&fixture, 1, 0).await;
        assert!(matches!(admission, AuthOutcome::Valid { rate: None, .. }));
    }
    assert_eq!(rate(&fixture, 1, 3).await.remaining, 2);
}

/// Runs the maintenance of a store until it is dropped.
struct Maintenance(tokio::task::JoinHandle<()>);

impl Maintenance {
    fn new(workspace: &TestWorkspace) -> Self {
        let workspace = workspace.clone();
        Self(tokio::spawn(async move {
            workspace.store.run_maintenance(|| workspace.now(), None).await;
        }))
    }
}

impl Drop for Maintenance {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn token_revoked_by_another_connection_is_rejected(fixture: Fixture) {
    let _tended = Maintenance::new(&fixture);
    let command = fixture.reopen().await;
    for number in 1..=3 {
        let id = create(&command, number).await;
        wait_until_true(PATIENCE, "the new token works", async || {
            !is_unknown(&fixture, number).await
        })
        .await;
        command
            .store
            .revoke_token(command.workspace_id, id, command.actor, command.tick())
            .await
            .unwrap();
        wait_until_true(PATIENCE, "the revoked token is rejected", async || {
            is_unknown(&fixture, number).await
        })
        .await;
    }
}

async fn role_changed_by_another_connection_takes_effect(fixture: Fixture) {
    let _tended = Maintenance::new(&fixture);
    let command = fixture.reopen().await;
    set_role(&fixture, "crew@office.test", Role::Editor).await;
    let owner = Email::parse("crew@office.test").unwrap();
    try_create(&fixture, NewToken { owner, ..new_token(&fixture, 1) }).await.unwrap();
    assert_eq!(authenticated(&fixture, 1).await.role, Role::Editor);
    set_role(&command, "crew@office.test", Role::Viewer).await;
    wait_until_true(PATIENCE, "the new role takes effect", async || {
        authenticated(&fixture, 1).await.role == Role::Viewer
    })
    .await;
    command
        .store
        .delete_workspace(command.workspace_id, Actor::Operator, command.now())
        .await
        .unwrap();
    wait_until_true(PATIENCE, "the token of the deleted workspace is rejected", async || {
        is_unknown(&fixture, 1).await
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgres_replicas_share_the_rate_window() {
    let fixture = Fixture::open(Engine::Postgres).await;
    let replica = fixture.reopen().await;
    create(&fixture, 1).await;
    assert_eq!(accepted(&[&fixture, &replica], 150).await, 100);
    assert!(!rate(&fixture, 1, 100).await.accepted);
    assert!(!rate(&replica, 1, 100).await.accepted);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgres_rate_window_slides_request_by_request() {
    let fixture = Fixture::open(Engine::Postgres).await;
    let DatabaseUrl::Postgres(url) = &fixture.url else { panic!("on PostgreSQL") };
    let client = connect(url).await.unwrap();
    // Moving the accepted requests into the past simulates passing time.
    let pass = async |seconds: i64| {
        let age = "UPDATE rate_windows SET accepted = ARRAY(SELECT s - $1 FROM unnest(accepted) s)";
        client.execute(age, &[&(seconds * 1_000_000)]).await.unwrap();
    };
    create(&fixture, 1).await;
    assert!(rate(&fixture, 1, 2).await.accepted);
    pass(30).await;
    assert!(rate(&fixture, 1, 2).await.accepted);
    pass(15).await;
    let rejected = rate(&fixture, 1, 2).await;
    assert!(!rejected.accepted);
    assert!((10_000_000..=15_000_000).contains(&rejected.reset_micros), "{rejected:?}");
    pass(15).await;
    let again = rate(&fixture, 1, 2).await;
    assert!(again.accepted, "the first request has left the window");
    assert!((20_000_000..=30_000_000).contains(&again.reset_micros), "{again:?}");
    assert!(!rate(&fixture, 1, 2).await.accepted);
    pass(-90).await;
    let set_back = rate(&fixture, 1, 2).await;
    assert!(!set_back.accepted && set_back.reset_micros <= 60_000_000, "{set_back:?}");
    pass(3_700).await;
    fixture.store.flush(fixture.now()).await.unwrap();
    let left = client.query("SELECT 1 FROM rate_windows", &[]).await.unwrap();
    assert!(left.is_empty(), "empty windows are deleted");
}
