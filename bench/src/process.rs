//! The process of a peer: started, awaited, and terminated when dropped.

use crate::{Result, profile::DIRECTORY, report::median, server::send};
use groma_testkit::{Client, http::Request};
use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

pub(crate) struct Process {
    child: Child,
    pub(crate) address: SocketAddr,
}

impl Process {
    /// Starts a command for a free port, and waits until `path` responds.
    pub(crate) fn start(
        name: &str,
        path: &str,
        command: impl FnOnce(u16) -> Command,
    ) -> Result<Self> {
        let port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let log = std::fs::File::create(format!("{DIRECTORY}/{name}.log"))?;
        let mut command = command(port);
        let child = command.stdout(log.try_clone()?).stderr(log).stdin(Stdio::null()).spawn()?;
        let mut process = Self { child, address: SocketAddr::from(([127, 0, 0, 1], port)) };
        let start = Instant::now();
        while get(process.address, path, "").is_err() {
            if start.elapsed() > Duration::from_secs(120) || process.child.try_wait()?.is_some() {
                return Err(format!("{name} did not start: see {DIRECTORY}/{name}.log").into());
            }
            std::thread::park_timeout(Duration::from_millis(100));
        }
        Ok(process)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        terminate(&mut self.child);
    }
}

/// Terminates a process, which then stops its own children, and waits for it.
fn terminate(child: &mut Child) {
    let _ = Command::new("kill").arg(child.id().to_string()).status();
    let start = Instant::now();
    while matches!(child.try_wait(), Ok(None)) {
        if start.elapsed() > Duration::from_secs(20) {
            let _ = child.kill();
        }
        std::thread::park_timeout(Duration::from_millis(10));
    }
}

/// The body of a successful response.
pub(crate) fn get(address: SocketAddr, path: &str, token: &str) -> Result<Vec<u8>> {
    let request = Request::new("GET", path);
    let request = if token.is_empty() { request } else { request.token(token) };
    send(&Client::new(address), &request)
}

/// The median time of a request in milliseconds, one at a time: of fifty, or of as many as fit into two
/// seconds.
pub(crate) fn millis(address: SocketAddr, path: &str, token: &str) -> Result<f64> {
    let (start, mut times) = (Instant::now(), Vec::new());
    let limit = Duration::from_secs(2);
    while times.is_empty() || (times.len() < 50 && start.elapsed() < limit) {
        let one = Instant::now();
        get(address, path, token)?;
        times.push(one.elapsed().as_secs_f64() * 1_000.0);
    }
    Ok(median(&times))
}

/// A program that `scripts/peers` installed.
pub(crate) fn installed(path: &str) -> Result<PathBuf> {
    let path = Path::new(DIRECTORY).join("peers").join(path);
    if path.exists() {
        return Ok(std::path::absolute(path)?);
    }
    Err(format!("{} is missing: run scripts/setup peers", path.display()).into())
}
