//! The PostgreSQL server that `scripts/with-postgres` started, to crash and restart it.

use crate::Result;
use groma_testkit::{postgres, wait::retry};
use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

pub(crate) struct PostgresServer {
    bindir: PathBuf,
    data: PathBuf,
    pub(crate) address: SocketAddr,
}

impl PostgresServer {
    /// The server, or `None` if `scripts/with-postgres` did not start it.
    pub(crate) fn find() -> Result<Option<Self>> {
        let url = postgres::server_url()?;
        let data = PathBuf::from(postgres::query_text(&url, "SHOW data_directory")?);
        let directory = data.parent().and_then(Path::file_name).and_then(|name| name.to_str());
        if !directory.is_some_and(|name| name.starts_with("groma-postgres.")) {
            return Ok(None);
        }
        let found = Command::new("scripts/postgres-bindir").output()?;
        let bindir = PathBuf::from(String::from_utf8(found.stdout)?.trim());
        Ok(Some(Self { bindir, data, address: address(&url)? }))
    }

    /// Stops the server like a crash, without a checkpoint.
    pub(crate) fn stop(&self) -> Result {
        self.pg_ctl(&["stop", "--mode=immediate"])
    }

    /// Starts the server and waits until it accepts connections.
    pub(crate) async fn start(&self) -> Result {
        let options = format!("--options=-p {}", self.address.port());
        let log = format!("--log={}", self.data.with_file_name("postgres.log").display());
        self.pg_ctl(&["start", "--wait", &log, &options])?;
        let url = postgres::server_url()?;
        retry(Duration::from_secs(60), async || postgres::execute(&url, "SELECT 1")).await
    }

    /// PostgreSQL does not run as root, and its user may be unable to read the current directory.
    fn pg_ctl(&self, arguments: &[&str]) -> Result {
        let program = self.bindir.join("pg_ctl");
        let mut command = if is_root() {
            let mut command = Command::new("runuser");
            command.args(["-u", "postgres", "--"]).arg(program);
            command
        } else {
            Command::new(program)
        };
        let done = command
            .args(arguments)
            .arg("--silent")
            .arg("--pgdata")
            .arg(&self.data)
            .current_dir(&self.data)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()?;
        if done.success() { Ok(()) } else { Err(format!("pg_ctl {arguments:?} failed").into()) }
    }
}

/// The address of a server.
pub(crate) fn address(url: &str) -> Result<SocketAddr> {
    let rest = url.split("://").nth(1).ok_or("no host")?;
    let host = rest.rsplit('@').next().and_then(|rest| rest.split(['/', '?']).next());
    Ok(host.ok_or("no host")?.parse()?)
}

pub(crate) fn is_root() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("Uid:"));
    line.and_then(|line| line.split_whitespace().nth(1)) == Some("0")
}
