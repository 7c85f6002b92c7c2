//! Running the server: the listeners and the delivery loop of its roles, until shutdown.

use super::{
    App, ConnectionLimits,
    admin::{self, AdminState},
    listen,
    routes::{self, geo_router, main_router},
    tls::Certificate,
    token_expiry::{self, ExpiryNotices},
};
use crate::{
    api::Api,
    clock,
    http::client_address::Proxies,
    mail::{self, MailError, Mailer},
    member_slots::MemberSlots,
    metrics,
    ogc::Ogc,
    roles::{Roles, ServerRole},
    settings::{Settings, SettingsError, Webhooks},
    tiles::TileCache,
    token_auth::TokenAuth,
    uploads::Uploads,
    web::{Web, WebSetupError, imports},
};
use axum::Router;
use groma_store::{DatabaseUrl, Store};
use groma_webhooks::{AddressPolicy, Client, DeliveryLoop, DeliverySender, Resolver};
use metrics_exporter_prometheus::PrometheusHandle;
use std::{future::Future, io, net::SocketAddr, sync::Arc};
use thiserror::Error;
use tokio::{net::TcpListener, sync::watch};
use tokio_rustls::TlsAcceptor;

/// Why the server cannot start or had to stop.
#[derive(Debug, Error)]
pub(crate) enum ServeError {
    /// A listener cannot be opened.
    #[error("{setting}: cannot listen on {address}: {error}")]
    Listen { setting: &'static str, address: SocketAddr, error: io::Error },
    /// The address of a listener cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A setting cannot be used, such as a file.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] groma_store::Error),
    /// The HTTP client of webhooks cannot be created.
    #[error("{0}")]
    Webhooks(String),
    /// The mail server cannot be used.
    #[error(transparent)]
    Mail(#[from] MailError),
    /// The web application cannot start.
    #[error(transparent)]
    Web(#[from] WebSetupError),
    /// Metrics cannot be recorded.
    #[error("cannot record metrics: {0}")]
    Metrics(#[from] metrics_exporter_prometheus::BuildError),
}

/// A server whose listeners are open, ready to run.
pub(crate) struct Server {
    /// With the addresses that are in use.
    settings: Settings,
    store: Store,
    listeners: Listeners,
    certificate: Option<Certificate>,
    deliveries: Option<DeliveryLoop>,
    mailer: Option<Mailer>,
    tiles: Arc<TileCache>,
    api: Arc<Api>,
    ogc: Arc<Ogc>,
    web: Arc<Web>,
    stop: watch::Sender<bool>,
}

impl Server {
    /// Opens the listeners and prepares everything that can fail.
    pub(crate) async fn bind(settings: Settings, store: Store) -> Result<Self, ServeError> {
        let certificate = settings.server.tls.as_ref().map(Certificate::load).transpose()?;
        store.claim()?;
        let listeners = Listeners::bind(&settings).await?;
        let settings = settings.bound(address(&listeners.main)?, address(&listeners.geo)?);
        store.set_geo_url(settings.server.geo_public_url());
        let deliveries = if settings.server.roles.has(ServerRole::Deliver) {
            Some(DeliveryLoop::new(store.clone(), webhook_sender(&settings)?, clock::now))
        } else {
            None
        };
        // Of several replicas, those with the role `deliver` send mail.
        let smtp = settings.smtp.as_ref().filter(|_| deliveries.is_some());
        let mailer = smtp.map(Mailer::new).transpose()?;
        let tiles = Arc::new(TileCache::new(settings.limits.tile_cache_bytes));
        let limits = &settings.limits;
        if let Some(timeout) = limits.search_timeout {
            store.limit_searches(timeout);
        }
        let slots = MemberSlots::new(limits.searches_per_member, limits.searches_per_workspace)
            .with_time_limit(limits.search_timeout);
        let stop = watch::Sender::new(false);
        let token_auth = Arc::new(TokenAuth::new(&settings, store.clone()));
        let uploads = Arc::new(Uploads::new(limits));
        let ogc = Arc::new(Ogc::new(
            &settings,
            store.clone(),
            token_auth.clone(),
            uploads.clone(),
            tiles.clone(),
            slots.clone(),
        ));
        let api = Arc::new(Api::new(
            &settings,
            store.clone(),
            token_auth,
            uploads,
            tiles.clone(),
            slots.clone(),
            stop.subscribe(),
        ));
        let web =
            Arc::new(Web::new(&settings, store.clone(), tiles.clone(), slots, stop.subscribe())?);
        Ok(Self {
            settings,
            store,
            listeners,
            certificate,
            deliveries,
            mailer,
            tiles,
            api,
            ogc,
            web,
            stop,
        })
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Where the first user is created; `None` if there are users, or if this server has no web
    /// application.
    pub(crate) async fn setup_url(&self) -> Result<Option<String>, ServeError> {
        if !self.roles().has(ServerRole::Web) {
            return Ok(None);
        }
        Ok(self.web.setup_address().await?)
    }

    fn roles(&self) -> &Roles {
        &self.settings.server.roles
    }

    /// Serves until `shutdown`, then finishes the requests and deliveries in progress.
    pub(crate) async fn run(self, shutdown: impl Future<Output = ()>) -> Result<(), ServeError> {
        self.log_start()?;
        let metrics = self.listeners.admin.is_some().then(metrics::install).transpose()?;
        let (roles, proxies) = (self.roles().clone(), self.settings.server.proxies());
        let limits = self.settings.limits.clone();
        let log_retention = self.settings.security.log_retention;
        let redirect = routes::redirect_router(&self.settings.server);
        let notices = ExpiryNotices::new(&self.settings);
        let Self {
            store,
            listeners,
            certificate,
            deliveries,
            mailer,
            tiles,
            api,
            ogc,
            web,
            stop,
            ..
        } = self;
        let tls = certificate.as_ref().map(Certificate::acceptor).transpose()?;
        let stopping = stop.subscribe();
        let stopped = || {
            let mut stopping = stopping.clone();
            async move {
                // An error means that the sender is gone, which is the end as well.
                let _ = stopping.wait_for(|is_stopping| *is_stopping).await;
            }
        };
        let admin = AdminState {
            store: store.clone(),
            tiles,
            roles: roles.clone(),
            pulse: deliveries.as_ref().map(DeliveryLoop::heartbeat),
            stopping: stopping.clone(),
        };
        let proxies = Arc::new(proxies);
        let limits = ConnectionLimits::new(&limits, proxies.clone());
        let serve =
            async |listener: Option<TcpListener>, router: Router, tls: &Option<TlsAcceptor>| {
                if let Some(listener) = listener {
                    let app = App {
                        tls: tls.clone(),
                        router,
                        proxies: proxies.clone(),
                        limits: limits.clone(),
                        is_measured: true,
                    };
                    listen(listener, app, stopped()).await;
                }
            };
        let serving = async {
            tokio::join!(
                serve(listeners.main, main_router(&api, &web, &roles), &tls),
                serve(listeners.geo, geo_router(&api, &ogc, &web), &tls),
                serve(listeners.redirect, redirect, &None),
            );
            Ok::<_, ServeError>(())
        };
        let delivering = async {
            match deliveries {
                Some(deliveries) => deliveries.run(stopped()).await?,
                None => stopped().await,
            }
            Ok(())
        };
        let mailing = async {
            match mailer {
                Some(mailer) => {
                    tokio::join!(
                        mail::queue::run(&store, &mailer, stopped()),
                        token_expiry::run(&store, &notices, stopped()),
                    );
                }
                None => stopped().await,
            }
            Ok(())
        };
        let working = async { tokio::try_join!(serving, delivering, mailing).map(drop) };
        let stop_on_signal = async {
            shutdown.await;
            tracing::info!("stopping");
            stop.send_replace(true);
            std::future::pending::<()>().await;
        };
        tokio::select! {
            result = working => result?,
            // The admin listener serves to the very end, so that it can report the shutdown.
            () = serve_admin(listeners.admin, admin, metrics) => {}
            () = stop_on_signal => {}
            () = store.run_maintenance(clock::now, log_retention) => {}
            () = keep_current(certificate) => {}
            () = imports::run_upkeep(&web) => {}
        }
        store.close(clock::now()).await?;
        Ok(())
    }

    fn log_start(&self) -> io::Result<()> {
        tracing::info!(
            main = address(&self.listeners.main)?.map(tracing::field::display),
            geo = address(&self.listeners.geo)?.map(tracing::field::display),
            admin = address(&self.listeners.admin)?.map(tracing::field::display),
            redirect = address(&self.listeners.redirect)?.map(tracing::field::display),
            roles = %self.roles(),
            "serving"
        );
        if self.deliveries.is_none() && matches!(self.settings.database, DatabaseUrl::Sqlite(_)) {
            tracing::warn!(
                "webhook deliveries are not sent: this server does not have the role `deliver`, and \
                 no other server can use its SQLite database"
            );
        }
        Ok(())
    }
}

async fn serve_admin(
    listener: Option<TcpListener>,
    state: AdminState,
    metrics: Option<PrometheusHandle>,
) {
    let (Some(listener), Some(metrics)) = (listener, metrics) else {
        return std::future::pending().await;
    };
    let router = admin::router(state, metrics.clone());
    let app = App {
        router,
        proxies: Arc::new(Proxies::default()),
        limits: ConnectionLimits::none(),
        tls: None,
        is_measured: false,
    };
    tokio::select! {
        () = listen(listener, app, std::future::pending()) => {}
        () = admin::run_upkeep(&metrics) => {}
    }
}

/// Reads the certificate again when it changes.
async fn keep_current(certificate: Option<Certificate>) {
    match certificate {
        Some(certificate) => certificate.keep_current().await,
        None => std::future::pending().await,
    }
}

/// The listeners that the roles of this server need.
struct Listeners {
    main: Option<TcpListener>,
    geo: Option<TcpListener>,
    admin: Option<TcpListener>,
    /// Redirects http to https.
    redirect: Option<TcpListener>,
}

impl Listeners {
    async fn bind(settings: &Settings) -> Result<Self, ServeError> {
        let server = &settings.server;
        let has_main = server.roles.have_main_listener();
        let redirect = server.tls.as_ref().and_then(|tls| tls.redirect_listen);
        let has_geo = server.roles.has(ServerRole::Geo);
        Ok(Self {
            main: bind("server.listen", has_main.then_some(server.listen)).await?,
            geo: bind("server.geo_listen", has_geo.then_some(server.geo_listen)).await?,
            admin: bind("server.admin_listen", server.admin_listen).await?,
            redirect: bind("server.tls.redirect_listen", redirect.filter(|_| has_main)).await?,
        })
    }
}

async fn bind(
    setting: &'static str,
    address: Option<SocketAddr>,
) -> Result<Option<TcpListener>, ServeError> {
    let Some(address) = address else { return Ok(None) };
    let listener = TcpListener::bind(address).await;
    listener.map(Some).map_err(|error| ServeError::Listen { setting, address, error })
}

/// The address in use, which differs from the setting if its port is 0.
fn address(listener: &Option<TcpListener>) -> io::Result<Option<SocketAddr>> {
    listener.as_ref().map(TcpListener::local_addr).transpose()
}

/// The sender of webhook deliveries with these settings.
pub(crate) fn webhook_sender(settings: &Settings) -> Result<DeliverySender, ServeError> {
    let Webhooks { allow_http, allow_networks, extra_roots, .. } = &settings.webhooks;
    let policy = AddressPolicy::new(allow_networks.clone());
    let version = env!("CARGO_PKG_VERSION");
    let client = Client::new(policy, Resolver::System, extra_roots.as_deref(), version)
        .map_err(|error| ServeError::Webhooks(format!("webhooks.extra_roots: {error}")))?;
    let sender = DeliverySender::new(client, settings.service.header_name())
        .map_err(|error| ServeError::Webhooks(error.to_string()))?;
    Ok(if *allow_http { sender } else { sender.https_only() })
}
