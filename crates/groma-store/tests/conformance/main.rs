//! The store's contract, tested once for both engines.
//!
//! Each test is a function of a [`Fixture`]: a workspace in a database of its own. The list at the
//! head of each file turns it into two tests, `on_sqlite` and `on_postgres`. A behaviour of one engine
//! is a plain test; [`engine_parity`] compares the results of both.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod accounts;
mod authorization;
mod base_maps;
mod concurrency;
mod coverage;
mod dashboard;
mod declared_fields;
mod engine_parity;
mod erasure;
mod events;
mod exact_lists;
mod factors;
mod feature_query;
mod feature_table;
mod fixture;
mod geometries;
mod geometry_edits;
mod import_jobs;
mod layer_loads;
mod layer_repair;
mod layers;
mod lines;
mod list_queries;
mod lists;
mod mail;
mod members;
mod money;
mod opening;
mod operations;
mod records;
mod references;
mod rules;
mod sample_geometries;
mod search;
mod security_log;
mod statuses;
mod tiles;
mod token_expiry;
mod tokens;
mod users;
mod webhook_filters;
mod workspaces;

use fixture::Fixture;
use groma_testkit::Engine;

/// Runs each test function on both engines.
macro_rules! on_both_engines {
    ($($name:ident)*) => {$(
        mod $name {
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn on_sqlite() {
                super::$name(crate::Fixture::open(crate::Engine::Sqlite).await).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn on_postgres() {
                super::$name(crate::Fixture::open(crate::Engine::Postgres).await).await;
            }
        }
    )*};
}
use on_both_engines;
