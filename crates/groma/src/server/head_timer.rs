//! The time a client has to send the head of a request, kept for a connection and not for each request.

use hyper::rt::{Sleep, Timer};
use parking_lot::Mutex;
use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::{Duration, Instant},
};
use tokio::time;

/// A connection's timer.
///
/// The sleeps it hands out share one of the runtime, which is set anew only when it has ended before
/// they do: once in the time that a head may take. One of their own would go into the runtime's timers
/// and out again with every request.
pub(super) struct HeadTimer(Arc<Shared>);

type Shared = Mutex<Pin<Box<time::Sleep>>>;

impl HeadTimer {
    /// Within a runtime.
    pub(super) fn new() -> Self {
        Self(Arc::new(Mutex::new(Box::pin(time::sleep_until(time::Instant::now())))))
    }
}

impl Timer for HeadTimer {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        self.sleep_until(Instant::now() + duration)
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Sleep>> {
        Box::pin(HeadSleep { shared: self.0.clone(), deadline: deadline.into() })
    }
}

struct HeadSleep {
    shared: Arc<Shared>,
    deadline: time::Instant,
}

impl Sleep for HeadSleep {}

impl Future for HeadSleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut shared = self.shared.lock();
        if shared.deadline() > self.deadline {
            shared.as_mut().reset(self.deadline);
        }
        loop {
            match shared.as_mut().poll(context) {
                // It wakes whoever waits, early rather than late.
                Poll::Pending => return Poll::Pending,
                Poll::Ready(()) if shared.deadline() >= self.deadline => return Poll::Ready(()),
                Poll::Ready(()) => shared.as_mut().reset(self.deadline),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::poll;

    #[tokio::test]
    async fn a_sleep_ends_no_sooner_than_it_should() {
        let timer = HeadTimer::new();
        let begun = Instant::now();
        let mut first = timer.sleep(Duration::from_millis(20));
        let is_pending = poll!(&mut first).is_pending();
        assert!(is_pending || begun.elapsed() >= Duration::from_millis(20));
        drop(first);
        timer.sleep(Duration::from_millis(80)).await;
        assert!(begun.elapsed() >= Duration::from_millis(80));
        timer.sleep(Duration::from_millis(30)).await;
        assert!(begun.elapsed() >= Duration::from_millis(110));
    }

    #[tokio::test]
    async fn a_short_sleep_does_not_wait_for_a_long_one() {
        let timer = HeadTimer::new();
        let mut long = timer.sleep(Duration::from_secs(3_600));
        assert!(poll!(&mut long).is_pending());
        timer.sleep(Duration::from_millis(10)).await;
        assert!(poll!(&mut long).is_pending());
    }
}
