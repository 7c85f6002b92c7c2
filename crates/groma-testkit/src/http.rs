//! HTTP clients that return every response as it is: redirects are not followed, and no status is
//! an error.
//!
//! [`Client`] blocks and keeps a pool of connections. [`Connection`] is asynchronous and is one
//! connection, for callers that must know when it breaks.

mod response;

pub use response::Response;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use std::{
    io::{self, Read, Write},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

/// The prefix of every path of the public API.
pub const API: &str = "/api/public/v1";

/// The longest wait for a response.
const TIMEOUT: Duration = Duration::from_secs(40);

/// A request without an address.
#[derive(Clone, Debug)]
pub struct Request {
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: Option<Vec<u8>>,
}

impl Request {
    /// A request; `path` begins with a slash.
    pub fn new(method: &str, path: &str) -> Self {
        let (method, path) = (method.to_owned(), path.to_owned());
        Self { method, path, headers: Vec::new(), body: None }
    }

    /// A GET of the public API; `path` is the part after [`API`].
    pub fn get(path: &str, token: &str) -> Self {
        Self::new("GET", &format!("{API}{path}")).token(token)
    }

    /// A POST of JSON to the public API.
    pub fn post(path: &str, token: &str, body: &serde_json::Value) -> Self {
        Self::new("POST", &format!("{API}{path}"))
            .token(token)
            .header("Content-Type", "application/json")
            .body(body.to_string())
    }

    /// A PATCH of the public API.
    pub fn patch(path: &str, token: &str, body: &serde_json::Value) -> Self {
        Self::new("PATCH", &format!("{API}{path}"))
            .token(token)
            .header("Content-Type", "application/merge-patch+json")
            .body(body.to_string())
    }

    /// A DELETE of the public API.
    pub fn delete(path: &str, token: &str) -> Self {
        Self::new("DELETE", &format!("{API}{path}")).token(token)
    }

    /// Adds a header.
    pub fn header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    /// Adds a bearer token.
    pub fn token(self, token: &str) -> Self {
        self.header("Authorization", format!("Bearer {token}"))
    }

    /// Sets the body.
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = Some(body.into());
        self
    }

    /// Sends the request on a new connection.
    pub async fn send(&self, address: SocketAddr) -> io::Result<Response> {
        Connection::open(address).await?.send(self).await
    }

    /// The head of the request as HTTP/1.1 sends it.
    pub fn head(&self) -> String {
        let mut head = format!("{} {} HTTP/1.1\r\nHost: test\r\n", self.method, self.path);
        for (name, value) in &self.headers {
            head += &format!("{name}: {value}\r\n");
        }
        let length = self.body.as_ref().map_or(0, Vec::len);
        head + &format!("Content-Length: {length}\r\n\r\n")
    }

    /// The body.
    pub fn body_bytes(&self) -> Vec<u8> {
        self.body.clone().unwrap_or_default()
    }

    /// The request to an origin.
    pub(crate) fn build_for<B>(&self, origin: &str, body: B) -> ureq::http::Request<B> {
        self.build(&format!("{origin}{}", self.path), body)
    }

    fn build<B>(&self, uri: &str, body: B) -> ureq::http::Request<B> {
        let mut request = ureq::http::Request::builder().method(self.method.as_str()).uri(uri);
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        request.body(body).unwrap()
    }
}

/// A blocking client of one server.
#[derive(Clone, Debug)]
pub struct Client {
    agent: ureq::Agent,
    address: SocketAddr,
}

impl Client {
    /// A client of the server at this address.
    pub fn new(address: SocketAddr) -> Self {
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(None)
            .timeout_global(Some(TIMEOUT))
            .build();
        Self { agent: config.into(), address }
    }

    /// The server's address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The server's host and port.
    pub fn authority(&self) -> String {
        self.address.to_string()
    }

    /// A request to this server; `path` begins with a slash.
    pub fn request(&self, method: &str, path: &str) -> ClientRequest<'_> {
        ClientRequest { client: self, request: Request::new(method, path) }
    }

    /// Sends a request.
    pub fn send(&self, request: &Request) -> crate::Result<Response> {
        let uri = format!("http://{}{}", self.address, request.path);
        let response = match &request.body {
            Some(body) => self.agent.run(request.build(&uri, body.as_slice())),
            None => self.agent.run(request.build(&uri, ())),
        };
        let (parts, mut body) = response?.into_parts();
        let status = parts.status.as_u16();
        let body = body.with_config().limit(u64::MAX).read_to_vec()?;
        Ok(Response { status, headers: parts.headers, body })
    }

    /// Sends these bytes and reads the response until the server closes the connection.
    pub fn send_raw(&self, request: &[u8]) -> Response {
        let mut stream = self.connect();
        stream.write_all(request).unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        Response::parse(&bytes)
    }

    /// Sends a GET with a path that no HTTP library accepts.
    pub fn get_raw(&self, path: &[u8], token: &str) -> Response {
        let mut request = b"GET ".to_vec();
        request.extend_from_slice(path);
        let rest = format!(
            " HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n",
            self.address
        );
        request.extend_from_slice(rest.as_bytes());
        self.send_raw(&request)
    }

    /// Whether the server accepts connections.
    pub fn is_reachable(&self) -> bool {
        TcpStream::connect(self.address).is_ok()
    }

    /// A plain connection to the server.
    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        stream
    }
}

/// A request of a [`Client`].
#[derive(Debug)]
pub struct ClientRequest<'a> {
    client: &'a Client,
    request: Request,
}

impl ClientRequest<'_> {
    /// Adds a header.
    pub fn header(self, name: &str, value: impl Into<String>) -> Self {
        Self { request: self.request.header(name, value), ..self }
    }

    /// Adds a bearer token.
    pub fn token(self, token: &str) -> Self {
        Self { request: self.request.token(token), ..self }
    }

    /// Sets the body.
    pub fn body(self, body: impl Into<Vec<u8>>) -> Self {
        Self { request: self.request.body(body), ..self }
    }

    /// Sends the request. Panics when there is no response.
    #[track_caller]
    pub fn send(self) -> Response {
        let Request { method, path, .. } = &self.request;
        self.client
            .send(&self.request)
            .unwrap_or_else(|error| panic!("{method} {path}: no response: {error}"))
    }
}

/// One connection, which sends one request at a time.
#[derive(Debug)]
pub struct Connection {
    sender: SendRequest<Full<Bytes>>,
}

impl Connection {
    /// Opens a connection.
    pub async fn open(address: SocketAddr) -> io::Result<Self> {
        let stream = tokio::net::TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) =
            handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
        tokio::spawn(connection);
        Ok(Self { sender })
    }

    /// Sends a request and reads its response.
    pub async fn send(&mut self, request: &Request) -> io::Result<Response> {
        let body = request.body.clone().unwrap_or_default();
        let request = request.clone().header("Host", "test").build(&request.path, Full::from(body));
        let exchange = async {
            self.sender.ready().await?;
            let (parts, body) = self.sender.send_request(request).await?.into_parts();
            let body = body.collect().await?.to_bytes().to_vec();
            Ok(Response { status: parts.status.as_u16(), headers: parts.headers, body })
        };
        match tokio::time::timeout(TIMEOUT, exchange).await {
            Ok(response) => response.map_err(|error: hyper::Error| io::Error::other(error)),
            Err(_) => Err(io::ErrorKind::TimedOut.into()),
        }
    }
}

/// Percent-encodes all characters but letters and digits, for a path segment or a query value.
pub fn percent_encode(text: &str) -> String {
    percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
}
