//! The real program, started on a loaded database.

use crate::{Outcome, load};
use std::{
    io::{BufRead, BufReader},
    net::SocketAddr,
    path::PathBuf,
    process::{Child, Command, Stdio},
};

/// A running `groma serve`; stopped when dropped.
pub(crate) struct Office {
    child: Child,
    database: String,
    pub(crate) main: SocketAddr,
}

impl Office {
    /// Builds the program if needed and starts it.
    pub(crate) fn start(database: &str) -> Outcome<Self> {
        let built = Command::new("cargo")
            .args(["build", "--release", "--locked", "-q", "-p", "groma"])
            .status()?;
        if !built.success() {
            return Err("the program does not build".into());
        }
        let mut child = Command::new(program())
            .args(["--database", database, "serve"])
            .env("GROMA_SERVER__LISTEN", "127.0.0.1:0")
            .env("GROMA_SERVER__GEO_LISTEN", "127.0.0.1:0")
            // The rate is counted, with the largest figure there is, so that its cost is in.
            .env("GROMA_LIMITS__REQUESTS_PER_MINUTE", "1000000")
            .stderr(Stdio::piped())
            .spawn()?;
        let lines = child.stderr.take().ok_or("no log")?;
        let mut lines = BufReader::new(lines).lines();
        let main = loop {
            let line = lines.next().ok_or("the program did not start")??;
            if let Some(at) = line.find("\"main\":\"") {
                let rest = &line[at + 8..];
                break rest[..rest.find('"').unwrap_or(rest.len())].parse()?;
            }
        };
        // Read on, or the program would wait for room to log.
        std::thread::spawn(move || {
            lines.map_while(Result::ok).for_each(|line| eprintln!("{line}"));
        });
        Ok(Self { child, database: database.to_owned(), main })
    }

    /// A new token, so that each run has a rate window of its own.
    pub(crate) fn token(&self) -> Outcome<String> {
        let made = Command::new(program())
            .args(["--database", &self.database, "token", "create", "--workspace", load::WORKSPACE])
            .args(["--user", load::OWNER, "--name", "bench"])
            .args(["--scopes", "READ_FOLDER,READ_ASSIGNMENT,READ_EXPENSE,READ_BUDGET"])
            .output()?;
        if !made.status.success() {
            return Err(String::from_utf8_lossy(&made.stderr).into());
        }
        Ok(String::from_utf8(made.stdout)?.trim().to_owned())
    }

    /// The body that one request gets.
    pub(crate) fn get(&self, path: &str, token: &str) -> Outcome<Vec<u8>> {
        let answer = Command::new("curl")
            .args([
                "-sf",
                "-H",
                &format!("Authorization: Bearer {token}"),
                &format!("http://{}{path}", self.main),
            ])
            .output()?;
        if answer.status.success() {
            Ok(answer.stdout)
        } else {
            Err(format!("{path} failed").into())
        }
    }

    /// Resident memory in MB: all of it, and the part that is not pages of files.
    pub(crate) fn memory(&self) -> Outcome<(u64, u64)> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let field = |name: &str| {
            let line = status.lines().find(|line| line.starts_with(name));
            let kilobytes = line.and_then(|line| line.split_whitespace().nth(1));
            kilobytes.and_then(|text| text.parse::<u64>().ok()).unwrap_or(0) / 1024
        };
        Ok((field("VmRSS:"), field("RssAnon:")))
    }
}

impl Drop for Office {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn program() -> PathBuf {
    // Beside this program: both are built into the same folder.
    let here = std::env::current_exe().unwrap_or_default();
    here.with_file_name("groma")
}
