//! Checks whether the database exists, is up to date and can be written to.

use super::Finding;
use crate::{
    clock,
    commands::{
        CommandError,
        key_file::{self, KeyFile},
    },
    oidc,
    settings::Settings,
};
use groma_store::{DatabaseUrl, Encryption, Error, SecretsState, ServerInfo, Store};
use std::{
    fs::Metadata,
    os::unix::fs::MetadataExt,
    path::Path,
    time::{Duration, SystemTime},
};

/// The state of the database, as far as it is known.
pub(super) struct Database {
    pub(super) engine: &'static str,
    pub(super) address: String,
    pub(super) is_reachable: bool,
    /// How the connection is encrypted; `None` for SQLite.
    pub(super) encryption: Option<String>,
    /// The missing migrations.
    pub(super) pending: Option<Vec<String>>,
    pub(super) workspaces: Option<usize>,
    pub(super) secrets: Option<SecretsState>,
}

const MAX_CLOCK_SKEW_MILLIS: i64 = 2_000;
/// How far in the future a file's modification time may be.
const MAX_FILE_TIME_AHEAD: Duration = Duration::from_secs(60);
/// The maximum connections of one `groma serve`: the pool, the pipelined read connections, one for
/// notifications and one for liveness checks.
const CONNECTIONS_PER_SERVER: i32 = 26;

pub(super) async fn inspect(settings: &Settings, findings: &mut Vec<Finding>) -> Database {
    let (engine, address) = match &settings.database {
        DatabaseUrl::Sqlite(path) => ("SQLite", path.display().to_string()),
        DatabaseUrl::Postgres(url) => ("PostgreSQL", without_password(url)),
    };
    let mut database = Database {
        engine,
        address,
        is_reachable: false,
        encryption: None,
        pending: None,
        workspaces: None,
        secrets: None,
    };
    if let Err(error) = database.inspect(settings, findings).await {
        findings.push(connection_finding(&error));
    }
    database
}

impl Database {
    async fn inspect(
        &mut self,
        settings: &Settings,
        findings: &mut Vec<Finding>,
    ) -> Result<(), Error> {
        if let DatabaseUrl::Sqlite(path) = &settings.database {
            findings.extend(file_findings(path));
        }
        if let Some(facts) = Store::server_info(&settings.database).await? {
            self.encryption = Some(encryption(&facts));
            findings.extend(server_findings(&facts));
        }
        let pending = Store::pending_migrations(&settings.database).await?;
        self.is_reachable = true;
        let is_pending = !pending.is_empty();
        if is_pending {
            findings.push(Finding::error(
                format!("migrations are pending: {}", pending.join(", ")),
                "start `groma serve`, which runs them",
            ));
        }
        self.pending = Some(pending);
        if is_pending {
            return Ok(());
        }
        let store = Store::open_existing(&settings.database).await?;
        let keys = key_file::load(settings, false);
        let keys = keys.map_err(|error| findings.push(unreadable_key(&error))).unwrap_or_default();
        store.set_encryption_keys(keys);
        store.ping().await?;
        let secrets = store.secrets_state().await?;
        findings.extend(secret_findings(&secrets, store.is_sqlite()));
        findings.extend(KeyFile::in_use(settings).iter().flat_map(key_file_findings));
        self.secrets = Some(secrets);
        let workspaces = store.workspaces().await?.len();
        self.workspaces = Some(workspaces);
        if workspaces == 0 {
            findings.push(Finding::note(
                "there is no workspace yet",
                "create one with `groma workspace create`, or open the setup page that `groma serve` \
                 prints",
            ));
        }
        for provider in &settings.oidc {
            let Some(rule) = &provider.membership else { continue };
            if let Err(error) = oidc::find_workspace(&store, rule).await {
                findings.push(Finding::warning(
                    format!("oidc.{}.workspace: {error}", provider.name),
                    "create the workspace or correct the setting; new users cannot join with this \
                     provider",
                ));
            }
        }
        Ok(())
    }
}

fn connection_finding(error: &Error) -> Finding {
    let text = error.to_string();
    let remedy = match error {
        Error::DatabaseSetup { problem, remedy } => return Finding::error(problem, remedy),
        // This message contains its remedy.
        Error::Missing(_) => {
            let (problem, remedy) = text.split_once("; ").unwrap_or((&text, "create it"));
            return Finding::error(problem, remedy);
        }
        Error::HardLinked(_) => "remove the other hard links",
        Error::File { .. } => {
            "give the user who runs Groma read and write access to it and to its folder"
        }
        Error::Postgres(_) | Error::Pool(_) => "check the log of the PostgreSQL server",
        Error::Url(_) => "use the form postgres://USER@HOST/NAME",
        _ => "check the database file, and restore a backup if it is damaged",
    };
    Finding::error(text, remedy)
}

/// Checks the permissions of a database file and its folder, and the clock.
fn file_findings(path: &Path) -> Vec<Finding> {
    let mut findings = Vec::new();
    let Ok(metadata) = std::fs::metadata(path) else { return findings };
    let file = path.display();
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let user = ProcessUser::current();
    if !user.can_write(&metadata) {
        findings.push(Finding::error(
            format!("this user cannot write to {file}"),
            "run Groma as the file's owner, or change the owner with chown",
        ));
    }
    if std::fs::metadata(folder).is_ok_and(|folder| !user.can_write(&folder)) {
        let folder = folder.display();
        findings.push(Finding::error(
            format!("this user cannot create files in {folder}, where SQLite writes its log"),
            "run Groma as the folder's owner, or change the owner with chown",
        ));
    }
    if metadata.mode() & 0o077 != 0 {
        findings.push(Finding::warning(
            format!("other users of this machine can read or write {file}"),
            format!("run: chmod 600 {file}"),
        ));
    }
    let modified = metadata.modified().ok();
    let ahead = modified.and_then(|time| time.duration_since(SystemTime::now()).ok());
    if ahead.is_some_and(|ahead| ahead > MAX_FILE_TIME_AHEAD) {
        findings.push(Finding::warning(
            format!("{file} was modified in the future: this machine's clock was set back"),
            "correct the clock and synchronize it with a time server",
        ));
    }
    findings
}

/// The user and groups of this process.
struct ProcessUser {
    user: u32,
    groups: Vec<u32>,
}

impl ProcessUser {
    /// Read from `/proc`. On systems without it, root is assumed, and the database reports missing
    /// permissions itself.
    fn current() -> Self {
        let Ok(process) = std::fs::metadata("/proc/self") else {
            return Self { user: 0, groups: Vec::new() };
        };
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let groups = status.lines().find_map(|line| line.strip_prefix("Groups:"));
        let groups = groups.unwrap_or_default().split_whitespace();
        let groups = groups.filter_map(|group| group.parse().ok()).chain([process.gid()]);
        Self { user: process.uid(), groups: groups.collect() }
    }

    fn can_write(&self, file: &Metadata) -> bool {
        self.can_write_mode(file.mode(), file.uid(), file.gid())
    }

    fn can_write_mode(&self, mode: u32, owner: u32, group: u32) -> bool {
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

/// How the connection to the server is encrypted.
fn encryption(facts: &ServerInfo) -> String {
    let Some(version) = &facts.tls_version else { return "not encrypted".to_owned() };
    let verified = match facts.encryption {
        Encryption::Disabled | Encryption::Preferred | Encryption::Required => {
            "certificate not verified"
        }
        Encryption::VerifiedAuthority => "authority of the certificate verified",
        Encryption::VerifiedHost => "authority and host of the certificate verified",
    };
    format!("{version}, {verified}")
}

fn encryption_finding(facts: &ServerInfo) -> Option<Finding> {
    if facts.is_local {
        return None;
    }
    match facts.encryption {
        Encryption::Disabled => Some(Finding::warning(
            "the connection to the database server is not encrypted",
            "remove sslmode=disable from database.url, and enable encryption on the server (ssl = on)",
        )),
        Encryption::Preferred | Encryption::Required => Some(Finding::note(
            "the certificate of the database server is not verified",
            "add sslmode=verify-full and sslrootcert to database.url",
        )),
        Encryption::VerifiedAuthority | Encryption::VerifiedHost => None,
    }
}

fn server_findings(facts: &ServerInfo) -> Vec<Finding> {
    let mut findings: Vec<_> = encryption_finding(facts).into_iter().collect();
    let major = facts.version / 10_000;
    if major < 14 {
        findings.push(Finding::warning(
            format!("PostgreSQL {major} is no longer maintained"),
            "upgrade the server (pg_upgrade)",
        ));
    }
    for (name, installed, available) in &facts.extensions {
        let (installed, available) = (installed.as_deref(), available.as_deref());
        findings.extend(extension_finding(name, installed, available, facts.is_superuser));
    }
    let skew = facts.clock_millis - clock::now().as_millis();
    if skew.abs() > MAX_CLOCK_SKEW_MILLIS {
        let seconds = skew.abs() as f64 / 1_000.0;
        let direction = if skew > 0 { "ahead of" } else { "behind" };
        findings.push(Finding::warning(
            format!("the database server's clock is {seconds:.1} s {direction} this machine's clock"),
            "synchronize both with a time server: sessions, tokens and deliveries depend on the time",
        ));
    }
    if facts.max_connections < CONNECTIONS_PER_SERVER + 5 {
        findings.push(Finding::warning(
            format!(
                "the server allows {} connections, but each `groma serve` uses up to \
                 {CONNECTIONS_PER_SERVER}",
                facts.max_connections
            ),
            "increase max_connections on the server",
        ));
    }
    if !facts.fsync || !facts.synchronous_commit {
        findings.push(Finding::note(
            "fsync or synchronous_commit is off on the server: a power failure can lose committed data",
            "turn both on, unless the data may be lost",
        ));
    }
    findings
}

fn extension_finding(
    name: &str,
    installed: Option<&str>,
    available: Option<&str>,
    is_superuser: bool,
) -> Option<Finding> {
    let is_postgis = name == "postgis";
    let create = format!("run CREATE EXTENSION {name} in this database as a superuser");
    match (installed, available) {
        (Some(version), _) => {
            let major = version.split('.').next().and_then(|major| major.parse::<u32>().ok());
            (is_postgis && major.is_some_and(|major| major < 3)).then(|| {
                Finding::warning(
                    format!("PostGIS {version} is older than 3"),
                    "install a newer version, then run SELECT postgis_extensions_upgrade()",
                )
            })
        }
        (None, None) => Some(Finding::error(
            format!("the extension {name} is not installed on the server"),
            if is_postgis {
                format!("install PostGIS 3 (Debian: postgresql-postgis), then {create}")
            } else {
                format!("install the PostgreSQL contrib modules, then {create}")
            },
        )),
        (None, Some(_)) if is_superuser || !is_postgis => None,
        (None, Some(_)) => {
            Some(Finding::error(format!("this database lacks the extension {name}"), create))
        }
    }
}

fn unreadable_key(error: &CommandError) -> Finding {
    Finding::error(
        error.to_string(),
        "restore the key file from your copy, and make it readable for the user of the server",
    )
}

fn key_file_findings(file: &KeyFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    let path = file.path.display();
    if std::fs::metadata(&file.path).is_ok_and(|file| file.mode() & 0o077 != 0) {
        findings.push(Finding::warning(
            format!("{path} is the key of webhook secrets, and other users can read it"),
            format!("run: chmod 600 {path}"),
        ));
    }
    if file.next.exists() {
        findings.push(Finding::warning(
            "a change of the key of webhook secrets was interrupted",
            "finish it: stop the server and run `groma webhook rekey`",
        ));
    }
    findings
}

fn secret_findings(secrets: &SecretsState, is_sqlite: bool) -> Option<Finding> {
    if secrets.unreadable > 0 {
        let key = if is_sqlite { "the key file or " } else { "" };
        return Some(Finding::error(
            format!(
                "{} webhook secrets cannot be decrypted with {key}webhooks.encryption_key",
                secrets.unreadable
            ),
            "restore the key that they were encrypted with, or replace the secrets of these \
             endpoints with `groma webhook rotate`",
        ));
    }
    if !secrets.has_key && is_sqlite {
        // The next start creates the key file and encrypts them.
        return None;
    }
    if !secrets.has_key {
        return Some(Finding::warning(
            "webhooks.encryption_key is not set, so webhook secrets are stored unencrypted",
            "set it on every replica to the output of `openssl rand -hex 32`, then run \
             `groma webhook encrypt`",
        ));
    }
    (secrets.plain > 0).then(|| {
        Finding::note(
            format!("{} webhook secrets are stored unencrypted", secrets.plain),
            "encrypt them with `groma webhook encrypt`",
        )
    })
}

/// The URL without its password.
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
    fn write_access_follows_owner_then_group_then_others() {
        let user = ProcessUser { user: 1000, groups: vec![7] };
        for (mode, owner, group, expected) in [
            (0o600, 1000, 0, true),
            (0o400, 1000, 7, false),
            (0o660, 1, 7, true),
            (0o640, 1, 7, false),
            (0o662, 1, 8, true),
            (0o660, 1, 8, false),
        ] {
            assert_eq!(
                user.can_write_mode(mode, owner, group),
                expected,
                "{mode:o} {owner} {group}"
            );
        }
        let root = ProcessUser { user: 0, groups: Vec::new() };
        assert!(root.can_write_mode(0, 1, 1));
    }

    #[test]
    fn server_findings_name_each_problem() {
        let problems = |change: fn(&mut ServerInfo)| {
            let extension =
                |name: &str| (name.to_owned(), Some("3.5".to_owned()), Some("3.5".to_owned()));
            let mut facts = ServerInfo {
                version: 170_004,
                clock_millis: clock::now().as_millis(),
                max_connections: 100,
                fsync: true,
                synchronous_commit: true,
                tls_version: Some("TLSv1.3".to_owned()),
                encryption: Encryption::VerifiedHost,
                is_local: false,
                is_superuser: false,
                extensions: ["postgis", "pg_trgm", "btree_gin"].map(extension).to_vec(),
            };
            change(&mut facts);
            let findings = server_findings(&facts).into_iter();
            findings.map(|finding| finding.problem).collect::<Vec<_>>().join("|")
        };
        assert_eq!(problems(|_| {}), "");
        let unavailable =
            |facts: &mut ServerInfo| facts.extensions[0] = ("postgis".to_owned(), None, None);
        assert_eq!(problems(unavailable), "the extension postgis is not installed on the server");
        let missing = |facts: &mut ServerInfo| facts.extensions[0].1 = None;
        assert_eq!(problems(missing), "this database lacks the extension postgis");
        let old = |facts: &mut ServerInfo| facts.extensions[0].1 = Some("2.5.1".to_owned());
        assert_eq!(problems(old), "PostGIS 2.5.1 is older than 3");
        assert_eq!(
            problems(|facts| facts.version = 130_011),
            "PostgreSQL 13 is no longer maintained"
        );
        let slow_clock = problems(|facts| facts.clock_millis -= 3_600_000);
        assert_eq!(
            slow_clock,
            "the database server's clock is 3600.0 s behind this machine's clock"
        );
        assert!(problems(|facts| facts.max_connections = 20).contains("allows 20 connections"));
        let unencrypted = |facts: &mut ServerInfo| facts.encryption = Encryption::Disabled;
        assert!(problems(unencrypted).contains("is not encrypted"));
        let unverified = |facts: &mut ServerInfo| facts.encryption = Encryption::Required;
        assert!(problems(unverified).contains("is not verified"));
        let local = |facts: &mut ServerInfo| {
            (facts.encryption, facts.is_local) = (Encryption::Disabled, true);
        };
        assert_eq!(problems(local), "");
        assert!(problems(|facts| facts.fsync = false).contains("a power failure can lose"));
    }
}
