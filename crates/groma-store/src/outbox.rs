//! The way from a commit to the loop that delivers, without the database between.
//!
//! A change writes its deliveries already leased to this program where the loop has room for them,
//! and hands them over in memory once the change is committed. Where there is no room, or no loop in
//! this program, they are written as waiting, and a sweep finds them. What is held is bounded by
//! number and by size, overall and for each endpoint, so memory does not follow the backlog.

use crate::webhooks::{Delivery, Handed};
use groma_domain::EndpointId;
use parking_lot::Mutex;
use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};
use tokio::sync::{Notify, mpsc};

/// How many deliveries are held for one endpoint.
pub const HELD_FOR_ENDPOINT: usize = 256;
/// How many deliveries are held overall.
pub const HELD: usize = 4_096;
/// How many bytes of documents are held overall.
const HELD_BYTES: usize = 64 << 20;

/// Counts what the delivery loop of this program holds.
#[derive(Clone, Default)]
pub(crate) struct Outbox(Arc<Inner>);

#[derive(Default)]
struct Inner {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    loop_side: Option<mpsc::UnboundedSender<Delivery>>,
    held: usize,
    bytes: usize,
    by_endpoint: HashMap<EndpointId, usize>,
    /// Endpoints with deliveries that are due and not held.
    overflowed: HashSet<EndpointId>,
    /// Those of them that the loop has not heard of.
    untold: Vec<EndpointId>,
    /// Something was changed that the loop should look at.
    stirred: bool,
}

/// A place in the loop's hands, given back when dropped.
pub(crate) struct Place {
    outbox: Arc<Inner>,
    endpoint: EndpointId,
    bytes: usize,
}

impl Drop for Place {
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
    /// Opens it for a loop, which hears of deliveries by the channel.
    pub(crate) fn open(&self) -> mpsc::UnboundedReceiver<Delivery> {
        let (sender, receiver) = mpsc::unbounded_channel();
        self.0.state.lock().loop_side = Some(sender);
        receiver
    }

    /// Takes nothing more in.
    pub(crate) fn close(&self) {
        self.0.state.lock().loop_side = None;
    }

    pub(crate) fn is_open(&self) -> bool {
        self.0.state.lock().loop_side.is_some()
    }

    /// A place for a delivery with a document of this size, when there is one.
    pub(crate) fn reserve(&self, endpoint: EndpointId, bytes: usize) -> Option<Place> {
        let mut state = self.0.state.lock();
        let held = state.by_endpoint.get(&endpoint).copied().unwrap_or_default();
        // Those that wait come first, so that a stream of new ones does not keep them waiting.
        let is_full = state.held >= HELD
            || state.bytes + bytes > HELD_BYTES
            || held >= HELD_FOR_ENDPOINT
            || state.overflowed.contains(&endpoint);
        if state.loop_side.is_none() || is_full {
            return None;
        }
        Some(self.place(&mut state, endpoint, bytes))
    }

    /// A place for a delivery that was claimed; the one who claims has asked for the room before.
    pub(crate) fn hold(&self, endpoint: EndpointId, bytes: usize) -> Place {
        self.place(&mut self.0.state.lock(), endpoint, bytes)
    }

    fn place(&self, state: &mut State, endpoint: EndpointId, bytes: usize) -> Place {
        state.held += 1;
        state.bytes += bytes;
        *state.by_endpoint.entry(endpoint).or_default() += 1;
        Place { outbox: self.0.clone(), endpoint, bytes }
    }

    /// How many more may be held: for this endpoint, and overall.
    pub(crate) fn room(&self, endpoint: EndpointId) -> (usize, usize) {
        let state = self.0.state.lock();
        let held = state.by_endpoint.get(&endpoint).copied().unwrap_or_default();
        let overall = if state.bytes < HELD_BYTES { HELD.saturating_sub(state.held) } else { 0 };
        (HELD_FOR_ENDPOINT.saturating_sub(held), overall)
    }

    /// Hands over what a transaction has written, after its commit.
    pub(crate) fn hand_over(&self, handed: Handed) {
        let Handed { leased, waiting, stirs } = handed;
        if leased.is_empty() && waiting.is_empty() && !stirs {
            return;
        }
        let sender = {
            let mut state = self.0.state.lock();
            if state.loop_side.is_some() {
                state.overflowed.extend(&waiting);
                state.untold.extend_from_slice(&waiting);
                state.stirred |= stirs;
            }
            state.loop_side.clone()
        };
        // Without a loop they are dropped, which gives their places back.
        if let Some(sender) = sender {
            for delivery in leased {
                let _ = sender.send(delivery);
            }
        }
        if stirs || !waiting.is_empty() {
            self.0.changed.notify_one();
        }
    }

    /// Tells the loop to look at what waits.
    pub(crate) fn stir(&self) {
        self.0.state.lock().stirred = true;
        self.0.changed.notify_one();
    }

    /// Done when something overflowed or was stirred.
    pub(crate) async fn changed(&self) {
        self.0.changed.notified().await;
    }

    /// The endpoints that have come to have more than is held, and whether something was stirred.
    pub(crate) fn take_changes(&self) -> (Vec<EndpointId>, bool) {
        let mut state = self.0.state.lock();
        (std::mem::take(&mut state.untold), std::mem::take(&mut state.stirred))
    }

    /// Notes whether an endpoint has more than is held.
    pub(crate) fn set_overflowed(&self, endpoint: EndpointId, has_more: bool) {
        let mut state = self.0.state.lock();
        if has_more {
            state.overflowed.insert(endpoint);
        } else {
            state.overflowed.remove(&endpoint);
        }
    }
}
