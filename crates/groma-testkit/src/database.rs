//! A database of its own for each test, on either engine.

use crate::{
    Program,
    postgres::{self, PostgresDatabase},
};
use std::{fmt, path::Path, time::UNIX_EPOCH};

/// A database engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// A SQLite file.
    Sqlite,
    /// A PostgreSQL database.
    Postgres,
}

impl Engine {
    /// Both engines.
    pub const ALL: [Self; 2] = [Self::Sqlite, Self::Postgres];
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sqlite => "SQLite",
            Self::Postgres => "PostgreSQL",
        })
    }
}

/// A new database. A PostgreSQL database is dropped with this value; a SQLite file belongs to its
/// directory.
pub struct Database {
    url: String,
    postgres: Option<PostgresDatabase>,
}

impl Database {
    /// Creates a database. On PostgreSQL it is a copy of a template with the program's migrations;
    /// on SQLite the file does not exist yet.
    pub fn new(engine: Engine, directory: &Path) -> Self {
        match engine {
            Engine::Sqlite => Self::sqlite(directory),
            Engine::Postgres => {
                let template = migrated_template();
                Self::postgres(PostgresDatabase::copy_of(&template).unwrap())
            }
        }
    }

    /// Creates a database without any migration.
    pub fn unmigrated(engine: Engine, directory: &Path) -> Self {
        match engine {
            Engine::Sqlite => Self::sqlite(directory),
            Engine::Postgres => Self::postgres(PostgresDatabase::create().unwrap()),
        }
    }

    fn sqlite(directory: &Path) -> Self {
        Self { url: format!("sqlite:{}", directory.join("groma.db").display()), postgres: None }
    }

    fn postgres(database: PostgresDatabase) -> Self {
        Self { url: database.url(), postgres: Some(database) }
    }

    /// The database's URL, as `--database` takes it.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Closes all connections and rejects new ones while `work` runs. PostgreSQL only.
    pub fn while_unreachable<T>(&self, work: impl FnOnce() -> T) -> T {
        let database = self.postgres.as_ref().expect("a PostgreSQL database");
        database.disconnect().unwrap();
        let outcome = work();
        database.reconnect().unwrap();
        outcome
    }
}

/// The name of a PostgreSQL database with the program's migrations. Each build of the program has
/// its own.
fn migrated_template() -> String {
    let program = Program::built();
    let built = std::fs::metadata(program.path()).and_then(|file| file.modified()).unwrap();
    let nanos = built.duration_since(UNIX_EPOCH).unwrap().as_nanos();
    let name = format!("groma_template_{nanos}");
    let migrate = |url: &str| {
        let migrated = program.env("GROMA_DATABASE__URL", url).run(&["workspace", "list"]);
        migrated.expect_success();
    };
    postgres::create_template(&name, migrate).unwrap();
    name
}
