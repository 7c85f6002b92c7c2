//! Connections that short reads share. Each read is sent without waiting for the results of those before
//! it, and the server handles them one after another: a few server processes with warm caches do more
//! than one process for each caller.

use crate::Result;
use deadpool_postgres::Client;
use std::{
    num::NonZero,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    thread,
};
use tokio::sync::Mutex;

/// The number of connections for each core of this machine; at least, because the server may have more
/// cores; and at most, because the server's connections are limited.
const PER_CORE: usize = 2;
const MIN: usize = 4;
const MAX: usize = 8;

pub(super) struct PipelinedConnections {
    clients: Vec<Mutex<Option<Arc<Client>>>>,
    next: AtomicUsize,
}

impl PipelinedConnections {
    pub(super) fn new() -> Self {
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        let count = (cores * PER_CORE).clamp(MIN, MAX);
        Self { clients: (0..count).map(|_| Mutex::default()).collect(), next: AtomicUsize::new(0) }
    }

    pub(super) fn count(&self) -> usize {
        self.clients.len()
    }

    /// The next connection in turn; `connect` opens it when there is none.
    pub(super) async fn next(
        &self,
        connect: impl AsyncFnOnce() -> Result<Client>,
    ) -> Result<Arc<Client>> {
        let slot = &self.clients[self.next.fetch_add(1, Relaxed) % self.clients.len()];
        // One caller connects while the others wait, so that readers never hold more than these.
        let mut client = slot.lock().await;
        if let Some(client) = client.as_ref().filter(|client| !client.is_closed()) {
            return Ok(client.clone());
        }
        Ok(client.insert(Arc::new(connect().await?)).clone())
    }
}
