//! The list of routes, tried with every role, without a session, without the form's token, and from
//! another site.

use super::*;
use crate::{
    api::Api,
    http::{self, client_address::Client},
    server,
    settings::Settings,
    tiles::TileCache,
    web::Web,
};
use axum::{
    body::{Body, to_bytes},
    http::{Request, StatusCode, header},
};
use groma_domain::{
    Currency, Email, Permission, Role, Timestamp, WorkspaceId, session::Secret,
    workspace::WorkspaceName,
};
use groma_store::{Actor, NewSession, NewUser, Store};
use std::{collections::BTreeMap, sync::Arc};

const ORIGIN: &str = "http://127.0.0.1:8080";

struct House {
    _folder: tempfile::TempDir,
    store: Store,
    router: Router,
    workspace: WorkspaceId,
    members: BTreeMap<&'static str, Secret>,
}

impl House {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", folder.path().join("groma.db").display());
        let store = Store::open(&url.parse().unwrap()).await.unwrap();
        let settings = Settings::load(None, [], &[]).unwrap();
        let tiles = Arc::new(TileCache::new(0));
        let api = Arc::new(Api::new(&settings, store.clone(), tiles.clone()));
        let web = Arc::new(Web::new(&settings, store.clone(), tiles).unwrap());
        let name = WorkspaceName::parse("Office").unwrap();
        let owner = user("owner@office.test");
        let workspace = store.create_workspace(name, Currency::EUR, owner, now()).await.unwrap().id;
        let mut house = Self {
            _folder: folder,
            router: server::main_router(&api, &web, &settings.server.roles),
            store,
            workspace,
            members: BTreeMap::new(),
        };
        for role in Role::ALL {
            let address = format!("{role}@office.test");
            let member = user(&address);
            house.store.add_member(workspace, Actor::Operator, member, role, now()).await.unwrap();
            let secret = house.session(&address).await;
            house.members.insert(role.name(), secret);
        }
        house
    }

    /// Opens a session of someone.
    async fn session(&self, address: &str) -> Secret {
        let email = Email::parse(address).unwrap();
        let account = self.store.account(&email).await.unwrap().unwrap();
        let secret = crate::web::new_secret().unwrap();
        let session = NewSession {
            hash: secret.hash(),
            user: account.user,
            user_agent: "test".to_owned(),
            address: "127.0.0.1".to_owned(),
            now: now(),
            ends_at: now().plus_millis(3_600_000),
        };
        self.store.open_session(session, None).await.unwrap();
        secret
    }

    async fn ask(&self, route: &Route, ask: Ask<'_>) -> Answer {
        let path = fill(route.path);
        let mut request = Request::builder().method(route.method.clone()).uri(&path);
        request =
            request.header(header::ACCEPT, "text/html").header(header::HOST, "127.0.0.1:8080");
        if let Some(secret) = ask.session {
            request = request.header(header::COOKIE, format!("groma={}", secret.reveal()));
        }
        if let Some(origin) = ask.origin {
            request = request.header(header::ORIGIN, origin);
        }
        let mut body = String::new();
        if route.method == Method::POST {
            let kind = "application/x-www-form-urlencoded";
            request = request.header(header::CONTENT_TYPE, kind);
            body = format!("_csrf={}", ask.token.unwrap_or_default());
        }
        let request = request.body(Body::from(body)).unwrap();
        let client = Client::direct([127, 0, 0, 1].into());
        let response = http::respond(self.router.clone(), client, request).await;
        let (parts, body) = response.into_parts();
        let body = to_bytes(body, usize::MAX).await.unwrap();
        let text = String::from_utf8_lossy(&body).into_owned();
        Answer { status: parts.status, headers: parts.headers, text }
    }

    fn token(&self, secret: &Secret) -> String {
        secret.form_token(Some(self.workspace))
    }
}

#[derive(Clone, Copy, Default)]
struct Ask<'a> {
    session: Option<&'a Secret>,
    token: Option<&'a str>,
    origin: Option<&'a str>,
}

struct Answer {
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

/// An address of a route: what it names is not there.
fn fill(path: &str) -> String {
    let nil = uuid::Uuid::nil().to_string();
    let mut filled = path.replace("{z}", "0").replace("{x}", "0").replace("{y}", "0");
    for name in ["{key}", "{id}", "{layer}", "{feature}", "{secret}"] {
        filled = filled.replace(name, &nil);
    }
    filled
}

fn allows(needs: Needs, role: Role) -> bool {
    match needs {
        Needs::Nothing | Needs::Login => true,
        Needs::Member(permission) => role.may(permission),
    }
}

#[tokio::test]
async fn each_route_lets_in_the_roles_of_the_contract_and_no_others() {
    let house = House::new().await;
    let mut tried = 0;
    for role in Role::ALL {
        for route in all() {
            // Whoever logs out or leaves is out for what follows.
            if matches!(route.path, "/logout" | "/account/sessions/end-others") {
                continue;
            }
            let secret = &house.members[role.name()];
            let token = house.token(secret);
            let ask = Ask { session: Some(secret), token: Some(&token), origin: Some(ORIGIN) };
            let answer = house.ask(&route, ask).await;
            let is_refused = answer.status == StatusCode::FORBIDDEN;
            let is_setup = route.path == "/setup";
            assert_eq!(
                is_refused && !is_setup,
                !allows(route.needs, role),
                "{role} {} {}: {} {}",
                route.method,
                route.path,
                answer.status,
                answer.text
            );
            assert!(
                !answer.status.is_server_error(),
                "{} {}: {}",
                route.method,
                route.path,
                answer.text
            );
            tried += 1;
        }
    }
    assert!(tried > 300, "{tried}");
}

#[tokio::test]
async fn every_route_asks_for_the_role_that_the_contract_names() {
    for route in all() {
        let expected = match route.path {
            path if path.starts_with("/settings/workspace/delete") => Some(Permission::Own),
            path if [
                "/settings/workspace",
                "/settings/statuses",
                "/settings/layers",
                "/settings/webhooks",
                "/settings/invitations",
                "/settings/activity",
            ]
            .iter()
            .any(|start| path.starts_with(start)) =>
            {
                Some(Permission::Administer)
            }
            "/settings/members/{id}/role" => Some(Permission::Administer),
            // One's own tokens and membership are anybody's; the store looks whose they are.
            path if path.starts_with("/settings") => Some(Permission::Read),
            path if path.starts_with("/login")
                || path.starts_with("/logout")
                || path.starts_with("/setup")
                || path.starts_with("/join") =>
            {
                None
            }
            path if path.starts_with("/account") || path.starts_with("/workspaces") => None,
            _ if route.method == Method::POST => Some(Permission::ChangeRecords),
            path if path.ends_with("/new")
                || path.ends_with("/edit")
                || path.ends_with("/delete") =>
            {
                Some(Permission::ChangeRecords)
            }
            _ => Some(Permission::Read),
        };
        let asked = match route.needs {
            Needs::Member(permission) => Some(permission),
            Needs::Login | Needs::Nothing => None,
        };
        assert_eq!(asked, expected, "{} {}", route.method, route.path);
    }
}

#[tokio::test]
async fn without_a_session_every_page_leads_to_the_login() {
    let house = House::new().await;
    let stranger = crate::web::new_secret().unwrap();
    for route in all().into_iter().filter(|route| route.needs != Needs::Nothing) {
        for session in [None, Some(&stranger)] {
            let token = stranger.form_token(None);
            let ask = Ask { session, token: Some(&token), origin: Some(ORIGIN) };
            let answer = house.ask(&route, ask).await;
            assert_eq!(answer.status, StatusCode::SEE_OTHER, "{} {}", route.method, route.path);
            let to = answer.headers[header::LOCATION].to_str().unwrap();
            assert!(to.starts_with("/login"), "{to}");
        }
    }
}

#[tokio::test]
async fn no_form_is_taken_without_its_token_or_from_another_site() {
    let house = House::new().await;
    let secret = &house.members["owner"];
    let token = house.token(secret);
    let other = house.token(&house.members["admin"]);
    let elsewhere = secret.form_token(Some(WorkspaceId(uuid::Uuid::nil())));
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
            let answer = house.ask(&route, Ask { session: Some(secret), token, origin }).await;
            assert_eq!(answer.status, StatusCode::FORBIDDEN, "{} {token:?} {origin:?}", route.path);
        }
    }
    // None of it has ended the session.
    let home = &all().into_iter().find(|route| route.path == "/").unwrap();
    let answer = house.ask(home, Ask { session: Some(secret), ..Ask::default() }).await;
    assert_eq!(answer.status, StatusCode::OK);
}

#[tokio::test]
async fn every_answer_has_the_headers_that_keep_others_out() {
    let house = House::new().await;
    let (owner, viewer) = (&house.members["owner"], &house.members["viewer"]);
    let mut statuses = std::collections::BTreeSet::new();
    for route in all() {
        for session in [None, Some(viewer), Some(owner)] {
            for origin in [None, Some(ORIGIN)] {
                if route.path.starts_with("/logout") || route.path.contains("end-others") {
                    continue;
                }
                let token = session.map(|secret| house.token(secret)).unwrap_or_default();
                let ask = Ask { session, token: Some(&token), origin };
                let answer = house.ask(&route, ask).await;
                statuses.insert(answer.status.as_u16());
                let value = |name: &str| {
                    let value = answer.headers.get(name);
                    value.unwrap_or_else(|| panic!("{name} of {}", route.path)).to_str().unwrap()
                };
                let policy = value("content-security-policy");
                assert!(
                    policy.contains("default-src 'none'")
                        && policy.contains("frame-ancestors 'none'")
                );
                assert!(!policy.contains("unsafe"), "{policy}");
                assert_eq!(value("x-content-type-options"), "nosniff");
                assert_eq!(value("referrer-policy"), "same-origin");
                assert!(!answer.headers.contains_key("strict-transport-security"), "this is http");
                let cache = value("cache-control");
                assert!(cache.contains("private") || cache.contains("no-store"), "{cache}");
                assert!(!answer.text.contains("<style") && !answer.text.contains(" style=\""));
                assert!(!answer.text.contains("<script>") && !answer.text.contains(" onclick="));
            }
        }
    }
    for status in [200, 303, 400, 403, 404] {
        assert!(statuses.contains(&status), "{statuses:?}");
    }
}

#[tokio::test]
async fn nothing_changes_by_looking() {
    let house = House::new().await;
    let secret = &house.members["owner"];
    let state = async || {
        let trail = house.store.changes(house.workspace, 0, 10_000).await.unwrap().len();
        let people = house.store.people(house.workspace).await.unwrap().len();
        let email = Email::parse("owner@office.test").unwrap();
        let user = house.store.account(&email).await.unwrap().unwrap().user;
        let sessions = house.store.sessions(user, now()).await.unwrap().len();
        let tokens = house.store.tokens(None).await.unwrap().len();
        (trail, people, sessions, tokens, house.store.totals(house.workspace).await.unwrap())
    };
    let before = state().await;
    for route in all().into_iter().filter(|route| route.method == Method::GET) {
        house.ask(&route, Ask { session: Some(secret), ..Ask::default() }).await;
    }
    assert_eq!(state().await, before);
}
