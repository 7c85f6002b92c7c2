//! Connections that brief reads share. Each goes out behind the others without waiting for their answers, and
//! the server answers one after another: in a few processes, whose caches stay warm, it does more of them
//! than in one for each of those who ask.

use super::Postgres;
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

/// How many there are for each core; and at least, since nobody knows how many cores the server has; and at most,
/// since it has only so many connections for everybody.
const PER_CORE: usize = 2;
const LEAST: usize = 4;
const MOST: usize = 8;

pub(super) struct Shared {
    clients: Vec<Mutex<Option<Arc<Client>>>>,
    next: AtomicUsize,
}

impl Shared {
    pub(super) fn new() -> Self {
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        let count = (cores * PER_CORE).clamp(LEAST, MOST);
        Self { clients: (0..count).map(|_| Mutex::default()).collect(), next: AtomicUsize::new(0) }
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.clients.len()
    }
}

impl Postgres {
    /// A connection for single statements that are done in no time.
    pub(super) async fn shared(&self) -> Result<Arc<Client>> {
        let Shared { clients, next } = &self.shared;
        let place = &clients[next.fetch_add(1, Relaxed) % clients.len()];
        // One makes it and the others wait for that, so that nobody who reads has one more than these.
        let mut client = place.lock().await;
        if let Some(client) = client.as_ref().filter(|client| !client.is_closed()) {
            return Ok(client.clone());
        }
        Ok(client.insert(Arc::new(self.client().await?)).clone())
    }
}
