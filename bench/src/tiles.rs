//! Tiles: Groma on SQLite and PostgreSQL, compared with Martin and TiPg on PostGIS with the same data.

use crate::{
    Result, bare,
    dataset::{Cover, Dataset},
    layers::{TileServer, load, tiles_with_features},
    martin::{self, Martin},
    mvt::features,
    posts, process,
    profile::{CONNECTIONS, Profile, psql, vacuum},
    records::BARE,
    report::{Goal, Part, Row, Unit, in_turns},
    row::number,
    tipg::{self, Tipg},
    wrk,
};
use groma_geo::grid::TileId;
use std::{net::SocketAddr, time::Instant};

/// The number of different tiles.
const TILES: u64 = 1_000;
pub(crate) async fn run(profile: &Profile) -> Result<Part> {
    let mut part = Part::new("tiles", "Tiles and geometries");
    let dataset = Dataset::new();
    let (file, own) = (profile.sqlite("tiles")?, profile.postgres("tiles")?);
    let theirs = profile.postgres("martin")?;
    load(&file.parse()?, &dataset, profile.parcels).await?;
    load(&own.parse()?, &dataset, profile.parcels).await?;
    for cover in Cover::ALL {
        martin::fill(&theirs, &dataset, cover, profile.parcels)?;
    }
    vacuum(&own)?;
    vacuum(&theirs)?;
    let (martin, tipg) = (Martin::start(&theirs)?, Tipg::start(&theirs)?);
    part.note(format!(
        "{} parcels and the same number of points in Groma and in PostGIS; wrk with {CONNECTIONS} connections; no \
         cached tiles unless noted. The goals apply to parcels. The numbers of features in z14 tiles are compared \
         before the measurement; TiPg omits those that are only in the buffer. Martin and TiPg take seconds for a \
         z6 or z0 tile, so only one such tile is requested.",
        number(profile.parcels as f64)
    ));
    part.peer(
        "PostGIS",
        psql(&theirs, "SELECT postgis_lib_version()")?,
        "one database for Martin and TiPg",
    );
    part.peer("Martin", martin::version()?, martin::SETTINGS);
    part.peer("TiPg", tipg::version()?, tipg::SETTINGS);

    let uncached: &[(&str, &str)] = &[("GROMA_LIMITS__TILE_CACHE_BYTES", "0")];
    let sqlite = TileServer::start(&file, uncached).await?;
    // Without a limit, because a window of a million requests would be one row with a million times.
    let unlimited = [uncached, &[("GROMA_LIMITS__REQUESTS_PER_MINUTE", "0")]].concat();
    let postgres = TileServer::start(&own, &unlimited).await?;
    for zoom in [14, 10] {
        for cover in Cover::ALL {
            let tiles = tiles_with_features(&dataset, cover, profile.parcels, zoom, TILES);
            if zoom == 14 {
                check_agreement(cover, &tiles[..5], &sqlite, &martin, &tipg)?;
            }
            let rounds = if zoom == 14 { profile.tile_rounds } else { profile.rounds };
            let [ours, on_postgres, martins, tipgs] = in_turns(
                rounds,
                [
                    &|| sqlite.measure(cover, &tiles, profile.seconds),
                    &|| postgres.measure(cover, &tiles, profile.seconds),
                    &|| martin.measure(cover, &tiles, profile.seconds),
                    &|| tipg.measure(cover, &tiles, profile.seconds),
                ],
            )?;
            let (martin_goals, tipg_goal) = match (cover, zoom) {
                (Cover::Parcels, 14) => ([Some(15.0), Some(6.0)], Some(10.0)),
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
                    row()
                        .compared_with("Martin", &martins)
                        .goal(martin_goal.map(Goal::RatioAtLeast)),
                );
                part.row(
                    row().compared_with("TiPg", &tipgs).goal(tipg_goal.map(Goal::RatioAtLeast)),
                );
            }
        }
    }
    for zoom in [6, 0] {
        for cover in Cover::ALL {
            let tiles = tiles_with_features(&dataset, cover, profile.parcels, zoom, 100);
            let peers = [
                ("Martin", martin.uncached.address, martin.paths(cover, &tiles[..1])),
                ("TiPg", tipg.process.address, tipg.paths(cover, &tiles[..1])),
            ];
            measure_low_zooms(
                profile,
                &mut part,
                zoom,
                cover,
                &tiles,
                [&sqlite, &postgres],
                peers,
            )?;
        }
    }
    for (engine, server) in [("SQLite", &sqlite), ("PostgreSQL", &postgres)] {
        let (_, own) = server.groma.memory()?;
        let work = format!("memory afterwards, private, {engine}");
        part.row(Row::new(work, Unit::Megabytes, &[own as f64]).goal(Goal::AtMost(200.0)));
    }
    drop((sqlite, postgres, tipg));
    measure_cached(profile, &mut part, &dataset, &file, &martin).await?;
    drop(martin);
    posts::measure(profile, &mut part, &dataset).await?;
    Ok(part)
}

/// Fails unless all servers return the same features.
fn check_agreement(
    cover: Cover,
    tiles: &[TileId],
    ours: &TileServer,
    martin: &Martin,
    tipg: &Tipg,
) -> Result {
    let token = ours.groma.create_token()?;
    let requests = [
        (ours.groma.geo, ours.paths(cover, tiles)),
        (martin.uncached.address, martin.paths(cover, tiles)),
        (tipg.process.address, tipg.paths(cover, tiles)),
    ];
    let mut counts = Vec::new();
    for (address, paths) in requests {
        let count = |path: &String| Ok(features(&process::get(address, path, &token)?));
        counts.push(paths.iter().map(count).collect::<Result<Vec<usize>>>()?);
    }
    // TiPg omits features that are only in the buffer around a tile.
    let alike = |a: &usize, b: &usize| a.abs_diff(*b) <= 3 + a / 10;
    let all_alike = |other: &Vec<usize>| counts[0].iter().zip(other).all(|(a, b)| alike(a, b));
    if counts.iter().all(all_alike) && counts[0].iter().sum::<usize>() > 0 {
        return Ok(());
    }
    Err(format!("{} are not the same: ours, Martin's, TiPg's: {counts:?}", cover.name()).into())
}

/// Measures tiles of whole regions.
fn measure_low_zooms(
    profile: &Profile,
    part: &mut Part,
    zoom: u8,
    cover: Cover,
    tiles: &[TileId],
    ours: [&TileServer; 2],
    peers: [(&str, SocketAddr, Vec<String>); 2],
) -> Result {
    let [on_sqlite, on_postgres] =
        ours.map(|server| move || server.millis(cover, tiles, profile.seconds.min(2)));
    let [on_sqlite, on_postgres] = in_turns(profile.rounds, [&on_sqlite, &on_postgres])?;
    for (peer, address, paths) in peers {
        let start = Instant::now();
        process::get(address, &paths[0], "")?;
        let theirs = [start.elapsed().as_secs_f64() * 1_000.0];
        for (engine, figures) in [("SQLite", &on_sqlite), ("PostgreSQL", &on_postgres)] {
            let row =
                Row::new(format!("z{zoom} {}, {engine}", cover.name()), Unit::Millis, figures);
            let goal = if peer == "TiPg" { Goal::RatioAtMost(0.1) } else { Goal::AtMost(20.0) };
            part.row(row.compared_with(&format!("{peer}, one tile"), &theirs).goal(goal));
        }
    }
    let largest = [ours[0].largest(cover, tiles)? as f64 / 1e3];
    let work = format!("z{zoom} {}, largest tile", cover.name());
    let row = Row::new(work, Unit::Kilobytes, &largest);
    part.row(row.goal(Goal::AtMost(500.0)));
    Ok(())
}

/// Measures cached tiles with gzip.
async fn measure_cached(
    profile: &Profile,
    part: &mut Part,
    dataset: &Dataset,
    database: &str,
    martin: &Martin,
) -> Result {
    let server = TileServer::start(database, &[]).await?;
    let tiles = tiles_with_features(dataset, Cover::Parcels, profile.parcels, 14, 100);
    let paths = server.paths(Cover::Parcels, &tiles);
    let martins = martin.paths(Cover::Parcels, &tiles);
    let token = server.groma.create_token()?;
    let headers = [("Accept-Encoding", "gzip")];
    let sample = server.groma.get_from(server.groma.geo, &paths[0], &token, &headers)?;
    let bare = bare::serve(sample).await?;
    let measure = |address: SocketAddr, paths: &[String], seconds: u32| -> Result<f64> {
        let token = server.groma.create_token()?;
        Ok(wrk::run_with(address, &[&token], &headers, paths, CONNECTIONS, seconds)?.per_second)
    };
    let ours = |seconds: u32| measure(server.groma.geo, &paths, seconds);
    let limit = || measure(bare, &paths[..1], 1);
    let [rates, limits] = in_turns(profile.short_rounds, [&|| ours(1), &limit])?;
    let theirs = || measure(martin.cached.address, &martins, profile.seconds);
    let [long_rates, theirs] = in_turns(profile.rounds, [&|| ours(profile.seconds), &theirs])?;
    let row = |rates: &[f64]| Row::new("z14 parcels, cached, gzip", Unit::PerSecond, rates);
    part.row(row(&rates).compared_with(BARE, &limits).goal(Goal::RatioAtLeast(0.6)));
    part.row(
        row(&long_rates).compared_with("Martin, cached", &theirs).goal(Goal::RatioAtLeast(10.0)),
    );
    let (all, own) = server.groma.memory()?;
    let row = |work: &str, figure: u64| Row::new(work, Unit::Megabytes, &[figure as f64]);
    part.row(row("memory afterwards, private", own).goal(Goal::AtMost(200.0)));
    part.row(row("memory afterwards, with mapped files", all));
    Ok(())
}
