//! `groma serve`: start, failed start and shutdown.

use crate::{on_both_engines, sample_records::many_folders};
use groma_testkit::{
    API, Engine, TestServer, program, server::LISTENERS, server::NO_RATE_LIMIT, server::OWNER,
    server::PASSWORD, wait::PATIENCE, wait_until,
};
use std::{
    io::{Read, Write},
    net::TcpListener,
};

on_both_engines! {
    sigterm_exits_with_0
    sigint_exits_with_0
    acknowledged_writes_survive_a_restart
    acknowledged_writes_survive_a_kill
    server_with_an_idle_connection_shuts_down
    invalid_setting_prevents_the_start_and_is_named
    address_in_use_prevents_the_start_and_is_named
}

fn sigterm_exits_with_0(engine: Engine) {
    let mut server = TestServer::start(engine);
    server.get("/folders", &server.create_token(&["READ_FOLDER"])).ok();
    assert_eq!(server.stop(), Some(0));
}

fn sigint_exits_with_0(engine: Engine) {
    let mut server = TestServer::start(engine);
    let mut program = server.take_process();
    program.signal("INT");
    assert_eq!(program.wait_for_exit(), Some(0));
}

fn acknowledged_writes_survive_a_restart(engine: Engine) {
    let mut server = TestServer::start(engine);
    server.import("folders", &many_folders(5));
    let token = server.create_token(&["READ_FOLDER"]);
    let before = server.get("/folders", &token).body;
    assert_eq!(server.stop(), Some(0));
    server.serve();
    assert_eq!(server.get("/folders", &token).body, before);
}

fn acknowledged_writes_survive_a_kill(engine: Engine) {
    let mut server = TestServer::start(engine);
    let token = server.create_token(&["READ_FOLDER"]);
    server.import("folders", &many_folders(5));
    let before = server.get("/folders", &token).body;
    server.kill();
    server.serve();
    assert_eq!(server.get("/folders", &token).body, before);
}

fn server_with_an_idle_connection_shuts_down(engine: Engine) {
    let mut server = TestServer::start(engine);
    let token = server.create_token(&["READ_FOLDER"]);
    let mut idle = server.main().connect();
    write!(idle, "GET {API}/folders HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n")
        .unwrap();
    let mut first = [0; 15];
    idle.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"HTTP/1.1 200 OK");
    assert_eq!(server.stop(), Some(0));
}

fn invalid_setting_prevents_the_start_and_is_named(engine: Engine) {
    let server = TestServer::stopped(engine, &[]);
    for (name, value, message) in [
        ("GROMA_SERVER__PORT", "1", "GROMA_SERVER__PORT: is not a setting; check the spelling"),
        ("GROMA_TYPO", "1", "GROMA_TYPO: is not a setting; check the spelling"),
        (
            "GROMA_LIMITS__REQUESTS_PER_MINUTE",
            "many",
            "GROMA_LIMITS__REQUESTS_PER_MINUTE: must be a whole number",
        ),
        (
            "GROMA_SERVER__LISTEN",
            "8080",
            "server.listen: must be an address with a port, for example 127.0.0.1:8080, not `8080`",
        ),
    ] {
        for command in ["serve", "check"] {
            let environment = [("GROMA_DATABASE__URL", server.database_url()), (name, value)];
            program::run(&environment, "", &[command]).expect_error(message);
        }
    }
    let file = server.write_file(
        "groma.toml",
        "[server]\nlisten = \"127.0.0.1:0\"\n\n[limits]\nper_second = 3\n",
    );
    let message = "limits.per_second: is not a setting; check the spelling";
    server.run(&["serve"]).expect_error(message);
    let environment = [("GROMA_DATABASE__URL", server.database_url())];
    program::run(&environment, "", &["check", "--config", file.to_str().unwrap()])
        .expect_error(message);
}

fn address_in_use_prevents_the_start_and_is_named(engine: Engine) {
    let server = TestServer::stopped(engine, &[]);
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    for (variable, setting) in [
        ("GROMA_SERVER__LISTEN", "server.listen"),
        ("GROMA_SERVER__GEO_LISTEN", "server.geo_listen"),
    ] {
        let environment = [
            ("GROMA_DATABASE__URL", server.database_url()),
            ("GROMA_SERVER__LISTEN", "127.0.0.1:0"),
            ("GROMA_SERVER__GEO_LISTEN", "127.0.0.1:0"),
            (variable, &address),
        ];
        let message = program::run(&environment, "", &["serve"]).expect_failure();
        assert!(
            message.starts_with(&format!("{setting}: cannot listen on {address}: ")),
            "{message}"
        );
    }
}

#[test]
fn second_server_on_a_sqlite_file_is_rejected() {
    let mut server = TestServer::start(Engine::Sqlite);
    let path = server.database_url().strip_prefix("sqlite:").unwrap().to_owned();
    server
        .run(&["serve"])
        .expect_error(&format!("{path} is already in use by another Groma process"));
    server.get("/folders", &server.create_token(&["READ_FOLDER"])).ok();
    // Commands still work, and another server can start after the first has exited.
    server.run(&["workspace", "list"]).expect_success();
    server.kill();
    server.serve();
    server.get("/folders", &server.create_token(&["READ_FOLDER"])).ok();
}

#[test]
fn second_server_on_a_link_to_the_file_is_rejected() {
    let server = TestServer::start(Engine::Sqlite);
    let path = server.database_url().strip_prefix("sqlite:").unwrap().to_owned();
    let beside = server.directory().join("elsewhere");
    std::fs::create_dir(&beside).unwrap();
    let symbolic = beside.join("symbolic.db");
    std::os::unix::fs::symlink(&path, &symbolic).unwrap();
    let serve = |link: &std::path::Path| {
        server.run(&["serve", "--database", &format!("sqlite:{}", link.display())]).expect_failure()
    };
    assert_eq!(serve(&symbolic), format!("{path} is already in use by another Groma process"));
    let hard = beside.join("hard.db");
    std::fs::hard_link(&path, &hard).unwrap();
    let rejected = "has hard links; SQLite needs a file with a single name";
    assert_eq!(serve(&hard), format!("{} {rejected}", hard.display()));
    std::fs::remove_file(&hard).unwrap();
    server.get("/folders", &server.create_token(&["READ_FOLDER"])).ok();
    // Commands work with a symbolic link.
    let by_link = format!("sqlite:{}", symbolic.display());
    server.run(&["workspace", "list", "--database", &by_link]).expect_success();
}

#[test]
fn listen_address_can_be_a_host_name() {
    let server = TestServer::start_with(Engine::Sqlite, &[("GROMA_SERVER__LISTEN", "localhost:0")]);
    server.main().request("GET", &format!("{API}/openapi.json")).send().ok();
}

#[test]
fn replicas_on_one_postgresql_see_the_same_data() {
    let server = TestServer::start(Engine::Postgres);
    let second = server.start_replica();
    let token = server.create_token(&["READ_FOLDER"]);
    server.import("folders", &many_folders(3));
    let path = format!("{API}/folders");
    let response = second.main().request("GET", &path).token(&token).send();
    assert_eq!(response.ok()["total"], 3);
    assert_eq!(response.body, server.get("/folders", &token).body);
    let tokens = server.run(&["token", "list", "--json"]).json();
    server.run(&["token", "revoke", tokens[0]["id"].as_str().unwrap()]).expect_success();
    for client in [server.main(), second.main()] {
        let rejected = wait_until(PATIENCE, || {
            let response = client.request("GET", &path).token(&token).send();
            if response.status == 200 { Err(response.text()) } else { Ok(response) }
        });
        rejected.assert_error(401, "Unknown or revoked token");
    }
}

#[test]
fn unreachable_postgresql_returns_500_without_details_until_it_is_back() {
    let server = TestServer::start_with(Engine::Postgres, &[NO_RATE_LIMIT]);
    server.import("folders", &many_folders(3));
    let token = server.create_token(&["READ_FOLDER"]);
    let before = server.get("/folders", &token).body;
    // More reads than the pool has connections, so that each one is open when the database goes away.
    let read_often = || (0..20).for_each(|_| drop(server.get("/folders/F-000001", &token).ok()));
    read_often();
    server.without_database(|| {
        for path in ["/folders", "/folders/F-000001", "/statuses", "/folders?term=x"] {
            let full_path = format!("{API}{path}");
            let request = server.main().request("GET", &full_path).token(&token);
            let response = request.header("X-Request-Id", "while-unreachable").send();
            response.assert_error(500, "Internal server error");
            assert_eq!(response.header("x-request-id"), Some("while-unreachable"));
            assert_eq!(response.header("access-control-allow-origin"), Some("*"));
        }
        server.main().request("GET", &format!("{API}/folders")).send().error(401);
        server.main().request("GET", &format!("{API}/openapi.json")).send().ok();
    });
    let log = server.process().log();
    assert!(log.contains(r#""request_id":"while-unreachable""#), "the log has no cause: {log}");
    let back = wait_until(PATIENCE, || {
        let response = server.get("/folders", &token);
        if response.status == 200 { Ok(response) } else { Err(response.text()) }
    });
    assert_eq!(back.body, before);
    read_often();
    assert_eq!(server.run(&["workspace", "list"]).code, Some(0));
}

#[test]
fn database_file_contains_no_token_and_no_password() {
    let mut server = TestServer::start(Engine::Sqlite);
    let token = server.create_token(&["READ_FOLDER"]);
    server.get("/folders", &token).ok();
    assert_eq!(server.stop(), Some(0));
    let mut files = 0;
    for file in std::fs::read_dir(server.directory()).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        for secret in [token.as_bytes(), &token.as_bytes()[4..], PASSWORD.trim_end().as_bytes()] {
            assert!(!bytes.windows(secret.len()).any(|window| window == secret));
        }
        files += 1;
    }
    assert!(files >= 1);
}

#[test]
fn unreachable_database_prevents_the_start_with_one_line() {
    for url in
        ["postgres://nobody@127.0.0.1:1/none", "sqlite:/proc/none/groma.db", "mysql://x", "sqlite:"]
    {
        for command in ["serve", "check"] {
            let message =
                program::run(&[("GROMA_DATABASE__URL", url)], "", &[command]).expect_failure();
            assert!(!message.is_empty(), "{url}");
        }
    }
}

#[test]
fn options_override_the_environment_and_it_overrides_the_file() {
    let server = TestServer::stopped(Engine::Sqlite, &[]);
    let at = |name: &str| format!("sqlite:{}", server.directory().join(name).display());
    server.write_file("groma.toml", format!("[database]\nurl = \"{}\"\n", at("file.db")));
    let environment = at("environment.db");
    let flag = at("flag.db");
    let config = server.directory().join("groma.toml");
    let config = config.to_str().unwrap();
    let create = ["workspace", "create", "One", "--owner", OWNER, "--config", config];
    program::run(&[], PASSWORD, &create).expect_success();
    assert!(server.directory().join("file.db").exists());
    let with_environment = [("GROMA_DATABASE__URL", environment.as_str())];
    program::run(&with_environment, PASSWORD, &create).expect_success();
    assert!(server.directory().join("environment.db").exists());
    assert!(!server.directory().join("flag.db").exists());
    let with_flag = [&create[..], &["--database", &flag]].concat();
    program::run(&with_environment, PASSWORD, &with_flag).expect_success();
    let with_environment = [with_environment[0], LISTENERS[0], LISTENERS[1]];
    let report = program::run(
        &with_environment,
        "",
        &["check", "--config", config, "--database", &flag, "--json"],
    )
    .json();
    assert_eq!(report["database"]["at"], flag.strip_prefix("sqlite:").unwrap());
    assert!(server.directory().join("flag.db").exists());
    program::run(&[], "", &["check", "--config", "/nowhere/groma.toml"]).expect_failure();
}

#[test]
fn default_database_is_in_the_data_directory() {
    let message = program::run(&[], "", &["check"]).expect_failure();
    assert!(message.starts_with("there is no database at ./data/groma.db;"), "{message}");
}
