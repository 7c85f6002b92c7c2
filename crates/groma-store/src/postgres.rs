//! PostgreSQL: one database that any number of programs share. Nothing is kept in memory here but
//! what the database can tell to be current.

mod access;
mod admissions;
mod browse;
pub(crate) mod copy;
mod counts;
mod group;
mod layers;
mod reach;
mod read;
mod rows;
mod shared;
pub(crate) mod sql;
mod startup;
mod statements;
mod tx;
mod vitals;
mod webhooks;

pub(crate) use vitals::server_facts;

use crate::{
    Error, Result,
    admission::LastUses,
    blocks::BlockCache,
    people::PeopleCache,
    store::{not_among, tell_of_migrating},
    tiles::LayerCache,
    tx::Work,
    webhooks::Desk,
};
use deadpool_postgres::{
    Hook, HookError, Manager, ManagerConfig, Pool, QueueMode, RecyclingMethod, Runtime,
};
use reach::Reach;
use shared::Shared;
use std::{
    ops::DerefMut,
    sync::{Arc, OnceLock},
    time::Duration,
};
use tokio_postgres::NoTls;
use tx::PostgresTx;

/// How long a request waits for a connection before it fails.
const PATIENCE: Duration = Duration::from_secs(4);

/// How many connections a program has for its work besides those that are shared, and how many of them may
/// write.
const CONNECTIONS: usize = 16;
const WRITERS: usize = 10;

/// A PostgreSQL database.
pub struct Postgres {
    pool: Pool,
    people: PeopleCache,
    blocks: BlockCache,
    layers: LayerCache,
    last_uses: LastUses,
    /// Requests that wait to be let in.
    admissions: admissions::Admissions,
    /// Keeps some of the connections from writers, who may wait long for one another.
    writers: tokio::sync::Semaphore,
    /// Connections for brief reads.
    shared: Shared,
    /// Changes that wait for one another, by workspace.
    groups: group::Groups,
    /// For the connections that listen, and that ask whether it answers.
    config: tokio_postgres::Config,
    /// Watched by programs that serve.
    reach: OnceLock<Reach>,
    pub(crate) desk: Desk,
}

impl Postgres {
    /// Opens a database and brings its schema up to date.
    pub(crate) async fn open(url: &str) -> Result<Self> {
        let store = Self::connect(url)?;
        store.migrate().await.map_err(|error| startup::explain(error, &store.config))?;
        Ok(store)
    }

    fn connect(url: &str) -> Result<Self> {
        let mut config: tokio_postgres::Config =
            url.parse().map_err(|error: tokio_postgres::Error| Error::Url(error.to_string()))?;
        config
            .connect_timeout(PATIENCE)
            .application_name("groma")
            // A machine that is gone sends no farewell: what is not received in time has failed, and who
            // only listens asks now and then whether someone is there.
            .tcp_user_timeout(PATIENCE)
            .keepalives_idle(Duration::from_secs(10))
            .keepalives_interval(Duration::from_secs(2))
            .keepalives_retries(3);
        let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let manager = Manager::from_config(config.clone(), NoTls, recycling);
        let shared = Shared::new();
        let pool = Pool::builder(manager)
            .max_size(CONNECTIONS + shared.count())
            // The one that was used last is the one that is warm.
            .queue_mode(QueueMode::Lifo)
            .runtime(Runtime::Tokio1)
            .wait_timeout(Some(PATIENCE))
            .create_timeout(Some(PATIENCE))
            .recycle_timeout(Some(PATIENCE))
            .post_create(Hook::async_fn(|client, _| {
                Box::pin(async move {
                    client.batch_execute(sql::SESSION).await.map_err(HookError::Backend)
                })
            }))
            .build()
            .map_err(|error| Error::Pool(error.to_string()))?;
        Ok(Self {
            pool,
            people: PeopleCache::default(),
            blocks: BlockCache::default(),
            layers: LayerCache::default(),
            last_uses: LastUses::default(),
            admissions: admissions::Admissions::default(),
            writers: tokio::sync::Semaphore::new(WRITERS),
            shared,
            groups: group::Groups::default(),
            config,
            reach: OnceLock::new(),
            desk: Desk::default(),
        })
    }

    /// From now on nobody waits for a database that does not answer.
    pub(crate) fn watch_reach(&self) {
        self.reach.get_or_init(|| Reach::watch(self.config.clone()));
    }

    /// Does the work, unless the database falls silent.
    async fn within_reach<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        match self.reach.get() {
            Some(reach) => reach.within(work).await,
            None => work.await,
        }
    }

    async fn client(&self) -> Result<deadpool_postgres::Client> {
        self.pool.get().await.map_err(|error| match error {
            deadpool_postgres::PoolError::Backend(error) => Error::Postgres(error),
            other => Error::Pool(other.to_string()),
        })
    }

    /// The first connection, whose errors are explained.
    async fn first_client(&self) -> Result<deadpool_postgres::Client> {
        let client = self.client().await;
        client.map_err(|error| startup::explain(error, &self.config))
    }

    /// Brings the schema up to date; of several programs that start together one does it.
    async fn migrate(&self) -> Result<()> {
        let mut client = self.client().await?;
        startup::check_server(&client).await?;
        client.execute(sql::LOCK_MIGRATIONS, &[]).await?;
        let client: &mut tokio_postgres::Client = client.deref_mut().deref_mut();
        let outcome = run_migrations(client).await;
        client.execute(sql::UNLOCK_MIGRATIONS, &[]).await?;
        outcome
    }

    /// Carries out work in a transaction. It is a task of its own: what was committed is handed over
    /// to the delivery loop even if the one who asked has gone away.
    pub(crate) async fn transact<W: Work>(self: &Arc<Self>, work: W) -> Result<W::Output> {
        let store = self.clone();
        let task = tokio::spawn(async move {
            let _permit = store.writers.acquire().await.map_err(|_| Error::Closed)?;
            let mut client = store.client().await?;
            let transaction = client.transaction().await?;
            let mut tx = PostgresTx::new(&transaction, &store.desk);
            let output = work.run(&mut tx).await?;
            let written = tx.finish().await?;
            let grown = written.commit(transaction, &store.desk).await?;
            drop(client);
            store.tell_sizes(grown).await;
            Ok(output)
        });
        let told = async {
            task.await
                .unwrap_or_else(|error| Err(Error::Damaged(format!("a change ended: {error}"))))
        };
        self.within_reach(told).await
    }

    /// Runs work that writes nothing.
    pub(crate) async fn look<W: Work>(&self, work: W) -> Result<W::Output> {
        let looked = async {
            let mut client = self.client().await?;
            let transaction = client.transaction().await?;
            let mut tx = PostgresTx::looking(&transaction, &self.desk);
            work.run(&mut tx).await
        };
        self.within_reach(looked).await
    }
}

async fn run_migrations(client: &mut tokio_postgres::Client) -> Result<()> {
    let known = embedded::migrations::runner();
    tell_of_migrating(&applied_migrations(client).await?, &known);
    known.run_async(client).await?;
    Ok(())
}

/// The migrations that a database still lacks. Nothing is written.
pub(crate) async fn pending_migrations(url: &str) -> Result<Vec<String>> {
    let store = Postgres::connect(url)?;
    let client = store.first_client().await?;
    Ok(not_among(&applied_migrations(&client).await?, &embedded::migrations::runner()))
}

/// The versions of the migrations that a database has seen.
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
