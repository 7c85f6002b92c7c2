//! What can go wrong in the store.

use groma_domain::DomainError;
use thiserror::Error;

/// The store's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of the store. Only [`Error::Domain`] is for the eyes of whoever asked.
#[derive(Debug, Error)]
pub enum Error {
    /// A rule of the domain said no. `index` is the place of the command within its change.
    #[error("{error}")]
    Domain {
        /// What the rule says.
        error: DomainError,
        /// Which command of the change it was about.
        index: usize,
    },
    /// SQLite failed.
    #[error("SQLite: {0}")]
    Sqlite(#[from] rusqlite::Error),
    /// PostgreSQL failed.
    #[error("PostgreSQL: {}", describe(.0))]
    Postgres(#[from] tokio_postgres::Error),
    /// No connection to PostgreSQL could be had in time.
    #[error("PostgreSQL is out of reach: {0}")]
    Pool(String),
    /// PostgreSQL cannot be used as it is set up.
    #[error("{problem}; {remedy}")]
    DatabaseSetup {
        /// What is wrong.
        problem: String,
        /// What to do about it.
        remedy: String,
    },
    /// The migrations failed.
    #[error("migrations: {0}")]
    Migration(#[from] refinery::Error),
    /// The writer could not commit the group that this change was in.
    #[error("the commit failed: {0}")]
    Commit(String),
    /// There is no database file.
    #[error("there is no database at {0}; `groma workspace create` makes one")]
    Missing(String),
    /// The database file has several names, and what SQLite keeps beside it goes by the name.
    #[error("{0} has other names (hard links); SQLite needs a file with one")]
    Linked(String),
    /// The database file is served by another program.
    #[error("{0} is served by another groma already")]
    AlreadyServed(String),
    /// A backup, a restore or a copy that would do harm, or came out wrong.
    #[error("{0}")]
    Keeping(String),
    /// The database file is not the one that was opened.
    #[error("{0} was moved away or replaced while it was served")]
    Replaced(String),
    /// The address of the database makes no sense.
    #[error("{0}")]
    Url(String),
    /// A file could not be made or opened.
    #[error("{path}: {source}")]
    File {
        /// Which.
        path: String,
        /// Why not.
        source: std::io::Error,
    },
    /// Something stored cannot be read back.
    #[error("stored data is damaged: {0}")]
    Damaged(String),
    /// A sealed secret that does not open, or cannot be sealed.
    #[error("a webhook secret does not open with webhooks.encryption_key")]
    Sealed,
    /// The store is closing.
    #[error("the store is closed")]
    Closed,
}

impl Error {
    /// The rule that said no, if that is what happened.
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

/// PostgreSQL's own words, which `Display` leaves out.
fn describe(error: &tokio_postgres::Error) -> String {
    match error.as_db_error() {
        Some(db) => format!("{} ({})", db.message(), db.code().code()),
        None => match std::error::Error::source(error) {
            Some(source) => format!("{error}: {source}"),
            None => error.to_string(),
        },
    }
}
