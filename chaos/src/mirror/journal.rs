//! The acknowledged changes with the times of their requests, to compare with the order of the feed.

use super::consumer::Mirror;
use crate::{Result, ensure};
use groma_testkit::wait::retry;
use parking_lot::Mutex;
use serde_json::Value;
use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

/// How long the processes may take to serve requests again.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Default)]
pub(super) struct Journal {
    acknowledged: Mutex<HashMap<(String, String), [Instant; 2]>>,
}

impl Journal {
    /// Notes a request that created this version of a record. No request leaves its record as it was, so
    /// the commit is between the start and the end of the request.
    pub(super) fn acknowledge(&self, record: &Value, start: Instant) {
        if let Some(id) = record["id"].as_str() {
            let key = (id.to_owned(), record["version"].to_string());
            self.acknowledged.lock().insert(key, [start, Instant::now()]);
        }
    }

    pub(super) fn len(&self) -> u64 {
        self.acknowledged.lock().len() as u64
    }

    /// Waits for this number of changes.
    pub(super) async fn wait_for(&self, more: u64) -> Result {
        let before = self.len();
        retry(PATIENCE, async || {
            let now = self.len() - before;
            ensure(now >= more, || format!("{now} acknowledged of {more}"))
        })
        .await
    }

    /// Checks that all acknowledged changes are in the feed, and that no change comes before another that
    /// was acknowledged before its request began.
    pub(super) fn check(&self, mirror: &Mirror) -> Result {
        let mut acknowledged = self.acknowledged.lock().clone();
        let mut latest_start = None;
        for change in &mirror.changes {
            let key = (change.key.id.clone(), change.key.version.clone());
            if change.key.event.ends_with(".deleted") {
                continue;
            }
            let Some([start, end]) = acknowledged.remove(&key) else { continue };
            ensure(latest_start.is_none_or(|latest| latest <= end), || {
                format!("{:?} was acknowledged before an earlier change began", change.key)
            })?;
            latest_start = latest_start.max(Some(start));
        }
        let lost = acknowledged.keys().next();
        ensure(lost.is_none(), || format!("{lost:?} was acknowledged, but is not in the feed"))
    }
}
