//! The server: listeners and connections here, its parts below.
//!
//! [`routes`] assembles the routers of the API and the web application, [`admin`] serves health and
//! metrics to the operator, and [`serve`] runs everything until shutdown.

mod admin;
mod routes;
mod serve;

pub(crate) use routes::openapi_document;
pub(crate) use serve::{Server, webhook_sender};

use crate::{
    http::{self, client_address::Proxies},
    metrics::{self, RouteClass},
};
use axum::{Router, body::Body, response::Response};
use hyper::{Request, body::Incoming, service::service_fn};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::{conn::auto, graceful::GracefulShutdown},
};
use std::{
    convert::Infallible,
    future::Future,
    net::IpAddr,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch,
};

/// How long a client may take to send the headers of a request, or to send the next request.
const HEADER_TIMEOUT: Duration = Duration::from_secs(60);
/// How long requests in progress may continue after shutdown begins.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(10);
/// The pause after a failed accept.
const ACCEPT_RETRY: Duration = Duration::from_millis(50);

/// What one listener serves.
#[derive(Clone)]
struct App {
    router: Router,
    proxies: Arc<Proxies>,
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
        let response = http::respond(self.router.clone(), client, request).await;
        metrics::request_finished(class, response.status(), start.elapsed());
        response
    }
}

/// Serves connections until `shutdown`, then waits for the requests in progress.
async fn listen(listener: TcpListener, app: App, shutdown: impl Future<Output = ()>) {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(HEADER_TIMEOUT);
    builder.http2().timer(TokioTimer::new()).keep_alive_interval(Some(HEADER_TIMEOUT));
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
        let _ = stream.set_nodelay(true);
        let (app, is_measured) = (app.clone(), app.is_measured);
        let service = service_fn(move |request: Request<Incoming>| {
            let app = app.clone();
            async move { Ok::<_, Infallible>(app.respond(peer.ip(), request).await) }
        });
        let (builder, watcher, mut closed) = (builder.clone(), graceful.watcher(), closed.clone());
        tokio::spawn(async move {
            let _open = is_measured.then(metrics::open_connection);
            tokio::select! {
                has_data = has_data(&stream) => if !has_data { return },
                _ = closed.changed() => return,
            }
            let connection =
                builder.serve_connection_with_upgrades(TokioIo::new(stream), service).into_owned();
            if let Err(error) = watcher.watch(connection).await {
                tracing::debug!(%error, "connection ended early");
            }
        });
    }
    drop((listener, open));
    if tokio::time::timeout(SHUTDOWN_TIMEOUT, graceful.shutdown()).await.is_err() {
        tracing::warn!("shutdown timed out; requests still in progress were aborted");
    }
}

/// Waits for the first byte, by which hyper detects the protocol without a time limit of its own.
async fn has_data(stream: &TcpStream) -> bool {
    let mut byte = [0];
    let peeked = tokio::time::timeout(HEADER_TIMEOUT, stream.peek(&mut byte)).await;
    matches!(peeked, Ok(Ok(1..)))
}
