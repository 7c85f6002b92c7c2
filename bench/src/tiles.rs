//! Tiles: Groma on SQLite and on PostgreSQL beside Martin on PostGIS, on the same land.

use crate::{
    Outcome, bare,
    land::{Cover, Land},
    load,
    martin::Martin,
    office::Office,
    postgres::database_of_its_own,
    records::median,
    wrk,
};
use clap::Args;
use groma_domain::{Timestamp, WorkspaceId, layer::LayerKey};
use groma_geo::grid::{TileId, project};
use groma_store::{Actor, DatabaseUrl, NewGeometries, Outcome as Posted, Spool, Store};
use std::{net::SocketAddr, time::Instant};

const ROUNDS: usize = 3;
const SECONDS: u32 = 5;
const CONNECTIONS: u32 = 16;
/// How many different tiles are asked for.
const TILES: u64 = 1_000;
/// How many features are written in one transaction.
const BATCH: u64 = 10_000;

const DATABASE: &str = "sqlite:target/bench/tiles.db";

/// How much land.
#[derive(Args, Clone, Debug)]
pub(crate) struct Extent {
    /// Parcels, and as many points.
    #[arg(long, default_value_t = 1_000_000)]
    pub(crate) parcels: u64,
}

pub(crate) async fn run(extent: &Extent) -> Outcome {
    let server = std::env::var("TEST_POSTGRES_URL")
        .map_err(|_| "TEST_POSTGRES_URL is not set: run `make bench`")?;
    let land = Land::new();
    let own = database_of_its_own(&server, "bench_tiles").await?;
    let theirs = database_of_its_own(&server, "bench_martin").await?;
    load(&DATABASE.parse()?, &land, extent.parcels).await?;
    load(&own.parse()?, &land, extent.parcels).await?;
    let martin = Martin::start(&theirs, &land, extent.parcels)?;

    let uncached: &[(&str, &str)] = &[("GROMA_LIMITS__TILE_CACHE_BYTES", "0")];
    let sqlite = Server::start(DATABASE, uncached).await?;
    // A window of a million requests is a row of a million moments there; nobody has such a limit.
    let unlimited = [uncached, &[("GROMA_LIMITS__REQUESTS_PER_MINUTE", "0")]].concat();
    let postgres = Server::start(&own, &unlimited).await?;
    println!(
        "\nTiles of {} parcels and as many points; wrk -t1 -c{CONNECTIONS}, median of {ROUNDS} rounds of {SECONDS} s, nothing cached",
        extent.parcels
    );
    for (name, zoom, count) in
        [("z14", 14, TILES), ("z10", 10, TILES), ("z6", 6, 100), ("z0", 0, 1)]
    {
        for cover in Cover::ALL {
            let tiles = tiles_over(&land, cover, extent.parcels, zoom, count);
            // A tile of Martin's takes seconds here: one look is enough.
            let is_slow = zoom < 10;
            let mut rates = [Vec::new(), Vec::new(), Vec::new()];
            for round in 0..ROUNDS {
                let mut measures: [(usize, Measure<'_>); 3] = [
                    (0, Box::new(|| sqlite.measure(cover, &tiles, SECONDS))),
                    (1, Box::new(|| postgres.measure(cover, &tiles, SECONDS))),
                    (
                        2,
                        Box::new(|| {
                            martin.measure(cover, &tiles, if is_slow { 15 } else { SECONDS })
                        }),
                    ),
                ];
                if round % 2 == 1 {
                    measures.reverse();
                }
                for (who, measure) in measures {
                    if !(is_slow && who == 2 && round > 0) {
                        rates[who].push(measure()?);
                    }
                }
            }
            let [ours, on_postgres, theirs] = rates.map(median);
            let size = sqlite.size(cover, tiles[0])?;
            println!(
                "  {name:<4} {:<8} SQLite {ours:>8.0}/s   PostgreSQL {on_postgres:>8.0}/s   Martin {theirs:>7.1}/s   \
                 ratios {:>6.1} and {:>6.1}   ({size} bytes)",
                cover.name(),
                ours / theirs,
                on_postgres / theirs
            );
        }
    }
    drop((sqlite, postgres));
    cached(&land, extent, &martin).await?;
    posted(&land).await
}

/// Measures requests per second.
type Measure<'a> = Box<dyn Fn() -> Outcome<f64> + 'a>;

/// Tiles that were made before, with gzip.
async fn cached(land: &Land, extent: &Extent, martin: &Martin) -> Outcome {
    let server = Server::start(DATABASE, &[]).await?;
    let tiles = tiles_over(land, Cover::Parcels, extent.parcels, 14, 100);
    let paths = server.paths(Cover::Parcels, &tiles);
    let token = server.office.token()?;
    let headers = [("Accept-Encoding", "gzip")];
    let sample = server.office.get_from(server.office.geo, &paths[0], &token, &headers)?;
    let size = sample.len();
    let bare = bare::serve(sample).await?;
    let measure = |address: SocketAddr, paths: &[String]| -> Outcome<f64> {
        let token = server.office.token()?;
        Ok(wrk::run_with(address, &[&token], &headers, paths, CONNECTIONS, SECONDS)?.per_second)
    };
    let (mut ours, mut limits, mut theirs) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        ours.push(measure(server.office.geo, &paths)?);
        limits.push(measure(bare, &paths[..1])?);
        theirs.push(measure(martin.cached, &martin.paths(Cover::Parcels, &tiles))?);
    }
    let (ours, limit, theirs) = (median(ours), median(limits), median(theirs));
    println!(
        "\nCached z14 tiles with gzip: {ours:.0}/s   bare handler {limit:.0}/s   ratio {:.2}   \
         Martin {theirs:.0}/s   ratio {:.1}   ({size} bytes)",
        ours / limit,
        ours / theirs
    );
    Ok(())
}

/// FeatureCollections of 10,000 parcels posted over HTTP, each synced before it is answered.
async fn posted(land: &Land) -> Outcome {
    const FEATURES: u64 = 10_000;
    const POSTS: u64 = 5;
    let database = "target/bench/posted.db";
    for suffix in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{database}{suffix}"));
    }
    let database = format!("sqlite:{database}");
    let store = Store::open(&database.parse()?).await?;
    load::workspace(&store).await?;
    drop(store);
    let office = Office::start_with(&database, &[])?;
    let token = office.token()?;
    let mut seconds = Vec::new();
    for post in 0..POSTS {
        let mut body = br#"{"type":"FeatureCollection","features":["#.to_vec();
        for n in 0..FEATURES {
            if n > 0 {
                body.push(b',');
            }
            write_feature(
                &land.feature(Cover::Parcels, post * FEATURES + n, 1_000_000),
                &mut body,
            )?;
        }
        body.extend_from_slice(b"]}");
        std::fs::write("target/bench/posted.geojson", &body)?;
        let begun = Instant::now();
        office.post("/api/public/v1/geometries/geojson", &token, "target/bench/posted.geojson")?;
        seconds.push(begun.elapsed().as_secs_f64());
    }
    println!(
        "Posted: {FEATURES} parcels in a FeatureCollection, {:.0} features/s",
        FEATURES as f64 / median(seconds)
    );
    Ok(())
}

fn write_feature(feature: &groma_geo::geojson::Feature, body: &mut Vec<u8>) -> Outcome {
    body.extend_from_slice(br#"{"type":"Feature","id":""#);
    body.extend_from_slice(feature.external_id.as_deref().unwrap_or_default().as_bytes());
    body.extend_from_slice(br#"","properties":"#);
    serde_json::to_writer(&mut *body, &feature.properties)?;
    body.extend_from_slice(br#","geometry":"#);
    if let Some(geometry) = &feature.geometry {
        groma_geo::geojson::write_geometry(geometry, body);
    }
    body.push(b'}');
    Ok(())
}

/// A running Groma and its two layers.
struct Server {
    office: Office,
    layers: [(Cover, String); 2],
}

impl Server {
    async fn start(database: &str, settings: &[(&str, &str)]) -> Outcome<Self> {
        let store = Store::open(&database.parse()?).await?;
        let workspace = load::workspace(&store).await?;
        let mut ids = Vec::new();
        for cover in Cover::ALL {
            let key = LayerKey::Slug(cover.name().to_owned());
            let layer = store.layer(workspace, &key).await?.ok_or("a layer is missing")?;
            ids.push((cover, layer.id.to_string()));
        }
        let layers = ids.try_into().map_err(|_| "layers")?;
        Ok(Self { office: Office::start_with(database, settings)?, layers })
    }

    fn paths(&self, cover: Cover, tiles: &[TileId]) -> Vec<String> {
        let id = self.layers.iter().find(|(of, _)| *of == cover).map_or("", |(_, id)| id);
        let path = |tile: &TileId| {
            format!("/api/public/v1/layers/{id}/mvt/{}/{}/{}", tile.z(), tile.x(), tile.y())
        };
        tiles.iter().map(path).collect()
    }

    fn measure(&self, cover: Cover, tiles: &[TileId], seconds: u32) -> Outcome<f64> {
        let paths = self.paths(cover, tiles);
        let token = self.office.token()?;
        Ok(wrk::run(self.office.geo, &token, &paths, CONNECTIONS, seconds)?.per_second)
    }

    fn size(&self, cover: Cover, tile: TileId) -> Outcome<usize> {
        let (path, token) = (&self.paths(cover, &[tile])[0], self.office.token()?);
        Ok(self.office.get_from(self.office.geo, path, &token, &[])?.len())
    }
}

/// Tiles of a zoom in which there is something: where the towns are, the more the larger they are.
fn tiles_over(land: &Land, cover: Cover, features: u64, zoom: u8, count: u64) -> Vec<TileId> {
    let mut tiles = Vec::new();
    for n in 0..count {
        let ((x, y), _) = land.place(cover, load::mix(n + 17) % features, features);
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

/// Fills both layers; what is there already stays.
async fn load(database: &DatabaseUrl, land: &Land, count: u64) -> Outcome {
    let store = Store::open(database).await?;
    let workspace = load::workspace(&store).await?;
    for cover in Cover::ALL {
        let key = LayerKey::Slug(cover.name().to_owned());
        let now = Timestamp::from(jiff::Timestamp::now());
        let there = match store.layer(workspace, &key).await? {
            Some(layer) => layer.counts.total(),
            None => {
                store.create_layer(workspace, Actor::Operator, cover.name().into(), now).await?;
                0
            }
        };
        let begun = Instant::now();
        let mut next = there;
        while next < count {
            let end = (next + BATCH).min(count);
            let mut features = Spool::default();
            for n in next..end {
                features.push(&land.feature(cover, n, count))?;
            }
            post(&store, workspace, key.clone(), features).await?;
            next = end;
        }
        if there < count {
            let seconds = begun.elapsed().as_secs_f64();
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

async fn post(store: &Store, workspace: WorkspaceId, layer: LayerKey, features: Spool) -> Outcome {
    let outcome = store.post_geometries(NewGeometries {
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
        Posted::Replayed(_) => Err("nothing was to be replayed".into()),
    }
}
