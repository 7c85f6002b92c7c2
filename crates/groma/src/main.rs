//! Groma: a self-hosted service that automates GIS projects.

mod admin;
mod api;
mod cli;
mod commands;
mod demo;
mod forwarded;
mod logging;
mod password;
mod roles;
mod server;
mod settings;
mod tally;
mod web;

use clap::Parser;
use mimalloc::MiMalloc;
use std::process::ExitCode;

/// Answers are made of many short-lived buffers; this allocator hands them out for less.
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
    let outcome = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(commands::Failure::from)
        .and_then(|runtime| runtime.block_on(commands::run(cli)));
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("groma: {failure}");
            failure.exit_code()
        }
    }
}
