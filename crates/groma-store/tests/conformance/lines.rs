//! Lines at every zoom: where tiles omit some, the others connect the same places, also after changes.

use crate::{Fixture, fixture::TestWorkspace, on_both_engines, sample_geometries::shape};
use groma_domain::LayerId;
use groma_geo::{Geometry, Position, grid};
use groma_testkit::mvt;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

on_both_engines! {
    thinned_lines_connect_the_same_cells_as_all_lines
}

const ZOOMS: std::ops::RangeInclusive<u8> = 4..=14;
/// The size limit of a tile before compression, except at the last zoom.
const SIZE_LIMIT: usize = 500_000;
/// Streets have this many crossings along each side of the town. A layer of fewer than 10,000 lines would
/// not be thinned.
const SIDE: usize = 76;

/// A line through places in metres from the corner of the town.
fn line(number: usize, places: &[(f64, f64)]) -> Value {
    let at = |(x, y): &(f64, f64)| json!([2.31 + x / 73_000.0, 48.81 + y / 111_000.0]);
    let coordinates: Vec<Value> = places.iter().map(at).collect();
    json!({ "type": "Feature", "id": format!("l{number}"), "properties": { "n": number },
        "geometry": { "type": "LineString", "coordinates": coordinates } })
}

/// Streets between crossings about 100 m apart, some of them bent, and a few long roads.
fn network(random: &mut fastrand::Rng) -> Vec<Value> {
    let mut near =
        |x: f64, y: f64, far: f64| (x + far * (random.f64() - 0.5), y + far * (random.f64() - 0.5));
    let crossings: Vec<_> = (0..SIDE * SIDE)
        .map(|n| near((n % SIDE) as f64 * 100.0, (n / SIDE) as f64 * 100.0, 50.0))
        .collect();
    let mut lines = Vec::new();
    for n in 0..SIDE * SIDE {
        let east = (n % SIDE + 1 < SIDE).then_some(n + 1);
        let north = (n + SIDE < SIDE * SIDE).then_some(n + SIDE);
        for other in east.into_iter().chain(north) {
            let ((x, y), (to_x, to_y)) = (crossings[n], crossings[other]);
            let middle = near((x + to_x) / 2.0, (y + to_y) / 2.0, 60.0);
            let is_bent = lines.len().is_multiple_of(3);
            let bend = is_bent.then_some(middle);
            let places: Vec<_> = [(x, y)].into_iter().chain(bend).chain([(to_x, to_y)]).collect();
            lines.push(line(lines.len(), &places));
        }
    }
    for road in 0..6 {
        let place =
            |step: u32| near(f64::from(step) * 90.0 - 2_000.0, f64::from(road) * 1_200.0, 80.0);
        lines.push(line(lines.len(), &(0..130).map(place).collect::<Vec<_>>()));
    }
    lines
}

/// The number of a line in its properties.
fn number(properties: &Value) -> usize {
    properties["n"].as_u64().unwrap() as usize
}

/// The ends of each line of the layer, by number.
async fn ends(workspace: &TestWorkspace) -> BTreeMap<usize, [(u32, u32); 2]> {
    let place = |position: &Position| grid::project(position.x, position.y);
    let features = workspace.features("submissions").await;
    let lines = features.iter().filter_map(|feature| {
        let Some(Geometry::LineString(line)) = shape(feature) else { return None };
        let properties = serde_json::from_str(&feature.properties).unwrap();
        Some((number(&properties), [place(line.first()?), place(line.last()?)]))
    });
    lines.collect()
}

/// The lines that the tiles of a zoom show: their ids by number.
async fn drawn(workspace: &TestWorkspace, layer: LayerId, zoom: u8) -> BTreeMap<usize, u64> {
    let mut ids = BTreeMap::new();
    for tile in workspace.tiles_of(zoom).await {
        let bytes = workspace.tile(layer, tile).await;
        assert!(bytes.len() <= SIZE_LIMIT, "{tile:?}: {} bytes", bytes.len());
        for feature in mvt::decode(&bytes).map_or(Vec::new(), |layer| layer.features) {
            ids.insert(number(&json!(feature.properties)), feature.id.unwrap());
        }
    }
    ids
}

/// Checks that tiles connect the same cells, 64 along their side, as all lines.
async fn check_connections(workspace: &TestWorkspace, layer: LayerId) {
    let ends = ends(workspace).await;
    let mut first_ids = BTreeMap::new();
    for zoom in ZOOMS {
        let cell = |(x, y): (u32, u32)| (x >> (26 - zoom), y >> (26 - zoom));
        let pair = |number: &usize| {
            let mut cells = ends[number].map(cell);
            cells.sort_unstable();
            cells
        };
        let drawn = drawn(workspace, layer, zoom).await;
        let all: BTreeSet<_> = ends.keys().map(pair).collect();
        let connected: BTreeSet<_> = drawn.keys().map(pair).collect();
        assert!(connected == all, "z{zoom}: {} of {} connections", connected.len(), all.len());
        let is_thinned = drawn.len() < ends.len() / 2;
        assert_eq!(is_thinned, zoom <= 8, "z{zoom}: {} of {} lines", drawn.len(), ends.len());
        for (number, id) in drawn {
            assert_eq!(*first_ids.entry(number).or_insert(id), id, "id at z{zoom}");
        }
    }
}

/// Moves some lines and deletes others, in small steps.
async fn change_some(workspace: &TestWorkspace, random: &mut fastrand::Rng, count: usize) {
    for _ in 0..20 {
        let mut changed = BTreeMap::new();
        for _ in 0..15 {
            let n = random.usize(..count);
            let mut place = || (random.f64() * 7_500.0, random.f64() * 7_500.0);
            let (x, y) = place();
            let to = if n.is_multiple_of(10) { place() } else { (x + 70.0, y - 70.0) };
            changed.insert(n, line(n, &[(x, y), to]));
        }
        workspace.post_all(&changed.into_values().collect::<Vec<_>>()).await;
    }
    for feature in workspace.features("submissions").await {
        if random.u32(..60) == 0 {
            let (now, actor) = (workspace.tick(), workspace.actor);
            let deleted =
                workspace.store.delete_geometry(workspace.workspace_id, actor, feature.id, now);
            deleted.await.unwrap();
        }
    }
}

async fn thinned_lines_connect_the_same_cells_as_all_lines(fixture: Fixture) {
    let mut random = fastrand::Rng::with_seed(11);
    let lines = network(&mut random);
    let layer = fixture.post_all(&lines).await;
    check_connections(&fixture, layer).await;
    change_some(&fixture, &mut random, lines.len()).await;
    check_connections(&fixture, layer).await;
    check_against_new_layer(&fixture, layer, lines).await;
}

/// Checks that a new layer with the same features has the same tiles. Features without geometry take the
/// numbers of those that were deleted, because the numbers decide between lines of similar size.
async fn check_against_new_layer(workspace: &TestWorkspace, layer: LayerId, lines: Vec<Value>) {
    let mut left = BTreeMap::new();
    for feature in workspace.features("submissions").await {
        let properties: Value = serde_json::from_str(&feature.properties).unwrap();
        let mut geometry = Vec::new();
        groma_geo::geojson::write_geometry(&shape(&feature).unwrap(), &mut geometry);
        let geometry: Value = serde_json::from_slice(&geometry).unwrap();
        left.insert(number(&properties), geometry);
    }
    assert!(left.len() < lines.len());
    let again = |mut line: Value| {
        let geometry = left.get(&number(&line["properties"])).cloned();
        line["geometry"] = geometry.unwrap_or(Value::Null);
        line
    };
    let again: Vec<Value> = lines.into_iter().map(again).collect();
    let fresh = workspace.new_workspace("Afresh").await;
    let fresh_layer = fresh.post_all(&again).await;
    for zoom in 0..=15 {
        for tile in workspace.tiles_of(zoom).await {
            let (old, new) =
                (workspace.tile(layer, tile).await, fresh.tile(fresh_layer, tile).await);
            assert!(mvt::decode(&old) == mvt::decode(&new), "{tile:?} differs");
        }
    }
}
