//! Settings: embedded defaults, then the file, then the environment, then flags. Whatever is unknown
//! or wrong is refused by its dotted name.

use crate::{forwarded::Proxies, roles::Roles};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use groma_domain::token::TokenPrefix;
use groma_store::{DatabaseUrl, SealKey};
use ipnet::IpNet;
use serde::Deserialize;
use std::{
    fmt,
    net::{SocketAddr, ToSocketAddrs},
    path::{Path, PathBuf},
};
use thiserror::Error;
use toml::{Table, Value};

/// Every setting, checked.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) service: Service,
    pub(crate) server: Server,
    pub(crate) database: DatabaseUrl,
    pub(crate) limits: Limits,
    pub(crate) webhooks: Webhooks,
    pub(crate) map: Map,
    pub(crate) log: LogFormat,
}

/// How log lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogFormat {
    /// For people on a terminal, JSON otherwise.
    Auto,
    Text,
    Json,
}

#[derive(Clone, Debug)]
pub(crate) struct Service {
    pub(crate) name: String,
    pub(crate) token_prefix: TokenPrefix,
}

#[derive(Clone, Debug)]
pub(crate) struct Server {
    pub(crate) listen: SocketAddr,
    pub(crate) public_url: Option<String>,
    pub(crate) geo_listen: SocketAddr,
    pub(crate) geo_public_url: Option<String>,
    pub(crate) admin_listen: Option<SocketAddr>,
    pub(crate) roles: Roles,
    /// The networks of the proxies in front of this program.
    pub(crate) trusted_proxies: Vec<IpNet>,
}

impl Server {
    /// The proxies that may say who asks.
    pub(crate) fn proxies(&self) -> Proxies {
        Proxies::new(self.trusted_proxies.clone())
    }

    /// The main address as clients see it.
    pub(crate) fn public_url(&self) -> String {
        self.public_url.clone().unwrap_or_else(|| format!("http://{}", self.listen))
    }

    /// The geo address as clients see it.
    pub(crate) fn geo_public_url(&self) -> String {
        self.geo_public_url.clone().unwrap_or_else(|| format!("http://{}", self.geo_listen))
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Limits {
    pub(crate) requests_per_minute: u32,
    pub(crate) geojson_bytes: u64,
    pub(crate) tile_cache_bytes: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct Webhooks {
    pub(crate) allow_http: bool,
    pub(crate) allow_networks: Vec<IpNet>,
    pub(crate) extra_roots: Option<PathBuf>,
    pub(crate) encryption_key: Option<SealKey>,
}

#[derive(Clone, Debug)]
pub(crate) struct Map {
    pub(crate) style: Option<String>,
    pub(crate) hosts: Vec<String>,
}

/// A setting that stops the start, in one line that names it.
#[derive(Debug, Error)]
pub(crate) enum SettingsError {
    #[error("{name}: {reason}")]
    Wrong { name: String, reason: String },
    #[error("{path}: {reason}")]
    File { path: String, reason: String },
}

const DEFAULTS: &str = include_str!("settings.toml");
const PREFIX: &str = "GROMA_";

impl Settings {
    /// Reads the settings. `file` must exist when it was named; `flags` are dotted names with values.
    pub(crate) fn load(
        file: Option<&Path>,
        environment: impl IntoIterator<Item = (String, String)>,
        flags: &[(&str, String)],
    ) -> Result<Self, SettingsError> {
        let defaults = table("embedded defaults", DEFAULTS)?;
        let mut merged = defaults.clone();
        let named = file.unwrap_or(Path::new("groma.toml"));
        if file.is_some() || named.exists() {
            let path = named.display().to_string();
            let text = std::fs::read_to_string(named).map_err(|error| SettingsError::File {
                path: path.clone(),
                reason: error.to_string(),
            })?;
            merge(&mut merged, table(&path, &text)?, "")?;
        }
        for (variable, value) in environment {
            if let Some(path) = variable.strip_prefix(PREFIX) {
                let dotted = path.to_lowercase().replace("__", ".");
                set(&mut merged, &dotted, &value, &variable)?;
            }
        }
        for (dotted, value) in flags {
            set(&mut merged, dotted, value, dotted)?;
        }
        Raw::check(merged)
    }

    /// The settings with the addresses that were really bound: port 0 means any.
    pub(crate) fn bound(mut self, listen: Option<SocketAddr>, geo: Option<SocketAddr>) -> Self {
        self.server.listen = listen.unwrap_or(self.server.listen);
        self.server.geo_listen = geo.unwrap_or(self.server.geo_listen);
        self
    }
}

fn table(path: &str, text: &str) -> Result<Table, SettingsError> {
    text.parse().map_err(|error: toml::de::Error| SettingsError::File {
        path: path.to_owned(),
        reason: error.message().replace('\n', " "),
    })
}

/// Lays `above` over `below`; only names that `below` has are known.
fn merge(below: &mut Table, above: Table, prefix: &str) -> Result<(), SettingsError> {
    for (name, value) in above {
        let dotted = format!("{prefix}{name}");
        match (below.get_mut(&name), value) {
            (None, _) => return Err(unknown(&dotted)),
            (Some(Value::Table(below)), Value::Table(above)) => {
                merge(below, above, &format!("{dotted}."))?;
            }
            (Some(Value::Table(_)), _) => return Err(wrong(&dotted, "is a group of settings")),
            (Some(below), value) if below.same_type(&value) => *below = value,
            (Some(below), _) => {
                return Err(wrong(&dotted, format!("must be {}", type_name(below))));
            }
        }
    }
    Ok(())
}

/// Sets one value from its text, by the type that it has already.
fn set(settings: &mut Table, dotted: &str, text: &str, shown: &str) -> Result<(), SettingsError> {
    let mut names = dotted.split('.');
    let (group, name) = (names.next().unwrap_or_default(), names.next().unwrap_or_default());
    let group = settings.get_mut(group).and_then(Value::as_table_mut);
    let Some(value) =
        group.and_then(|group| group.get_mut(name)).filter(|_| names.next().is_none())
    else {
        return Err(unknown(shown));
    };
    let read = match value {
        Value::Integer(_) => text.trim().parse().ok().map(Value::Integer),
        Value::Boolean(_) => text.trim().parse().ok().map(Value::Boolean),
        Value::Array(_) => {
            let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
            Some(Value::Array(items.map(|item| Value::String(item.to_owned())).collect()))
        }
        _ => Some(Value::String(text.to_owned())),
    };
    *value = read.ok_or_else(|| wrong(shown, format!("must be {}", type_name(value))))?;
    Ok(())
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Integer(_) => "a whole number",
        Value::Boolean(_) => "true or false",
        Value::Array(_) => "a list",
        Value::Table(_) => "a group of settings",
        _ => "a text",
    }
}

fn unknown(name: &str) -> SettingsError {
    wrong(name, "is not a setting")
}

fn wrong(name: &str, reason: impl fmt::Display) -> SettingsError {
    SettingsError::Wrong { name: name.to_owned(), reason: reason.to_string() }
}

/// The settings as they are written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    service: RawService,
    server: RawServer,
    database: RawDatabase,
    limits: RawLimits,
    webhooks: RawWebhooks,
    map: RawMap,
    log: RawLog,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawService {
    name: String,
    token_prefix: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawServer {
    listen: String,
    public_url: String,
    geo_listen: String,
    geo_public_url: String,
    admin_listen: String,
    roles: Vec<String>,
    trusted_proxies: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawDatabase {
    url: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawLimits {
    requests_per_minute: i64,
    geojson_bytes: i64,
    tile_cache_bytes: i64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawWebhooks {
    allow_http: bool,
    allow_networks: Vec<String>,
    extra_roots: String,
    encryption_key: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawMap {
    style: String,
    hosts: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawLog {
    format: String,
}

impl Raw {
    fn check(merged: Table) -> Result<Settings, SettingsError> {
        let raw: Self = serde_path_to_error::deserialize(Value::Table(merged))
            .map_err(|error| wrong(&error.path().to_string(), error.inner().message()))?;
        Ok(Settings {
            service: Service {
                name: header_word("service.name", &raw.service.name)?,
                token_prefix: TokenPrefix::parse(&raw.service.token_prefix)
                    .map_err(|reason| wrong("service.token_prefix", reason))?,
            },
            server: Server {
                listen: address("server.listen", &raw.server.listen)?,
                public_url: url("server.public_url", &raw.server.public_url)?,
                geo_listen: address("server.geo_listen", &raw.server.geo_listen)?,
                geo_public_url: url("server.geo_public_url", &raw.server.geo_public_url)?,
                admin_listen: given(&raw.server.admin_listen)
                    .map(|text| address("server.admin_listen", text))
                    .transpose()?,
                roles: Roles::parse(&raw.server.roles)
                    .map_err(|reason| wrong("server.roles", reason))?,
                trusted_proxies: networks("server.trusted_proxies", &raw.server.trusted_proxies)?,
            },
            database: raw.database.url.parse().map_err(|reason| wrong("database.url", reason))?,
            limits: Limits {
                requests_per_minute: u32::try_from(raw.limits.requests_per_minute)
                    .ok()
                    .filter(|limit| *limit <= 1_000_000)
                    .ok_or_else(|| {
                        wrong("limits.requests_per_minute", "must be from 0 to 1000000")
                    })?,
                geojson_bytes: u64::try_from(raw.limits.geojson_bytes)
                    .ok()
                    .filter(|bytes| *bytes >= 1024)
                    .ok_or_else(|| wrong("limits.geojson_bytes", "must be at least 1024"))?,
                tile_cache_bytes: u64::try_from(raw.limits.tile_cache_bytes)
                    .map_err(|_| wrong("limits.tile_cache_bytes", "must not be negative"))?,
            },
            webhooks: Webhooks {
                allow_http: raw.webhooks.allow_http,
                allow_networks: networks("webhooks.allow_networks", &raw.webhooks.allow_networks)?,
                extra_roots: given(&raw.webhooks.extra_roots).map(PathBuf::from),
                encryption_key: given(&raw.webhooks.encryption_key).map(seal_key).transpose()?,
            },
            map: map(&raw.map)?,
            log: log_format(&raw.log.format)?,
        })
    }
}

fn header_word(name: &str, text: &str) -> Result<String, SettingsError> {
    let fits = (1..=40).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    if fits {
        Ok(text.to_owned())
    } else {
        Err(wrong(name, "must be 1 to 40 letters, digits or hyphens"))
    }
}

/// What was given, if anything was.
fn given(text: &str) -> Option<&str> {
    Some(text.trim()).filter(|text| !text.is_empty())
}

fn seal_key(text: &str) -> Result<SealKey, SettingsError> {
    let bytes = hex::decode(text).ok().or_else(|| STANDARD.decode(text).ok());
    let key: Option<[u8; 32]> = bytes.and_then(|bytes| bytes.try_into().ok());
    // What was given is not repeated: it may be a key with a slip in it.
    let expected = "must be 32 bytes as 64 hexadecimal digits or as base64";
    key.map(SealKey::new).ok_or_else(|| wrong("webhooks.encryption_key", expected))
}

/// An address with a port; of the addresses of a name the first, IPv4 before IPv6.
fn address(name: &str, text: &str) -> Result<SocketAddr, SettingsError> {
    let found = text.to_socket_addrs().ok();
    let found = found.and_then(|found| found.min_by_key(SocketAddr::is_ipv6));
    found.ok_or_else(|| wrong(name, format!("must be an address with a port, not `{text}`")))
}

fn url(name: &str, text: &str) -> Result<Option<String>, SettingsError> {
    if text.is_empty() {
        return Ok(None);
    }
    let text = text.trim_end_matches('/');
    let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    match host {
        Some(host) if !host.is_empty() && !text.contains(['?', '#', ' ']) => {
            Ok(Some(text.to_owned()))
        }
        _ => Err(wrong(name, "must be an http or https address")),
    }
}

/// The map's style and the hosts it loads from: its own, and those that are named.
fn map(raw: &RawMap) -> Result<Map, SettingsError> {
    let style = url("map.style", &raw.style)?;
    let mut hosts = Vec::new();
    for host in style.iter().chain(&raw.hosts) {
        let host = url("map.hosts", host)?.unwrap_or_default();
        let start = host.find("://").map_or(0, |at| at + 3);
        let end = host[start..].find('/').map_or(host.len(), |at| start + at);
        let host = host[..end].to_owned();
        if host.contains([';', ',', '\'', '"']) {
            return Err(wrong("map.hosts", format!("`{host}` is not an address")));
        }
        if !host.is_empty() && !hosts.contains(&host) {
            hosts.push(host);
        }
    }
    Ok(Map { style, hosts })
}

fn networks(name: &str, texts: &[String]) -> Result<Vec<IpNet>, SettingsError> {
    let network = |text: &String| {
        let single = || text.parse::<std::net::IpAddr>().map(IpNet::from);
        text.parse::<IpNet>()
            .or_else(|_| single())
            .map_err(|_| wrong(name, format!("`{text}` is not a network such as 10.0.0.0/8")))
    };
    texts.iter().map(network).collect()
}

fn log_format(text: &str) -> Result<LogFormat, SettingsError> {
    match text {
        "auto" => Ok(LogFormat::Auto),
        "text" => Ok(LogFormat::Text),
        "json" => Ok(LogFormat::Json),
        _ => Err(wrong("log.format", "must be auto, text or json")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(environment: &[(&str, &str)], flags: &[(&str, &str)]) -> Result<Settings, String> {
        let environment =
            environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let flags: Vec<_> =
            flags.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        Settings::load(None, environment, &flags).map_err(|error| error.to_string())
    }

    #[test]
    fn flags_stand_above_the_environment_and_that_above_the_defaults() {
        let settings = load(
            &[
                ("GROMA_SERVER__LISTEN", "127.0.0.1:1"),
                ("GROMA_DATABASE__URL", "sqlite:a"),
                ("HOME", "x"),
            ],
            &[("database.url", "sqlite:b")],
        )
        .unwrap();
        assert_eq!(settings.server.listen.port(), 1);
        assert_eq!(settings.server.geo_listen.port(), 8081);
        assert_eq!(settings.database, "sqlite:b".parse().unwrap());
    }

    #[test]
    fn lists_in_the_environment_have_commas_and_may_be_empty() {
        let networks = |text: &str| {
            load(&[("GROMA_WEBHOOKS__ALLOW_NETWORKS", text)], &[])
                .unwrap()
                .webhooks
                .allow_networks
                .len()
        };
        assert_eq!(networks(""), 0);
        assert_eq!(networks("10.0.0.0/8, ::1"), 2);
    }

    #[test]
    fn an_address_may_be_a_name() {
        let settings = load(&[("GROMA_SERVER__LISTEN", "localhost:8080")], &[]).unwrap();
        assert!(settings.server.listen.ip().is_loopback());
        assert_eq!(settings.server.listen.port(), 8080);
    }

    #[test]
    fn what_is_unknown_or_wrong_is_named() {
        for (name, value, message) in [
            ("GROMA_LISTEN", "x", "GROMA_LISTEN: is not a setting"),
            ("GROMA_SERVER__PORT", "1", "GROMA_SERVER__PORT: is not a setting"),
            (
                "GROMA_SERVER__LISTEN",
                "8080",
                "server.listen: must be an address with a port, not `8080`",
            ),
            (
                "GROMA_LIMITS__REQUESTS_PER_MINUTE",
                "many",
                "GROMA_LIMITS__REQUESTS_PER_MINUTE: must be a whole number",
            ),
            (
                "GROMA_LIMITS__REQUESTS_PER_MINUTE",
                "-1",
                "limits.requests_per_minute: must be from 0 to 1000000",
            ),
            (
                "GROMA_DATABASE__URL",
                "mysql://x",
                "database.url: must be `sqlite:PATH` or `postgres://…`",
            ),
            (
                "GROMA_SERVICE__TOKEN_PREFIX",
                "a_b",
                "service.token_prefix: must be 1 to 16 lowercase letters or digits",
            ),
            (
                "GROMA_WEBHOOKS__ENCRYPTION_KEY",
                "0123",
                "webhooks.encryption_key: must be 32 bytes as 64 hexadecimal digits or as base64",
            ),
            (
                "GROMA_SERVER__ADMIN_LISTEN",
                "9090",
                "server.admin_listen: must be an address with a port, not `9090`",
            ),
            (
                "GROMA_SERVER__ROLES",
                "main,deliverer",
                "server.roles: `deliverer` is no role; there are main, geo, deliver and web",
            ),
            (
                "GROMA_SERVER__ROLES",
                " , ",
                "server.roles: must name at least one of main, geo, deliver and web",
            ),
            (
                "GROMA_SERVER__TRUSTED_PROXIES",
                "10.0.0.0/8,proxy",
                "server.trusted_proxies: `proxy` is not a network such as 10.0.0.0/8",
            ),
            ("GROMA_LOG__FORMAT", "xml", "log.format: must be auto, text or json"),
            (
                "GROMA_WEBHOOKS__ALLOW_HTTP",
                "yes",
                "GROMA_WEBHOOKS__ALLOW_HTTP: must be true or false",
            ),
        ] {
            assert_eq!(load(&[(name, value)], &[]).unwrap_err(), message);
        }
    }

    #[test]
    fn an_encryption_key_is_hexadecimal_or_base64_and_never_printed() {
        for key in ["ab".repeat(32), STANDARD.encode([0xab; 32])] {
            let settings = load(&[("GROMA_WEBHOOKS__ENCRYPTION_KEY", &key)], &[]).unwrap();
            assert!(settings.webhooks.encryption_key.is_some());
            assert!(!format!("{settings:?}").contains(&key));
        }
        assert!(load(&[("GROMA_WEBHOOKS__ENCRYPTION_KEY", "")], &[]).is_ok());
    }

    #[test]
    fn a_file_with_a_stranger_in_it_is_refused_by_its_dotted_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("groma.toml");
        let load = |text: &str| {
            std::fs::write(&path, text).unwrap();
            Settings::load(Some(&path), [], &[])
                .map(|settings| settings.server.listen.port())
                .map_err(|e| e.to_string())
        };
        assert_eq!(load("[server]\nlisten = \"127.0.0.1:9\""), Ok(9));
        assert_eq!(load("[server]\nport = 9"), Err("server.port: is not a setting".into()));
        assert_eq!(load("[server]\nlisten = 9"), Err("server.listen: must be a text".into()));
        assert_eq!(load("server = 9"), Err("server: is a group of settings".into()));
    }
}
