//! The command line.

use clap::{Args, Parser, Subcommand, ValueEnum};
use groma_domain::{Currency, Email, Kind, Role, TokenId, scope::Scopes};
use std::path::PathBuf;

/// Automates GIS projects: records, tokens, webhooks and map layers of an office, in one program.
#[derive(Debug, Parser)]
#[command(name = "groma", version)]
pub(crate) struct Cli {
    /// Settings file; without it ./groma.toml is read when there is one.
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Database: sqlite:PATH or postgres://…
    #[arg(long, global = true, value_name = "URL")]
    pub(crate) database: Option<String>,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve the API.
    Serve {
        /// Fill an empty database with a demonstration office.
        #[arg(long)]
        demo: bool,
    },
    /// Workspaces.
    #[command(subcommand)]
    Workspace(WorkspaceCommand),
    /// Users and members.
    #[command(subcommand)]
    User(UserCommand),
    /// Personal access tokens.
    #[command(subcommand)]
    Token(TokenCommand),
    /// Import records from a CSV, JSON or NDJSON file.
    Import(Import),
    /// Export records to a CSV, JSON or NDJSON file.
    Export(Export),
    /// Archive a folder.
    #[command(subcommand)]
    Archive(ArchiveCommand),
    /// Delete a record and what it holds.
    Delete {
        /// folder, assignment, expense or budget
        #[arg(value_parser = kind)]
        kind: Kind,
        /// Id or reference.
        key: String,
        #[command(flatten)]
        at: At,
    },
    /// Print the OpenAPI document.
    Openapi,
    /// Check settings, database and migrations.
    Check {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

/// Which workspace a command is about.
#[derive(Debug, Args)]
pub(crate) struct At {
    /// Workspace, by name or key; may be left out when there is only one.
    #[arg(long, value_name = "W")]
    pub(crate) workspace: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum WorkspaceCommand {
    /// Make a workspace; a new owner's password is the first line of standard input.
    Create {
        /// Its name.
        name: String,
        /// Its owner's e-mail address.
        #[arg(long, value_parser = email)]
        owner: Email,
        /// Currency of folders that name none.
        #[arg(long, default_value = "EUR", value_parser = currency)]
        currency: Currency,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// List workspaces.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Delete a workspace and all it holds.
    Delete {
        /// Its name or key.
        #[arg(required_unless_present = "workspace", conflicts_with = "workspace")]
        name: Option<String>,
        /// The same, as other commands take it.
        #[arg(long, value_name = "W")]
        workspace: Option<String>,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum UserCommand {
    /// Make someone a member, or give a member another role; a new user's password is the first line
    /// of standard input (empty: none yet).
    Add {
        /// E-mail address.
        #[arg(value_parser = email)]
        email: Email,
        #[command(flatten)]
        at: At,
        /// viewer, editor, admin or owner
        #[arg(long)]
        role: Role,
        /// Name; made from the address when left out.
        #[arg(long)]
        name: Option<String>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Set a password: the first line of standard input, or asked for.
    Password {
        /// E-mail address.
        #[arg(value_parser = email)]
        email: Email,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Make a token and print it, once.
    Create {
        #[command(flatten)]
        at: At,
        /// Owner's e-mail address.
        #[arg(long, value_parser = email)]
        user: Email,
        /// Its name.
        #[arg(long)]
        name: String,
        /// Scopes with commas between them; empty for none.
        #[arg(long, value_parser = Scopes::parse)]
        scopes: Scopes,
        /// When it ends: 90d, 12h, …; never when left out.
        #[arg(long, value_name = "TIME")]
        expires: Option<String>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// List tokens.
    List {
        #[command(flatten)]
        at: At,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Revoke a token, at once.
    Revoke {
        /// Its id.
        id: TokenId,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum ArchiveCommand {
    /// Archive a folder.
    Folder {
        /// Id or reference.
        key: String,
        #[command(flatten)]
        at: At,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Import {
    /// What the file holds.
    pub(crate) kind: FileKind,
    /// The file; its ending tells the format.
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) at: At,
    /// The format, when the ending does not tell.
    #[arg(long)]
    pub(crate) format: Option<Format>,
    /// Check only.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Keep the good rows when others are rejected.
    #[arg(long)]
    pub(crate) keep_good: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Export {
    /// What to export.
    pub(crate) kind: FileKind,
    /// The file (`-` for standard output); its ending tells the format.
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) at: At,
    /// The format, when the ending does not tell.
    #[arg(long)]
    pub(crate) format: Option<Format>,
}

/// What a file can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FileKind {
    Folders,
    Assignments,
    Expenses,
    Budgets,
    Statuses,
}

impl FileKind {
    /// The kind of record; `None` for statuses.
    pub(crate) fn record(self) -> Option<Kind> {
        match self {
            Self::Folders => Some(Kind::Folder),
            Self::Assignments => Some(Kind::Assignment),
            Self::Expenses => Some(Kind::Expense),
            Self::Budgets => Some(Kind::Budget),
            Self::Statuses => None,
        }
    }
}

/// A file format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Csv,
    Json,
    Ndjson,
}

fn kind(text: &str) -> Result<Kind, String> {
    let singular = text.strip_suffix('s').unwrap_or(text);
    let found = Kind::WORDS.iter().find(|(word, _)| *word == singular);
    found
        .map(|(_, kind)| *kind)
        .ok_or_else(|| "must be folder, assignment, expense or budget".to_owned())
}

fn email(text: &str) -> Result<Email, String> {
    Email::parse(text).map_err(str::to_owned)
}

fn currency(text: &str) -> Result<Currency, String> {
    text.parse().map_err(str::to_owned)
}
