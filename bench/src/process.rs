//! A peer's process: started, waited for, asked to end when dropped.

use crate::{Outcome, effort::HOME, office::free_port, report::median};
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
    /// Starts what `command` makes for a port, and waits until `path` answers.
    pub(crate) fn start(
        name: &str,
        path: &str,
        command: impl FnOnce(u16) -> Command,
    ) -> Outcome<Self> {
        let port = free_port()?;
        let log = std::fs::File::create(format!("{HOME}/{name}.log"))?;
        let mut command = command(port);
        let child = command.stdout(log.try_clone()?).stderr(log).stdin(Stdio::null()).spawn()?;
        let mut process = Self { child, address: SocketAddr::from(([127, 0, 0, 1], port)) };
        let begun = Instant::now();
        while get(process.address, path, "").is_err() {
            if begun.elapsed() > Duration::from_secs(120) || process.child.try_wait()?.is_some() {
                return Err(format!("{name} did not start: see {HOME}/{name}.log").into());
            }
            std::thread::park_timeout(Duration::from_millis(100));
        }
        Ok(process)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

/// Asks a process to end, so that it ends its own children too, and waits for it.
pub(crate) fn end(child: &mut Child) {
    let _ = Command::new("kill").arg(child.id().to_string()).status();
    let begun = Instant::now();
    while matches!(child.try_wait(), Ok(None)) {
        if begun.elapsed() > Duration::from_secs(20) {
            let _ = child.kill();
        }
        std::thread::park_timeout(Duration::from_millis(10));
    }
}

/// The body of an answer in the 200s.
pub(crate) fn get(address: SocketAddr, path: &str, token: &str) -> Outcome<Vec<u8>> {
    let mut curl = Command::new("curl");
    if !token.is_empty() {
        curl.args(["-H", &format!("Authorization: Bearer {token}")]);
    }
    let answer = curl.args(["-sfg", &format!("http://{address}{path}")]).output()?;
    if answer.status.success() { Ok(answer.stdout) } else { Err(format!("{path} failed").into()) }
}

/// Milliseconds of a request, one at a time: the median of fifty, or of as many as go into two seconds.
pub(crate) fn millis(address: SocketAddr, path: &str, token: &str) -> Outcome<f64> {
    let (begun, mut times) = (Instant::now(), Vec::new());
    let limit = Duration::from_secs(2);
    while times.is_empty() || (times.len() < 50 && begun.elapsed() < limit) {
        let answer = Command::new("curl")
            .args(["-sfg", "-o", "/dev/null", "-w", "%{time_total}"])
            .args(["-H", &format!("Authorization: Bearer {token}")])
            .arg(format!("http://{address}{path}"))
            .output()?;
        if !answer.status.success() {
            return Err(format!("{path} failed").into());
        }
        times.push(String::from_utf8_lossy(&answer.stdout).parse::<f64>()? * 1_000.0);
    }
    Ok(median(&times))
}

/// A program that `scripts/peers` installed.
pub(crate) fn installed(path: &str) -> Outcome<PathBuf> {
    let path = Path::new(HOME).join("peers").join(path);
    if path.exists() {
        return Ok(std::path::absolute(path)?);
    }
    Err(format!("{} is missing: run scripts/setup peers", path.display()).into())
}
