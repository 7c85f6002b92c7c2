//! Setup, login, sessions, invitations, workspaces.

use super::{Browser, password};
use crate::on_both_engines;
use groma_testkit::{Engine, TestServer, server::OWNER, server::WORKSPACE, wait_until};
use std::time::Duration;

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

fn fields<'a>(owned: &'a [(&'static str, String)]) -> Vec<(&'a str, &'a str)> {
    owned.iter().map(|(name, value)| (*name, value.as_str())).collect()
}

on_both_engines! {
<<<<<<< HEAD:crates/groma/tests/it/web/coming_in.rs
    fn the_first_start_is_set_up_once_by_whoever_started_it(engine: Engine) {
        let mut server = TestServer::stopped(engine, &[]);
        server.serve();
=======
    fn setup_requires_the_printed_code_and_works_once(engine: Engine) {
        let mut office = Office::closed(engine, &[]);
        office.open();
>>>>>>> 41cbbff (Move the texts of the web application into Fluent):crates/groma/tests/it/web/login.rs
        let printed = wait_until(Duration::from_secs(10), || {
            let printed = server.process().stdout();
            printed.contains("/setup?code=").then_some(printed.clone()).ok_or(printed)
        });
        let code = printed.split("code=").nth(1).unwrap().split_whitespace().next().unwrap();
        let browser = Browser::new(server.main());
        assert_eq!(browser.get("/").location(), "/setup");
        browser.page("/setup").hides("name=\"password\"");
        let page = format!("/setup?code={code}");
        browser.page(&page).shows("name=\"password\"");
        let wrong = "0".repeat(64);
<<<<<<< HEAD:crates/groma/tests/it/web/coming_in.rs
        let refused = browser.send_form(&page, "/setup", &fields(&setup(&wrong, OWNER)));
        assert_eq!(refused.response.status, 403);
=======
        let rejected = browser.send_form(&page, "/setup", &fields(&setup(&wrong, OWNER)));
        assert_eq!(rejected.answer.status, 403);
>>>>>>> 41cbbff (Move the texts of the web application into Fluent):crates/groma/tests/it/web/login.rs
        let mut short = setup(code, OWNER);
        short[5].1 = "short".to_owned();
        let rejected = browser.send_form(&page, "/setup", &fields(&short));
        assert_eq!(rejected.error_of("password"), Some("Must have at least 8 characters"));
        rejected.shows("value=\"Survey office\"");
        assert_eq!(browser.submit(&page, "/setup", &fields(&setup(code, OWNER))), "/");
        browser.page("/").shows("Survey office");
<<<<<<< HEAD:crates/groma/tests/it/web/coming_in.rs
        // Once is enough, for whoever still has the code too.
        let late = Browser::new(server.main());
=======
        // The code works only once.
        let late = Browser::new(office.main());
>>>>>>> 41cbbff (Move the texts of the web application into Fluent):crates/groma/tests/it/web/login.rs
        assert_eq!(late.get(&page).location(), "/login");
        let token = late.get("/login").token();
        let mut again = setup(code, CREW);
        again.push(("_csrf", token));
        let again = late.post("/setup", &fields(&again));
        assert_eq!(again.response.status, 400);
        again.shows("is used up");
<<<<<<< HEAD:crates/groma/tests/it/web/coming_in.rs
        // The next start asks for nothing.
        server.stop();
        server.serve();
        Browser::logged_in(&server, OWNER, "a long password");
        assert!(!server.process().stdout().contains("setup"));
    }

    fn a_login_has_a_session_of_its_own_that_ends_at_once(engine: Engine) {
        let server = TestServer::start(engine);
        let browser = Browser::new(server.main());
=======
        // The next start prints no code.
        office.close();
        office.open();
        Browser::logged_in(&office, OWNER, "a long password");
        assert!(!office.program().printed().contains("setup"));
    }

    fn login_opens_a_new_session_and_logout_ends_it_immediately(engine: Engine) {
        let office = Office::start(engine);
        let browser = Browser::new(office.main());
>>>>>>> 41cbbff (Move the texts of the web application into Fluent):crates/groma/tests/it/web/login.rs
        assert_eq!(browser.get("/folders?q=a%20b").location(), "/login?next=%2Ffolders%3Fq%3Da%2520b");
        browser.get("/login");
        let before = browser.cookie("groma").expect("there is a cookie before the login");
        let wrong = browser.log_in(OWNER, "not it");
<<<<<<< HEAD:crates/groma/tests/it/web/coming_in.rs
        assert_eq!(wrong.response.status, 400);
        wrong.shows("The address or the password is not right.");
        let nobody = browser.log_in("nobody@example.test", "not it");
        nobody.shows("The address or the password is not right.");
=======
        assert_eq!(wrong.answer.status, 400);
        wrong.shows("The email address or the password is incorrect.");
        let unknown = browser.log_in("unknown@example.test", "not it");
        unknown.shows("The email address or the password is incorrect.");
>>>>>>> 41cbbff (Move the texts of the web application into Fluent):crates/groma/tests/it/web/login.rs
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
<<<<<<< HEAD:crates/groma/tests/it/web/coming_in.rs
        browser.done("/folders", "/logout", &[]);
        let thief = Browser::new(server.main());
=======
        browser.submit("/folders", "/logout", &[]);
        let thief = Browser::new(office.main());
>>>>>>> 41cbbff (Move the texts of the web application into Fluent):crates/groma/tests/it/web/login.rs
        thief.set_cookie("groma", &stolen);
        assert_eq!(thief.get("/folders").response.status, 303);
    }

<<<<<<< HEAD:crates/groma/tests/it/web/coming_in.rs
    fn only_pages_of_this_application_are_gone_to_after_a_login(engine: Engine) {
        let server = TestServer::start(engine);
=======
    fn login_redirects_only_to_local_pages(engine: Engine) {
        let office = Office::start(engine);
>>>>>>> 41cbbff (Move the texts of the web application into Fluent):crates/groma/tests/it/web/login.rs
        for elsewhere in ["https://evil.test/", "//evil.test", "/\\evil.test", "javascript:alert(1)", "evil"] {
            let browser = Browser::new(server.main());
            let fields = [("email", OWNER), ("password", password()), ("next", elsewhere)];
            assert_eq!(browser.submit("/login", "/login", &fields), "/", "{elsewhere}");
        }
    }

<<<<<<< HEAD:crates/groma/tests/it/web/coming_in.rs
    fn sessions_are_listed_and_ended_one_by_one_or_with_the_password(engine: Engine) {
        let server = TestServer::start(engine);
        let (here, there) = (Browser::of_owner(&server), Browser::of_owner(&server));
=======
    fn sessions_end_one_by_one_or_with_a_password_change(engine: Engine) {
        let office = Office::start(engine);
        let (here, there) = (Browser::of_owner(&office), Browser::of_owner(&office));
>>>>>>> 41cbbff (Move the texts of the web application into Fluent):crates/groma/tests/it/web/login.rs
        let page = here.page("/account");
        assert_eq!(page.text.matches("/end\"").count(), 2, "{}", page.text);
        page.shows("this session");
        // End the other session.
        let rows: Vec<_> = page.text.split("<tr").filter(|row| row.contains("/end\"")).collect();
        let other = rows.iter().find(|row| !row.contains("this session")).unwrap();
        let action = other.split("action=\"").nth(1).unwrap().split('"').next().unwrap();
<<<<<<< HEAD:crates/groma/tests/it/web/coming_in.rs
        here.done("/account", action, &[]);
        assert_eq!(there.get("/").response.status, 303, "it ended at once");
=======
        here.submit("/account", action, &[]);
        assert_eq!(there.get("/").answer.status, 303, "the session ends immediately");
>>>>>>> 41cbbff (Move the texts of the web application into Fluent):crates/groma/tests/it/web/login.rs
        here.page("/");
        let again = Browser::of_owner(&server);
        let wrong = here.send_form("/account", "/account/password", &[("current", "no"), ("password", "another password")]);
<<<<<<< HEAD:crates/groma/tests/it/web/coming_in.rs
        assert_eq!(wrong.error_of("current"), Some("Is not right"));
        here.done("/account", "/account/password", &[("current", password()), ("password", "another password")]);
        assert_eq!(again.get("/").response.status, 303, "other sessions end");
        here.page("/");
        assert_eq!(Browser::new(server.main()).log_in(OWNER, password()).response.status, 400);
        let newest = Browser::logged_in(&server, OWNER, "another password");
        // From the command line everybody is out.
        server.run_with_input("a third password\n", &["user", "password", OWNER]).expect_success();
        assert_eq!(here.get("/").response.status, 303);
        assert_eq!(newest.get("/").response.status, 303);
    }

    fn a_link_makes_one_person_a_member_with_its_role(engine: Engine) {
        let server = TestServer::start(engine);
        let owner = Browser::of_owner(&server);
=======
        assert_eq!(wrong.error_of("current"), Some("Is incorrect"));
        here.submit("/account", "/account/password", &[("current", password()), ("password", "another password")]);
        assert_eq!(again.get("/").answer.status, 303, "the password change ends other sessions");
        here.page("/");
        assert_eq!(Browser::new(office.main()).log_in(OWNER, password()).answer.status, 400);
        let newest = Browser::logged_in(&office, OWNER, "another password");
        // A password change on the command line ends all sessions.
        office.groma_with("a third password\n", &["user", "password", OWNER]).succeeds();
        assert_eq!(here.get("/").answer.status, 303);
        assert_eq!(newest.get("/").answer.status, 303);
    }

    fn invitation_link_works_once_and_gives_its_role(engine: Engine) {
        let office = Office::start(engine);
        let owner = Browser::of_owner(&office);
>>>>>>> 41cbbff (Move the texts of the web application into Fluent):crates/groma/tests/it/web/login.rs
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
        let link = invite("editor", "");
        let crew = Browser::new(server.main());
        crew.page(&link).shows("as <b>editor</b>");
        let fields = [("person", "Field crew"), ("email", CREW), ("password", "a crew password")];
        assert_eq!(crew.submit(&link, &link, &fields), "/");
        crew.page("/folders/new");
<<<<<<< HEAD:crates/groma/tests/it/web/coming_in.rs
        assert_eq!(crew.get("/settings/statuses").response.status, 403);
        // It is used up.
        let late = Browser::new(server.main());
        assert_eq!(late.get(&link).response.status, 404);
        // One for another address, and one that is taken back.
=======
        assert_eq!(crew.get("/settings/statuses").answer.status, 403);
        // The link has been used.
        let late = Browser::new(office.main());
        assert_eq!(late.get(&link).answer.status, 404);
        // Invitations for another address, and revoked ones, are rejected.
>>>>>>> 41cbbff (Move the texts of the web application into Fluent):crates/groma/tests/it/web/login.rs
        let named = invite("viewer", "someone@example.test");
        let fields = [("person", "Someone"), ("email", "other@example.test"), ("password", "some password")];
        let rejected = late.send_form(&named, &named, &fields);
        rejected.shows("the invitation is for that address");
        let back = invite("viewer", "");
        let page = owner.page("/settings/members");
        for row in page.text.split("<tr").filter(|row| row.contains("/cancel\"")) {
            let action = row.split("action=\"").nth(1).unwrap().split('"').next().unwrap();
            owner.submit("/settings/members", action, &[]);
        }
<<<<<<< HEAD:crates/groma/tests/it/web/coming_in.rs
        assert_eq!(late.get(&back).response.status, 404);
        assert_eq!(late.get(&named).response.status, 404);
        // A known address must log in first.
=======
        assert_eq!(late.get(&back).answer.status, 404);
        assert_eq!(late.get(&named).answer.status, 404);
        // The owner of a known address must log in first.
>>>>>>> 41cbbff (Move the texts of the web application into Fluent):crates/groma/tests/it/web/login.rs
        let again = invite("admin", "");
        let fields = [("person", "Impostor"), ("email", CREW), ("password", "not their password")];
        late.send_form(&again, &again, &fields).shows("Is known here");
        crew.send_form(&again, &again, &[]).shows("is a member already");
<<<<<<< HEAD:crates/groma/tests/it/web/coming_in.rs
        assert_eq!(crew.get("/settings/statuses").response.status, 403, "their role stays");
    }

    fn someone_in_two_workspaces_goes_from_one_to_the_other(engine: Engine) {
        let server = TestServer::start(engine);
        server.create_workspace("Branch");
        let browser = Browser::of_owner(&server);
=======
        assert_eq!(crew.get("/settings/statuses").answer.status, 403, "their role does not change");
    }

    fn member_of_two_workspaces_switches_between_them(engine: Engine) {
        let office = Office::start(engine);
        office.create_workspace("Branch");
        let browser = Browser::of_owner(&office);
>>>>>>> 41cbbff (Move the texts of the web application into Fluent):crates/groma/tests/it/web/login.rs
        let page = browser.page("/");
        page.shows("Branch");
        page.shows(WORKSPACE);
        browser.submit("/folders/new", "/folders/new", &[("name", "In the branch")]);
        let stale = browser.get("/folders/F-000001/edit").token();
        let other = page.between("name=\"workspace\" value=\"", "\"").unwrap().to_owned();
<<<<<<< HEAD:crates/groma/tests/it/web/coming_in.rs
        browser.done("/", "/workspaces/enter", &[("workspace", &other)]);
        assert_eq!(browser.get("/folders/F-000001").response.status, 404);
        // A form of the other workspace changes nothing in this one.
        let refused = browser.post("/folders/new", &[("_csrf", &stale), ("name", "Astray")]);
        assert_eq!(refused.response.status, 403);
        browser.page("/folders").hides("Astray");
        let nowhere = uuid::Uuid::now_v7().to_string();
        let refused = browser.send_form("/", "/workspaces/enter", &[("workspace", &nowhere)]);
        assert_eq!(refused.response.status, 404);
=======
        browser.submit("/", "/workspaces/enter", &[("workspace", &other)]);
        assert_eq!(browser.get("/folders/F-000001").answer.status, 404);
        // A form of the other workspace is rejected.
        let rejected = browser.post("/folders/new", &[("_csrf", &stale), ("name", "Astray")]);
        assert_eq!(rejected.answer.status, 403);
        browser.page("/folders").hides("Astray");
        let nowhere = uuid::Uuid::now_v7().to_string();
        let rejected = browser.send_form("/", "/workspaces/enter", &[("workspace", &nowhere)]);
        assert_eq!(rejected.answer.status, 404);
>>>>>>> 41cbbff (Move the texts of the web application into Fluent):crates/groma/tests/it/web/login.rs
    }
}

#[test]
<<<<<<< HEAD:crates/groma/tests/it/web/coming_in.rs
fn over_https_the_cookie_binds_to_the_host() {
    let server = TestServer::start_with(
=======
fn https_cookie_is_bound_to_the_host() {
    let office = Office::start_with(
>>>>>>> 41cbbff (Move the texts of the web application into Fluent):crates/groma/tests/it/web/login.rs
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
