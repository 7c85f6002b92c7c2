//! Mails: invitations, new passwords, verified addresses, notices; and what happens when the mail server
//! fails.

use super::{Browser, password};
use crate::on_both_engines;
use groma_testkit::{
    Engine, MailServer, TestServer, server::ADMIN_LISTENER, server::OWNER, wait_until,
};
use std::time::Duration;

const CREW: &str = "crew@example.test";
const PATIENCE: Duration = Duration::from_secs(40);

/// A server that sends its mail to this port.
fn start(engine: Engine, port: u16) -> TestServer {
    let settings = MailServer::settings_for(port);
    let mut settings: Vec<_> =
        settings.iter().map(|(name, value)| (*name, value.as_str())).collect();
    settings.push(ADMIN_LISTENER);
    TestServer::start_with(engine, &settings)
}

fn read_metrics(server: &TestServer) -> String {
    server.admin().request("GET", "/metrics").send().text()
}

/// Invites an address by mail.
#[track_caller]
fn invite(owner: &Browser, email: &str) {
    let once = uuid::Uuid::now_v7().to_string();
    let fields = [("once", once.as_str()), ("role", "editor"), ("email", email)];
    let to = owner.submit("/settings/members", "/settings/invitations", &fields);
    assert_eq!(to, "/settings/members");
    // Submitting the form again sends nothing more.
    owner.submit("/settings/members", "/settings/invitations", &fields);
}

/// Requests a link for a new password.
#[track_caller]
fn request_link(server: &TestServer, email: &str) -> String {
    let stranger = Browser::new(server.main());
    let page = stranger.send_form("/forgot-password", "/forgot-password", &[("email", email)]);
    assert_eq!(page.response.status, 200, "{}", page.text);
    page.between("<p role=\"status\">", "</p>").unwrap().replace(email, "EMAIL")
}

on_both_engines! {
    fn invitation_is_mailed_and_its_link_verifies_the_address(engine: Engine) {
        let mail_server = MailServer::start();
        let server = start(engine, mail_server.port());
        let owner = Browser::of_owner(&server);
        invite(&owner, CREW);
        owner.page("/settings/members").hides("/join/");
        let mail = mail_server.wait_for(CREW, "Invitation to Cadastre");
        let link = mail.link("/join/");
        assert_eq!(mail.header("Auto-Submitted"), Some("auto-generated"));
        assert!(mail.header("Date").is_some() && mail.header("Message-ID").is_some());
        // The link is for the invited address only.
        let refused = owner.page(&link);
        refused.shows("This invitation is for crew@example.test");
        refused.hides("Join as");
        let refused = owner.send_form("/settings/members", &link, &[]);
        assert_eq!(refused.response.status, 400);
        let crew = Browser::new(server.main());
        let mut fields = [("person", "Field crew"), ("email", "other@example.test"), ("password", "levels and rods 24")];
        crew.send_form(&link, &link, &fields).shows("the address that the invitation is for");
        fields[1].1 = CREW;
        assert_eq!(crew.submit(&link, &link, &fields), "/");
        let account = crew.page("/account");
        account.shows("verified");
        account.hides("not verified");
        let sent = mail_server.mails().iter().filter(|mail| mail.recipient == CREW).count();
        assert_eq!(sent, 1, "the same form sends one mail");
        // The inviter can still pass on a link; it proves nothing.
        let once = uuid::Uuid::now_v7().to_string();
        let fields = [("once", once.as_str()), ("role", "viewer"), ("email", "guest@example.test"), ("delivery", "link")];
        let page = owner.send_form("/settings/members", "/settings/invitations", &fields);
        let link = page.between("<code id=\"link\">", "</code>").unwrap().to_owned();
        let link = &link[link.find("/join/").unwrap()..];
        let guest = Browser::new(server.main());
        let fields = [("person", "Guest"), ("email", "guest@example.test"), ("password", "rods and levels 42")];
        guest.submit(link, link, &fields);
        guest.page("/account").shows("not verified");
        guest.submit("/account", "/account/verify-email", &[]);
        let link = mail_server.wait_for("guest@example.test", "Verify your email").link("/verify-email/");
        guest.page(&link).shows("guest@example.test");
        guest.page("/account").shows("not verified");
        assert_eq!(guest.submit(&link, &link, &[]), "/account");
        guest.page("/account").hides("not verified");
        assert_eq!(guest.get(&link).response.status, 404, "the link works once");
    }

    fn forgotten_password_is_set_by_a_link_that_works_once(engine: Engine) {
        let mail_server = MailServer::start();
        let server = start(engine, mail_server.port());
        let owner = Browser::of_owner(&server);
        let token = server.create_token(&["READ_FOLDER"]);
        Browser::new(server.main()).page("/login").shows("/forgot-password");
        let known = request_link(&server, OWNER);
        let unknown = request_link(&server, "nobody@example.test");
        assert_eq!(known, unknown, "the page does not tell whether the account exists");
        let link = mail_server.wait_for(OWNER, "Set a new password").link("/reset-password/");
        let secret = link.rsplit('/').next().unwrap();
        let browser = Browser::new(server.main());
        let opened = browser.get(&link);
        assert_eq!((opened.response.status, opened.location().as_str()), (303, "/reset-password"));
        assert_eq!(opened.response.header("referrer-policy"), Some("no-referrer"));
        assert_eq!(opened.response.header("cache-control"), Some("no-store"));
        let page = browser.page("/reset-password");
        assert_eq!(page.response.header("cache-control"), Some("no-store"));
        page.shows(OWNER);
        page.hides(secret);
        let short = browser.send_form("/reset-password", "/reset-password", &[("password", "short")]);
        assert_eq!(short.error_of("password"), Some("Must have at least 10 characters"));
        let fields = [("password", "a password after the reset"), ("revoke_tokens", "true")];
        assert_eq!(browser.submit("/reset-password", "/reset-password", &fields), "/login");
        assert_eq!(owner.get("/").response.status, 303, "all sessions have ended");
        server.get("/folders", &token).error(401);
        assert_eq!(Browser::new(server.main()).log_in(OWNER, password()).response.status, 400);
        let owner = Browser::logged_in(&server, OWNER, "a password after the reset");
        owner.page("/account").hides("not verified");
        mail_server.wait_for(OWNER, "password was changed");
        // The link has been used.
        browser.get(&link);
        assert_eq!(browser.get("/reset-password").response.status, 404);
        let nobody = mail_server.mails().iter().any(|mail| mail.recipient == "nobody@example.test");
        assert!(!nobody);
        assert!(!server.process().log().contains(secret), "no secret is in the log");
    }

    fn requests_for_links_are_limited(engine: Engine) {
        let mail_server = MailServer::start();
        let server = start(engine, mail_server.port());
        let owner = Browser::of_owner(&server);
        for _ in 0..5 {
            request_link(&server, OWNER);
        }
        let stranger = Browser::new(server.main());
        let fields = [("email", OWNER)];
        let rejected = stranger.send_form("/forgot-password", "/forgot-password", &fields);
        assert_eq!(rejected.response.status, 429);
        // The log says when the last request was dropped.
        wait_until(PATIENCE, || {
            let log = server.process().log();
            let dropped = log.matches("too many to one address").count();
            if dropped == 2 { Ok(()) } else { Err(format!("{dropped} dropped: {log}")) }
        });
        mail_server.wait_for(OWNER, "Set a new password");
        // Notices are not suppressed by that.
        let fields = [("name", "Export"), ("scope", "READ_FOLDER"), ("expires", "30")];
        owner.send_form("/settings/tokens/new", "/settings/tokens/new", &fields).shows("Export");
        mail_server.wait_for(OWNER, "New API token");
        let links = |subject: &str| {
            let mails = mail_server.mails();
            mails.iter().filter(|mail| mail.header("Subject").unwrap().contains(subject)).count()
        };
        wait_until(PATIENCE, || match links("Set a new password") {
            3 => Ok(()),
            count => Err(format!("{count} links")),
        });
    }

    fn login_with_an_unknown_browser_is_reported(engine: Engine) {
        let mail_server = MailServer::start();
        let server = start(engine, mail_server.port());
        let browser = Browser::of_owner(&server);
        let mail = mail_server.wait_for(OWNER, "New login");
        assert!(mail.text().contains("IP address: 127.0.0.1"), "{}", mail.raw);
        // The same browser is known afterwards.
        browser.submit("/account", "/logout", &[]);
        assert_eq!(browser.log_in(OWNER, password()).response.status, 303);
        let changed = [("current", password()), ("password", "another password")];
        browser.submit("/account", "/account/password", &changed);
        mail_server.wait_for(OWNER, "password was changed");
        let logins = mail_server.mails();
        let logins = logins.iter().filter(|mail| mail.header("Subject").unwrap().contains("New login"));
        assert_eq!(logins.count(), 1);
    }

    fn changes_of_an_account_by_the_operator_are_reported(engine: Engine) {
        let mail_server = MailServer::start();
        let server = start(engine, mail_server.port());
        let set = ["user", "password", OWNER];
        server.run_with_input("levels and rods 24\n", &set).expect_success();
        mail_server.wait_for(OWNER, "password was changed");
        server.run(&["user", "reset-factors", OWNER]).expect_success();
        mail_server.wait_for(OWNER, "Login settings");
    }

    fn mail_is_sent_when_the_mail_server_is_back(engine: Engine) {
        let port = MailServer::free_port();
        let server = start(engine, port);
        let owner = Browser::of_owner(&server);
        invite(&owner, CREW);
        wait_until(PATIENCE, || {
            let log = server.process().log();
            let has_failed = log.matches("failed to send a mail").count() >= 2;
            if has_failed { Ok(()) } else { Err(log) }
        });
        let metrics = read_metrics(&server);
        assert!(metrics.contains("groma_mails_waiting 2\n"), "{metrics}");
        assert!(!server.process().log().contains(CREW), "the log names no address");
        let mail_server = MailServer::start_on(port);
        mail_server.wait_for(CREW, "Invitation");
        mail_server.wait_for(OWNER, "New login");
        wait_until(PATIENCE, || {
            let metrics = read_metrics(&server);
            let is_sent = metrics.contains("groma_mails_waiting 0\n")
                && metrics.contains("groma_mails_total{result=\"sent\"} 2\n");
            if is_sent { Ok(()) } else { Err(metrics) }
        });
    }

    fn mail_that_the_server_rejects_is_not_repeated(engine: Engine) {
        let mail_server = MailServer::start();
        let server = start(engine, mail_server.port());
        let owner = Browser::of_owner(&server);
        invite(&owner, "unknown@example.test");
        wait_until(PATIENCE, || {
            let metrics = read_metrics(&server);
            let is_dropped = metrics.contains("groma_mails_total{result=\"dropped\"} 1\n")
                && metrics.contains("groma_mails_waiting 0\n");
            if is_dropped { Ok(()) } else { Err(metrics) }
        });
    }
}

#[test]
fn replicas_send_each_mail_once() {
    let mail_server = MailServer::start();
    let server = start(Engine::Postgres, mail_server.port());
    let replicas = [server.start_replica(), server.start_replica()];
    let owner = Browser::of_owner(&server);
    for number in 0..40 {
        invite(&owner, &format!("crew-{number}@example.test"));
    }
    wait_until(PATIENCE, || {
        let metrics = read_metrics(&server);
        if metrics.contains("groma_mails_waiting 0\n") { Ok(()) } else { Err(metrics) }
    });
    drop(replicas);
    let mut ids: Vec<_> = mail_server
        .mails()
        .iter()
        .map(|mail| mail.header("Message-ID").unwrap().to_owned())
        .collect();
    assert_eq!(ids.len(), 41, "40 invitations and a notice");
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 41);
}

#[test]
fn check_names_the_failure_and_sends_a_test_mail() {
    let mail_server = MailServer::start();
    let server = start(Engine::Sqlite, mail_server.port());
    let report = server.run(&["check"]).expect_success();
    assert!(report.contains(&format!("127.0.0.1:{} accepts mail", mail_server.port())), "{report}");
    let report = server.run(&["check", "--send-test", CREW]).expect_success();
    assert!(report.contains("accepted a test mail to crew@example.test"), "{report}");
    mail_server.wait_for(CREW, "Test message from Groma");
    let rejected = server.run(&["check", "--send-test", "unknown@example.test"]).expect_failure();
    assert!(rejected.contains("550") && rejected.contains("no such mailbox"), "{rejected}");
    drop(mail_server);
    let report = server.run(&["check"]).expect_failure();
    assert!(report.contains("mail cannot be sent by 127.0.0.1:"), "{report}");
    let without = TestServer::start(Engine::Sqlite);
    let report = without.run(&["check", "--send-test", CREW]).expect_failure();
    assert!(report.contains("smtp.host is not set"), "{report}");
    // Without a mail server, there is no such page.
    assert_eq!(Browser::new(without.main()).get("/forgot-password").response.status, 404);
    Browser::new(without.main()).page("/login").hides("forgot-password");
}
