//! The program as a server, on a database of its own.

mod process;

pub use process::{ExitCode, START_TIMEOUT, ServerProcess};

use crate::{API, Client, CommandOutput, Database, Engine, Program, Response, wait};
use serde_json::Value;
use std::{
    path::{Path, PathBuf},
    time::Duration,
};
use tempfile::TempDir;

/// The workspace of every [`TestServer`].
pub const WORKSPACE: &str = "Cadastre";
/// The email address of the workspace's owner.
pub const OWNER: &str = "owner@example.test";
/// The owner's password, with the line break that ends it on standard input.
pub const PASSWORD: &str = "a password for tests\n";

/// All scopes.
pub const SCOPES: [&str; 11] = [
    "READ_FOLDER",
    "READ_ASSIGNMENT",
    "READ_EXPENSE",
    "READ_BUDGET",
    "READ_MEMBER",
    "WRITE_FOLDER",
    "WRITE_ASSIGNMENT",
    "WRITE_EXPENSE",
    "WRITE_BUDGET",
    "MANAGE_STATUS",
    "MANAGE_WEBHOOK",
];

/// The setting of the rate limit.
pub const RATE_LIMIT: &str = "GROMA_LIMITS__REQUESTS_PER_MINUTE";
/// Turns the rate limit off.
pub const NO_RATE_LIMIT: (&str, &str) = (RATE_LIMIT, "0");
/// Serves metrics and health checks on a free port.
pub const ADMIN_LISTENER: (&str, &str) = ("GROMA_SERVER__ADMIN_LISTEN", "127.0.0.1:0");
/// Serves the API on free ports.
pub const LISTENERS: [(&str, &str); 2] =
    [("GROMA_SERVER__LISTEN", "127.0.0.1:0"), ("GROMA_SERVER__GEO_LISTEN", "127.0.0.1:0")];
/// Allows webhooks to receivers on this machine.
pub const LOCAL_WEBHOOKS: [(&str, &str); 2] =
    [("GROMA_WEBHOOKS__ALLOW_HTTP", "true"), ("GROMA_WEBHOOKS__ALLOW_NETWORKS", "127.0.0.1/32")];

/// A database with a workspace, and the program that serves it.
pub struct TestServer {
    // Dropped in this order: the process, then its database, then the directory.
    process: Option<ServerProcess>,
    database: Database,
    directory: TempDir,
    program: Program,
}

impl TestServer {
    /// Starts the program with default settings on a new database with one workspace.
    pub fn start(engine: Engine) -> Self {
        Self::start_with(engine, &[])
    }

    /// Starts the program with these environment variables.
    pub fn start_with(engine: Engine, environment: &[(&str, &str)]) -> Self {
        let mut server = Self::stopped(engine, environment);
        server.create_workspace(WORKSPACE);
        server.serve();
        server
    }

    /// A migrated database without a workspace, and no process.
    pub fn stopped(engine: Engine, environment: &[(&str, &str)]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let database = Database::new(engine, directory.path());
        Self::with_database(database, directory, environment)
    }

    /// A database without migrations, and no process.
    pub fn unmigrated(engine: Engine, environment: &[(&str, &str)]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let database = Database::unmigrated(engine, directory.path());
        Self::with_database(database, directory, environment)
    }

    /// A database without migrations whose SQLite file is in `data`, and no process.
    pub fn unmigrated_in(
        engine: Engine,
        directory: TempDir,
        data: &Path,
        environment: &[(&str, &str)],
    ) -> Self {
        let database = Database::unmigrated(engine, data);
        Self::with_database(database, directory, environment)
    }

    fn with_database(database: Database, directory: TempDir, environment: &[(&str, &str)]) -> Self {
        let program = Program::built()
            .directory(directory.path())
            .env("GROMA_DATABASE__URL", database.url())
            .envs(&LISTENERS)
            .envs(environment);
        Self { process: None, database, directory, program }
    }

    /// Starts the process.
    pub fn serve(&mut self) {
        self.process = Some(self.start_replica());
    }

    /// Starts the process with additional environment variables.
    pub fn serve_with(&mut self, environment: &[(&str, &str)]) {
        let program = self.program.clone().envs(environment);
        self.process = Some(start(&program, &["serve"]));
    }

    /// Starts the process with `--demo`, and returns the token that it prints.
    pub fn serve_demo(&mut self) -> String {
        let command = self.program.command(&["serve", "--demo"]);
        let process = ServerProcess::start(command, Duration::from_secs(600)).unwrap();
        let token = wait::wait_until(wait::PATIENCE, || {
            let stdout = process.stdout();
            let rest = stdout.split_once("Bearer ").map(|(_, rest)| rest.to_owned());
            let end = |rest: &str| rest.find(['\'', '"', ' ', '\n']);
            let token = rest.and_then(|rest| Some(rest[..end(&rest)?].to_owned()));
            token.ok_or_else(|| format!("no token in {stdout}"))
        });
        self.process = Some(process);
        token
    }

    /// Sets an environment variable for the next process.
    pub fn set_env(&mut self, name: &str, value: &str) {
        self.program.set_env(name, value);
    }

    /// Stops the process with SIGTERM and returns its exit code.
    pub fn stop(&mut self) -> ExitCode {
        self.take_process().terminate()
    }

    /// Kills the process.
    pub fn kill(&mut self) {
        drop(self.take_process());
    }

    /// The process, for a test that stops it in another way.
    pub fn take_process(&mut self) -> ServerProcess {
        self.process.take().expect("a running process")
    }

    /// Starts another process on the same database.
    pub fn start_replica(&self) -> ServerProcess {
        start(&self.program, &["serve"])
    }

    /// Starts another process on the same database, with some roles only.
    pub fn start_replica_with_roles(&self, roles: &str) -> ServerProcess {
        start(&self.program, &["serve", "--roles", roles])
    }

    /// The running process.
    pub fn process(&self) -> &ServerProcess {
        self.process.as_ref().expect("a running process")
    }

    /// A client of the main address.
    pub fn main(&self) -> &Client {
        self.process().main()
    }

    /// A client of the admin address.
    pub fn admin(&self) -> &Client {
        self.process().admin()
    }

    /// A client of the geo address.
    pub fn geo(&self) -> &Client {
        self.process().geo()
    }

    /// Sends a GET to the main API; `path` is the part after `/api/public/v1`.
    #[track_caller]
    pub fn get(&self, path: &str, token: &str) -> Response {
        self.main().request("GET", &format!("{API}{path}")).token(token).send()
    }

    /// Repeats a GET until the response meets a condition.
    #[track_caller]
    pub fn get_until(
        &self,
        path: &str,
        token: &str,
        condition: impl Fn(&Response) -> bool,
    ) -> Response {
        wait::wait_until(wait::PATIENCE, || {
            let response = self.get(path, token);
            if condition(&response) {
                Ok(response)
            } else {
                Err(format!("{path}: {}", response.text()))
            }
        })
    }

    /// The temporary directory of this server, which is the program's working directory.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Writes a file into the server's directory.
    pub fn write_file(&self, name: &str, contents: impl AsRef<[u8]>) -> PathBuf {
        let path = self.directory().join(name);
        std::fs::write(&path, contents).unwrap();
        path
    }

    /// The URL of the database.
    pub fn database_url(&self) -> &str {
        self.database.url()
    }

    /// Makes the database unreachable while `work` runs.
    pub fn without_database<T>(&self, work: impl FnOnce() -> T) -> T {
        self.database.while_unreachable(work)
    }

    /// The program with this server's environment.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Runs a command to completion.
    pub fn run(&self, arguments: &[&str]) -> CommandOutput {
        self.program.run(arguments)
    }

    /// Runs a command to completion with this standard input.
    pub fn run_with_input(&self, input: &str, arguments: &[&str]) -> CommandOutput {
        self.program.run_with_input(input, arguments)
    }

    /// Creates a workspace of the owner.
    pub fn create_workspace(&self, name: &str) -> String {
        let create = ["workspace", "create", name, "--owner", OWNER];
        self.run_with_input(PASSWORD, &create).expect_success()
    }

    /// Creates a token of the owner.
    pub fn create_token(&self, scopes: &[&str]) -> String {
        self.create_token_in(WORKSPACE, scopes)
    }

    /// Creates a token of the owner in another workspace.
    pub fn create_token_in(&self, workspace: &str, scopes: &[&str]) -> String {
        self.create_token_for(workspace, OWNER, scopes)
    }

    /// Creates a token of another member.
    pub fn create_token_for(&self, workspace: &str, user: &str, scopes: &[&str]) -> String {
        let scopes = scopes.join(",");
        let create = ["token", "create", "--workspace", workspace, "--user", user];
        let create = [&create[..], &["--name", "test", "--scopes", &scopes]].concat();
        self.run(&create).expect_success()
    }

    /// Creates a token of the owner with all scopes.
    pub fn create_full_token(&self) -> String {
        self.create_token(&SCOPES)
    }

    /// Imports rows, which must all be valid, and returns the report.
    #[track_caller]
    pub fn import(&self, kind: &str, rows: &[Value]) -> Value {
        self.import_into(WORKSPACE, kind, rows)
    }

    /// Imports rows into another workspace.
    #[track_caller]
    pub fn import_into(&self, workspace: &str, kind: &str, rows: &[Value]) -> Value {
        let output = self.try_import_into(workspace, kind, rows);
        serde_json::from_str(&output.expect_success()).unwrap()
    }

    /// Imports rows, which may be invalid.
    pub fn try_import(&self, kind: &str, rows: &[Value]) -> CommandOutput {
        self.try_import_into(WORKSPACE, kind, rows)
    }

    /// Imports rows, which may be invalid, into another workspace.
    pub fn try_import_into(&self, workspace: &str, kind: &str, rows: &[Value]) -> CommandOutput {
        let lines: String = rows.iter().map(|row| format!("{row}\n")).collect();
        self.write_file("rows.ndjson", lines);
        self.run(&["import", kind, "rows.ndjson", "--workspace", workspace, "--json"])
    }

    /// Imports a file with these contents; the extension of its name is its format.
    pub fn import_file(
        &self,
        kind: &str,
        name: &str,
        contents: impl AsRef<[u8]>,
        options: &[&str],
    ) -> CommandOutput {
        self.write_file(name, contents);
        let import = ["import", kind, name, "--workspace", WORKSPACE, "--json"];
        self.run(&[&import[..], options].concat())
    }
}

#[track_caller]
fn start(program: &Program, arguments: &[&str]) -> ServerProcess {
    ServerProcess::start(program.command(arguments), START_TIMEOUT)
        .unwrap_or_else(|error| panic!("{error}"))
}
