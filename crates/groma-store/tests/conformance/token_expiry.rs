//! Notices of tokens that expire within a week.

use crate::{
    Fixture,
    fixture::{OWNER, TestWorkspace, token, user},
    on_both_engines,
};
use groma_domain::{Email, Role, TokenId, scope::Scopes};
use groma_store::{Actor, ExpiringToken, MailKind, NewMail, NewToken};

on_both_engines! {
    notice_is_due_a_week_before_the_end_of_a_long_lived_token
    notice_follows_the_longest_lifetime
    notice_is_queued_once_over_all_replicas
    owners_are_told_of_the_tokens_of_service_accounts
}

const DAY: i64 = 24 * 60 * 60 * 1_000;

async fn new_token(workspace: &TestWorkspace, owner: &str, number: u8, days: i64) -> TokenId {
    let new_token = NewToken {
        id: None,
        workspace: workspace.workspace_id,
        owner: Email::parse(owner).unwrap(),
        name: format!("Script {number}"),
        hash: token(number).hash(),
        hint: "abcd".to_owned(),
        scopes: Scopes::default(),
        expires_at: (days > 0).then(|| workspace.now().plus_millis(days * DAY)),
        is_read_only: false,
        notice: None,
    };
    workspace.store.create_token(new_token, Actor::Operator, workspace.now()).await.unwrap()
}

async fn expiring(workspace: &TestWorkspace) -> Vec<ExpiringToken> {
    workspace.store.expiring_tokens(workspace.now()).await.unwrap()
}

fn mails(token: &ExpiringToken, workspace: &TestWorkspace) -> Vec<NewMail> {
    let mail = |recipient: &groma_store::TokenRecipient| NewMail {
        kind: MailKind::Notice,
        recipient: recipient.email.clone(),
        user: Some(recipient.user),
        workspace: Some(token.workspace),
        subject: token.name.clone(),
        body: String::new(),
        expires_at: workspace.now().plus_millis(DAY),
    };
    token.recipients.iter().map(mail).collect()
}

async fn notice_is_due_a_week_before_the_end_of_a_long_lived_token(fixture: Fixture) {
    let id = new_token(&fixture, OWNER, 1, 30).await;
    new_token(&fixture, OWNER, 2, 14).await;
    new_token(&fixture, OWNER, 3, 0).await;
    let revoked = new_token(&fixture, OWNER, 4, 30).await;
    let (workspace, now) = (fixture.workspace_id, fixture.now());
    fixture.store.revoke_token(workspace, revoked, Actor::Operator, now).await.unwrap();
    fixture.advance(23 * DAY - 1_000);
    assert!(expiring(&fixture).await.is_empty());
    fixture.advance(1_000);
    let found = expiring(&fixture).await;
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].id, found[0].name.as_str()), (id, "Script 1"));
    assert_eq!((found[0].workspace_name.as_str(), found[0].recipients.len()), ("Office", 1));
    // Expired and revoked tokens cause no mail.
    fixture.advance(7 * DAY);
    assert!(expiring(&fixture).await.is_empty());
}

async fn notice_follows_the_longest_lifetime(fixture: Fixture) {
    let id = new_token(&fixture, OWNER, 1, 0).await;
    let (workspace, created) = (fixture.workspace_id, fixture.now());
    let set = async |days| {
        let now = fixture.now();
        fixture.store.set_max_token_days(workspace, Actor::Operator, days, now).await.unwrap();
    };
    set(Some(30)).await;
    fixture.advance(23 * DAY - 1_000);
    assert!(expiring(&fixture).await.is_empty());
    fixture.advance(1_000);
    let found = expiring(&fixture).await.remove(0);
    assert_eq!((found.id, found.expires_at), (id, created.plus_millis(30 * DAY)));
    let queue = async |token: &ExpiringToken| {
        let mails = mails(token, &fixture);
        fixture.store.notify_token_expiry(token, mails, fixture.now()).await.unwrap()
    };
    assert!(queue(&found).await);
    assert!(!queue(&found).await);
    assert!(expiring(&fixture).await.is_empty());
    // After the limit is raised, there is another week before the end.
    set(Some(60)).await;
    assert!(expiring(&fixture).await.is_empty());
    fixture.advance(30 * DAY);
    let found = expiring(&fixture).await.remove(0);
    assert_eq!((found.id, found.expires_at), (id, created.plus_millis(60 * DAY)));
    assert!(queue(&found).await);
    assert!(expiring(&fixture).await.is_empty());
}

async fn notice_is_queued_once_over_all_replicas(fixture: Fixture) {
    new_token(&fixture, OWNER, 1, 30).await;
    fixture.advance(25 * DAY);
    let token = expiring(&fixture).await.remove(0);
    let other = fixture.reopen().await;
    let now = fixture.now();
    let (one, two) = tokio::join!(
        fixture.store.notify_token_expiry(&token, mails(&token, &fixture), now),
        other.store.notify_token_expiry(&token, mails(&token, &fixture), now),
    );
    assert_eq!([one.unwrap(), two.unwrap()].iter().filter(|queued| **queued).count(), 1);
    assert_eq!(fixture.store.count_waiting_mails().await.unwrap(), 1);
    assert!(expiring(&fixture).await.is_empty());
}

async fn owners_are_told_of_the_tokens_of_service_accounts(fixture: Fixture) {
    let (id, now) = (fixture.workspace_id, fixture.tick());
    let second = user("second@office.test", None);
    fixture.store.add_member(id, Actor::Operator, second, Role::Owner, now).await.unwrap();
    let viewer = user("viewer@office.test", None);
    fixture.store.add_member(id, Actor::Operator, viewer, Role::Viewer, now).await.unwrap();
    let account =
        fixture.store.add_service_account(id, Actor::Operator, "Export", Role::Viewer, now);
    let address = account.await.unwrap().email;
    new_token(&fixture, address.as_str(), 1, 30).await;
    fixture.advance(25 * DAY);
    let token = expiring(&fixture).await.remove(0);
    let mut told: Vec<_> = token.recipients.iter().map(|r| r.email.to_string()).collect();
    told.sort();
    assert_eq!(told, [OWNER, "second@office.test"]);
}
