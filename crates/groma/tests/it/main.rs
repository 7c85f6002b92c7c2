//! The program as its users meet it: the real binary, started as a child, spoken to over real HTTP
//! and by its commands, on both engines.
//!
//! `office` starts it, `client` speaks to it, `sample` fills it; every other module is one promise
//! of the contract. PostgreSQL comes from `scripts/with-postgres`.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking, and so do the pieces it is made of"
)]

mod client;
mod database;
#[path = "../../../groma-store/tests/support/mvt.rs"]
mod mvt;
mod office;
mod sample;

mod caching;
mod check;
mod checks;
mod command_line;
mod deploy;
mod document;
mod edge;
mod engines;
mod export;
mod fuzz;
mod geo;
mod import;
mod import_rules;
mod keeping;
mod keys;
mod layer_commands;
mod lists;
mod operations;
mod proxies;
mod rate;
mod resources;
mod roles;
mod scopes;
mod search;
mod serving;
mod tokens;
mod upgrade;
mod web;
mod webhooks;

/// Makes of each function two tests, one on each engine.
macro_rules! on_both_engines {
    ($($(#[$meta:meta])* fn $name:ident($engine:ident: Engine) $body:block)*) => {$(
        $(#[$meta])*
        mod $name {
            use super::*;

            fn promise($engine: $crate::database::Engine) $body

            #[test]
            fn on_sqlite() {
                promise($crate::database::Engine::Sqlite);
            }

            #[test]
            fn on_postgres() {
                promise($crate::database::Engine::Postgres);
            }
        }
    )*};
}
use on_both_engines;
