//! Groma: a self-hosted service that automates GIS projects.

mod api;
mod cli;
mod clock;
mod commands;
mod export;
mod http;
mod idempotency;
mod import;
mod layer_check;
mod logging;
mod mail;
mod member_slots;
mod metrics;
mod ogc;
mod oidc;
mod password;
mod quota;
mod rate_windows;
mod roles;
mod server;
mod settings;
mod setup_link;
mod tiles;
mod token_auth;
mod uploads;
mod web;

use clap::Parser;
use mimalloc::MiMalloc;
use std::process::ExitCode;

/// Responses are built from many short-lived buffers, which this allocator provides more cheaply.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    let cli = match cli::Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            return if error.use_stderr() { ExitCode::from(2) } else { ExitCode::SUCCESS };
        }
    };
    let result = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(commands::CommandError::from)
        .and_then(|runtime| runtime.block_on(commands::run(cli)));
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("groma: {error}");
            error.exit_code()
        }
    }
}
