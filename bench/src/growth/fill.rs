//! The databases with folders and parcels of each size.

use crate::{
    Result,
    commands::{apply, change_of, now},
    dataset::{Cover, Dataset},
    load::{self, Sizes},
};
use groma_domain::{input::Field, layer::LayerKey, record::FolderInput};
use groma_store::{Actor, FeatureSpool, NewGeometries, NewLayer, Store};
use std::{path::Path, time::Duration};

/// A word that occurs in [`RARE`] folders at every size.
pub(crate) const RARE_WORD: &str = "lighthouse";
/// The number of folders with the rare word.
pub(crate) const RARE: u64 = 50;
/// The number of features per transaction.
const BATCH: u64 = 10_000;

/// Loads folders, some of them with the rare word.
pub(crate) async fn records(file: &Path, size: u64) -> Result {
    let url = super::url(file).parse()?;
    load::run(&url, &Sizes { folders: size, assignments: 0, expenses: 0, budgets: 0 }).await?;
    let store = Store::open(&url).await?;
    let workspace = load::workspace(&store).await?;
    let rare = |n: u64| {
        let description = Field::Set(Some(format!("Set-out of the {RARE_WORD}")));
        let input = FolderInput { description, ..FolderInput::default() };
        change_of(n * size / RARE, input)
    };
    let commands = (0..RARE).map(rare).collect();
    Ok(apply(&store, workspace, commands).await?)
}

/// The layer of parcels.
pub(crate) fn parcels() -> LayerKey {
    LayerKey::Slug(Cover::Parcels.name().to_owned())
}

/// Loads parcels.
pub(crate) async fn dataset(file: &Path, size: u64) -> Result {
    let dataset = Dataset::new();
    let store = Store::open(&super::url(file).parse()?).await?;
    let workspace = load::workspace(&store).await?;
    let mut next = match store.layer(workspace, &parcels()).await? {
        Some(layer) => layer.counts.total(),
        None => {
            let name = Cover::Parcels.name().to_owned();
            store.create_layer(workspace, Actor::Operator, NewLayer::named(name), now()).await?;
            0
        }
    };
    let start = std::time::Instant::now();
    let there = next;
    while next < size {
        let end = (next + BATCH).min(size);
        let mut features = FeatureSpool::default();
        for n in next..end {
            features.push(&dataset.feature(Cover::Parcels, n, size))?;
        }
        let geometries = NewGeometries {
            mode: groma_store::PostMode::default(),
            workspace,
            actor: Actor::Operator,
            now: now(),
            layer: Some(parcels()),
            folder: None,
            assignment: None,
            features,
            request: None,
        };
        store.post_geometries(geometries).await?;
        next = end;
    }
    if there < size {
        let seconds = start.elapsed().as_secs_f64();
        println!("{} parcels in {seconds:.1} s", size - there);
    }
    Ok(())
}

/// The size of a database on disk after a checkpoint and a sync, so that the next measurement does not
/// wait for them.
pub(crate) async fn bytes(file: &Path) -> Result<f64> {
    let log = format!("{}-wal", file.display());
    let waiting = || std::fs::metadata(&log).is_ok_and(|log| log.len() > 0);
    for _ in 0..500 {
        if !waiting() {
            std::process::Command::new("sync").arg(file).status()?;
            return Ok(std::fs::metadata(file)?.len() as f64);
        }
        // The last connection checkpoints the file when it closes, in its own thread.
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Err("the database stays open".into())
}
