//! The commands for the users of the installation: listing, disabling, enabling, deleting and erasing.

use crate::{on_both_engines, web::Browser};
use groma_testkit::{Engine, MailServer, TestServer, postgres, server::OWNER, server::WORKSPACE};
use serde_json::json;

on_both_engines! {
    users_are_listed
    disabled_user_is_logged_out_and_cannot_log_in
    deleted_user_is_erased_from_records
    former_member_can_be_erased
    password_command_revokes_tokens_if_asked
    owner_is_told_once_that_a_token_expires_soon
}

const CREW: &str = "crew@office.test";
const PASSWORD: &str = "a password of theirs";

fn add(server: &TestServer, email: &str) {
    let add =
        ["user", "add", email, "--workspace", WORKSPACE, "--role", "editor", "--name", "Crew"];
    server.run_with_input(&format!("{PASSWORD}\n"), &add).expect_success();
}

fn users_are_listed(engine: Engine) {
    let server = TestServer::start(engine);
    add(&server, CREW);
    server.run(&["user", "disable", CREW]).expect_success();
    let users = server.run(&["user", "list", "--json"]).json();
    let crew = &users[0];
    assert_eq!(
        (&crew["email"], &crew["name"], &crew["state"], &crew["emailVerifiedAt"]),
        (&json!(CREW), &json!("Crew"), &json!("disabled"), &json!(null))
    );
    assert_eq!(crew["workspaces"][0]["name"], WORKSPACE);
    assert_eq!(crew["workspaces"][0]["role"], "editor");
    assert_eq!((&users[1]["email"], &users[1]["state"]), (&json!(OWNER), &json!("active")));
    let table = server.run(&["user", "list"]).expect_success();
    assert!(table.contains(&format!("{WORKSPACE} (editor)")), "{table}");
}

fn disabled_user_is_logged_out_and_cannot_log_in(engine: Engine) {
    let server = TestServer::start(engine);
    add(&server, CREW);
    let browser = Browser::logged_in(&server, CREW, PASSWORD);
    let token = server.create_token_for(WORKSPACE, CREW, &["READ_FOLDER"]);
    browser.page("/folders");
    server.run(&["user", "disable", CREW, "--keep-tokens"]).expect_success();
    server.get_until("/folders", &token, |response| response.status == 200);
    let page = browser.get("/folders");
    assert!(page.location().starts_with("/login"), "{}", page.text);
    let again = Browser::new(server.main());
    let rejected = again.log_in(CREW, PASSWORD);
    assert_eq!(rejected.response.status, 403);
    rejected.shows("This account is disabled");
    // A wrong password says nothing about the account.
    let wrong = again.log_in(CREW, "not the password");
    assert_eq!(wrong.response.status, 400);
    wrong.shows("The email address or the password is incorrect.");
    server.run(&["user", "disable", CREW]).expect_success();
    server.get_until("/folders", &token, |response| response.status == 401);
    server.run(&["user", "enable", CREW]).expect_success();
    Browser::logged_in(&server, CREW, PASSWORD);
    let log = server.run(&["security-log", "--action", "user."]).expect_success();
    assert!(log.contains("user.disabled") && log.contains("user.enabled"), "{log}");
    let last = format!("user is the only owner of {WORKSPACE}: make someone else an owner first");
    server.run(&["user", "disable", OWNER]).expect_error(&last);
    server.run(&["user", "delete", OWNER]).expect_error(&last);
    server
        .run(&["user", "disable", "x@office.test"])
        .expect_error("user `x@office.test` not found");
}

fn deleted_user_is_erased_from_records(engine: Engine) {
    let server = TestServer::start(engine);
    add(&server, CREW);
    let token = server.create_token(&["READ_FOLDER"]);
    server.import("folders", &[json!({ "reference": "x", "name": "x", "owner": CREW })]);
    server.run(&["user", "delete", CREW]).expect_success();
    let owner = |text: &str| text.contains(r#""name":"Former member""#) && !text.contains(CREW);
    server.get_until("/folders/x", &token, |response| owner(&response.text()));
    let users = server.run(&["user", "list", "--json"]).json();
    assert_eq!(users.as_array().unwrap().len(), 1);
    let log = server.run(&["security-log"]).expect_success();
    assert!(log.contains("user.deleted") && log.contains("Former member"), "{log}");
    assert!(!log.contains(CREW), "{log}");
    // The address is gone, but the ID still finds the entries.
    let not_found = format!("user `{CREW}` not found");
    server.run(&["security-log", "--user", CREW]).expect_error(&not_found);
    let deleted = server.run(&["security-log", "--json", "--action", "user.deleted"]).json();
    let id = deleted["subjectUserId"].as_str().unwrap();
    let log = server.run(&["security-log", "--user", id]).expect_success();
    assert!(log.contains("member.added") && !log.contains("workspace.created"), "{log}");
    server.run(&["security-log", "--user", "crew"]).expect_usage_error();
    assert_eq!(Browser::new(server.main()).log_in(CREW, PASSWORD).response.status, 400);
}

fn former_member_can_be_erased(engine: Engine) {
    let server = TestServer::start(engine);
    let token = server.create_token(&["READ_FOLDER"]);
    server.import("folders", &[json!({ "reference": "x", "name": "x", "owner": CREW })]);
    let erase = ["person", "erase", CREW, "--workspace", WORKSPACE];
    server
        .run(&["person", "erase", OWNER])
        .expect_error("person is a member: remove them from the workspace first");
    server.run(&erase).expect_success();
    server.get_until("/folders/x", &token, |response| response.text().contains("Former member"));
    server.run(&erase).expect_error(&format!("person `{CREW}` not found"));
}

fn password_command_revokes_tokens_if_asked(engine: Engine) {
    let server = TestServer::start(engine);
    add(&server, CREW);
    let token = server.create_token_for(WORKSPACE, CREW, &["READ_FOLDER"]);
    let password = ["user", "password", CREW];
    server.run_with_input("another password\n", &password).expect_success();
    server.get("/folders", &token).ok();
    let revoke = ["user", "password", CREW, "--revoke-tokens"];
    server.run_with_input("a third password\n", &revoke).expect_success();
    server.get_until("/folders", &token, |response| response.status == 401);
}

fn owner_is_told_once_that_a_token_expires_soon(engine: Engine) {
    let mail_server = MailServer::start();
    let settings = MailServer::settings_for(mail_server.port());
    let settings: Vec<_> = settings.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let mut server = TestServer::start_with(engine, &settings);
    let create = ["token", "create", "--workspace", WORKSPACE, "--user", OWNER, "--scopes", ""];
    server
        .run(&[&create[..], &["--name", "Nightly export", "--expires", "20d"]].concat())
        .expect_success();
    server.run(&[&create[..], &["--name", "Short", "--expires", "5d"]].concat()).expect_success();
    server.stop();
    // As if it had been created 15 days ago.
    let earlier = "UPDATE tokens SET created_at = created_at - 1296000000, expires_at = expires_at - 1296000000
        WHERE name = 'Nightly export'";
    match server.database_url().strip_prefix("sqlite:") {
        Some(path) => rusqlite::Connection::open(path).unwrap().execute_batch(earlier).unwrap(),
        None => postgres::execute(server.database_url(), earlier).unwrap(),
    }
    server.serve();
    let mail = mail_server.wait_for(OWNER, "An API token expires soon: Nightly export");
    assert!(mail.text().contains("Name: Nightly export"), "{}", mail.text());
    assert!(mail.link("/settings/tokens").ends_with("/settings/tokens"));
    // Neither again after a restart, nor for the token with a short lifetime.
    server.stop();
    server.serve();
    let sent = mail_server
        .mails()
        .into_iter()
        .filter(|mail| mail.text().contains("expires within a week"));
    assert_eq!(sent.count(), 1);
}
