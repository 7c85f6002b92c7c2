//! PostgreSQL: one database that any number of programs share. A program keeps in memory only what the
//! database can confirm to be current.

mod group_commit;
mod liveness;
mod pipelined;
mod server;
mod sql;
pub(crate) mod startup;
mod transaction;

pub use server::Encryption;
pub(crate) use server::Server;
#[cfg(test)]
pub(crate) use sql::ALL;
pub(crate) use sql::{now_millis, token_end};
pub(crate) use transaction::{Param, PostgresTransaction, PostgresWork, Statement, params};

use super::migrations;
use crate::{Error, Result};
use deadpool_postgres::{
    Client, Hook, HookError, Manager, ManagerConfig, Pool, QueueMode, RecyclingMethod, Runtime,
    Status,
};
use groma_domain::WorkspaceId;
use group_commit::Groups;
use liveness::Liveness;
use pipelined::PipelinedConnections;
use std::{
    ops::DerefMut,
    sync::{Arc, OnceLock},
    time::Duration,
};
use tokio_postgres::{Row, error::SqlState, types::ToSql};

/// How long a request waits for a connection before it fails.
pub(crate) const CONNECTION_TIMEOUT: Duration = Duration::from_secs(4);

/// The number of connections of a program besides the pipelined ones, and how many of them may write.
const CONNECTIONS: usize = 16;
const WRITERS: usize = 10;

/// An open PostgreSQL database.
pub(crate) struct Postgres {
    pool: Pool,
    /// Keeps some of the connections from writers, which may wait long for one another.
    writers: tokio::sync::Semaphore,
    pipelined: PipelinedConnections,
    /// Changes that wait to be committed together, by workspace.
    groups: Groups,
    /// For connections outside the pool: listening and the liveness check.
    server: Server,
    /// Set in programs that serve.
    liveness: OnceLock<Liveness>,
    search_timeout: OnceLock<Duration>,
}

impl Postgres {
    /// Opens a database and migrates its schema.
    pub(crate) async fn open(url: &str) -> Result<Self> {
        let engine = Self::connect(url)?;
        engine.migrate().await.map_err(|error| startup::explain(error, &engine.server))?;
        Ok(engine)
    }

    /// Prepares connections to a database without migrating it.
    pub(crate) fn connect(url: &str) -> Result<Self> {
        let mut server = Server::parse(url)?;
        server
            .config_mut()
            .connect_timeout(CONNECTION_TIMEOUT)
            .application_name("groma")
            // A machine that disappears closes no connection: what is not acknowledged in time has
            // failed, and idle connections probe the other side.
            .tcp_user_timeout(CONNECTION_TIMEOUT)
            .keepalives_idle(Duration::from_secs(10))
            .keepalives_interval(Duration::from_secs(2))
            .keepalives_retries(3);
        let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let manager = Manager::from_config(server.config().clone(), server.tls(), recycling);
        let pipelined = PipelinedConnections::new();
        let pool = Pool::builder(manager)
            .max_size(CONNECTIONS + pipelined.count())
            // The connection that was used last has the warmest caches.
            .queue_mode(QueueMode::Lifo)
            .runtime(Runtime::Tokio1)
            .wait_timeout(Some(CONNECTION_TIMEOUT))
            .create_timeout(Some(CONNECTION_TIMEOUT))
            .recycle_timeout(Some(CONNECTION_TIMEOUT))
            .post_create(Hook::async_fn(|client, _| {
                Box::pin(async move {
                    client.batch_execute(sql::SESSION).await.map_err(HookError::Backend)
                })
            }))
            .build()
            .map_err(|error| Error::Pool(error.to_string()))?;
        Ok(Self {
            pool,
            writers: tokio::sync::Semaphore::new(WRITERS),
            pipelined,
            groups: Groups::default(),
            server,
            liveness: OnceLock::new(),
            search_timeout: OnceLock::new(),
        })
    }

    /// Starts the liveness check: from now on no caller waits for a database that does not respond.
    pub(crate) fn watch_liveness(&self) {
        self.liveness.get_or_init(|| Liveness::watch(self.server.clone()));
    }

    /// Runs `work`, and fails early if the database stops responding.
    pub(crate) async fn while_alive<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        match self.liveness.get() {
            Some(liveness) => liveness.guard(work).await,
            None => work.await,
        }
    }

    /// For connections outside the pool.
    pub(crate) fn server(&self) -> &Server {
        &self.server
    }

    /// The state of the pool.
    pub(crate) fn pool_status(&self) -> Status {
        self.pool.status()
    }

    /// A connection of the pool.
    pub(crate) async fn client(&self) -> Result<Client> {
        self.pool.get().await.map_err(|error| match error {
            deadpool_postgres::PoolError::Backend(error) => Error::Postgres(error),
            other => Error::Pool(other.to_string()),
        })
    }

    /// The first connection, whose errors are explained.
    pub(crate) async fn first_client(&self) -> Result<Client> {
        self.client().await.map_err(|error| startup::explain(error, &self.server))
    }

    /// A shared connection, for single statements that take no time.
    pub(crate) async fn pipelined(&self) -> Result<Arc<Client>> {
        self.pipelined.next(|| self.client()).await
    }

    /// The rows of a query, on a connection of its own.
    pub(crate) async fn rows(&self, sql: &str, params: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>> {
        let rows = async { query(&self.client().await?, sql, params).await };
        self.while_alive(rows).await
    }

    /// Ends searches that take longer than this.
    pub(crate) fn limit_searches(&self, timeout: Duration) {
        let _ = self.search_timeout.set(timeout);
    }

    /// The rows of a search, on a connection of its own: a statement that takes too long is ended.
    pub(crate) async fn search_rows(
        &self,
        sql: &str,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>> {
        let Some(timeout) = self.search_timeout.get() else { return self.rows(sql, params).await };
        let rows = async {
            let client = self.client().await?;
            let (set, search, reset) = (
                client.prepare_cached(sql::SET_TIMEOUT).await?,
                client.prepare_cached(sql).await?,
                client.prepare_cached(sql::RESET_TIMEOUT).await?,
            );
            let millis = timeout.as_millis().max(1).to_string();
            let set_params: [&(dyn ToSql + Sync); 1] = [&millis];
            // All three are sent at once: the connection is reset even if the caller goes away.
            let (set, rows, reset) = tokio::join!(
                client.execute(&set, &set_params),
                client.query(&search, params),
                client.execute(&reset, &[]),
            );
            set?;
            reset?;
            rows.map_err(|error| match error.code() {
                Some(&SqlState::QUERY_CANCELED) => Error::SearchTimeout,
                _ => error.into(),
            })
        };
        self.while_alive(rows).await
    }

    /// The rows of a query that takes no time, on a shared connection.
    pub(crate) async fn pipelined_rows(
        &self,
        sql: &str,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>> {
        let rows = async { query(&*self.pipelined().await?, sql, params).await };
        self.while_alive(rows).await
    }

    /// Runs a statement; returns the number of affected rows.
    pub(crate) async fn execute(&self, sql: &str, params: &[&(dyn ToSql + Sync)]) -> Result<u64> {
        let executed = async {
            let client = self.client().await?;
            let statement = client.prepare_cached(sql).await?;
            Ok(client.execute(&statement, params).await?)
        };
        self.while_alive(executed).await
    }

    pub(crate) async fn ping(&self) -> Result<()> {
        self.rows(sql::PING, &[]).await.map(drop)
    }

    /// Runs work in one transaction. It is a task of its own, so that the hooks after the commit run even
    /// if the caller has gone away.
    pub(crate) async fn transact<W: PostgresWork>(self: &Arc<Self>, work: W) -> Result<W::Output> {
        let engine = self.clone();
        let task = tokio::spawn(async move {
            let _permit = engine.writers.acquire().await.map_err(|_| Error::Closed)?;
            let mut client = engine.client().await?;
            let transaction = client.transaction().await?;
            let mut tx = PostgresTransaction::new(&transaction);
            let output = work.run_on_postgres(&mut tx).await?;
            let hooks = tx.finish().await?;
            transaction.commit().await?;
            drop(client);
            hooks.run(&engine);
            Ok(output)
        });
        let output = async {
            task.await
                .unwrap_or_else(|error| Err(Error::Damaged(format!("a change ended: {error}"))))
        };
        self.while_alive(output).await
    }

    /// Runs work in one transaction, together with other work that waits for the same workspace.
    pub(crate) async fn transact_grouped<W: PostgresWork>(
        self: &Arc<Self>,
        workspace: WorkspaceId,
        work: W,
    ) -> Result<W::Output> {
        self.while_alive(group_commit::submit(self, workspace, work)).await
    }

    /// Runs work that writes nothing.
    pub(crate) async fn dry_run<W: PostgresWork>(&self, work: W) -> Result<W::Output> {
        let output = async {
            let mut client = self.client().await?;
            let transaction = client.transaction().await?;
            work.run_on_postgres(&mut PostgresTransaction::dry_run(&transaction)).await
        };
        self.while_alive(output).await
    }

    /// Migrates the schema; of several programs that start together, one does it.
    async fn migrate(&self) -> Result<()> {
        let mut client = self.client().await?;
        startup::check_server(&client).await?;
        client.execute(sql::LOCK_MIGRATIONS, &[]).await?;
        let client: &mut tokio_postgres::Client = client.deref_mut().deref_mut();
        let outcome = run_migrations(client).await;
        client.execute(sql::UNLOCK_MIGRATIONS, &[]).await?;
        outcome
    }

    /// The migrations that the database lacks now.
    pub(crate) async fn missing_migrations(&self) -> Result<Vec<String>> {
        let applied = async { applied_migrations(&*self.client().await?).await };
        let applied = self.while_alive(applied).await?;
        Ok(migrations::pending(&applied, &embedded::migrations::runner()))
    }
}

async fn query(client: &Client, sql: &str, params: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>> {
    let statement = client.prepare_cached(sql).await?;
    Ok(client.query(&statement, params).await?)
}

/// An unsigned number of a row.
pub(crate) fn unsigned(row: &Row, column: usize) -> Result<u64> {
    Ok(row.try_get::<_, i64>(column)?.unsigned_abs())
}

/// A text as a pattern of `LIKE` that matches only itself.
pub(crate) fn escape_like(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '\\' | '%' | '_') {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

async fn run_migrations(client: &mut tokio_postgres::Client) -> Result<()> {
    let known = embedded::migrations::runner();
    migrations::log_pending(&applied_migrations(client).await?, &known);
    known.run_async(client).await?;
    Ok(())
}

/// The migrations that a database still lacks. Writes nothing.
pub(crate) async fn pending_migrations(url: &str) -> Result<Vec<String>> {
    let client = Postgres::connect(url)?.first_client().await?;
    Ok(migrations::pending(&applied_migrations(&client).await?, &embedded::migrations::runner()))
}

/// The versions of the migrations that were applied to a database.
async fn applied_migrations(client: &tokio_postgres::Client) -> Result<Vec<i32>> {
    if !client.query_one(sql::HAS_MIGRATIONS, &[]).await?.try_get(0)? {
        return Ok(Vec::new());
    }
    let rows = client.query(sql::MIGRATIONS, &[]).await?;
    Ok(rows.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?)
}

mod embedded {
    refinery::embed_migrations!("migrations/postgres");
}
