//! Rights are read in the transaction of a change: one that was asked for before they ended is rejected,
//! and writes nothing.

use crate::{
    Fixture, base_maps,
    fixture::{OWNER, TestWorkspace, domain_error, new, token, user},
    on_both_engines,
    workspaces::row_counts,
};
use groma_domain::{
    Currency, DomainError, Email, Kind, Role, Scope, SessionId, Timestamp, TokenId, WorkspaceId,
    layer::LayerKey,
    scope::Scopes,
    secret::Secret,
    webhook::{DeliveryStatus, EndpointInput, EndpointUrl},
    workspace::{OfferedCrs, WorkspaceName},
};
use groma_store::{
    Actor, BaseMapChange, BatchOutcome, EndpointChange, Error, FeatureOperation, FeatureWrite,
    NewEndpoint, NewInvitation, NewLayer, NewSavedView, NewSession, NewToken, Operation,
    OperationBatch, PasswordChange, Preferences, RedeliverySince, WebhookRequest,
};
use serde_json::json;
use std::sync::Arc;

on_both_engines! {
    open_session_and_valid_token_are_accepted
    ended_session_is_rejected
    expired_session_is_rejected
    revoked_token_is_rejected
    expired_token_is_rejected
    token_without_the_scope_is_rejected
    removed_member_is_rejected
    lower_role_is_rejected
    credentials_of_another_workspace_are_rejected
    ended_session_cannot_change_its_user
}

const HOUR: i64 = 60 * 60 * 1_000;

fn email() -> Email {
    Email::parse(OWNER).unwrap()
}

/// A session of the owner that ends in an hour.
async fn session(fixture: &TestWorkspace) -> SessionId {
    let account = fixture.store.account(&email()).await.unwrap().unwrap();
    let session = NewSession {
        hash: Secret::new([1; 32]).hash(),
        user: account.user,
        user_agent: "Browser".to_owned(),
        address: "192.0.2.1".to_owned(),
        has_second_factor: false,
        provider: None,
        now: fixture.tick(),
        ends_at: fixture.now().plus_millis(HOUR),
    };
    fixture.store.create_session(session, None).await.unwrap()
}

/// A token of the owner that expires in an hour.
async fn new_token(workspace: &TestWorkspace) -> TokenId {
    let new_token = NewToken {
        id: None,
        workspace: workspace.workspace_id,
        owner: email(),
        name: "Script".to_owned(),
        hash: token(1).hash(),
        hint: "abcd".to_owned(),
        scopes: [Scope::ManageWebhook].into_iter().collect::<Scopes>(),
        expires_at: Some(workspace.now().plus_millis(HOUR)),
        is_read_only: false,
        notice: None,
    };
    workspace.store.create_token(new_token, Actor::Operator, workspace.tick()).await.unwrap()
}

fn actor_of(token: TokenId) -> Actor {
    Actor::Token { token, ends_at: None, scope: Some(Scope::ManageWebhook) }
}

/// Makes one change of every kind as an actor. The last one deletes the workspace.
async fn try_all(
    workspace: &TestWorkspace,
    actor: Actor,
    now: Timestamp,
) -> Vec<(&'static str, Result<(), Error>)> {
    let (store, id) = (&workspace.store, workspace.workspace_id);
    let mut acting = workspace.clone();
    acting.actor = actor;
    let mut results = Vec::new();
    let mut record = |name, result: Result<(), Error>| results.push((name, result));
    let mut change = acting.change(vec![new(Kind::Folder, json!({ "name": "x" }))]);
    change.now = now;
    record("record", store.apply(change).await.map(drop));
    let batch = OperationBatch {
        workspace: id,
        actor,
        now,
        operations: vec![Operation {
            command: new(Kind::Folder, json!({ "name": "x" })),
            scope: Scope::ManageWebhook,
            precondition: None,
        }],
        is_atomic: true,
        with_documents: false,
        request: None,
        respond: Arc::new(|_| Vec::new()),
    };
    let executed = match store.execute(batch).await {
        Ok(BatchOutcome::Rejected(mut errors)) => Err(errors.remove(0).1.into()),
        outcome => outcome.map(drop),
    };
    record("operations", executed);
    let point = json!({ "type": "Point", "coordinates": [1, 2] });
    let mut geometries = acting.geometries(None, &point);
    geometries.now = now;
    record("geometry", store.post_geometries(geometries).await.map(drop));
    record("layer", store.create_layer(id, actor, NewLayer::named("New"), now).await.map(drop));
    let key = LayerKey::Slug("parcels".to_owned());
    record("layer order", store.place_layer(id, actor, key, 0, now).await.map(drop));
    let base_map = BaseMapChange::Add(base_maps::input("Plan"));
    record("base map", store.change_base_maps(id, actor, base_map, now).await.map(drop));
    let key = LayerKey::Slug("parcels".to_owned());
    let feature = FeatureWrite {
        workspace: id,
        actor,
        now,
        layer: store.layer(id, &key).await.unwrap().unwrap().id,
        operation: FeatureOperation::Create {
            id: None,
            feature: acting.geometries(None, &point).features,
        },
        precondition: None,
        request: None,
    };
    record("feature", store.write_feature(feature).await.map(drop));
    let deleted = store.delete_geometries(id, actor, key.clone(), Vec::new(), now).await;
    record("feature deletion", deleted.map(drop));
    record("layer deletion", store.delete_layer(id, actor, key, now).await.map(drop));
    let endpoint = store.endpoints(id).await.unwrap()[0].endpoint.id;
    let request = || WebhookRequest::new(id, actor, now);
    record("webhook test", store.test_endpoint(request(), endpoint).await.map(drop));
    let (status, since) = (DeliveryStatus::Failed, Timestamp::from_millis(0));
    let again = RedeliverySince { endpoint, status, since };
    record("redelivery", store.redeliver_since(request(), again).await.map(drop));
    let rotated = store.rotate_secret(request(), endpoint, None, 0).await;
    record("webhook secret", rotated.map(drop));
    let disable = EndpointChange::Disable("Maintenance".to_owned());
    let disabled = store.change_endpoint(id, actor, endpoint, disable, now).await;
    record("webhook change", disabled.map(drop));
    record("webhook deletion", store.delete_endpoint(id, actor, endpoint, now).await);
    let created = store.create_endpoint(new_endpoint(id, actor, now)).await;
    record("webhook endpoint", created.map(drop));
    let view = NewSavedView {
        kind: Kind::Folder,
        is_shared: false,
        name: "Mine".to_owned(),
        query: "?q=a".to_owned(),
    };
    record("view", store.save_view(id, actor, view, now).await.map(drop));
    record("name", store.rename_member(id, actor, "Chief", now).await.map(drop));
    let member = user("crew@office.test", None);
    record("member", store.add_member(id, actor, member, Role::Viewer, now).await.map(drop));
    let invitation = NewInvitation {
        id: None,
        hash: Secret::new([9; 32]).hash(),
        role: Role::Viewer,
        email: Email::parse("crew@office.test").unwrap(),
        expires_at: now.plus_millis(HOUR),
        mail: None,
    };
    record("invitation", store.invite(id, actor, invitation, now).await.map(drop));
    let new_token = NewToken {
        id: None,
        workspace: id,
        owner: email(),
        name: "Other".to_owned(),
        hash: token(2).hash(),
        hint: "abcd".to_owned(),
        scopes: Scopes::default(),
        expires_at: None,
        is_read_only: false,
        notice: None,
    };
    record("token", store.create_token(new_token, actor, now).await.map(drop));
    record("token limit", store.set_max_token_days(id, actor, Some(30), now).await);
    let crs = OfferedCrs::default();
    record("reference systems", store.set_offered_crs(id, actor, crs, now).await);
    record("second factor", store.require_second_factor(id, actor, false, now).await);
    let account = store.add_service_account(id, actor, "Export", Role::Viewer, now).await;
    record("service account", account.map(drop));
    let name = WorkspaceName::parse("Renamed").unwrap();
    let changed = store.change_workspace(id, actor, name, Currency::EUR, now).await;
    record("workspace", changed.map(drop));
    record("deletion", store.delete_workspace(id, actor, now).await);
    results
}

/// Checks that an actor can change nothing.
async fn assert_rejected(fixture: &Fixture, actor: Actor, now: Timestamp, expected: &DomainError) {
    let before = row_counts(fixture).await;
    for (name, result) in try_all(fixture, actor, now).await {
        assert_eq!(domain_error(result).0, *expected, "{name}");
    }
    assert_eq!(row_counts(fixture).await, before);
}

fn new_endpoint(workspace: WorkspaceId, actor: Actor, now: Timestamp) -> NewEndpoint {
    let url = EndpointUrl::parse("https://hooks.test/", false).unwrap();
    let draft = EndpointInput { url: Some(url), ..EndpointInput::default() };
    NewEndpoint { workspace, actor, now, draft, request: None }
}

/// Creates what some of the changes are made to.
async fn prepare(workspace: &TestWorkspace) {
    let (store, id, now) = (&workspace.store, workspace.workspace_id, workspace.tick());
    let layer = NewLayer::named("Parcels");
    store.create_layer(id, Actor::Operator, layer, now).await.unwrap();
    store.create_endpoint(new_endpoint(id, Actor::Operator, now)).await.unwrap();
}

async fn open_session_and_valid_token_are_accepted(fixture: Fixture) {
    prepare(&fixture).await;
    let branch = fixture.new_workspace("Branch").await;
    prepare(&branch).await;
    let session = Actor::Session(session(&fixture).await);
    for (name, result) in try_all(&fixture, session, fixture.tick()).await {
        result.unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    let token = actor_of(new_token(&branch).await);
    for (name, result) in try_all(&branch, token, fixture.tick()).await {
        result.unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

async fn ended_session_is_rejected(fixture: Fixture) {
    prepare(&fixture).await;
    let session = session(&fixture).await;
    let account = fixture.store.account(&email()).await.unwrap().unwrap();
    fixture.store.end_session(account.user, session).await.unwrap();
    let now = fixture.tick();
    assert_rejected(&fixture, Actor::Session(session), now, &DomainError::AccessEnded).await;
}

async fn expired_session_is_rejected(fixture: Fixture) {
    prepare(&fixture).await;
    let session = session(&fixture).await;
    let later = fixture.now().plus_millis(HOUR);
    assert_rejected(&fixture, Actor::Session(session), later, &DomainError::AccessEnded).await;
}

async fn revoked_token_is_rejected(fixture: Fixture) {
    prepare(&fixture).await;
    let token = new_token(&fixture).await;
    let (id, now) = (fixture.workspace_id, fixture.tick());
    fixture.store.revoke_token(id, token, Actor::Operator, now).await.unwrap();
    assert_rejected(&fixture, actor_of(token), now, &DomainError::AccessEnded).await;
}

async fn expired_token_is_rejected(fixture: Fixture) {
    prepare(&fixture).await;
    let token = new_token(&fixture).await;
    let later = fixture.now().plus_millis(HOUR);
    assert_rejected(&fixture, actor_of(token), later, &DomainError::AccessEnded).await;
}

async fn token_without_the_scope_is_rejected(fixture: Fixture) {
    prepare(&fixture).await;
    let token = new_token(&fixture).await;
    let actor = Actor::Token { token, ends_at: None, scope: Some(Scope::ReadFolder) };
    let missing = DomainError::MissingScope(Scope::ReadFolder);
    assert_rejected(&fixture, actor, fixture.tick(), &missing).await;
}

async fn removed_member_is_rejected(fixture: Fixture) {
    prepare(&fixture).await;
    let other = user("other@office.test", None);
    let (id, now) = (fixture.workspace_id, fixture.tick());
    fixture.store.add_member(id, Actor::Operator, other, Role::Owner, now).await.unwrap();
    let (session, token) = (session(&fixture).await, new_token(&fixture).await);
    let people = fixture.store.people(id).await.unwrap();
    let owner = people.iter().find(|known| known.person.email == email()).unwrap().person.id;
    fixture.store.remove_member(id, Actor::Operator, owner, fixture.tick()).await.unwrap();
    let forbidden = DomainError::Forbidden { required_role: Role::Viewer };
    assert_rejected(&fixture, Actor::Session(session), fixture.tick(), &forbidden).await;
    assert_rejected(&fixture, Actor::Member(owner), fixture.tick(), &forbidden).await;
    let ended = DomainError::AccessEnded;
    assert_rejected(&fixture, actor_of(token), fixture.tick(), &ended).await;
}

async fn lower_role_is_rejected(fixture: Fixture) {
    prepare(&fixture).await;
    let (id, now) = (fixture.workspace_id, fixture.tick());
    let other = user("other@office.test", None);
    fixture.store.add_member(id, Actor::Operator, other, Role::Owner, now).await.unwrap();
    let actors = [Actor::Session(session(&fixture).await), actor_of(new_token(&fixture).await)];
    let demoted = user(OWNER, None);
    fixture.store.add_member(id, Actor::Operator, demoted, Role::Viewer, now).await.unwrap();
    for actor in actors {
        for (name, result) in try_all(&fixture, actor, fixture.tick()).await {
            match name {
                "view" | "name" | "token" => result.unwrap_or_else(|error| {
                    // The second actor finds the token of the first.
                    assert!(matches!(actor, Actor::Token { .. }), "{name}: {error}");
                }),
                _ => {
                    let (error, _) = domain_error(result);
                    assert!(matches!(error, DomainError::Forbidden { .. }), "{name}: {error}");
                }
            }
        }
    }
}

async fn credentials_of_another_workspace_are_rejected(fixture: Fixture) {
    prepare(&fixture).await;
    let name = WorkspaceName::parse("Branch").unwrap();
    let owner = user("other@office.test", None);
    let branch = fixture.store.create_workspace(name, Currency::EUR, owner, fixture.tick()).await;
    let branch = fixture.in_workspace(branch.unwrap().id);
    let member = user(OWNER, None);
    let (id, now) = (branch.workspace_id, fixture.tick());
    fixture.store.add_member(id, Actor::Operator, member, Role::Owner, now).await.unwrap();
    let token = new_token(&branch).await;
    let now = fixture.tick();
    assert_rejected(&fixture, actor_of(token), now, &DomainError::AccessEnded).await;
}

async fn ended_session_cannot_change_its_user(fixture: Fixture) {
    let session = session(&fixture).await;
    let later = fixture.now().plus_millis(HOUR);
    let preferences = Preferences { language: Some("fr".to_owned()), theme: None };
    let changed = fixture.store.set_preferences(session, preferences, later).await;
    assert_eq!(domain_error(changed).0, DomainError::AccessEnded);
    let user = fixture.store.account(&email()).await.unwrap().unwrap().user;
    let (hash, address) = ("hash".to_owned(), "192.0.2.1".to_owned());
    let change = PasswordChange { session, user, hash, revoke_tokens: true, address, now: later };
    let changed = fixture.store.change_password(change).await;
    assert_eq!(domain_error(changed).0, DomainError::AccessEnded);
    let account = fixture.store.account(&email()).await.unwrap().unwrap();
    assert_eq!(account.password_hash, None);
}
