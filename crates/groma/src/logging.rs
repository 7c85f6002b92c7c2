//! Logs: for people on a terminal, JSON otherwise unless the settings say, always on standard error.

use crate::settings::LogFormat;
use std::io::IsTerminal;
use tracing_subscriber::{EnvFilter, fmt, prelude::*};

/// Starts logging. `RUST_LOG` chooses what; otherwise a server tells what it does, and a command says
/// what it has to say itself.
pub(crate) fn start(serving: bool, format: LogFormat) {
    let default = if serving { "info,refinery_core=warn,tokio_postgres=warn" } else { "off" };
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(default));
    let registry = tracing_subscriber::registry().with(filter);
    let is_terminal = std::io::stderr().is_terminal();
    if format == LogFormat::Text || (format == LogFormat::Auto && is_terminal) {
        let lines = fmt::layer().with_writer(std::io::stderr).with_target(false);
        registry.with(lines.with_ansi(is_terminal)).init();
    } else {
        registry.with(fmt::layer().with_writer(std::io::stderr).json().flatten_event(true)).init();
    }
}
