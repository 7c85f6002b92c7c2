//! The databases: folders and parcels, as many as a size says.

use crate::{
    Outcome,
    changes::{apply, change_of, now},
    land::{Cover, Land},
    load::{self, Sizes},
};
use groma_domain::{input::Field, layer::LayerKey, record::FolderInput};
use groma_store::{Actor, NewGeometries, Spool, Store};
use std::{path::Path, time::Duration};

/// A word that so many folders have, at every size.
pub(crate) const RARE_WORD: &str = "lighthouse";
/// How many.
pub(crate) const RARE: u64 = 50;
/// How many features are written in one transaction.
const BATCH: u64 = 10_000;

/// Folders; some of them, all over the list, have the rare word.
pub(crate) async fn records(file: &Path, size: u64) -> Outcome {
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

/// The layer of the land.
pub(crate) fn parcels() -> LayerKey {
    LayerKey::Slug(Cover::Parcels.name().to_owned())
}

/// Parcels.
pub(crate) async fn land(file: &Path, size: u64) -> Outcome {
    let land = Land::new();
    let store = Store::open(&super::url(file).parse()?).await?;
    let workspace = load::workspace(&store).await?;
    let mut next = match store.layer(workspace, &parcels()).await? {
        Some(layer) => layer.counts.total(),
        None => {
            let name = Cover::Parcels.name().to_owned();
            store.create_layer(workspace, Actor::Operator, name, now()).await?;
            0
        }
    };
    let begun = std::time::Instant::now();
    let there = next;
    while next < size {
        let end = (next + BATCH).min(size);
        let mut features = Spool::default();
        for n in next..end {
            features.push(&land.feature(Cover::Parcels, n, size))?;
        }
        let geometries = NewGeometries {
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
        let seconds = begun.elapsed().as_secs_f64();
        println!("{} parcels in {seconds:.1} s", size - there);
    }
    Ok(())
}

/// What a database takes on disk, when nothing is left to be moved into its file, and the disk has all of
/// it: what is measured next would otherwise wait for what was loaded.
pub(crate) async fn bytes(file: &Path) -> Outcome<f64> {
    let log = format!("{}-wal", file.display());
    let waiting = || std::fs::metadata(&log).is_ok_and(|log| log.len() > 0);
    for _ in 0..500 {
        if !waiting() {
            std::process::Command::new("sync").arg(file).status()?;
            return Ok(std::fs::metadata(file)?.len() as f64);
        }
        // The last to close the file moves it; its threads end in their own time.
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Err("the database stays open".into())
}
