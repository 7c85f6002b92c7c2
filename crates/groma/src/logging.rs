//! Logs: for people on a terminal, JSON otherwise, always on standard error.

use std::io::IsTerminal;
use tracing_subscriber::{EnvFilter, fmt, prelude::*};

/// Starts logging. `RUST_LOG` chooses what; `info` when it says nothing.
pub(crate) fn start() {
    let filter = EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| EnvFilter::new("info,refinery_core=warn"));
    let registry = tracing_subscriber::registry().with(filter);
    if std::io::stderr().is_terminal() {
        registry.with(fmt::layer().with_writer(std::io::stderr).with_target(false)).init();
    } else {
        registry.with(fmt::layer().with_writer(std::io::stderr).json().flatten_event(true)).init();
    }
}
