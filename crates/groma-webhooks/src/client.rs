//! The guarded HTTP client, the only source of outgoing requests to addresses that users choose.
//!
//! The client checks the address right before it opens a connection, and again each time it reuses the
//! connection. It uses no proxy and follows no redirect. An attempt has 15 seconds until the response
//! headers arrive, including name resolution and the TLS handshake. The client then reads a limited part
//! of the body for a limited time.

use crate::address::AddressPolicy;
use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::{
    Method, Request, Response, Uri,
    body::Incoming,
    client::conn::http1,
    header::{CONTENT_TYPE, HOST, HeaderName, HeaderValue, RETRY_AFTER, USER_AGENT},
};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use rustls::pki_types::{CertificateDer, ServerName, pem::PemObject};
use std::{
    collections::HashMap,
    fmt, io,
    net::{IpAddr, SocketAddr},
    path::Path,
    sync::Arc,
    time::Duration,
};
use thiserror::Error;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    time::Instant,
};
use tokio_rustls::TlsConnector;
use url::{Host, Url};

/// The time until the response headers must arrive.
pub const RESPONSE_TIMEOUT: Duration = Duration::from_secs(15);
/// The number of bytes of the response body to read.
pub const MAX_RESPONSE_BODY: usize = 16 * 1024;
/// The time to wait for the response body.
const BODY_TIMEOUT: Duration = Duration::from_secs(1);
/// The time to connect to one address, so that the next one gets its turn.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long an idle connection stays open.
const IDLE_TIMEOUT: Duration = Duration::from_secs(20);
/// The maximum number of idle connections per origin.
const MAX_IDLE_CONNECTIONS: usize = 32;
/// How long resolved addresses are cached.
const DNS_CACHE_TIME: Duration = Duration::from_secs(5);

/// Resolves host names.
#[derive(Clone)]
pub enum Resolver {
    /// The resolver of the system.
    System,
    /// A function, called for every attempt.
    Function(Arc<Resolve>),
}

/// Returns the addresses of a host name.
type Resolve = dyn Fn(&str) -> Vec<IpAddr> + Send + Sync;

impl fmt::Debug for Resolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::System => "System",
            Self::Function(_) => "Function",
        })
    }
}

/// Why an attempt received no response.
#[derive(Debug, Error)]
pub enum SendError {
    /// The URL is invalid.
    #[error("invalid URL: {0}")]
    Url(String),
    /// The host name has no address.
    #[error("cannot resolve the host name {0}")]
    Name(String),
    /// The address policy allows none of the addresses.
    // Without the address: the reader may not know the names and addresses of the private network.
    #[error("webhooks may not reach the address of this host")]
    Forbidden,
    /// The connection failed.
    #[error("cannot connect: {0}")]
    Connect(io::Error),
    /// The TLS handshake failed.
    #[error("TLS handshake failed: {0}")]
    Tls(io::Error),
    /// The response is not HTTP, or ended early.
    #[error("invalid HTTP response: {0}")]
    Http(#[from] hyper::Error),
    /// The response body is too large or ended early.
    #[error("cannot read the response: {0}")]
    Body(String),
    /// The response headers did not arrive in time.
    #[error("no response within {} seconds", RESPONSE_TIMEOUT.as_secs())]
    Timeout,
}

/// Why the client could not be created.
#[derive(Debug, Error)]
pub enum SetupError {
    /// The file of additional root certificates cannot be read.
    #[error("{0}")]
    Roots(#[from] rustls::pki_types::pem::Error),
    /// A root certificate or the TLS configuration is invalid.
    #[error("{0}")]
    Tls(#[from] rustls::Error),
}

/// The relevant parts of a response.
#[derive(Debug)]
pub struct WebhookResponse {
    /// HTTP status.
    pub status: u16,
    /// The `Retry-After` header.
    pub retry_after: Option<String>,
    /// The beginning of the body.
    pub body: Vec<u8>,
}

/// The guarded HTTP client.
pub struct Client {
    policy: AddressPolicy,
    resolver: Resolver,
    tls: TlsConnector,
    user_agent: HeaderValue,
    idle: Mutex<HashMap<Origin, Vec<IdleConnection>>>,
    dns_cache: Mutex<HashMap<String, (Instant, Vec<IpAddr>)>>,
}

type RequestSender = http1::SendRequest<Full<Bytes>>;

/// An open connection that waits for the next request.
struct IdleConnection {
    sender: RequestSender,
    peer: SocketAddr,
    since: Instant,
}

/// The scheme, host and port that a connection belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Origin {
    is_https: bool,
    host: Host<String>,
    port: u16,
}

impl Client {
    /// Creates a client that trusts the root certificates of the system and of an optional PEM file.
    pub fn new(
        policy: AddressPolicy,
        resolver: Resolver,
        extra_roots: Option<&Path>,
        version: &str,
    ) -> Result<Self, SetupError> {
        let mut roots = rustls::RootCertStore::empty();
        let found = rustls_native_certs::load_native_certs();
        for error in found.errors {
            tracing::warn!(%error, "failed to load a root certificate of the system");
        }
        roots.add_parsable_certificates(found.certs);
        if let Some(path) = extra_roots {
            for root in CertificateDer::pem_file_iter(path)? {
                roots.add(root?)?;
            }
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let user_agent = HeaderValue::from_str(&format!("Groma/{version}"));
        Ok(Self {
            policy,
            resolver,
            tls: TlsConnector::from(Arc::new(config)),
            user_agent: user_agent.unwrap_or(HeaderValue::from_static("Groma")),
            idle: Mutex::default(),
            dns_cache: Mutex::default(),
        })
    }

    /// Posts JSON. Returns the response, and the time until its headers arrived.
    pub async fn post(
        &self,
        url: &str,
        headers: Vec<(HeaderName, HeaderValue)>,
        body: Bytes,
    ) -> (Result<WebhookResponse, SendError>, Duration) {
        let started = Instant::now();
        let exchange = self.exchange(url, Method::POST, with_json(headers), body);
        let exchange = tokio::time::timeout(RESPONSE_TIMEOUT, exchange).await;
        let latency = started.elapsed();
        let response = match exchange {
            Ok(Ok(exchange)) => Ok(self.read_response(exchange).await),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(SendError::Timeout),
        };
        (response, latency)
    }

    /// Sends a request and reads the whole response, of at most `limit` bytes.
    pub async fn fetch(
        &self,
        request: Request<Vec<u8>>,
        limit: usize,
    ) -> Result<Response<Vec<u8>>, SendError> {
        let (head, body) = request.into_parts();
        let headers = head.headers.iter().map(|(name, value)| (name.clone(), value.clone()));
        let (url, headers) = (head.uri.to_string(), headers.collect());
        let fetch = async {
            let Exchange { response, .. } =
                self.exchange(&url, head.method, headers, body.into()).await?;
            let (head, incoming) = response.into_parts();
            let body = Limited::new(incoming, limit).collect().await;
            let body = body.map_err(|error| SendError::Body(error.to_string()))?.to_bytes();
            Ok(Response::from_parts(head, body.to_vec()))
        };
        tokio::time::timeout(RESPONSE_TIMEOUT, fetch).await.unwrap_or(Err(SendError::Timeout))
    }

    /// Removes expired idle connections and resolved addresses.
    pub fn prune(&self) {
        self.idle.lock().retain(|_, connections| {
            connections.retain(IdleConnection::is_usable);
            !connections.is_empty()
        });
        self.dns_cache.lock().retain(|_, (since, _)| since.elapsed() < DNS_CACHE_TIME);
    }

    /// Sends the request and waits for the response headers.
    async fn exchange(
        &self,
        url: &str,
        method: Method,
        headers: Vec<(HeaderName, HeaderValue)>,
        body: Bytes,
    ) -> Result<Exchange, SendError> {
        let url = Url::parse(url).map_err(|error| SendError::Url(error.to_string()))?;
        let origin = Origin::of(&url)?;
        let request = self.request(&url, method, headers, body)?;
        let addresses = self.allowed_addresses(&origin).await?;
        while let Some(IdleConnection { mut sender, peer, .. }) =
            self.take_idle(&origin, &addresses)
        {
            if sender.ready().await.is_err() {
                continue;
            }
            match sender.send_request(request.clone()).await {
                Ok(response) => return Ok(Exchange { origin, response, sender, peer }),
                // The server may have closed the idle connection at the same time. That is no failure
                // of the attempt, so another connection is used.
                Err(error) if error.is_canceled() || error.is_incomplete_message() => {}
                Err(error) if error.is_closed() => {}
                Err(error) => return Err(error.into()),
            }
        }
        let (mut sender, peer) = self.connect(&origin, &addresses).await?;
        let response = sender.send_request(request).await?;
        Ok(Exchange { origin, response, sender, peer })
    }

    fn request(
        &self,
        url: &Url,
        method: Method,
        headers: Vec<(HeaderName, HeaderValue)>,
        body: Bytes,
    ) -> Result<Request<Full<Bytes>>, SendError> {
        let invalid = |error: &dyn fmt::Display| SendError::Url(error.to_string());
        let path = &url[url::Position::BeforePath..url::Position::AfterQuery];
        let path: Uri = path.parse().map_err(|error| invalid(&error))?;
        let host = &url[url::Position::BeforeHost..url::Position::AfterPort];
        let host = HeaderValue::from_str(host).map_err(|error| invalid(&error))?;
        let request = Request::builder().method(method).uri(path).body(Full::new(body));
        let mut request = request.map_err(|error| invalid(&error))?;
        let all_headers = request.headers_mut();
        all_headers.insert(HOST, host);
        all_headers.insert(USER_AGENT, self.user_agent.clone());
        all_headers.extend(headers);
        Ok(request)
    }

    /// The addresses of a host that the policy allows.
    async fn allowed_addresses(&self, origin: &Origin) -> Result<Vec<IpAddr>, SendError> {
        let addresses = match &origin.host {
            Host::Ipv4(address) => vec![IpAddr::V4(*address)],
            Host::Ipv6(address) => vec![IpAddr::V6(*address)],
            Host::Domain(name) => self.resolve(name).await?,
        };
        let allowed: Vec<_> =
            addresses.into_iter().filter(|address| self.policy.allows(*address)).collect();
        if allowed.is_empty() { Err(SendError::Forbidden) } else { Ok(allowed) }
    }

    async fn resolve(&self, name: &str) -> Result<Vec<IpAddr>, SendError> {
        let not_found = || SendError::Name(name.to_owned());
        let addresses = match &self.resolver {
            Resolver::Function(function) => function(name),
            Resolver::System => {
                let cached = self.dns_cache.lock().get(name).cloned();
                let is_fresh = |(since, _): &(Instant, _)| since.elapsed() < DNS_CACHE_TIME;
                if let Some((_, addresses)) = cached.filter(is_fresh) {
                    return Ok(addresses);
                }
                let found = tokio::net::lookup_host((name, 0)).await.map_err(|_| not_found())?;
                let mut addresses: Vec<IpAddr> = found.map(|address| address.ip()).collect();
                addresses.dedup();
                self.dns_cache.lock().insert(name.to_owned(), (Instant::now(), addresses.clone()));
                addresses
            }
        };
        if addresses.is_empty() { Err(not_found()) } else { Ok(addresses) }
    }

    /// An idle connection whose peer is still one of the host's addresses, and still allowed.
    fn take_idle(&self, origin: &Origin, addresses: &[IpAddr]) -> Option<IdleConnection> {
        let mut idle = self.idle.lock();
        let connections = idle.get_mut(origin)?;
        while let Some(connection) = connections.pop() {
            let address = connection.peer.ip();
            if connection.is_usable() && addresses.contains(&address) && self.policy.allows(address)
            {
                return Some(connection);
            }
        }
        idle.remove(origin);
        None
    }

    async fn connect(
        &self,
        origin: &Origin,
        addresses: &[IpAddr],
    ) -> Result<(RequestSender, SocketAddr), SendError> {
        let mut failure = SendError::Timeout;
        for address in addresses {
            match self.connect_to(origin, SocketAddr::new(*address, origin.port)).await {
                Ok(connected) => return Ok(connected),
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }

    async fn connect_to(
        &self,
        origin: &Origin,
        address: SocketAddr,
    ) -> Result<(RequestSender, SocketAddr), SendError> {
        // The only place that opens a socket, so no other code path can bypass this check.
        if !self.policy.allows(address.ip()) {
            return Err(SendError::Forbidden);
        }
        let connected = tokio::time::timeout(CONNECT_TIMEOUT, TcpStream::connect(address)).await;
        let connected = connected.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
        let stream = connected.map_err(SendError::Connect)?;
        let _ = stream.set_nodelay(true);
        let sender = if origin.is_https {
            let name = origin.server_name()?;
            handshake(self.tls.connect(name, stream).await.map_err(SendError::Tls)?).await?
        } else {
            handshake(stream).await?
        };
        Ok((sender, address))
    }

    /// Reads the beginning of the body. If that is the whole body, the connection stays open.
    async fn read_response(&self, exchange: Exchange) -> WebhookResponse {
        let Exchange { origin, response, sender, peer } = exchange;
        let (head, mut incoming) = response.into_parts();
        let mut body = Vec::new();
        let reading = async {
            while let Some(frame) = incoming.frame().await {
                let Some(data) = frame.ok()?.into_data().ok() else { continue };
                let room = MAX_RESPONSE_BODY - body.len();
                body.extend_from_slice(&data[..data.len().min(room)]);
                if data.len() > room {
                    return None;
                }
            }
            Some(())
        };
        let is_complete = tokio::time::timeout(BODY_TIMEOUT, reading).await == Ok(Some(()));
        if is_complete {
            let mut idle = self.idle.lock();
            let connections = idle.entry(origin).or_default();
            if connections.len() < MAX_IDLE_CONNECTIONS {
                connections.push(IdleConnection { sender, peer, since: Instant::now() });
            }
        }
        let retry_after = head.headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok());
        WebhookResponse {
            status: head.status.as_u16(),
            retry_after: retry_after.map(str::to_owned),
            body,
        }
    }
}

/// The headers of a request with a JSON body.
fn with_json(mut headers: Vec<(HeaderName, HeaderValue)>) -> Vec<(HeaderName, HeaderValue)> {
    headers.push((CONTENT_TYPE, HeaderValue::from_static("application/json")));
    headers
}

impl IdleConnection {
    fn is_usable(&self) -> bool {
        self.since.elapsed() < IDLE_TIMEOUT && !self.sender.is_closed()
    }
}

/// The response headers, with their connection.
struct Exchange {
    origin: Origin,
    response: Response<Incoming>,
    sender: RequestSender,
    peer: SocketAddr,
}

impl Origin {
    fn of(url: &Url) -> Result<Self, SendError> {
        let is_https = match url.scheme() {
            "https" => true,
            "http" => false,
            other => return Err(SendError::Url(format!("the scheme {other} is not supported"))),
        };
        let host = url.host().map(|host| host.to_owned());
        let host = host.ok_or_else(|| SendError::Url("it has no host".to_owned()))?;
        let port = url.port_or_known_default().unwrap_or(443);
        Ok(Self { is_https, host, port })
    }

    fn server_name(&self) -> Result<ServerName<'static>, SendError> {
        match &self.host {
            Host::Ipv4(address) => Ok(ServerName::from(IpAddr::V4(*address))),
            Host::Ipv6(address) => Ok(ServerName::from(IpAddr::V6(*address))),
            // A fully qualified name may end with a dot, which certificates omit.
            Host::Domain(name) => ServerName::try_from(name.trim_end_matches('.').to_owned())
                .map_err(|error| SendError::Url(error.to_string())),
        }
    }
}

async fn handshake(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
) -> Result<RequestSender, SendError> {
    let (sender, connection) = http1::Builder::new()
        .title_case_headers(true)
        .max_buf_size(64 * 1024)
        .handshake(TokioIo::new(stream))
        .await?;
    // The task ends when the sender is dropped or the server closes the connection.
    tokio::spawn(connection);
    Ok(sender)
}
