//! Tiles: Groma on SQLite and on PostgreSQL beside Martin and TiPg on PostGIS, on the same land.

use crate::{
    Outcome, bare,
    effort::{CONNECTIONS, Effort, psql},
    land::{Cover, Land},
    load,
    martin::{self, Martin},
    office::Office,
    process,
    records::BARE,
    report::{Goal, Part, Row, Unit, in_turns},
    tipg::{self, Tipg},
    wrk,
};
use groma_domain::{Timestamp, WorkspaceId, layer::LayerKey};
use groma_geo::grid::{TileId, project};
use groma_store::{Actor, DatabaseUrl, NewGeometries, Outcome as Posted, Spool, Store};
use std::{net::SocketAddr, time::Instant};

/// How many different tiles are asked for.
const TILES: u64 = 1_000;
/// How many features are written in one transaction.
const BATCH: u64 = 10_000;

pub(crate) async fn run(effort: &Effort) -> Outcome<Part> {
    let mut part = Part::new("tiles", "Tiles and geometries");
    let land = Land::new();
    let (file, own) = (effort.sqlite("tiles")?, effort.postgres("tiles")?);
    let theirs = effort.postgres("martin")?;
    load(&file.parse()?, &land, effort.parcels).await?;
    load(&own.parse()?, &land, effort.parcels).await?;
    for cover in Cover::ALL {
        martin::fill(&theirs, &land, cover, effort.parcels)?;
    }
    let (martin, tipg) = (Martin::start(&theirs)?, Tipg::start(&theirs)?);
    part.note(format!(
        "{} parcels and as many points, the same in Groma and in PostGIS; wrk with {CONNECTIONS} connections, nothing \
         cached unless said. The goals were set for parcels; points are shown beside them. That tiles of z14 have the \
         same number of features is checked before anything is measured. A tile of z6 or z0 takes the peers seconds: \
         there one tile is asked for, once.",
        effort.parcels
    ));
    let postgis = psql(
        &theirs,
        "SELECT current_setting('server_version') || ', PostGIS ' || postgis_lib_version()",
    )?;
    part.peer(
        "PostgreSQL with PostGIS",
        postgis,
        "as it comes, fsync on; one server for everybody",
    );
    part.peer("Martin", martin::version()?, martin::SETTINGS);
    part.peer("TiPg", tipg::version()?, tipg::SETTINGS);

    let uncached: &[(&str, &str)] = &[("GROMA_LIMITS__TILE_CACHE_BYTES", "0")];
    let sqlite = Server::start(&file, uncached).await?;
    // A window of a million requests is a row of a million moments there; nobody has such a limit.
    let unlimited = [uncached, &[("GROMA_LIMITS__REQUESTS_PER_MINUTE", "0")]].concat();
    let postgres = Server::start(&own, &unlimited).await?;
    for zoom in [14, 10] {
        for cover in Cover::ALL {
            let tiles = tiles_over(&land, cover, effort.parcels, zoom, TILES);
            if zoom == 14 {
                agree(cover, &tiles[..5], &sqlite, &martin, &tipg)?;
            }
            let [ours, on_postgres, martins, tipgs] = in_turns(
                effort,
                [
                    &|| sqlite.measure(cover, &tiles, effort.seconds),
                    &|| postgres.measure(cover, &tiles, effort.seconds),
                    &|| martin.measure(cover, &tiles, effort.seconds),
                    &|| tipg.measure(cover, &tiles, effort.seconds),
                ],
            )?;
            let (martin_goals, tipg_goal) = match (cover, zoom) {
                (Cover::Parcels, 14) => ([Some(20.0), Some(8.0)], Some(10.0)),
                (Cover::Parcels, _) => ([Some(60.0), None], Some(10.0)),
                (Cover::Points, _) => ([None, None], None),
            };
            let engines = [("SQLite", &ours), ("PostgreSQL", &on_postgres)];
            for ((engine, figures), martin_goal) in engines.into_iter().zip(martin_goals) {
                let row = || {
                    Row::new(
                        format!("z{zoom} {}, {engine}", cover.name()),
                        Unit::PerSecond,
                        figures,
                    )
                };
                part.row(
                    row().beside("Martin", &martins).goal(martin_goal.map(Goal::RatioAtLeast)),
                );
                part.row(row().beside("TiPg", &tipgs).goal(tipg_goal.map(Goal::RatioAtLeast)));
            }
        }
    }
    for zoom in [6, 0] {
        for cover in Cover::ALL {
            let tiles = tiles_over(&land, cover, effort.parcels, zoom, 100);
            wide(effort, &mut part, zoom, cover, &tiles, [&sqlite, &postgres], &martin)?;
        }
    }
    drop((sqlite, postgres, tipg));
    cached(effort, &mut part, &land, &file, &martin).await?;
    drop(martin);
    posted(effort, &mut part, &land).await?;
    Ok(part)
}

/// Fails unless everybody draws the same features.
fn agree(cover: Cover, tiles: &[TileId], ours: &Server, martin: &Martin, tipg: &Tipg) -> Outcome {
    let token = ours.office.token()?;
    let asked = [
        (ours.office.geo, ours.paths(cover, tiles)),
        (martin.uncached.address, martin.paths(cover, tiles)),
        (tipg.process.address, tipg.paths(cover, tiles)),
    ];
    let mut counts = Vec::new();
    for (address, paths) in asked {
        let count = |path: &String| Ok(features(&process::get(address, path, &token)?));
        counts.push(paths.iter().map(count).collect::<Outcome<Vec<usize>>>()?);
    }
    // What only just touches a tile's edge is a matter of rounding.
    let alike = |a: &usize, b: &usize| a.abs_diff(*b) <= 2 + a / 50;
    let all_alike = |other: &Vec<usize>| counts[0].iter().zip(other).all(|(a, b)| alike(a, b));
    if counts.iter().all(all_alike) && counts[0].iter().sum::<usize>() > 0 {
        return Ok(());
    }
    Err(format!("{} are not the same: ours, Martin's, TiPg's: {counts:?}", cover.name()).into())
}

/// How many features a tile has: the fields 2 in its fields 3.
fn features(tile: &[u8]) -> usize {
    fields(tile)
        .filter(|(field, _)| *field == 3)
        .map(|(_, layer)| fields(layer).filter(|(field, _)| *field == 2).count())
        .sum()
}

/// The fields of a protobuf message with their numbers; those without a length have no bytes.
fn fields(mut message: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    fn varint(message: &mut &[u8]) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = message.split_first()?;
            *message = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                break;
            }
        }
        Some(value)
    }
    std::iter::from_fn(move || {
        let key = varint(&mut message)?;
        let length = match key & 7 {
            0 => varint(&mut message).map(|_| 0)?,
            1 => 8,
            2 => usize::try_from(varint(&mut message)?).ok()?,
            _ => 4,
        };
        let (bytes, rest) = message.split_at_checked(length)?;
        message = rest;
        Some((key >> 3, bytes))
    })
}

/// Tiles of whole regions.
fn wide(
    effort: &Effort,
    part: &mut Part,
    zoom: u8,
    cover: Cover,
    tiles: &[TileId],
    ours: [&Server; 2],
    martin: &Martin,
) -> Outcome {
    let [on_sqlite, on_postgres] =
        ours.map(|server| move || server.millis(cover, tiles, effort.seconds.min(2)));
    let [on_sqlite, on_postgres] = in_turns(effort, [&on_sqlite, &on_postgres])?;
    let begun = Instant::now();
    process::get(martin.uncached.address, &martin.paths(cover, tiles)[0], "")?;
    let theirs = [begun.elapsed().as_secs_f64() * 1_000.0];
    for (engine, figures) in [("SQLite", on_sqlite), ("PostgreSQL", on_postgres)] {
        let row = Row::new(format!("z{zoom} {}, {engine}", cover.name()), Unit::Millis, &figures);
        part.row(row.beside("Martin, one tile", &theirs).goal(Goal::AtMost(20.0)));
    }
    let sizes: Outcome<Vec<f64>> =
        tiles.iter().map(|tile| Ok(ours[0].size(cover, *tile)? as f64 / 1e3)).collect();
    let largest = sizes?.into_iter().fold(0.0, f64::max);
    let row =
        Row::new(format!("z{zoom} {}, largest tile", cover.name()), Unit::Kilobytes, &[largest]);
    part.row(row.goal(Goal::AtMost(500.0)));
    Ok(())
}

/// Tiles that were made before, with gzip.
async fn cached(
    effort: &Effort,
    part: &mut Part,
    land: &Land,
    database: &str,
    martin: &Martin,
) -> Outcome {
    let server = Server::start(database, &[]).await?;
    let tiles = tiles_over(land, Cover::Parcels, effort.parcels, 14, 100);
    let paths = server.paths(Cover::Parcels, &tiles);
    let martins = martin.paths(Cover::Parcels, &tiles);
    let token = server.office.token()?;
    let headers = [("Accept-Encoding", "gzip")];
    let sample = server.office.get_from(server.office.geo, &paths[0], &token, &headers)?;
    let bare = bare::serve(sample).await?;
    let measure = |address: SocketAddr, paths: &[String]| -> Outcome<f64> {
        let token = server.office.token()?;
        Ok(wrk::run_with(address, &[&token], &headers, paths, CONNECTIONS, effort.seconds)?
            .per_second)
    };
    let [ours, limits, theirs] = in_turns(
        effort,
        [&|| measure(server.office.geo, &paths), &|| measure(bare, &paths[..1]), &|| {
            measure(martin.cached.address, &martins)
        }],
    )?;
    let row = || Row::new("z14 parcels, cached, gzip", Unit::PerSecond, &ours);
    part.row(row().beside(BARE, &limits).goal(Goal::RatioAtLeast(0.6)));
    part.row(row().beside("Martin, cached", &theirs).goal(Goal::RatioAtLeast(10.0)));
    let (all, own) = server.office.memory()?;
    let row = |work: &str, figure: u64| Row::new(work, Unit::Megabytes, &[figure as f64]);
    part.row(row("memory after that, its own", own).goal(Goal::AtMost(300.0)));
    part.row(row("memory after that, with the mapped file", all));
    Ok(())
}

/// FeatureCollections of 10,000 parcels posted over HTTP, each synced before it is answered.
async fn posted(effort: &Effort, part: &mut Part, land: &Land) -> Outcome {
    const FEATURES: u64 = 10_000;
    const POSTS: u64 = 5;
    let database = effort.new_sqlite("posted")?;
    let store = Store::open(&database.parse()?).await?;
    load::workspace(&store).await?;
    drop(store);
    let office = Office::start(&database)?;
    let token = office.token()?;
    let file = format!("{}/posted.geojson", effort.folder()?);
    let mut rates = Vec::new();
    for post in 0..POSTS {
        let mut body = br#"{"type":"FeatureCollection","features":["#.to_vec();
        for n in 0..FEATURES {
            if n > 0 {
                body.push(b',');
            }
            let feature = land.feature(Cover::Parcels, post * FEATURES + n, 1_000_000);
            write_feature(&feature, &mut body)?;
        }
        body.extend_from_slice(b"]}");
        std::fs::write(&file, &body)?;
        let begun = Instant::now();
        office.post("/api/public/v1/geometries/geojson", &token, &file)?;
        rates.push(FEATURES as f64 / begun.elapsed().as_secs_f64());
    }
    let row = Row::new("features posted, 10,000 parcels a body", Unit::PerSecond, &rates);
    part.row(row.goal(Goal::AtLeast(50_000.0)));
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

    fn millis(&self, cover: Cover, tiles: &[TileId], seconds: u32) -> Outcome<f64> {
        let paths = self.paths(cover, tiles);
        let token = self.office.token()?;
        Ok(wrk::run(self.office.geo, &token, &paths, CONNECTIONS, seconds)?.millis)
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
