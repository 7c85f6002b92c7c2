//! The errors of the store.

use groma_domain::DomainError;
use thiserror::Error;

/// The store's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of the store. Only [`Error::Domain`] is meant for the client.
#[derive(Debug, Error)]
pub enum Error {
    /// A rule of the domain rejected the change.
    #[error("{error}")]
    Domain {
        /// The violated rule.
        error: DomainError,
        /// The index of the command within its change.
        index: usize,
    },
    /// SQLite failed.
    #[error("SQLite: {0}")]
    Sqlite(#[from] rusqlite::Error),
    /// PostgreSQL failed.
    #[error("PostgreSQL: {}", describe(.0))]
    Postgres(#[from] tokio_postgres::Error),
    /// No connection to PostgreSQL was available in time.
    #[error("PostgreSQL is unreachable: {0}")]
    Pool(String),
    /// PostgreSQL cannot be used as it is set up.
    #[error("{problem}; {remedy}")]
    DatabaseSetup {
        /// What is wrong.
        problem: String,
        /// What to do about it.
        remedy: String,
    },
    /// A migration failed.
    #[error("migration failed: {0}")]
    Migration(#[from] refinery::Error),
    /// The group that this change was in could not be committed.
    #[error("the commit failed: {0}")]
    Commit(String),
    /// There is no database file.
    #[error("there is no database at {0}; create one with `groma workspace create`")]
    Missing(String),
    /// The database file has hard links, and SQLite names its log after the file.
    #[error("{0} has hard links; SQLite needs a file with a single name")]
    HardLinked(String),
    /// Another program serves the database file.
    #[error("{0} is already in use by another Groma process")]
    AlreadyServed(String),
    /// A backup, a restore or a copy was rejected or failed its check.
    #[error("{0}")]
    Maintenance(String),
    /// The database file is not the one that was opened.
    #[error("{0} was moved or replaced while it was served")]
    Replaced(String),
    /// The database address is invalid.
    #[error("{0}")]
    Url(String),
    /// A file could not be created or opened.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: String,
        /// The cause.
        source: std::io::Error,
    },
    /// Stored data cannot be read back.
    #[error("stored data is damaged: {0}")]
    Damaged(String),
    /// An encrypted secret does not decrypt, or cannot be encrypted.
    #[error("a webhook secret does not decrypt with the key file or webhooks.encryption_key")]
    Undecryptable,
    /// A search was ended because it took too long.
    #[error("the search took too long")]
    SearchTimeout,
    /// The store is closing.
    #[error("the store is closed")]
    Closed,
}

impl Error {
    /// The violated rule, if the domain rejected the change.
    #[must_use]
    pub fn domain_error(&self) -> Option<&DomainError> {
        match self {
            Self::Domain { error, .. } => Some(error),
            _ => None,
        }
    }
}

impl From<DomainError> for Error {
    fn from(error: DomainError) -> Self {
        Self::Domain { error, index: 0 }
    }
}

impl From<serde_json::Error> for Error {
    fn from(error: serde_json::Error) -> Self {
        Self::Damaged(error.to_string())
    }
}

/// PostgreSQL's own message, which `Display` leaves out.
fn describe(error: &tokio_postgres::Error) -> String {
    match error.as_db_error() {
        Some(db) => format!("{} ({})", db.message(), db.code().code()),
        None => match std::error::Error::source(error) {
            Some(source) => format!("{error}: {source}"),
            None => error.to_string(),
        },
    }
}
