//! The queue of mails: leases, retries, limits, and links that work once.

use crate::{
    Fixture,
    fixture::{OWNER, domain_error, token, user, wait_for_other_connections},
    on_both_engines,
};
use groma_domain::{
    DomainError, Email, InvitationId, Role, Scope, Timestamp, UserId, secret::Secret,
};
use groma_store::{
    Actor, AuthOutcome, DatabaseUrl, EncryptionKey, EncryptionKeys, LinkPurpose, MAIL_LEASE_MILLIS,
    Mail, MailKind, MailOutcome, NewEmailLink, NewInvitation, NewMail, NewToken, PasswordReset,
};

on_both_engines! {
    due_mail_is_leased_to_one_program_and_again_after_the_lease
    failed_mail_waits_for_its_retry
    sent_mail_leaves_no_text_and_counts_for_an_hour
    limit_of_an_address_holds_for_concurrent_requests
    mail_that_could_not_be_sent_in_time_is_dropped
    mailed_invitation_verifies_the_address_of_its_user
    cancelled_invitation_is_not_sent
    mails_of_a_deleted_workspace_are_deleted
    reset_link_works_once_and_ends_sessions_and_tokens
    reset_link_ends_with_another_password
    verification_link_verifies_the_address
    link_in_a_mail_is_encrypted_and_follows_the_key
}

fn email(text: &str) -> Email {
    Email::parse(text).unwrap()
}

fn far_future() -> Timestamp {
    Timestamp::parse("2099-01-01T00:00:00Z").unwrap()
}

fn mail(recipient: &str, kind: MailKind) -> NewMail {
    NewMail {
        kind,
        recipient: email(recipient),
        user: None,
        workspace: None,
        subject: "A subject".to_owned(),
        body: "A secret text".to_owned(),
        expires_at: far_future(),
    }
}

async fn queue(fixture: &Fixture, recipient: &str) -> bool {
    let mail = mail(recipient, MailKind::PasswordReset);
    fixture.store.queue_mail(mail, fixture.tick()).await.unwrap()
}

async fn claim(fixture: &Fixture) -> Vec<Mail> {
    wait_for_other_connections().await;
    fixture.store.claim_mails(10, fixture.now()).await.unwrap()
}

/// Runs a statement beside the store.
async fn execute(fixture: &Fixture, sql: &'static str) {
    match fixture.url.clone() {
        DatabaseUrl::Sqlite(path) => {
            rusqlite::Connection::open(path).unwrap().execute_batch(sql).unwrap();
        }
        DatabaseUrl::Postgres(url) => {
            let client = groma_testkit::postgres::connect(&url).await.unwrap();
            client.batch_execute(sql).await.unwrap();
        }
    }
}

async fn due_mail_is_leased_to_one_program_and_again_after_the_lease(fixture: Fixture) {
    assert!(queue(&fixture, "crew@office.test").await);
    let other = fixture.reopen().await;
    let (one, two) = tokio::join!(
        fixture.store.claim_mails(10, fixture.now()),
        other.store.claim_mails(10, fixture.now())
    );
    assert_eq!(one.unwrap().len() + two.unwrap().len(), 1, "only one program gets it");
    assert!(claim(&fixture).await.is_empty());
    // The program that leased it does not finish.
    assert_eq!(MAIL_LEASE_MILLIS, 120_000);
    execute(&fixture, "UPDATE mails SET due_at = due_at - 120000").await;
    let again = claim(&fixture).await;
    assert_eq!((again.len(), again[0].tries), (1, 2));
}

async fn failed_mail_waits_for_its_retry(fixture: Fixture) {
    assert!(queue(&fixture, "crew@office.test").await);
    let claimed = claim(&fixture).await;
    let retry = MailOutcome::Retry { after_millis: 60_000 };
    fixture.store.finish_mail(&claimed[0], retry, fixture.now()).await.unwrap();
    assert!(claim(&fixture).await.is_empty());
    execute(&fixture, "UPDATE mails SET due_at = due_at - 60000").await;
    let again = claim(&fixture).await;
    assert_eq!((again.len(), again[0].tries), (1, 2));
    // The result of an attempt whose lease has ended changes nothing.
    fixture
        .store
        .finish_mail(&claimed[0], MailOutcome::Retry { after_millis: 0 }, fixture.now())
        .await
        .unwrap();
    assert!(claim(&fixture).await.is_empty());
}

async fn sent_mail_leaves_no_text_and_counts_for_an_hour(fixture: Fixture) {
    for _ in 0..3 {
        assert!(queue(&fixture, "crew@office.test").await);
    }
    for mail in claim(&fixture).await {
        assert_eq!(mail.body, "A secret text");
        fixture.store.finish_mail(&mail, MailOutcome::Done, fixture.now()).await.unwrap();
    }
    assert_eq!(fixture.store.count_waiting_mails().await.unwrap(), 0);
    execute(&fixture, "UPDATE mails SET due_at = 1").await;
    assert!(claim(&fixture).await.iter().all(|mail| mail.body.is_empty()), "no text is left");
    execute(&fixture, "UPDATE mails SET due_at = NULL").await;
    assert!(!queue(&fixture, "Crew@office.test").await, "the address has received too many");
    assert!(queue(&fixture, "other@office.test").await);
    let notice = mail("crew@office.test", MailKind::Notice);
    let queued = fixture.store.queue_mail(notice, fixture.tick()).await.unwrap();
    assert!(queued, "requested links do not suppress notices");
    fixture.advance(60 * 60 * 1_000 + 10_000);
    fixture.store.clean_up_mails(fixture.now()).await.unwrap();
    assert!(queue(&fixture, "crew@office.test").await);
}

async fn limit_of_an_address_holds_for_concurrent_requests(fixture: Fixture) {
    let now = fixture.tick();
    let tasks = (0..12).map(|_| {
        let store = fixture.store.clone();
        let mail = mail("crew@office.test", MailKind::PasswordReset);
        tokio::spawn(async move { store.queue_mail(mail, now).await.unwrap() })
    });
    let mut queued = 0;
    for task in tasks.collect::<Vec<_>>() {
        queued += u32::from(task.await.unwrap());
    }
    assert_eq!(queued, 3);
}

async fn mail_that_could_not_be_sent_in_time_is_dropped(fixture: Fixture) {
    let expires_at = fixture.now().plus_millis(60_000);
    let mail = NewMail { expires_at, ..mail("crew@office.test", MailKind::PasswordReset) };
    assert!(fixture.store.queue_mail(mail, fixture.tick()).await.unwrap());
    assert_eq!(fixture.store.clean_up_mails(fixture.now()).await.unwrap(), 0);
    fixture.advance(60_001);
    assert_eq!(fixture.store.clean_up_mails(fixture.now()).await.unwrap(), 1);
    assert_eq!(fixture.store.count_waiting_mails().await.unwrap(), 0);
}

async fn invite(fixture: &Fixture, number: u8) -> InvitationId {
    let id = InvitationId(uuid::Uuid::from_u128(u128::from(number)));
    let mail = NewMail {
        workspace: Some(fixture.workspace_id),
        ..mail("crew@office.test", MailKind::Invitation)
    };
    let invitation = NewInvitation {
        id: Some(id),
        hash: Secret::new([number; 32]).hash(),
        role: Role::Editor,
        email: email("crew@office.test"),
        expires_at: far_future(),
        mail: Some(mail),
    };
    let invite = || {
        let (actor, now) = (fixture.actor, fixture.tick());
        fixture.store.invite(fixture.workspace_id, actor, invitation.clone(), now)
    };
    assert_eq!(invite().await.unwrap(), id);
    assert_eq!(invite().await.unwrap(), id, "the same request again creates nothing");
    id
}

async fn mailed_invitation_verifies_the_address_of_its_user(fixture: Fixture) {
    invite(&fixture, 1).await;
    assert_eq!(fixture.store.count_waiting_mails().await.unwrap(), 1);
    let hash = Secret::new([1; 32]).hash();
    let crew = user("crew@office.test", None);
    let now = fixture.tick();
    fixture.store.accept_invitation(hash, crew, true, now).await.unwrap();
    let account = fixture.store.account(&email("crew@office.test")).await.unwrap().unwrap();
    assert_eq!(account.email_verified_at, Some(now));
    let owner = fixture.store.account(&email(OWNER)).await.unwrap().unwrap();
    assert_eq!(owner.email_verified_at, None);
}

async fn cancelled_invitation_is_not_sent(fixture: Fixture) {
    let id = invite(&fixture, 1).await;
    fixture
        .store
        .cancel_invitation(fixture.workspace_id, fixture.actor, id, fixture.tick())
        .await
        .unwrap();
    assert_eq!(fixture.store.count_waiting_mails().await.unwrap(), 0);
}

async fn mails_of_a_deleted_workspace_are_deleted(fixture: Fixture) {
    invite(&fixture, 1).await;
    assert!(queue(&fixture, OWNER).await);
    let now = fixture.tick();
    fixture.store.delete_workspace(fixture.workspace_id, Actor::Operator, now).await.unwrap();
    assert_eq!(fixture.store.count_waiting_mails().await.unwrap(), 1, "only the other is left");
}

async fn send_link(fixture: &Fixture, user: UserId, number: u8, purpose: LinkPurpose) {
    let link = NewEmailLink {
        hash: Secret::new([number; 32]).hash(),
        user,
        purpose,
        expires_at: fixture.now().plus_millis(60_000),
        mail: NewMail { user: Some(user), ..mail(OWNER, MailKind::PasswordReset) },
    };
    assert!(fixture.store.send_email_link(link, fixture.tick()).await.unwrap());
}

async fn reset_link_works_once_and_ends_sessions_and_tokens(fixture: Fixture) {
    let account = fixture.store.account(&email(OWNER)).await.unwrap().unwrap();
    for number in [1, 2] {
        send_link(&fixture, account.user, number, LinkPurpose::ResetPassword).await;
    }
    let access = token(7);
    let new_token = NewToken {
        id: None,
        workspace: fixture.workspace_id,
        owner: email(OWNER),
        name: "Export".to_owned(),
        hash: access.hash(),
        hint: access.hint(),
        scopes: [Scope::ReadFolder].into_iter().collect(),
        expires_at: None,
        is_read_only: false,
        notice: Some(mail(OWNER, MailKind::Notice)),
    };
    fixture.store.create_token(new_token, fixture.actor, fixture.tick()).await.unwrap();
    let reset = |number: u8, revoke_tokens| PasswordReset {
        link: Secret::new([number; 32]).hash(),
        password_hash: format!("hash {number}"),
        revoke_tokens,
        notice: mail(OWNER, MailKind::Notice),
        address: "192.0.2.1".to_owned(),
    };
    let found = async |number: u8, purpose| {
        let hash = Secret::new([number; 32]).hash();
        fixture.store.email_link(&hash, purpose, fixture.now()).await.unwrap()
    };
    assert!(found(1, LinkPurpose::VerifyEmail).await.is_none(), "a link has one purpose");
    assert!(found(1, LinkPurpose::ResetPassword).await.is_some());
    fixture.store.reset_password(reset(1, true), fixture.tick()).await.unwrap();
    let account = fixture.store.account(&email(OWNER)).await.unwrap().unwrap();
    assert_eq!(account.password_hash.as_deref(), Some("hash 1"));
    assert!(account.email_verified_at.is_some());
    for number in [1, 2] {
        let (error, _) =
            domain_error(fixture.store.reset_password(reset(number, false), fixture.tick()).await);
        assert!(matches!(error, DomainError::NotFound { .. }), "{error}");
    }
    let outcome =
        fixture.store.authenticate(access.presented(), 0, None, fixture.now()).await.unwrap();
    assert!(matches!(outcome, AuthOutcome::Unknown), "the token is revoked");
    let kinds = claim(&fixture).await.len();
    assert_eq!(kinds, 2, "two notices, and no more links");
    // A link expires.
    send_link(&fixture, account.user, 3, LinkPurpose::ResetPassword).await;
    fixture.advance(60_001);
    assert!(found(3, LinkPurpose::ResetPassword).await.is_none());
}

async fn reset_link_ends_with_another_password(fixture: Fixture) {
    let account = fixture.store.account(&email(OWNER)).await.unwrap().unwrap();
    send_link(&fixture, account.user, 1, LinkPurpose::ResetPassword).await;
    let hash = "another".to_owned();
    fixture.store.set_password(email(OWNER), hash, false, fixture.tick()).await.unwrap();
    let link = Secret::new([1; 32]).hash();
    let found = fixture.store.email_link(&link, LinkPurpose::ResetPassword, fixture.now()).await;
    assert!(found.unwrap().is_none());
    assert!(claim(&fixture).await.is_empty(), "the mail with the link is not sent");
}

async fn verification_link_verifies_the_address(fixture: Fixture) {
    let account = fixture.store.account(&email(OWNER)).await.unwrap().unwrap();
    send_link(&fixture, account.user, 1, LinkPurpose::VerifyEmail).await;
    let hash = Secret::new([1; 32]).hash();
    let now = fixture.tick();
    assert_eq!(fixture.store.verify_email(hash, now).await.unwrap(), email(OWNER));
    let account = fixture.store.account(&email(OWNER)).await.unwrap().unwrap();
    assert_eq!(account.email_verified_at, Some(now));
    assert!(fixture.store.verify_email(hash, fixture.tick()).await.is_err(), "it works once");
}

async fn link_in_a_mail_is_encrypted_and_follows_the_key(fixture: Fixture) {
    let key = |byte: u8| EncryptionKey::new([byte; 32]);
    let keys = |current, previous: &[u8]| EncryptionKeys {
        current: Some(key(current)),
        previous: previous.iter().map(|byte| key(*byte)).collect(),
    };
    fixture.store.set_encryption_keys(keys(1, &[]));
    let owner = fixture.store.account(&email(OWNER)).await.unwrap().unwrap();
    let link = NewEmailLink {
        hash: Secret::new([1; 32]).hash(),
        user: owner.user,
        purpose: LinkPurpose::ResetPassword,
        expires_at: far_future(),
        mail: mail(OWNER, MailKind::PasswordReset),
    };
    assert!(fixture.store.send_email_link(link, fixture.tick()).await.unwrap());
    execute(&fixture, "DELETE FROM mails WHERE body LIKE '%secret%'").await;
    assert!(fixture.reopen().await.store.claim_mails(10, fixture.now()).await.unwrap().is_empty());
    assert_eq!(fixture.store.count_waiting_mails().await.unwrap(), 1, "it waits for the key");
    let rekeyed = fixture.reopen().await;
    rekeyed.store.set_encryption_keys(keys(2, &[1]));
    rekeyed.store.reencrypt_secrets().await.unwrap();
    execute(&fixture, "UPDATE mails SET due_at = due_at - 120000").await;
    let after = fixture.reopen().await;
    after.store.set_encryption_keys(keys(2, &[]));
    wait_for_other_connections().await;
    let mails = after.store.claim_mails(10, fixture.now()).await.unwrap();
    assert_eq!(mails[0].body, "A secret text");
}
