//! Tiles: Groma on SQLite and on PostgreSQL beside Martin and TiPg on PostGIS, on the same land.

use crate::{
    Outcome, bare,
    effort::{CONNECTIONS, Effort, psql, settle},
    land::{Cover, Land},
    layers::{Server, load, tiles_over},
    martin::{self, Martin},
    mvt::features,
    posts, process,
    records::BARE,
    report::{Goal, Part, Row, Unit, in_turns},
    table::number,
    tipg::{self, Tipg},
    wrk,
};
use groma_geo::grid::TileId;
use std::{net::SocketAddr, time::Instant};

/// How many different tiles are asked for.
const TILES: u64 = 1_000;
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
    settle(&own)?;
    settle(&theirs)?;
    let (martin, tipg) = (Martin::start(&theirs)?, Tipg::start(&theirs)?);
    part.note(format!(
        "{} parcels and as many points, the same in Groma and in PostGIS; wrk with {CONNECTIONS} connections, no tile \
         cached unless said. The goals were set for parcels; points are shown beside them. That tiles of z14 have the \
         same number of features (but for those in the buffer alone, which TiPg leaves out) is checked before \
         anything is measured. A tile of z6 or z0 takes the peers seconds: \
         there one tile is asked for, once.",
        number(effort.parcels as f64)
    ));
    part.peer(
        "PostGIS",
        psql(&theirs, "SELECT postgis_lib_version()")?,
        "one database for both peers",
    );
    part.peer("Martin", martin::version()?, martin::SETTINGS);
    part.peer("TiPg", tipg::version()?, tipg::SETTINGS);

    // A file is served by one program at a time.
    reread(effort, &mut part, &land, [&file, &own], &martin).await?;
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
            let rounds = if zoom == 14 { effort.tile_rounds } else { effort.rounds };
            let [ours, on_postgres, martins, tipgs] = in_turns(
                rounds,
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
            let peers = [
                ("Martin", martin.uncached.address, martin.paths(cover, &tiles[..1])),
                ("TiPg", tipg.process.address, tipg.paths(cover, &tiles[..1])),
            ];
            wide(effort, &mut part, zoom, cover, &tiles, [&sqlite, &postgres], peers)?;
        }
    }
    for (engine, server) in [("SQLite", &sqlite), ("PostgreSQL", &postgres)] {
        let (_, own) = server.office.memory()?;
        let work = format!("memory after all of these, its own, {engine}");
        part.row(Row::new(work, Unit::Megabytes, &[own as f64]).goal(Goal::AtMost(300.0)));
    }
    drop((sqlite, postgres, tipg));
    cached(effort, &mut part, &land, &file, &martin).await?;
    drop(martin);
    posts::measure(effort, &mut part, &land).await?;
    Ok(part)
}

/// Tiles that are read from the database, each for itself: no features are in memory.
async fn reread(
    effort: &Effort,
    part: &mut Part,
    land: &Land,
    databases: [&String; 2],
    martin: &Martin,
) -> Outcome {
    let settings =
        [("GROMA_LIMITS__TILE_CACHE_BYTES", "0"), ("GROMA_LIMITS__REQUESTS_PER_MINUTE", "0")];
    let [file, own] = databases;
    let sqlite = Server::start(file, &settings).await?;
    let postgres = Server::start(own, &settings).await?;
    let tiles = tiles_over(land, Cover::Parcels, effort.parcels, 14, TILES);
    let [ours, on_postgres, theirs] = in_turns(
        effort.tile_rounds,
        [
            &|| sqlite.measure(Cover::Parcels, &tiles, effort.seconds),
            &|| postgres.measure(Cover::Parcels, &tiles, effort.seconds),
            &|| martin.measure(Cover::Parcels, &tiles, effort.seconds),
        ],
    )?;
    for (engine, figures, goal) in [("SQLite", &ours, 20.0), ("PostgreSQL", &on_postgres, 8.0)] {
        let work = format!("z14 parcels, each tile read anew, {engine}");
        let row = Row::new(work, Unit::PerSecond, figures).beside("Martin", &theirs);
        part.row(row.goal(Goal::RatioAtLeast(goal)));
    }
    Ok(())
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
    // TiPg leaves out what is in the buffer around a tile alone.
    let alike = |a: &usize, b: &usize| a.abs_diff(*b) <= 3 + a / 10;
    let all_alike = |other: &Vec<usize>| counts[0].iter().zip(other).all(|(a, b)| alike(a, b));
    if counts.iter().all(all_alike) && counts[0].iter().sum::<usize>() > 0 {
        return Ok(());
    }
    Err(format!("{} are not the same: ours, Martin's, TiPg's: {counts:?}", cover.name()).into())
}

/// Tiles of whole regions.
fn wide(
    effort: &Effort,
    part: &mut Part,
    zoom: u8,
    cover: Cover,
    tiles: &[TileId],
    ours: [&Server; 2],
    peers: [(&str, SocketAddr, Vec<String>); 2],
) -> Outcome {
    let [on_sqlite, on_postgres] =
        ours.map(|server| move || server.millis(cover, tiles, effort.seconds.min(2)));
    let [on_sqlite, on_postgres] = in_turns(effort.rounds, [&on_sqlite, &on_postgres])?;
    for (peer, address, paths) in peers {
        let begun = Instant::now();
        process::get(address, &paths[0], "")?;
        let theirs = [begun.elapsed().as_secs_f64() * 1_000.0];
        for (engine, figures) in [("SQLite", &on_sqlite), ("PostgreSQL", &on_postgres)] {
            let row =
                Row::new(format!("z{zoom} {}, {engine}", cover.name()), Unit::Millis, figures);
            let goal = if peer == "TiPg" { Goal::RatioAtMost(0.1) } else { Goal::AtMost(20.0) };
            part.row(row.beside(&format!("{peer}, one tile"), &theirs).goal(goal));
        }
    }
    let largest = [ours[0].largest(cover, tiles)? as f64 / 1e3];
    let work = format!("z{zoom} {}, largest tile", cover.name());
    let row = Row::new(work, Unit::Kilobytes, &largest);
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
    let measure = |address: SocketAddr, paths: &[String], seconds: u32| -> Outcome<f64> {
        let token = server.office.token()?;
        Ok(wrk::run_with(address, &[&token], &headers, paths, CONNECTIONS, seconds)?.per_second)
    };
    let ours = |seconds: u32| measure(server.office.geo, &paths, seconds);
    let limit = || measure(bare, &paths[..1], 1);
    let [rates, limits] = in_turns(effort.short_rounds, [&|| ours(1), &limit])?;
    let theirs = || measure(martin.cached.address, &martins, effort.seconds);
    let [beside, theirs] = in_turns(effort.rounds, [&|| ours(effort.seconds), &theirs])?;
    let row = |rates: &[f64]| Row::new("z14 parcels, cached, gzip", Unit::PerSecond, rates);
    part.row(row(&rates).beside(BARE, &limits).goal(Goal::RatioAtLeast(0.6)));
    part.row(row(&beside).beside("Martin, cached", &theirs).goal(Goal::RatioAtLeast(10.0)));
    let (all, own) = server.office.memory()?;
    let row = |work: &str, figure: u64| Row::new(work, Unit::Megabytes, &[figure as f64]);
    part.row(row("memory after that, its own", own).goal(Goal::AtMost(300.0)));
    part.row(row("memory after that, with the mapped file", all));
    Ok(())
}
