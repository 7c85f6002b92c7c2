//! A database of an earlier version: its rows and the responses of its API.

use super::{ENVIRONMENT, covers, execute, migrate, migrations};
use crate::{
    backup::copy, backup::populated::add_layers, backup::populated::add_records,
    backup::populated::add_sessions, backup::populated::add_webhooks, backup::populated::responses,
    backup::sqlite_path,
};
use groma_testkit::{Engine, Receiver, TestServer, postgres, receiver::Reply, server::WORKSPACE};
use rusqlite::Connection;
use serde_json::{Value, json};
use std::{
    fmt::Write,
    path::PathBuf,
    time::{SystemTime, UNIX_EPOCH},
};

pub(super) struct Fixture {
    version: i32,
    /// A token, a session cookie, an endpoint with its secret, and responses.
    recorded: Value,
}

impl Fixture {
    /// Reads the fixture of a version. Fails if there is none.
    pub(super) fn load(version: i32) -> Self {
        let file = folder().join(format!("V{version}.json"));
        if std::env::var_os("WRITE_UPGRADE_FIXTURE").is_some() {
            std::fs::create_dir_all(folder()).unwrap();
            // The tests of both engines need it; the first one writes it.
            let folder = std::fs::File::open(folder()).unwrap();
            folder.lock().unwrap();
            if !file.exists() {
                write(version);
            }
        }
        let text = std::fs::read_to_string(&file).unwrap_or_else(|error| {
            panic!(
                "migration V{version} has no fixture ({}: {error}); WRITE_UPGRADE_FIXTURE=1 writes it",
                file.display()
            )
        });
        Self { version, recorded: serde_json::from_str(&text).unwrap() }
    }

    /// Inserts the rows into a database of this version.
    pub(super) fn insert_rows(&self, server: &TestServer, engine: Engine) {
        let file = rows_file(engine, self.version);
        let rows = std::fs::read_to_string(&file)
            .unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        execute(server, engine, &format!("BEGIN;\n{rows}COMMIT;\n"));
        // The receivers no longer exist; nothing listens on this port.
        let redirect = "UPDATE webhook_endpoints SET url = 'http://127.0.0.1:9/'";
        execute(server, engine, redirect);
        // The session has expired since.
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis();
        let later = now + 86_400_000;
        let renew = format!(
            "UPDATE sessions SET created_at = {now}, last_seen_at = {now}, ends_at = {later}"
        );
        execute(server, engine, &renew);
    }

    pub(super) fn token(&self) -> &str {
        self.recorded["token"].as_str().unwrap()
    }

    pub(super) fn cookie(&self) -> &str {
        self.recorded["cookie"].as_str().unwrap()
    }

    /// The id of an endpoint, and its secret.
    pub(super) fn endpoint(&self) -> (&str, &str) {
        (self.recorded["endpoint"].as_str().unwrap(), self.recorded["secret"].as_str().unwrap())
    }

    /// Checks that the API responds with the same documents, and with the same tiles to the byte.
    #[track_caller]
    pub(super) fn assert_same_responses(&self, server: &TestServer) {
        let now = record(server, self.token());
        let then = self.recorded["responses"].as_object().unwrap();
        assert!(then.len() > 50, "{} responses", then.len());
        for (path, then) in then {
            assert!(covers(&now[path], then), "{path}: {} was {then}", now[path]);
        }
    }
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/upgrade")
}

fn rows_file(engine: Engine, version: i32) -> PathBuf {
    let name = if engine == Engine::Sqlite { "sqlite" } else { "postgres" };
    folder().join(format!("V{version}.{name}.sql"))
}

/// The response of every route: status, and document or tile.
fn record(server: &TestServer, token: &str) -> Value {
    let responses = responses(server, token).into_iter();
    let recorded = responses.map(|(path, status, body)| {
        let body = serde_json::from_slice(&body).unwrap_or_else(|_| {
            let hex: String = body.iter().map(|byte| format!("{byte:02x}")).collect();
            json!(hex)
        });
        (path, json!([status, body]))
    });
    Value::Object(recorded.collect())
}

/// Writes the fixture of the latest version, on PostgreSQL, and copies it to SQLite, so that both have the
/// same rows.
fn write(version: i32) {
    let mut server = TestServer::start_with(Engine::Postgres, &ENVIRONMENT);
    let token = server.create_full_token();
    let receiver = Receiver::with_handler(|_| Reply::status(500));
    let mut written = json!({ "token": token });
    add_records(&server, 5);
    add_layers(&server, 100);
    add_webhooks(&server, &receiver);
    let create = ["webhook", "create", "https://example.test/hook", "--json"];
    let endpoint = server.run(&[&create[..], &["--workspace", WORKSPACE]].concat()).json();
    written["endpoint"] = endpoint["id"].clone();
    written["secret"] = endpoint["secret"].clone();
    written["cookie"] = json!(add_sessions(&server));
    written["responses"] = record(&server, &token);
    assert_eq!(server.stop(), Some(0));
    let copied = TestServer::stopped(Engine::Sqlite, &ENVIRONMENT);
    copy(&server, &copied, &[]).expect_success();
    for engine in [Engine::Sqlite, Engine::Postgres] {
        if migrations(engine).iter().any(|migration| migration.version() == version) {
            let rows = match engine {
                Engine::Sqlite => sqlite_rows(&copied, &server, version),
                Engine::Postgres => postgres_rows(&server, version),
            };
            std::fs::write(rows_file(engine, version), rows).unwrap();
        }
    }
    std::fs::write(folder().join(format!("V{version}.json")), lines(&written)).unwrap();
}

/// A document with one response per line.
fn lines(written: &Value) -> String {
    let mut rest = written.clone();
    let responses = rest.as_object_mut().unwrap().remove("responses").unwrap();
    let responses = responses.as_object().unwrap().iter();
    let responses: Vec<_> =
        responses.map(|(path, response)| format!("{}:{response}", json!(path))).collect();
    let rest = rest.to_string();
    let rest = rest.strip_suffix('}').unwrap();
    format!("{rest},\n\"responses\":{{\n{}\n}}}}\n", responses.join(",\n"))
}

/// Tables that the database fills itself.
const DERIVED: &str = "'refinery_schema_history', 'spatial_ref_sys', 'database_identity', 'assignment_people', 'folder_tags'";

/// The rows of the tables and columns of a version.
fn postgres_rows(server: &TestServer, version: i32) -> String {
    let then = TestServer::unmigrated(Engine::Postgres, &[]);
    migrate(&then, Engine::Postgres, version);
    let columns = format!(
        "SELECT table_name || ' ' || string_agg(column_name, ', ' ORDER BY ordinal_position)
            FROM information_schema.columns WHERE table_schema = 'public' AND is_generated = 'NEVER'
            AND table_name IN (SELECT tablename FROM pg_tables) AND table_name NOT IN ({DERIVED})
            GROUP BY table_name ORDER BY table_name"
    );
    let mut rows = String::new();
    for table in postgres::query_texts(then.database_url(), &columns).unwrap() {
        let (table, columns) = table.split_once(' ').unwrap();
        let values: Vec<_> =
            columns.split(", ").map(|name| format!("quote_nullable({name}::text)")).collect();
        let insert = format!("INSERT INTO {table} ({columns}) OVERRIDING SYSTEM VALUE VALUES (");
        let query = format!(
            "SELECT '{insert}' || concat_ws(', ', {}) || ');' FROM {table} ORDER BY 1",
            values.join(", ")
        );
        for row in postgres::query_texts(server.database_url(), &query).unwrap() {
            writeln!(rows, "{row}").unwrap();
        }
    }
    let sequences = postgres::query_texts(
        then.database_url(),
        "SELECT sequencename::text FROM pg_sequences ORDER BY 1",
    )
    .unwrap();
    for sequence in sequences {
        let last = format!(
            "SELECT coalesce(last_value, 0)::text FROM pg_sequences WHERE sequencename = '{sequence}'"
        );
        let last = postgres::query_texts(server.database_url(), &last).unwrap().remove(0);
        if last != "0" {
            writeln!(rows, "SELECT setval('{sequence}', {last});").unwrap();
        }
    }
    rows
}

fn sqlite_rows(server: &TestServer, original: &TestServer, version: i32) -> String {
    let then = TestServer::unmigrated(Engine::Sqlite, &[]);
    migrate(&then, Engine::Sqlite, version);
    let texts = |server: &TestServer, query: &str| -> Vec<String> {
        let connection = Connection::open(sqlite_path(server)).unwrap();
        let mut statement = connection.prepare(query).unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    let tables = format!(
        "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table'
            AND name NOT LIKE 'sqlite_%' AND name NOT IN ({DERIVED}) ORDER BY name"
    );
    let mut rows = String::new();
    for table in texts(&then, &tables) {
        let columns = format!("SELECT name FROM pragma_table_xinfo('{table}') WHERE hidden = 0");
        let columns = texts(&then, &columns);
        let values: Vec<_> = columns.iter().map(|name| format!("quote({name})")).collect();
        let query = format!(
            "SELECT 'INSERT INTO {table} ({}) VALUES (' || {} || ');' AS row FROM {table} ORDER BY row",
            columns.join(", "),
            values.join(" || ', ' || ")
        );
        for row in texts(server, &query) {
            writeln!(rows, "{row}").unwrap();
        }
    }
    // The full-text index has no texts to read; PostgreSQL has the same ones.
    for kind in ["folders", "assignments", "expenses", "budgets"] {
        let query = format!(
            "SELECT 'INSERT INTO {kind}_search (rowid, text) VALUES (' || (w.no << 40 | r.position) || ', '
                || '''' || replace(r.search, '''', '''''') || '''' || ' || char({separator}, {separator}));'
             FROM {kind} r JOIN workspaces w ON w.id = r.workspace_id ORDER BY 1",
            separator = u32::from(groma_domain::text::FIELD_SEPARATOR)
        );
        for row in postgres::query_texts(original.database_url(), &query).unwrap() {
            writeln!(rows, "{row}").unwrap();
        }
    }
    rows
}
