//! The consumer: reads the feed page by page, through all faults, and applies the changes to its mirror.

use super::{KINDS, PATIENCE, Target, features_of, id_of};
use crate::{Result, ensure, event_receiver::ChangeKey};
use groma_testkit::{http::Request, wait::retry};
use serde_json::{Value, value::RawValue};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};
use tokio::{sync::Mutex, task::JoinHandle};

/// The pause after a failed request.
const PAUSE: Duration = Duration::from_millis(10);

/// A change of the feed.
pub(super) struct Change {
    pub(super) cursor: String,
    pub(super) key: ChangeKey,
}

/// A copy of the workspace: documents by id.
#[derive(Default)]
pub(super) struct Mirror {
    pub(super) records: BTreeMap<String, String>,
    pub(super) features: BTreeMap<String, String>,
    /// All changes, in the order of the feed.
    pub(super) changes: Vec<Change>,
    /// The last cursor.
    after: String,
}

pub(super) struct Consumer {
    mirror: Arc<Mutex<Mirror>>,
    task: JoinHandle<Result>,
}

impl Consumer {
    pub(super) fn start(target: &Target) -> Self {
        let mirror = Arc::new(Mutex::new(Mirror::default()));
        let task = tokio::spawn(consume(target.clone(), mirror.clone()));
        Self { mirror, task }
    }

    /// Waits until the mirror has all changes up to a cursor.
    pub(super) async fn finish(self, end: &str) -> Result<Mirror> {
        retry(PATIENCE, async || {
            ensure(!self.task.is_finished(), || "the consumer has failed".to_owned())?;
            let mirror = self.mirror.lock().await;
            ensure(mirror.after == end, || format!("the mirror is at {}", mirror.after))
        })
        .await
        .or_else(|error| if self.task.is_finished() { Ok(()) } else { Err(error) })?;
        if self.task.is_finished() {
            self.task.await??;
            return Err("the consumer has stopped".into());
        }
        self.task.abort();
        Ok(std::mem::take(&mut *self.mirror.lock().await))
    }
}

/// Reads pages for ever. Fails only if a page is wrong.
async fn consume(target: Target, mirror: Arc<Mutex<Mirror>>) -> Result {
    for turn in 0.. {
        let after = mirror.lock().await.after.clone();
        let limit = [1, 7, 100, 1000][turn % 4];
        let path = format!("/changes?kinds={KINDS}&limit={limit}&wait=1&after={after}");
        let request = Request::get(&path, &target.token);
        let Ok(response) = request.send(target.address(turn)[0]).await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        ensure(response.status == 200, || format!("the feed answered {}", response.text()))?;
        let page = response.text();
        let page: BTreeMap<&str, &RawValue> = serde_json::from_str(&page)?;
        let content: Vec<BTreeMap<&str, &RawValue>> = serde_json::from_str(page["content"].get())?;
        let layers = layers_to_read(&target, &content).await?;
        let mut mirror = mirror.lock().await;
        for change in content {
            mirror.apply(&change, &layers)?;
        }
        mirror.after = serde_json::from_str(page["next"].get())?;
    }
    Ok(())
}

/// Reads the layers again of which a page says only that many features have changed.
async fn layers_to_read(
    target: &Target,
    content: &[BTreeMap<&str, &RawValue>],
) -> Result<BTreeMap<String, BTreeMap<String, String>>> {
    let mut layers = BTreeMap::new();
    for change in content {
        let event: &str = serde_json::from_str(change["event"].get())?;
        if event == "layer.updated" {
            let id = id_of(change["data"].get())?;
            let features = loop {
                match features_of(target, &id).await {
                    Ok(features) => break features,
                    Err(_) => tokio::time::sleep(PAUSE).await,
                }
            };
            layers.insert(id, features);
        }
    }
    Ok(layers)
}

impl Mirror {
    fn apply(
        &mut self,
        change: &BTreeMap<&str, &RawValue>,
        layers: &BTreeMap<String, BTreeMap<String, String>>,
    ) -> Result {
        let event: String = serde_json::from_str(change["event"].get())?;
        let document = change["data"].get();
        let data: Value = serde_json::from_str(document)?;
        let id = id_of(document)?;
        match event.split_once('.').ok_or("an event without a dot")? {
            ("layer", "updated") => {
                self.features.retain(|_, feature| !feature.contains(&id));
                self.features.extend(layers.get(&id).cloned().unwrap_or_default());
            }
            ("layer", _) => self.features.retain(|_, feature| !feature.contains(&id)),
            ("geometry", "deleted") => drop(self.features.remove(&id)),
            ("geometry", _) => drop(self.features.insert(id, document.to_owned())),
            (_, "deleted") => {
                let last = self.records.remove(&id);
                ensure(last.as_deref() == Some(document), || {
                    format!("{last:?} was deleted as {document}")
                })?;
            }
            _ => drop(self.records.insert(id, document.to_owned())),
        }
        let cursor = serde_json::from_str(change["cursor"].get())?;
        self.changes.push(Change { cursor, key: ChangeKey::new(&event, &data) });
        Ok(())
    }

    /// Checks that nothing is there twice, and that the versions of each record follow each other.
    pub(super) fn check_order(&self) -> Result {
        let cursors: BTreeSet<&str> =
            self.changes.iter().map(|change| change.cursor.as_str()).collect();
        ensure(cursors.len() == self.changes.len(), || "a cursor is there twice".to_owned())?;
        let mut versions: BTreeMap<&str, u64> = BTreeMap::new();
        for ChangeKey { event, id, version } in self.changes.iter().map(|change| &change.key) {
            if event.starts_with("geometry") || event.starts_with("layer") {
                continue;
            }
            let version: u64 = version.parse()?;
            let before = versions.insert(id, version).unwrap_or(0);
            let expected = if event.ends_with(".deleted") { before } else { before + 1 };
            ensure(version == expected, || {
                format!("{event} of {id}: version {version} after {before}")
            })?;
        }
        Ok(())
    }
}
