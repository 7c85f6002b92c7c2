//! What an operator asks of the database itself: whether it is the one that was opened, how large it is,
//! how many connections are in use, what the server is.

use crate::{DatabaseUrl, Result, Store, postgres, store::on_engine};
use groma_domain::Timestamp;

/// The size of a database file, or the state of the connections to a server.
#[derive(Clone, Copy, Debug)]
pub enum Vitals {
    /// Of a SQLite file.
    Sqlite {
        /// Bytes of the file.
        file_bytes: u64,
        /// Bytes of its write-ahead log.
        log_bytes: u64,
    },
    /// Of the connections that this program has to a PostgreSQL.
    Postgres {
        /// How many do something.
        busy: usize,
        /// How many wait for something to do.
        idle: usize,
        /// How many there may be.
        most: usize,
        /// How many callers wait for one.
        waiting: usize,
    },
}

/// What a PostgreSQL server says of itself.
#[derive(Clone, Debug)]
pub struct ServerFacts {
    /// Its version as a number: 170004 is 17.4.
    pub version: i32,
    /// Its clock, in milliseconds since 1970.
    pub clock_millis: i64,
    /// How many connections it takes.
    pub max_connections: i32,
    /// Whether it syncs what it commits to the disk.
    pub fsync: bool,
    /// Whether it waits for that before it answers.
    pub synchronous_commit: bool,
    /// Whether this user may create any extension.
    pub is_superuser: bool,
    /// The extensions that are needed: name, version in this database, version that could be created.
    pub extensions: Vec<(String, Option<String>, Option<String>)>,
}

impl Store {
    /// The migrations that the database lacks by now; it may be another than the one that was opened.
    pub async fn lacking_migrations(&self) -> Result<Vec<String>> {
        on_engine!(self, engine => engine.lacking_migrations().await)
    }

    /// How large the database is, or how busy.
    pub fn vitals(&self) -> Vitals {
        on_engine!(self, engine => engine.vitals())
    }

    /// How many sessions of the web application are open.
    pub async fn open_sessions(&self, now: Timestamp) -> Result<u64> {
        on_engine!(self, engine => engine.open_sessions(now).await)
    }

    /// What the server says of itself; `None` where there is no server.
    pub async fn server_facts(url: &DatabaseUrl) -> Result<Option<ServerFacts>> {
        match url {
            DatabaseUrl::Sqlite(_) => Ok(None),
            DatabaseUrl::Postgres(url) => postgres::server_facts(url).await.map(Some),
        }
    }
}
