//! Listeners: accepting connections, serving them, and ending in order.

use crate::{
    api,
    forwarded::{Client, Proxies},
    tally::Tally,
};
use axum::{Router, body::Body};
use hyper::{Request, body::Incoming, service::service_fn};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::{conn::auto, graceful::GracefulShutdown},
};
use std::{convert::Infallible, future::Future, sync::Arc, time::Duration};
use tokio::{net::TcpListener, sync::watch};

/// How long a client may take to send the head of a request, or to send another one.
const HEAD_TIMEOUT: Duration = Duration::from_secs(60);
/// How long requests that run may go on after the end was asked for.
const GRACE: Duration = Duration::from_secs(10);

/// Serves `app` on `listener` until `shutdown`, then finishes what runs. The `proxies` in front may say
/// who asks.
pub(crate) async fn run(
    listener: TcpListener,
    app: Router,
    proxies: Proxies,
    tally: Arc<Tally>,
    shutdown: impl Future<Output = ()>,
) {
    let proxies = Arc::new(proxies);
    let mut connection_builder = auto::Builder::new(TokioExecutor::new());
    connection_builder.http1().timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT);
    connection_builder.http2().timer(TokioTimer::new()).keep_alive_interval(Some(HEAD_TIMEOUT));
    let graceful = GracefulShutdown::new();
    let (serving, end) = watch::channel(());
    let mut shutdown = std::pin::pin!(shutdown);
    loop {
        let (stream, from) = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    // Out of file descriptors, most likely: others end, and then it goes on.
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            },
            () = &mut shutdown => break,
        };
        let _ = stream.set_nodelay(true);
        let (app, counting, tally) = (app.clone(), tally.clone(), tally.clone());
        // Asked once a connection: most come from nobody who may speak for others.
        let proxies = proxies.trusts(from.ip()).then(|| proxies.clone());
        let service = service_fn(move |request: Request<Incoming>| {
            let client = match &proxies {
                Some(proxies) => proxies.client(from.ip(), request.headers()),
                None => Client::direct(from.ip()),
            };
            let (app, tally) = (app.clone(), counting.clone());
            async move {
                let request = request.map(Body::new);
                Ok::<_, Infallible>(api::answer(app, client, &tally, request).await)
            }
        });
        let (connection_builder, watcher) = (connection_builder.clone(), graceful.watcher());
        let mut end = end.clone();
        tokio::spawn(async move {
            let _counted = tally.connected();
            // The first byte tells the protocol; who does not send one is nobody's client. It is looked
            // for, since a new connection is called readable before there is anything to read.
            let mut byte = [0];
            tokio::select! {
                first = tokio::time::timeout(HEAD_TIMEOUT, stream.peek(&mut byte)) => match first {
                    Ok(Ok(1..)) => {}
                    _ => return,
                },
                _ = end.changed() => return,
            }
            let connection = connection_builder
                .serve_connection_with_upgrades(TokioIo::new(stream), service)
                .into_owned();
            if let Err(error) = watcher.watch(connection).await {
                tracing::debug!(%error, "a connection ended early");
            }
        });
    }
    drop((listener, serving));
    if tokio::time::timeout(GRACE, graceful.shutdown()).await.is_err() {
        tracing::warn!("requests were still running and were cut off");
    }
}
