//! Databases of earlier versions are migrated and return the same data.
//!
//! For each migration, `tests/upgrade` has the rows that the program wrote at that version, as SQL for
//! each engine, and the responses of its API. These files do not change. A new migration needs its own;
//! `WRITE_UPGRADE_FIXTURE=1 scripts/with-postgres cargo test -p groma upgrade` writes it.

mod fixture;

use crate::{backup::sqlite_path, on_both_engines, web::Browser};
use fixture::Fixture;
use groma_testkit::{API, Engine, Receiver, TestServer, postgres, wait_until};
use hmac::{Hmac, KeyInit, Mac};
use refinery::{Migration, Runner, Target};
use serde_json::{Value, json};
use sha2::Sha256;
use std::{path::PathBuf, time::Duration};

/// URLs in responses do not depend on the port.
const ENVIRONMENT: [(&str, &str); 9] = [
    ("GROMA_WEBHOOKS__ALLOW_HTTP", "true"),
    ("GROMA_WEBHOOKS__ALLOW_NETWORKS", "127.0.0.1/32"),
    ("GROMA_SERVER__PUBLIC_URL", "http://main.example.test"),
    ("GROMA_SERVER__GEO_PUBLIC_URL", "http://geo.example.test"),
    // High enough never to be reached.
    ("GROMA_LIMITS__REQUESTS_PER_MINUTE", "100000"),
    // Nothing listens there, so mails wait.
    ("GROMA_SMTP__HOST", "127.0.0.1"),
    ("GROMA_SMTP__PORT", "1"),
    ("GROMA_SMTP__ENCRYPTION", "none"),
    ("GROMA_SMTP__FROM", "groma@example.test"),
];

on_both_engines! {
    fn databases_of_all_versions_are_migrated(engine: Engine) {
        for migration in migrations(engine) {
            let version = migration.version();
            let fixture = Fixture::load(version);
            println!("from {migration}");
            // Without a mail server that `groma check` could not reach.
            let is_mail = |(name, _): &(&str, &str)| name.starts_with("GROMA_SMTP");
            let environment: Vec<_> =
                ENVIRONMENT.into_iter().filter(|setting| !is_mail(setting)).collect();
            let mut server = TestServer::unmigrated(engine, &environment);
            migrate(&server, engine, version);
            fixture.insert_rows(&server, engine);
            let check = server.run(&["check"]);
            let is_latest = migrations(engine).last() == Some(&migration);
            if is_latest {
                check.expect_success();
            } else {
                let message = check.expect_failure();
                assert!(message.starts_with("migrations are pending: "), "{message}");
            }
            server.serve();
            let log = server.process().log();
            assert_eq!(log.contains("migrating the database"), !is_latest, "{log}");
            server.run(&["check"]).expect_success();
            assert_integrity(&server, engine);
            fixture.assert_same_responses(&server);
            assert_writable(&server, &fixture);
            assert_secret_is_kept(&server, &fixture);
            assert_session_is_kept(&server, &fixture);
            assert_eq!(server.stop(), Some(0));
        }
    }

    fn database_of_a_newer_program_is_rejected(engine: Engine) {
        let server = TestServer::stopped(engine, &ENVIRONMENT);
        server.create_workspace("One");
        let newer = "INSERT INTO refinery_schema_history (version, name, applied_on, checksum)
            VALUES (99, 'tomorrow', '2030-01-01T00:00:00Z', '1')";
        execute(&server, engine, newer);
        for command in [&["serve"][..], &["workspace", "list"]] {
            let message = server.run(command).expect_failure();
            assert!(message.contains("V99__tomorrow"), "{message}");
        }
    }
}

/// The migrations of an engine, in order.
fn migrations(engine: Engine) -> Vec<Migration> {
    let name = if engine == Engine::Sqlite { "sqlite" } else { "postgres" };
    let folder =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../groma-store/migrations").join(name);
    let mut migrations = refinery::load_sql_migrations(folder).unwrap();
    migrations.sort_by_key(Migration::version);
    migrations
}

/// Runs the migrations up to a version.
fn migrate(server: &TestServer, engine: Engine, version: i32) {
    let runner = Runner::new(&migrations(engine)).set_target(Target::Version(version));
    match engine {
        Engine::Sqlite => {
            let mut connection = rusqlite::Connection::open(sqlite_path(server)).unwrap();
            connection.pragma_update(None, "journal_mode", "WAL").unwrap();
            runner.run(&mut connection).unwrap();
        }
        Engine::Postgres => {
            let runtime = tokio::runtime::Runtime::new().unwrap();
            runtime.block_on(async {
                let mut client = postgres::connect(server.database_url()).await.unwrap();
                runner.run_async(&mut client).await.unwrap();
            });
        }
    }
}

fn execute(server: &TestServer, engine: Engine, statements: &str) {
    match engine {
        Engine::Sqlite => {
            let connection = rusqlite::Connection::open(sqlite_path(server)).unwrap();
            connection.busy_timeout(Duration::from_secs(10)).unwrap();
            connection.execute_batch(statements).unwrap();
        }
        Engine::Postgres => postgres::execute(server.database_url(), statements).unwrap(),
    }
}

fn assert_integrity(server: &TestServer, engine: Engine) {
    if engine == Engine::Sqlite {
        let connection = rusqlite::Connection::open(sqlite_path(server)).unwrap();
        let result: String =
            connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
        assert_eq!(result, "ok");
    }
}

/// Checks that records can be created, updated and found, and features created.
fn assert_writable(server: &TestServer, fixture: &Fixture) {
    let token = fixture.token();
    let total = server.get("/folders", token).ok()["total"].as_u64().unwrap();
    let row = |name: &str| json!({ "reference": "AFTER", "name": name });
    server.import("folders", &[row("After the upgrade")]);
    server.import("folders", &[row("Ünlike before")]);
    let found = server.get("/folders?term=unlike", token);
    assert_eq!(found.column("reference"), ["AFTER"]);
    assert_eq!(server.get("/folders", token).ok()["total"], total + 1);
    let point = json!({ "type": "Point", "coordinates": [2.0, 48.0] }).to_string();
    let post = format!("{API}/geometries/geojson");
    let request = server.geo().request("POST", &post).token(token).body(point);
    request.header("Content-Type", "application/geo+json").send().ok();
}

/// Checks that deliveries are signed with the secret of the earlier version.
fn assert_secret_is_kept(server: &TestServer, fixture: &Fixture) {
    let receiver = Receiver::start();
    let (endpoint, secret) = fixture.endpoint();
    let url = receiver.url("/upgraded");
    server.run(&["webhook", "update", endpoint, "--url", &url]).expect_success();
    server.run(&["webhook", "test", endpoint]).expect_success();
    let requests = receiver.wait_until("the test", |requests| {
        requests.iter().any(|request| request.header("x-service-test") == Some("true"))
    });
    let request =
        requests.iter().find(|request| request.header("x-service-test").is_some()).unwrap();
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(&request.body);
    let digest: String =
        mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(request.header("x-service-signature"), Some(format!("sha256={digest}").as_str()));
}

/// Checks that a user stays logged in.
fn assert_session_is_kept(server: &TestServer, fixture: &Fixture) {
    let browser = Browser::new(server.main());
    browser.set_cookie("groma", fixture.cookie());
    wait_until(Duration::from_secs(5), || match browser.get("/folders").response.status {
        200 => Ok(()),
        status => Err(format!("status {status}")),
    });
}

/// Whether `now` has everything that `then` has; objects may have more fields.
fn covers(now: &Value, then: &Value) -> bool {
    match (now, then) {
        (Value::Object(now), Value::Object(then)) => {
            then.iter().all(|(name, then)| now.get(name).is_some_and(|now| covers(now, then)))
        }
        (Value::Array(now), Value::Array(then)) => {
            now.len() == then.len() && now.iter().zip(then).all(|(now, then)| covers(now, then))
        }
        _ => now == then,
    }
}
