//! `groma serve`: runs the server until SIGTERM or SIGINT.

use super::{CommandError, demo, key_file::KeyFile, print};
use crate::{
    clock, roles::ServerRole, server::Server, settings::Settings, setup_link::SetupLinkFile,
};
use groma_store::{
    Actor, EndpointChange, EndpointHealth, Store, disabled_reason::HTTP_NOT_ALLOWED,
};
use std::io::IsTerminal;
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
    protect_secrets(server.settings(), &store).await?;
    if server.settings().server.roles.has(ServerRole::Deliver) {
        apply_http_setting(&store, server.settings().webhooks.allow_http).await?;
    }
    let url = server.setup_url().await.map_err(CommandError::new)?;
    show_setup_link(server.settings(), url.as_deref())?;
    server.run(shutdown).await.map_err(CommandError::new)
}

/// Prints the setup link on a terminal. What a service prints ends up in a journal, so otherwise the link is
/// written into a file that only the owner can read. Without a link, a file of an earlier start is deleted.
fn show_setup_link(settings: &Settings, link: Option<&str>) -> Result<(), CommandError> {
    let file = SetupLinkFile::of(&settings.database);
    let Some(link) = link else {
        // The file may belong to another process, which serves the pages.
        if settings.server.roles.has(ServerRole::Web) {
            file.remove();
        }
        return Ok(());
    };
    if std::io::stdout().is_terminal() {
        return print(&format!("There are no users yet. To set up Groma, open:\n\n  {link}\n"));
    }
    let path = file.path().display();
    match file.write(link) {
        Ok(()) => print(&format!(
            "There are no users yet. To set up Groma, open the link in this file:\n\n  {path}\n"
        )),
        Err(error) => {
            tracing::error!(
                %error, %path,
                "cannot write the setup link; run `groma workspace create` to create the first workspace"
            );
            Ok(())
        }
    }
}

/// Encrypts the secrets of a SQLite database that had no key yet, and warns if there is no key.
async fn protect_secrets(settings: &Settings, store: &Store) -> Result<(), CommandError> {
    if KeyFile::in_use(settings).is_some() {
        let encrypted = store.encrypt_secrets().await?;
        if encrypted > 0 {
            tracing::info!(encrypted, "webhook secrets encrypted");
        }
    } else if settings.webhooks.encryption_key.is_none() {
        tracing::warn!(
            "webhook secrets are stored unencrypted: webhooks.encryption_key is not set"
        );
    }
    Ok(())
}

/// Disables the endpoints with http URLs unless http is allowed, and enables them again when it is.
async fn apply_http_setting(store: &Store, allow_http: bool) -> Result<(), CommandError> {
    for workspace in store.workspaces().await? {
        for EndpointHealth { endpoint, .. } in store.endpoints(workspace.id).await? {
            let is_stopped = endpoint.disabled_reason.as_deref() == Some(HTTP_NOT_ALLOWED);
            let change = match allow_http {
                true if is_stopped => EndpointChange::Enable,
                false if endpoint.enabled && endpoint.url.is_http() => {
                    tracing::warn!(
                        endpoint = %endpoint.id,
                        "webhook endpoint disabled: webhooks.allow_http is off"
                    );
                    EndpointChange::Disable(HTTP_NOT_ALLOWED.to_owned())
                }
                _ => continue,
            };
            let now = clock::now();
            store.change_endpoint(workspace.id, Actor::Operator, endpoint.id, change, now).await?;
        }
    }
    Ok(())
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
