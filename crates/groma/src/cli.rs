//! The command line.

mod import_export;
mod webhooks;

pub(crate) use import_export::{
    ExportCommand, ExportLayer, ExportRecords, ExportWorkspace, ImportCommand, ImportLayer,
    ImportMode, ImportRecords, RecordFileKind, RecordFormat,
};
pub(crate) use webhooks::{DeliveriesArgs, WebhookCommand};

use clap::{Args, Parser, Subcommand};
use groma_domain::{
    Currency, Email, Kind, Role, TokenId, UserId, person, scope::Scopes, token,
    workspace::WorkspaceName,
};
use groma_geo::{Crs, layer_check::LayerCheckOptions};
use groma_store::DatabaseUrl;
use std::path::PathBuf;

/// Self-hosted service for GIS projects: records, API tokens, webhooks and map layers.
#[derive(Debug, Parser)]
#[command(name = "groma", version)]
pub(crate) struct Cli {
    /// Settings file. Default: ./groma.toml, if it exists.
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Database URL: sqlite:PATH or postgres://USER@HOST/NAME.
    #[arg(long, global = true, value_name = "URL")]
    pub(crate) database: Option<String>,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Start the server: the APIs, the web app and webhook delivery.
    Serve {
        /// Seed an empty database with demo data.
        #[arg(long)]
        demo: bool,
        /// Comma-separated roles of this process: main, geo, deliver, web. Default: all.
        #[arg(long, value_name = "ROLES")]
        roles: Option<String>,
    },
    /// Manage workspaces.
    #[command(subcommand)]
    Workspace(WorkspaceCommand),
    /// Manage users and workspace members.
    #[command(subcommand)]
    User(UserCommand),
    /// Manage people who are not members of a workspace.
    #[command(subcommand)]
    Person(PersonCommand),
    /// Manage personal access tokens.
    #[command(subcommand)]
    Token(TokenCommand),
    /// Manage webhook endpoints and deliveries.
    #[command(subcommand)]
    Webhook(WebhookCommand),
    /// Manage map layers.
    #[command(subcommand)]
    Layer(LayerCommand),
    /// Import records from CSV, JSON or NDJSON, or features from GeoJSON into a layer.
    Import(ImportCommand),
    /// Export records, the features of a layer, or a whole workspace to a file.
    Export(ExportCommand),
    /// Archive a folder.
    #[command(subcommand)]
    Archive(ArchiveCommand),
    /// Delete a record and everything in it.
    Delete {
        /// folder, assignment, expense or budget
        #[arg(value_parser = parse_kind)]
        kind: Kind,
        /// ID or reference.
        key: String,
        #[command(flatten)]
        workspace: WorkspaceArg,
    },
    /// Back up the SQLite database. The server may keep running.
    Backup {
        /// The file to write. It appears once the backup is complete and verified.
        file: PathBuf,
        #[command(flatten)]
        options: BackupOptions,
    },
    /// Restore the SQLite database from a backup. Stop the server first.
    Restore {
        /// The backup file.
        file: PathBuf,
        #[command(flatten)]
        options: BackupOptions,
    },
    /// Copy all data into an empty database, SQLite or PostgreSQL. Stop the server first.
    Copy {
        /// The database to copy from. Default: the one in the settings.
        #[arg(long, value_name = "URL", value_parser = parse_database_url, required_unless_present = "to")]
        from: Option<DatabaseUrl>,
        /// The empty database to copy to. Default: the one in the settings.
        #[arg(long, value_name = "URL", value_parser = parse_database_url)]
        to: Option<DatabaseUrl>,
        /// Copy a database while the server uses it, for a trial run. Webhooks are disabled in the
        /// copy.
        #[arg(long)]
        rehearsal: bool,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show whether a coordinate reference system is supported, how accurate its transformation to
    /// WGS 84 is, where it applies, and which grid files are missing.
    Crs {
        /// For example EPSG:2154.
        name: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Print the OpenAPI document.
    Openapi,
    /// Check settings, database and listeners, and suggest a fix for each problem. Exits with 1 if
    /// there are errors. Warnings do not change the exit code.
    Check {
        /// Print JSON.
        #[arg(long)]
        json: bool,
        /// Send a test mail to this address.
        #[arg(long, value_name = "ADDRESS", value_parser = parse_email)]
        send_test: Option<Email>,
    },
    /// Print the setup link of a server that has no users yet and was not started on a terminal.
    SetupLink,
    /// Show the security log: logins, tokens, roles, settings, exports and backups, newest first.
    SecurityLog(SecurityLogArgs),
    /// Check whether the local server is ready, through server.admin_listen.
    Health,
}

/// What identifies a user.
#[derive(Clone, Debug)]
pub(crate) enum UserKey {
    Email(Email),
    Id(UserId),
}

#[derive(Debug, Args)]
pub(crate) struct SecurityLogArgs {
    /// Only entries of this workspace, and logins of its members.
    #[command(flatten)]
    pub(crate) workspace: WorkspaceArg,
    /// Only what this user did, or what was done to this user: an email address, or a user ID, which also
    /// finds the entries of a deleted user.
    #[arg(long, value_parser = parse_user_key, value_name = "USER")]
    pub(crate) user: Option<UserKey>,
    /// Only actions that begin with this text, for example login or token.created.
    #[arg(long)]
    pub(crate) action: Option<String>,
    /// Only entries of the last time, for example 7d or 24h.
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) last: Option<i64>,
    /// The largest number of entries.
    #[arg(long, default_value_t = 100)]
    pub(crate) limit: u32,
    /// Print JSON, one entry per line.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct BackupOptions {
    /// Overwrite an existing file or database.
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct WorkspaceArg {
    /// Name or key of the workspace. Required if there are several.
    #[arg(long = "workspace", value_name = "WORKSPACE")]
    pub(crate) name_or_key: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum WorkspaceCommand {
    /// Create a workspace. A new owner's password is read from a prompt or from the first line of
    /// standard input.
    Create {
        /// Name of the workspace.
        #[arg(value_parser = WorkspaceName::parse)]
        name: WorkspaceName,
        /// Email address of the owner.
        #[arg(long, value_parser = parse_email)]
        owner: Email,
        /// Default currency of folders.
        #[arg(long, default_value = "EUR", value_parser = parse_currency)]
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
    /// Delete a workspace and everything in it.
    Delete {
        /// Name or key of the workspace.
        #[arg(required_unless_present = "workspace", conflicts_with = "workspace")]
        name: Option<String>,
        /// Same as NAME.
        #[arg(long, value_name = "WORKSPACE")]
        workspace: Option<String>,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum UserCommand {
    /// Add a member to a workspace, or change a member's role. A new user's password is read from a
    /// prompt or from the first line of standard input; leave it empty to set it later.
    Add {
        /// Email address of the user.
        #[arg(value_parser = parse_email)]
        email: Email,
        #[command(flatten)]
        workspace: WorkspaceArg,
        /// viewer, editor, admin or owner
        #[arg(long)]
        role: Role,
        /// Name in this workspace. Default for a new member: derived from the email address.
        #[arg(long, value_parser = person::parse_name)]
        name: Option<String>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Add a service account to a workspace: a member without a login, who owns the tokens of a
    /// machine. Prints its address, which `groma token create --user` takes.
    AddService {
        /// Name, for example "Nightly export".
        #[arg(value_parser = person::parse_name)]
        name: String,
        #[command(flatten)]
        workspace: WorkspaceArg,
        /// viewer, editor or admin
        #[arg(long)]
        role: Role,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Set a user's password, read from a prompt or from the first line of standard input.
    Password {
        /// Email address of the user.
        #[arg(value_parser = parse_email)]
        email: Email,
        /// Also revoke the user's API tokens in all workspaces.
        #[arg(long)]
        revoke_tokens: bool,
    },
    /// Remove the authenticator app, the passkeys and the recovery codes of a user who lost them.
    ResetFactors {
        /// Email address of the user.
        #[arg(value_parser = parse_email)]
        email: Email,
    },
    /// List the users of this installation with their workspaces.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Disable a user: their sessions end at once, and they can no longer log in. Their API tokens are
    /// revoked.
    Disable {
        /// Email address of the user.
        #[arg(value_parser = parse_email)]
        email: Email,
        /// Do not revoke the user's API tokens.
        #[arg(long)]
        keep_tokens: bool,
    },
    /// Enable a disabled user. Revoked tokens stay revoked.
    Enable {
        /// Email address of the user.
        #[arg(value_parser = parse_email)]
        email: Email,
    },
    /// Delete a user. Their name and address are erased from all workspaces; their records stay.
    Delete {
        /// Email address of the user.
        #[arg(value_parser = parse_email)]
        email: Email,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum PersonCommand {
    /// Erase the name and address of a former member, or of a person without login. Records stay.
    Erase {
        /// Email address of the person.
        #[arg(value_parser = parse_email)]
        email: Email,
        #[command(flatten)]
        workspace: WorkspaceArg,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Create a token and print it. It is not shown again.
    Create {
        #[command(flatten)]
        workspace: WorkspaceArg,
        /// Email address of the token's owner.
        #[arg(long, value_parser = parse_email)]
        user: Email,
        /// Name of the token.
        #[arg(long, value_parser = token::parse_name)]
        name: String,
        /// A token that cannot change anything, whatever its scopes are.
        #[arg(long)]
        read_only: bool,
        /// Comma-separated scopes, for example READ_FOLDER,READ_BUDGET. Empty for none.
        #[arg(long, value_parser = Scopes::parse)]
        scopes: Scopes,
        /// Lifetime, for example 90d or 12h. Default: the token does not expire.
        #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
        expires: Option<i64>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// List tokens.
    List {
        #[command(flatten)]
        workspace: WorkspaceArg,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Revoke a token immediately.
    Revoke {
        /// ID of the token.
        id: TokenId,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum LayerCommand {
    /// Create a layer and print its ID.
    Create {
        /// Name of the layer. Its slug in URLs is derived from the name.
        name: String,
        /// Reference system in which coordinates are kept as they were sent, for example EPSG:2154. Default: WGS 84.
        #[arg(long, value_parser = Crs::parse)]
        crs: Option<Crs>,
        #[command(flatten)]
        workspace: WorkspaceArg,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// List layers.
    List {
        #[command(flatten)]
        workspace: WorkspaceArg,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Print the fields, the style, the position and the lock of a layer as JSON.
    Show {
        /// ID or slug of the layer.
        key: String,
        #[command(flatten)]
        workspace: WorkspaceArg,
    },
    /// Change the fields, the style, the position or the lock of a layer.
    Update(UpdateLayer),
    /// Find self-intersections, spikes, duplicates, overlaps, gaps and other problems of the features of a
    /// layer. Exits with 0 whatever is found.
    Check(CheckLayer),
    /// Delete a layer and all its features.
    Delete {
        /// ID or slug of the layer.
        key: String,
        #[command(flatten)]
        workspace: WorkspaceArg,
    },
}

#[derive(Debug, Args)]
pub(crate) struct CheckLayer {
    /// ID or slug of the layer.
    pub(crate) key: String,
    /// Overlaps and gaps up to this width are not reported, in meters. Spikes are, only up to this width.
    #[arg(long, value_name = "METERS", default_value_t = LayerCheckOptions::DEFAULT_TOLERANCE, value_parser = parse_tolerance)]
    pub(crate) tolerance: f64,
    /// Remove repeated positions and spikes, resolve self-intersections, and delete exact copies, before the check.
    #[arg(long)]
    pub(crate) repair: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) workspace: WorkspaceArg,
}

/// A tolerance from 1 mm to 100 m.
fn parse_tolerance(text: &str) -> Result<f64, String> {
    let is_valid = |meters: &f64| LayerCheckOptions::TOLERANCES.contains(meters);
    let meters = text.parse().ok().filter(is_valid);
    meters.ok_or_else(|| "must be a number of meters from 0.001 to 100".to_owned())
}

#[derive(Debug, Args)]
#[group(id = "changes", required = true, multiple = true, args = ["fields", "style", "lock", "unlock", "position"])]
pub(crate) struct UpdateLayer {
    /// ID or slug of the layer.
    pub(crate) key: String,
    /// JSON file with the list of declared fields, or `-` for standard input.
    #[arg(long, value_name = "FILE")]
    pub(crate) fields: Option<PathBuf>,
    /// JSON file with the style, or `-` for standard input.
    #[arg(long, value_name = "FILE")]
    pub(crate) style: Option<PathBuf>,
    /// Reject all changes of the layer's features.
    #[arg(long, conflicts_with = "unlock")]
    pub(crate) lock: bool,
    /// Allow changes of the layer's features again.
    #[arg(long)]
    pub(crate) unlock: bool,
    /// Position on maps, where 1 is the top.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) position: Option<u32>,
    #[command(flatten)]
    pub(crate) workspace: WorkspaceArg,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ArchiveCommand {
    /// Archive a folder.
    Folder {
        /// ID or reference.
        key: String,
        #[command(flatten)]
        workspace: WorkspaceArg,
    },
}

fn parse_kind(text: &str) -> Result<Kind, String> {
    let singular = text.strip_suffix('s').unwrap_or(text);
    let found = Kind::NAMES.iter().find(|(word, _)| *word == singular);
    found
        .map(|(_, kind)| *kind)
        .ok_or_else(|| "must be folder, assignment, expense or budget".to_owned())
}

fn parse_database_url(text: &str) -> Result<DatabaseUrl, String> {
    text.parse().map_err(|error: groma_store::Error| error.to_string())
}

fn parse_email(text: &str) -> Result<Email, String> {
    Email::parse(text).map_err(|violation| violation.to_string())
}

fn parse_user_key(text: &str) -> Result<UserKey, String> {
    let id = text.parse::<UserId>().map(UserKey::Id);
    let key = id.or_else(|_| Email::parse(text).map(UserKey::Email));
    key.map_err(|_| "must be an email address or a user ID".to_owned())
}

/// `90d`, `12h`, `30m` or `45s` in milliseconds.
fn parse_duration(text: &str) -> Result<i64, String> {
    let invalid = || "must be a duration, for example 90d or 12h".to_owned();
    let unit = text.chars().last().ok_or_else(invalid)?;
    let millis = match unit {
        'd' => 86_400_000,
        'h' => 3_600_000,
        'm' => 60_000,
        's' => 1_000,
        _ => return Err(invalid()),
    };
    let count: i64 = text[..text.len() - unit.len_utf8()].parse().map_err(|_| invalid())?;
    if (1..=1_000_000).contains(&count) { Ok(count * millis) } else { Err(invalid()) }
}

fn parse_currency(text: &str) -> Result<Currency, String> {
    text.parse().map_err(|violation: groma_domain::Violation| violation.to_string())
}
