//! The built program, used as its users use it: over HTTP and by its commands, on both engines.
//!
//! `groma-testkit` starts it and `sample_records` fills it, and `workbook` writes Excel files. Every other module tests one part of the
//! contract. PostgreSQL comes from `scripts/with-postgres`.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking, and so do its fixtures"
)]

mod sample_records;
mod workbook;

mod accounts;
mod api_writes;
mod backup;
mod caching;
mod changes;
mod check_command;
mod check_order;
mod command_line;
mod demo_layers;
mod deploy;
mod engine_parity;
mod export;
mod fuzz;
mod geo;
mod https;
mod import;
mod import_rules;
mod layer_check;
mod layer_commands;
mod layer_crs;
mod layer_files;
mod layer_imports;
mod layer_setup;
mod list_filters;
mod lists;
mod middleware;
mod monitoring;
mod openapi;
mod postgres_tls;
mod rate_limit;
mod record_keys;
mod resources;
mod revoked_rights;
mod scopes;
mod search;
mod search_limits;
mod security_log;
mod serve;
mod server_roles;
mod slow_clients;
mod startup_errors;
mod tokens;
mod trusted_proxies;
mod upgrade;
mod web;
mod webhooks;

/// Runs each test function on both engines.
macro_rules! on_both_engines {
    ($($name:ident)*) => {$(
        mod $name {
            #[test]
            fn on_sqlite() {
                super::$name(groma_testkit::Engine::Sqlite);
            }

            #[test]
            fn on_postgres() {
                super::$name(groma_testkit::Engine::Postgres);
            }
        }
    )*};
    ($($(#[$meta:meta])* fn $name:ident($engine:ident: Engine) $body:block)*) => {$(
        $(#[$meta])*
        mod $name {
            use super::*;

            fn run($engine: groma_testkit::Engine) $body

            #[test]
            fn on_sqlite() {
                run(groma_testkit::Engine::Sqlite);
            }

            #[test]
            fn on_postgres() {
                run(groma_testkit::Engine::Postgres);
            }
        }
    )*};
}
use on_both_engines;
