//! The time from a new feature to the tile that contains it.

use super::{Engine, ITEMS};
use crate::{
    Result,
    dataset::{Cover, Dataset},
    load::mix,
    posts::write_feature,
    profile::Profile,
    report::{Goal, Part, Row, Unit, quantile},
    server::send,
};
use groma_geo::grid::project;
use groma_testkit::http::Request;
use serde_json::Value;
use std::time::Instant;

/// The features, after a tenth as many that are a warm-up.
const FEATURES: u64 = 200;
const ZOOM: u8 = 14;

pub(super) fn measure(
    profile: &Profile,
    part: &mut Part,
    engine: &Engine,
    dataset: &Dataset,
) -> Result {
    let mut times = Vec::new();
    for n in 0..FEATURES + FEATURES / 10 {
        let parcel = mix(n + 61) % profile.parcels;
        let tile = tile_of(dataset, parcel, profile.parcels);
        let marker = format!("created {n} by the benchmark");
        let mut feature = dataset.feature(Cover::Parcels, parcel, profile.parcels);
        feature.external_id = None;
        feature.properties.insert("section".into(), marker.clone().into());
        let mut body = Vec::new();
        write_feature(&feature, &mut body)?;
        let create = Request::new("POST", ITEMS)
            .token(&engine.token)
            .header("Content-Type", "application/geo+json")
            .body(body);
        let start = Instant::now();
        let created = send(&engine.client, &create)?;
        let drawn = engine.get(&tile)?;
        let millis = start.elapsed().as_secs_f64() * 1_000.0;
        if !drawn.windows(marker.len()).any(|part| part == marker.as_bytes()) {
            return Err(format!("{tile} does not contain the new feature").into());
        }
        if n >= FEATURES / 10 {
            times.push(millis);
        }
        let created: Value = serde_json::from_slice(&created)?;
        let id = created["id"].as_str().ok_or("no id")?;
        let delete = Request::new("DELETE", &format!("{ITEMS}/{id}")).token(&engine.token);
        send(&engine.client, &delete)?;
    }
    let work = format!("POST of a feature to the tile with it, p99, {}", engine.name);
    part.row(Row::new(work, Unit::Millis, &[quantile(&times, 0.99)]).goal(Goal::AtMost(50.0)));
    Ok(())
}

/// The path of the tile in which a parcel is.
fn tile_of(dataset: &Dataset, parcel: u64, count: u64) -> String {
    let ((x, y), _) = dataset.place(Cover::Parcels, parcel, count);
    let (x, y) = project(x, y);
    let [x, y] = [x, y].map(|position| position >> (32 - ZOOM));
    format!("/maps/parcels/{ZOOM}/{x}/{y}")
}
