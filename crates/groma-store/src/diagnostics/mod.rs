//! What operators need to know about the database itself.

pub(crate) mod postgres;

use crate::{DatabaseUrl, Encryption, Result, authentication, engine::Engine, records};
use groma_domain::Kind;

/// The size of a database file, or the state of the connections to a server.
#[derive(Clone, Copy, Debug)]
pub enum DatabaseStats {
    /// A SQLite file.
    Sqlite {
        /// The size of the file in bytes.
        file_bytes: u64,
        /// The size of its write-ahead log in bytes.
        log_bytes: u64,
    },
    /// The connections of this program to PostgreSQL.
    Postgres {
        /// Connections in use.
        busy: usize,
        /// Idle connections.
        idle: usize,
        /// The maximum number of connections.
        max: usize,
        /// Callers that wait for a connection.
        waiting: usize,
    },
}

/// Settings of a PostgreSQL server.
#[derive(Clone, Debug)]
pub struct ServerInfo {
    /// Its version as a number: 170004 is 17.4.
    pub version: i32,
    /// Its clock, in milliseconds since 1970.
    pub clock_millis: i64,
    /// The maximum number of connections.
    pub max_connections: i32,
    /// Whether commits are synced to the disk.
    pub fsync: bool,
    /// Whether a commit waits for the sync.
    pub synchronous_commit: bool,
    /// The version of TLS on this connection, if it is encrypted.
    pub tls_version: Option<String>,
    /// How connections are encrypted.
    pub encryption: Encryption,
    /// Whether the server runs on this machine.
    pub is_local: bool,
    /// Whether this user may create any extension.
    pub is_superuser: bool,
    /// The required extensions: name, version in this database, version that could be created.
    pub extensions: Vec<(String, Option<String>, Option<String>)>,
}

/// The size of the database, or the state of its connections.
pub(crate) fn stats(engine: &Engine) -> DatabaseStats {
    match engine {
        Engine::Sqlite(engine) => {
            let size = |path: String| std::fs::metadata(path).map_or(0, |file| file.len());
            let path = engine.path().display();
            DatabaseStats::Sqlite {
                file_bytes: size(path.to_string()),
                log_bytes: size(format!("{path}-wal")),
            }
        }
        Engine::Postgres(engine) => {
            let status = engine.pool_status();
            DatabaseStats::Postgres {
                busy: status.size.saturating_sub(status.available),
                idle: status.available,
                max: status.max_size,
                waiting: status.waiting,
            }
        }
    }
}

/// The settings of the server; `None` for SQLite.
pub(crate) async fn server_info(url: &DatabaseUrl) -> Result<Option<ServerInfo>> {
    match url {
        DatabaseUrl::Sqlite(_) => Ok(None),
        DatabaseUrl::Postgres(url) => postgres::server_info(url).await.map(Some),
    }
}

/// The statements of the most frequent requests on PostgreSQL, for the benchmark to run without the program.
#[derive(Clone, Copy, Debug)]
pub struct HotReads {
    /// Authenticates tokens: hashes, numbers of requests, limits, times.
    pub authenticate: &'static str,
    /// A folder: workspace, reference.
    pub detail: &'static str,
    /// A page of folders: workspace, first position, limit, offset.
    pub page: &'static str,
}

impl HotReads {
    /// The statements as the program sends them.
    #[must_use]
    pub fn new() -> Self {
        let folders = records::postgres::sql::KindSql::of(Kind::Folder);
        Self {
            authenticate: authentication::postgres::AUTHENTICATE,
            detail: &folders.document_by_reference,
            page: &folders.page,
        }
    }
}

impl Default for HotReads {
    fn default() -> Self {
        Self::new()
    }
}
