//! `groma serve`: runs the server until SIGTERM or SIGINT.

use super::{CommandError, demo, print};
use crate::{server::Server, settings::Settings};
use groma_store::Store;
use tokio::signal::unix::{SignalKind, signal};

pub(super) async fn run(
    settings: Settings,
    store: Store,
    with_demo: bool,
) -> Result<(), CommandError> {
    let server = Server::bind(settings, store.clone()).await.map_err(CommandError::new)?;
    let mut shutdown = std::pin::pin!(shutdown_signal()?);
    if with_demo && !demo::seed_if_empty(server.settings(), &store, &mut shutdown).await? {
        return Ok(());
    }
    if let Some(url) = server.setup_url().await.map_err(CommandError::new)? {
        print(&format!("There are no users yet. To set up Groma, open:\n\n  {url}\n"))?;
    }
    server.run(shutdown).await.map_err(CommandError::new)
}

/// Handles SIGTERM and SIGINT from now on; completes when one arrives.
fn shutdown_signal() -> Result<impl Future<Output = ()>, CommandError> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}
