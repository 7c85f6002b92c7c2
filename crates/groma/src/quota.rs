//! Limits on what clients use at the same time, such as connections: in all, and for each client.

use parking_lot::Mutex;
use std::{collections::HashMap, hash::Hash, sync::Arc};

/// An amount that clients share. `K` identifies a client.
pub(crate) struct Quota<K> {
    max: u64,
    max_per_client: u64,
    used: Mutex<Used<K>>,
}

struct Used<K> {
    total: u64,
    by_client: HashMap<K, u64>,
}

impl<K: Eq + Hash + Clone> Quota<K> {
    pub(crate) fn new(max: u64, max_per_client: u64) -> Arc<Self> {
        let used = Used { total: 0, by_client: HashMap::new() };
        Arc::new(Self { max, max_per_client, used: Mutex::new(used) })
    }

    /// Takes an amount for a client until the share is dropped. `None` if too much is in use. Without a
    /// client, only the limit of the total applies.
    pub(crate) fn take(self: &Arc<Self>, client: Option<K>, amount: u64) -> Option<Share<K>> {
        let mut share = Share { quota: self.clone(), client, amount: 0 };
        share.grow(amount).then_some(share)
    }

    fn try_add(&self, client: Option<&K>, amount: u64) -> bool {
        let mut used = self.used.lock();
        let by_client = client.and_then(|client| used.by_client.get(client)).copied();
        let by_client = by_client.unwrap_or_default().saturating_add(amount);
        let total = used.total.saturating_add(amount);
        if total > self.max || (client.is_some() && by_client > self.max_per_client) {
            return false;
        }
        used.total = total;
        if let Some(client) = client {
            used.by_client.insert(client.clone(), by_client);
        }
        true
    }

    fn remove(&self, client: Option<&K>, amount: u64) {
        let mut used = self.used.lock();
        used.total -= amount;
        let Some(client) = client else { return };
        if let Some(left) = used.by_client.get_mut(client) {
            *left -= amount;
            if *left == 0 {
                used.by_client.remove(client);
            }
        }
    }
}

/// What one client has taken from a quota.
pub(crate) struct Share<K: Eq + Hash + Clone> {
    quota: Arc<Quota<K>>,
    client: Option<K>,
    amount: u64,
}

impl<K: Eq + Hash + Clone> Share<K> {
    /// Takes more, if so much is left.
    pub(crate) fn grow(&mut self, amount: u64) -> bool {
        let is_added = self.quota.try_add(self.client.as_ref(), amount);
        if is_added {
            self.amount += amount;
        }
        is_added
    }
}

impl<K: Eq + Hash + Clone> Drop for Share<K> {
    fn drop(&mut self) {
        self.quota.remove(self.client.as_ref(), self.amount);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_client_cannot_take_everything() {
        let quota = Quota::new(5, 2);
        let first = [quota.take(Some("a"), 1), quota.take(Some("a"), 1)];
        assert!(first.iter().all(Option::is_some) && quota.take(Some("a"), 1).is_none());
        let mut second = quota.take(Some("b"), 1).unwrap();
        assert!(second.grow(1) && !second.grow(1));
        let unlimited = quota.take(None, 1).unwrap();
        assert!(quota.take(Some("c"), 1).is_none(), "everything is in use");
        drop((first, unlimited));
        assert!(quota.take(None, 4).is_none() && quota.take(None, 3).is_some());
        assert!(quota.take(Some("a"), 2).is_some());
    }

    #[test]
    fn clients_without_a_share_are_forgotten() {
        let quota = Quota::new(u64::MAX, 1);
        drop([1, 2, 3].map(|client| quota.take(Some(client), 1)));
        assert!(quota.take(Some(4), 2).is_none());
        assert!(quota.used.lock().by_client.is_empty());
    }
}
