//! Groma with the two layers of the dataset.

use crate::{
    Result,
    dataset::{Cover, Dataset},
    load,
    profile::CONNECTIONS,
    server::Server,
    wrk,
};
use groma_domain::{Timestamp, WorkspaceId, layer::LayerKey};
use groma_geo::grid::{TileId, project};
use groma_store::{
    Actor, DatabaseUrl, FeatureSpool, NewGeometries, NewLayer, PostOutcome as Posted, Store,
};
use std::time::Instant;

/// The number of features per transaction.
const BATCH: u64 = 10_000;

/// A running server and its two layers.
pub(crate) struct TileServer {
    pub(crate) groma: Server,
    layers: [(Cover, String); 2],
}

impl TileServer {
    pub(crate) async fn start(database: &str, settings: &[(&str, &str)]) -> Result<Self> {
        let store = Store::open(&database.parse()?).await?;
        let workspace = load::workspace(&store).await?;
        let mut ids = Vec::new();
        for cover in Cover::ALL {
            let key = LayerKey::Slug(cover.name().to_owned());
            let layer = store.layer(workspace, &key).await?.ok_or("a layer is missing")?;
            ids.push((cover, layer.id.to_string()));
        }
        let layers = ids.try_into().map_err(|_| "layers")?;
        Ok(Self { groma: Server::start_with(database, settings)?, layers })
    }

    pub(crate) fn paths(&self, cover: Cover, tiles: &[TileId]) -> Vec<String> {
        let id = self.layers.iter().find(|(of, _)| *of == cover).map_or("", |(_, id)| id);
        let path = |tile: &TileId| {
            format!("/api/public/v1/layers/{id}/mvt/{}/{}/{}", tile.z(), tile.x(), tile.y())
        };
        tiles.iter().map(path).collect()
    }

    pub(crate) fn measure(&self, cover: Cover, tiles: &[TileId], seconds: u32) -> Result<f64> {
        let paths = self.paths(cover, tiles);
        let token = self.groma.create_token()?;
        Ok(wrk::run(self.groma.geo, &token, &paths, CONNECTIONS, seconds)?.per_second)
    }

    pub(crate) fn millis(&self, cover: Cover, tiles: &[TileId], seconds: u32) -> Result<f64> {
        let paths = self.paths(cover, tiles);
        let token = self.groma.create_token()?;
        Ok(wrk::run(self.groma.geo, &token, &paths, CONNECTIONS, seconds)?.millis)
    }

    /// The size of the largest tile in bytes.
    pub(crate) fn largest(&self, cover: Cover, tiles: &[TileId]) -> Result<usize> {
        let token = self.groma.create_token()?;
        let mut largest = 0;
        for path in self.paths(cover, tiles) {
            largest = largest.max(self.groma.get_from(self.groma.geo, &path, &token, &[])?.len());
        }
        Ok(largest)
    }
}

/// Tiles with features at a zoom, more of them in larger towns.
pub(crate) fn tiles_with_features(
    dataset: &Dataset,
    cover: Cover,
    features: u64,
    zoom: u8,
    count: u64,
) -> Vec<TileId> {
    let mut tiles = Vec::new();
    for n in 0..count {
        let ((x, y), _) = dataset.place(cover, load::mix(n + 17) % features, features);
        let (x, y) = project(x, y);
        let cell = |value: u32| if zoom == 0 { 0 } else { value >> (32 - u32::from(zoom)) };
        tiles.extend(TileId::new(zoom, cell(x), cell(y)));
    }
    if zoom < 10 {
        tiles.sort_by_key(|tile| (tile.x(), tile.y()));
        tiles.dedup();
    }
    tiles
}

/// Loads the missing features of both layers.
pub(crate) async fn load(database: &DatabaseUrl, dataset: &Dataset, count: u64) -> Result {
    let store = Store::open(database).await?;
    let workspace = load::workspace(&store).await?;
    for cover in Cover::ALL {
        let key = LayerKey::Slug(cover.name().to_owned());
        let now = Timestamp::from(jiff::Timestamp::now());
        let there = match store.layer(workspace, &key).await? {
            Some(layer) => layer.counts.total(),
            None => {
                store
                    .create_layer(workspace, Actor::Operator, NewLayer::named(cover.name()), now)
                    .await?;
                0
            }
        };
        let start = Instant::now();
        let mut next = there;
        while next < count {
            let end = (next + BATCH).min(count);
            let mut features = FeatureSpool::default();
            for n in next..end {
                features.push(&dataset.feature(cover, n, count))?;
            }
            post(&store, workspace, key.clone(), features).await?;
            next = end;
        }
        if there < count {
            let seconds = start.elapsed().as_secs_f64();
            let per_second = (count - there) as f64 / seconds;
            println!(
                "{database:?}: {} {} in {seconds:.0} s, {per_second:.0}/s",
                count - there,
                cover.name()
            );
        }
    }
    Ok(())
}

async fn post(
    store: &Store,
    workspace: WorkspaceId,
    layer: LayerKey,
    features: FeatureSpool,
) -> Result {
    let outcome = store.post_geometries(NewGeometries {
        mode: groma_store::PostMode::default(),
        workspace,
        actor: Actor::Operator,
        now: Timestamp::from(jiff::Timestamp::now()),
        layer: Some(layer),
        folder: None,
        assignment: None,
        features,
        request: None,
    });
    match outcome.await? {
        Posted::Posted(_) => Ok(()),
        Posted::Replayed(_) => Err("unexpected replayed response".into()),
    }
}
