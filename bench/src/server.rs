//! The program, serving a loaded database.

use crate::{Result, load};
use groma_testkit::{
    Client, Program, ServerProcess,
    http::Request,
    server::{LISTENERS, START_TIMEOUT},
};
use std::{
    net::SocketAddr,
    process::Command,
    time::{Duration, Instant},
};

/// A running `groma serve`, stopped when dropped.
pub(crate) struct Server {
    process: Option<ServerProcess>,
    database: String,
    pub(crate) main: SocketAddr,
    pub(crate) geo: SocketAddr,
}

impl Server {
    /// Builds the program if needed and starts it.
    pub(crate) fn start(database: &str) -> Result<Self> {
        Self::start_with(database, &[])
    }

    /// Builds the program if needed and starts it with these environment variables.
    pub(crate) fn start_with(database: &str, settings: &[(&str, &str)]) -> Result<Self> {
        let built = Command::new("cargo")
            .args(["build", "--profile", &cargo_profile(), "--locked", "-q", "-p", "groma"])
            .status()?;
        if !built.success() {
            return Err("cargo build failed".into());
        }
        Self::launch(database, settings)
    }

    /// Starts the program without building it.
    pub(crate) fn launch(database: &str, settings: &[(&str, &str)]) -> Result<Self> {
        let command = Program::built()
            .envs(&LISTENERS)
            // A limit that is never reached, so the cost of the rate limit is included.
            .env("GROMA_LIMITS__REQUESTS_PER_MINUTE", "1000000")
            .envs(settings)
            .command(&["--database", database, "serve"]);
        let process = ServerProcess::start(command, START_TIMEOUT)?;
        let (main, geo) = (process.main().address(), process.geo().address());
        Ok(Self { process: Some(process), database: database.to_owned(), main, geo })
    }

    /// A new token, which has its own rate window.
    pub(crate) fn create_token(&self) -> Result<String> {
        create_token(&self.database)
    }

    /// The body of a successful response of the main address.
    pub(crate) fn get(&self, path: &str, token: &str) -> Result<Vec<u8>> {
        self.get_from(self.main, path, token, &[])
    }

    /// The body of a successful response of this address to a request with these headers.
    pub(crate) fn get_from(
        &self,
        address: SocketAddr,
        path: &str,
        token: &str,
        headers: &[(&str, &str)],
    ) -> Result<Vec<u8>> {
        let request = Request::new("GET", path).token(token);
        let request =
            headers.iter().fold(request, |request, (name, value)| request.header(name, *value));
        send(&Client::new(address), &request)
    }

    /// Posts GeoJSON and returns the time from the connection to the response.
    pub(crate) fn post(&self, path: &str, token: &str, body: Vec<u8>) -> Result<Duration> {
        let request = Request::new("POST", path)
            .token(token)
            .header("Content-Type", "application/geo+json")
            .body(body);
        let start = Instant::now();
        send(&Client::new(self.geo), &request)?;
        Ok(start.elapsed())
    }

    /// The memory of the process in MB: all resident memory, and the part that is not file pages.
    pub(crate) fn memory(&self) -> Result<(u64, u64)> {
        let process = self.process.as_ref().ok_or("the server is stopped")?;
        Ok((process.memory("VmRSS")? >> 20, process.memory("RssAnon")? >> 20))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let Some(process) = self.process.take() else { return };
        for line in process.log().lines().filter(|line| !line.contains("\"INFO\"")) {
            eprintln!("{line}");
        }
        process.terminate();
    }
}

/// Sends a request and returns the body of a successful response.
pub(crate) fn send(client: &Client, request: &Request) -> Result<Vec<u8>> {
    let response = client.send(request)?;
    if (200..300).contains(&response.status) {
        Ok(response.body)
    } else {
        Err(format!("{request:?} returned {}: {}", response.status, response.text()).into())
    }
}

/// A new token for the loaded workspace.
pub(crate) fn create_token(database: &str) -> Result<String> {
    let scopes = "READ_FOLDER,READ_ASSIGNMENT,READ_EXPENSE,READ_BUDGET";
    let create = ["--database", database, "token", "create", "--workspace", load::WORKSPACE];
    let create = [&create[..], &["--user", load::OWNER, "--name", "bench", "--scopes", scopes]];
    Program::built().run(&create.concat()).into_result()
}

/// The Cargo profile of this executable, which is the name of its directory.
pub(crate) fn cargo_profile() -> String {
    let executable = std::env::current_exe().unwrap_or_default();
    let directory = executable.parent().and_then(|directory| directory.file_name());
    match directory.and_then(|directory| directory.to_str()) {
        Some("debug") => "dev".to_owned(),
        Some(profile) => profile.to_owned(),
        None => "release".to_owned(),
    }
}
