//! Erasing people leaves no trace of their name and address, and keeps the records.

use crate::{
    Fixture,
    fixture::{TestWorkspace, domain_error, new, token, user},
    on_both_engines,
};
use groma_domain::{
    DeliveryId, DomainError, Email, Event, Kind, PersonId, Role, Scope, UserId, Violation,
    scope::Scopes,
    secret::Secret,
    webhook::{DeliveryStatus, EndpointInput, EndpointUrl},
};
use groma_store::{
    AccountAuthority, Actor, DatabaseUrl, DeliveryFilter, DeliveryRow, DeliveryState,
    EndpointOutcome, IdempotencyKey, IdempotentRequest, MailKind, NewEndpoint, NewInvitation,
    NewMail, NewSession, NewToken, Operation, OperationBatch, PastAttempt, PastDelivery,
    RedeliverySince, SecurityLogFilter, ThrottleBucket, ThrottleRule, WebhookRequest,
};
use groma_testkit::postgres::connect;
use rusqlite::types::ValueRef;
use serde_json::{Value, json};
use std::sync::Arc;

on_both_engines! {
    deleted_user_leaves_no_trace_and_records_stay
    former_member_is_erased_in_one_workspace
    member_cannot_be_erased
    events_with_erased_people_are_not_sent_again
}

const NAME: &str = "Zenith Surveyor";
const EMAIL: &str = "Zenith@Quill.test";

fn email() -> Email {
    Email::parse(EMAIL).unwrap()
}

/// Every value of the database as text, each with its table.
async fn dump(fixture: &Fixture) -> Vec<String> {
    let mut values = Vec::new();
    match &fixture.url {
        DatabaseUrl::Sqlite(path) => {
            let connection = rusqlite::Connection::open(path).unwrap();
            let tables =
                "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table'";
            let mut statement = connection.prepare(tables).unwrap();
            let tables = statement.query_map([], |row| row.get::<_, String>(0)).unwrap();
            for table in tables.map(Result::unwrap) {
                let mut statement =
                    connection.prepare(&format!("SELECT * FROM \"{table}\"")).unwrap();
                let columns = statement.column_count();
                let mut rows = statement.query([]).unwrap();
                while let Some(row) = rows.next().unwrap() {
                    for column in 0..columns {
                        if let ValueRef::Text(bytes) | ValueRef::Blob(bytes) =
                            row.get_ref(column).unwrap()
                        {
                            values.push(format!("{table}: {}", String::from_utf8_lossy(bytes)));
                        }
                    }
                }
            }
        }
        DatabaseUrl::Postgres(url) => {
            let client = connect(url).await.unwrap();
            client.batch_execute("SET bytea_output = 'escape'").await.unwrap();
            let tables = "SELECT tablename::text FROM pg_tables WHERE schemaname = 'public'
                AND tablename <> 'spatial_ref_sys'";
            for table in client.query(tables, &[]).await.unwrap() {
                let table: String = table.get(0);
                let rows = format!("SELECT t::text FROM {table} t");
                for row in client.query(&rows, &[]).await.unwrap() {
                    values.push(format!("{table}: {}", row.get::<_, String>(0)));
                }
            }
        }
    }
    values
}

/// The values that contain the name or the address.
async fn traces(fixture: &Fixture) -> Vec<String> {
    let words = ["zenith", "quill"];
    let found = |value: &String| words.iter().any(|word| value.to_lowercase().contains(word));
    dump(fixture).await.into_iter().filter(found).collect()
}

async fn add(workspace: &TestWorkspace) -> (PersonId, UserId) {
    let (id, now) = (workspace.workspace_id, workspace.tick());
    let member = user(EMAIL, Some(NAME));
    let added = workspace.store.add_member(id, Actor::Operator, member, Role::Admin, now).await;
    let user = workspace.store.account(&email()).await.unwrap().unwrap().user;
    (added.unwrap().person.id, user)
}

/// Writes the name and the address wherever the program does.
async fn fill(workspace: &TestWorkspace) -> (PersonId, UserId) {
    let (store, id) = (&workspace.store, workspace.workspace_id);
    let (person, user) = add(workspace).await;
    workspace.seed_folder().await;
    let owned = json!({ "name": "x", "reference": "x", "owner": EMAIL });
    workspace.create(Kind::Folder, owned).await;
    let others = json!({ "folder": "x", "title": "x", "assignees": ["other@office.test", EMAIL] });
    workspace.create(Kind::Assignment, others).await;
    let expense = json!({
        "folder": "x", "unitAmount": 5, "incurredOn": "2026-03-01", "submittedBy": EMAIL,
    });
    workspace.create(Kind::Expense, expense).await;
    let member = Actor::Member(person);
    store.rename_member(id, member, "Zenith Q.", workspace.tick()).await.unwrap();
    workspace.update(Kind::Folder, "x", json!({ "owner": "other@office.test" })).await;
    workspace.update(Kind::Folder, "x", json!({ "owner": EMAIL })).await;
    let deleted = json!({ "name": "y", "reference": "y", "owner": EMAIL });
    workspace.create(Kind::Folder, deleted).await;
    workspace.delete(Kind::Folder, "y").await;
    let expires_at = workspace.now().plus_millis(3_600_000);
    let mail = |recipient: Email, body: &str| NewMail {
        kind: MailKind::Invitation,
        recipient,
        user: None,
        workspace: Some(id),
        subject: "Hello".to_owned(),
        body: body.to_owned(),
        expires_at,
    };
    // From the person, and to the person.
    for (number, actor, to) in [(1, member, "new@office.test"), (2, Actor::Operator, EMAIL)] {
        let to = Email::parse(to).unwrap();
        let invitation = NewInvitation {
            id: None,
            hash: Secret::new([number; 32]).hash(),
            role: Role::Viewer,
            email: to.clone(),
            expires_at,
            mail: Some(mail(to, &format!("{NAME} invites you"))),
        };
        store.invite(id, actor, invitation, workspace.tick()).await.unwrap();
    }
    let token = NewToken {
        id: None,
        workspace: id,
        owner: email(),
        name: "Script".to_owned(),
        hash: token(1).hash(),
        hint: "abcd".to_owned(),
        scopes: Scopes::default(),
        expires_at: None,
        is_read_only: false,
        notice: None,
    };
    let token = store.create_token(token, member, workspace.tick()).await.unwrap();
    // A response that is kept with an idempotency key.
    let (path, key) = ("/folders".to_owned(), "key".to_owned());
    let request =
        IdempotentRequest { key: IdempotencyKey { token, path, key }, body_hash: [0; 16] };
    let operation = Operation {
        command: new(Kind::Folder, json!({ "name": "z", "owner": EMAIL })),
        scope: Scope::WriteFolder,
        precondition: None,
    };
    let batch = OperationBatch {
        workspace: id,
        actor: Actor::Operator,
        now: workspace.tick(),
        operations: vec![operation],
        is_atomic: true,
        with_documents: true,
        request: Some(request),
        respond: Arc::new(|results| match results {
            [Ok(outcome)] => [b"created\n", &outcome.document[..]].concat(),
            _ => Vec::new(),
        }),
    };
    store.execute(batch).await.unwrap();
    (person, user)
}

async fn log_in(workspace: &TestWorkspace, user: UserId) {
    let session = NewSession {
        hash: Secret::new([9; 32]).hash(),
        user,
        user_agent: "Browser".to_owned(),
        address: "192.0.2.1".to_owned(),
        has_second_factor: false,
        provider: None,
        now: workspace.tick(),
        ends_at: workspace.now().plus_millis(3_600_000),
    };
    let device = Some(Secret::new([8; 32]).hash());
    workspace.store.create_session(session, device).await.unwrap();
    let bucket = |name: String| ThrottleBucket { name, rule: ThrottleRule::Limit(9) };
    let buckets = vec![
        bucket(format!("reset account {}", email().key())),
        bucket(format!("account {}", email().key())),
    ];
    workspace.store.begin_login_attempt(buckets, workspace.now()).await.unwrap();
}

async fn deleted_user_leaves_no_trace_and_records_stay(fixture: Fixture) {
    let branch = fixture.new_workspace("Branch").await;
    let (_, user) = fill(&fixture).await;
    add(&branch).await;
    branch.create(Kind::Folder, json!({ "name": "x", "owner": EMAIL })).await;
    log_in(&fixture, user).await;
    assert!(traces(&fixture).await.len() > 10);
    let found = traces(&fixture).await;
    assert!(found.iter().any(|value| value.starts_with("idempotency_keys: ")), "{found:?}");
    let before = fixture.find(Kind::Folder, "x").await;
    assert_eq!(before["owner"]["name"], "Zenith Q.");

    let authority = AccountAuthority::Actor(Actor::Operator);
    fixture.store.delete_user(user, authority, fixture.tick()).await.unwrap();
    assert_eq!(traces(&fixture).await, Vec::<String>::new());

    let after = fixture.find(Kind::Folder, "x").await;
    let mut expected = before;
    expected["owner"]["name"] = "Former member".into();
    expected["owner"]["email"] = after["owner"]["email"].clone();
    assert_eq!(after, expected);
    let address = after["owner"]["email"].as_str().unwrap();
    assert!(address.ends_with("@erased.invalid"), "{address}");
    let (found, _) = fixture.list(Kind::Folder, &[("term", "zenith")]).await;
    assert!(found.is_empty());
    // Both have an address of their own.
    let folders = branch.list(Kind::Folder, &[]).await.0;
    assert_ne!(folders[0]["owner"]["email"], after["owner"]["email"]);
    // The log shows that someone did something, and to whom.
    let filter = SecurityLogFilter { user: Some(user), ..SecurityLogFilter::default() };
    let entries = fixture.store.security_entries(filter, 100).await.unwrap();
    let deleted = entries.iter().find(|entry| entry.action == "user.deleted").unwrap();
    assert!(deleted.is_about_former && deleted.subject_email.is_none());
    let created = entries.iter().find(|entry| entry.action == "token.created").unwrap();
    assert!(created.is_by_former && created.email.is_none());
    // The address is free again.
    add(&fixture).await;
}

async fn former_member_is_erased_in_one_workspace(fixture: Fixture) {
    let branch = fixture.new_workspace("Branch").await;
    let (person, _) = fill(&fixture).await;
    let (_, _) = add(&branch).await;
    branch.create(Kind::Folder, json!({ "name": "x", "owner": EMAIL })).await;
    let (id, now) = (fixture.workspace_id, fixture.tick());
    fixture.store.remove_member(id, Actor::Operator, person, now).await.unwrap();
    fixture.store.erase_person(id, person, Actor::Operator, now).await.unwrap();
    assert_eq!(fixture.find(Kind::Folder, "x").await["owner"]["name"], "Former member");
    // The account and the other workspace keep the name.
    assert!(fixture.store.has_user(&email()).await.unwrap());
    assert_eq!(branch.list(Kind::Folder, &[]).await.0[0]["owner"]["name"], NAME);
    let here = fixture.audit_log(0).await;
    let texts = here.iter().flat_map(|entry| entry.before.iter().chain(&entry.after));
    for text in texts {
        assert!(!text.to_lowercase().contains("zenith"), "{text}");
    }
    let people = fixture.store.people(id).await.unwrap();
    let erased = people.iter().find(|known| known.person.id == person).unwrap();
    assert!(erased.is_removed && erased.user.is_none());
}

async fn member_cannot_be_erased(fixture: Fixture) {
    let (person, _) = add(&fixture).await;
    let (id, now) = (fixture.workspace_id, fixture.tick());
    let erased = fixture.store.erase_person(id, person, Actor::Operator, now).await;
    assert_eq!(domain_error(erased).0, DomainError::invalid("person", Violation::IsMember));
    let admin = fixture.member(Role::Admin).await;
    fixture.store.remove_member(id, Actor::Operator, person, now).await.unwrap();
    let erased = fixture.store.erase_person(id, person, admin.actor, now).await;
    assert!(matches!(domain_error(erased).0, DomainError::Forbidden { .. }));
}

async fn events_with_erased_people_are_not_sent_again(fixture: Fixture) {
    let (store, id) = (&fixture.store, fixture.workspace_id);
    let (url, now) = (EndpointUrl::parse("https://hooks.test/", false).unwrap(), fixture.tick());
    let draft = EndpointInput { url: Some(url), ..EndpointInput::default() };
    let actor = Actor::Operator;
    let new = NewEndpoint { workspace: id, actor, now, draft, request: None };
    let EndpointOutcome::Created(created, _) = store.create_endpoint(new).await.unwrap() else {
        panic!("not created");
    };
    let endpoint = created.id;
    let (_, user) = fill(&fixture).await;
    let position = fixture.audit_log(0).await;
    let event = position.iter().find(|entry| entry.action == "folder.created").unwrap();
    let owned = position.iter().rfind(|entry| entry.action == "folder.deleted").unwrap();
    let attempt = |status| PastAttempt {
        at: now,
        millis: 5,
        status: Some(status),
        error: None,
        response: format!("received from {NAME}"),
    };
    let past = |audit_entry, status| PastDelivery {
        audit_entry,
        event: Event::all().next().unwrap(),
        at: now,
        attempts: vec![attempt(status)],
    };
    let past = vec![past(owned.id, 200), past(owned.id, 500), past(event.id, 500)];
    store.insert_past_deliveries(id, endpoint, past).await.unwrap();
    let deliveries = async || -> Vec<DeliveryRow> {
        store
            .deliveries(id, DeliveryFilter { limit: 100, ..DeliveryFilter::of(endpoint) })
            .await
            .unwrap()
    };
    let before = deliveries().await;
    let authority = AccountAuthority::Actor(Actor::Operator);
    store.delete_user(user, authority, fixture.tick()).await.unwrap();
    let mut counts = [0, 0, 0];
    for row in deliveries().await {
        let body = store.delivery(id, row.id).await.unwrap();
        let body_text = String::from_utf8(body.body).unwrap();
        assert!(!body_text.to_lowercase().contains("zenith"), "{body_text}");
        let document: Value = serde_json::from_str(&body_text).unwrap();
        let was = before.iter().find(|old| old.id == row.id).unwrap();
        let has_erased = document.to_string().contains("@erased.invalid");
        assert_eq!(row.erased_at.is_some(), has_erased, "{document}");
        if !has_erased {
            assert_eq!(row.state, was.state);
            counts[0] += 1;
            continue;
        }
        match was.state {
            DeliveryState::Delivered => {
                assert_eq!(row.state, DeliveryState::Delivered);
                counts[1] += 1;
            }
            _ => {
                assert_eq!((row.state, row.due_at), (DeliveryState::Cancelled, None));
                counts[2] += 1;
            }
        }
        for attempt in body.attempts {
            assert_eq!(attempt.response, b"");
        }
        assert_rejected(&fixture, row.id).await;
    }
    assert!(counts.iter().all(|count| *count > 0), "{counts:?}");
    let since = groma_domain::Timestamp::from_millis(0);
    let failed = RedeliverySince { endpoint, status: DeliveryStatus::Failed, since };
    let request = WebhookRequest::new(id, Actor::Operator, fixture.tick());
    let sent = store.redeliver_since(request, failed).await.unwrap();
    assert_eq!(sent.first().unwrap(), 1);
}

async fn assert_rejected(fixture: &Fixture, delivery: DeliveryId) {
    let (id, now) = (fixture.workspace_id, fixture.tick());
    let request = WebhookRequest::new(id, Actor::Operator, now);
    let sent = fixture.store.redeliver(request, delivery).await;
    assert_eq!(domain_error(sent).0, DomainError::invalid("delivery", Violation::EventErased));
}
