//! A record of all writes, to compare with the database and the received events.
//!
//! Every write is a point with its own id that extends a folder's box: one feature, one version of the
//! folder, one event. So each write can be verified: whether it was acknowledged, whether it is stored,
//! and whether its event arrived.

use crate::{
    Result,
    event_receiver::EventReceiver,
    fixture::{FOLDERS, Fixture},
};
use groma_testkit::{ServerProcess, http::Request, wait::retry};
use parking_lot::Mutex;
use serde_json::Value;
use std::{
    collections::BTreeSet,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

/// Longer than any delivery can take, including a lease that has to expire.
const PATIENCE: Duration = Duration::from_secs(120);

#[derive(Default)]
pub(crate) struct Ledger {
    next: [AtomicU64; FOLDERS],
    attempted: AtomicU64,
    acknowledged: Mutex<BTreeSet<String>>,
    /// Error responses.
    errors: AtomicU64,
    /// Requests without a response.
    disconnected: AtomicU64,
    /// The longest time until an error response, in milliseconds.
    slowest_error: AtomicU64,
    /// Responses that must not occur.
    unexpected: Mutex<Vec<String>>,
}

impl Ledger {
    /// The next write to a folder.
    pub(crate) fn begin(&self, folder: usize) -> u64 {
        self.attempted.fetch_add(1, Ordering::Relaxed);
        self.next[folder].fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn acknowledge(&self, folder: usize, n: u64) {
        self.acknowledged.lock().insert(feature_id(folder, n));
    }

    pub(crate) fn record_error(&self, status: u16, after: Duration, text: &str) {
        if status != 500 {
            self.unexpected.lock().push(format!("{status}: {text}"));
        }
        let millis = u64::try_from(after.as_millis()).unwrap_or(u64::MAX);
        self.slowest_error.fetch_max(millis, Ordering::Relaxed);
        self.errors.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn record_disconnect(&self) {
        self.disconnected.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn attempted(&self) -> u64 {
        self.attempted.load(Ordering::Relaxed)
    }

    pub(crate) fn acknowledged(&self) -> u64 {
        self.acknowledged.lock().len() as u64
    }

    pub(crate) fn errors(&self) -> u64 {
        self.errors.load(Ordering::Relaxed)
    }

    pub(crate) fn disconnected(&self) -> u64 {
        self.disconnected.load(Ordering::Relaxed)
    }

    pub(crate) fn slowest_error(&self) -> Duration {
        Duration::from_millis(self.slowest_error.load(Ordering::Relaxed))
    }

    /// Waits for this number of acknowledged writes after `before`.
    pub(crate) async fn wait_for(&self, before: u64, more: u64) -> Result<Duration> {
        let start = std::time::Instant::now();
        retry(PATIENCE, async || {
            let now = self.acknowledged() - before;
            if now >= more { Ok(()) } else { Err(format!("{now} acknowledged of {more}").into()) }
        })
        .await?;
        Ok(start.elapsed())
    }

    /// Compares the writes with the database and the received events, and fails if anything is lost.
    pub(crate) async fn verify(
        &self,
        fixture: &Fixture,
        server: &ServerProcess,
        receiver: &EventReceiver,
    ) -> Result<Verified> {
        if let Some(unexpected) = self.unexpected.lock().first() {
            return Err(format!("unexpected response: {unexpected}").into());
        }
        let mut expected = BTreeSet::new();
        for folder in 0..FOLDERS {
            let reference = format!("F{folder}");
            let request = Request::get(&format!("/folders/{reference}"), fixture.token());
            let response = request.send(server.main().address()).await?;
            let last = response.json()["version"].as_u64().ok_or_else(|| response.text())?;
            expected.extend((2..=last).map(|version| (reference.clone(), version)));
        }
        let stored = self.check_acknowledged(fixture)?;
        if (expected.len() as u64) < stored.len() as u64 {
            let counts = format!("{} features, {} events", stored.len(), expected.len());
            return Err(format!("a change without its event: {counts}").into());
        }
        retry(PATIENCE, async || {
            let received = receiver.versions();
            let missing = expected.difference(&received).count();
            if missing == 0 { Ok(()) } else { Err(format!("{missing} events are missing").into()) }
        })
        .await?;
        if receiver.versions() != expected {
            return Err("an event of an uncommitted change arrived".into());
        }
        fixture.check_database()?;
        let (deliveries, hits) = receiver.counts();
        Ok(Verified { delivered: deliveries, repeats: hits - deliveries })
    }

    /// Verifies that all acknowledged writes are stored, and returns the ids of all features.
    pub(crate) fn check_acknowledged(&self, fixture: &Fixture) -> Result<BTreeSet<String>> {
        let stored = features(fixture)?;
        let lost = self.acknowledged.lock().difference(&stored).count();
        if lost > 0 {
            return Err(format!("{lost} acknowledged writes are lost").into());
        }
        Ok(stored)
    }
}

/// The events of verified writes.
pub(crate) struct Verified {
    /// The number of deliveries.
    pub(crate) delivered: u64,
    /// The number of repeated requests.
    pub(crate) repeats: u64,
}

fn feature_id(folder: usize, n: u64) -> String {
    format!("w{folder}-{n}")
}

/// The feature of a write, which is east of all earlier ones.
pub(crate) fn feature(folder: usize, n: u64) -> Value {
    let at = [n as f64 * 0.000_1 - 170.0, folder as f64];
    serde_json::json!({
        "type": "Feature",
        "id": feature_id(folder, n),
        "properties": {},
        "geometry": { "type": "Point", "coordinates": at },
    })
}

/// The ids of all stored features.
fn features(fixture: &Fixture) -> Result<BTreeSet<String>> {
    let file = fixture.directory().join("features.geojson");
    let _ = std::fs::remove_file(&file);
    let name = file.to_str().ok_or("a valid path")?;
    if fixture.run_in_workspace(&["export", "layer", name, "--layer", "submissions"]).is_err() {
        // Before the first post there is no layer.
        return Ok(BTreeSet::new());
    }
    let document: Value = serde_json::from_slice(&std::fs::read(file)?)?;
    let features = document["features"].as_array().ok_or("no features")?;
    Ok(features.iter().filter_map(|f| f["id"].as_str().map(str::to_owned)).collect())
}
