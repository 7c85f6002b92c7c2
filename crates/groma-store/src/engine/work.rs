//! A unit of work: what runs in one transaction, written once for both engines.

use super::{postgres::PostgresTransaction, sqlite::SqliteTransaction};
use crate::{Error, Result};
use futures_util::FutureExt;

/// Work that runs in one transaction. It is cloned because it may run again: when one change of a group
/// fails, the transaction is rolled back and each change runs by itself.
///
/// Implemented by [`impl_work`] for a type that has `async fn run(self, tx: &mut T)` for every `T` that
/// implements the traits of its topic.
pub(crate) trait Work: Clone + Send + 'static {
    /// The result of the work.
    type Output: Send + 'static;
    /// Runs it on SQLite. An error rolls the transaction back.
    fn run_on_sqlite(self, tx: &mut SqliteTransaction<'_>) -> Result<Self::Output>;
    /// Runs it on PostgreSQL. An error rolls the transaction back.
    fn run_on_postgres(
        self,
        tx: &mut PostgresTransaction<'_>,
    ) -> impl Future<Output = Result<Self::Output>> + Send;
}

/// Implements [`Work`] for a type by its generic `run` method.
macro_rules! impl_work {
    ($($work:ty => $output:ty;)*) => {
        $(impl $crate::engine::Work for $work {
            type Output = $output;

            fn run_on_sqlite(
                self,
                tx: &mut $crate::engine::sqlite::SqliteTransaction<'_>,
            ) -> $crate::Result<$output> {
                $crate::engine::run_now(self.run(tx))
            }

            async fn run_on_postgres(
                self,
                tx: &mut $crate::engine::postgres::PostgresTransaction<'_>,
            ) -> $crate::Result<$output> {
                self.run(tx).await
            }
        })*
    };
}
pub(crate) use impl_work;

/// Completes a future that never waits, as those of a SQLite transaction never do.
pub(crate) fn run_now<R>(work: impl Future<Output = Result<R>>) -> Result<R> {
    work.now_or_never().unwrap_or(Err(Error::Closed))
}
