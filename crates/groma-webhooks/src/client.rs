//! The guarded HTTP client: the only way out of the program.
//!
//! Every connection is opened here, to an address that was checked the moment before, and is checked
//! again whenever it is used once more. There is no proxy and no redirect. An attempt has 15 seconds
//! to the head of the answer, name and handshake included; of the body a little is read for a little
//! while, whatever it then does.

use crate::address::AddressPolicy;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{
    Request, Response, Uri,
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
    time::{Duration, Instant},
};
use thiserror::Error;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
};
use tokio_rustls::TlsConnector;
use url::{Host, Url};

/// How long an attempt may take to the head of the answer.
pub const TIMEOUT: Duration = Duration::from_secs(15);
/// How much of an answer's body is kept.
pub const KEPT_ANSWER: usize = 16 * 1024;
/// How long an answer's body is waited for.
const BODY_TIMEOUT: Duration = Duration::from_secs(1);
/// How long one of several addresses may take to be connected to.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a connection is kept for the next delivery.
const KEPT_FOR: Duration = Duration::from_secs(20);
/// How many connections are kept for one address.
const KEPT_CONNECTIONS: usize = 32;
/// How long the addresses of a name are remembered.
const NAME_REMEMBERED: Duration = Duration::from_secs(5);

/// Finds the addresses of a name.
#[derive(Clone)]
pub enum Resolver {
    /// As the system does.
    System,
    /// As this function says, asked anew for every attempt.
    Function(Arc<Resolve>),
}

/// Gives the addresses of a name.
type Resolve = dyn Fn(&str) -> Vec<IpAddr> + Send + Sync;

impl fmt::Debug for Resolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::System => "System",
            Self::Function(_) => "Function",
        })
    }
}

/// Why there is no answer.
#[derive(Debug, Error)]
pub enum SendError {
    /// The endpoint's address cannot be read.
    #[error("the address cannot be read: {0}")]
    Url(String),
    /// The name has no address.
    #[error("the name {0} cannot be resolved")]
    Name(String),
    /// None of the addresses may be reached.
    #[error("{0} is not an address that webhooks may reach")]
    Forbidden(IpAddr),
    /// No connection could be made.
    #[error("cannot connect to {address}: {source}")]
    Connect {
        /// Where.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// The TLS handshake failed.
    #[error("TLS: {0}")]
    Tls(io::Error),
    /// What came back is no HTTP, or broke off.
    #[error("no HTTP answer: {0}")]
    Http(#[from] hyper::Error),
    /// It took too long.
    #[error("no answer within {} seconds", TIMEOUT.as_secs())]
    Timeout,
}

/// Why there is no client.
#[derive(Debug, Error)]
pub enum SetupError {
    /// The file of further certificates cannot be read.
    #[error("{0}")]
    Roots(#[from] rustls::pki_types::pem::Error),
    /// A certificate makes no sense, or TLS cannot be had.
    #[error("{0}")]
    Tls(#[from] rustls::Error),
}

/// An answer, as far as it counts.
#[derive(Debug)]
pub struct Answer {
    /// Its status.
    pub status: u16,
    /// Its `Retry-After`.
    pub retry_after: Option<String>,
    /// The beginning of its body.
    pub body: Vec<u8>,
}

/// Sends deliveries.
pub struct Client {
    policy: AddressPolicy,
    resolver: Resolver,
    tls: TlsConnector,
    user_agent: HeaderValue,
    kept: Mutex<HashMap<Origin, Vec<Kept>>>,
    names: Mutex<HashMap<String, (Instant, Vec<IpAddr>)>>,
}

type Sender = http1::SendRequest<Full<Bytes>>;

/// A connection that waits for the next delivery.
struct Kept {
    sender: Sender,
    peer: SocketAddr,
    since: Instant,
}

/// What a connection is to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Origin {
    is_https: bool,
    host: Host<String>,
    port: u16,
}

impl Client {
    /// A client that trusts the system's certificates, and those of a PEM file besides.
    pub fn new(
        policy: AddressPolicy,
        resolver: Resolver,
        extra_roots: Option<&Path>,
        version: &str,
    ) -> Result<Self, SetupError> {
        let mut roots = rustls::RootCertStore::empty();
        let found = rustls_native_certs::load_native_certs();
        for error in found.errors {
            tracing::warn!(%error, "a certificate of the system cannot be read");
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
            kept: Mutex::default(),
            names: Mutex::default(),
        })
    }

    /// Posts JSON. Gives the answer, and how long it took to its head.
    pub async fn post(
        &self,
        url: &str,
        headers: Vec<(HeaderName, HeaderValue)>,
        body: Bytes,
    ) -> (Result<Answer, SendError>, Duration) {
        let begun = Instant::now();
        let exchanged = tokio::time::timeout(TIMEOUT, self.exchange(url, headers, body)).await;
        let latency = begun.elapsed();
        let answer = match exchanged {
            Ok(Ok(exchanged)) => Ok(self.read(exchanged).await),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(SendError::Timeout),
        };
        (answer, latency)
    }

    /// Forgets connections and names that have been kept long enough.
    pub fn prune(&self) {
        let mut kept = self.kept.lock();
        kept.retain(|_, kept| {
            kept.retain(|kept| kept.since.elapsed() < KEPT_FOR && !kept.sender.is_closed());
            !kept.is_empty()
        });
        self.names.lock().retain(|_, (since, _)| since.elapsed() < NAME_REMEMBERED);
    }

    /// Sends the request and waits for the head of the answer.
    async fn exchange(
        &self,
        url: &str,
        headers: Vec<(HeaderName, HeaderValue)>,
        body: Bytes,
    ) -> Result<Exchanged, SendError> {
        let url = Url::parse(url).map_err(|error| SendError::Url(error.to_string()))?;
        let origin = Origin::of(&url)?;
        let request = self.request(&url, headers, body)?;
        let addresses = self.allowed_addresses(&origin).await?;
        while let Some(mut kept) = self.take_kept(&origin, &addresses) {
            if kept.sender.ready().await.is_err() {
                continue;
            }
            match kept.sender.send_request(request.clone()).await {
                Ok(response) => {
                    return Ok(Exchanged {
                        origin,
                        response,
                        sender: kept.sender,
                        peer: kept.peer,
                    });
                }
                // The other side may have ended it in this very moment, which says nothing.
                Err(error) if error.is_canceled() || error.is_incomplete_message() => {}
                Err(error) if error.is_closed() => {}
                Err(error) => return Err(error.into()),
            }
        }
        let (mut sender, peer) = self.connect(&origin, &addresses).await?;
        let response = sender.send_request(request).await?;
        Ok(Exchanged { origin, response, sender, peer })
    }

    fn request(
        &self,
        url: &Url,
        headers: Vec<(HeaderName, HeaderValue)>,
        body: Bytes,
    ) -> Result<Request<Full<Bytes>>, SendError> {
        let unreadable = |error: &dyn fmt::Display| SendError::Url(error.to_string());
        let path = &url[url::Position::BeforePath..url::Position::AfterQuery];
        let path: Uri = path.parse().map_err(|error| unreadable(&error))?;
        let host = &url[url::Position::BeforeHost..url::Position::AfterPort];
        let host = HeaderValue::from_str(host).map_err(|error| unreadable(&error))?;
        let mut request = Request::post(path).body(Full::new(body)).map_err(|e| unreadable(&e))?;
        let sent = request.headers_mut();
        sent.insert(HOST, host);
        sent.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        sent.insert(USER_AGENT, self.user_agent.clone());
        sent.extend(headers);
        Ok(request)
    }

    /// The addresses of a host that may be reached.
    async fn allowed_addresses(&self, origin: &Origin) -> Result<Vec<IpAddr>, SendError> {
        let addresses = match &origin.host {
            Host::Ipv4(address) => vec![IpAddr::V4(*address)],
            Host::Ipv6(address) => vec![IpAddr::V6(*address)],
            Host::Domain(name) => self.resolve(name).await?,
        };
        let refused = addresses.first().copied();
        let allowed: Vec<_> =
            addresses.into_iter().filter(|address| self.policy.allows(*address)).collect();
        match refused {
            Some(refused) if allowed.is_empty() => Err(SendError::Forbidden(refused)),
            _ => Ok(allowed),
        }
    }

    async fn resolve(&self, name: &str) -> Result<Vec<IpAddr>, SendError> {
        let unknown = || SendError::Name(name.to_owned());
        let addresses = match &self.resolver {
            Resolver::Function(function) => function(name),
            Resolver::System => {
                let known = self.names.lock().get(name).cloned();
                if let Some((_, addresses)) =
                    known.filter(|(since, _)| since.elapsed() < NAME_REMEMBERED)
                {
                    return Ok(addresses);
                }
                let found = tokio::net::lookup_host((name, 0)).await.map_err(|_| unknown())?;
                let mut addresses: Vec<IpAddr> = found.map(|address| address.ip()).collect();
                addresses.dedup();
                self.names.lock().insert(name.to_owned(), (Instant::now(), addresses.clone()));
                addresses
            }
        };
        if addresses.is_empty() { Err(unknown()) } else { Ok(addresses) }
    }

    /// A kept connection whose other end is still among the addresses of its host, and still allowed.
    fn take_kept(&self, origin: &Origin, addresses: &[IpAddr]) -> Option<Kept> {
        let mut all = self.kept.lock();
        let kept = all.get_mut(origin)?;
        while let Some(candidate) = kept.pop() {
            let address = candidate.peer.ip();
            if candidate.since.elapsed() < KEPT_FOR
                && !candidate.sender.is_closed()
                && addresses.contains(&address)
                && self.policy.allows(address)
            {
                return Some(candidate);
            }
        }
        all.remove(origin);
        None
    }

    async fn connect(
        &self,
        origin: &Origin,
        addresses: &[IpAddr],
    ) -> Result<(Sender, SocketAddr), SendError> {
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
    ) -> Result<(Sender, SocketAddr), SendError> {
        // Here and nowhere else a socket is opened, so here is where it counts.
        if !self.policy.allows(address.ip()) {
            return Err(SendError::Forbidden(address.ip()));
        }
        let connected = tokio::time::timeout(CONNECT_TIMEOUT, TcpStream::connect(address)).await;
        let connected = connected.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
        let stream = connected.map_err(|source| SendError::Connect { address, source })?;
        let _ = stream.set_nodelay(true);
        let sender = if origin.is_https {
            let name = origin.server_name()?;
            handshake(self.tls.connect(name, stream).await.map_err(SendError::Tls)?).await?
        } else {
            handshake(stream).await?
        };
        Ok((sender, address))
    }

    /// Reads a little of the body for a little while, and keeps the connection if that was all.
    async fn read(&self, exchanged: Exchanged) -> Answer {
        let Exchanged { origin, response, sender, peer } = exchanged;
        let (head, mut incoming) = response.into_parts();
        let mut body = Vec::new();
        let reading = async {
            while let Some(frame) = incoming.frame().await {
                let Some(data) = frame.ok()?.into_data().ok() else { continue };
                let room = KEPT_ANSWER - body.len();
                body.extend_from_slice(&data[..data.len().min(room)]);
                if data.len() > room {
                    return None;
                }
            }
            Some(())
        };
        let is_whole = tokio::time::timeout(BODY_TIMEOUT, reading).await == Ok(Some(()));
        if is_whole {
            let mut kept = self.kept.lock();
            let kept = kept.entry(origin).or_default();
            if kept.len() < KEPT_CONNECTIONS {
                kept.push(Kept { sender, peer, since: Instant::now() });
            }
        }
        let retry_after = head.headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok());
        Answer { status: head.status.as_u16(), retry_after: retry_after.map(str::to_owned), body }
    }
}

/// The head of an answer, with the connection that it came by.
struct Exchanged {
    origin: Origin,
    response: Response<Incoming>,
    sender: Sender,
    peer: SocketAddr,
}

impl Origin {
    fn of(url: &Url) -> Result<Self, SendError> {
        let is_https = match url.scheme() {
            "https" => true,
            "http" => false,
            other => return Err(SendError::Url(format!("{other} is not http"))),
        };
        let host = url.host().map(|host| host.to_owned());
        let host = host.ok_or_else(|| SendError::Url("it names no host".to_owned()))?;
        let port = url.port_or_known_default().unwrap_or(443);
        Ok(Self { is_https, host, port })
    }

    fn server_name(&self) -> Result<ServerName<'static>, SendError> {
        match &self.host {
            Host::Ipv4(address) => Ok(ServerName::from(IpAddr::V4(*address))),
            Host::Ipv6(address) => Ok(ServerName::from(IpAddr::V6(*address))),
            // A name may end with the dot of the root, which certificates leave out.
            Host::Domain(name) => ServerName::try_from(name.trim_end_matches('.').to_owned())
                .map_err(|error| SendError::Url(error.to_string())),
        }
    }
}

async fn handshake(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
) -> Result<Sender, SendError> {
    let (sender, connection) = http1::Builder::new()
        .title_case_headers(true)
        .max_buf_size(64 * 1024)
        .handshake(TokioIo::new(stream))
        .await?;
    // It ends with the sender, or with the other side.
    tokio::spawn(connection);
    Ok(sender)
}
