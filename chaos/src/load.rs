//! Writers that continue through every fault and record each response.

use crate::{
    fixture::FOLDERS,
    ledger::{Ledger, feature},
};
use groma_testkit::http::{Connection, Request};
use parking_lot::RwLock;
use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};
use tokio::task::JoinHandle;

/// The pause after a failed connection or an error.
const PAUSE: Duration = Duration::from_millis(10);

pub(crate) struct Load {
    shared: Arc<Shared>,
    writers: Vec<JoinHandle<()>>,
}

struct Shared {
    ledger: Arc<Ledger>,
    token: String,
    /// The geo addresses to write to, and how often they have changed.
    addresses: RwLock<(u64, Vec<SocketAddr>)>,
    is_stopped: AtomicBool,
}

impl Load {
    /// Starts one writer for each folder.
    pub(crate) fn start(ledger: &Arc<Ledger>, token: &str, addresses: &[SocketAddr]) -> Self {
        let shared = Arc::new(Shared {
            ledger: ledger.clone(),
            token: token.to_owned(),
            addresses: RwLock::new((0, addresses.to_vec())),
            is_stopped: AtomicBool::new(false),
        });
        let writer = |folder| tokio::spawn(write(shared.clone(), folder));
        Self { writers: (0..FOLDERS).map(writer).collect(), shared }
    }

    /// Changes the addresses.
    pub(crate) fn point_to(&self, addresses: &[SocketAddr]) {
        let mut known = self.shared.addresses.write();
        *known = (known.0 + 1, addresses.to_vec());
    }

    /// Stops after the responses to all pending requests.
    pub(crate) async fn stop(self) {
        self.shared.is_stopped.store(true, Ordering::Relaxed);
        for writer in self.writers {
            let _ = writer.await;
        }
    }
}

async fn write(shared: Arc<Shared>, folder: usize) {
    let mut kept: Option<(u64, Connection)> = None;
    let mut turn = folder;
    while !shared.is_stopped.load(Ordering::Relaxed) {
        let (generation, address) = {
            let known = shared.addresses.read();
            (known.0, known.1.get(turn % known.1.len().max(1)).copied())
        };
        let mut connection = match (kept.take(), address) {
            (Some((since, connection)), _) if since == generation => connection,
            (_, Some(address)) => match Connection::open(address).await {
                Ok(connection) => connection,
                Err(_) => {
                    turn += 1;
                    tokio::time::sleep(PAUSE).await;
                    continue;
                }
            },
            (_, None) => {
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        let n = shared.ledger.begin(folder);
        let path = format!("/geometries/geojson?folder=F{folder}");
        let request = Request::post(&path, &shared.token, &feature(folder, n));
        let start = Instant::now();
        match connection.send(&request).await {
            Ok(response) if response.status == 200 => {
                shared.ledger.acknowledge(folder, n);
                kept = Some((generation, connection));
            }
            Ok(response) => {
                shared.ledger.record_error(response.status, start.elapsed(), &response.text());
                kept = Some((generation, connection));
                tokio::time::sleep(PAUSE).await;
            }
            Err(_) => shared.ledger.record_disconnect(),
        }
    }
}
