//! A TCP proxy that injects network faults.

use crate::Result;
use std::{net::SocketAddr, time::Duration};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::watch,
    task::JoinHandle,
};

/// A network fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// No fault.
    None,
    /// A delay of all data.
    Latency(Duration),
    /// A few bytes at a time, with a pause in between.
    Throttle { bytes: usize, every: Duration },
    /// All connections are reset, existing and new ones.
    Reset,
    /// All data is lost without an error.
    BlackHole,
}

pub(crate) struct Proxy {
    pub(crate) address: SocketAddr,
    fault: watch::Sender<Fault>,
    task: JoinHandle<()>,
}

impl Proxy {
    pub(crate) async fn start(upstream: SocketAddr) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let (fault, watched) = watch::channel(Fault::None);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(connect(stream, upstream, watched.clone()));
            }
        });
        Ok(Self { address, fault, task })
    }

    pub(crate) fn set(&self, fault: Fault) {
        self.fault.send_replace(fault);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn connect(from: TcpStream, upstream: SocketAddr, mut fault: watch::Receiver<Fault>) {
    // Closing resets the connection instead of ending it in order.
    let _ = from.set_zero_linger();
    let _ = from.set_nodelay(true);
    if *fault.borrow() == Fault::Reset {
        return;
    }
    let Ok(to) = TcpStream::connect(upstream).await else { return };
    let _ = to.set_nodelay(true);
    let (from_read, from_write) = from.into_split();
    let (to_read, to_write) = to.into_split();
    let watched = fault.clone();
    let reset = async {
        // Also ends when the proxy is dropped.
        let _ = fault.wait_for(|fault| *fault == Fault::Reset).await;
    };
    tokio::select! {
        () = pump(from_read, to_write, watched.clone()) => {}
        () = pump(to_read, from_write, watched) => {}
        () = reset => {}
    }
}

/// Forwards data with the current fault until one side closes.
async fn pump(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut fault: watch::Receiver<Fault>) {
    let mut buffer = vec![0; 16 * 1024];
    loop {
        let count = match from.read(&mut buffer).await {
            Ok(0) | Err(_) => return,
            Ok(count) => count,
        };
        let mut rest = &buffer[..count];
        while !rest.is_empty() {
            let now = *fault.borrow();
            let part = match now {
                Fault::None => rest.len(),
                Fault::Latency(wait) => {
                    tokio::time::sleep(wait).await;
                    rest.len()
                }
                Fault::Throttle { bytes, every } => {
                    tokio::time::sleep(every).await;
                    bytes.min(rest.len())
                }
                Fault::Reset => return,
                Fault::BlackHole => {
                    if fault.wait_for(|fault| *fault != Fault::BlackHole).await.is_err() {
                        return;
                    }
                    continue;
                }
            };
            if to.write_all(&rest[..part]).await.is_err() {
                return;
            }
            rest = &rest[part..];
        }
    }
}
