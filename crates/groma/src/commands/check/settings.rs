//! What can be told from the settings alone.

use super::Finding;
use crate::{
    roles::ServerRole,
    server::webhook_sender,
    settings::{Server, Settings},
};
use groma_store::DatabaseUrl;
use std::{net::IpAddr, os::unix::fs::MetadataExt, path::Path};

pub(super) fn look(settings: &Settings, file: Option<&Path>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let server = &settings.server;
    if server.roles.has(ServerRole::Web) {
        findings.extend(public_address(server));
    }
    findings.extend(geo_address(server));
    findings.extend(proxies(server));
    findings.extend(admin(server));
    findings.extend(webhooks(settings));
    let named = file.unwrap_or(Path::new("groma.toml"));
    findings.extend(settings_file(named));
    findings
}

/// Whether people can log in by the address that they are given, and nobody listens in.
fn public_address(server: &Server) -> Option<Finding> {
    let url = server.public_url();
    if server.public_url.is_none() && server.listen.ip().is_unspecified() {
        return Some(Finding::warning(
            format!("server.public_url is not set, and nobody can open {url}"),
            "set it to the address that clients use: links and the OpenAPI document name it",
        ));
    }
    let is_open = url.starts_with("http://") && !is_this_machine(&url);
    is_open.then(|| {
        Finding::warning(
            format!("server.public_url is {url}: passwords and cookies go over the network in the clear"),
            "put a proxy with TLS in front and set server.public_url to its https address; cookies are Secure then",
        )
    })
}

fn geo_address(server: &Server) -> Option<Finding> {
    let is_lacking = server.roles.has(ServerRole::Geo)
        && server.public_url.is_some()
        && server.geo_public_url.is_none()
        && (server.geo_listen.ip().is_loopback() || server.geo_listen.ip().is_unspecified());
    is_lacking.then(|| {
        Finding::warning(
            format!(
                "server.geo_public_url is not set: clients are told {}, where they find nobody",
                server.geo_public_url()
            ),
            "set it to the address that clients use for the Geo API",
        )
    })
}

fn proxies(server: &Server) -> Option<Finding> {
    if server.trusted_proxies.iter().any(|network| network.prefix_len() == 0) {
        return Some(Finding::warning(
            "server.trusted_proxies has everybody in it: any client can claim any address",
            "name the addresses of your proxies",
        ));
    }
    let is_behind =
        server.roles.has(ServerRole::Web) && server.public_url().starts_with("https://");
    (is_behind && server.trusted_proxies.is_empty()).then(|| {
        Finding::warning(
            "server.trusted_proxies is empty: behind your proxy everybody seems to come from its address, so that strangers who guess passwords keep out others",
            "name the proxy's address there (127.0.0.1 when it runs on this machine), and let it set X-Forwarded-For or Forwarded",
        )
    })
}

fn admin(server: &Server) -> Option<Finding> {
    match server.admin_listen {
        None => Some(Finding::note(
            "server.admin_listen is not set: nobody is told health and metrics",
            "set it to an address that only you reach, such as 127.0.0.1:9464",
        )),
        Some(address) if !address.ip().is_loopback() => Some(Finding::note(
            format!("health and metrics are told to whoever reaches {address}"),
            "see to it that only you do: there is no token",
        )),
        Some(_) => None,
    }
}

fn webhooks(settings: &Settings) -> Vec<Finding> {
    let mut findings = Vec::new();
    let webhooks = &settings.webhooks;
    if webhooks.allow_http || !webhooks.allow_networks.is_empty() {
        findings.push(Finding::note(
            "webhooks may reach http or private addresses, as the settings say",
            "whoever may make endpoints can then send requests into those networks; name no more than is needed",
        ));
    }
    if !settings.server.roles.has(ServerRole::Deliver) {
        if matches!(settings.database, DatabaseUrl::Sqlite(_)) {
            findings.push(Finding::warning(
                "nobody sends deliveries: server.roles has no `deliver`, and one program alone serves a SQLite file",
                "add `deliver` to server.roles",
            ));
        }
    } else if let Err(error) = webhook_sender(settings) {
        findings.push(Finding::error(
            error.to_string(),
            "name a PEM file of certificates that this program may read, or leave it empty",
        ));
    }
    findings
}

/// Whether a settings file with a secret in it can be read by everybody.
fn settings_file(path: &Path) -> Option<Finding> {
    let mode = std::fs::metadata(path).ok()?.mode();
    let text = std::fs::read_to_string(path).ok()?;
    let mut lines = text.lines().map(str::trim_start);
    let has_secret = lines.any(|line| {
        let value = line.split_once('=').map_or("", |(_, value)| value.trim());
        (line.starts_with("encryption_key") && value.len() > 2)
            || (line.starts_with("url") && value.contains("://") && has_password(value))
    });
    (has_secret && mode & 0o004 != 0).then(|| {
        let path = path.display();
        Finding::warning(
            format!("{path} has a secret in it, and everybody on this machine may read it"),
            format!("chmod o-r {path}"),
        )
    })
}

fn has_password(url: &str) -> bool {
    let authority = url.split_once("://").map_or("", |(_, rest)| rest);
    authority.rsplit_once('@').is_some_and(|(user, _)| user.contains(':'))
}

fn is_this_machine(url: &str) -> bool {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let host = rest.split('/').next().unwrap_or_default();
    let host = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}
