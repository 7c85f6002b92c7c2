//! The instructions that the server executes for a detail and for a list of fifty records, from the first
//! byte of the request to the last byte of the response.

use crate::{callgrind::Callgrind, record::Counts};
use groma_testkit::{
    API, Client, Program, Result, ServerProcess,
    http::Request,
    server::{OWNER, PASSWORD, START_TIMEOUT, WORKSPACE},
};
use serde_json::json;
use std::{path::Path, process::Command};
use tempfile::TempDir;

const PAGE: usize = 50;
/// The number of requests of each kind in the shortest run.
const TIMES: usize = 50;
/// So many that no record is requested twice, because a cached response would be cheaper.
const FOLDERS: usize = PAGE * TIMES * 3;

/// The program and a database with some thousand folders.
pub(crate) struct MeasuredServer {
    program: Program,
    directory: TempDir,
    token: String,
}

impl MeasuredServer {
    /// Creates the database with the program's own commands.
    pub(crate) fn new(program: &Path) -> Result<Self> {
        let directory = tempfile::tempdir()?;
        let database = format!("sqlite:{}", directory.path().join("template.db").display());
        let program =
            Program::at(program).directory(directory.path()).env("GROMA_DATABASE__URL", &database);
        let create = ["workspace", "create", WORKSPACE, "--owner", OWNER];
        program.run_with_input(PASSWORD, &create).into_result()?;
        std::fs::write(directory.path().join("folders.json"), serde_json::to_vec(&folders())?)?;
        program.run(&["import", "folders", "folders.json"]).into_result()?;
        let token = ["token", "create", "--user", OWNER, "--name", "x", "--scopes", "READ_FOLDER"];
        let token = program.run(&token).into_result()?;
        Ok(Self { program, directory, token })
    }

    /// The instructions of one request of each kind: the difference between a longer and a shorter run.
    pub(crate) fn count(&self, callgrind: &Callgrind) -> Result<Counts> {
        let base = self.total(callgrind, TIMES, TIMES)?;
        let more_details = self.total(callgrind, TIMES * 5, TIMES)?;
        let more_lists = self.total(callgrind, TIMES, TIMES * 3)?;
        let times = TIMES as u64;
        Ok(Counts::from([
            ("detail".to_owned(), (more_details - base) / (times * 4)),
            ("list of 50".to_owned(), (more_lists - base) / (times * 2)),
        ]))
    }

    /// The instructions of a server from start to exit, with this number of requests.
    fn total(&self, callgrind: &Callgrind, details: usize, lists: usize) -> Result<u64> {
        let server = ServerProcess::start(self.command(callgrind)?, START_TIMEOUT)?;
        for n in 0..details {
            self.get(server.main(), &format!("{API}/folders/F-{:06}", n % FOLDERS + 1))?;
        }
        for n in 0..lists {
            let page = n % (FOLDERS / PAGE) + 1;
            self.get(server.main(), &format!("{API}/folders?limit={PAGE}&page={page}"))?;
        }
        // Callgrind writes its counts only after a regular exit.
        match server.terminate() {
            Some(0) => callgrind.total(),
            code => Err(format!("the server exited with {code:?}").into()),
        }
    }

    fn command(&self, callgrind: &Callgrind) -> Result<Command> {
        // Every run begins with the same file, because the previous run stored its rate windows.
        let file = self.directory.path().join("run.db");
        for suffix in ["-wal", "-shm"] {
            let _ = std::fs::remove_file(self.directory.path().join(format!("run.db{suffix}")));
        }
        std::fs::copy(self.directory.path().join("template.db"), &file)?;
        let mut command = callgrind.command(self.program.path());
        command
            .args(["--database", &format!("sqlite:{}", file.display())])
            // Only one role and one worker thread, because scheduling would change the counts.
            .args(["serve", "--roles", "main"])
            .env("TOKIO_WORKER_THREADS", "1")
            .env("GROMA_SERVER__LISTEN", "127.0.0.1:0")
            // A limit that is not reached, so the cost of the rate limit is included.
            .env("GROMA_LIMITS__REQUESTS_PER_MINUTE", "1000000");
        Ok(command)
    }

    fn get(&self, client: &Client, path: &str) -> Result {
        let response = client.send(&Request::new("GET", path).token(&self.token))?;
        match response.status {
            200 if !response.body.is_empty() => Ok(()),
            status => Err(format!("{path} returned {status}: {}", response.text()).into()),
        }
    }
}

/// Folders like those of the demonstration, a little under a kilobyte each.
fn folders() -> serde_json::Value {
    let folder = |n: usize| {
        json!({
            "name": format!("Les Ormes, boundary survey {n}"),
            "description": format!("Boundary survey for the roads department at Les Ormes, part {n}"),
            "clientName": "Roads department",
            "owner": format!("field.crew.{}@example.test", n % 40),
            "startDate": "2026-03-02",
            "tags": ["boundary survey"],
        })
    };
    (0..FOLDERS).map(folder).collect()
}
