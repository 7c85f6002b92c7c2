//! The layers of the demo: tiles paint the area of its parcels, and layers can be exported and sent back
//! without any change.

use crate::on_both_engines;
use groma_testkit::{API, Engine, TestServer, canvas::Canvas, mvt, server::NO_RATE_LIMIT};
use serde_json::Value;
use std::collections::BTreeSet;

on_both_engines! {
    exported_demo_layers_are_unchanged_when_sent_back
}

/// The zooms at which the parcels are painted.
const ZOOMS: std::ops::RangeInclusive<u8> = 6..=14;
/// Tests read more tiles than a person.
const NO_MAP_LIMIT: (&str, &str) = ("GROMA_LIMITS__MAP_REQUESTS_PER_MINUTE", "0");
/// The side of a tile in its units.
const EXTENT: f64 = 4096.0;

/// Created, updated and unchanged features.
fn counts(result: &Value) -> [u64; 3] {
    ["created", "updated", "unchanged"].map(|name| result[name].as_u64().unwrap())
}

fn exported_demo_layers_are_unchanged_when_sent_back(engine: Engine) {
    let mut server = TestServer::stopped(engine, &[NO_RATE_LIMIT]);
    let token = server.serve_demo();
    let layers = server.run(&["layer", "list", "--json"]).json();
    let layers = layers.as_array().unwrap();
    assert!(layers.len() >= 3);
    for layer in layers {
        let (slug, count) =
            (layer["slug"].as_str().unwrap(), layer["featureCount"].as_u64().unwrap());
        assert!(count > 0, "{slug}");
        server.run(&["export", "layer", "layer.geojson", "--layer", slug]).expect_success();
        let import = ["import", "layer", "layer.geojson", "--layer", slug, "--json"];
        assert_eq!(counts(&server.run(&import).json()), [0, 0, count], "{slug}");
        let body = std::fs::read(server.directory().join("layer.geojson")).unwrap();
        let path = format!("{API}/geometries/geojson?layer={slug}");
        let request = server.geo().request("POST", &path).token(&token);
        let posted = request.header("Content-Type", "application/json").body(body).send().ok();
        assert_eq!(counts(&posted), [0, 0, count], "{slug}");
        assert_eq!(posted["notices"], serde_json::json!([]), "{slug}");
    }
}

#[test]
fn tiles_paint_the_area_of_the_demo_parcels_at_every_zoom() {
    let mut server = TestServer::stopped(Engine::Sqlite, &[NO_RATE_LIMIT, NO_MAP_LIMIT]);
    let token = server.serve_demo();
    let exported = server.run(&["export", "layer", "-", "--layer", "parcels"]).expect_success();
    let exported: Value = serde_json::from_str(&exported).unwrap();
    let parcels: Vec<Vec<(f64, f64)>> =
        exported["features"].as_array().unwrap().iter().map(outer_ring).collect();
    for zoom in ZOOMS {
        let side = f64::from(1_u32 << zoom);
        let units: Vec<Vec<(f64, f64)>> = parcels
            .iter()
            .map(|ring| ring.iter().map(|(x, y)| (x * side * EXTENT, y * side * EXTENT)).collect())
            .collect();
        let area: f64 = units.iter().map(|ring| area(ring)).sum();
        let tile = |&(x, y): &(f64, f64)| ((x / EXTENT) as u32, (y / EXTENT) as u32);
        let tiles: BTreeSet<(u32, u32)> = units.iter().flatten().map(tile).collect();
        let painted: f64 = tiles.iter().map(|at| painted(&server, &token, zoom, *at)).sum();
        let share = painted / area;
        assert!((0.9..=1.1).contains(&share), "z{zoom}: {:.1} %", share * 100.0);
    }
}

/// The outer ring of a parcel on the square of the Web Mercator projection.
fn outer_ring(feature: &Value) -> Vec<(f64, f64)> {
    let ring = feature["geometry"]["coordinates"][0].as_array().unwrap();
    let project = |position: &Value| {
        let (longitude, latitude) = (position[0].as_f64().unwrap(), position[1].as_f64().unwrap());
        let sine = latitude.to_radians().sin();
        let y = 0.5 - ((1.0 + sine) / (1.0 - sine)).ln() / (4.0 * std::f64::consts::PI);
        (longitude / 360.0 + 0.5, y)
    };
    ring.iter().map(project).collect()
}

fn area(ring: &[(f64, f64)]) -> f64 {
    let (origin_x, origin_y) = ring[0];
    let cross = |pair: &[(f64, f64)]| {
        let [(ax, ay), (bx, by)] = [pair[0], pair[1]].map(|(x, y)| (x - origin_x, y - origin_y));
        ax * by - bx * ay
    };
    ring.windows(2).map(cross).sum::<f64>().abs() / 2.0
}

/// What a tile paints, in its units.
fn painted(server: &TestServer, token: &str, zoom: u8, (x, y): (u32, u32)) -> f64 {
    let path = format!("/maps/parcels/{zoom}/{x}/{y}");
    let tile = server.geo().request("GET", &path).token(token).send();
    assert_eq!(tile.status, 200, "{path}");
    assert!(tile.body.len() <= 500_000, "{path}");
    let mut canvas = Canvas::new();
    for feature in mvt::decode(&tile.body).map_or(Vec::new(), |layer| layer.features) {
        canvas.fill(&feature.paths);
    }
    canvas.painted()
}
