//! The two database engines, without any knowledge of what is stored in them: connections,
//! transactions, group commit, migrations. Topics build on this module; it imports none of them.

pub(crate) mod blocking_pool;
mod extensions;
mod migrations;
pub(crate) mod postgres;
pub(crate) mod sqlite;
mod work;

pub(crate) use extensions::Extensions;
pub use postgres::Encryption;
pub(crate) use postgres::Postgres;
use postgres::PostgresWork;
pub(crate) use sqlite::Sqlite;
use work::Work;
pub(crate) use work::{impl_work, run_now};

use crate::{Error, Result};
use groma_domain::Kind;
use std::{path::PathBuf, sync::Arc};

/// An open database. The enum is closed: a `match` that forgets an engine does not compile, and no caller
/// needs a type parameter.
#[derive(Clone)]
pub(crate) enum Engine {
    Sqlite(Arc<Sqlite>),
    Postgres(Arc<Postgres>),
}

/// Calls the function of this name in the topic's module of the engine in use, `sqlite` or `postgres`,
/// with the engine as its first argument.
macro_rules! dispatch {
    ($engine:expr, $function:ident($($argument:expr),* $(,)?)) => {
        match $engine {
            $crate::engine::Engine::Sqlite(engine) => {
                sqlite::$function(engine, $($argument),*).await
            }
            $crate::engine::Engine::Postgres(engine) => {
                postgres::$function(engine, $($argument),*).await
            }
        }
    };
}
pub(crate) use dispatch;

impl Engine {
    /// Opens the database, and creates and migrates it as needed.
    pub(crate) async fn open(url: &DatabaseUrl) -> Result<Self> {
        Self::open_with(url, Sqlite::open).await
    }

    /// Opens a database that must exist, and migrates it as needed. A PostgreSQL database always must.
    pub(crate) async fn open_existing(url: &DatabaseUrl) -> Result<Self> {
        Self::open_with(url, Sqlite::open_existing).await
    }

    async fn open_with(
        url: &DatabaseUrl,
        open: impl FnOnce(&std::path::Path) -> Result<Sqlite> + Send + 'static,
    ) -> Result<Self> {
        match url {
            DatabaseUrl::Sqlite(path) => {
                let path = path.clone();
                let opened = tokio::task::spawn_blocking(move || open(&path)).await;
                Ok(Self::Sqlite(Arc::new(opened.map_err(|_| Error::Closed)??)))
            }
            DatabaseUrl::Postgres(url) => Ok(Self::Postgres(Arc::new(Postgres::open(url).await?))),
        }
    }

    /// The migrations that a database still lacks. Runs none of them and creates nothing.
    pub(crate) async fn pending_migrations(url: &DatabaseUrl) -> Result<Vec<String>> {
        match url {
            DatabaseUrl::Sqlite(path) => {
                let path = path.clone();
                let pending =
                    tokio::task::spawn_blocking(move || sqlite::pending_migrations(&path));
                pending.await.map_err(|_| Error::Closed)?
            }
            DatabaseUrl::Postgres(url) => postgres::pending_migrations(url).await,
        }
    }

    /// Runs work in one transaction.
    pub(crate) async fn transact<W: Work>(&self, work: W) -> Result<<W as PostgresWork>::Output> {
        match self {
            Self::Sqlite(engine) => engine.transact(work).await,
            Self::Postgres(engine) => engine.transact(work).await,
        }
    }

    /// Runs work that reads as a transaction would, and writes nothing.
    pub(crate) async fn dry_run<W: Work>(&self, work: W) -> Result<<W as PostgresWork>::Output> {
        match self {
            Self::Sqlite(engine) => engine.dry_run(work).await,
            Self::Postgres(engine) => engine.dry_run(work).await,
        }
    }

    /// Checks that the database responds.
    pub(crate) async fn ping(&self) -> Result<()> {
        match self {
            Self::Sqlite(engine) => engine.ping().await,
            Self::Postgres(engine) => engine.ping().await,
        }
    }
}

/// Where the database is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DatabaseUrl {
    /// `sqlite:PATH`.
    Sqlite(PathBuf),
    /// `postgres://…`.
    Postgres(String),
}

impl std::str::FromStr for DatabaseUrl {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if let Some(path) = text.strip_prefix("sqlite:") {
            let path = path.strip_prefix("//").unwrap_or(path);
            if path.contains('?') {
                return Err(Error::Url("`sqlite:PATH` takes no options after a `?`".to_owned()));
            }
            if !path.is_empty() {
                return Ok(Self::Sqlite(path.into()));
            }
        } else if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            return Ok(Self::Postgres(text.to_owned()));
        }
        Err(Error::Url("must be `sqlite:PATH` or `postgres://…`".to_owned()))
    }
}

/// Declares SQL statements as constants, and in tests also lists them, so that one test can prepare
/// every statement of the program on a real database.
macro_rules! statements {
    ($($(#[$attribute:meta])* $name:ident = $sql:expr;)*) => {
        $($(#[$attribute])* pub(crate) const $name: &str = $sql;)*
        /// All of the above.
        #[cfg(test)]
        pub(crate) const ALL: &[&str] = &[$($name),*];
    };
}
pub(crate) use statements;

/// The number that stands for a kind of record in the database.
pub(crate) fn kind_number(kind: Kind) -> i16 {
    match kind {
        Kind::Folder => 0,
        Kind::Assignment => 1,
        Kind::Expense => 2,
        Kind::Budget => 3,
    }
}

/// The kind of record that a number in the database stands for.
pub(crate) fn kind_from_number(number: i16) -> Kind {
    Kind::ALL.into_iter().find(|kind| kind_number(*kind) == number).unwrap_or(Kind::Folder)
}

/// An unsigned number as the databases store it.
pub(crate) fn int(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Random bytes, for ids and secrets.
pub(crate) fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    #[expect(clippy::expect_used, reason = "without randomness no id or secret is safe")]
    getrandom::fill(&mut bytes).expect("the system provides random bytes");
    bytes
}
