//! A command run to its end, with its time and memory.

use crate::{Result, server::cargo_profile};
use groma_testkit::Program;
use std::{
    io::Read,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

/// The time between two looks at the memory of a command.
const INTERVAL: Duration = Duration::from_millis(10);

pub(super) struct Finished {
    pub(super) stdout: String,
    pub(super) seconds: f64,
    /// The highest private memory.
    pub(super) megabytes: f64,
    pub(super) ended: Instant,
}

/// Runs the program.
pub(super) fn groma(arguments: &[&str]) -> Result<Finished> {
    run(Program::built().command(arguments))
}

/// Runs a command whose output is short.
pub(super) fn run(mut command: Command) -> Result<Finished> {
    let start = Instant::now();
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let mut highest = 0;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        highest = highest.max(private_kilobytes(&child));
        std::thread::park_timeout(INTERVAL);
    };
    let ended = Instant::now();
    let mut stdout = String::new();
    if let Some(mut output) = child.stdout.take() {
        output.read_to_string(&mut stdout)?;
    }
    if !status.success() {
        return Err(format!("{command:?} failed with the profile {}", cargo_profile()).into());
    }
    let seconds = (ended - start).as_secs_f64();
    Ok(Finished { stdout, seconds, megabytes: highest as f64 / 1024.0, ended })
}

/// The private memory of a process; none if it has ended.
fn private_kilobytes(child: &Child) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id()));
    let status = status.unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    let figure = line.and_then(|value| value.trim().trim_end_matches(" kB").parse().ok());
    figure.unwrap_or_default()
}
