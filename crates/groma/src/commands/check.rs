//! `groma check`: looks at settings, database and listeners, changes nothing, and explains each problem
//! with what to do about it.

mod database;
mod listeners;
mod settings;

use super::{Failure, print};
use crate::settings::Settings;
use database::Database;
use serde_json::{Value, json};
use std::path::Path;

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Severity {
    /// Good to know.
    Note,
    /// It works, and something is not as it should be.
    Warning,
    /// It does not work, or not all of it.
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

/// Something that was found, and what to do about it.
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
    as_json: bool,
) -> Result<(), Failure> {
    let mut findings = settings::look(settings, file);
    let database = database::look(settings, &mut findings).await;
    findings.extend(listeners::look(settings).await);
    if as_json {
        print(&report(settings, &database, &findings).to_string())?;
    } else {
        print_report(&database, &findings)?;
    }
    verdict(&findings)
}

fn print_report(database: &Database, findings: &[Finding]) -> Result<(), Failure> {
    print("settings    read")?;
    let reached = if database.is_reached { "reached" } else { "not reached" };
    print(&format!("database    {} at {}: {reached}", database.engine, database.at))?;
    if let Some(pending) = &database.pending {
        let state = if pending.is_empty() { "up to date" } else { "pending" };
        print(&format!("migrations  {state}"))?;
    }
    if let Some(workspaces) = database.workspaces {
        print(&format!("workspaces  {workspaces}"))?;
    }
    for finding in findings {
        print(&format!("{:<12}{}", finding.severity.name(), finding.problem))?;
        print(&format!("{:<12}→ {}", "", finding.remedy))?;
    }
    Ok(())
}

/// Fails where something does not work; what should be otherwise is only said.
fn verdict(findings: &[Finding]) -> Result<(), Failure> {
    let mut errors = findings.iter().filter(|finding| finding.severity == Severity::Error);
    let Some(first) = errors.next() else { return Ok(()) };
    let more = match errors.count() {
        0 => String::new(),
        1 => " (and 1 more error)".to_owned(),
        count => format!(" (and {count} more errors)"),
    };
    Err(Failure::new(first.line() + &more))
}

fn report(settings: &Settings, database: &Database, findings: &[Finding]) -> Value {
    let Settings { service, server, limits, webhooks, map, .. } = settings;
    let texts = |networks: &[ipnet::IpNet]| -> Vec<String> {
        networks.iter().map(ToString::to_string).collect()
    };
    let has_key = webhooks.encryption_key.is_some();
    let migrations = match &database.pending {
        Some(pending) if pending.is_empty() => json!("up to date"),
        Some(pending) => json!({ "pending": pending }),
        None => Value::Null,
    };
    let secrets = database.secrets.map(|secrets| {
        json!({ "open": secrets.plain, "sealed": secrets.sealed, "unreadable": secrets.unreadable })
    });
    let found = findings.iter().map(|finding| {
        json!({ "severity": finding.severity.name(), "problem": finding.problem,
            "remedy": finding.remedy })
    });
    json!({
        "settings": {
            "service.name": service.header_name(),
            "service.token_prefix": service.token_prefix.as_str(),
            "server.listen": server.listen.to_string(),
            "server.public_url": server.public_url(),
            "server.geo_listen": server.geo_listen.to_string(),
            "server.geo_public_url": server.geo_public_url(),
            "server.admin_listen": server.admin_listen.map(|at| at.to_string()),
            "server.roles": server.roles.to_string(),
            "server.trusted_proxies": texts(&server.trusted_proxies),
            "limits.requests_per_minute": limits.requests_per_minute,
            "limits.geojson_bytes": limits.geojson_bytes,
            "limits.tile_cache_bytes": limits.tile_cache_bytes,
            "webhooks.allow_http": webhooks.allow_http,
            "webhooks.allow_networks": texts(&webhooks.allow_networks),
            "webhooks.encryption_key": if has_key { "set" } else { "not set" },
            "map.style": map.style,
        },
        "database": { "engine": database.engine, "at": database.at, "migrations": migrations },
        "workspaces": database.workspaces,
        "webhookSecrets": secrets,
        "findings": found.collect::<Vec<_>>(),
    })
}
