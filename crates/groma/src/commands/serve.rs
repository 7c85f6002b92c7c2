//! `groma serve`: the listeners and the loop of its roles, until a signal.

use super::{Failure, now, print};
use crate::{
    admin::{self, Watched},
    api::{self, Api},
    demo,
    roles::Role,
    server,
    settings::{Settings, Webhooks},
    web::Web,
};
use groma_store::{DatabaseUrl, Store};
use groma_webhooks::{AddressPolicy, Client, Deliveries, Resolver, Sender};
use std::{net::SocketAddr, sync::Arc};
use tokio::{
    net::TcpListener,
    signal::unix::{SignalKind, signal},
    sync::watch,
};

pub(super) async fn run(settings: Settings, store: Store, with_demo: bool) -> Result<(), Failure> {
    store.claim()?;
    let listeners = Listeners::bind(&settings).await?;
    let (main_address, geo_address) = (at(&listeners.main)?, at(&listeners.geo)?);
    let settings = settings.bound(main_address, geo_address);
    let roles = settings.server.roles.clone();
    let deliveries = if roles.has(Role::Deliver) {
        Some(Deliveries::new(store.clone(), sender(&settings)?, now))
    } else {
        None
    };
    let api = Arc::new(Api::new(&settings, store.clone()));
    let web = Arc::new(Web::new(&settings, &api).map_err(Failure::new)?);
    // Listened for before anyone is told: from here on a signal ends the program in order.
    let mut signalled = std::pin::pin!(signals()?);
    if with_demo && !demo::fill_when_empty(&settings, &store, &mut signalled).await? {
        return Ok(());
    }
    if roles.has(Role::Web)
        && let Some(address) = web.setup_address().await?
    {
        print(&format!("Nobody can log in yet. To set the service up, open:\n\n  {address}\n"))?;
    }
    tracing::info!(
        main = main_address.map(tracing::field::display),
        geo = geo_address.map(tracing::field::display),
        admin = at(&listeners.admin)?.map(tracing::field::display),
        %roles,
        "serving"
    );
    if deliveries.is_none() && matches!(settings.database, DatabaseUrl::Sqlite(_)) {
        tracing::warn!(
            "nobody sends deliveries: this program has not the role `deliver`, and no other serves its file"
        );
    }
    let (stop, stopping) = watch::channel(false);
    let until_stopped = || {
        let mut stopping = stopping.clone();
        async move {
            // An error means that the sender is gone, which is the end as well.
            let _ = stopping.wait_for(|stop| *stop).await;
        }
    };
    let pulse = deliveries.as_ref().map(Deliveries::pulse);
    let serve = async |listener: Option<TcpListener>, routes| {
        if let Some(listener) = listener {
            let proxies = settings.server.proxies();
            server::run(listener, routes, proxies, api.tally.clone(), until_stopped()).await;
        }
    };
    let serving = async {
        tokio::join!(
            serve(listeners.main, api::main_router(&api, &web, &roles)),
            serve(listeners.geo, api::geo_router(&api)),
        );
        Ok::<_, Failure>(())
    };
    let delivering = async {
        match deliveries {
            Some(deliveries) => Ok(deliveries.run(until_stopped()).await?),
            None => {
                until_stopped().await;
                Ok(())
            }
        }
    };
    let working = async { tokio::try_join!(serving, delivering).map(drop) };
    // It answers to the very end, so that whoever asks hears that this is it.
    let telling = async {
        let Some(listener) = listeners.admin else { return std::future::pending().await };
        let (api, roles, stopping) = (api.clone(), roles.clone(), stopping.clone());
        let watched = Watched { api, roles, pulse, stopping };
        admin::serve(listener, watched, std::future::pending()).await.map_err(Failure::new)
    };
    let stopped = async {
        signalled.await;
        tracing::info!("stopping");
        stop.send_replace(true);
        std::future::pending::<()>().await;
    };
    tokio::select! {
        done = working => done?,
        failed = telling => failed?,
        () = stopped => {}
        () = store.tend(now) => {}
    }
    store.close(now()).await?;
    Ok(())
}

/// Where this program listens, as its roles ask for.
struct Listeners {
    main: Option<TcpListener>,
    geo: Option<TcpListener>,
    admin: Option<TcpListener>,
}

impl Listeners {
    async fn bind(settings: &Settings) -> Result<Self, Failure> {
        let server = &settings.server;
        let bind = async |name: &str, address: Option<SocketAddr>| match address {
            Some(address) => {
                let bound = TcpListener::bind(address).await;
                let bound = bound.map_err(|error| format!("{name}: {address}: {error}"));
                bound.map(Some).map_err(Failure::new)
            }
            None => Ok(None),
        };
        let has_main = server.roles.have_main_listener();
        let has_geo = server.roles.has(Role::Geo);
        Ok(Self {
            main: bind("server.listen", has_main.then_some(server.listen)).await?,
            geo: bind("server.geo_listen", has_geo.then_some(server.geo_listen)).await?,
            admin: bind("server.admin_listen", server.admin_listen).await?,
        })
    }
}

/// The address that was really bound.
fn at(listener: &Option<TcpListener>) -> std::io::Result<Option<SocketAddr>> {
    listener.as_ref().map(TcpListener::local_addr).transpose()
}

/// What sends deliveries, as the settings say.
pub(super) fn sender(settings: &Settings) -> Result<Sender, Failure> {
    let Webhooks { allow_networks, extra_roots, .. } = &settings.webhooks;
    let policy = AddressPolicy::new(allow_networks.clone());
    let version = env!("CARGO_PKG_VERSION");
    let client = Client::new(policy, Resolver::System, extra_roots.as_deref(), version)
        .map_err(|error| Failure::new(format!("webhooks.extra_roots: {error}")))?;
    Sender::new(client, &settings.service.name).map_err(Failure::new)
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
