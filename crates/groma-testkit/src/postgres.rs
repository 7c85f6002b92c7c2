//! Databases on the PostgreSQL server of `TEST_POSTGRES_URL`, which `scripts/with-postgres` starts.
//!
//! The functions block, and work inside and outside a tokio runtime.

use crate::Result;
use std::{
    future::Future,
    time::{Duration, Instant},
};
use tokio_postgres::{Client, NoTls};

/// Serializes tests that would create the same template at the same time.
const TEMPLATE_LOCK: i64 = 7_203_011;

/// A database that only one test uses. It is dropped with this value.
pub struct PostgresDatabase {
    name: String,
}

impl PostgresDatabase {
    /// Creates an empty database.
    pub fn create() -> Result<Self> {
        Self::copy_of("template1")
    }

    /// Creates a copy of another database, which must have no connections.
    pub fn copy_of(template: &str) -> Result<Self> {
        let name = format!("groma_test_{}", uuid::Uuid::now_v7().simple());
        execute(&server_url()?, &format!("CREATE DATABASE {name} TEMPLATE {template}"))?;
        Ok(Self { name })
    }

    /// The database's URL.
    pub fn url(&self) -> String {
        url_of(&self.name).unwrap()
    }

    /// Closes all connections and rejects new ones.
    pub fn disconnect(&self) -> Result {
        let name = &self.name;
        execute(&server_url()?, &format!("ALTER DATABASE {name} ALLOW_CONNECTIONS false"))?;
        let terminate = format!(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"
        );
        execute(&server_url()?, &terminate)
    }

    /// Accepts connections again.
    pub fn reconnect(&self) -> Result {
        let allow = format!("ALTER DATABASE {} ALLOW_CONNECTIONS true", self.name);
        execute(&server_url()?, &allow)
    }
}

impl Drop for PostgresDatabase {
    fn drop(&mut self) {
        // A failure must not hide the failure of the test.
        let drop = format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name);
        let dropped = server_url().and_then(|server| execute(&server, &drop));
        if let Err(error) = dropped {
            eprintln!("database {} was not dropped: {error}", self.name);
        }
    }
}

/// Creates the template database `name` unless it exists; `migrate` receives its URL.
pub fn create_template(name: &str, migrate: impl FnOnce(&str) + Send) -> Result {
    let server = server_url()?;
    block_on(async {
        // The lock ends with this connection, also when `migrate` panics.
        let client = connect(&server).await?;
        client.execute("SELECT pg_advisory_lock($1)", &[&TEMPLATE_LOCK]).await?;
        let exists = "SELECT 1 FROM pg_database WHERE datname = $1";
        if client.query_opt(exists, &[&name]).await?.is_some() {
            return Ok(());
        }
        // Only a complete template gets the final name.
        let unfinished = format!("{name}_unfinished");
        client.batch_execute(&format!("DROP DATABASE IF EXISTS {unfinished} WITH (FORCE)")).await?;
        client.batch_execute(&format!("CREATE DATABASE {unfinished}")).await?;
        std::thread::scope(|scope| {
            let url = url_of(&unfinished)?;
            let migrated = scope.spawn(move || migrate(&url)).join();
            migrated.map_err(|_| crate::Error::from("the template was not migrated"))
        })?;
        // The connections of a process that has exited last a moment longer and block the rename.
        let rename = format!("ALTER DATABASE {unfinished} RENAME TO {name}");
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            match client.batch_execute(&rename).await {
                Err(_) if Instant::now() < deadline => {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
                outcome => return Ok(outcome?),
            }
        }
    })
}

/// A connection for statements that the store has no method for.
pub async fn connect(url: &str) -> Result<Client> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

/// The URL of the server that tests can use.
pub fn server_url() -> Result<String> {
    std::env::var("TEST_POSTGRES_URL").map_err(|_| {
        "TEST_POSTGRES_URL is not set. Use `make test`, or run the command through \
         `scripts/with-postgres`."
            .into()
    })
}

/// The URL of another database on the same server.
pub fn url_of(name: &str) -> Result<String> {
    let server = server_url()?;
    let (address, options) = server.split_once('?').unwrap_or((&server, ""));
    let (host, _) = address.rsplit_once('/').ok_or("TEST_POSTGRES_URL names no database")?;
    let separator = if options.is_empty() { "" } else { "?" };
    Ok(format!("{host}/{name}{separator}{options}"))
}

/// Runs statements.
pub fn execute(url: &str, statements: &str) -> Result {
    block_on(async { Ok(connect(url).await?.batch_execute(statements).await?) })
}

/// The first column of the rows of a query, as text.
pub fn query_texts(url: &str, query: &str) -> Result<Vec<String>> {
    block_on(async {
        let rows = connect(url).await?.query(query, &[]).await?;
        rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
    })
}

/// The first column of the only row of a query, as text.
pub fn query_text(url: &str, query: &str) -> Result<String> {
    block_on(async { Ok(connect(url).await?.query_one(query, &[]).await?.try_get(0)?) })
}

/// The first column of the only row of a query, as a number.
pub fn query_number(url: &str, query: &str) -> Result<i64> {
    block_on(async { Ok(connect(url).await?.query_one(query, &[]).await?.try_get(0)?) })
}

/// Waits for a future on a thread with its own runtime, because the caller may be in a runtime.
fn block_on<T: Send>(work: impl Future<Output = Result<T>> + Send) -> Result<T> {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(work)
        });
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
