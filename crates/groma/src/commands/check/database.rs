//! Whether the database is there, is the right one, and can be written.

use super::Finding;
use crate::{clock::now, settings::Settings};
use groma_store::{DatabaseUrl, Error, SecretsState, ServerFacts, Store};
use std::{
    fs::Metadata,
    os::unix::fs::MetadataExt,
    path::Path,
    time::{Duration, SystemTime},
};

/// What was seen of the database.
pub(super) struct Database {
    pub(super) engine: &'static str,
    pub(super) at: String,
    pub(super) is_reached: bool,
    /// The migrations that it lacks.
    pub(super) pending: Option<Vec<String>>,
    pub(super) workspaces: Option<usize>,
    pub(super) secrets: Option<SecretsState>,
}

/// By how much two clocks may differ.
const SKEW_MILLIS: i64 = 2_000;
/// How far ahead a file's time may be.
const AHEAD: Duration = Duration::from_secs(60);
/// The connections of one `groma serve`: its pool with those that brief reads share, eight at most; one that
/// listens, and one that asks whether the server answers.
const CONNECTIONS: i32 = 26;

pub(super) async fn look(settings: &Settings, findings: &mut Vec<Finding>) -> Database {
    let (engine, at) = match &settings.database {
        DatabaseUrl::Sqlite(path) => ("SQLite", path.display().to_string()),
        DatabaseUrl::Postgres(url) => ("PostgreSQL", without_password(url)),
    };
    let mut seen =
        Database { engine, at, is_reached: false, pending: None, workspaces: None, secrets: None };
    if let Err(error) = seen.fill(settings, findings).await {
        findings.push(explained(&error));
    }
    seen
}

impl Database {
    async fn fill(
        &mut self,
        settings: &Settings,
        findings: &mut Vec<Finding>,
    ) -> Result<(), Error> {
        if let DatabaseUrl::Sqlite(path) = &settings.database {
            findings.extend(file(path));
        }
        if let Some(facts) = Store::server_facts(&settings.database).await? {
            findings.extend(server(&facts));
        }
        let pending = Store::pending_migrations(&settings.database).await?;
        self.is_reached = true;
        let is_pending = !pending.is_empty();
        if is_pending {
            findings.push(Finding::error(
                format!("migrations pending: {}", pending.join(", ")),
                "`groma serve` runs them",
            ));
        }
        self.pending = Some(pending);
        if is_pending {
            return Ok(());
        }
        let store = Store::open_existing(&settings.database).await?;
        store.set_seal_key(settings.webhooks.encryption_key.clone());
        store.ping().await?;
        let secrets = store.secrets_state().await?;
        findings.extend(sealing(&secrets));
        self.secrets = Some(secrets);
        let workspaces = store.workspaces().await?.len();
        self.workspaces = Some(workspaces);
        if workspaces == 0 {
            findings.push(Finding::note(
                "there is no workspace yet",
                "`groma workspace create` makes one, and so does the address that `groma serve` prints",
            ));
        }
        Ok(())
    }
}

/// What a failure to reach the database means.
fn explained(error: &Error) -> Finding {
    let text = error.to_string();
    let remedy = match error {
        // These say themselves what to do.
        Error::Missing(_) => {
            let (problem, remedy) = text.split_once("; ").unwrap_or((&text, "make one"));
            return Finding::error(problem, remedy);
        }
        Error::Linked(_) => "remove the other names",
        Error::File { .. } => {
            "see to it that this program's user may read and write it, and its folder"
        }
        _ if text.contains("(28P01)") || text.contains("(28000)") => {
            "look at user and password in database.url, and at the server's pg_hba.conf"
        }
        _ if text.contains("(3D000)") => "make it: createdb",
        _ if text.contains("(53300)") => {
            "raise max_connections of the server, or run fewer replicas"
        }
        Error::Postgres(_) | Error::Pool(_) => {
            "see to it that the server runs, and that database.url names where it listens"
        }
        Error::Url(_) => "write it as postgres://USER@HOST/NAME",
        _ => "look at the file, and go back to a backup if it is damaged",
    };
    Finding::error(text, remedy)
}

/// The rights of a database file and its folder, and the clock.
fn file(path: &Path) -> Vec<Finding> {
    let mut findings = Vec::new();
    let Ok(found) = std::fs::metadata(path) else { return findings };
    let shown = path.display();
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let me = Someone::this_process();
    if !me.may_write(&found) {
        findings.push(Finding::error(
            format!("{shown} cannot be written by this user"),
            "run the program as the file's owner, or chown the file",
        ));
    }
    if std::fs::metadata(folder).is_ok_and(|folder| !me.may_write(&folder)) {
        let folder = folder.display();
        findings.push(Finding::error(
            format!("nothing can be made in {folder} by this user, and SQLite keeps its log there"),
            "run the program as the folder's owner, or chown the folder",
        ));
    }
    if found.mode() & 0o077 != 0 {
        findings.push(Finding::warning(
            format!("{shown} may be read or written by others than its owner"),
            format!("chmod 600 {shown}"),
        ));
    }
    let ahead = found.modified().ok().and_then(|at| at.duration_since(SystemTime::now()).ok());
    if ahead.is_some_and(|ahead| ahead > AHEAD) {
        findings.push(Finding::warning(
            format!("{shown} was written in the future: this machine's clock has gone back"),
            "put the clock right, and let it follow a time server",
        ));
    }
    findings
}

/// A user with its groups.
struct Someone {
    user: u32,
    groups: Vec<u32>,
}

impl Someone {
    /// As Linux tells it; elsewhere someone who may all, and then the database says otherwise.
    fn this_process() -> Self {
        let Ok(process) = std::fs::metadata("/proc/self") else {
            return Self { user: 0, groups: Vec::new() };
        };
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let groups = status.lines().find_map(|line| line.strip_prefix("Groups:"));
        let groups = groups.unwrap_or_default().split_whitespace();
        let groups = groups.filter_map(|group| group.parse().ok()).chain([process.gid()]);
        Self { user: process.uid(), groups: groups.collect() }
    }

    fn may_write(&self, what: &Metadata) -> bool {
        self.may_write_with(what.mode(), what.uid(), what.gid())
    }

    fn may_write_with(&self, mode: u32, owner: u32, group: u32) -> bool {
        if self.user == 0 {
            return true;
        }
        let bit = if self.user == owner {
            0o200
        } else if self.groups.contains(&group) {
            0o020
        } else {
            0o002
        };
        mode & bit != 0
    }
}

/// What is wrong with a server.
fn server(facts: &ServerFacts) -> Vec<Finding> {
    let mut findings = Vec::new();
    let major = facts.version / 10_000;
    if major < 14 {
        findings.push(Finding::warning(
            format!("PostgreSQL {major} is not maintained any more"),
            "move the database to a newer one (pg_upgrade)",
        ));
    }
    for (name, here, available) in &facts.extensions {
        findings.extend(extension(name, here.as_deref(), available.as_deref(), facts.is_superuser));
    }
    let skew = facts.clock_millis - now().as_millis();
    if skew.abs() > SKEW_MILLIS {
        let seconds = skew.abs() as f64 / 1_000.0;
        let way = if skew > 0 { "ahead of" } else { "behind" };
        findings.push(Finding::warning(
            format!("the database's clock is {seconds:.1} s {way} this machine's"),
            "let both follow a time server: sessions, tokens and deliveries go by the clock",
        ));
    }
    if facts.max_connections < CONNECTIONS + 5 {
        findings.push(Finding::warning(
            format!(
                "the server takes {} connections, and each `groma serve` uses up to {CONNECTIONS}",
                facts.max_connections
            ),
            "raise max_connections of the server",
        ));
    }
    if !facts.fsync || !facts.synchronous_commit {
        findings.push(Finding::note(
            "the server does not sync what it commits (fsync or synchronous_commit is off): a power cut loses what was acknowledged",
            "switch both on, unless what is kept may be lost",
        ));
    }
    findings
}

fn extension(
    name: &str,
    here: Option<&str>,
    available: Option<&str>,
    is_superuser: bool,
) -> Option<Finding> {
    let is_postgis = name == "postgis";
    let create = format!("psql -c 'CREATE EXTENSION {name}' as a superuser, in this database");
    match (here, available) {
        (Some(version), _) => {
            let major = version.split('.').next().and_then(|major| major.parse::<u32>().ok());
            (is_postgis && major.is_some_and(|major| major < 3)).then(|| {
                Finding::warning(
                    format!("PostGIS {version} is older than 3"),
                    "install a newer one, then SELECT postgis_extensions_upgrade()",
                )
            })
        }
        (None, None) => Some(Finding::error(
            format!("the extension {name} is not installed on the server"),
            if is_postgis {
                format!("install PostGIS 3 there (Debian: postgresql-postgis), then {create}")
            } else {
                format!("install PostgreSQL's contrib modules there, then {create}")
            },
        )),
        (None, Some(_)) if is_superuser || !is_postgis => None,
        (None, Some(_)) => {
            Some(Finding::error(format!("the extension {name} is not in this database"), create))
        }
    }
}

fn sealing(secrets: &SecretsState) -> Option<Finding> {
    if secrets.unreadable > 0 {
        return Some(Finding::error(
            format!(
                "{} webhook secrets do not open with webhooks.encryption_key",
                secrets.unreadable
            ),
            "set the key that they were sealed with, or give those endpoints new secrets (`groma webhook rotate`)",
        ));
    }
    if !secrets.has_key {
        return Some(Finding::note(
            "webhooks.encryption_key is not set: webhook secrets lie open in the database",
            "set it (openssl rand -hex 32) on every replica, then `groma webhook encrypt`",
        ));
    }
    (secrets.plain > 0).then(|| {
        Finding::note(
            format!("{} webhook secrets lie open", secrets.plain),
            "`groma webhook encrypt` seals them",
        )
    })
}

/// The address with its password left out.
fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    match rest.rsplit_once('@') {
        Some((user, host)) => {
            format!("{scheme}://{}@{host}", user.split(':').next().unwrap_or_default())
        }
        None => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rights_go_by_owner_then_group_then_everybody() {
        let me = Someone { user: 1000, groups: vec![7] };
        for (mode, owner, group, may) in [
            (0o600, 1000, 0, true),
            (0o400, 1000, 7, false),
            (0o660, 1, 7, true),
            (0o640, 1, 7, false),
            (0o662, 1, 8, true),
            (0o660, 1, 8, false),
        ] {
            assert_eq!(me.may_write_with(mode, owner, group), may, "{mode:o} {owner} {group}");
        }
        let root = Someone { user: 0, groups: Vec::new() };
        assert!(root.may_write_with(0, 1, 1));
    }

    #[test]
    fn a_server_is_told_what_it_lacks() {
        let problems = |change: fn(&mut ServerFacts)| {
            let extension =
                |name: &str| (name.to_owned(), Some("3.5".to_owned()), Some("3.5".to_owned()));
            let mut facts = ServerFacts {
                version: 170_004,
                clock_millis: now().as_millis(),
                max_connections: 100,
                fsync: true,
                synchronous_commit: true,
                is_superuser: false,
                extensions: ["postgis", "pg_trgm", "btree_gin"].map(extension).to_vec(),
            };
            change(&mut facts);
            server(&facts).into_iter().map(|finding| finding.problem).collect::<Vec<_>>().join("|")
        };
        assert_eq!(problems(|_| {}), "");
        let lacking =
            |facts: &mut ServerFacts| facts.extensions[0] = ("postgis".to_owned(), None, None);
        assert_eq!(problems(lacking), "the extension postgis is not installed on the server");
        let absent = |facts: &mut ServerFacts| facts.extensions[0].1 = None;
        assert_eq!(problems(absent), "the extension postgis is not in this database");
        let old = |facts: &mut ServerFacts| facts.extensions[0].1 = Some("2.5.1".to_owned());
        assert_eq!(problems(old), "PostGIS 2.5.1 is older than 3");
        assert_eq!(
            problems(|facts| facts.version = 130_011),
            "PostgreSQL 13 is not maintained any more"
        );
        let late = problems(|facts| facts.clock_millis -= 3_600_000);
        assert_eq!(late, "the database's clock is 3600.0 s behind this machine's");
        assert!(problems(|facts| facts.max_connections = 20).contains("takes 20 connections"));
        assert!(problems(|facts| facts.fsync = false).contains("a power cut loses"));
    }
}
