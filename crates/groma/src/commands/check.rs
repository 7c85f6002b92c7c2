//! `groma check`: inspects settings, database and listeners without changing anything, and suggests
//! a fix for each problem.

mod database;
mod listeners;
mod mail;
mod providers;
mod settings;

use super::{CommandError, print};
use crate::settings::Settings;
use database::Database;
use groma_domain::Email;
use serde_json::{Value, json};
use std::path::Path;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Severity {
    Note,
    /// The server works, but the setup should be improved.
    Warning,
    /// The server or a part of it does not work.
    Error,
}

impl Severity {
    fn name(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// A problem and its remedy.
#[derive(Debug)]
struct Finding {
    severity: Severity,
    problem: String,
    remedy: String,
}

impl Finding {
    fn new(severity: Severity, problem: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { severity, problem: problem.into(), remedy: remedy.into() }
    }

    fn note(problem: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::new(Severity::Note, problem, remedy)
    }

    fn warning(problem: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::new(Severity::Warning, problem, remedy)
    }

    fn error(problem: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::new(Severity::Error, problem, remedy)
    }

    fn line(&self) -> String {
        format!("{}; {}", self.problem, self.remedy)
    }
}

pub(super) async fn run(
    settings: &Settings,
    file: Option<&Path>,
    send_test: Option<Email>,
    as_json: bool,
) -> Result<(), CommandError> {
    let mut findings = settings::inspect(settings, file);
    let database = database::inspect(settings, &mut findings).await;
    findings.extend(listeners::inspect(settings).await);
    findings.extend(providers::inspect(settings).await);
    let mail = mail::inspect(settings, send_test, &mut findings).await;
    if as_json {
        print(&json_report(settings, &database, mail.as_deref(), &findings).to_string())?;
    } else {
        print_report(&database, mail.as_deref(), &findings)?;
    }
    result(&findings)
}

fn print_report(
    database: &Database,
    mail: Option<&str>,
    findings: &[Finding],
) -> Result<(), CommandError> {
    print("settings    valid")?;
    let state = if database.is_reachable { "reachable" } else { "not reachable" };
    print(&format!("database    {} at {}: {state}", database.engine, database.address))?;
    if let Some(encryption) = &database.encryption {
        print(&format!("encryption  {encryption}"))?;
    }
    if let Some(pending) = &database.pending {
        let state = if pending.is_empty() { "up to date" } else { "pending" };
        print(&format!("migrations  {state}"))?;
    }
    if let Some(workspaces) = database.workspaces {
        print(&format!("workspaces  {workspaces}"))?;
    }
    if let Some(mail) = mail {
        print(&format!("mail        {mail}"))?;
    }
    for finding in findings {
        print(&format!("{:<12}{}", finding.severity.name(), finding.problem))?;
        print(&format!("{:<12}→ {}", "", finding.remedy))?;
    }
    Ok(())
}

/// Fails with the first error. Warnings do not change the exit code.
fn result(findings: &[Finding]) -> Result<(), CommandError> {
    let mut errors = findings.iter().filter(|finding| finding.severity == Severity::Error);
    let Some(first) = errors.next() else { return Ok(()) };
    let more = match errors.count() {
        0 => String::new(),
        1 => " (and 1 more error)".to_owned(),
        count => format!(" (and {count} more errors)"),
    };
    Err(CommandError::new(first.line() + &more))
}

fn json_report(
    settings: &Settings,
    database: &Database,
    mail: Option<&str>,
    findings: &[Finding],
) -> Value {
    let Settings { service, server, limits, ogc, webhooks, smtp, geo, map, .. } = settings;
    let strings = |networks: &[ipnet::IpNet]| -> Vec<String> {
        networks.iter().map(ToString::to_string).collect()
    };
    let redirect = server.tls.as_ref().and_then(|tls| tls.redirect_listen);
    let has_key = webhooks.encryption_key.is_some();
    let has_previous_key = webhooks.previous_encryption_key.is_some();
    let has_password = smtp.as_ref().is_some_and(|smtp| smtp.credentials.is_some());
    let migrations = match &database.pending {
        Some(pending) if pending.is_empty() => json!("up to date"),
        Some(pending) => json!({ "pending": pending }),
        None => Value::Null,
    };
    let secrets = database.secrets.map(|secrets| {
        json!({ "plain": secrets.plain, "encrypted": secrets.encrypted, "unreadable": secrets.unreadable })
    });
    let findings = findings.iter().map(|finding| {
        json!({
            "severity": finding.severity.name(),
            "problem": finding.problem,
            "remedy": finding.remedy,
        })
    });
    json!({
        "settings": {
            "service.name": service.header_name(),
            "service.token_prefix": service.token_prefix.as_str(),
            "server.listen": server.listen.to_string(),
            "server.public_url": server.public_url(),
            "server.geo_listen": server.geo_listen.to_string(),
            "server.geo_public_url": server.geo_public_url(),
            "server.admin_listen": server.admin_listen.map(|address| address.to_string()),
            "server.roles": server.roles.to_string(),
            "server.trusted_proxies": strings(&server.trusted_proxies),
            "server.tls.certificate": server.tls.as_ref().map(|tls| &tls.certificate),
            "server.tls.key": server.tls.as_ref().map(|tls| &tls.key),
            "server.tls.redirect_listen": redirect.map(|address| address.to_string()),
            "limits.requests_per_minute": limits.requests_per_minute,
            "limits.map_requests_per_minute": limits.map_requests_per_minute,
            "limits.pages_per_minute": limits.pages_per_minute,
            "limits.search_millis": limits.search_timeout.map_or(0, |timeout| timeout.as_millis()),
            "limits.searches_per_member": limits.searches_per_member,
            "limits.searches_per_workspace": limits.searches_per_workspace,
            "limits.geojson_bytes": limits.geojson_bytes,
            "limits.tile_cache_bytes": limits.tile_cache_bytes,
            "limits.body_seconds": limits.body_timeout.as_secs(),
            "limits.min_upload_rate": limits.min_upload_rate,
            "limits.uploads_per_token": limits.uploads_per_token,
            "limits.uploads": limits.uploads,
            "limits.connections_per_address": limits.connections_per_address,
            "limits.connections": limits.connections,
            "ogc.require_if_match": ogc.require_if_match,
            "webhooks.allow_http": webhooks.allow_http,
            "webhooks.allow_networks": strings(&webhooks.allow_networks),
            "webhooks.encryption_key": if has_key { "set" } else { "not set" },
            "webhooks.previous_encryption_key": if has_previous_key { "set" } else { "not set" },
            "smtp.host": smtp.as_ref().map(|smtp| &smtp.host),
            "smtp.port": smtp.as_ref().map(|smtp| smtp.port),
            "smtp.encryption": smtp.as_ref().map(|smtp| smtp.encryption.name()),
            "smtp.from": smtp.as_ref().map(|smtp| smtp.from.to_string()),
            "smtp.password": if has_password { "set" } else { "not set" },
            "geo.grids": geo.grids,
            "map.style": map.style,
        },
        "database": { "engine": database.engine, "at": database.address, "encryption": database.encryption, "migrations": migrations },
        "workspaces": database.workspaces,
        "webhookSecrets": secrets,
        "mail": mail,
        "findings": findings.collect::<Vec<_>>(),
    })
}
