//! An office to test with: a database, a workspace made by command, and the program serving it.

use crate::{
    client::{API, Answer, Client},
    database::{Database, Engine},
};
use serde_json::Value;
use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex, mpsc},
    thread::JoinHandle,
    time::{Duration, Instant},
};
use tempfile::TempDir;

/// The program under test.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_groma");

/// The workspace of every office, and who owns it.
pub(crate) const WORKSPACE: &str = "Cadastre";
pub(crate) const OWNER: &str = "owner@example.test";
pub(crate) const PASSWORD: &str = "a password for tests\n";

/// Every scope there is.
pub(crate) const SCOPES: [&str; 5] =
    ["READ_FOLDER", "READ_ASSIGNMENT", "READ_EXPENSE", "READ_BUDGET", "MANAGE_WEBHOOK"];

/// For tests that send more requests than a token may.
pub(crate) const NO_LIMIT: (&str, &str) = ("GROMA_LIMITS__REQUESTS_PER_MINUTE", "0");
/// Metrics, wherever there is room.
pub(crate) const ADMIN: (&str, &str) = ("GROMA_SERVER__ADMIN_LISTEN", "127.0.0.1:0");

/// Listening on whatever ports are free.
pub(crate) const LISTEN: [(&str, &str); 2] =
    [("GROMA_SERVER__LISTEN", "127.0.0.1:0"), ("GROMA_SERVER__GEO_LISTEN", "127.0.0.1:0")];

pub(crate) struct Office {
    // Dropped in this order: the program, then its database, then the folder.
    program: Option<Program>,
    database: Database,
    folder: TempDir,
    environment: Vec<(String, String)>,
}

impl Office {
    /// An office that serves with the settings as they come.
    pub(crate) fn start(engine: Engine) -> Self {
        Self::start_with(engine, &[])
    }

    /// An office that serves with these settings in the environment.
    pub(crate) fn start_with(engine: Engine, environment: &[(&str, &str)]) -> Self {
        let mut office = Self::closed(engine, environment);
        office.create_workspace(WORKSPACE);
        office.open();
        office
    }

    /// A database without a workspace and without a program that serves it.
    pub(crate) fn closed(engine: Engine, environment: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let database = Database::new(engine, folder.path());
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let environment = environment.iter().map(owned).collect();
        Self { program: None, database, folder, environment }
    }

    /// The same, with a database that no migration has seen.
    pub(crate) fn bare(engine: Engine, environment: &[(&str, &str)]) -> Self {
        let mut office = Self::closed(Engine::Sqlite, environment);
        office.database = Database::bare(engine, office.folder.path());
        office
    }

    /// Starts serving, with the demonstration in an empty database; gives the token it prints.
    pub(crate) fn open_demo(&mut self) -> String {
        let patience = Duration::from_secs(600);
        let program = Program::start_within(patience, self.command(&["serve", "--demo"]));
        let printed = program.printed();
        let (_, rest) = printed.split_once("Bearer ").expect("a line with a token");
        self.program = Some(program);
        rest.split(['\'', '"', ' ', '\n']).next().unwrap().to_owned()
    }

    /// Starts serving.
    pub(crate) fn open(&mut self) {
        self.program = Some(self.another_program());
    }

    /// Starts serving, with more in the environment.
    pub(crate) fn open_with(&mut self, environment: &[(&str, &str)]) {
        let mut command = self.command(&["serve"]);
        command.envs(environment.iter().copied());
        self.program = Some(Program::start(command));
    }

    /// Has this in its environment from now on.
    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.environment.retain(|(known, _)| known != name);
        self.environment.push((name.to_owned(), value.to_owned()));
    }

    /// Stops serving as an operator does; gives the exit code.
    pub(crate) fn close(&mut self) -> Option<i32> {
        self.take_program().terminate()
    }

    /// Ends serving as a crash does.
    pub(crate) fn kill(&mut self) {
        drop(self.take_program());
    }

    /// The program that serves, to be ended otherwise.
    pub(crate) fn take_program(&mut self) -> Program {
        self.program.take().expect("a program that serves")
    }

    /// One more program on the same database.
    pub(crate) fn another_program(&self) -> Program {
        Program::start(self.command(&["serve"]))
    }

    /// One more program on the same database, which does only what these roles say.
    pub(crate) fn another_program_for(&self, roles: &str) -> Program {
        Program::start(self.command(&["serve", "--roles", roles]))
    }

    /// The program that serves.
    pub(crate) fn program(&self) -> &Program {
        self.program.as_ref().expect("a program that serves")
    }

    /// The main address.
    pub(crate) fn main(&self) -> &Client {
        &self.program().main
    }

    /// The operator's address.
    pub(crate) fn admin(&self) -> &Client {
        self.program().admin.as_ref().expect("server.admin_listen")
    }

    /// The geo address.
    pub(crate) fn geo(&self) -> &Client {
        &self.program().geo
    }

    /// A GET on the main API; `path` is what follows `/api/public/v1`.
    pub(crate) fn get(&self, path: &str, token: &str) -> Answer {
        self.main().ask("GET", &format!("{API}{path}")).token(token).send()
    }

    /// Asks again and again until the answer is as wanted; a second is what the contract gives.
    #[track_caller]
    pub(crate) fn within_a_second(
        &self,
        path: &str,
        token: &str,
        wanted: impl Fn(&Answer) -> bool,
    ) -> Answer {
        wait_until(Duration::from_secs(1), || {
            let answer = self.get(path, token);
            if wanted(&answer) { Ok(answer) } else { Err(format!("{path}: {}", answer.text())) }
        })
    }

    /// The folder of this office, for files.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a file into the office's folder.
    pub(crate) fn file(&self, name: &str, contents: impl AsRef<[u8]>) -> PathBuf {
        let path = self.folder().join(name);
        std::fs::write(&path, contents).unwrap();
        path
    }

    /// The address of its database.
    pub(crate) fn database(&self) -> &str {
        self.database.url()
    }

    /// Takes the database away while `during` runs.
    pub(crate) fn without_database<T>(&self, during: impl FnOnce() -> T) -> T {
        self.database.cut();
        let outcome = during();
        self.database.mend();
        outcome
    }

    /// A command, about this office's database.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = program(arguments);
        command
            .current_dir(self.folder())
            .env("GROMA_DATABASE__URL", self.database.url())
            .envs(LISTEN)
            .envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Runs a command to its end.
    pub(crate) fn groma(&self, arguments: &[&str]) -> Done {
        self.groma_with("", arguments)
    }

    /// Runs a command to its end, with this on its standard input.
    pub(crate) fn groma_with(&self, input: &str, arguments: &[&str]) -> Done {
        Done::of(self.command(arguments), input)
    }

    pub(crate) fn create_workspace(&self, name: &str) -> String {
        let create = ["workspace", "create", name, "--owner", OWNER];
        self.groma_with(PASSWORD, &create).succeeds()
    }

    /// Makes a token of the owner with these scopes.
    pub(crate) fn token(&self, scopes: &[&str]) -> String {
        self.token_in(WORKSPACE, scopes)
    }

    pub(crate) fn token_in(&self, workspace: &str, scopes: &[&str]) -> String {
        self.token_of(workspace, OWNER, scopes)
    }

    pub(crate) fn token_of(&self, workspace: &str, user: &str, scopes: &[&str]) -> String {
        let scopes = scopes.join(",");
        let create = ["token", "create", "--workspace", workspace, "--user", user];
        let create = [&create[..], &["--name", "test", "--scopes", &scopes]].concat();
        self.groma(&create).succeeds()
    }

    /// Makes a token that may all.
    pub(crate) fn master_token(&self) -> String {
        self.token(&SCOPES)
    }

    /// Imports rows that must all be good; gives the report.
    #[track_caller]
    pub(crate) fn import(&self, kind: &str, rows: &[Value]) -> Value {
        self.import_into(WORKSPACE, kind, rows)
    }

    #[track_caller]
    pub(crate) fn import_into(&self, workspace: &str, kind: &str, rows: &[Value]) -> Value {
        let done = self.try_import_into(workspace, kind, rows);
        serde_json::from_str(&done.succeeds()).unwrap()
    }

    /// Imports rows, good or bad.
    pub(crate) fn try_import(&self, kind: &str, rows: &[Value]) -> Done {
        self.try_import_into(WORKSPACE, kind, rows)
    }

    pub(crate) fn try_import_into(&self, workspace: &str, kind: &str, rows: &[Value]) -> Done {
        let lines: String = rows.iter().map(|row| format!("{row}\n")).collect();
        self.file("rows.ndjson", lines);
        self.groma(&["import", kind, "rows.ndjson", "--workspace", workspace, "--json"])
    }

    /// Imports a file with these contents; its name tells the format.
    pub(crate) fn import_file(
        &self,
        kind: &str,
        name: &str,
        contents: impl AsRef<[u8]>,
        more: &[&str],
    ) -> Done {
        self.file(name, contents);
        let import = ["import", kind, name, "--workspace", WORKSPACE, "--json"];
        self.groma(&[&import[..], more].concat())
    }
}

/// Runs a command outside any office.
pub(crate) fn run(environment: &[(&str, &str)], input: &str, arguments: &[&str]) -> Done {
    let folder = tempfile::tempdir().unwrap();
    let mut command = program(arguments);
    command.current_dir(folder.path()).envs(environment.iter().copied());
    Done::of(command, input)
}

/// The program with nothing of this environment but what it needs to run.
fn program(arguments: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(arguments).env_clear();
    if let Some(path) = std::env::var_os("PATH") {
        command.env("PATH", path);
    }
    command
}

/// Tries until it works, for as long as it may take.
#[track_caller]
pub(crate) fn wait_until<T>(
    patience: Duration,
    mut attempt: impl FnMut() -> Result<T, String>,
) -> T {
    let deadline = Instant::now() + patience;
    loop {
        let late = Instant::now() >= deadline;
        match attempt() {
            Ok(found) => return found,
            Err(reason) if late => panic!("not within {patience:?}: {reason}"),
            Err(_) => std::thread::park_timeout(Duration::from_millis(5)),
        }
    }
}

/// A command that has ended.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Done {
    fn of(mut command: Command, input: &str) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A command that asks for nothing may have ended before.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        let output = child.wait_with_output().unwrap();
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Checks that it was done without a word on standard error; gives what it printed.
    #[track_caller]
    pub(crate) fn succeeds(&self) -> String {
        assert_eq!((self.code, self.stderr.as_str()), (Some(0), ""), "{}", self.stdout);
        self.stdout.trim_end_matches('\n').to_owned()
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.succeeds()).unwrap()
    }

    /// Checks that it failed with one line on standard error; gives that line without its `groma: `.
    #[track_caller]
    pub(crate) fn fails(&self) -> String {
        assert_eq!(self.code, Some(1), "{self:?}");
        let line = self.stderr.strip_suffix('\n').expect("a line");
        assert!(!line.contains('\n'), "more than one line: {line}");
        line.strip_prefix("groma: ").expect("the program's name first").to_owned()
    }

    #[track_caller]
    pub(crate) fn fails_with(&self, message: &str) {
        assert_eq!(self.fails(), message);
    }

    /// Checks that it was used wrongly.
    #[track_caller]
    pub(crate) fn is_wrong_usage(&self) {
        assert_eq!((self.code, self.stdout.as_str()), (Some(2), ""), "{self:?}");
        assert!(!self.stderr.is_empty());
    }

    /// The lines about rejected rows: where, and why.
    #[track_caller]
    pub(crate) fn rejected(&self) -> Vec<(u64, String)> {
        let report: Value =
            serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"));
        let rows = report["rejected"].as_array().unwrap().iter();
        let told: Vec<_> = rows
            .map(|row| (row["line"].as_u64().unwrap(), row["message"].as_str().unwrap().to_owned()))
            .collect();
        for (line, message) in &told {
            let shown = format!(":{line}: {message}\n");
            assert!(self.stderr.contains(&shown), "{shown} is not in {}", self.stderr);
        }
        told
    }
}

/// A program that serves.
pub(crate) struct Program {
    child: Child,
    pub(crate) main: Client,
    pub(crate) geo: Client,
    /// The operator's address, where the settings have one.
    pub(crate) admin: Option<Client>,
    log: Arc<Mutex<String>>,
    printed: Arc<Mutex<String>>,
    readers: Vec<JoinHandle<()>>,
}

impl Program {
    fn start(command: Command) -> Self {
        Self::start_within(Duration::from_secs(30), command)
    }

    fn start_within(patience: Duration, mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (stdout, stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let printed = Arc::new(Mutex::new(String::new()));
        let kept = printed.clone();
        let listener = std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                kept.lock().unwrap().push_str(&format!("{line}\n"));
            }
        });
        let (send, addresses) = mpsc::channel();
        let log = Arc::new(Mutex::new(String::new()));
        let written = log.clone();
        let reader = std::thread::spawn(move || follow(stderr, &written, &send));
        match addresses.recv_timeout(patience) {
            Ok(Addresses { main, geo, admin }) => Self {
                child,
                main: Client::new(main.unwrap_or(NOWHERE)),
                geo: Client::new(geo.unwrap_or(NOWHERE)),
                admin: admin.map(Client::new),
                log,
                printed,
                readers: vec![reader, listener],
            },
            Err(_) => {
                let _ = child.kill();
                let _ = child.wait();
                let _ = (reader.join(), listener.join());
                panic!("the program does not serve: {}", log.lock().unwrap())
            }
        }
    }

    /// What it has logged so far.
    pub(crate) fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    /// What it has printed so far.
    pub(crate) fn printed(&self) -> String {
        self.printed.lock().unwrap().clone()
    }

    /// The most memory it has had so far, in bytes.
    pub(crate) fn peak_memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        peak.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap() * 1024
    }

    /// Asks it to end and waits for that; gives the exit code.
    pub(crate) fn terminate(mut self) -> Option<i32> {
        self.signal("TERM");
        self.ended()
    }

    /// Waits for the end; gives the exit code.
    pub(crate) fn ended(&mut self) -> Option<i32> {
        let deadline = Duration::from_secs(15);
        wait_until(deadline, || match self.child.try_wait().unwrap() {
            Some(status) => Ok(status.code()),
            None => Err(format!("it still runs: {}", self.log())),
        })
    }

    /// Sends a signal to this program and no other.
    pub(crate) fn signal(&self, name: &str) {
        let kill = format!("kill -{name} {}", self.child.id());
        assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        for reader in self.readers.drain(..) {
            let _ = reader.join();
        }
    }
}

/// Where a program listens, by its roles and settings.
struct Addresses {
    main: Option<SocketAddr>,
    geo: Option<SocketAddr>,
    admin: Option<SocketAddr>,
}

/// Where nobody listens.
const NOWHERE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 1);

/// Reads the log to its end, and tells the addresses when they are there.
fn follow(stderr: impl Read, log: &Mutex<String>, addresses: &mpsc::Sender<Addresses>) {
    for line in BufReader::new(stderr).lines() {
        let Ok(line) = line else { break };
        let entry: Value = serde_json::from_str(&line).unwrap_or_default();
        if entry["message"] == "serving" {
            let address = |name: &str| entry[name].as_str().and_then(|text| text.parse().ok());
            let (main, geo, admin) = (address("main"), address("geo"), address("admin"));
            let _ = addresses.send(Addresses { main, geo, admin });
        }
        let mut log = log.lock().unwrap();
        log.push_str(&line);
        log.push('\n');
    }
}
