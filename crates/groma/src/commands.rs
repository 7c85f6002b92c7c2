//! The commands: each reads its arguments, calls the store and prints the result.

mod backup;
mod check;
mod copy;
mod crs;
mod demo;
mod export;
mod health;
mod import;
mod input;
mod key_file;
mod layer;
mod person;
mod private_file;
mod progress;
mod prompt;
mod records;
mod rejected_rows;
mod security_log;
mod security_notice;
mod serve;
mod setup_link;
mod token;
mod user;
mod webhook;
mod workspace;

use crate::{
    cli::{
        ArchiveCommand, Cli, Command, ExportCommand, ImportCommand, LayerCommand, RecordFormat,
        WebhookCommand, WorkspaceArg, WorkspaceCommand,
    },
    clock,
    export::ExportError,
    logging, password, server,
    settings::Settings,
};
use groma_domain::{
    Timestamp,
    workspace::{Workspace, WorkspaceName},
};
use groma_store::{NewSecurityEntry, Store, WorkspaceFilter};
use serde_json::json;
use std::{fmt, io::Write, path::Path, process::ExitCode};

/// Why a command failed, in one line, and its exit code.
#[derive(Debug)]
pub(crate) struct CommandError {
    message: String,
    exit_code: u8,
}

impl CommandError {
    pub(crate) fn new(message: impl fmt::Display) -> Self {
        Self { message: message.to_string().replace('\n', " "), exit_code: 1 }
    }

    /// A mistake in the arguments.
    pub(crate) fn usage(message: impl fmt::Display) -> Self {
        Self { exit_code: 2, ..Self::new(message) }
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.exit_code)
    }
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl From<std::io::Error> for CommandError {
    fn from(error: std::io::Error) -> Self {
        Self::new(error)
    }
}

impl From<ExportError> for CommandError {
    fn from(error: ExportError) -> Self {
        Self::new(error)
    }
}

impl From<groma_store::Error> for CommandError {
    fn from(error: groma_store::Error) -> Self {
        Self::new(error)
    }
}

impl From<password::Error> for CommandError {
    fn from(error: password::Error) -> Self {
        Self::new(error)
    }
}

impl From<crate::settings::SettingsError> for CommandError {
    fn from(error: crate::settings::SettingsError) -> Self {
        Self::new(error)
    }
}

pub(crate) async fn run(cli: Cli) -> Result<(), CommandError> {
    let mut flags: Vec<_> = cli.database.into_iter().map(|url| ("database.url", url)).collect();
    if let Command::Serve { roles: Some(roles), .. } = &cli.command {
        flags.push(("server.roles", roles.clone()));
    }
    let settings = Settings::load(cli.config.as_deref(), std::env::vars(), &flags)?;
    logging::start(matches!(cli.command, Command::Serve { .. }), settings.log);
    if let Command::Openapi = cli.command {
        let document = server::openapi_document(&settings);
        return print(&serde_json::to_string_pretty(&document).map_err(CommandError::new)?);
    }
    if let Command::Check { json, send_test } = cli.command {
        return check::run(&settings, cli.config.as_deref(), send_test, json).await;
    }
    groma_geo::set_grid_files(settings.geo.load_grid_files()?);
    if let Command::Crs { name, json } = &cli.command {
        return crs::run(name, *json);
    }
    if let Command::Health = cli.command {
        return health::run(&settings).await;
    }
    // These commands open files and databases themselves.
    let command = match cli.command {
        Command::Backup { file, options } => {
            return backup::backup(&settings, &file, &options).await;
        }
        Command::Restore { file, options } => {
            return backup::restore(&settings, &file, &options).await;
        }
        Command::Copy { from, to, rehearsal, json } => {
            return copy::run(&settings, from, to, rehearsal, json).await;
        }
        command => command,
    };
    let store = match command {
        Command::Serve { .. } | Command::Workspace(WorkspaceCommand::Create { .. }) => {
            Store::open(&settings.database).await?
        }
        // Other commands do not create a database: the path may be mistyped.
        _ => Store::open_existing(&settings.database).await?,
    };
    store.set_geo_url(settings.server.geo_public_url());
    if let Some(days) = settings.security.max_token_days {
        store.limit_tokens(days);
    }
    // Other commands need no key, and `groma webhook rekey` loads its own.
    let can_create_key = matches!(
        command,
        Command::Serve { .. }
            | Command::Workspace(WorkspaceCommand::Create { .. })
            | Command::Webhook(_)
    );
    if !matches!(command, Command::Webhook(WebhookCommand::Rekey { .. })) {
        store.set_encryption_keys(key_file::load(&settings, can_create_key)?);
    }
    log_data_change(&store, &command).await?;
    match command {
        Command::Serve { demo, .. } => serve::run(settings, store, demo).await,
        Command::Workspace(command) => workspace::run(&settings, &store, command).await,
        Command::User(command) => user::run(&settings, &store, command).await,
        Command::Person(command) => person::run(&store, command).await,
        Command::Token(command) => token::run(&settings, &store, command).await,
        Command::SetupLink => setup_link::run(&settings, &store).await,
        Command::SecurityLog(arguments) => security_log::run(&store, arguments).await,
        Command::Webhook(command) => webhook::run(&settings, &store, command).await,
        Command::Layer(command) => layer::run(&settings, &store, command).await,
        Command::Import(ImportCommand::Records(import)) => import::run(&store, import).await,
        Command::Import(ImportCommand::Layer(import)) => layer::import(&store, import).await,
        Command::Export(ExportCommand::Records(export)) => export::run(&store, export).await,
        Command::Export(ExportCommand::Layer(export)) => layer::export(&store, export).await,
        Command::Export(ExportCommand::Workspace(export)) => {
            export::workspace(&store, export).await
        }
        Command::Archive(ArchiveCommand::Folder { key, workspace }) => {
            records::archive(&store, &key, &workspace).await
        }
        Command::Delete { kind, key, workspace } => {
            records::delete(&store, kind, &key, &workspace).await
        }
        Command::Openapi
        | Command::Check { .. }
        | Command::Crs { .. }
        | Command::Health
        | Command::Backup { .. }
        | Command::Restore { .. }
        | Command::Copy { .. } => Ok(()),
    }
}

/// Writes to the security log that a command changes records or layers. What others change is logged with the
/// change.
async fn log_data_change(store: &Store, command: &Command) -> Result<(), CommandError> {
    let (name, workspace) = match command {
        Command::Import(ImportCommand::Records(import)) if !import.dry_run => {
            ("import", &import.workspace)
        }
        Command::Import(ImportCommand::Layer(import)) if !import.dry_run => {
            ("import layer", &import.workspace)
        }
        Command::Archive(ArchiveCommand::Folder { workspace, .. }) => ("archive", workspace),
        Command::Delete { workspace, .. } => ("delete", workspace),
        Command::Layer(LayerCommand::Create { workspace, .. }) => ("layer create", workspace),
        Command::Layer(LayerCommand::Update(update)) => ("layer update", &update.workspace),
        Command::Layer(LayerCommand::Check(check)) if check.repair => {
            ("layer check --repair", &check.workspace)
        }
        Command::Layer(LayerCommand::Delete { workspace, .. }) => ("layer delete", workspace),
        _ => return Ok(()),
    };
    let workspace = find_workspace(store, workspace).await?.id;
    let entry = NewSecurityEntry::new("command.started", clock::now()).in_workspace(workspace);
    Ok(store.log_security(entry.with_details(json!({ "command": name }))).await?)
}

/// The workspace named by `--workspace`, or else the only one.
async fn find_workspace(store: &Store, arg: &WorkspaceArg) -> Result<Workspace, CommandError> {
    if let Some(name_or_key) = &arg.name_or_key {
        return Ok(store.find_workspace(&workspace_filter(name_or_key)?).await?);
    }
    let mut workspaces = store.workspaces().await?;
    match (workspaces.pop(), workspaces.is_empty()) {
        (Some(only), true) => Ok(only),
        (Some(_), false) => {
            Err(CommandError::usage("there are several workspaces; choose one with --workspace"))
        }
        (None, _) => Err(CommandError::new(
            "there is no workspace yet; create one with `groma workspace create`",
        )),
    }
}

fn workspace_filter(name_or_key: &str) -> Result<WorkspaceFilter, CommandError> {
    match name_or_key.parse() {
        Ok(id) => Ok(WorkspaceFilter::Id(id)),
        Err(_) => WorkspaceName::parse(name_or_key)
            .map(WorkspaceFilter::Name)
            .map_err(|error| CommandError::usage(format!("workspace {error}"))),
    }
}

/// The format of a file of records: the given one, or else that of its extension.
fn record_format(path: &Path, format: Option<RecordFormat>) -> Result<RecordFormat, CommandError> {
    format.or_else(|| RecordFormat::of_path(path)).ok_or_else(|| {
        CommandError::new(format!(
            "{}: unknown format; set --format to csv, xlsx, json or ndjson",
            path.display()
        ))
    })
}

/// Prints a line. A closed pipe is not an error.
fn print(line: &str) -> Result<(), CommandError> {
    match writeln!(std::io::stdout(), "{line}") {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

/// A time as a table cell.
fn time_cell(time: Option<Timestamp>) -> String {
    time.map_or_else(|| "-".to_owned(), |time| time.to_string())
}

/// Prints a table with aligned columns.
fn print_table(header: &[&str], rows: &[Vec<String>]) -> Result<(), CommandError> {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([header[column].len()]).max().unwrap_or(0)
    };
    let widths: Vec<_> = (0..header.len()).map(width).collect();
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        let padded: Vec<_> =
            cells.zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        print(padded.join("  ").trim_end())
    };
    line(&mut header.iter().copied())?;
    rows.iter().try_for_each(|row| line(&mut row.iter().map(String::as_str)))
}
