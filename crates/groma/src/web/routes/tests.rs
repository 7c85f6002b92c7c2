//! Requests every route with every role, without a session, without a form token, and from another
//! site.

use super::*;
use crate::{
    http::{self, client_address::Client},
    member_slots::MemberSlots,
    settings::Settings,
    tiles::TileCache,
    web::{Web, WebError},
};
use axum::{
    body::{Body, to_bytes},
    http::{Request, StatusCode, header},
};
use groma_domain::{
    Currency, Email, Permission, Role, Timestamp, WorkspaceId, secret::Secret,
    workspace::WorkspaceName,
};
use groma_store::{Actor, NewSession, NewUser, Store};
use std::{collections::BTreeMap, sync::Arc};

const ORIGIN: &str = "http://127.0.0.1:8080";

struct TestApp {
    _folder: tempfile::TempDir,
    store: Store,
    web: Arc<Web>,
    router: Router,
    workspace: WorkspaceId,
    members: BTreeMap<&'static str, Secret>,
}

impl TestApp {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", folder.path().join("groma.db").display());
        let store = Store::open(&url.parse().unwrap()).await.unwrap();
        let settings = Settings::load(None, [], &[]).unwrap();
        let tiles = Arc::new(TileCache::new(0));
        let (_, stopping) = tokio::sync::watch::channel(false);
        let slots = MemberSlots::new(0, 0);
        let web = Arc::new(Web::new(&settings, store.clone(), tiles, slots, stopping).unwrap());
        let name = WorkspaceName::parse("Office").unwrap();
        let owner = user("owner@office.test");
        let workspace = store.create_workspace(name, Currency::EUR, owner, now()).await.unwrap().id;
        let mut app = Self {
            _folder: folder,
            router: crate::web::router(&web),
            store,
            web,
            workspace,
            members: BTreeMap::new(),
        };
        for role in Role::ALL {
            let address = format!("{role}@office.test");
            let member = user(&address);
            app.store.add_member(workspace, Actor::Operator, member, role, now()).await.unwrap();
            let secret = app.session(&address).await;
            app.members.insert(role.name(), secret);
        }
        app
    }

    /// Opens a session.
    async fn session(&self, address: &str) -> Secret {
        self.session_since(address, now()).await
    }

    /// Opens a session at an earlier time.
    async fn session_since(&self, address: &str, since: Timestamp) -> Secret {
        let email = Email::parse(address).unwrap();
        let account = self.store.account(&email).await.unwrap().unwrap();
        let secret = crate::web::new_secret().unwrap();
        let session = NewSession {
            hash: secret.hash(),
            user: account.user,
            user_agent: "test".to_owned(),
            address: "127.0.0.1".to_owned(),
            has_second_factor: false,
            provider: None,
            now: since,
            ends_at: now().plus_millis(3_600_000),
        };
        self.store.create_session(session, None).await.unwrap();
        secret
    }

    async fn send(&self, route: &Route, sent: Credentials<'_>) -> TestResponse {
        let path = fill(route.path);
        let mut request = Request::builder().method(route.method.clone()).uri(&path);
        request =
            request.header(header::ACCEPT, "text/html").header(header::HOST, "127.0.0.1:8080");
        if let Some(secret) = sent.session {
            request = request.header(header::COOKIE, format!("groma={}", secret.reveal()));
        }
        if let Some(origin) = sent.origin {
            request = request.header(header::ORIGIN, origin);
        }
        let mut body = String::new();
        if route.method == Method::POST {
            let token = sent.token.unwrap_or_default();
            let is_upload = route.path == UPLOAD_PATH;
            let kind = match is_upload {
                true => "multipart/form-data; boundary=b",
                false => "application/x-www-form-urlencoded",
            };
            request = request.header(header::CONTENT_TYPE, kind);
            body = match is_upload {
                true => format!(
                    "--b\r\nContent-Disposition: form-data; name=\"_csrf\"\r\n\r\n{token}\r\n--b--\r\n"
                ),
                false => format!("_csrf={token}"),
            };
        }
        respond(self.router.clone(), request.body(Body::from(body)).unwrap()).await
    }

    fn token(&self, secret: &Secret) -> String {
        secret.csrf_token(Some(self.workspace))
    }
}

async fn respond(router: Router, request: Request<Body>) -> TestResponse {
    let client = Client::direct([127, 0, 0, 1].into());
    let response = http::respond(router, client, request).await;
    let (parts, body) = response.into_parts();
    let body = to_bytes(body, usize::MAX).await.unwrap();
    let text = String::from_utf8_lossy(&body).into_owned();
    TestResponse { status: parts.status, headers: parts.headers, text }
}

#[derive(Clone, Copy, Default)]
struct Credentials<'a> {
    session: Option<&'a Secret>,
    token: Option<&'a str>,
    origin: Option<&'a str>,
}

struct TestResponse {
    status: StatusCode,
    headers: axum::http::HeaderMap,
    text: String,
}

fn now() -> Timestamp {
    crate::clock::now()
}

fn user(address: &str) -> NewUser {
    NewUser { email: Email::parse(address).unwrap(), name: None, password_hash: None }
}

/// A path of a route whose ids do not exist.
fn fill(path: &str) -> String {
    let nil = uuid::Uuid::nil().to_string();
    let mut filled = path.replace("{z}", "0").replace("{x}", "0").replace("{y}", "0");
    for name in ["{key}", "{id}", "{layer}", "{feature}", "{secret}", "{provider}"] {
        filled = filled.replace(name, &nil);
    }
    filled
}

fn allows(access: Access, role: Role) -> bool {
    match access {
        Access::Public | Access::LoggedIn | Access::RecentlyLoggedIn => true,
        Access::Member(permission) | Access::RecentMember(permission) => role.can(permission),
    }
}

#[tokio::test]
async fn each_route_admits_exactly_its_roles() {
    let app = TestApp::new().await;
    let mut tried = 0;
    for role in Role::ALL {
        for route in all() {
            // These would end the sessions of the following requests.
            if route.path == "/logout" || route.path.starts_with("/account/sessions/end-") {
                continue;
            }
            let secret = &app.members[role.name()];
            let token = app.token(secret);
            let sent =
                Credentials { session: Some(secret), token: Some(&token), origin: Some(ORIGIN) };
            let response = app.send(&route, sent).await;
            let is_forbidden = response.status == StatusCode::FORBIDDEN;
            let is_setup = route.path == "/setup";
            assert_eq!(
                is_forbidden && !is_setup,
                !allows(route.access, role),
                "{role} {} {}: {} {}",
                route.method,
                route.path,
                response.status,
                response.text
            );
            assert!(
                !response.status.is_server_error(),
                "{} {}: {}",
                route.method,
                route.path,
                response.text
            );
            tried += 1;
        }
    }
    assert!(tried > 300, "{tried}");
}

#[tokio::test]
async fn each_route_requires_the_permission_of_the_contract() {
    for route in all() {
        let expected = match route.path {
            path if path.starts_with("/settings/workspace/delete") => Some(Permission::Own),
            "/settings/security-log" => Some(Permission::Own),
            "/settings/layers/{id}/check" => Some(Permission::Read),
            "/settings/layers/{id}/repair" => Some(Permission::ChangeRecords),
            path if [
                "/settings/workspace",
                "/settings/statuses",
                "/settings/layers",
                "/settings/base-maps",
                "/settings/webhooks",
                "/settings/invitations",
                "/settings/service-accounts",
                "/settings/activity",
            ]
            .iter()
            .any(|start| path.starts_with(start)) =>
            {
                Some(Permission::Administer)
            }
            "/settings/members/{id}" | "/settings/members/{id}/role" => {
                Some(Permission::Administer)
            }
            "/settings/members/{id}/disable"
            | "/settings/members/{id}/enable"
            | "/settings/members/{id}/delete"
            | "/settings/people/{id}/erase" => Some(Permission::Own),
            // Members manage their own tokens and membership; the store checks the owner.
            path if path.starts_with("/settings") => Some(Permission::Read),
            path if path.starts_with("/login")
                || path.starts_with("/logout")
                || path.starts_with("/setup")
                || path.starts_with("/join")
                || path.starts_with("/forgot-password")
                || path.starts_with("/reset-password")
                || path.starts_with("/verify-email") =>
            {
                None
            }
            path if path.starts_with("/imports") => Some(Permission::ChangeRecords),
            path if path.starts_with("/account") || path.starts_with("/workspaces") => None,
            // Columns and views belong to the member; the store checks the owner of a view.
            "/lists/{plural}/columns" | "/lists/{plural}/views" | "/views/{id}/delete" => {
                Some(Permission::Read)
            }
            // Forms that edit a value in a list.
            "/lists/{plural}/{key}/{field}" => Some(Permission::ChangeRecords),
            _ if route.method == Method::POST => Some(Permission::ChangeRecords),
            path if path.ends_with("/new")
                || path.ends_with("/edit")
                || path.ends_with("/delete") =>
            {
                Some(Permission::ChangeRecords)
            }
            _ => Some(Permission::Read),
        };
        let required = route.access.permission();
        assert_eq!(required, expected, "{} {}", route.method, route.path);
    }
}

#[tokio::test]
async fn pages_without_a_session_redirect_to_the_login() {
    let app = TestApp::new().await;
    let stranger = crate::web::new_secret().unwrap();
    for route in all().into_iter().filter(|route| route.access != Access::Public) {
        for session in [None, Some(&stranger)] {
            let token = stranger.csrf_token(None);
            let sent = Credentials { session, token: Some(&token), origin: Some(ORIGIN) };
            let response = app.send(&route, sent).await;
            assert_eq!(response.status, StatusCode::SEE_OTHER, "{} {}", route.method, route.path);
            let to = response.headers[header::LOCATION].to_str().unwrap();
            assert!(to.starts_with("/login"), "{to}");
        }
    }
}

#[tokio::test]
async fn sensitive_pages_ask_an_old_session_to_confirm_the_login() {
    let app = TestApp::new().await;
    let minutes_ago = |minutes: i64| now().plus_millis(-minutes * 60_000);
    let sensitive =
        |route: &Route| matches!(route.access, Access::RecentlyLoggedIn | Access::RecentMember(_));
    let routes: Vec<_> = all().into_iter().filter(sensitive).collect();
    for path in ["/settings/tokens/new", "/settings/workspace/delete", "/account/authenticator"] {
        assert!(routes.iter().any(|route| route.path == path), "{path}");
    }
    for (age, is_asked) in [(9, [false, false]), (11, [true, false]), (21, [true, true])] {
        let secret = app.session_since("owner@office.test", minutes_ago(age)).await;
        let token = app.token(&secret);
        for route in &routes {
            let sent =
                Credentials { session: Some(&secret), token: Some(&token), origin: Some(ORIGIN) };
            let response = app.send(route, sent).await;
            let to = response.headers.get(header::LOCATION).and_then(|to| to.to_str().ok());
            let asked = to.is_some_and(|to| to.starts_with("/login/confirm"));
            let expected = is_asked[usize::from(route.method == Method::POST)];
            assert_eq!(asked, expected, "{} {} after {age} min", route.method, route.path);
        }
    }
}

#[tokio::test]
async fn form_without_its_token_or_from_another_site_is_rejected() {
    let app = TestApp::new().await;
    let secret = &app.members["owner"];
    let token = app.token(secret);
    let other = app.token(&app.members["admin"]);
    let elsewhere = secret.csrf_token(Some(WorkspaceId(uuid::Uuid::nil())));
    for route in all().into_iter().filter(|route| route.method == Method::POST) {
        for (token, origin) in [
            (None, Some(ORIGIN)),
            (Some("x"), Some(ORIGIN)),
            (Some(other.as_str()), Some(ORIGIN)),
            (Some(elsewhere.as_str()), Some(ORIGIN)),
            (Some(token.as_str()), None),
            (Some(token.as_str()), Some("null")),
            (Some(token.as_str()), Some("https://evil.test")),
            (Some(token.as_str()), Some("http://127.0.0.1:8080.evil.test")),
        ] {
            let response =
                app.send(&route, Credentials { session: Some(secret), token, origin }).await;
            assert_eq!(
                response.status,
                StatusCode::FORBIDDEN,
                "{} {token:?} {origin:?}",
                route.path
            );
        }
    }
    // The session is still valid.
    let home = &all().into_iter().find(|route| route.path == "/").unwrap();
    let response =
        app.send(home, Credentials { session: Some(secret), ..Credentials::default() }).await;
    assert_eq!(response.status, StatusCode::OK);
}

#[tokio::test]
async fn every_response_has_the_security_headers() {
    let app = TestApp::new().await;
    let (owner, viewer) = (&app.members["owner"], &app.members["viewer"]);
    let mut statuses = std::collections::BTreeSet::new();
    for route in all() {
        for session in [None, Some(viewer), Some(owner)] {
            for origin in [None, Some(ORIGIN)] {
                if route.path.starts_with("/logout") || route.path.contains("/sessions/end-") {
                    continue;
                }
                let token = session.map(|secret| app.token(secret)).unwrap_or_default();
                let sent = Credentials { session, token: Some(&token), origin };
                let response = app.send(&route, sent).await;
                statuses.insert(response.status.as_u16());
                let value = |name: &str| {
                    let value = response.headers.get(name);
                    value.unwrap_or_else(|| panic!("{name} of {}", route.path)).to_str().unwrap()
                };
                let policy = value("content-security-policy");
                assert!(
                    policy.contains("default-src 'none'")
                        && policy.contains("frame-ancestors 'none'")
                );
                assert!(!policy.contains("unsafe"), "{policy}");
                assert_eq!(value("x-content-type-options"), "nosniff");
                let is_link = route.path == "/reset-password/{secret}";
                let referrer = if is_link { "no-referrer" } else { "same-origin" };
                assert_eq!(value("referrer-policy"), referrer, "{}", route.path);
                assert!(
                    !response.headers.contains_key("strict-transport-security"),
                    "HSTS is for https only"
                );
                let cache = value("cache-control");
                assert!(cache.contains("private") || cache.contains("no-store"), "{cache}");
                assert!(!response.text.contains("<style") && !response.text.contains(" style=\""));
                assert!(
                    !response.text.contains("<script>") && !response.text.contains(" onclick=")
                );
            }
        }
    }
    for status in [200, 303, 400, 403, 404] {
        assert!(statuses.contains(&status), "{statuses:?}");
    }
}

#[tokio::test]
async fn get_requests_change_nothing() {
    let app = TestApp::new().await;
    let secret = &app.members["owner"];
    let state = async || {
        let changes = app.store.audit_entries(app.workspace, 0, 10_000).await.unwrap().len();
        let people = app.store.people(app.workspace).await.unwrap().len();
        let email = Email::parse("owner@office.test").unwrap();
        let user = app.store.account(&email).await.unwrap().unwrap().user;
        let sessions = app.store.sessions(user, now()).await.unwrap().len();
        let tokens = app.store.tokens(None).await.unwrap().len();
        (changes, people, sessions, tokens, app.store.totals(app.workspace).await.unwrap())
    };
    let before = state().await;
    for route in all().into_iter().filter(|route| route.method == Method::GET) {
        app.send(&route, Credentials { session: Some(secret), ..Credentials::default() }).await;
    }
    assert_eq!(state().await, before);
}

/// The page for an internal error, after a request with this method.
async fn internal_error_page(app: &TestApp, method: Method) -> TestResponse {
    async fn fail() -> Result<(), WebError> {
        Err(WebError::internal("the disk is full"))
    }
    let check = AccessCheck {
        web: app.web.clone(),
        access: Access::Public,
        body: RequestBody::Form(1_024),
    };
    let layer = middleware::from_fn_with_state(check, authorize);
    let router = Router::new().route("/fail", get(fail).post(fail).route_layer(layer));
    let secret = &app.members["owner"];
    let request = Request::builder()
        .method(method)
        .uri("/fail")
        .header(header::COOKIE, format!("groma={}", secret.reveal()))
        .header(header::ORIGIN, ORIGIN)
        .header("x-request-id", "request-1")
        .header("x-csrf-token", app.token(secret))
        .body(Body::empty())
        .unwrap();
    respond(router, request).await
}

#[tokio::test]
async fn page_for_an_internal_error_does_not_claim_that_nothing_was_changed() {
    let app = TestApp::new().await;
    let read = internal_error_page(&app, Method::GET).await;
    assert_eq!(read.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert!(read.text.contains("could not show this page"), "{}", read.text);
    let change = internal_error_page(&app, Method::POST).await;
    assert_eq!(change.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert!(change.text.contains("may or may not have been saved"), "{}", change.text);
    for page in [read, change] {
        assert!(page.text.contains("request-1"), "{}", page.text);
        assert!(!page.text.contains("the disk is full"), "{}", page.text);
    }
}
