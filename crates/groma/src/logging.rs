//! Logging to standard error: as text on a terminal, otherwise as JSON, unless the settings choose.

use crate::settings::LogFormat;
use std::io::IsTerminal;
use tracing_subscriber::{EnvFilter, fmt, prelude::*};

/// Starts logging. `RUST_LOG` sets the level. By default a server logs what it does and other commands
/// log nothing, because they print their results.
pub(crate) fn start(is_server: bool, format: LogFormat) {
    let default = if is_server { "info,refinery_core=warn,tokio_postgres=warn" } else { "off" };
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
