//! The security log: logins, tokens, exports and backups are in it, on the page, in the command and as log
//! lines.

use crate::{on_both_engines, web::Browser};
use groma_testkit::{
    API, Engine, TestServer, server::NO_RATE_LIMIT, server::OWNER, server::WORKSPACE,
    wait::PATIENCE, wait_until,
};
use serde_json::{Value, json};

on_both_engines! {
    logins_are_logged_with_account_and_address
    command_prints_and_filters_the_log
    page_shows_the_log_to_owners_only
    commands_that_change_data_are_logged
    copies_are_logged_in_both_databases
    changes_by_a_token_name_it
    wrong_password_when_changing_it_is_logged
}

/// The entries that the command prints, newest first.
fn log(server: &TestServer, arguments: &[&str]) -> Vec<Value> {
    let output = server.run(&[&["security-log", "--json"], arguments].concat()).expect_success();
    output.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn logins_are_logged_with_account_and_address(engine: Engine) {
    let server = TestServer::start(engine);
    let browser = Browser::new(server.main());
    browser.log_in(OWNER, "not the password");
    browser.log_in("nobody@office.test", "not the password");
    let browser = Browser::of_owner(&server);
    browser.submit("/folders", "/logout", &[]);
    let entries = log(&server, &["--action", "log"]);
    let fields = |entry: &Value| {
        let text = |name: &str| entry[name].as_str().unwrap_or("-").to_owned();
        (text("action"), text("user"), text("subject"), text("address"))
    };
    let of = |action: &str, user: &str, subject: &str| {
        (action.to_owned(), user.to_owned(), subject.to_owned(), "127.0.0.1".to_owned())
    };
    let found: Vec<_> = entries.iter().map(fields).collect();
    assert_eq!(
        found,
        [
            of("logout", OWNER, "-"),
            of("login.succeeded", OWNER, "-"),
            of("login.failed", "-", "-"),
            of("login.failed", "-", OWNER),
        ]
    );
    wait_until(PATIENCE, || {
        let log = server.process().log();
        let mut lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let is_line = |line: &Value| line["target"] == "security" && line["action"] == "logout";
        if lines.any(|line| is_line(&line)) { Ok(()) } else { Err(log) }
    });
}

fn command_prints_and_filters_the_log(engine: Engine) {
    let server = TestServer::start_with(engine, &[NO_RATE_LIMIT]);
    server.create_token(&["READ_FOLDER"]);
    let folders = server.directory().join("folders.csv");
    let file = folders.to_str().unwrap();
    server.run(&["export", "folders", file, "--workspace", WORKSPACE]).expect_success();
    let table = server.run(&["security-log"]).expect_success();
    for expected in ["ACTION", "token.created", "export.created", OWNER, WORKSPACE] {
        assert!(table.contains(expected), "{expected}: {table}");
    }
    assert_eq!(log(&server, &["--limit", "1"])[0]["details"]["kind"], "folders");
    let tokens = log(&server, &["--action", "token.", "--last", "1h"]);
    assert_eq!(tokens.len(), 1);
    assert_eq!(tokens[0]["details"]["after"]["scopes"], "READ_FOLDER");
    assert_eq!(log(&server, &["--user", OWNER, "--workspace", WORKSPACE]).len(), 2);
    server
        .run(&["security-log", "--user", "nobody@office.test"])
        .expect_error("user `nobody@office.test` not found");
    if engine == Engine::Sqlite {
        let backup = server.directory().join("backup.db");
        server.run(&["backup", backup.to_str().unwrap()]).expect_success();
        assert_eq!(log(&server, &["--limit", "1"])[0]["action"], "backup.started");
    }
}

fn commands_that_change_data_are_logged(engine: Engine) {
    let server = TestServer::start_with(engine, &[NO_RATE_LIMIT]);
    let folder = json!({ "reference": "F-1", "name": "Mill lane" });
    server.import("folders", &[folder]);
    server.run(&["layer", "create", "Parcels"]).expect_success();
    server.run(&["archive", "folder", "F-1"]).expect_success();
    server.run(&["delete", "folder", "F-1"]).expect_success();
    let point = server.write_file("one.geojson", r#"{"type":"Point","coordinates":[1,2]}"#);
    let import = ["import", "layer", point.to_str().unwrap()];
    server.run(&[&import[..], &["--dry-run"]].concat()).expect_success();
    server.run(&import).expect_success();
    let check = ["layer", "check", "one"];
    server.run(&check).expect_success();
    server.run(&[&check[..], &["--repair"]].concat()).expect_success();
    let entries = log(&server, &["--action", "command."]);
    let commands: Vec<_> = entries.iter().map(|entry| &entry["details"]["command"]).collect();
    let expected =
        ["layer check --repair", "import layer", "delete", "archive", "layer create", "import"];
    assert_eq!(commands, expected);
    assert!(entries.iter().all(|entry| entry["workspace"] == WORKSPACE && entry["user"].is_null()));
    let page = Browser::of_owner(&server).page("/settings/security-log?topic=command");
    page.shows("Data changed on the command line");
}

fn copies_are_logged_in_both_databases(engine: Engine) {
    let from = TestServer::stopped(engine, &[]);
    from.create_workspace(WORKSPACE);
    let other = match engine {
        Engine::Sqlite => Engine::Postgres,
        Engine::Postgres => Engine::Sqlite,
    };
    let name = if other == Engine::Sqlite { "sqlite" } else { "postgres" };
    let to = TestServer::stopped(other, &[]);
    let copy = ["copy", "--from", from.database_url(), "--to", to.database_url()];
    from.run(&[&copy[..], &["--rehearsal"]].concat()).expect_success();
    let expected = json!({ "to": name, "rehearsal": true });
    for server in [&from, &to] {
        let entries = log(server, &["--action", "backup."]);
        let [entry] = entries.as_slice() else { panic!("{entries:?}") };
        assert_eq!(
            (&entry["action"], &entry["details"]),
            (&json!("backup.copyStarted"), &expected)
        );
    }
    assert_eq!(log(&to, &["--action", "workspace."])[0]["action"], "workspace.created");
}

#[test]
fn restore_is_logged_in_the_restored_database() {
    let mut server = TestServer::stopped(Engine::Sqlite, &[]);
    server.create_workspace(WORKSPACE);
    let file = server.directory().join("backup.db");
    let file = file.to_str().unwrap();
    server.run(&["backup", file]).expect_success();
    server.run(&["restore", file, "--overwrite"]).expect_success();
    let actions: Vec<_> = log(&server, &["--action", "backup."])
        .iter()
        .map(|entry| entry["action"].clone())
        .collect();
    assert_eq!(actions, ["backup.restored", "backup.started"]);
    server.serve();
    let page = Browser::of_owner(&server).page("/settings/security-log?topic=backup");
    page.shows("Database restored from a backup");
}

fn changes_by_a_token_name_it(engine: Engine) {
    let server = TestServer::start_with(engine, &[NO_RATE_LIMIT]);
    let token = server.create_token(&["MANAGE_WEBHOOK"]);
    let id = log(&server, &["--action", "token."])[0]["subjectId"].clone();
    let url = "https://hooks.example/services/secret";
    let endpoint = json!({ "url": url, "events": ["*"] }).to_string();
    let path = format!("{API}/webhooks/endpoints");
    let post = server.main().request("POST", &path).token(&token);
    let created = post.header("Content-Type", "application/json").body(endpoint).send().ok();
    let path = format!("{path}/{}/rotate", created["id"].as_str().unwrap());
    let post = server.main().request("POST", &path).token(&token);
    post.header("Content-Type", "application/json").body(r#"{"overlapHours":0}"#).send().ok();
    let entries = log(&server, &["--action", "webhook."]);
    let actions: Vec<_> = entries.iter().map(|entry| &entry["action"]).collect();
    assert_eq!(actions, ["webhook.secretRotated", "webhook.created"]);
    for entry in &entries {
        assert_eq!((&entry["user"], &entry["details"]["token"]), (&json!(OWNER), &id));
    }
    // The path of a webhook often contains a secret.
    assert_eq!(entries[1]["details"]["after"]["url"], "https://hooks.example");
    assert!(!server.process().log().contains("services/secret"));
    let browser = Browser::of_owner(&server);
    browser.page("/settings/security-log?topic=webhook").shows("with the token “test”");
    let save = [("name", WORKSPACE), ("currency", "EUR"), ("maxTokenDays", "30")];
    browser.submit("/settings/workspace", "/settings/workspace", &save);
    browser.page("/settings/security-log?topic=workspace").shows("30 days");
}

fn wrong_password_when_changing_it_is_logged(engine: Engine) {
    let server = TestServer::start(engine);
    let browser = Browser::of_owner(&server);
    let fields = [("current", "not the password"), ("password", "plumb line of the owner 71")];
    let rejected = browser.send_form("/account", "/account/password", &fields);
    assert_eq!(rejected.response.status, 400);
    let entry = &log(&server, &["--limit", "1"])[0];
    assert_eq!(
        (&entry["action"], &entry["user"], &entry["address"]),
        (&json!("password.changeFailed"), &json!(OWNER), &json!("127.0.0.1"))
    );
}

fn page_shows_the_log_to_owners_only(engine: Engine) {
    let server = TestServer::start(engine);
    let browser = Browser::of_owner(&server);
    let page = browser.page("/settings/security-log");
    page.shows("Logged in");
    page.shows("Member added");
    server.create_token(&["READ_FOLDER", "READ_BUDGET"]);
    let page = browser.page("/settings/security-log?topic=token");
    page.shows("READ_FOLDER, READ_BUDGET");
    page.hides(", null");
    browser.page("/settings/security-log?topic=token").hides("Logged in");
    Browser::new(server.main()).log_in(OWNER, "not the password");
    browser.page("/settings/security-log?topic=login").shows("Login failed");
    let admin = "admin@office.test";
    let add = ["user", "add", admin, "--workspace", WORKSPACE, "--role", "admin"];
    server.run_with_input("plumb line of the admin 71\n", &add).expect_success();
    let browser = Browser::logged_in(&server, admin, "plumb line of the admin 71");
    assert_eq!(browser.get("/settings/security-log").response.status, 403);
    browser.page("/settings/tokens").hides("Security log");
}
