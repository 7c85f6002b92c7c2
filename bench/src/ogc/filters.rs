//! Filters on a declared field and a box.

use super::{Engine, ITEMS, box_around};
use crate::{
    Result,
    dataset::{Cover, Dataset},
    load::mix,
    profile::Profile,
    report::{Goal, Part, Row, Unit, quantile},
};
use groma_testkit::http::percent_encode;
use serde::{Deserialize, de::IgnoredAny};
use std::time::Instant;

/// The requests of a row, after a tenth as many that are a warm-up.
const REQUESTS: u64 = 200;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Page {
    features: Vec<IgnoredAny>,
    /// Left out if there are more than 10,000.
    number_matched: Option<u64>,
}

/// A condition that a parcel with this use and area meets.
type Condition<'a> = &'a dyn Fn(&str, f64) -> String;

pub(super) fn measure(
    profile: &Profile,
    part: &mut Part,
    engine: &Engine,
    dataset: &Dataset,
) -> Result {
    let same_use = |land_use: &str, _: f64| format!("\"use\" = '{land_use}'");
    let similar_area =
        |_: &str, area: f64| format!("area BETWEEN {} AND {}", area - 100.0, area + 100.0);
    for (name, condition, side) in [
        ("use, box of 2 km", &same_use as Condition<'_>, 2_000.0),
        ("use, box of 16 km", &same_use, 16_000.0),
        ("area, box of 16 km", &similar_area, 16_000.0),
    ] {
        let (mut times, mut most) = (Vec::new(), 0);
        for n in 0..REQUESTS + REQUESTS / 10 {
            let parcel = mix(n + 47) % profile.parcels;
            let properties = dataset.feature(Cover::Parcels, parcel, profile.parcels).properties;
            let area = properties["area"].as_f64().unwrap_or_default();
            let place = box_around(dataset, parcel, profile.parcels, side);
            let land_use = properties["use"].as_str().unwrap_or_default();
            let filter = condition(land_use, area);
            let filter = format!("{filter} AND S_INTERSECTS(geometry, BBOX({place}))");
            let path = format!("{ITEMS}?filter={}", percent_encode(&filter));
            let start = Instant::now();
            let page: Page = serde_json::from_slice(&engine.get(&path)?)?;
            if n >= REQUESTS / 10 {
                times.push(start.elapsed().as_secs_f64() * 1_000.0);
            }
            match page.number_matched {
                Some(matched) if !page.features.is_empty() => most = most.max(matched),
                matched => return Err(format!("{filter}: {matched:?} matches").into()),
            }
        }
        let work = format!("filter by {name}, up to {most} matches, p99, {}", engine.name);
        part.row(Row::new(work, Unit::Millis, &[quantile(&times, 0.99)]).goal(Goal::AtMost(50.0)));
    }
    Ok(())
}
