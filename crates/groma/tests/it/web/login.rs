//! Setup, login, sessions, invitations, workspaces.

use super::{Browser, password};
use crate::on_both_engines;
use groma_testkit::{
    Engine, TestServer, server::OWNER, server::WORKSPACE, wait::PATIENCE, wait_until,
};
use std::{
    io::Write,
    net::TcpListener,
    os::unix::fs::PermissionsExt,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

const CREW: &str = "crew@example.test";

fn setup(code: &str, email: &str) -> Vec<(&'static str, String)> {
    [
        ("code", code),
        ("name", "Survey office"),
        ("currency", "CHF"),
        ("person", "Survey lead"),
        ("email", email),
        ("password", "a long password"),
    ]
    .map(|(name, value)| (name, value.to_owned()))
    .to_vec()
}

/// The file with the setup link, whose path the server prints.
fn setup_link_file(server: &TestServer) -> PathBuf {
    wait_until(PATIENCE, || {
        let printed = server.process().stdout();
        let path = printed.lines().find(|line| line.ends_with("setup-link"));
        path.map(|path| PathBuf::from(path.trim())).ok_or(printed)
    })
}

fn fields<'a>(owned: &'a [(&'static str, String)]) -> Vec<(&'a str, &'a str)> {
    owned.iter().map(|(name, value)| (*name, value.as_str())).collect()
}

on_both_engines! {
    fn setup_requires_the_printed_code_and_works_once(engine: Engine) {
        let mut server = TestServer::stopped(engine, &[]);
        server.serve();
        let file = setup_link_file(&server);
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        let link = std::fs::read_to_string(&file).unwrap();
        assert_eq!(server.run(&["setup-link"]).expect_success(), link.trim_end());
        let code = link.trim_end().split("code=").nth(1).unwrap();
        let browser = Browser::new(server.main());
        assert_eq!(browser.get("/").location(), "/setup");
        browser.page("/setup").hides("name=\"password\"");
        let page = format!("/setup?code={code}");
        browser.page(&page).shows("name=\"password\"");
        assert_eq!(browser.page(&page).response.header("cache-control"), Some("no-store"));
        let wrong = "0".repeat(64);
        let rejected = browser.send_form(&page, "/setup", &fields(&setup(&wrong, OWNER)));
        assert_eq!(rejected.response.status, 403);
        let mut short = setup(code, OWNER);
        short[5].1 = "short".to_owned();
        let rejected = browser.send_form(&page, "/setup", &fields(&short));
        assert_eq!(rejected.error_of("password"), Some("Must have at least 10 characters"));
        rejected.shows("value=\"Survey office\"");
        let mut common = setup(code, OWNER);
        common[5].1 = "password123".to_owned();
        let rejected = browser.send_form(&page, "/setup", &fields(&common));
        let reason = rejected.error_of("password").unwrap();
        assert!(reason.starts_with("Is too common"), "{reason}");
        assert_eq!(browser.submit(&page, "/setup", &fields(&setup(code, OWNER))), "/");
        browser.page("/").shows("Survey office");
        // The code works only once.
        let late = Browser::new(server.main());
        assert_eq!(late.get(&page).location(), "/login");
        let token = late.get("/login").token();
        let mut again = setup(code, CREW);
        again.push(("_csrf", token));
        let again = late.post("/setup", &fields(&again));
        assert_eq!(again.response.status, 400);
        again.shows("Code is no longer valid: the service is set up.");
        // The code is for the operator alone.
        assert!(!server.process().log().contains(code));
        assert!(!server.process().stdout().contains(code));
        assert!(!file.exists());
        server.run(&["setup-link"]).expect_error("Groma is set up: there are users");
        // The next start makes no code, and deletes a file that remained.
        server.stop();
        std::fs::write(&file, "old").unwrap();
        server.serve();
        Browser::logged_in(&server, OWNER, "a long password");
        assert!(!server.process().stdout().contains("setup"));
        assert!(!file.exists());
    }

    fn login_opens_a_new_session_and_logout_ends_it_immediately(engine: Engine) {
        let server = TestServer::start(engine);
        let browser = Browser::new(server.main());
        assert_eq!(browser.get("/folders?q=a%20b").location(), "/login?next=%2Ffolders%3Fq%3Da%2520b");
        browser.get("/login");
        let before = browser.cookie("groma").expect("there is a cookie before the login");
        let wrong = browser.log_in(OWNER, "not it");
        assert_eq!(wrong.response.status, 400);
        wrong.shows("The email address or the password is incorrect.");
        let unknown = browser.log_in("unknown@example.test", "not it");
        unknown.shows("The email address or the password is incorrect.");
        let page = browser.send_form(
            "/login",
            "/login",
            &[("email", &OWNER.to_uppercase()), ("password", password()), ("next", "/folders?q=x")],
        );
        assert_eq!((page.response.status, page.location().as_str()), (303, "/folders?q=x"));
        let set: Vec<_> = page.response.headers.get_all("set-cookie").iter().collect();
        let cookie = set.iter().map(|line| line.to_str().unwrap()).find(|line| line.starts_with("groma="));
        let cookie = cookie.expect("the login sets a session cookie");
        for attribute in ["HttpOnly", "SameSite=Lax", "Path=/"] {
            assert!(cookie.contains(attribute), "{cookie}");
        }
        assert!(!cookie.contains("Secure"), "plain http");
        // A cookie that an attacker planted before the login does not become a session.
        assert_ne!(browser.cookie("groma"), Some(before.clone()));
        let planted = Browser::new(server.main());
        planted.set_cookie("groma", &before);
        assert_eq!(planted.get("/folders").response.status, 303);
        browser.page("/folders");
        // After the logout, the old cookie is useless.
        let stolen = browser.cookie("groma").unwrap();
        browser.submit("/folders", "/logout", &[]);
        let thief = Browser::new(server.main());
        thief.set_cookie("groma", &stolen);
        assert_eq!(thief.get("/folders").response.status, 303);
    }

    fn login_redirects_only_to_local_pages(engine: Engine) {
        let server = TestServer::start(engine);
        for elsewhere in ["https://evil.test/", "//evil.test", "/\\evil.test", "javascript:alert(1)", "evil"] {
            let browser = Browser::new(server.main());
            let fields = [("email", OWNER), ("password", password()), ("next", elsewhere)];
            assert_eq!(browser.submit("/login", "/login", &fields), "/", "{elsewhere}");
        }
    }

    fn sessions_end_one_by_one_or_with_a_password_change(engine: Engine) {
        let server = TestServer::start(engine);
        let (here, there) = (Browser::of_owner(&server), Browser::of_owner(&server));
        let page = here.page("/account");
        assert_eq!(page.text.matches("/end\"").count(), 2, "{}", page.text);
        page.shows("this session");
        // End the other session.
        let rows: Vec<_> = page.text.split("<tr").filter(|row| row.contains("/end\"")).collect();
        let other = rows.iter().find(|row| !row.contains("this session")).unwrap();
        let action = other.split("action=\"").nth(1).unwrap().split('"').next().unwrap();
        here.submit("/account", action, &[]);
        assert_eq!(there.get("/").response.status, 303, "the session ends immediately");
        here.page("/");
        let again = Browser::of_owner(&server);
        let wrong = here.send_form("/account", "/account/password", &[("current", "no"), ("password", "another password")]);
        assert_eq!(wrong.error_of("current"), Some("Is incorrect"));
        here.submit("/account", "/account/password", &[("current", password()), ("password", "another password")]);
        assert_eq!(again.get("/").response.status, 303, "the password change ends other sessions");
        here.page("/");
        assert_eq!(Browser::new(server.main()).log_in(OWNER, password()).response.status, 400);
        let newest = Browser::logged_in(&server, OWNER, "another password");
        // A password change on the command line ends all sessions.
        server.run_with_input("a third password\n", &["user", "password", OWNER]).expect_success();
        assert_eq!(here.get("/").response.status, 303);
        assert_eq!(newest.get("/").response.status, 303);
    }

    fn invitation_link_works_once_and_gives_its_role(engine: Engine) {
        let server = TestServer::start(engine);
        let owner = Browser::of_owner(&server);
        let invite = |role: &str, email: &str| {
            let once = uuid::Uuid::now_v7().to_string();
            let fields = [("once", once.as_str()), ("role", role), ("email", email)];
            let page = owner.send_form("/settings/members", "/settings/invitations", &fields);
            // Submitting the form again gives the same link.
            let again = owner.send_form("/settings/members", "/settings/invitations", &fields);
            let start = "<code id=\"link\">";
            assert_eq!(again.between(start, "</code>"), page.between(start, "</code>"));
            assert_eq!(page.response.status, 200, "{}", page.text);
            assert_eq!(page.response.header("cache-control"), Some("no-store"));
            let link = page.between("<code id=\"link\">", "</code>").unwrap().to_owned();
            link[link.find("/join/").unwrap()..].to_owned()
        };
        let link = invite("editor", CREW);
        let crew = Browser::new(server.main());
        crew.page(&link).shows("as <b>editor</b>");
        assert_eq!(crew.page(&link).response.header("cache-control"), Some("no-store"));
        let fields = [("person", "Field crew"), ("email", CREW), ("password", "levels and rods 24")];
        assert_eq!(crew.submit(&link, &link, &fields), "/");
        crew.page("/folders/new");
        assert_eq!(crew.get("/settings/statuses").response.status, 403);
        // The link has been used.
        let late = Browser::new(server.main());
        assert_eq!(late.get(&link).response.status, 404);
        // Invitations for another address, and revoked ones, are rejected.
        let named = invite("viewer", "someone@example.test");
        let fields = [("person", "Someone"), ("email", "other@example.test"), ("password", "plumb line and chain")];
        let rejected = late.send_form(&named, &named, &fields);
        rejected.shows("the address that the invitation is for");
        let back = invite("viewer", "back@example.test");
        let page = owner.page("/settings/members");
        for row in page.text.split("<tr").filter(|row| row.contains("/cancel\"")) {
            let action = row.split("action=\"").nth(1).unwrap().split('"').next().unwrap();
            owner.submit("/settings/members", action, &[]);
        }
        assert_eq!(late.get(&back).response.status, 404);
        assert_eq!(late.get(&named).response.status, 404);
        // The owner of a known address must log in first.
        let again = invite("admin", CREW);
        let fields = [("person", "Impostor"), ("email", CREW), ("password", "not their password")];
        late.send_form(&again, &again, &fields).shows("Belongs to an existing account");
        crew.send_form(&again, &again, &[]).shows("is already a member");
        assert_eq!(crew.get("/settings/statuses").response.status, 403, "their role does not change");
    }

    fn member_of_two_workspaces_switches_between_them(engine: Engine) {
        let server = TestServer::start(engine);
        server.create_workspace("Branch");
        let browser = Browser::of_owner(&server);
        let page = browser.page("/");
        page.shows("Branch");
        page.shows(WORKSPACE);
        browser.submit("/folders/new", "/folders/new", &[("name", "In the branch")]);
        let stale = browser.get("/folders/F-000001/edit").token();
        let other = page.between("name=\"workspace\" value=\"", "\"").unwrap().to_owned();
        browser.submit("/", "/workspaces/enter", &[("workspace", &other)]);
        assert_eq!(browser.get("/folders/F-000001").response.status, 404);
        // A form of the other workspace is rejected.
        let rejected = browser.post("/folders/new", &[("_csrf", &stale), ("name", "Astray")]);
        assert_eq!(rejected.response.status, 403);
        browser.page("/folders").hides("Astray");
        let nowhere = uuid::Uuid::now_v7().to_string();
        let rejected = browser.send_form("/", "/workspaces/enter", &[("workspace", &nowhere)]);
        assert_eq!(rejected.response.status, 404);
    }
}

/// Answers every connection with an error, and counts them.
fn failing_provider() -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let issuer = format!("http://{}", listener.local_addr().unwrap());
    let requests = Arc::new(AtomicUsize::new(0));
    let counted = requests.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            counted.fetch_add(1, Ordering::Relaxed);
            let answer = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n";
            let _ = stream.and_then(|mut stream| stream.write_all(answer));
        }
    });
    (issuer, requests)
}

#[test]
fn failed_identity_provider_is_asked_rarely_and_does_not_stop_other_logins() {
    let (issuer, requests) = failing_provider();
    let settings = [
        ("GROMA_OIDC__COMPANY__ISSUER", issuer.as_str()),
        ("GROMA_OIDC__COMPANY__LABEL", "Company account"),
        ("GROMA_OIDC__COMPANY__CLIENT_ID", "groma"),
        ("GROMA_OIDC__COMPANY__WORKSPACE", "Nowhere"),
        ("GROMA_OIDC__COMPANY__DOMAINS", "example.test"),
    ];
    let server = TestServer::start_with(Engine::Sqlite, &settings);
    let stranger = Browser::new(server.main());
    for _ in 0..50 {
        let page = stranger.get("/login/with/company");
        assert_eq!(page.response.status, 400);
        page.shows("Company account");
    }
    let asked = requests.load(Ordering::Relaxed);
    assert!((1..50).contains(&asked), "{asked}");
    stranger.page("/login?from=company").shows("name=\"password\"");
    Browser::of_owner(&server).page("/folders");
    let report = server.run(&["check"]).expect_success();
    assert!(report.contains("oidc.company: the identity provider"), "{report}");
    assert!(report.contains("oidc.company.workspace: workspace `Nowhere` not found"), "{report}");
}

#[test]
fn https_cookie_is_bound_to_the_host() {
    let server = TestServer::start_with(
        Engine::Sqlite,
        &[("GROMA_SERVER__PUBLIC_URL", "https://groma.example.test")],
    );
    let browser = Browser::new(server.main());
    let page = browser.get("/login");
    let cookie = page.response.header("set-cookie").unwrap();
    assert!(cookie.starts_with("__Host-groma=") && cookie.contains("; Secure"), "{cookie}");
    assert!(page.response.header("strict-transport-security").is_some());
    let missing = browser.get("/nothing/here");
    assert_eq!(missing.response.status, 404);
    assert!(missing.response.header("strict-transport-security").is_some());
    assert!(missing.response.header("content-security-policy").is_some());
}

#[test]
fn secret_of_an_invitation_is_not_logged() {
    let server = TestServer::start(Engine::Postgres);
    let browser = Browser::new(server.main());
    let secret = "0a".repeat(32);
    let failed = server.without_database(|| browser.get(&format!("/join/{secret}")));
    assert_eq!(failed.response.status, 500);
    let log = wait_until(Duration::from_secs(10), || {
        let log = server.process().log();
        log.contains("request failed").then_some(log.clone()).ok_or(log)
    });
    assert!(log.contains("/join/…") && !log.contains(&secret), "{log}");
}
