//! A unit of work: what runs in one transaction, written once for both engines.

use super::{postgres::PostgresWork, sqlite::SqliteWork};
use crate::{Error, Result};
use futures_util::FutureExt;

/// Work that runs in one transaction, on either engine. [`impl_work`] implements it for a type that has
/// `async fn run(self, tx: &mut T)` for every `T` that implements the traits of its topic.
pub(crate) trait Work:
    PostgresWork + SqliteWork<Output = <Self as PostgresWork>::Output>
{
}

impl<W: PostgresWork + SqliteWork<Output = <W as PostgresWork>::Output>> Work for W {}

/// Implements [`Work`] for a type by its generic `run` method.
macro_rules! impl_work {
    ($($work:ty => $output:ty;)*) => {
        $(impl $crate::engine::sqlite::SqliteWork for $work {
            type Output = $output;

            fn run_on_sqlite(
                self,
                tx: &mut $crate::engine::sqlite::SqliteTransaction<'_>,
            ) -> $crate::Result<$output> {
                $crate::engine::run_now(self.run(tx))
            }
        }

        impl $crate::engine::postgres::PostgresWork for $work {
            type Output = $output;

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
