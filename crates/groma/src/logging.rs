//! Logs: for people on a terminal, JSON otherwise, always on standard error.

use std::io::IsTerminal;
use tracing_subscriber::{EnvFilter, fmt, prelude::*};

/// Starts logging. `RUST_LOG` chooses what; otherwise a server tells what it does, and a command says
/// what it has to say itself.
pub(crate) fn start(serving: bool) {
    let default = if serving { "info,refinery_core=warn,tokio_postgres=warn" } else { "off" };
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(default));
    let registry = tracing_subscriber::registry().with(filter);
    if std::io::stderr().is_terminal() {
        registry.with(fmt::layer().with_writer(std::io::stderr).with_target(false)).init();
    } else {
        registry.with(fmt::layer().with_writer(std::io::stderr).json().flatten_event(true)).init();
    }
}
