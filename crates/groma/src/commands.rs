//! The commands: each reads its arguments, asks the store, prints.

mod backup;
mod check;
mod copy;
mod demo;
mod export;
mod files;
mod health;
mod import;
mod layer;
mod records;
mod serve;
mod token;
mod user;
mod webhook;
mod workspace;

use crate::{
    cli::{ArchiveCommand, At, Cli, Command, ExportCommand, ImportCommand, WorkspaceCommand},
    logging, server,
    settings::Settings,
};
use groma_domain::workspace::Workspace;
use groma_store::{Store, WorkspaceFilter};
use std::{fmt, io::Write, process::ExitCode};

/// Why a command failed, in one line.
#[derive(Debug)]
pub(crate) struct Failure {
    reason: String,
    code: u8,
}

impl Failure {
    pub(crate) fn new(reason: impl fmt::Display) -> Self {
        // One line, whatever the reason looked like.
        Self { reason: reason.to_string().replace('\n', " "), code: 1 }
    }

    /// A failure that lies in how the command was written.
    pub(crate) fn wrong_usage(reason: impl fmt::Display) -> Self {
        Self { code: 2, ..Self::new(reason) }
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.code)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::new(error)
    }
}

impl From<groma_store::Error> for Failure {
    fn from(error: groma_store::Error) -> Self {
        Self::new(error)
    }
}

impl From<crate::settings::SettingsError> for Failure {
    fn from(error: crate::settings::SettingsError) -> Self {
        Self::new(error)
    }
}

/// Does what the command line says.
pub(crate) async fn run(cli: Cli) -> Result<(), Failure> {
    let mut flags: Vec<_> = cli.database.into_iter().map(|url| ("database.url", url)).collect();
    if let Command::Serve { roles: Some(roles), .. } = &cli.command {
        flags.push(("server.roles", roles.clone()));
    }
    let settings = Settings::load(cli.config.as_deref(), std::env::vars(), &flags)?;
    logging::start(matches!(cli.command, Command::Serve { .. }), settings.log);
    if let Command::Openapi = cli.command {
        let document = server::openapi_document(&settings);
        return print(&serde_json::to_string_pretty(&document).map_err(Failure::new)?);
    }
    if let Command::Check { json } = cli.command {
        return check::run(&settings, cli.config.as_deref(), json).await;
    }
    if let Command::Health = cli.command {
        return health::run(&settings).await;
    }
    // These open files and databases in ways of their own.
    let command = match cli.command {
        Command::Backup { file, how } => return backup::backup(&settings, &file, &how).await,
        Command::Restore { file, how } => return backup::restore(&settings, &file, &how).await,
        Command::Copy { from, to, rehearsal, json } => {
            return copy::run(&settings, from, to, rehearsal, json).await;
        }
        command => command,
    };
    let store = match command {
        Command::Serve { .. } | Command::Workspace(WorkspaceCommand::Create { .. }) => {
            Store::open(&settings.database).await?
        }
        // What others do needs something that is there. A mistyped path is no new database.
        _ => Store::open_existing(&settings.database).await?,
    };
    store.set_seal_key(settings.webhooks.encryption_key.clone());
    match command {
        Command::Serve { demo, .. } => serve::run(settings, store, demo).await,
        Command::Workspace(command) => workspace::run(&store, command).await,
        Command::User(command) => user::run(&store, command).await,
        Command::Token(command) => token::run(&settings, &store, command).await,
        Command::Webhook(command) => webhook::run(&settings, &store, command).await,
        Command::Layer(command) => layer::run(&settings, &store, command).await,
        Command::Import(ImportCommand::Records(import)) => import::run(&store, import).await,
        Command::Import(ImportCommand::Layer(import)) => layer::import(&store, import).await,
        Command::Export(ExportCommand::Records(export)) => export::run(&store, export).await,
        Command::Export(ExportCommand::Layer(export)) => layer::export(&store, export).await,
        Command::Archive(ArchiveCommand::Folder { key, at }) => {
            records::archive(&store, &key, &at).await
        }
        Command::Delete { kind, key, at } => records::delete(&store, kind, &key, &at).await,
        Command::Openapi
        | Command::Check { .. }
        | Command::Health
        | Command::Backup { .. }
        | Command::Restore { .. }
        | Command::Copy { .. } => Ok(()),
    }
}

/// The workspace that a command is about.
async fn workspace_of(store: &Store, at: &At) -> Result<Workspace, Failure> {
    if let Some(named) = &at.workspace {
        return Ok(store.find_workspace(&named_workspace(named)?).await?);
    }
    let mut workspaces = store.workspaces().await?;
    match (workspaces.pop(), workspaces.is_empty()) {
        (Some(only), true) => Ok(only),
        (Some(_), false) => {
            Err(Failure::wrong_usage("--workspace is needed: there are several workspaces"))
        }
        (None, _) => {
            Err(Failure::new("there is no workspace yet; `groma workspace create` makes one"))
        }
    }
}

fn named_workspace(text: &str) -> Result<WorkspaceFilter, Failure> {
    match text.parse() {
        Ok(id) => Ok(WorkspaceFilter::Id(id)),
        Err(_) => groma_domain::workspace::WorkspaceName::parse(text)
            .map(WorkspaceFilter::Name)
            .map_err(|refusal| Failure::wrong_usage(format!("workspace {refusal}"))),
    }
}

/// Prints a line; a reader that went away is no failure.
fn print(line: &str) -> Result<(), Failure> {
    match writeln!(std::io::stdout(), "{line}") {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

/// Prints rows under a heading, in columns.
fn print_table(heading: &[&str], rows: &[Vec<String>]) -> Result<(), Failure> {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([heading[column].len()]).max().unwrap_or(0)
    };
    let widths: Vec<_> = (0..heading.len()).map(width).collect();
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        let padded: Vec<_> =
            cells.zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        print(padded.join("  ").trim_end())
    };
    line(&mut heading.iter().copied())?;
    rows.iter().try_for_each(|row| line(&mut row.iter().map(String::as_str)))
}
