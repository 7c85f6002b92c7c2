//! A receiver with real sockets, with or without TLS, that answers 200 and counts.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::TcpListener,
};
use tokio_rustls::TlsAcceptor;

#[derive(Clone)]
pub(crate) struct Receiver {
    pub(crate) address: SocketAddr,
    connections: Arc<AtomicUsize>,
    requests: Arc<AtomicUsize>,
    status: Arc<AtomicUsize>,
}

impl Receiver {
    pub(crate) async fn start() -> Self {
        Self::start_with(None).await
    }

    pub(crate) async fn start_with(tls: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let receiver = Self {
            address: listener.local_addr().unwrap(),
            connections: Arc::default(),
            requests: Arc::default(),
            status: Arc::new(AtomicUsize::new(200)),
        };
        let served = receiver.clone();
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                served.connections.fetch_add(1, Ordering::SeqCst);
                let (served, tls) = (served.clone(), tls.clone());
                tokio::spawn(async move {
                    match tls {
                        None => served.serve(stream).await,
                        Some(tls) => {
                            if let Ok(stream) = tls.accept(stream).await {
                                served.serve(stream).await;
                            }
                        }
                    }
                });
            }
        });
        receiver
    }

    async fn serve(&self, mut stream: impl AsyncRead + AsyncWrite + Unpin) {
        let mut bytes = Vec::new();
        loop {
            bytes.clear();
            loop {
                match stream.read_buf(&mut bytes).await {
                    Ok(0) | Err(_) => return,
                    Ok(_) => {}
                }
                // Bodies here are JSON objects, and end with what they must end with.
                if bytes.windows(4).any(|four| four == b"\r\n\r\n") && bytes.ends_with(b"}") {
                    break;
                }
            }
            self.requests.fetch_add(1, Ordering::SeqCst);
            let status = self.status.load(Ordering::SeqCst);
            let answer = format!("HTTP/1.1 {status} x\r\nContent-Length: 2\r\n\r\nok");
            if stream.write_all(answer.as_bytes()).await.is_err() {
                return;
            }
        }
    }

    pub(crate) fn answer(&self, status: usize) {
        self.status.store(status, Ordering::SeqCst);
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    pub(crate) fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }
}
