//! The PostgreSQL server that `scripts/with-postgres` made: stopped and started as an accident would.

use crate::{Outcome, office, wait_until};
use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

pub(crate) struct Server {
    bindir: PathBuf,
    data: PathBuf,
    pub(crate) address: SocketAddr,
}

impl Server {
    /// The server, when it is one that may be broken: `None` when it is somebody's own.
    pub(crate) async fn found() -> Outcome<Option<Self>> {
        let url = office::server()?;
        let data = PathBuf::from(office::text(&url, "SHOW data_directory").await?);
        let folder = data.parent().and_then(Path::file_name).and_then(|name| name.to_str());
        if !folder.is_some_and(|name| name.starts_with("groma-postgres.")) {
            return Ok(None);
        }
        let found = Command::new("scripts/postgres-bindir").output()?;
        let bindir = PathBuf::from(String::from_utf8(found.stdout)?.trim());
        Ok(Some(Self { bindir, data, address: address(&url)? }))
    }

    /// Ends it as a crash of the machine would: no checkpoint, no farewell.
    pub(crate) fn stop(&self) -> Outcome {
        self.pg_ctl(&["stop", "--mode=immediate"])
    }

    /// Starts it again; done when it takes connections.
    pub(crate) async fn start(&self) -> Outcome {
        let options = format!("--options=-p {}", self.address.port());
        let log = format!("--log={}", self.data.with_file_name("postgres.log").display());
        self.pg_ctl(&["start", "--wait", &log, &options])?;
        let url = office::server()?;
        wait_until(Duration::from_secs(60), async || office::query(&url, "SELECT 1").await).await
    }

    /// PostgreSQL refuses to run as root, and its user may not read our folder.
    fn pg_ctl(&self, arguments: &[&str]) -> Outcome {
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

/// Where a server listens.
pub(crate) fn address(url: &str) -> Outcome<SocketAddr> {
    let rest = url.split("://").nth(1).ok_or("no address")?;
    let host = rest.rsplit('@').next().and_then(|rest| rest.split(['/', '?']).next());
    Ok(host.ok_or("no host")?.parse()?)
}

pub(crate) fn is_root() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("Uid:"));
    line.and_then(|line| line.split_whitespace().nth(1)) == Some("0")
}
