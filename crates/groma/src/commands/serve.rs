//! `groma serve`: both listeners, until a signal.

use super::{Failure, now, print};
use crate::{
    admin,
    api::{self, Api},
    demo, server,
    settings::{Settings, Webhooks},
    web::Web,
};
use groma_store::Store;
use groma_webhooks::{AddressPolicy, Client, Deliveries, Resolver, Sender};
use std::{net::SocketAddr, sync::Arc};
use tokio::{
    net::TcpListener,
    signal::unix::{SignalKind, signal},
    sync::watch,
};

pub(super) async fn run(settings: Settings, store: Store, with_demo: bool) -> Result<(), Failure> {
    store.claim()?;
    let main = bind("server.listen", settings.server.listen).await?;
    let geo = bind("server.geo_listen", settings.server.geo_listen).await?;
    let admin = match settings.server.admin_listen {
        Some(address) => Some(bind("server.admin_listen", address).await?),
        None => None,
    };
    let settings = settings.bound(main.local_addr()?, geo.local_addr()?);
    let deliveries = Deliveries::new(store.clone(), sender(&settings)?, now);
    let api = Arc::new(Api::new(&settings, store.clone()));
    let web = Arc::new(Web::new(&settings, &api).map_err(Failure::new)?);
    // Listened for before anyone is told: from here on a signal ends the program in order.
    let mut signalled = std::pin::pin!(signals()?);
    if with_demo && !demo::fill_when_empty(&settings, &store, &mut signalled).await? {
        return Ok(());
    }
    if let Some(address) = web.setup_address().await? {
        print(&format!("Nobody can log in yet. To set the service up, open:\n\n  {address}\n"))?;
    }
    let admin_address = admin.as_ref().map(TcpListener::local_addr).transpose()?;
    tracing::info!(
        main = %settings.server.listen,
        geo = %settings.server.geo_listen,
        admin = admin_address.map(tracing::field::display),
        "serving"
    );
    let (stop, stopped) = watch::channel(false);
    let until_stopped = |mut stopped: watch::Receiver<bool>| async move {
        // An error means that the sender is gone, which is the end as well.
        let _ = stopped.wait_for(|stop| *stop).await;
    };
    let serving = async {
        tokio::join!(
            server::run(main, api::main_router(&api, &web), until_stopped(stopped.clone())),
            server::run(geo, api::geo_router(&api), until_stopped(stopped.clone())),
        );
        Ok(())
    };
    let telling = async {
        match admin {
            Some(listener) => {
                let stopped = until_stopped(stopped.clone());
                admin::serve(listener, store.clone(), stopped).await.map_err(Failure::new)
            }
            None => Ok(()),
        }
    };
    let delivering = async { Ok(deliveries.run(until_stopped(stopped.clone())).await?) };
    let working = async { tokio::try_join!(serving, telling, delivering).map(drop) };
    let stopping = async {
        signalled.await;
        tracing::info!("stopping");
        stop.send_replace(true);
        std::future::pending::<()>().await;
    };
    tokio::select! {
        done = working => done?,
        () = stopping => {}
        () = store.tend(now) => {}
    }
    store.close(now()).await?;
    Ok(())
}

/// What sends deliveries, as the settings say.
fn sender(settings: &Settings) -> Result<Sender, Failure> {
    let Webhooks { allow_networks, extra_roots, .. } = &settings.webhooks;
    let policy = AddressPolicy::new(allow_networks.clone());
    let version = env!("CARGO_PKG_VERSION");
    let client = Client::new(policy, Resolver::System, extra_roots.as_deref(), version)
        .map_err(|error| Failure::new(format!("webhooks.extra_roots: {error}")))?;
    Sender::new(client, &settings.service.name).map_err(Failure::new)
}

async fn bind(name: &str, address: SocketAddr) -> Result<TcpListener, Failure> {
    TcpListener::bind(address)
        .await
        .map_err(|error| Failure::new(format!("{name}: {address}: {error}")))
}

/// Listens for SIGTERM and SIGINT from now on; done when one came.
fn signals() -> Result<impl Future<Output = ()>, Failure> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}
