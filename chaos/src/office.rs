//! An office to break: a database of its own on either engine, and the real program on it.

use crate::{Outcome, ledger::FOLDERS, wait_until};
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::{
    fmt,
    io::{BufRead, BufReader, Read, Write},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Arc, mpsc},
    thread,
    time::{Duration, Instant},
};
use tempfile::TempDir;
use tokio_postgres::NoTls;

const WORKSPACE: &str = "Cadastre";
pub(crate) const OWNER: &str = "owner@example.test";
pub(crate) const PASSWORD: &str = "a password for one test";
const SCOPES: &str = "READ_FOLDER,READ_ASSIGNMENT,READ_EXPENSE,READ_BUDGET,MANAGE_WEBHOOK";
/// How many may be asked in a minute.
pub(crate) const RATE: &str = "GROMA_LIMITS__REQUESTS_PER_MINUTE";

/// How long a start may take, with all migrations on a busy machine.
const START: Duration = Duration::from_secs(60);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Engine {
    Sqlite,
    Postgres,
}

impl Engine {
    pub(crate) const BOTH: [Self; 2] = [Self::Sqlite, Self::Postgres];
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sqlite => "SQLite",
            Self::Postgres => "PostgreSQL",
        })
    }
}

pub(crate) struct Office {
    engine: Engine,
    folder: TempDir,
    database: String,
    /// Its name on the PostgreSQL server.
    name: Option<String>,
    settings: Vec<(String, String)>,
    token: String,
}

impl Office {
    /// A workspace with folders and a token that may all.
    pub(crate) async fn open(engine: Engine) -> Outcome<Self> {
        let folder = tempfile::tempdir()?;
        let data = folder.path().to_owned();
        Self::open_in(engine, folder, &data).await
    }

    /// The same; on SQLite its file is in `data`.
    pub(crate) async fn open_in(engine: Engine, folder: TempDir, data: &Path) -> Outcome<Self> {
        let mut office = Self::empty_in(engine, folder, data).await?;
        office.found()?;
        Ok(office)
    }

    /// A database with nothing in it.
    pub(crate) async fn empty(engine: Engine) -> Outcome<Self> {
        let folder = tempfile::tempdir()?;
        let data = folder.path().to_owned();
        Self::empty_in(engine, folder, &data).await
    }

    async fn empty_in(engine: Engine, folder: TempDir, data: &Path) -> Outcome<Self> {
        let (database, name) = match engine {
            Engine::Sqlite => (format!("sqlite:{}", data.join("groma.db").display()), None),
            Engine::Postgres => {
                let name = format!("chaos_{}", uuid::Uuid::now_v7().simple());
                query(&server()?, &format!("CREATE DATABASE {name}")).await?;
                (address_of(&name)?, Some(name))
            }
        };
        let settings = [
            ("GROMA_SERVER__LISTEN", "127.0.0.1:0"),
            ("GROMA_SERVER__GEO_LISTEN", "127.0.0.1:0"),
            ("GROMA_SERVER__ADMIN_LISTEN", "127.0.0.1:0"),
            ("GROMA_WEBHOOKS__ALLOW_HTTP", "true"),
            ("GROMA_WEBHOOKS__ALLOW_NETWORKS", "127.0.0.1/32"),
            (RATE, "0"),
        ];
        let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let (settings, token) = (settings.to_vec(), String::new());
        Ok(Self { engine, folder, database, name, settings, token })
    }

    /// Makes the workspace, its folders and the token.
    pub(crate) fn found(&mut self) -> Outcome {
        let create = ["workspace", "create", WORKSPACE, "--owner", OWNER];
        self.groma_with(&format!("{PASSWORD}\n"), &create)?;
        let folders = (0..FOLDERS).map(|n| json!({ "reference": format!("F{n}"), "name": "x" }));
        self.import(folders)?;
        self.token = self.new_token()?;
        Ok(())
    }

    pub(crate) fn engine(&self) -> Engine {
        self.engine
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn database(&self) -> &str {
        &self.database
    }

    /// Reaches its database by another address from now on.
    pub(crate) fn set_database(&mut self, database: String) {
        self.database = database;
    }

    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.settings.retain(|(known, _)| known != name);
        self.settings.push((name.to_owned(), value.to_owned()));
    }

    /// The token that may all.
    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    pub(crate) fn new_token(&self) -> Outcome<String> {
        let create = ["token", "create", "--user", OWNER, "--name", "chaos", "--scopes", SCOPES];
        self.groma(&[&create[..], &["--workspace", WORKSPACE]].concat())
    }

    /// Makes an endpoint for changes of folders; gives its id.
    pub(crate) fn endpoint(&self, url: &str) -> Outcome<String> {
        let create = ["webhook", "create", url, "--events", "folder.updated", "--json"];
        let made = self.groma(&[&create[..], &["--workspace", WORKSPACE]].concat())?;
        let made: Value = serde_json::from_str(&made)?;
        Ok(made["id"].as_str().ok_or("no id")?.to_owned())
    }

    /// The deliveries of an endpoint.
    pub(crate) fn deliveries(&self, endpoint: &str) -> Outcome<Vec<Value>> {
        let list = ["webhook", "deliveries", endpoint, "--limit", "10000", "--json"];
        let listed = self.groma(&[&list[..], &["--workspace", WORKSPACE]].concat())?;
        Ok(serde_json::from_str(&listed)?)
    }

    /// Imports folders.
    pub(crate) fn import(&self, rows: impl Iterator<Item = Value>) -> Outcome {
        let file = self.folder().join("rows.ndjson");
        std::fs::write(&file, rows.map(|row| format!("{row}\n")).collect::<String>())?;
        let file = file.to_str().ok_or("a name")?;
        self.groma(&["import", "folders", file, "--workspace", WORKSPACE]).map(drop)
    }

    /// Runs a command to its end; gives what it printed.
    pub(crate) fn groma(&self, arguments: &[&str]) -> Outcome<String> {
        self.groma_with("", arguments)
    }

    pub(crate) fn groma_with(&self, input: &str, arguments: &[&str]) -> Outcome<String> {
        let mut command = self.command(&[]);
        command.args(arguments);
        if matches!(arguments.first(), Some(&("export" | "layer"))) {
            command.args(["--workspace", WORKSPACE]);
        }
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        // One that asks for nothing may have ended before.
        let _ = child.stdin.take().map(|mut stdin| stdin.write_all(input.as_bytes()));
        let done = child.wait_with_output()?;
        if !done.status.success() {
            return Err(String::from_utf8_lossy(&done.stderr).trim().into());
        }
        Ok(String::from_utf8(done.stdout)?.trim_end().to_owned())
    }

    /// The program with nothing of this environment but what it needs to run; `before` is a program
    /// that starts it.
    fn command(&self, before: &[&str]) -> Command {
        let mut command = match before.split_first() {
            Some((first, rest)) => {
                let mut command = Command::new(first);
                command.args(rest).arg(program());
                command
            }
            None => Command::new(program()),
        };
        command.env_clear().current_dir(self.folder()).env("GROMA_DATABASE__URL", &self.database);
        if let Some(path) = std::env::var_os("PATH") {
            command.env("PATH", path);
        }
        command.envs(self.settings.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Starts serving.
    pub(crate) async fn serve(&self) -> Outcome<Program> {
        self.serve_with(&[]).await
    }

    /// The same, with more in its environment.
    pub(crate) async fn serve_with(&self, environment: &[(&str, &str)]) -> Outcome<Program> {
        let mut command = self.command(&[]);
        command.arg("serve").envs(environment.iter().copied());
        Program::start(command).await
    }

    /// Checks what a program that was killed has left, on a copy: whoever opens a SQLite database mends
    /// it, and that is for the next program to do. PostgreSQL's server was not killed.
    pub(crate) fn check_killed(&self) -> Outcome {
        let Some(path) = self.database.strip_prefix("sqlite:") else { return Ok(()) };
        let copy = self.folder().join("copy.db");
        std::fs::copy(path, &copy)?;
        let beside = |path: &Path| PathBuf::from(format!("{}-wal", path.display()));
        std::fs::copy(beside(Path::new(path)), beside(&copy))?;
        check_sqlite(copy.to_str().ok_or("a name")?)
    }

    /// Checks that the database is whole, by its own means.
    pub(crate) async fn check_database(&self) -> Outcome {
        match self.engine {
            Engine::Sqlite => check_sqlite(self.database.trim_start_matches("sqlite:")),
            Engine::Postgres => check_postgres(&self.database).await,
        }
    }
}

impl Drop for Office {
    fn drop(&mut self) {
        let Some(name) = self.name.take() else { return };
        // Left behind, they add up. A failure here would only hide the one before.
        let drop = move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
            let statement = format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)");
            runtime.block_on(query(&server().ok()?, &statement)).ok()
        };
        let _ = thread::spawn(drop).join();
    }
}

fn check_sqlite(path: &str) -> Outcome {
    let connection = rusqlite::Connection::open(path)?;
    let found: String = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0))?;
    if found != "ok" {
        return Err(format!("the database is damaged: {found}").into());
    }
    let stray = connection.prepare("PRAGMA foreign_key_check")?.exists([])?;
    if stray { Err("a row refers to one that is not there".into()) } else { Ok(()) }
}

/// Every index of the program's own tables agrees with its table, and every table can be read.
async fn check_postgres(url: &str) -> Outcome {
    query(url, "CREATE EXTENSION IF NOT EXISTS amcheck").await?;
    let indexes = "SELECT bt_index_check(i.indexrelid, true) FROM pg_index i
        JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am a ON a.oid = c.relam
        JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE a.amname = 'btree' AND n.nspname = 'public' AND i.indisvalid";
    query(url, indexes).await?;
    let damage = "SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace,
        LATERAL verify_heapam(c.oid) WHERE c.relkind = 'r' AND n.nspname = 'public'";
    match number(url, damage).await? {
        0 => Ok(()),
        found => Err(format!("the database is damaged in {found} places").into()),
    }
}

/// The server's address.
pub(crate) fn server() -> Outcome<String> {
    let hint = "TEST_POSTGRES_URL is missing: run `make chaos`, or through scripts/with-postgres";
    std::env::var("TEST_POSTGRES_URL").map_err(|_| hint.into())
}

/// The address of another database on the same server.
fn address_of(name: &str) -> Outcome<String> {
    let server = server()?;
    let (address, options) = server.split_once('?').unwrap_or((&server, ""));
    let (host, _) = address.rsplit_once('/').ok_or("TEST_POSTGRES_URL names no database")?;
    let mark = if options.is_empty() { "" } else { "?" };
    Ok(format!("{host}/{name}{mark}{options}"))
}

/// Carries out statements.
pub(crate) async fn query(url: &str, sql: &str) -> Outcome {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    let connection = tokio::spawn(connection);
    let outcome = client.batch_execute(sql).await;
    drop(client);
    let _ = connection.await;
    Ok(outcome?)
}

/// The number that a query gives.
pub(crate) async fn number(url: &str, sql: &str) -> Outcome<i64> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(connection);
    Ok(client.query_one(sql, &[]).await?.try_get(0)?)
}

/// The text that a query gives.
pub(crate) async fn text(url: &str, sql: &str) -> Outcome<String> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(connection);
    Ok(client.query_one(sql, &[]).await?.try_get(0)?)
}

/// Beside this program: both are built into the same folder.
fn program() -> PathBuf {
    std::env::current_exe().unwrap_or_default().with_file_name("groma")
}

/// A program that serves; killed when dropped.
pub(crate) struct Program {
    child: Child,
    pub(crate) main: SocketAddr,
    pub(crate) geo: SocketAddr,
    pub(crate) admin: SocketAddr,
}

impl Program {
    async fn start(mut command: Command) -> Outcome<Self> {
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
        let stderr = child.stderr.take().ok_or("no log")?;
        let log = Arc::new(Mutex::new(String::new()));
        let (send, addresses) = mpsc::channel();
        let written = log.clone();
        thread::spawn(move || follow(stderr, &written, &send));
        let found = wait_until(START, async || match (addresses.try_recv(), child.try_wait()?) {
            (Ok(found), _) => Ok(Some(found)),
            (Err(_), Some(_)) => Ok(None),
            (Err(_), None) => Err("it does not serve yet".into()),
        })
        .await;
        match found {
            Ok(Some([main, geo, admin])) => Ok(Self { child, main, geo, admin }),
            Ok(None) | Err(_) => {
                let _ = child.kill();
                let _ = child.wait();
                Err(format!("the program does not serve: {}", log.lock()).into())
            }
        }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal to this program and no other.
    pub(crate) fn signal(&self, name: &str) -> Outcome {
        let kill = [format!("-{name}"), self.id().to_string()];
        let done = Command::new("kill").args(kill).status()?;
        if done.success() { Ok(()) } else { Err("the signal was not sent".into()) }
    }

    /// Ends it as a crash does.
    pub(crate) fn kill(mut self) -> Outcome {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Waits for its end; gives the exit code and how long it took.
    pub(crate) async fn ended(mut self, patience: Duration) -> Outcome<(Option<i32>, Duration)> {
        let begun = Instant::now();
        let status = wait_until(patience, async || match self.child.try_wait()? {
            Some(status) => Ok(status),
            None => Err("it still runs".into()),
        })
        .await?;
        Ok((status.code(), begun.elapsed()))
    }

    /// The memory that is its own, in MB.
    pub(crate) fn memory(&self) -> Outcome<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.id()))?;
        let line = status.lines().find(|line| line.starts_with("RssAnon:"));
        let kilobytes = line.and_then(|line| line.split_whitespace().nth(1));
        Ok(kilobytes.ok_or("no memory")?.parse::<u64>()? / 1024)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads the log to its end, and tells the addresses when they are there.
fn follow(stderr: impl Read, log: &Mutex<String>, addresses: &mpsc::Sender<[SocketAddr; 3]>) {
    for line in BufReader::new(stderr).lines().map_while(Result::ok) {
        let entry: Value = serde_json::from_str(&line).unwrap_or_default();
        if entry["message"] == "serving" {
            let address = |name: &str| entry[name].as_str().and_then(|text| text.parse().ok());
            let found = (address("main"), address("geo"), address("admin"));
            if let (Some(main), Some(geo), Some(admin)) = found {
                let _ = addresses.send([main, geo, admin]);
            }
        }
        let mut log = log.lock();
        log.push_str(&line);
        log.push('\n');
    }
}
