//! What was acknowledged, and what became of it.
//!
//! Every write is a point with an id of its own that makes a folder's box grow: one feature, one version
//! of the folder, one event. So three things are known of each at the end: whether it was acknowledged,
//! whether it is there, and whether its event came.

use crate::{Outcome, http::Ask, office::Office, office::Program, receiver::Receiver, wait_until};
use parking_lot::Mutex;
use serde_json::Value;
use std::{
    collections::BTreeSet,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

/// How many folders are written to, each by a writer of its own.
pub(crate) const FOLDERS: usize = 6;

/// Longer than any delivery may take to be made good, a lease that has to end included.
const PATIENCE: Duration = Duration::from_secs(120);

#[derive(Default)]
pub(crate) struct Ledger {
    next: [AtomicU64; FOLDERS],
    attempted: AtomicU64,
    acknowledged: Mutex<BTreeSet<String>>,
    /// Answers that say that it was not done.
    refused: AtomicU64,
    /// Requests without an answer.
    broken: AtomicU64,
    /// The longest that a refusal took, in milliseconds.
    slowest_refusal: AtomicU64,
    /// Answers that there must not be.
    odd: Mutex<Vec<String>>,
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

    pub(crate) fn refuse(&self, status: u16, after: Duration, text: &str) {
        if status != 500 {
            self.odd.lock().push(format!("{status}: {text}"));
        }
        let millis = u64::try_from(after.as_millis()).unwrap_or(u64::MAX);
        self.slowest_refusal.fetch_max(millis, Ordering::Relaxed);
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn lose_touch(&self) {
        self.broken.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn attempted(&self) -> u64 {
        self.attempted.load(Ordering::Relaxed)
    }

    pub(crate) fn acknowledged(&self) -> u64 {
        self.acknowledged.lock().len() as u64
    }

    pub(crate) fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    pub(crate) fn broken(&self) -> u64 {
        self.broken.load(Ordering::Relaxed)
    }

    pub(crate) fn slowest_refusal(&self) -> Duration {
        Duration::from_millis(self.slowest_refusal.load(Ordering::Relaxed))
    }

    /// Waits until so many more are acknowledged than at `before`; gives how long that took.
    pub(crate) async fn wait_for(&self, before: u64, more: u64) -> Outcome<Duration> {
        let begun = std::time::Instant::now();
        wait_until(PATIENCE, async || {
            let now = self.acknowledged() - before;
            if now >= more { Ok(()) } else { Err(format!("{now} acknowledged of {more}").into()) }
        })
        .await?;
        Ok(begun.elapsed())
    }

    /// Compares it with the database and with what the receiver has got. An error when something is
    /// lost.
    pub(crate) async fn settle(
        &self,
        office: &Office,
        program: &Program,
        receiver: &Receiver,
    ) -> Outcome<Settled> {
        if let Some(odd) = self.odd.lock().first() {
            return Err(format!("an answer that there must not be: {odd}").into());
        }
        let mut expected = BTreeSet::new();
        for folder in 0..FOLDERS {
            let reference = format!("F{folder}");
            let ask = Ask::get(&format!("/folders/{reference}"), office.token());
            let answer = ask.send(program.main).await?;
            let last = answer.json()["version"].as_u64().ok_or_else(|| answer.text())?;
            expected.extend((2..=last).map(|version| (reference.clone(), version)));
        }
        let there = self.find_all(office)?;
        if (expected.len() as u64) < there.len() as u64 {
            let counts = format!("{} features, {} events", there.len(), expected.len());
            return Err(format!("a change without its event: {counts}").into());
        }
        wait_until(PATIENCE, async || {
            let came = receiver.versions();
            let missing = expected.difference(&came).count();
            if missing == 0 { Ok(()) } else { Err(format!("{missing} events did not come").into()) }
        })
        .await?;
        if receiver.versions() != expected {
            return Err("an event came that was not committed".into());
        }
        office.check_database().await?;
        let (deliveries, hits) = receiver.counts();
        Ok(Settled { delivered: deliveries, repeats: hits - deliveries })
    }

    /// Finds every write that was acknowledged; gives the ids of all that are there.
    pub(crate) fn find_all(&self, office: &Office) -> Outcome<BTreeSet<String>> {
        let there = features(office)?;
        let lost = self.acknowledged.lock().difference(&there).count();
        if lost > 0 {
            return Err(format!("{lost} acknowledged writes are lost").into());
        }
        Ok(there)
    }
}

/// What came of it all.
pub(crate) struct Settled {
    /// Deliveries, each counted once.
    pub(crate) delivered: u64,
    /// How often one came again.
    pub(crate) repeats: u64,
}

fn feature_id(folder: usize, n: u64) -> String {
    format!("w{folder}-{n}")
}

/// The feature of a write: further east than all before it.
pub(crate) fn feature(folder: usize, n: u64) -> Value {
    let at = [n as f64 * 0.000_1 - 170.0, folder as f64];
    serde_json::json!({
        "type": "Feature",
        "id": feature_id(folder, n),
        "properties": {},
        "geometry": { "type": "Point", "coordinates": at },
    })
}

/// The ids of all features that there are.
fn features(office: &Office) -> Outcome<BTreeSet<String>> {
    let file = office.folder().join("features.geojson");
    let _ = std::fs::remove_file(&file);
    let name = file.to_str().ok_or("a name")?;
    if office.groma(&["export", "layer", name, "--layer", "submissions"]).is_err() {
        // Without any post there is no layer.
        return Ok(BTreeSet::new());
    }
    let document: Value = serde_json::from_slice(&std::fs::read(file)?)?;
    let features = document["features"].as_array().ok_or("no features")?;
    Ok(features.iter().filter_map(|f| f["id"].as_str().map(str::to_owned)).collect())
}
