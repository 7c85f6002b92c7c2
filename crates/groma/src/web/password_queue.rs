//! The queue of logins. Hashing a password takes much time and memory on purpose, so only a few are hashed
//! at a time, and a flood of logins neither delays the pages nor uses their database connections. Members have
//! a queue of their own.

use super::{WebError, i18n::id};
use crate::{
    http::client_address::subnet,
    quota::{Quota, Share},
};
use std::{sync::Arc, thread::available_parallelism, time::Duration};
use tokio::sync::{Semaphore, SemaphorePermit};

/// How many requests can wait or be processed, and how many of them from one address (or /64 network of
/// IPv6).
const MAX: u64 = 64;
const MAX_PER_ADDRESS: u64 = 16;
/// The longest wait, within the patience of a user.
const MAX_WAIT: Duration = Duration::from_secs(5);

pub(crate) struct PasswordQueue {
    places: Arc<Quota<String>>,
    turns: Semaphore,
    max_wait: Duration,
}

/// The right to hash a password and to do the database work of a login.
pub(crate) struct Turn<'q> {
    _turn: SemaphorePermit<'q>,
    _place: Share<String>,
}

impl PasswordQueue {
    pub(crate) fn new() -> Self {
        // Half of the processors remain for everything else.
        let turns = available_parallelism().map_or(1, |count| (count.get() / 2).clamp(1, 4));
        Self {
            places: Quota::new(MAX, MAX_PER_ADDRESS),
            turns: Semaphore::new(turns),
            max_wait: MAX_WAIT,
        }
    }

    /// Waits for a turn. Rejects the request at once if too many are waiting.
    pub(crate) async fn enter(&self, address: &str) -> Result<Turn<'_>, WebError> {
        let busy = || WebError::too_many(id("error-busy"));
        let client =
            address.parse().map_or_else(|_| address.to_owned(), |ip| subnet(ip).to_string());
        let place = self.places.take(Some(client), 1).ok_or_else(busy)?;
        let turn = tokio::time::timeout(self.max_wait, self.turns.acquire()).await;
        let turn = turn.map_err(|_| busy())?;
        let turn = turn.map_err(|error| WebError::internal(error.to_string()))?;
        Ok(Turn { _turn: turn, _place: place })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::poll;
    use std::task::Poll;

    #[tokio::test]
    async fn excess_is_rejected_at_once_and_other_addresses_still_get_a_turn() {
        let queue = PasswordQueue::new();
        let mut requests: Vec<_> = (0..100).map(|_| Box::pin(queue.enter("a"))).collect();
        let (mut waiting, mut rejected, mut turns) = (0, 0, Vec::new());
        for request in &mut requests {
            match poll!(request) {
                Poll::Pending => waiting += 1,
                Poll::Ready(Ok(turn)) => turns.push(turn),
                Poll::Ready(Err(_)) => rejected += 1,
            }
        }
        assert_eq!(waiting + turns.len() as u64, MAX_PER_ADDRESS);
        assert_eq!(rejected, 100 - MAX_PER_ADDRESS);
        let mut other = Box::pin(queue.enter("b"));
        assert!(poll!(&mut other).is_pending());
        drop((turns, requests));
        assert!(other.await.is_ok());
    }

    #[tokio::test]
    async fn nobody_waits_for_long() {
        let queue = PasswordQueue { max_wait: Duration::from_millis(20), ..PasswordQueue::new() };
        let mut turns = Vec::new();
        while queue.turns.available_permits() > 0 {
            turns.push(queue.enter("a").await.ok());
        }
        assert!(queue.enter("b").await.is_err());
        drop(turns);
        assert!(queue.enter("b").await.is_ok());
    }
}
