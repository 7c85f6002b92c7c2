//! One connection: TLS if the listener has it, then HTTP/1.1 or HTTP/2.

use super::App;
use hyper::{
    Request,
    body::Incoming,
    rt::{Read, Write},
    service::service_fn,
};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::{conn::auto, graceful::Watcher},
};
use std::{
    convert::Infallible,
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::{net::TcpStream, sync::watch, time::timeout};

/// How long a client may take to send the headers of a request, or to send the next request.
const HEADER_TIMEOUT: Duration = Duration::from_secs(60);
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// The read buffer of a connection, and so the largest head of a request.
const MAX_HEAD_BYTES: usize = 64 << 10;
/// How much of one HTTP/2 request and of one HTTP/2 connection may be in memory before it is read.
const HTTP2_STREAM_WINDOW: u32 = 256 << 10;
const HTTP2_CONNECTION_WINDOW: u32 = 512 << 10;
const HTTP2_MAX_STREAMS: u32 = 100;
/// What a client sends first that uses HTTP/2 without TLS.
const HTTP2_PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

enum Protocol {
    Http1,
    Http2,
    /// The first bytes do not tell yet.
    Unknown,
}

/// Serves a connection. `closed` ends it while it has not begun, `watcher` between requests.
pub(super) async fn serve(
    stream: TcpStream,
    peer: IpAddr,
    app: App,
    watcher: Watcher,
    mut closed: watch::Receiver<()>,
) {
    let Some(acceptor) = app.tls.clone() else {
        let protocol = tokio::select! {
            protocol = detect_protocol(&stream) => protocol,
            _ = closed.changed() => return,
        };
        if let Some(protocol) = protocol {
            serve_http(TokioIo::new(stream), protocol, peer, app, watcher).await;
        }
        return;
    };
    // Boxed, here and below, to keep connections without TLS small.
    let handshake = Box::pin(timeout(HANDSHAKE_TIMEOUT, acceptor.accept(stream)));
    let stream = tokio::select! {
        stream = handshake => stream,
        _ = closed.changed() => return,
    };
    match stream {
        Ok(Ok(stream)) => {
            let is_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
            let protocol = if is_http2 { Protocol::Http2 } else { Protocol::Http1 };
            Box::pin(serve_http(TokioIo::new(stream), protocol, peer, app, watcher)).await;
        }
        Ok(Err(error)) => tracing::debug!(%error, "TLS handshake failed"),
        Err(_) => tracing::debug!("TLS handshake timed out"),
    }
}

/// Waits for the first bytes. Until then a connection needs no buffers. `None` if there are none in time.
async fn detect_protocol(stream: &TcpStream) -> Option<Protocol> {
    let mut start = [0; HTTP2_PREFACE.len()];
    let length = timeout(HEADER_TIMEOUT, stream.peek(&mut start)).await.ok()?.ok()?;
    match &start[..length] {
        [] => None,
        start if start == HTTP2_PREFACE => Some(Protocol::Http2),
        start if HTTP2_PREFACE.starts_with(start) => Some(Protocol::Unknown),
        _ => Some(Protocol::Http1),
    }
}

async fn serve_http(
    io: impl Read + Write + Unpin + Send + 'static,
    protocol: Protocol,
    peer: IpAddr,
    app: App,
    watcher: Watcher,
) {
    let has_request = Arc::new(AtomicBool::new(false));
    let requested = has_request.clone();
    let service = service_fn(move |request: Request<Incoming>| {
        requested.store(true, Ordering::Relaxed);
        let app = app.clone();
        async move { Ok::<_, Infallible>(app.respond(peer, request).await) }
    });
    // Not `serve_connection_with_upgrades`, which detects the protocol again, with a second buffer.
    let served = watcher.watch(builder(&protocol).serve_connection(io, service).into_owned());
    tokio::select! {
        served = served => if let Err(error) = served {
            tracing::debug!(%error, "connection ended early");
        },
        () = without_request(&has_request) => {}
    }
}

/// The settings of HTTP connections.
fn builder(protocol: &Protocol) -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        // QGIS 3.40 does not find `location` in the response to a new feature, only `Location`.
        .title_case_headers(true)
        .max_buf_size(MAX_HEAD_BYTES);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(Some(HEADER_TIMEOUT))
        .max_header_list_size(MAX_HEAD_BYTES as u32)
        .initial_stream_window_size(HTTP2_STREAM_WINDOW)
        .initial_connection_window_size(HTTP2_CONNECTION_WINDOW)
        .max_concurrent_streams(HTTP2_MAX_STREAMS);
    match protocol {
        Protocol::Http1 => builder.http1_only(),
        Protocol::Http2 => builder.http2_only(),
        Protocol::Unknown => builder,
    }
}

/// Completes if there is no request in time, whatever else the client sends.
async fn without_request(has_request: &AtomicBool) {
    tokio::time::sleep(HEADER_TIMEOUT).await;
    if has_request.load(Ordering::Relaxed) {
        std::future::pending::<()>().await;
    }
}
