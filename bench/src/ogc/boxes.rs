//! The parcels in a box.

use super::{Engine, ITEMS, PEER_ITEMS, box_around, parcel_numbers};
use crate::{
    Result,
    dataset::Dataset,
    load::mix,
    process::get,
    profile::{CONNECTIONS, Profile},
    report::{Goal, Part, Row, Unit, in_turns},
    tipg::Tipg,
    wrk,
};
use std::{net::SocketAddr, ops::RangeInclusive};

const BOXES: usize = 200;
/// The number of features in a box.
const FEATURES: RangeInclusive<usize> = 80..=120;
/// The sides of a box in metres.
const SIDE: f64 = 820.0;

pub(super) fn measure(
    profile: &Profile,
    part: &mut Part,
    engines: &[Engine; 2],
    tipg: &Tipg,
    dataset: &Dataset,
) -> Result {
    let boxes = boxes(&engines[0], dataset, profile.parcels)?;
    let peer = tipg.process.address;
    for area in &boxes[..5] {
        let mut theirs = parcel_numbers(&get(peer, &path(PEER_ITEMS, area), "")?, "id")?;
        theirs.sort_unstable();
        for engine in engines {
            let mut ours = parcel_numbers(&engine.get(&path(ITEMS, area))?, "externalId")?;
            ours.sort_unstable();
            if ours != theirs {
                return Err(format!("{}: {ours:?} in {area}, TiPg: {theirs:?}", engine.name).into());
            }
        }
    }
    let paths = |items: &str| boxes.iter().map(|area| path(items, area)).collect::<Vec<_>>();
    let (ours, theirs) = (paths(ITEMS), paths(PEER_ITEMS));
    let rate = |address: SocketAddr, token: &str, paths: &[String]| -> Result<f64> {
        Ok(wrk::run(address, token, paths, CONNECTIONS, profile.seconds)?.per_second)
    };
    let [sqlite, postgres] = engines.each_ref().map(|engine| {
        let (ours, rate) = (&ours, &rate);
        move || -> Result<f64> { rate(engine.server.geo, &engine.server.create_token()?, ours) }
    });
    let theirs = || -> Result<f64> {
        let per_second = rate(peer, "none", &theirs)?;
        tipg.wait_until_idle()?;
        Ok(per_second)
    };
    let [sqlite, postgres, theirs] = in_turns(profile.rounds, [&sqlite, &postgres, &theirs])?;
    for (engine, figures) in engines.iter().zip([&sqlite, &postgres]) {
        let work = format!("100 features in a box, {}", engine.name);
        let row = Row::new(work, Unit::PerSecond, figures).compared_with("TiPg", &theirs);
        part.row(row.goal(Goal::RatioAtLeast(20.0)));
    }
    Ok(())
}

/// Boxes with about a hundred features.
fn boxes(engine: &Engine, dataset: &Dataset, parcels: u64) -> Result<Vec<String>> {
    let mut boxes = Vec::new();
    for n in 0..BOXES as u64 * 20 {
        let area = box_around(dataset, mix(n + 31) % parcels, parcels, SIDE);
        let found = parcel_numbers(&engine.get(&path(ITEMS, &area))?, "externalId")?;
        if FEATURES.contains(&found.len()) {
            boxes.push(area);
        }
        if boxes.len() == BOXES {
            break;
        }
    }
    if boxes.len() < BOXES / 10 {
        return Err(format!("only {} boxes have about a hundred features", boxes.len()).into());
    }
    Ok(boxes)
}

fn path(items: &str, area: &str) -> String {
    format!("{items}?f=geojson&limit=200&bbox={area}")
}
