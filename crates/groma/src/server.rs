//! The server: listeners here, its parts below.
//!
//! [`connection`] speaks HTTP with a client, over [`tls`] if the settings ask for it, within
//! [`connection_limits`]. [`routes`] assembles the routers of the API and the web application, [`admin`]
//! serves health and metrics to the operator, and [`serve`] runs everything until shutdown.

mod admin;
mod connection;
mod connection_limits;
mod routes;
mod serve;
mod tls;
mod token_expiry;

pub(crate) use routes::openapi_document;
pub(crate) use serve::{Server, webhook_sender};
pub(crate) use tls::check_certificate;

use crate::{
    http::{self, client_address::Proxies, security_headers},
    metrics::{self, RouteClass},
};
use axum::{Router, body::Body, response::Response};
use connection_limits::ConnectionLimits;
use hyper::{Request, body::Incoming};
use hyper_util::server::graceful::GracefulShutdown;
use std::{
    future::Future,
    net::IpAddr,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::{net::TcpListener, sync::watch};
use tokio_rustls::TlsAcceptor;

/// How long requests in progress may continue after shutdown begins.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(10);
/// The pause after a failed accept.
const ACCEPT_RETRY: Duration = Duration::from_millis(50);

/// What one listener serves.
#[derive(Clone)]
struct App {
    router: Router,
    proxies: Arc<Proxies>,
    limits: ConnectionLimits,
    /// `None` for plain http.
    tls: Option<TlsAcceptor>,
    /// Requests of the operator are not part of the metrics.
    is_measured: bool,
}

impl App {
    async fn respond(&self, peer: IpAddr, request: Request<Incoming>) -> Response {
        let client = self.proxies.client(peer, request.headers());
        let request = request.map(Body::new);
        if !self.is_measured {
            return http::respond(self.router.clone(), client, request).await;
        }
        let (start, class) = (Instant::now(), RouteClass::of(request.uri().path()));
        let _in_progress = metrics::request_in_progress();
        let mut response = http::respond(self.router.clone(), client, request).await;
        if self.tls.is_some() {
            security_headers::require_https(&mut response);
        }
        metrics::request_finished(class, response.status(), start.elapsed());
        response
    }
}

/// Serves connections until `shutdown`, then waits for the requests in progress.
async fn listen(listener: TcpListener, app: App, shutdown: impl Future<Output = ()>) {
    let graceful = GracefulShutdown::new();
    let (open, closed) = watch::channel(());
    let mut shutdown = std::pin::pin!(shutdown);
    loop {
        let (stream, peer) = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    // Most likely the process is out of file descriptors, until other connections end.
                    tracing::warn!(%error, "failed to accept a connection");
                    tokio::time::sleep(ACCEPT_RETRY).await;
                    continue;
                }
            },
            () = &mut shutdown => break,
        };
        let peer = peer.ip();
        let Some(place) = app.limits.admit(peer) else {
            metrics::connection_rejected();
            continue;
        };
        let _ = stream.set_nodelay(true);
        let (app, watcher, closed) = (app.clone(), graceful.watcher(), closed.clone());
        tokio::spawn(async move {
            let _open = (place, app.is_measured.then(metrics::open_connection));
            connection::serve(stream, peer, app, watcher, closed).await;
        });
    }
    drop((listener, open));
    if tokio::time::timeout(SHUTDOWN_TIMEOUT, graceful.shutdown()).await.is_err() {
        tracing::warn!("shutdown timed out; requests still in progress were aborted");
    }
}
