//! The store's promises, told once and kept on both engines.
//!
//! Each promise is a function of an [`Office`]: a workspace in a database of its own. The list at
//! the head of each file makes two tests of it, `on_sqlite` and `on_postgres`. What only one engine
//! promises is a plain test; [`alike`] compares the answers of both.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod access;
mod alike;
mod atlas;
mod browse;
#[path = "../support/database.rs"]
mod database;
mod edits;
mod events;
mod geometries;
mod layers;
mod lists;
mod money;
#[path = "../support/mvt.rs"]
mod mvt;
mod office;
mod people;
mod records;
mod references;
mod rules;
mod statuses;
mod terms;
mod tiles;
mod together;
mod tokens;
mod workspaces;

use office::{Engine, Office};

/// Makes a test on each engine of each promise.
macro_rules! on_both_engines {
    ($($promise:ident)*) => {$(
        mod $promise {
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn on_sqlite() {
                super::$promise(crate::Office::open(crate::Engine::Sqlite).await).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn on_postgres() {
                super::$promise(crate::Office::open(crate::Engine::Postgres).await).await;
            }
        }
    )*};
}
use on_both_engines;
