//! The real program, started on a loaded database.

use crate::{Outcome, load, process};
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
    pub(crate) geo: SocketAddr,
}

impl Office {
    /// Builds the program if needed and starts it.
    pub(crate) fn start(database: &str) -> Outcome<Self> {
        Self::start_with(database, &[])
    }

    /// The same, with settings in its environment.
    pub(crate) fn start_with(database: &str, settings: &[(&str, &str)]) -> Outcome<Self> {
        let built = Command::new("cargo")
            .args(["build", "--profile", &profile(), "--locked", "-q", "-p", "groma"])
            .status()?;
        if !built.success() {
            return Err("the program does not build".into());
        }
        Self::launch(database, settings)
    }

    /// The same, with a program that is built.
    pub(crate) fn launch(database: &str, settings: &[(&str, &str)]) -> Outcome<Self> {
        let mut child = Command::new(program())
            .args(["--database", database, "serve"])
            .env("GROMA_SERVER__LISTEN", "127.0.0.1:0")
            .env("GROMA_SERVER__GEO_LISTEN", "127.0.0.1:0")
            // The rate is counted, with the largest figure there is, so that its cost is in.
            .env("GROMA_LIMITS__REQUESTS_PER_MINUTE", "1000000")
            .envs(settings.iter().copied())
            .stderr(Stdio::piped())
            .spawn()?;
        let lines = child.stderr.take().ok_or("no log")?;
        let mut lines = BufReader::new(lines).lines();
        let field = |line: &str, name: &str| -> Option<SocketAddr> {
            let rest = &line[line.find(name)? + name.len()..];
            rest[..rest.find('"')?].parse().ok()
        };
        let (main, geo) = loop {
            let line = lines.next().ok_or("the program did not start")??;
            let addresses = (field(&line, "\"main\":\""), field(&line, "\"geo\":\""));
            if let (Some(main), Some(geo)) = addresses {
                break (main, geo);
            }
        };
        // Read on, or the program would wait for room to log.
        std::thread::spawn(move || {
            let lines = lines.map_while(Result::ok).filter(|line| !line.contains("\"INFO\""));
            lines.for_each(|line| eprintln!("{line}"));
        });
        Ok(Self { child, database: database.to_owned(), main, geo })
    }

    /// A new token, so that each run has a rate window of its own.
    pub(crate) fn token(&self) -> Outcome<String> {
        token(&self.database)
    }

    /// The body that one request gets.
    pub(crate) fn get(&self, path: &str, token: &str) -> Outcome<Vec<u8>> {
        self.get_from(self.main, path, token, &[])
    }

    /// The same, of an address and with headers.
    pub(crate) fn get_from(
        &self,
        address: SocketAddr,
        path: &str,
        token: &str,
        headers: &[(&str, &str)],
    ) -> Outcome<Vec<u8>> {
        let mut curl = Command::new("curl");
        curl.args(["-sf", "-H", &format!("Authorization: Bearer {token}")]);
        for (name, value) in headers {
            curl.args(["-H", &format!("{name}: {value}")]);
        }
        let answer = curl.arg(format!("http://{address}{path}")).output()?;
        if answer.status.success() {
            Ok(answer.stdout)
        } else {
            Err(format!("{path} failed").into())
        }
    }

    /// Posts a file of GeoJSON; how many seconds that took, from the connection to the answer.
    pub(crate) fn post(&self, path: &str, token: &str, file: &str) -> Outcome<f64> {
        let done = Command::new("curl")
            .args(["-sf", "-H", &format!("Authorization: Bearer {token}")])
            .args(["-H", "Content-Type: application/geo+json", "-H", "Expect:"])
            .args(["--data-binary", &format!("@{file}"), "-o", "/dev/null", "-w", "%{time_total}"])
            .arg(format!("http://{}{path}", self.geo))
            .output()?;
        if !done.status.success() {
            return Err(format!("POST {path} failed").into());
        }
        Ok(String::from_utf8(done.stdout)?.parse()?)
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
        process::end(&mut self.child);
    }
}

/// A new token for the loaded workspace.
pub(crate) fn token(database: &str) -> Outcome<String> {
    let made = Command::new(program())
        .args(["--database", database, "token", "create", "--workspace", load::WORKSPACE])
        .args(["--user", load::OWNER, "--name", "bench"])
        .args(["--scopes", "READ_FOLDER,READ_ASSIGNMENT,READ_EXPENSE,READ_BUDGET"])
        .output()?;
    if !made.status.success() {
        return Err(String::from_utf8_lossy(&made.stderr).into());
    }
    Ok(String::from_utf8(made.stdout)?.trim().to_owned())
}

/// The profile that this program was built with: the name of the folder it is in.
pub(crate) fn profile() -> String {
    let here = std::env::current_exe().unwrap_or_default();
    let folder = here.parent().and_then(|folder| folder.file_name());
    match folder.and_then(|folder| folder.to_str()) {
        Some("debug") => "dev".to_owned(),
        Some(profile) => profile.to_owned(),
        None => "release".to_owned(),
    }
}

/// The program, beside this one: both are built into the same folder.
pub(crate) fn program() -> PathBuf {
    let here = std::env::current_exe().unwrap_or_default();
    here.with_file_name("groma")
}

/// A port that nobody listens on.
pub(crate) fn free_port() -> Outcome<u16> {
    Ok(std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}
