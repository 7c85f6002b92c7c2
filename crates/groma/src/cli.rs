//! The command line.

mod files;
mod webhooks;

pub(crate) use files::{
    Export, ExportCommand, ExportLayer, FileKind, Format, Import, ImportCommand, ImportLayer,
    LayerFormat,
};

pub(crate) use webhooks::{DeliveryWords, WebhookCommand};

use clap::{Args, Parser, Subcommand};
use groma_domain::{
    Currency, Email, Kind, Role, TokenId, person, scope::Scopes, token, workspace::WorkspaceName,
};
use groma_store::DatabaseUrl;
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
    /// Serve the APIs and the web application, and send deliveries.
    Serve {
        /// Fill an empty database with a demonstration office.
        #[arg(long)]
        demo: bool,
        /// What to do of it, with commas between: main, geo, deliver, web; all when left out.
        #[arg(long, value_name = "ROLES")]
        roles: Option<String>,
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
    /// Webhook endpoints and their deliveries.
    #[command(subcommand)]
    Webhook(WebhookCommand),
    /// Map layers.
    #[command(subcommand)]
    Layer(LayerCommand),
    /// Import records from a CSV, JSON or NDJSON file, or features into a layer from GeoJSON.
    Import(ImportCommand),
    /// Export records to a CSV, JSON or NDJSON file, or the features of a layer to GeoJSON.
    Export(ExportCommand),
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
    /// Write a backup of the SQLite database, while it is served or not.
    Backup {
        /// The file to write; it appears when it is whole and was checked.
        file: PathBuf,
        #[command(flatten)]
        how: Keeping,
    },
    /// Put a backup in the place of the SQLite database, which nobody may serve meanwhile.
    Restore {
        /// The backup.
        file: PathBuf,
        #[command(flatten)]
        how: Keeping,
    },
    /// Copy everything into an empty database, of either engine; nobody may serve one of the two.
    Copy {
        /// The database to copy; the one of the settings when left out.
        #[arg(long, value_name = "URL", value_parser = database, required_unless_present = "to")]
        from: Option<DatabaseUrl>,
        /// The empty database; the one of the settings when left out.
        #[arg(long, value_name = "URL", value_parser = database)]
        to: Option<DatabaseUrl>,
        /// Copy a database that is in use, to try things out: webhooks are disabled in the copy.
        #[arg(long)]
        rehearsal: bool,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Print the OpenAPI document.
    Openapi,
    /// Check settings, database and listeners, and say what to do about what is found. Ends with 1 when
    /// something does not work; what should be otherwise is only told.
    Check {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Ask the server that runs beside whether it is ready, on server.admin_listen.
    Health,
}

/// How a backup is written or put in place.
#[derive(Debug, Args)]
pub(crate) struct Keeping {
    /// Replace what is there.
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
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
        #[arg(value_parser = WorkspaceName::parse)]
        name: WorkspaceName,
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
        /// Name, in this workspace; for someone new it is made from the address when left out.
        #[arg(long, value_parser = person::parse_name)]
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
        #[arg(long, value_parser = token::parse_name)]
        name: String,
        /// Scopes with commas between them; empty for none.
        #[arg(long, value_parser = Scopes::parse)]
        scopes: Scopes,
        /// When it ends: 90d, 12h, …; never when left out.
        #[arg(long, value_name = "TIME", value_parser = lifetime)]
        expires: Option<i64>,
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
pub(crate) enum LayerCommand {
    /// Make a layer and print its id.
    Create {
        /// Its name; the short name in addresses is made from it.
        name: String,
        #[command(flatten)]
        at: At,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// List layers.
    List {
        #[command(flatten)]
        at: At,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Delete a layer and all that is in it.
    Delete {
        /// Id or slug.
        key: String,
        #[command(flatten)]
        at: At,
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

fn kind(text: &str) -> Result<Kind, String> {
    let singular = text.strip_suffix('s').unwrap_or(text);
    let found = Kind::WORDS.iter().find(|(word, _)| *word == singular);
    found
        .map(|(_, kind)| *kind)
        .ok_or_else(|| "must be folder, assignment, expense or budget".to_owned())
}

fn database(text: &str) -> Result<DatabaseUrl, String> {
    text.parse().map_err(|error: groma_store::Error| error.to_string())
}

fn email(text: &str) -> Result<Email, String> {
    Email::parse(text).map_err(str::to_owned)
}

/// The milliseconds of `90d`, `12h`, `30m`, `45s`.
fn lifetime(text: &str) -> Result<i64, String> {
    let wrong = || "must be a time such as 90d or 12h".to_owned();
    let unit = text.chars().last().ok_or_else(wrong)?;
    let millis = match unit {
        'd' => 86_400_000,
        'h' => 3_600_000,
        'm' => 60_000,
        's' => 1_000,
        _ => return Err(wrong()),
    };
    let count: i64 = text[..text.len() - unit.len_utf8()].parse().map_err(|_| wrong())?;
    if (1..=1_000_000).contains(&count) { Ok(count * millis) } else { Err(wrong()) }
}

fn currency(text: &str) -> Result<Currency, String> {
    text.parse().map_err(str::to_owned)
}
