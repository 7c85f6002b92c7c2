//! A transaction. Writes are pipelined: they are sent one after another, and their results are awaited
//! before the commit, so a change costs a few round trips however much it writes. Topics implement their
//! own traits on it, beside their SQL.

use super::Postgres;
use crate::{Error, Result, engine::Extensions};
use deadpool_postgres::Transaction;
use futures_util::{StreamExt, future::BoxFuture, stream::FuturesOrdered};
use std::{
    collections::HashMap,
    future::poll_fn,
    pin::pin,
    sync::Arc,
    task::{Context, Poll},
};
use tokio_postgres::{Row, types::ToSql};

/// With this many results outstanding, they are awaited first.
const MAX_PIPELINED: usize = 1_024;

/// A parameter of a statement that outlives the call that sends it.
pub(crate) type Param = Box<dyn ToSql + Sync + Send>;
/// A statement and its parameters.
pub(crate) type Statement = (&'static str, Vec<Param>);

/// Parameters as a list of [`Param`].
macro_rules! params {
    ($($param:expr),* $(,)?) => { vec![$(Box::new($param) as $crate::engine::postgres::Param),*] };
}
pub(crate) use params;

/// Work that runs in a transaction. It is cloned because it may run again: when one change of a group
/// fails, the transaction is rolled back and each change runs by itself.
pub(crate) trait PostgresWork: Clone + Send + 'static {
    /// The result of the work.
    type Output: Send + 'static;
    /// Runs it. An error rolls the transaction back.
    fn run_on_postgres(
        self,
        tx: &mut PostgresTransaction<'_>,
    ) -> impl Future<Output = Result<Self::Output>> + Send;
}

/// An open transaction.
pub(crate) struct PostgresTransaction<'t> {
    transaction: &'t Transaction<'t>,
    is_dry_run: bool,
    /// State of topics, kept for as long as the transaction, so for a whole group of changes.
    pub(crate) extensions: Extensions,
    before_commit: Vec<BeforeCommit>,
    after_commit: Vec<AfterCommit>,
    /// Results of what was sent, in its order.
    pending: FuturesOrdered<BoxFuture<'t, Result<u64, tokio_postgres::Error>>>,
    /// The first of them that failed.
    failure: Option<tokio_postgres::Error>,
    has_written: bool,
}

/// Turns state of a topic into the last statements of the transaction.
type BeforeCommit = fn(&mut Extensions) -> Vec<Statement>;
type AfterCommit = Box<dyn FnOnce(&Arc<Postgres>) + Send>;

/// What runs after the commit.
#[must_use]
pub(super) struct CommitHooks(Vec<AfterCommit>);

impl CommitHooks {
    pub(super) fn run(self, engine: &Arc<Postgres>) {
        self.0.into_iter().for_each(|hook| hook(engine));
    }
}

impl<'t> PostgresTransaction<'t> {
    pub(super) fn new(transaction: &'t Transaction<'t>) -> Self {
        Self {
            transaction,
            is_dry_run: false,
            extensions: Extensions::default(),
            before_commit: Vec::new(),
            after_commit: Vec::new(),
            pending: FuturesOrdered::new(),
            failure: None,
            has_written: false,
        }
    }

    pub(super) fn dry_run(transaction: &'t Transaction<'t>) -> Self {
        Self { is_dry_run: true, ..Self::new(transaction) }
    }

    /// Whether nothing will be written, so that nothing needs to be locked.
    pub(crate) fn is_dry_run(&self) -> bool {
        self.is_dry_run
    }

    /// Whether something was written since the last call.
    pub(super) fn take_has_written(&mut self) -> bool {
        std::mem::take(&mut self.has_written)
    }

    /// Sends the statements of `hook` before the commit. Registering the same function again has no effect.
    pub(crate) fn before_commit(&mut self, hook: BeforeCommit) {
        if !self.before_commit.iter().any(|known| std::ptr::fn_addr_eq(*known, hook)) {
            self.before_commit.push(hook);
        }
    }

    /// Runs `hook` once the transaction is committed.
    pub(crate) fn after_commit(&mut self, hook: impl FnOnce(&Arc<Postgres>) + Send + 'static) {
        self.after_commit.push(Box::new(hook));
    }

    /// Sends what is left and awaits all results.
    pub(super) async fn finish(mut self) -> Result<CommitHooks> {
        for hook in std::mem::take(&mut self.before_commit) {
            let statements = hook(&mut self.extensions);
            self.send(statements).await?;
        }
        self.flush().await?;
        Ok(CommitHooks(self.after_commit))
    }

    /// The row of a query, if there is one.
    pub(crate) async fn row(
        &mut self,
        sql: &str,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<Option<Row>> {
        let transaction = self.transaction;
        let row = async {
            let statement = transaction.prepare_cached(sql).await?;
            transaction.query_opt(&statement, params).await
        };
        self.wait_for(row).await
    }

    /// The rows of a query.
    pub(crate) async fn rows(
        &mut self,
        sql: &str,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>> {
        let transaction = self.transaction;
        let rows = async {
            let statement = transaction.prepare_cached(sql).await?;
            transaction.query(&statement, params).await
        };
        self.wait_for(rows).await
    }

    /// Awaits a query. When it fails, returns the first failure of the transaction, after which every
    /// statement fails. Results of earlier statements are received meanwhile: one that arrives in pieces
    /// and is not received blocks everything behind it.
    async fn wait_for<T>(
        &mut self,
        query: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T> {
        let mut query = pin!(query);
        let result = poll_fn(|context| {
            self.receive_results(context);
            query.as_mut().poll(context)
        });
        let result = result.await;
        if result.is_err() {
            self.flush().await?;
        }
        Ok(result?)
    }

    fn receive_results(&mut self, context: &mut Context<'_>) {
        while let Poll::Ready(Some(result)) = self.pending.poll_next_unpin(context) {
            if let Err(error) = result {
                self.failure.get_or_insert(error);
            }
        }
    }

    /// Sends writes in their order, without waiting for their results.
    pub(crate) async fn send(&mut self, statements: Vec<Statement>) -> Result<()> {
        self.has_written = true;
        // Prepared first, so that nothing but the sending happens between the statements.
        let transaction = self.transaction;
        let mut prepared = HashMap::new();
        for (sql, _) in &statements {
            if !prepared.contains_key(sql) {
                let statement = self.wait_for(transaction.prepare_cached(sql)).await?;
                prepared.insert(*sql, statement);
            }
        }
        for (sql, params) in statements {
            if self.pending.len() >= MAX_PIPELINED {
                self.flush().await?;
            }
            let statement = prepared.get(sql).cloned().ok_or(Error::Closed)?;
            let mut result: BoxFuture<'t, _> =
                Box::pin(async move { transaction.execute_raw(&statement, params).await });
            // The first poll sends the statement, so they reach the database in their order.
            match futures_util::poll!(&mut result) {
                Poll::Ready(outcome) => drop(outcome?),
                Poll::Pending => self.pending.push_back(result),
            }
        }
        Ok(())
    }

    /// Awaits the results of everything that was sent.
    async fn flush(&mut self) -> Result<()> {
        let all = poll_fn(|context| {
            self.receive_results(context);
            if self.pending.is_empty() { Poll::Ready(()) } else { Poll::Pending }
        });
        all.await;
        self.failure.take().map_or(Ok(()), |error| Err(error.into()))
    }
}
