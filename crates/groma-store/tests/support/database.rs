//! A PostgreSQL database of its own for one test, on the server of `TEST_POSTGRES_URL`. It goes
//! when the test ends, however it ends.

use tokio_postgres::{Client, NoTls};

/// A database that nobody else uses.
pub(crate) struct OwnDatabase {
    name: String,
}

impl OwnDatabase {
    /// A copy of the database `template`; nobody may be connected to that one.
    pub(crate) async fn copy_of(template: &str) -> Self {
        let name = format!("groma_test_{}", uuid::Uuid::now_v7().simple());
        let create = format!("CREATE DATABASE {name} TEMPLATE {template}");
        connect(&server_url()).await.batch_execute(&create).await.unwrap();
        Self { name }
    }

    /// Its address.
    pub(crate) fn url(&self) -> String {
        let server = server_url();
        let (address, parameters) = server.split_once('?').unwrap_or((&server, ""));
        let host = address.rsplit_once('/').map_or(address, |(host, _)| host);
        format!("{host}/{}?{parameters}", self.name)
    }
}

impl Drop for OwnDatabase {
    fn drop(&mut self) {
        let drop = format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name);
        // A test's own runtime cannot be waited for here; a thread with another one can.
        let dropped = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(async { connect(&server_url()).await.batch_execute(&drop).await })?;
            Ok::<_, Box<dyn std::error::Error + Send + Sync>>(())
        });
        if let Ok(Err(error)) = dropped.join() {
            eprintln!("{} was left behind: {error}", self.name);
        }
    }
}

/// A plain connection, for what no use case of the store asks.
pub(crate) async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// The address of the server that the tests may use.
pub(crate) fn server_url() -> String {
    std::env::var("TEST_POSTGRES_URL").unwrap_or_else(|_| {
        panic!(
            "TEST_POSTGRES_URL is not set: run this through `make test`, or behind \
             `scripts/with-postgres`, which bring a PostgreSQL of their own"
        )
    })
}
