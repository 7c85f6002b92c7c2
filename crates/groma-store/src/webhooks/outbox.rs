//! The way from a commit to the delivery loop, without the database between.
//!
//! A change writes its deliveries already leased to this program while the loop has room for them, and
//! passes them on in memory once the change is committed. When there is no room, or no loop in this
//! program, they are written as waiting, and a sweep finds them. The number and the size of what is held
//! are bounded, overall and for each endpoint, so memory does not grow with the backlog.

use super::{Delivery, NewDeliveries};
use groma_domain::EndpointId;
use parking_lot::Mutex;
use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};
use tokio::sync::{Notify, mpsc};

/// The most deliveries held for one endpoint.
pub const MAX_HELD_PER_ENDPOINT: usize = 256;
/// The most deliveries held overall.
pub const MAX_HELD: usize = 4_096;
/// The most bytes of documents held overall.
const MAX_HELD_BYTES: usize = 64 << 20;

/// Counts what the delivery loop of this program holds, and passes deliveries to it.
#[derive(Clone, Default)]
pub(crate) struct Outbox(Arc<Inner>);

#[derive(Default)]
struct Inner {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    sender: Option<mpsc::UnboundedSender<Delivery>>,
    held: usize,
    bytes: usize,
    by_endpoint: HashMap<EndpointId, usize>,
    /// Endpoints with deliveries that are due and not held.
    overflowed: HashSet<EndpointId>,
    /// Those of them that the loop has not been notified of.
    unreported: Vec<EndpointId>,
    /// Whether something else changed that the loop should check.
    is_woken: bool,
}

/// Room for one delivery, released when dropped.
pub(crate) struct OutboxSlot {
    outbox: Arc<Inner>,
    endpoint: EndpointId,
    bytes: usize,
}

impl Drop for OutboxSlot {
    fn drop(&mut self) {
        let mut state = self.outbox.state.lock();
        state.held -= 1;
        state.bytes -= self.bytes;
        if let Some(held) = state.by_endpoint.get_mut(&self.endpoint) {
            *held -= 1;
            if *held == 0 {
                state.by_endpoint.remove(&self.endpoint);
            }
        }
    }
}

impl Outbox {
    /// Opens the outbox for a loop, which receives deliveries from the channel.
    pub(crate) fn open(&self) -> mpsc::UnboundedReceiver<Delivery> {
        let (sender, receiver) = mpsc::unbounded_channel();
        self.0.state.lock().sender = Some(sender);
        receiver
    }

    /// Accepts no more deliveries.
    pub(crate) fn close(&self) {
        self.0.state.lock().sender = None;
    }

    pub(crate) fn is_open(&self) -> bool {
        self.0.state.lock().sender.is_some()
    }

    /// A slot for a delivery with a document of this size, if there is room.
    pub(crate) fn reserve(&self, endpoint: EndpointId, bytes: usize) -> Option<OutboxSlot> {
        let mut state = self.0.state.lock();
        let held = state.by_endpoint.get(&endpoint).copied().unwrap_or_default();
        // Waiting deliveries come first, so that a stream of new ones does not starve them.
        let is_full = state.held >= MAX_HELD
            || state.bytes + bytes > MAX_HELD_BYTES
            || held >= MAX_HELD_PER_ENDPOINT
            || state.overflowed.contains(&endpoint);
        if state.sender.is_none() || is_full {
            return None;
        }
        Some(self.slot(&mut state, endpoint, bytes))
    }

    /// A slot for a delivery that was leased; the caller has checked that there is room.
    pub(crate) fn hold(&self, endpoint: EndpointId, bytes: usize) -> OutboxSlot {
        self.slot(&mut self.0.state.lock(), endpoint, bytes)
    }

    fn slot(&self, state: &mut State, endpoint: EndpointId, bytes: usize) -> OutboxSlot {
        state.held += 1;
        state.bytes += bytes;
        *state.by_endpoint.entry(endpoint).or_default() += 1;
        OutboxSlot { outbox: self.0.clone(), endpoint, bytes }
    }

    /// How many more deliveries may be held: for this endpoint, and overall.
    pub(crate) fn room(&self, endpoint: EndpointId) -> (usize, usize) {
        let state = self.0.state.lock();
        let held = state.by_endpoint.get(&endpoint).copied().unwrap_or_default();
        let overall =
            if state.bytes < MAX_HELD_BYTES { MAX_HELD.saturating_sub(state.held) } else { 0 };
        (MAX_HELD_PER_ENDPOINT.saturating_sub(held), overall)
    }

    /// Passes on the deliveries of a committed transaction.
    pub(crate) fn submit(&self, deliveries: NewDeliveries) {
        let NewDeliveries { leased, waiting } = deliveries;
        if leased.is_empty() && waiting.is_empty() {
            return;
        }
        let sender = {
            let mut state = self.0.state.lock();
            if state.sender.is_some() {
                state.overflowed.extend(&waiting);
                state.unreported.extend_from_slice(&waiting);
            }
            state.sender.clone()
        };
        // Without a loop they are dropped, which releases their slots.
        if let Some(sender) = sender {
            for delivery in leased {
                let _ = sender.send(delivery);
            }
        }
        if !waiting.is_empty() {
            self.0.changed.notify_one();
        }
    }

    /// Makes the loop check what waits.
    pub(crate) fn wake(&self) {
        self.0.state.lock().is_woken = true;
        self.0.changed.notify_one();
    }

    /// Completes when an endpoint overflowed or the loop was woken.
    pub(crate) async fn changed(&self) {
        self.0.changed.notified().await;
    }

    /// The endpoints that newly have more waiting than is held, and whether the loop was woken.
    pub(crate) fn take_changes(&self) -> (Vec<EndpointId>, bool) {
        let mut state = self.0.state.lock();
        (std::mem::take(&mut state.unreported), std::mem::take(&mut state.is_woken))
    }

    /// Sets whether an endpoint has more waiting than is held.
    pub(crate) fn set_overflowed(&self, endpoint: EndpointId, has_more: bool) {
        let mut state = self.0.state.lock();
        if has_more {
            state.overflowed.insert(endpoint);
        } else {
            state.overflowed.remove(&endpoint);
        }
    }
}
