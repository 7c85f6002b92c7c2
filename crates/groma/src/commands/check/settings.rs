//! Checks the settings themselves.

use super::Finding;
use crate::{
    clock,
    roles::ServerRole,
    server::{check_certificate, webhook_sender},
    settings::{Server, Settings},
};
use groma_domain::Timestamp;
use groma_store::DatabaseUrl;
use std::{net::IpAddr, os::unix::fs::MetadataExt, path::Path};

/// How long before its end a certificate is reported.
const EXPIRES_SOON_MILLIS: i64 = 14 * 24 * 60 * 60 * 1_000;

pub(super) fn inspect(settings: &Settings, file: Option<&Path>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let server = &settings.server;
    if server.roles.has(ServerRole::Web) {
        findings.extend(public_url(server));
    }
    findings.extend(geo_public_url(server));
    findings.extend(trusted_proxies(server));
    findings.extend(certificate(server));
    findings.extend(admin_listener(server));
    findings.extend(webhooks(settings));
    findings.extend(grids(settings));
    findings.extend(mail_role(settings));
    findings.extend(mail_links(settings));
    findings.extend(settings_file(file.unwrap_or(Path::new("groma.toml"))));
    findings
}

/// The folder of grid files must be readable, and its files must be valid.
fn grids(settings: &Settings) -> Vec<Finding> {
    let grids = match settings.geo.load_grid_files() {
        Ok(grids) => grids,
        Err(error) => {
            let remedy = "create the folder and let the server read it, or leave geo.grids empty";
            return vec![Finding::error(error.to_string(), remedy)];
        }
    };
    let invalid = grids.invalid_files().into_iter().map(|(path, error)| {
        Finding::warning(
            format!("geo.grids: {} cannot be used: {error}", path.display()),
            "download the file again, or delete it",
        )
    });
    invalid.collect()
}

/// Users must be able to open the URL, and the connection should be encrypted.
fn public_url(server: &Server) -> Option<Finding> {
    let url = server.public_url();
    if server.public_url.is_none() && server.listen.ip().is_unspecified() {
        return Some(Finding::warning(
            format!("server.public_url is not set, and its default {url} cannot be opened"),
            "set it to the URL that clients use; links and the OpenAPI document contain it",
        ));
    }
    let is_unencrypted = url.starts_with("http://") && !is_loopback_url(&url);
    is_unencrypted.then(|| {
        Finding::warning(
            format!("server.public_url is {url}: passwords and cookies are sent unencrypted"),
            "put a TLS proxy in front of the server and set server.public_url to its https URL, or \
             set server.tls.certificate; cookies are then marked Secure",
        )
    })
}

fn geo_public_url(server: &Server) -> Option<Finding> {
    let is_unreachable = server.roles.has(ServerRole::Geo)
        && server.public_url.is_some()
        && server.geo_public_url.is_none()
        && (server.geo_listen.ip().is_loopback() || server.geo_listen.ip().is_unspecified());
    is_unreachable.then(|| {
        Finding::warning(
            format!(
                "server.geo_public_url is not set, and clients cannot reach its default {}",
                server.geo_public_url()
            ),
            "set it to the URL that clients use for the Geo API",
        )
    })
}

fn trusted_proxies(server: &Server) -> Option<Finding> {
    if server.trusted_proxies.iter().any(|network| network.prefix_len() == 0) {
        return Some(Finding::warning(
            "server.trusted_proxies contains all addresses, so any client can claim any address",
            "list only the addresses of your proxies",
        ));
    }
    let is_behind_proxy = server.roles.has(ServerRole::Web)
        && server.tls.is_none()
        && server.public_url().starts_with("https://");
    (is_behind_proxy && server.trusted_proxies.is_empty()).then(|| {
        Finding::warning(
            "server.trusted_proxies is empty, so all clients seem to have the address of your proxy \
             and share one limit for failed logins",
            "add the proxy's address (127.0.0.1 if it runs on this machine), and let the proxy set \
             X-Forwarded-For or Forwarded",
        )
    })
}

/// A running server keeps its old certificate if the new one is invalid, but cannot start again.
fn certificate(server: &Server) -> Option<Finding> {
    match check_certificate(server.tls.as_ref()?) {
        Ok(expires_at) => expiry(expires_at, clock::now()),
        Err(error) => {
            let remedy =
                "store the certificate and its key in PEM format where the server can read them";
            Some(Finding::error(error.to_string(), remedy))
        }
    }
}

fn expiry(expires_at: Timestamp, now: Timestamp) -> Option<Finding> {
    let remedy = "replace the files by a renewed certificate; a running server uses them at once";
    let day = expires_at.date();
    if expires_at <= now {
        let problem = format!("server.tls.certificate: expired on {day}; browsers reject it");
        return Some(Finding::error(problem, remedy));
    }
    let is_soon = expires_at <= now.plus_millis(EXPIRES_SOON_MILLIS);
    is_soon.then(|| Finding::warning(format!("server.tls.certificate: expires on {day}"), remedy))
}

fn admin_listener(server: &Server) -> Option<Finding> {
    match server.admin_listen {
        None => Some(Finding::note(
            "server.admin_listen is not set, so there are no health checks and metrics",
            "set it to a private address, for example 127.0.0.1:9464",
        )),
        Some(address) if !address.ip().is_loopback() => Some(Finding::note(
            format!("health checks and metrics on {address} need no authentication"),
            "make sure that only your own systems can reach this address",
        )),
        Some(_) => None,
    }
}

fn webhooks(settings: &Settings) -> Vec<Finding> {
    let mut findings = Vec::new();
    let webhooks = &settings.webhooks;
    if webhooks.allow_http || !webhooks.allow_networks.is_empty() {
        findings.push(Finding::note(
            "the settings allow webhooks to http or private addresses",
            "anyone who can create endpoints can send requests to those networks; allow only what is \
             needed",
        ));
    }
    if !settings.server.roles.has(ServerRole::Deliver) {
        if matches!(settings.database, DatabaseUrl::Sqlite(_)) {
            findings.push(Finding::warning(
                "webhook deliveries are not sent: server.roles lacks `deliver`, and only one process can \
                 serve a SQLite database",
                "add `deliver` to server.roles",
            ));
        }
    } else if let Err(error) = webhook_sender(settings) {
        findings.push(Finding::error(
            error.to_string(),
            "set it to a readable PEM file with certificates, or leave it empty",
        ));
    }
    findings
}

/// Only a process with the role `deliver` sends mail.
fn mail_role(settings: &Settings) -> Option<Finding> {
    let is_lost = settings.smtp.is_some()
        && matches!(settings.database, DatabaseUrl::Sqlite(_))
        && !settings.server.roles.has(ServerRole::Deliver);
    is_lost.then(|| {
        Finding::warning(
            "mails are not sent: server.roles lacks `deliver`, and only one process can serve a SQLite \
             database",
            "add `deliver` to server.roles",
        )
    })
}

/// Mails contain links to the server.
fn mail_links(settings: &Settings) -> Option<Finding> {
    let server = &settings.server;
    let is_local = server.public_url.is_none() && is_loopback_url(&server.public_url());
    (settings.smtp.is_some() && is_local).then(|| {
        Finding::warning(
            format!(
                "server.public_url is not set, so links in mails begin with {}",
                server.public_url()
            ),
            "set it to the URL that users open",
        )
    })
}

/// A settings file that contains a secret should not be readable by all users.
fn settings_file(path: &Path) -> Option<Finding> {
    let mode = std::fs::metadata(path).ok()?.mode();
    let text = std::fs::read_to_string(path).ok()?;
    let mut lines = text.lines().map(str::trim_start);
    let has_secret = lines.any(|line| {
        let value = line.split_once('=').map_or("", |(_, value)| value.trim());
        let is_secret = ["encryption_key", "previous_encryption_key", "password", "client_secret"]
            .iter()
            .any(|name| line.starts_with(name));
        (is_secret && value.len() > 2)
            || (line.starts_with("url") && value.contains("://") && has_password(value))
    });
    (has_secret && mode & 0o004 != 0).then(|| {
        let path = path.display();
        Finding::warning(
            format!("{path} contains a secret and is readable by all users of this machine"),
            format!("run: chmod o-r {path}"),
        )
    })
}

fn has_password(url: &str) -> bool {
    let authority = url.split_once("://").map_or("", |(_, rest)| rest);
    authority.rsplit_once('@').is_some_and(|(user, _)| user.contains(':'))
}

fn is_loopback_url(url: &str) -> bool {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let host = rest.split('/').next().unwrap_or_default();
    let host = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}
