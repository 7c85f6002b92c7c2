//! `groma serve`: how it starts, what stops the start, and how it ends.

use crate::{
    client::API,
    database::Engine,
    office::{self, LISTEN, NO_LIMIT, Office},
    on_both_engines,
    sample::many_folders,
};
use std::{
    io::{Read, Write},
    net::TcpListener,
    time::{Duration, Instant},
};

on_both_engines! {
    fn sigterm_ends_it_with_0(engine: Engine) {
        let mut office = Office::start(engine);
        office.get("/folders", &office.token(&["READ_FOLDER"])).ok();
        assert_eq!(office.close(), Some(0));
    }

    fn sigint_ends_it_with_0_too(engine: Engine) {
        let mut office = Office::start(engine);
        let mut program = office.take_program();
        program.signal("INT");
        assert_eq!(program.ended(), Some(0));
    }

    fn what_was_acknowledged_is_there_after_a_restart(engine: Engine) {
        let mut office = Office::start(engine);
        office.import("folders", &many_folders(5));
        let token = office.token(&["READ_FOLDER"]);
        let before = office.get("/folders", &token).body;
        assert_eq!(office.close(), Some(0));
        office.open();
        assert_eq!(office.get("/folders", &token).body, before);
    }

    fn what_was_acknowledged_is_there_after_a_kill(engine: Engine) {
        let mut office = Office::start(engine);
        let token = office.token(&["READ_FOLDER"]);
        office.import("folders", &many_folders(5));
        let before = office.get("/folders", &token).body;
        office.kill();
        office.open();
        assert_eq!(office.get("/folders", &token).body, before);
    }

    fn an_idle_connection_does_not_hold_up_the_end(engine: Engine) {
        let mut office = Office::start(engine);
        let token = office.token(&["READ_FOLDER"]);
        let mut idle = office.main().connect();
        write!(idle, "GET {API}/folders HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n").unwrap();
        let mut first = [0; 15];
        idle.read_exact(&mut first).unwrap();
        assert_eq!(&first, b"HTTP/1.1 200 OK");
        let begin = Instant::now();
        assert_eq!(office.close(), Some(0));
        assert!(begin.elapsed().as_secs() < 5, "it waited for a client that says nothing");
    }

    fn an_unknown_setting_stops_the_start_with_its_name(engine: Engine) {
        let office = Office::closed(engine, &[]);
        for (name, value, message) in [
            ("GROMA_SERVER__PORT", "1", "GROMA_SERVER__PORT: is not a setting; check the spelling"),
            ("GROMA_TYPO", "1", "GROMA_TYPO: is not a setting; check the spelling"),
            ("GROMA_LIMITS__REQUESTS_PER_MINUTE", "many", "GROMA_LIMITS__REQUESTS_PER_MINUTE: must be a whole number"),
            ("GROMA_SERVER__LISTEN", "8080", "server.listen: must be an address with a port, for example 127.0.0.1:8080, not `8080`"),
        ] {
            for command in ["serve", "check"] {
                let environment = [("GROMA_DATABASE__URL", office.database()), (name, value)];
                office::run(&environment, "", &[command]).fails_with(message);
            }
        }
        let file = office.file("groma.toml", "[server]\nlisten = \"127.0.0.1:0\"\n\n[limits]\nper_second = 3\n");
        let message = "limits.per_second: is not a setting; check the spelling";
        office.groma(&["serve"]).fails_with(message);
        let environment = [("GROMA_DATABASE__URL", office.database())];
        office::run(&environment, "", &["check", "--config", file.to_str().unwrap()]).fails_with(message);
    }

    fn an_address_in_use_stops_the_start_with_its_name(engine: Engine) {
        let office = Office::closed(engine, &[]);
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = taken.local_addr().unwrap().to_string();
        for (variable, setting) in [
            ("GROMA_SERVER__LISTEN", "server.listen"), ("GROMA_SERVER__GEO_LISTEN", "server.geo_listen"),
        ] {
            let environment = [
                ("GROMA_DATABASE__URL", office.database()),
                ("GROMA_SERVER__LISTEN", "127.0.0.1:0"),
                ("GROMA_SERVER__GEO_LISTEN", "127.0.0.1:0"),
                (variable, &address),
            ];
            let message = office::run(&environment, "", &["serve"]).fails();
            assert!(message.starts_with(&format!("{setting}: {address}: ")), "{message}");
        }
    }
}

#[test]
fn a_second_serve_on_one_sqlite_file_is_refused() {
    let mut office = Office::start(Engine::Sqlite);
    let path = office.database().strip_prefix("sqlite:").unwrap().to_owned();
    office.groma(&["serve"]).fails_with(&format!("{path} is served by another groma already"));
    office.get("/folders", &office.token(&["READ_FOLDER"])).ok();
    // Commands beside it go on working, and when it has ended another may serve.
    office.groma(&["workspace", "list"]).succeeds();
    office.kill();
    office.open();
    office.get("/folders", &office.token(&["READ_FOLDER"])).ok();
}

#[test]
fn a_second_serve_by_another_name_of_the_file_is_refused() {
    let office = Office::start(Engine::Sqlite);
    let path = office.database().strip_prefix("sqlite:").unwrap().to_owned();
    let beside = office.folder().join("elsewhere");
    std::fs::create_dir(&beside).unwrap();
    let symbolic = beside.join("symbolic.db");
    std::os::unix::fs::symlink(&path, &symbolic).unwrap();
    let serve = |link: &std::path::Path| {
        office.groma(&["serve", "--database", &format!("sqlite:{}", link.display())]).fails()
    };
    assert_eq!(serve(&symbolic), format!("{path} is served by another groma already"));
    let hard = beside.join("hard.db");
    std::fs::hard_link(&path, &hard).unwrap();
    let refused = "has other names (hard links); SQLite needs a file with one";
    assert_eq!(serve(&hard), format!("{} {refused}", hard.display()));
    std::fs::remove_file(&hard).unwrap();
    office.get("/folders", &office.token(&["READ_FOLDER"])).ok();
    // By a symbolic link commands work as ever.
    let by_link = format!("sqlite:{}", symbolic.display());
    office.groma(&["workspace", "list", "--database", &by_link]).succeeds();
}

#[test]
fn it_listens_on_a_name() {
    let office = Office::start_with(Engine::Sqlite, &[("GROMA_SERVER__LISTEN", "localhost:0")]);
    office.main().ask("GET", &format!("{API}/openapi.json")).send().ok();
}

#[test]
fn two_programs_serve_one_postgresql_and_see_the_same() {
    let office = Office::start(Engine::Postgres);
    let second = office.another_program();
    let token = office.token(&["READ_FOLDER"]);
    office.import("folders", &many_folders(3));
    let path = format!("{API}/folders");
    let answer = second.main.ask("GET", &path).token(&token).send();
    assert_eq!(answer.ok()["total"], 3);
    assert_eq!(answer.body, office.get("/folders", &token).body);
    let tokens = office.groma(&["token", "list", "--json"]).json();
    office.groma(&["token", "revoke", tokens[0]["id"].as_str().unwrap()]).succeeds();
    for client in [office.main(), &second.main] {
        let refused = office::wait_until(Duration::from_secs(1), || {
            let answer = client.ask("GET", &path).token(&token).send();
            if answer.status == 200 { Err(answer.text()) } else { Ok(answer) }
        });
        refused.is_error(401, "Unknown or revoked token");
    }
}

#[test]
fn a_postgresql_that_is_gone_for_a_while_is_a_500_that_tells_nothing() {
    let office = Office::start_with(Engine::Postgres, &[NO_LIMIT]);
    office.import("folders", &many_folders(3));
    let token = office.token(&["READ_FOLDER"]);
    let before = office.get("/folders", &token).body;
    // As often as there are connections, and more: each is in use when the database goes.
    let read_often = || (0..20).for_each(|_| drop(office.get("/folders/F-000001", &token).ok()));
    read_often();
    office.without_database(|| {
        for path in ["/folders", "/folders/F-000001", "/statuses", "/folders?term=x"] {
            let begin = Instant::now();
            let full_path = format!("{API}{path}");
            let ask = office.main().ask("GET", &full_path).token(&token);
            let answer = ask.header("X-Request-Id", "while-it-is-gone").send();
            answer.is_error(500, "Internal server error");
            assert!(begin.elapsed() < Duration::from_secs(5), "{path}: {:?}", begin.elapsed());
            assert_eq!(answer.header("x-request-id"), Some("while-it-is-gone"));
            assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
        }
        office.main().ask("GET", &format!("{API}/folders")).send().error(401);
        office.main().ask("GET", &format!("{API}/openapi.json")).send().ok();
    });
    let log = office.program().log();
    assert!(log.contains(r#""request_id":"while-it-is-gone""#), "the cause is in the log: {log}");
    let back = office::wait_until(Duration::from_secs(10), || {
        let answer = office.get("/folders", &token);
        if answer.status == 200 { Ok(answer) } else { Err(answer.text()) }
    });
    assert_eq!(back.body, before);
    read_often();
    assert_eq!(office.groma(&["workspace", "list"]).code, Some(0));
}

#[test]
fn neither_tokens_nor_passwords_are_in_the_file() {
    let mut office = Office::start(Engine::Sqlite);
    let token = office.token(&["READ_FOLDER"]);
    office.get("/folders", &token).ok();
    assert_eq!(office.close(), Some(0));
    let mut files = 0;
    for file in std::fs::read_dir(office.folder()).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        for secret in
            [token.as_bytes(), &token.as_bytes()[4..], office::PASSWORD.trim_end().as_bytes()]
        {
            assert!(!bytes.windows(secret.len()).any(|window| window == secret));
        }
        files += 1;
    }
    assert!(files >= 1);
}

#[test]
fn a_database_that_cannot_be_reached_stops_the_start_with_one_line() {
    for url in
        ["postgres://nobody@127.0.0.1:1/none", "sqlite:/proc/none/groma.db", "mysql://x", "sqlite:"]
    {
        for command in ["serve", "check"] {
            let message = office::run(&[("GROMA_DATABASE__URL", url)], "", &[command]).fails();
            assert!(!message.is_empty(), "{url}");
        }
    }
}

#[test]
fn the_settings_file_stands_below_the_environment_and_that_below_the_flag() {
    let office = Office::closed(Engine::Sqlite, &[]);
    let at = |name: &str| format!("sqlite:{}", office.folder().join(name).display());
    office.file("groma.toml", format!("[database]\nurl = \"{}\"\n", at("file.db")));
    let environment = at("environment.db");
    let flag = at("flag.db");
    let config = office.folder().join("groma.toml");
    let config = config.to_str().unwrap();
    let create = ["workspace", "create", "One", "--owner", office::OWNER, "--config", config];
    office::run(&[], office::PASSWORD, &create).succeeds();
    assert!(office.folder().join("file.db").exists());
    let with_environment = [("GROMA_DATABASE__URL", environment.as_str())];
    office::run(&with_environment, office::PASSWORD, &create).succeeds();
    assert!(office.folder().join("environment.db").exists());
    assert!(!office.folder().join("flag.db").exists());
    let with_flag = [&create[..], &["--database", &flag]].concat();
    office::run(&with_environment, office::PASSWORD, &with_flag).succeeds();
    let with_environment = [with_environment[0], LISTEN[0], LISTEN[1]];
    let report = office::run(
        &with_environment,
        "",
        &["check", "--config", config, "--database", &flag, "--json"],
    )
    .json();
    assert_eq!(report["database"]["at"], flag.strip_prefix("sqlite:").unwrap());
    assert!(office.folder().join("flag.db").exists());
    office::run(&[], "", &["check", "--config", "/nowhere/groma.toml"]).fails();
}

#[test]
fn the_default_database_is_in_data() {
    let message = office::run(&[], "", &["check"]).fails();
    assert!(message.starts_with("there is no database at ./data/groma.db;"), "{message}");
}
