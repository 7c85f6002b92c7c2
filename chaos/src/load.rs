//! Writers that go on whatever happens, and note what they were told.

use crate::{
    http::{Ask, Connection},
    ledger::{FOLDERS, Ledger, feature},
};
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

/// How long a writer waits after it found nobody there.
const PAUSE: Duration = Duration::from_millis(10);

pub(crate) struct Load {
    shared: Arc<Shared>,
    writers: Vec<JoinHandle<()>>,
}

struct Shared {
    ledger: Arc<Ledger>,
    token: String,
    /// The geo addresses to write to, and how often they were others.
    addresses: RwLock<(u64, Vec<SocketAddr>)>,
    is_over: AtomicBool,
}

impl Load {
    /// One writer for each folder.
    pub(crate) fn start(ledger: &Arc<Ledger>, token: &str, addresses: &[SocketAddr]) -> Self {
        let shared = Arc::new(Shared {
            ledger: ledger.clone(),
            token: token.to_owned(),
            addresses: RwLock::new((0, addresses.to_vec())),
            is_over: AtomicBool::new(false),
        });
        let writer = |folder| tokio::spawn(write(shared.clone(), folder));
        Self { writers: (0..FOLDERS).map(writer).collect(), shared }
    }

    /// Writes elsewhere from now on.
    pub(crate) fn point_to(&self, addresses: &[SocketAddr]) {
        let mut known = self.shared.addresses.write();
        *known = (known.0 + 1, addresses.to_vec());
    }

    /// Ends when every request that is under way has its answer.
    pub(crate) async fn stop(self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
        for writer in self.writers {
            let _ = writer.await;
        }
    }
}

async fn write(shared: Arc<Shared>, folder: usize) {
    let mut kept: Option<(u64, Connection)> = None;
    let mut turn = folder;
    while !shared.is_over.load(Ordering::Relaxed) {
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
        let ask = Ask::post(&path, &shared.token, &feature(folder, n));
        let begun = Instant::now();
        match connection.send(&ask).await {
            Ok(answer) if answer.status == 200 => {
                shared.ledger.acknowledge(folder, n);
                kept = Some((generation, connection));
            }
            Ok(answer) => {
                shared.ledger.refuse(answer.status, begun.elapsed(), &answer.text());
                kept = Some((generation, connection));
                tokio::time::sleep(PAUSE).await;
            }
            Err(_) => shared.ledger.lose_touch(),
        }
    }
}
