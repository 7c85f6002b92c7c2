//! A database of its own for each test: a file in a temporary folder, or a PostgreSQL database
//! cloned from a template that is migrated once.

use crate::office;
use std::{
    future::Future,
    path::Path,
    time::{Duration, Instant, UNIX_EPOCH},
};
use tokio_postgres::{Client, NoTls};
use uuid::Uuid;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Engine {
    Sqlite,
    Postgres,
}

/// A fresh database, gone when dropped; a file goes with its folder.
pub(crate) struct Database {
    url: String,
    /// Its name on the PostgreSQL server.
    name: Option<String>,
}

impl Database {
    /// Makes one; on SQLite its file is in `folder`.
    pub(crate) fn new(engine: Engine, folder: &Path) -> Self {
        match engine {
            Engine::Sqlite => {
                Self { url: format!("sqlite:{}", folder.join("groma.db").display()), name: None }
            }
            Engine::Postgres => {
                let name = format!("groma_it_{}", Uuid::now_v7().simple());
                clone_template(&name);
                Self { url: address(&name), name: Some(name) }
            }
        }
    }

    /// Makes one that no migration has seen; on SQLite there is no file yet.
    pub(crate) fn bare(engine: Engine, folder: &Path) -> Self {
        if engine == Engine::Sqlite {
            return Self::new(engine, folder);
        }
        let name = format!("groma_it_{}", Uuid::now_v7().simple());
        let create = format!("CREATE DATABASE {name}");
        as_administrator(async |client| client.batch_execute(&create).await).unwrap();
        Self { url: address(&name), name: Some(name) }
    }

    /// Lets nobody in any more, and throws out who is.
    pub(crate) fn cut(&self) {
        let name = self.name.as_deref().expect("a PostgreSQL database");
        let outcome = as_administrator(async |client| {
            client.batch_execute(&format!("ALTER DATABASE {name} ALLOW_CONNECTIONS false")).await?;
            let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1";
            client.execute(end, &[&name]).await
        });
        outcome.unwrap();
    }

    /// Lets everybody in again.
    pub(crate) fn mend(&self) {
        let name = self.name.as_deref().expect("a PostgreSQL database");
        let outcome = as_administrator(async |client| {
            client.batch_execute(&format!("ALTER DATABASE {name} ALLOW_CONNECTIONS true")).await
        });
        outcome.unwrap();
    }

    /// Its address, as `--database` takes it.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        if let Some(name) = self.name.take() {
            // Left behind, they add up to gigabytes. A failure here would only hide the test's own.
            let _ = as_administrator(async |client| {
                client.batch_execute(&format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")).await
            });
        }
    }
}

/// Any two tests that run at a time take turns at making the template.
const TEMPLATE_LOCK: i64 = 7_203_011;

fn clone_template(name: &str) {
    let template = template_name();
    let outcome = as_administrator(async |client| {
        client.execute("SELECT pg_advisory_lock($1)", &[&TEMPLATE_LOCK]).await?;
        let known = "SELECT 1 FROM pg_database WHERE datname = $1";
        if client.query_opt(known, &[&template]).await?.is_none() {
            make_template(client, &template).await?;
        }
        client.execute("SELECT pg_advisory_unlock($1)", &[&TEMPLATE_LOCK]).await?;
        client.batch_execute(&format!("CREATE DATABASE {name} TEMPLATE {template}")).await
    });
    outcome.unwrap_or_else(|error| panic!("{name} was not made: {error:?}"));
}

async fn make_template(client: &Client, template: &str) -> Result<(), tokio_postgres::Error> {
    let unfinished = format!("{template}_unfinished");
    client.batch_execute(&format!("DROP DATABASE IF EXISTS {unfinished} WITH (FORCE)")).await?;
    client.batch_execute(&format!("CREATE DATABASE {unfinished}")).await?;
    office::run(&[("GROMA_DATABASE__URL", &address(&unfinished))], "", &["workspace", "list"])
        .succeeds();
    // The connection of a program that has ended lives on for a moment, and would be in the way.
    let deadline = Instant::now() + Duration::from_secs(20);
    let busy = "SELECT 1 FROM pg_stat_activity WHERE datname = $1 LIMIT 1";
    while client.query_opt(busy, &[&unfinished]).await?.is_some() {
        assert!(Instant::now() < deadline, "someone stays connected to {unfinished}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    client.batch_execute(&format!("ALTER DATABASE {unfinished} RENAME TO {template}")).await
}

/// A name of its own for each build of the program, whose migrations it holds.
fn template_name() -> String {
    let built = std::fs::metadata(office::PROGRAM).and_then(|file| file.modified()).unwrap();
    format!("groma_template_{}", built.duration_since(UNIX_EPOCH).unwrap().as_nanos())
}

fn server() -> String {
    std::env::var("TEST_POSTGRES_URL").unwrap_or_else(|_| {
        panic!("TEST_POSTGRES_URL is missing: run through `make test` or scripts/with-postgres")
    })
}

/// The address of another database on the same server.
fn address(name: &str) -> String {
    let server = server();
    let (address, options) = server.split_once('?').unwrap_or((&server, ""));
    let (host, _) = address.rsplit_once('/').expect("TEST_POSTGRES_URL names a database");
    let mark = if options.is_empty() { "" } else { "?" };
    format!("{host}/{name}{mark}{options}")
}

fn as_administrator<T>(
    work: impl AsyncFnOnce(&Client) -> Result<T, tokio_postgres::Error>,
) -> Result<T, tokio_postgres::Error> {
    block_on(async {
        let (client, connection) = tokio_postgres::connect(&server(), NoTls).await?;
        let connection = tokio::spawn(connection);
        let outcome = work(&client).await;
        drop(client);
        let _ = connection.await;
        outcome
    })
}

/// Runs statements on a PostgreSQL database.
pub(crate) fn execute(url: &str, statements: &str) {
    with_client(url, async |client| client.batch_execute(statements).await.unwrap());
}

/// The first column of every row that a query of a PostgreSQL database gives, as text.
pub(crate) fn column(url: &str, query: &str) -> Vec<String> {
    with_client(url, async |client| {
        let rows =
            client.query(query, &[]).await.unwrap_or_else(|error| panic!("{query}: {error:?}"));
        rows.iter().map(|row| row.get(0)).collect()
    })
}

/// Has a connection to a PostgreSQL database while `work` runs, and no longer.
pub(crate) fn with_client<T>(url: &str, work: impl AsyncFnOnce(&mut Client) -> T) -> T {
    block_on(async {
        let (mut client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
        let connection = tokio::spawn(connection);
        let outcome = work(&mut client).await;
        drop(client);
        let _ = connection.await;
        outcome
    })
}

/// The number that a query of a PostgreSQL database gives.
pub(crate) fn number(url: &str, query: &str) -> i64 {
    block_on(async {
        let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
        tokio::spawn(connection);
        client.query_one(query, &[]).await.unwrap().get(0)
    })
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(work)
}
