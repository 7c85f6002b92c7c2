//! The delivery loop: leases due deliveries from the store, sends them and records the results.

mod cleanup;
mod dispatcher;
mod endpoint_queue;
mod heartbeat;
mod recorder;
mod sender;

pub use heartbeat::Heartbeat;
pub use sender::DeliverySender;

use dispatcher::{Dispatcher, LoopMessage};
use groma_domain::Timestamp;
use groma_store::Store;
use std::{future::Future, sync::Arc, time::Duration};

/// Returns the current time. Tests pass a clock that they can set.
type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// How often the loop looks for due deliveries when nothing wakes it.
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);

/// Delivers the events of a store.
pub struct DeliveryLoop {
    store: Store,
    sender: Arc<DeliverySender>,
    clock: Clock,
    sweep_interval: Duration,
    heartbeat: Heartbeat,
}

impl DeliveryLoop {
    /// A loop that takes the time from `clock`.
    #[must_use]
    pub fn new(
        store: Store,
        sender: DeliverySender,
        clock: impl Fn() -> Timestamp + Send + Sync + 'static,
    ) -> Self {
        Self {
            store,
            sender: Arc::new(sender),
            clock: Arc::new(clock),
            sweep_interval: SWEEP_INTERVAL,
            heartbeat: Heartbeat::new(),
        }
    }

    /// Sets how often the loop looks for due deliveries. Tests that move the clock set a short
    /// interval.
    #[must_use]
    pub fn with_sweep_interval(self, sweep_interval: Duration) -> Self {
        Self { sweep_interval, ..self }
    }

    /// The heartbeat of this loop.
    #[must_use]
    pub fn heartbeat(&self) -> Heartbeat {
        self.heartbeat.clone()
    }

    /// Delivers until `stop` completes. Then waits a few seconds for the running attempts, and releases
    /// the deliveries that have not started.
    pub async fn run(self, stop: impl Future<Output = ()>) -> Result<(), groma_store::Error> {
        let (store, clock) = (self.store.clone(), self.clock.clone());
        let (mut dispatcher, messages) = Dispatcher::start(self).await?;
        tokio::select! {
            () = dispatcher.run(messages, stop) => {}
            () = cleanup::run(&store, &clock) => {}
        }
        Ok(())
    }
}
