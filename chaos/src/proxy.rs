//! A proxy that does to connections what networks do to them.

use crate::Outcome;
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

/// What it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Nothing: all passes.
    None,
    /// Everything comes so much later.
    Latency(Duration),
    /// So many bytes at a time, with so much between.
    Drip { bytes: usize, every: Duration },
    /// Connections end at once, those that there are and those that come.
    Reset,
    /// Nothing passes, and nobody is told.
    BlackHole,
}

pub(crate) struct Proxy {
    pub(crate) address: SocketAddr,
    fault: watch::Sender<Fault>,
    task: JoinHandle<()>,
}

impl Proxy {
    pub(crate) async fn start(upstream: SocketAddr) -> Outcome<Self> {
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
    // What it leaves unread or unsent is reset, not ended in order.
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
        // Also when the proxy itself has gone.
        let _ = fault.wait_for(|fault| *fault == Fault::Reset).await;
    };
    tokio::select! {
        () = pump(from_read, to_write, watched.clone()) => {}
        () = pump(to_read, from_write, watched) => {}
        () = reset => {}
    }
}

/// Passes on what comes, as the fault of the moment says, until one side ends.
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
                Fault::Drip { bytes, every } => {
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
