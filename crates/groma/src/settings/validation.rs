//! Validation: from the merged table to typed settings.

use super::{
    Changes, Geo, Limits, LogFormat, Map, Ogc, Security, Server, Service, Settings, SettingsError,
    Tls, Webhooks,
    oidc::{self, RawProvider},
    smtp::{self, RawSmtp},
};
use crate::roles::Roles;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use groma_domain::token::TokenPrefix;
use groma_store::EncryptionKey;
use ipnet::IpNet;
use serde::Deserialize;
use std::{
    collections::BTreeMap,
    fmt,
    net::{SocketAddr, ToSocketAddrs},
    path::PathBuf,
    time::Duration,
};
use toml::{Table, Value};

/// The largest limit of connections and uploads.
const MAX_CONNECTIONS: u64 = 1_000_000;

/// The settings as written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    service: RawService,
    server: RawServer,
    database: RawDatabase,
    limits: RawLimits,
    webhooks: RawWebhooks,
    ogc: RawOgc,
    changes: RawChanges,
    security: RawSecurity,
    oidc: BTreeMap<String, RawProvider>,
    smtp: RawSmtp,
    geo: RawGeo,
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
    tls: RawTls,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTls {
    certificate: String,
    key: String,
    redirect_listen: String,
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
    map_requests_per_minute: i64,
    pages_per_minute: i64,
    search_millis: i64,
    searches_per_member: i64,
    searches_per_workspace: i64,
    geojson_bytes: i64,
    import_bytes: i64,
    tile_cache_bytes: i64,
    body_seconds: i64,
    min_upload_rate: i64,
    uploads_per_token: i64,
    uploads: i64,
    connections_per_address: i64,
    connections: i64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawWebhooks {
    allow_http: bool,
    allow_networks: Vec<String>,
    extra_roots: String,
    encryption_key: String,
    previous_encryption_key: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawOgc {
    require_if_match: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawChanges {
    feed_days: i64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawSecurity {
    log_days: i64,
    max_token_days: i64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawGeo {
    grids: String,
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

/// A number of days; `None` for 0.
fn days(name: &str, days: i64) -> Result<Option<u32>, SettingsError> {
    let days = u32::try_from(days).ok().filter(|days| *days <= 36_500);
    let days = days.ok_or_else(|| wrong(name, "must be from 0 to 36500"))?;
    Ok(Some(days).filter(|days| *days > 0))
}

fn count(
    name: &str,
    value: i64,
    range: std::ops::RangeInclusive<u64>,
) -> Result<u64, SettingsError> {
    let value = u64::try_from(value).ok().filter(|value| range.contains(value));
    value.ok_or_else(|| wrong(name, format!("must be from {} to {}", range.start(), range.end())))
}

fn limits(raw: &RawLimits) -> Result<Limits, SettingsError> {
    Ok(Limits {
        requests_per_minute: rate_limit("limits.requests_per_minute", raw.requests_per_minute)?,
        map_requests_per_minute: rate_limit(
            "limits.map_requests_per_minute",
            raw.map_requests_per_minute,
        )?,
        pages_per_minute: rate_limit("limits.pages_per_minute", raw.pages_per_minute)?,
        search_timeout: search_timeout(raw.search_millis)?,
        searches_per_member: concurrency("limits.searches_per_member", raw.searches_per_member)?,
        searches_per_workspace: concurrency(
            "limits.searches_per_workspace",
            raw.searches_per_workspace,
        )?,
        geojson_bytes: u64::try_from(raw.geojson_bytes)
            .ok()
            .filter(|bytes| *bytes >= 1024)
            .ok_or_else(|| wrong("limits.geojson_bytes", "must be at least 1024"))?,
        import_bytes: u64::try_from(raw.import_bytes)
            .ok()
            .filter(|bytes| *bytes >= 1024)
            .ok_or_else(|| wrong("limits.import_bytes", "must be at least 1024"))?,
        tile_cache_bytes: u64::try_from(raw.tile_cache_bytes)
            .map_err(|_| wrong("limits.tile_cache_bytes", "must be at least 0"))?,
        body_timeout: count("limits.body_seconds", raw.body_seconds, 1..=3600)
            .map(Duration::from_secs)?,
        min_upload_rate: count("limits.min_upload_rate", raw.min_upload_rate, 0..=1 << 30)?,
        uploads_per_token: count(
            "limits.uploads_per_token",
            raw.uploads_per_token,
            1..=MAX_CONNECTIONS,
        )?,
        uploads: count("limits.uploads", raw.uploads, 1..=MAX_CONNECTIONS)?,
        connections_per_address: count(
            "limits.connections_per_address",
            raw.connections_per_address,
            1..=MAX_CONNECTIONS,
        )?,
        connections: count("limits.connections", raw.connections, 1..=MAX_CONNECTIONS)?,
    })
}

fn rate_limit(name: &str, limit: i64) -> Result<u32, SettingsError> {
    let limit = u32::try_from(limit).ok().filter(|limit| *limit <= 1_000_000);
    limit.ok_or_else(|| wrong(name, "must be from 0 to 1000000"))
}

fn concurrency(name: &str, limit: i64) -> Result<u32, SettingsError> {
    let limit = u32::try_from(limit).ok().filter(|limit| *limit <= 1_000);
    limit.ok_or_else(|| wrong(name, "must be from 0 to 1000"))
}

fn search_timeout(millis: i64) -> Result<Option<Duration>, SettingsError> {
    let millis = u64::try_from(millis).ok().filter(|millis| *millis <= 3_600_000);
    let millis =
        millis.ok_or_else(|| wrong("limits.search_millis", "must be from 0 to 3600000"))?;
    Ok((millis > 0).then(|| Duration::from_millis(millis)))
}

/// Checks every setting.
pub(super) fn validate(merged: Table) -> Result<Settings, SettingsError> {
    let raw: Raw = serde_path_to_error::deserialize(Value::Table(merged))
        .map_err(|error| wrong(&error.path().to_string(), error.inner().message()))?;
    Ok(Settings {
        service: Service {
            name: non_empty(&raw.service.name).map(service_name).transpose()?,
            token_prefix: TokenPrefix::parse(&raw.service.token_prefix)
                .map_err(|reason| wrong("service.token_prefix", reason))?,
        },
        server: Server {
            listen: address("server.listen", &raw.server.listen)?,
            public_url: url("server.public_url", &raw.server.public_url)?,
            geo_listen: address("server.geo_listen", &raw.server.geo_listen)?,
            geo_public_url: url("server.geo_public_url", &raw.server.geo_public_url)?,
            admin_listen: non_empty(&raw.server.admin_listen)
                .map(|text| address("server.admin_listen", text))
                .transpose()?,
            roles: Roles::parse(&raw.server.roles)
                .map_err(|reason| wrong("server.roles", reason))?,
            trusted_proxies: networks("server.trusted_proxies", &raw.server.trusted_proxies)?,
            tls: tls(&raw.server)?,
        },
        database: raw.database.url.parse().map_err(|reason| wrong("database.url", reason))?,
        limits: limits(&raw.limits)?,
        webhooks: Webhooks {
            allow_http: raw.webhooks.allow_http,
            allow_networks: networks("webhooks.allow_networks", &raw.webhooks.allow_networks)?,
            extra_roots: non_empty(&raw.webhooks.extra_roots).map(PathBuf::from),
            encryption_key: encryption_key(
                "webhooks.encryption_key",
                &raw.webhooks.encryption_key,
            )?,
            previous_encryption_key: previous_encryption_key(&raw.webhooks)?,
        },
        ogc: Ogc { require_if_match: raw.ogc.require_if_match },
        changes: Changes { feed_days: days("changes.feed_days", raw.changes.feed_days)? },
        security: Security {
            log_retention: days("security.log_days", raw.security.log_days)?
                .map(|days| Duration::from_secs(u64::from(days) * 86_400)),
            max_token_days: days("security.max_token_days", raw.security.max_token_days)?,
        },
        oidc: oidc::validate(raw.oidc)?,
        smtp: smtp::validate(raw.smtp)?,
        geo: Geo { grids: non_empty(&raw.geo.grids).map(PathBuf::from) },
        map: map(&raw.map)?,
        log: log_format(&raw.log.format)?,
    })
}

/// The settings of HTTPS, which must not contradict each other. The files are read when the server starts:
/// other users of commands need not be able to read the key.
fn tls(server: &RawServer) -> Result<Option<Tls>, SettingsError> {
    let raw = &server.tls;
    let (certificate, key) = match (non_empty(&raw.certificate), non_empty(&raw.key)) {
        (Some(certificate), Some(key)) => (PathBuf::from(certificate), PathBuf::from(key)),
        (Some(_), None) => return Err(wrong("server.tls.key", "is required by the certificate")),
        (None, Some(_)) => return Err(wrong("server.tls.certificate", "is required by the key")),
        (None, None) if non_empty(&raw.redirect_listen).is_some() => {
            return Err(wrong("server.tls.redirect_listen", "requires server.tls.certificate"));
        }
        (None, None) => return Ok(None),
    };
    for (name, url) in [
        ("server.public_url", &server.public_url),
        ("server.geo_public_url", &server.geo_public_url),
    ] {
        if url.starts_with("http://") {
            return Err(wrong(name, "must be an https URL, because server.tls.certificate is set"));
        }
    }
    let redirect_listen = non_empty(&raw.redirect_listen)
        .map(|text| address("server.tls.redirect_listen", text))
        .transpose()?;
    if redirect_listen.is_some() && server.public_url.is_empty() {
        return Err(wrong("server.public_url", "is required by server.tls.redirect_listen"));
    }
    Ok(Some(Tls { certificate, key, redirect_listen }))
}

fn wrong(name: &str, reason: impl fmt::Display) -> SettingsError {
    SettingsError::new(name, reason)
}

/// A name that can be part of an HTTP header.
fn service_name(text: &str) -> Result<String, SettingsError> {
    let is_valid =
        text.len() <= 40 && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    if is_valid {
        Ok(text.to_owned())
    } else {
        Err(wrong("service.name", "must be 1 to 40 letters, digits or hyphens"))
    }
}

fn non_empty(text: &str) -> Option<&str> {
    Some(text.trim()).filter(|text| !text.is_empty())
}

fn encryption_key(name: &str, text: &str) -> Result<Option<EncryptionKey>, SettingsError> {
    let Some(text) = non_empty(text) else { return Ok(None) };
    // The message does not repeat the value, which may be a key with a typing error.
    let expected = "must be 32 bytes as 64 hexadecimal digits or as base64";
    parse_encryption_key(text).map(Some).ok_or_else(|| wrong(name, expected))
}

fn previous_encryption_key(raw: &RawWebhooks) -> Result<Option<EncryptionKey>, SettingsError> {
    let name = "webhooks.previous_encryption_key";
    let key = encryption_key(name, &raw.previous_encryption_key)?;
    if key.is_some() && non_empty(&raw.encryption_key).is_none() {
        return Err(wrong(name, "needs webhooks.encryption_key, which replaces it"));
    }
    Ok(key)
}

/// A key of 32 bytes as hexadecimal digits or as base64.
pub(crate) fn parse_encryption_key(text: &str) -> Option<EncryptionKey> {
    let bytes = hex::decode(text).ok().or_else(|| STANDARD.decode(text).ok())?;
    Some(EncryptionKey::new(bytes.try_into().ok()?))
}

/// An address with a port. If a host name has several addresses, IPv4 is preferred.
fn address(name: &str, text: &str) -> Result<SocketAddr, SettingsError> {
    let addresses = text.to_socket_addrs().ok();
    let address = addresses.and_then(|addresses| addresses.min_by_key(SocketAddr::is_ipv6));
    address.ok_or_else(|| {
        wrong(
            name,
            format!("must be an address with a port, for example 127.0.0.1:8080, not `{text}`"),
        )
    })
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
        _ => Err(wrong(name, "must be an http or https URL")),
    }
}

/// The map's style and the origins that it loads from.
fn map(raw: &RawMap) -> Result<Map, SettingsError> {
    let style = url("map.style", &raw.style)?;
    let mut hosts = Vec::new();
    for host in style.iter().chain(&raw.hosts) {
        let host = url("map.hosts", host)?.unwrap_or_default();
        let start = host.find("://").map_or(0, |at| at + 3);
        let end = host[start..].find('/').map_or(host.len(), |at| start + at);
        let host = host[..end].to_owned();
        if host.contains([';', ',', '\'', '"']) {
            return Err(wrong("map.hosts", format!("`{host}` is not a URL")));
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
