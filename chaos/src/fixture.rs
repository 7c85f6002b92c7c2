//! A workspace on either engine that a scenario can break, and checks of its database.

use crate::Result;
use groma_testkit::{
    Engine, ServerProcess, TestServer, postgres,
    server::{ADMIN_LISTENER, LOCAL_WEBHOOKS, NO_RATE_LIMIT, OWNER, START_TIMEOUT, WORKSPACE},
};
use serde_json::{Value, json};
use std::{
    ops::{Deref, DerefMut},
    path::{Path, PathBuf},
};
use tempfile::TempDir;

/// The number of folders, each with its own writer.
pub(crate) const FOLDERS: usize = 6;

/// A database, its workspace and a token with all scopes. Processes are started by [`Fixture::serve`].
pub(crate) struct Fixture {
    server: TestServer,
    engine: Engine,
    token: String,
}

impl Fixture {
    /// A workspace with folders.
    pub(crate) fn new(engine: Engine) -> Self {
        let mut fixture = Self::empty(engine);
        fixture.populate();
        fixture
    }

    /// A workspace with folders, whose SQLite file is in `data`.
    pub(crate) fn new_in(engine: Engine, directory: TempDir, data: &Path) -> Self {
        let mut fixture = Self::empty_in(engine, directory, data);
        fixture.populate();
        fixture
    }

    /// A database without migrations.
    pub(crate) fn empty(engine: Engine) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let data = directory.path().to_owned();
        Self::empty_in(engine, directory, &data)
    }

    fn empty_in(engine: Engine, directory: TempDir, data: &Path) -> Self {
        let settings = [&LOCAL_WEBHOOKS[..], &[ADMIN_LISTENER, NO_RATE_LIMIT]].concat();
        let server = TestServer::unmigrated_in(engine, directory, data, &settings);
        Self { server, engine, token: String::new() }
    }

    /// Creates the workspace, its folders and the token.
    pub(crate) fn populate(&mut self) {
        self.server.create_workspace(WORKSPACE);
        let folder = |n| json!({ "reference": format!("F{n}"), "name": "x" });
        self.server.import("folders", &(0..FOLDERS).map(folder).collect::<Vec<_>>());
        self.token = self.server.create_full_token();
    }

    pub(crate) fn engine(&self) -> Engine {
        self.engine
    }

    /// The token with all scopes.
    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    /// Creates a token of its own, which has its own rate window.
    pub(crate) fn new_token(&self) -> String {
        self.server.create_full_token()
    }

    /// Revokes the token that was created last.
    pub(crate) fn revoke_newest_token(&self) -> Result {
        let listed: Vec<Value> =
            serde_json::from_str(&self.run_in_workspace(&["token", "list", "--json"])?)?;
        let id = |token: &Value| token["id"].as_str().map(str::to_owned);
        // Ids are in the order of creation.
        let newest = listed.iter().filter_map(id).max().ok_or("no token")?;
        self.run(&["token", "revoke", &newest]).into_result().map(drop)
    }

    /// Creates an endpoint for changes of folders and returns its id.
    pub(crate) fn create_endpoint(&self, url: &str) -> Result<String> {
        let create = ["webhook", "create", url, "--events", "folder.updated", "--json"];
        let created = self.run_in_workspace(&create)?;
        let created: Value = serde_json::from_str(&created)?;
        Ok(created["id"].as_str().ok_or("no id")?.to_owned())
    }

    /// The deliveries of an endpoint.
    pub(crate) fn deliveries(&self, endpoint: &str) -> Result<Vec<Value>> {
        let list = ["webhook", "deliveries", endpoint, "--limit", "10000", "--json"];
        Ok(serde_json::from_str(&self.run_in_workspace(&list)?)?)
    }

    /// Runs a command with `--workspace`.
    pub(crate) fn run_in_workspace(&self, arguments: &[&str]) -> Result<String> {
        let arguments = [arguments, &["--workspace", WORKSPACE]].concat();
        self.server.run(&arguments).into_result()
    }

    /// Changes the owner's password.
    pub(crate) fn set_password(&self, password: &str) {
        let input = format!("{password}\n");
        self.server.run_with_input(&input, &["user", "password", OWNER]).expect_success();
    }

    /// Starts a process.
    pub(crate) async fn serve(&self) -> Result<ServerProcess> {
        self.serve_with(&[]).await
    }

    /// Starts a process with additional environment variables.
    pub(crate) async fn serve_with(&self, environment: &[(&str, &str)]) -> Result<ServerProcess> {
        let command = self.server.program().clone().envs(environment).command(&["serve"]);
        tokio::task::spawn_blocking(|| ServerProcess::start(command, START_TIMEOUT)).await?
    }

    /// Checks what a killed process left behind. This works on a copy, because opening a SQLite database
    /// recovers it, and the next process has to do that. PostgreSQL itself was not killed.
    pub(crate) fn check_killed(&self) -> Result {
        let Some(path) = self.database_url().strip_prefix("sqlite:") else { return Ok(()) };
        let copy = self.directory().join("copy.db");
        std::fs::copy(path, &copy)?;
        let wal = |path: &Path| PathBuf::from(format!("{}-wal", path.display()));
        std::fs::copy(wal(Path::new(path)), wal(&copy))?;
        check_sqlite(&copy)
    }

    /// Checks the integrity of the database with the engine's own tools.
    pub(crate) fn check_database(&self) -> Result {
        match self.engine {
            Engine::Sqlite => {
                check_sqlite(Path::new(self.database_url().trim_start_matches("sqlite:")))
            }
            Engine::Postgres => check_postgres(self.database_url()),
        }
    }
}

impl Deref for Fixture {
    type Target = TestServer;

    fn deref(&self) -> &TestServer {
        &self.server
    }
}

impl DerefMut for Fixture {
    fn deref_mut(&mut self) -> &mut TestServer {
        &mut self.server
    }
}

fn check_sqlite(path: &Path) -> Result {
    let connection = rusqlite::Connection::open(path)?;
    let outcome: String = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0))?;
    if outcome != "ok" {
        return Err(format!("the database is damaged: {outcome}").into());
    }
    let has_orphans = connection.prepare("PRAGMA foreign_key_check")?.exists([])?;
    if has_orphans { Err("a foreign key refers to a missing row".into()) } else { Ok(()) }
}

/// Checks that the indexes agree with their tables and that all tables can be read.
fn check_postgres(url: &str) -> Result {
    postgres::execute(url, "CREATE EXTENSION IF NOT EXISTS amcheck")?;
    let indexes = "SELECT bt_index_check(i.indexrelid, true) FROM pg_index i
        JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am a ON a.oid = c.relam
        JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE a.amname = 'btree' AND n.nspname = 'public' AND i.indisvalid";
    postgres::execute(url, indexes)?;
    let damage = "SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace,
        LATERAL verify_heapam(c.oid) WHERE c.relkind = 'r' AND n.nspname = 'public'";
    match postgres::query_number(url, damage)? {
        0 => Ok(()),
        count => Err(format!("the database is damaged in {count} places").into()),
    }
}
