//! `groma serve`: both listeners, until a signal.

use super::Failure;
use crate::{
    api::{self, Api},
    demo, server,
    settings::Settings,
};
use groma_store::Store;
use std::net::SocketAddr;
use tokio::{net::TcpListener, sync::watch};

pub(super) async fn run(settings: Settings, store: Store, with_demo: bool) -> Result<(), Failure> {
    store.claim()?;
    let main = bind("server.listen", settings.server.listen).await?;
    let geo = bind("server.geo_listen", settings.server.geo_listen).await?;
    let settings = settings.bound(main.local_addr()?, geo.local_addr()?);
    let api = Api {
        store: store.clone(),
        token_prefix: settings.service.token_prefix.clone(),
        requests_per_minute: settings.limits.requests_per_minute,
    };
    let main_router = api::main_router(api, &settings.server.public_url());
    if with_demo {
        demo::fill_when_empty(&settings, &store).await?;
    }
    tracing::info!(main = %settings.server.listen, geo = %settings.server.geo_listen, "serving");
    let (stop, stopped) = watch::channel(false);
    let until_stopped = |mut stopped: watch::Receiver<bool>| async move {
        // An error means that the sender is gone, which is the end as well.
        let _ = stopped.wait_for(|stop| *stop).await;
    };
    let listeners = async {
        tokio::join!(
            server::run(main, main_router, until_stopped(stopped.clone())),
            server::run(geo, api::geo_router(), until_stopped(stopped)),
        )
    };
    let signalled = async {
        signal().await;
        tracing::info!("stopping");
        stop.send_replace(true);
        std::future::pending::<()>().await;
    };
    tokio::select! {
        _ = listeners => {}
        () = signalled => {}
        () = store.tend() => {}
    }
    store.settle().await?;
    Ok(())
}

async fn bind(name: &str, address: SocketAddr) -> Result<TcpListener, Failure> {
    TcpListener::bind(address)
        .await
        .map_err(|error| Failure::new(format!("{name}: {address}: {error}")))
}

/// Waits for SIGTERM or Ctrl-C.
async fn signal() {
    let interrupted = tokio::signal::ctrl_c();
    match tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
        Ok(mut terminate) => {
            tokio::select! {
                _ = interrupted => {}
                _ = terminate.recv() => {}
            }
        }
        Err(_) => {
            let _ = interrupted.await;
        }
    }
}
