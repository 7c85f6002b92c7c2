//! Tokens: whom they speak for, when they end, how many requests they make.

use crate::{
    Engine, Office,
    database::connect,
    office::{Desk, OWNER, refusal, token, user, within},
    on_both_engines,
};
use groma_domain::{
    Email, Refusal, Role, Scope, Timestamp, TokenId, rate::RateState, scope::Scopes,
};
use groma_store::{Actor, Admission, Bearer, DatabaseUrl, Error, NewToken};
use std::{sync::Arc, time::Duration};

on_both_engines! {
    a_token_speaks_for_its_owner
    a_token_that_nobody_has_is_unknown
    a_token_is_good_until_the_moment_it_expires
    a_revoked_token_is_refused_at_once
    a_token_has_the_role_its_owner_has_now
    a_token_belongs_to_a_member
    only_admins_and_owners_hand_out_webhook_tokens
    tokens_are_listed_with_all_that_is_known_of_them
    the_last_use_is_written_down_when_settled
    what_happens_to_tokens_is_on_the_audit_trail
    of_a_hundred_and_fifty_at_once_exactly_a_hundred_pass
    the_window_tells_what_is_left_and_until_when
    each_token_has_a_window_of_its_own
    requests_that_come_together_are_counted_one_by_one
    refused_expired_and_unknown_requests_count_for_nothing
    without_a_limit_nothing_is_counted
    another_opening_of_the_database_revokes_within_a_second
    another_opening_of_the_database_changes_a_role_within_a_second
}

async fn try_make(desk: &Desk, new: NewToken) -> Result<TokenId, Error> {
    desk.store.create_token(new, Actor::Operator, desk.tick()).await
}

fn new_token(desk: &Desk, number: u8) -> NewToken {
    NewToken {
        id: None,
        workspace: desk.workspace,
        owner: Email::parse(OWNER).unwrap(),
        name: format!("Token {number}"),
        hash: token(number).hash(),
        hint: "abcd".to_owned(),
        scopes: [Scope::ReadFolder, Scope::ReadBudget].into_iter().collect(),
        expires_at: None,
    }
}

async fn make(desk: &Desk, number: u8) -> TokenId {
    try_make(desk, new_token(desk, number)).await.unwrap()
}

async fn admit(desk: &Desk, number: u8, limit: u32) -> Admission {
    desk.store.admit(token(number).sent(), limit, desk.now()).await.unwrap()
}

async fn bearer(desk: &Desk, number: u8) -> Arc<Bearer> {
    match admit(desk, number, 100).await {
        Admission::Known { bearer, .. } => bearer,
        other => panic!("not known: {other:?}"),
    }
}

async fn rate(desk: &Desk, number: u8, limit: u32) -> RateState {
    match admit(desk, number, limit).await {
        Admission::Known { rate: Some(rate), .. } => rate,
        other => panic!("no rate: {other:?}"),
    }
}

async fn is_unknown(desk: &Desk, number: u8) -> bool {
    matches!(admit(desk, number, 0).await, Admission::Unknown)
}

async fn a_token_speaks_for_its_owner(office: Office) {
    let next = office.neighbour("Next door").await;
    let id = make(&office, 1).await;
    let other = make(&next, 2).await;
    let bearer_here = bearer(&office, 1).await;
    assert_eq!((bearer_here.token, bearer_here.workspace), (id, office.workspace));
    assert_eq!((bearer_here.role, bearer_here.expires_at), (Role::Owner, None));
    assert_eq!(bearer_here.scopes.to_string(), "READ_FOLDER,READ_BUDGET");
    let folder = serde_json::json!({ "name": "x", "owner": OWNER });
    let owner = office.create(groma_domain::Kind::Folder, folder).await["owner"]["id"].clone();
    assert_eq!(owner, bearer_here.person.to_string());
    let bearer_there = bearer(&office, 2).await;
    assert_eq!((bearer_there.token, bearer_there.workspace), (other, next.workspace));
    assert_ne!(bearer_there.person, bearer_here.person);
}

async fn a_token_that_nobody_has_is_unknown(office: Office) {
    assert!(is_unknown(&office, 1).await);
    make(&office, 1).await;
    assert!(!is_unknown(&office, 1).await, "it is known as soon as it is made");
    assert!(is_unknown(&office, 2).await);
}

async fn a_token_is_good_until_the_moment_it_expires(office: Office) {
    let end = office.now().plus_millis(60_000);
    try_make(&office, NewToken { expires_at: Some(end), ..new_token(&office, 1) }).await.unwrap();
    let at =
        async |moment: Timestamp| office.store.admit(token(1).sent(), 100, moment).await.unwrap();
    for (moment, is_good) in [(-1, true), (0, false), (1, false), (-1, true)] {
        let admission = at(end.plus_millis(moment)).await;
        let answered = match &admission {
            Admission::Known { bearer, .. } => {
                assert_eq!(bearer.expires_at, Some(end));
                true
            }
            Admission::Expired => false,
            Admission::Unknown => panic!("unknown"),
        };
        assert_eq!(answered, is_good, "{moment}");
    }
}

async fn a_revoked_token_is_refused_at_once(office: Office) {
    let id = make(&office, 1).await;
    make(&office, 2).await;
    assert!(!is_unknown(&office, 1).await);
    office.store.revoke_token(office.workspace, id, office.actor, office.tick()).await.unwrap();
    let revoked_at = office.now();
    assert!(is_unknown(&office, 1).await);
    assert!(!is_unknown(&office, 2).await);
    // Revoking it again changes nothing, and one that never was is not found.
    office.store.revoke_token(office.workspace, id, office.actor, office.tick()).await.unwrap();
    let tokens = office.store.tokens(None).await.unwrap();
    assert_eq!(tokens[0].revoked_at, Some(revoked_at));
    let never = TokenId(uuid::Uuid::now_v7());
    let outcome =
        office.store.revoke_token(office.workspace, never, office.actor, office.tick()).await;
    let not_found = Refusal::NotFound { what: "token", key: never.to_string() };
    assert_eq!(refusal(outcome).0, not_found);
}

async fn set_role(desk: &Desk, email: &str, role: Role) {
    let user = user(email, None);
    desk.store.add_member(desk.workspace, desk.actor, user, role, desk.tick()).await.unwrap();
}

async fn a_token_has_the_role_its_owner_has_now(office: Office) {
    set_role(&office, "crew@office.test", Role::Editor).await;
    let owner = Email::parse("CREW@office.test").unwrap();
    try_make(&office, NewToken { owner, ..new_token(&office, 1) }).await.unwrap();
    assert_eq!(bearer(&office, 1).await.role, Role::Editor);
    set_role(&office, "crew@office.test", Role::Viewer).await;
    assert_eq!(bearer(&office, 1).await.role, Role::Viewer);
}

async fn a_token_belongs_to_a_member(office: Office) {
    let folder = serde_json::json!({ "name": "x", "owner": "crew@office.test" });
    office.create(groma_domain::Kind::Folder, folder).await;
    let next = office.neighbour("Next door").await;
    set_role(&next, "next@office.test", Role::Admin).await;
    // A person without a role, someone else's member, nobody at all.
    for email in ["crew@office.test", "next@office.test", "nobody@office.test"] {
        let owner = Email::parse(email).unwrap();
        let outcome = try_make(&office, NewToken { owner, ..new_token(&office, 1) }).await;
        let not_found = Refusal::NotFound { what: "member", key: email.to_owned() };
        assert_eq!(refusal(outcome).0, not_found);
    }
    let nowhere = groma_domain::WorkspaceId(uuid::Uuid::now_v7());
    let outcome = try_make(&office, NewToken { workspace: nowhere, ..new_token(&office, 1) }).await;
    assert!(matches!(refusal(outcome).0, Refusal::NotFound { what: "workspace", .. }));
}

async fn only_admins_and_owners_hand_out_webhook_tokens(office: Office) {
    let scopes: Scopes = Scope::ALL.into_iter().collect();
    for (number, role) in (1..).zip([Role::Viewer, Role::Editor, Role::Admin, Role::Owner]) {
        set_role(&office, "crew@office.test", role).await;
        let owner = Email::parse("crew@office.test").unwrap();
        let new = NewToken { owner: owner.clone(), scopes, ..new_token(&office, number) };
        let outcome = try_make(&office, new).await;
        if role >= Role::Admin {
            outcome.unwrap();
            assert_eq!(bearer(&office, number).await.scopes, scopes);
        } else {
            assert_eq!(refusal(outcome).0, Refusal::Forbidden { needs: Role::Admin });
            let reading = NewToken { owner, ..new_token(&office, number) };
            try_make(&office, reading).await.unwrap();
        }
    }
}

async fn tokens_are_listed_with_all_that_is_known_of_them(office: Office) {
    let next = office.neighbour("Next door").await;
    let end = office.now().plus_millis(1_000_000);
    let with_end = NewToken { expires_at: Some(end), ..new_token(&office, 1) };
    let first = try_make(&office, with_end).await.unwrap();
    let made_at = office.now();
    let second = make(&office, 2).await;
    let elsewhere = make(&next, 3).await;
    let here = office.store.tokens(Some(office.workspace)).await.unwrap();
    let ids: Vec<_> = here.iter().map(|row| row.id).collect();
    assert_eq!(ids, [first, second], "oldest first");
    let row = &here[0];
    assert_eq!((&*row.name, &*row.workspace, &*row.owner), ("Token 1", "Office", OWNER));
    assert_eq!(row.scopes.to_string(), "READ_FOLDER,READ_BUDGET");
    assert_eq!((row.created_at, row.expires_at), (made_at, Some(end)));
    assert_eq!((row.revoked_at, row.last_used_at), (None, None));
    let all = office.store.tokens(None).await.unwrap();
    let ids: Vec<_> = all.iter().map(|row| row.id).collect();
    assert_eq!(ids, [first, second, elsewhere]);
}

async fn the_last_use_is_written_down_when_settled(office: Office) {
    make(&office, 1).await;
    make(&office, 2).await;
    let last_uses = async || {
        let tokens = office.store.tokens(None).await.unwrap();
        tokens.iter().map(|row| row.last_used_at).collect::<Vec<_>>()
    };
    office.tick();
    bearer(&office, 1).await;
    assert_eq!(last_uses().await, [None, None], "a request writes nothing");
    office.store.settle(office.now()).await.unwrap();
    let first_use = office.now();
    assert_eq!(last_uses().await, [Some(first_use), None]);
    office.tick();
    office.store.settle(office.now()).await.unwrap();
    assert_eq!(last_uses().await, [Some(first_use), None]);
    bearer(&office, 1).await;
    bearer(&office, 2).await;
    office.store.settle(office.now()).await.unwrap();
    assert_eq!(last_uses().await, [Some(office.now()), Some(office.now())]);
    // A request that the rate turns away is no use.
    let used = office.now();
    office.tick();
    assert!(!rate(&office, 1, 1).await.accepted);
    office.store.settle(office.now()).await.unwrap();
    assert_eq!(last_uses().await, [Some(used), Some(used)]);
}

async fn what_happens_to_tokens_is_on_the_audit_trail(office: Office) {
    let mark = office.mark().await;
    let id = make(&office, 1).await;
    office.store.revoke_token(office.workspace, id, office.actor, office.tick()).await.unwrap();
    let trail = office.trail(mark).await;
    let lines: Vec<_> = trail.iter().map(|row| (&*row.action, row.subject)).collect();
    assert_eq!(lines, [("token.created", id.0), ("token.revoked", id.0)]);
    let after: serde_json::Value = serde_json::from_str(trail[0].after.as_ref().unwrap()).unwrap();
    assert_eq!(
        after,
        serde_json::json!({ "name": "Token 1", "scopes": "READ_FOLDER,READ_BUDGET" })
    );
}

/// So many requests at once; how many of them pass.
async fn accepted(desks: &[&Desk], requests: usize) -> usize {
    let tasks = (0..requests).map(|number| {
        let desk = desks[number % desks.len()].clone();
        tokio::spawn(async move { rate(&desk, 1, 100).await.accepted })
    });
    let mut accepted = 0;
    for task in tasks.collect::<Vec<_>>() {
        accepted += usize::from(task.await.unwrap());
    }
    accepted
}

async fn of_a_hundred_and_fifty_at_once_exactly_a_hundred_pass(office: Office) {
    make(&office, 1).await;
    assert_eq!(accepted(&[&office], 150).await, 100);
    assert_eq!(accepted(&[&office], 10).await, 0);
}

async fn the_window_tells_what_is_left_and_until_when(office: Office) {
    make(&office, 1).await;
    let minute = 60_000_000;
    let first = rate(&office, 1, 3).await;
    assert_eq!((first.limit, first.remaining, first.accepted), (3, 2, true));
    assert!(first.reset_micros <= minute && first.reset_micros > minute - 10_000_000);
    let second = rate(&office, 1, 3).await;
    assert_eq!((second.remaining, second.accepted), (1, true));
    assert!(second.reset_micros < first.reset_micros, "the first is the next to leave");
    assert_eq!(rate(&office, 1, 3).await.remaining, 0);
    let refused = rate(&office, 1, 3).await;
    assert_eq!((refused.remaining, refused.accepted), (0, false));
    assert!(refused.reset_micros > 0 && refused.reset_micros < second.reset_micros);
}

async fn each_token_has_a_window_of_its_own(office: Office) {
    make(&office, 1).await;
    make(&office, 2).await;
    assert!(rate(&office, 1, 1).await.accepted);
    assert!(!rate(&office, 1, 1).await.accepted);
    assert!(rate(&office, 2, 1).await.accepted);
}

async fn requests_that_come_together_are_counted_one_by_one(office: Office) {
    for number in 1..=3 {
        make(&office, number).await;
    }
    // Twenty of each token, in turns, and some of a token that nobody has.
    let desk: &Desk = &office;
    let asked = (0..80_u8).map(|n| async move { (n % 4 + 1, admit(desk, n % 4 + 1, 7).await) });
    let answers = futures_util::future::join_all(asked).await;
    for number in 1..=3 {
        let of_token = answers.iter().filter(|(of, _)| *of == number);
        let rates: Vec<RateState> = of_token
            .map(|(_, admission)| match admission {
                Admission::Known { rate: Some(rate), .. } => *rate,
                other => panic!("no rate: {other:?}"),
            })
            .collect();
        let mut left: Vec<u32> =
            rates.iter().filter(|rate| rate.accepted).map(|rate| rate.remaining).collect();
        left.sort_unstable();
        assert_eq!(left, [0, 1, 2, 3, 4, 5, 6]);
        let refused = rates.iter().filter(|rate| !rate.accepted);
        assert_eq!(refused.map(|rate| rate.remaining).collect::<Vec<_>>(), [0; 13]);
    }
    let unknown = answers.iter().filter(|(of, _)| *of == 4);
    assert!(unknown.into_iter().all(|(_, admission)| matches!(admission, Admission::Unknown)));
}

async fn refused_expired_and_unknown_requests_count_for_nothing(office: Office) {
    let end = office.now().plus_millis(60_000);
    try_make(&office, NewToken { expires_at: Some(end), ..new_token(&office, 1) }).await.unwrap();
    for _ in 0..5 {
        let late = office.store.admit(token(1).sent(), 2, end).await.unwrap();
        assert!(matches!(late, Admission::Expired));
    }
    assert_eq!(rate(&office, 1, 2).await.remaining, 1);
    assert_eq!(rate(&office, 1, 2).await.remaining, 0);
    for _ in 0..5 {
        assert!(!rate(&office, 1, 2).await.accepted);
    }
    let more = rate(&office, 1, 4).await;
    assert_eq!((more.remaining, more.accepted), (1, true), "only the accepted ones count");
}

async fn without_a_limit_nothing_is_counted(office: Office) {
    make(&office, 1).await;
    for _ in 0..5 {
        let admission = admit(&office, 1, 0).await;
        assert!(matches!(admission, Admission::Known { rate: None, .. }));
    }
    assert_eq!(rate(&office, 1, 3).await.remaining, 2);
}

/// A store that is being served, for as long as this lives.
struct Tended(tokio::task::JoinHandle<()>);

impl Tended {
    fn new(desk: &Desk) -> Self {
        let desk = desk.clone();
        Self(tokio::spawn(async move { desk.store.tend(|| desk.now()).await }))
    }
}

impl Drop for Tended {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn another_opening_of_the_database_revokes_within_a_second(office: Office) {
    let _tended = Tended::new(&office);
    let command = office.reopened().await;
    for number in 1..=3 {
        let id = make(&command, number).await;
        within(Duration::from_secs(1), "the new token is known", async || {
            !is_unknown(&office, number).await
        })
        .await;
        command
            .store
            .revoke_token(command.workspace, id, command.actor, command.tick())
            .await
            .unwrap();
        within(Duration::from_secs(1), "the revoked token is refused", async || {
            is_unknown(&office, number).await
        })
        .await;
    }
}

async fn another_opening_of_the_database_changes_a_role_within_a_second(office: Office) {
    let _tended = Tended::new(&office);
    let command = office.reopened().await;
    set_role(&office, "crew@office.test", Role::Editor).await;
    let owner = Email::parse("crew@office.test").unwrap();
    try_make(&office, NewToken { owner, ..new_token(&office, 1) }).await.unwrap();
    assert_eq!(bearer(&office, 1).await.role, Role::Editor);
    set_role(&command, "crew@office.test", Role::Viewer).await;
    within(Duration::from_secs(1), "the new role is seen", async || {
        bearer(&office, 1).await.role == Role::Viewer
    })
    .await;
    command.store.delete_workspace(command.workspace, Actor::Operator).await.unwrap();
    within(Duration::from_secs(1), "the token has ended with its workspace", async || {
        is_unknown(&office, 1).await
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replicas_on_postgres_share_the_window() {
    let office = Office::open(Engine::Postgres).await;
    let replica = office.reopened().await;
    make(&office, 1).await;
    assert_eq!(accepted(&[&office, &replica], 150).await, 100);
    assert!(!rate(&office, 1, 100).await.accepted);
    assert!(!rate(&replica, 1, 100).await.accepted);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_window_on_postgres_slides_request_by_request() {
    let office = Office::open(Engine::Postgres).await;
    let DatabaseUrl::Postgres(url) = &office.url else { panic!("on PostgreSQL") };
    let client = connect(url).await;
    // Time passes by moving what was accepted into the past.
    let pass = async |seconds: i64| {
        let age = "UPDATE rate_windows SET accepted = ARRAY(SELECT s - $1 FROM unnest(accepted) s)";
        client.execute(age, &[&(seconds * 1_000_000)]).await.unwrap();
    };
    make(&office, 1).await;
    assert!(rate(&office, 1, 2).await.accepted);
    pass(30).await;
    assert!(rate(&office, 1, 2).await.accepted);
    pass(15).await;
    let refused = rate(&office, 1, 2).await;
    assert!(!refused.accepted);
    assert!((10_000_000..=15_000_000).contains(&refused.reset_micros), "{refused:?}");
    pass(15).await;
    let again = rate(&office, 1, 2).await;
    assert!(again.accepted, "the first has left");
    assert!((20_000_000..=30_000_000).contains(&again.reset_micros), "{again:?}");
    assert!(!rate(&office, 1, 2).await.accepted);
    pass(-90).await;
    let set_back = rate(&office, 1, 2).await;
    assert!(!set_back.accepted && set_back.reset_micros <= 60_000_000, "{set_back:?}");
    pass(3_700).await;
    office.store.settle(office.now()).await.unwrap();
    let left = client.query("SELECT 1 FROM rate_windows", &[]).await.unwrap();
    assert!(left.is_empty(), "windows in which nothing counts are forgotten");
}
