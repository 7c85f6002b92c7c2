//! `groma check`: inspects settings, database and listeners without changing anything, and suggests
//! a fix for each problem.

mod database;
mod listeners;
mod mail;
mod providers;
mod settings;
mod settings_report;

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
        "settings": settings_report::report(settings),
        "database": { "engine": database.engine, "at": database.address, "encryption": database.encryption, "migrations": migrations },
        "workspaces": database.workspaces,
        "webhookSecrets": secrets,
        "mail": mail,
        "findings": findings.collect::<Vec<_>>(),
    })
}
