//! All parcels, page by page.

use super::{Engine, ITEMS, PEER_ITEMS, parcel_numbers};
use crate::{
    Result,
    process::get,
    profile::Profile,
    report::{Goal, Part, Row, Unit, in_turns},
    server::send,
    tipg::Tipg,
};
use groma_testkit::{Client, http::Request};
use serde::{Deserialize, de::IgnoredAny};
use std::time::Instant;

/// The pages that are read from TiPg.
pub(super) const PEER_PAGES: u64 = 20;
const PAGE: u64 = 1_000;

#[derive(Deserialize)]
struct Page {
    features: Vec<IgnoredAny>,
    links: Vec<Link>,
}

#[derive(Deserialize)]
struct Link {
    rel: String,
    href: String,
}

pub(super) fn measure(
    profile: &Profile,
    part: &mut Part,
    engines: &[Engine; 2],
    tipg: &Tipg,
) -> Result {
    let parcels = profile.parcels;
    let theirs = get(tipg.process.address, &peer_path(0), "")?;
    let theirs = parcel_numbers(&theirs, "id")?;
    for engine in engines {
        let ours = engine.get(&format!("{ITEMS}?limit={PAGE}"))?;
        if parcel_numbers(&ours, "externalId")? != theirs {
            return Err(format!("the first page of {} is not that of TiPg", engine.name).into());
        }
        // The first round is a warm-up, after which memory should stay the same.
        let first_tenth = read(engine, parcels / 10)?.memory;
        let last_tenth = read(engine, parcels)?.memory;
        let work = format!("memory after all items, {}", engine.name);
        let row = Row::new(work, Unit::Megabytes, &[last_tenth]);
        let row = row.compared_with("after a tenth", &[first_tenth]);
        part.row(row.goal(Goal::RatioAtMost(1.2)));
    }
    let [sqlite, postgres] =
        engines.each_ref().map(|engine| move || -> Result<f64> { Ok(read(engine, parcels)?.rate) });
    let peer = || read_peer(tipg, parcels);
    let [sqlite, postgres, theirs] = in_turns(profile.rounds, [&sqlite, &postgres, &peer])?;
    for (engine, figures, goal) in [
        (&engines[0], &sqlite, Goal::AtLeast(150_000.0)),
        (&engines[1], &postgres, Goal::RatioAtLeast(10.0)),
    ] {
        let work = format!("items, features, {}", engine.name);
        let row = Row::new(work, Unit::PerSecond, figures).compared_with("TiPg", &theirs);
        part.row(row.goal(goal));
    }
    Ok(())
}

/// The rate at which features were read, and the private memory of the server afterwards.
struct Reading {
    rate: f64,
    memory: f64,
}

/// Reads features from the first page on, at least this many.
fn read(engine: &Engine, count: u64) -> Result<Reading> {
    let (mut read, mut path) = (0, Some(format!("{ITEMS}?limit={PAGE}")));
    let start = Instant::now();
    while let Some(next) = path.filter(|_| read < count) {
        let page: Page = serde_json::from_slice(&engine.get(&next)?)?;
        read += page.features.len() as u64;
        let link = page.links.into_iter().find(|link| link.rel == "next");
        path = link.and_then(|link| Some(link.href[link.href.find("/ogc/")?..].to_owned()));
    }
    let rate = read as f64 / start.elapsed().as_secs_f64();
    if read < count {
        return Err(format!("{} has {read} of {count} features", engine.name).into());
    }
    Ok(Reading { rate, memory: engine.server.memory()?.1 as f64 })
}

fn peer_path(offset: u64) -> String {
    format!("{PEER_ITEMS}?f=geojson&limit={PAGE}&offset={offset}")
}

/// The rate at which TiPg returns features, from pages between the first and the last one.
fn read_peer(tipg: &Tipg, parcels: u64) -> Result<f64> {
    let client = Client::new(tipg.process.address);
    let mut read = 0;
    let start = Instant::now();
    for page in 0..PEER_PAGES {
        let path = peer_path((parcels - PAGE) * page / (PEER_PAGES - 1));
        let page: Page = serde_json::from_slice(&send(&client, &Request::new("GET", &path))?)?;
        read += page.features.len() as u64;
    }
    let seconds = start.elapsed().as_secs_f64();
    match read == PEER_PAGES * PAGE {
        true => Ok(read as f64 / seconds),
        false => Err(format!("TiPg returned {read} features").into()),
    }
}
