//! A webhook receiver with real sockets. It responds as its handler says and keeps every request.

use crate::wait::{PATIENCE, wait_until};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::Value;
use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, SystemTime},
};

/// A request that a receiver got.
#[derive(Clone, Debug)]
pub struct ReceivedRequest {
    /// When its first byte arrived.
    pub received_at: SystemTime,
    /// The method.
    pub method: String,
    /// The path with its query.
    pub path: String,
    /// The headers in the order in which they came.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl ReceivedRequest {
    /// The value of a header, which must not be repeated.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(known, _)| known.eq_ignore_ascii_case(name));
        let value = found.next().map(|(_, value)| value.as_str());
        assert!(found.next().is_none(), "the header {name} is repeated");
        value
    }

    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    /// The id of the delivery.
    pub fn id(&self) -> String {
        self.json()["id"].as_str().unwrap().to_owned()
    }
}

/// How a receiver responds.
#[derive(Clone, Debug)]
pub enum Reply {
    /// A complete response with these headers and this body.
    Response(u16, Vec<(&'static str, String)>, String),
    /// A 200 response whose body never ends.
    Endless,
    /// A response head that never ends, one byte at a time.
    SlowHead,
    /// No response; the connection stays open.
    Hang,
    /// The connection is closed without a response.
    Close,
}

impl Reply {
    /// A complete response with this status.
    pub fn status(status: u16) -> Self {
        Self::with_body(status, "received")
    }

    /// A complete response with this status and body.
    pub fn with_body(status: u16, body: &str) -> Self {
        Self::Response(status, Vec::new(), body.to_owned())
    }
}

type Handler = dyn Fn(&ReceivedRequest) -> Reply + Send + Sync;

/// A receiver that keeps every request.
#[derive(Clone)]
pub struct Receiver {
    address: SocketAddr,
    state: Arc<State>,
}

struct State {
    requests: Mutex<Vec<ReceivedRequest>>,
    connections: Arc<AtomicUsize>,
    handler: Mutex<Arc<Handler>>,
}

impl Receiver {
    /// Starts a receiver that responds 200 to every request.
    pub fn start() -> Self {
        Self::with_handler(|_| Reply::status(200))
    }

    /// Starts a receiver that responds as `handler` says.
    pub fn with_handler(
        handler: impl Fn(&ReceivedRequest) -> Reply + Send + Sync + 'static,
    ) -> Self {
        Self::start_with(None, handler)
    }

    /// Starts a receiver with TLS that responds 200 to every request.
    pub fn with_tls(config: Arc<ServerConfig>) -> Self {
        Self::start_with(Some(config), |_| Reply::status(200))
    }

    fn start_with(
        tls: Option<Arc<ServerConfig>>,
        handler: impl Fn(&ReceivedRequest) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let connections = Arc::default();
        let handler: Arc<Handler> = Arc::new(handler);
        let handler = Mutex::new(handler);
        let state = Arc::new(State { requests: Mutex::default(), connections, handler });
        let recorder = state.clone();
        let record = move |request: ReceivedRequest| {
            assert_eq!(request.method, "POST", "{request:?}");
            let handler = recorder.handler.lock().unwrap().clone();
            let reply = handler(&request);
            recorder.requests.lock().unwrap().push(request);
            reply
        };
        let address = listen(tls, state.connections.clone(), record);
        Self { address, state }
    }

    /// Changes how the receiver responds from now on.
    pub fn set_handler(&self, handler: impl Fn(&ReceivedRequest) -> Reply + Send + Sync + 'static) {
        *self.state.handler.lock().unwrap() = Arc::new(handler);
    }

    /// Responds with this status from now on.
    pub fn set_status(&self, status: u16) {
        self.set_handler(move |_| Reply::status(status));
    }

    /// The receiver's address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The receiver's port.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// The URL of a path of this receiver.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// All requests so far.
    pub fn requests(&self) -> Vec<ReceivedRequest> {
        self.state.requests.lock().unwrap().clone()
    }

    /// The number of connections so far.
    pub fn connections(&self) -> usize {
        self.state.connections.load(Ordering::SeqCst)
    }

    /// Waits for this number of requests, and returns all requests.
    #[track_caller]
    pub fn wait_for(&self, count: usize) -> Vec<ReceivedRequest> {
        self.wait_until(&format!("{count} requests"), |requests| requests.len() >= count)
    }

    /// Waits until the requests meet a condition, and returns them.
    #[track_caller]
    pub fn wait_until(
        &self,
        description: &str,
        condition: impl Fn(&[ReceivedRequest]) -> bool,
    ) -> Vec<ReceivedRequest> {
        wait_until(PATIENCE, || {
            let requests = self.requests();
            if condition(&requests) {
                Ok(requests)
            } else {
                Err(format!("received {} requests, expected {description}", requests.len()))
            }
        })
    }
}

/// Listens on a free port and lets `handler` respond, without keeping requests.
pub fn listen(
    tls: Option<Arc<ServerConfig>>,
    connections: Arc<AtomicUsize>,
    handler: impl Fn(ReceivedRequest) -> Reply + Send + Sync + 'static,
) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let handler = Arc::new(handler);
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let _ = stream.set_nodelay(true);
            connections.fetch_add(1, Ordering::SeqCst);
            let (handler, tls) = (handler.clone(), tls.clone());
            thread::spawn(move || match tls {
                Some(config) => {
                    let connection = ServerConnection::new(config).unwrap();
                    serve(StreamOwned::new(connection, stream), &*handler);
                }
                None => serve(stream, &*handler),
            });
        }
    });
    address
}

/// Serves a connection until it ends.
fn serve(stream: impl Read + Write, handler: &impl Fn(ReceivedRequest) -> Reply) {
    let mut stream = BufReader::new(stream);
    while let Some(request) = read(&mut stream) {
        let reply = handler(request);
        let writer = stream.get_mut();
        match reply {
            Reply::Response(status, headers, body) => {
                let mut head = format!("HTTP/1.1 {status} x\r\n");
                // A 204 has no body and no length.
                if status != 204 {
                    head += &format!("Content-Length: {}\r\n", body.len());
                }
                for (name, value) in headers {
                    head += &format!("{name}: {value}\r\n");
                }
                let body = if status == 204 { "" } else { &body };
                if writer.write_all(format!("{head}\r\n{body}").as_bytes()).is_err() {
                    return;
                }
                let _ = writer.flush();
            }
            Reply::Endless => {
                let _ = writer.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
                while writer.write_all(b"1\r\nx\r\n").is_ok() {
                    thread::park_timeout(Duration::from_millis(20));
                }
                return;
            }
            Reply::SlowHead => {
                let head = b"HTTP/1.1 200 OK\r\nX-Slow: ".iter().chain(std::iter::repeat(&b'x'));
                for byte in head {
                    if writer.write_all(&[*byte]).is_err() {
                        return;
                    }
                    thread::park_timeout(Duration::from_millis(200));
                }
            }
            // Ends when the client closes the connection.
            Reply::Hang => {
                let _ = std::io::copy(&mut stream, &mut std::io::sink());
                return;
            }
            Reply::Close => return,
        }
    }
}

/// Reads a request; `None` at the end of the connection.
fn read(reader: &mut impl BufRead) -> Option<ReceivedRequest> {
    reader.fill_buf().ok().filter(|bytes| !bytes.is_empty())?;
    let received_at = SystemTime::now();
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split(' ').map(str::to_owned);
    let (method, path) = (words.next()?, words.next()?);
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        headers.push((name.to_owned(), value.to_owned()));
    }
    let request = ReceivedRequest { received_at, method, path, headers, body: Vec::new() };
    let length = request.header("content-length").map_or(Ok(0), str::parse).ok()?;
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(ReceivedRequest { body, ..request })
}

impl std::fmt::Debug for Receiver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Receiver").field("address", &self.address).finish_non_exhaustive()
    }
}
