//! A receiver of deliveries, and a ledger of all that came.

use crate::Outcome;
use parking_lot::Mutex;
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::TcpListener,
    task::JoinHandle,
};
use tokio_rustls::TlsAcceptor;

/// How it answers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    /// With a 200.
    Content,
    /// With a 500.
    Unwell,
    /// With a 200 whose body never ends.
    Endless,
}

pub(crate) struct Receiver {
    pub(crate) address: SocketAddr,
    state: Arc<State>,
    task: JoinHandle<()>,
}

struct State {
    manner: Mutex<Manner>,
    connections: AtomicU64,
    /// How often each delivery came.
    hits: Mutex<BTreeMap<String, u64>>,
    /// The versions of folders that came.
    versions: Mutex<BTreeSet<(String, u64)>>,
}

impl Receiver {
    pub(crate) async fn start(manner: Manner) -> Outcome<Self> {
        Self::start_with(manner, None).await
    }

    /// One whose certificate nobody has reason to trust.
    pub(crate) async fn untrusted() -> Outcome<Self> {
        let key = rcgen::KeyPair::generate()?;
        let params = rcgen::CertificateParams::new(vec!["127.0.0.1".to_owned()])?;
        let certificate = params.self_signed(&key)?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(
                vec![certificate.der().clone()],
                rustls::pki_types::PrivateKeyDer::Pkcs8(key.serialize_der().into()),
            )?;
        let tls = TlsAcceptor::from(Arc::new(config));
        Self::start_with(Manner::Content, Some(tls)).await
    }

    async fn start_with(manner: Manner, tls: Option<TlsAcceptor>) -> Outcome<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let state = Arc::new(State {
            manner: Mutex::new(manner),
            connections: AtomicU64::new(0),
            hits: Mutex::default(),
            versions: Mutex::default(),
        });
        let shared = state.clone();
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let _ = stream.set_nodelay(true);
                shared.connections.fetch_add(1, Ordering::Relaxed);
                let (state, tls) = (shared.clone(), tls.clone());
                tokio::spawn(async move {
                    match tls {
                        None => serve(stream, &state).await,
                        Some(tls) => match tls.accept(stream).await {
                            Ok(stream) => serve(stream, &state).await,
                            Err(_) => None,
                        },
                    }
                });
            }
        });
        Ok(Self { address, state, task })
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// Answers otherwise from now on.
    pub(crate) fn answer(&self, manner: Manner) {
        *self.state.manner.lock() = manner;
    }

    /// The versions of folders that came.
    pub(crate) fn versions(&self) -> BTreeSet<(String, u64)> {
        self.state.versions.lock().clone()
    }

    /// How many deliveries came, and how many times altogether.
    pub(crate) fn counts(&self) -> (u64, u64) {
        let hits = self.state.hits.lock();
        (hits.len() as u64, hits.values().sum())
    }

    pub(crate) fn connections(&self) -> u64 {
        self.state.connections.load(Ordering::Relaxed)
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Serves a connection; `None` is its end.
async fn serve(mut stream: impl AsyncRead + AsyncWrite + Unpin, state: &State) -> Option<()> {
    let mut buffer = Vec::new();
    loop {
        let end = loop {
            if let Some(end) = buffer.windows(4).position(|four| four == b"\r\n\r\n") {
                break end + 4;
            }
            more(&mut stream, &mut buffer).await?;
        };
        let head = String::from_utf8_lossy(&buffer[..end]).to_ascii_lowercase();
        let length = head.split("content-length: ").nth(1)?.split("\r\n").next()?;
        let length = end + length.parse::<usize>().ok()?;
        while buffer.len() < length {
            more(&mut stream, &mut buffer).await?;
        }
        let body: Value = serde_json::from_slice(&buffer[end..length]).ok()?;
        buffer.drain(..length);
        // Decided before it counts: who has seen it come may change the manner of the next.
        let manner = *state.manner.lock();
        *state.hits.lock().entry(body["id"].as_str()?.to_owned()).or_default() += 1;
        if manner != Manner::Unwell {
            let data = &body["data"];
            let version = (data["reference"].as_str()?.to_owned(), data["version"].as_u64()?);
            state.versions.lock().insert(version);
        }
        let answer: &[u8] = match manner {
            Manner::Content => b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
            Manner::Unwell => b"HTTP/1.1 500 Unwell\r\nContent-Length: 0\r\n\r\n",
            Manner::Endless => b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        };
        stream.write_all(answer).await.ok()?;
        if manner == Manner::Endless {
            loop {
                stream.write_all(b"1\r\nx\r\n").await.ok()?;
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
    }
}

async fn more(stream: &mut (impl AsyncRead + Unpin), buffer: &mut Vec<u8>) -> Option<()> {
    stream.read_buf(buffer).await.ok().filter(|count| *count > 0).map(drop)
}
