//! Polygons at every zoom: tiles paint the area that the polygons cover, also of those that are too small
//! to be drawn alone, and after any changes.

use crate::{
    Fixture,
    fixture::TestWorkspace,
    on_both_engines,
    sample_geometries::{shape, start, tile_at},
};
use groma_domain::LayerId;
use groma_geo::{Geometry, grid, grid::TileId};
use groma_testkit::{canvas::Canvas, mvt};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

on_both_engines! {
    lots_are_painted_completely_at_every_zoom
    uneven_polygons_are_painted_completely_at_every_zoom
    painted_area_stays_right_after_changes_and_deletions
    tiles_after_changes_are_those_of_a_new_layer
    lone_polygon_keeps_its_id_and_properties
}

const ZOOMS: std::ops::RangeInclusive<u8> = 6..=16;
/// The size limit of a tile before compression, except at the last zoom.
const SIZE_LIMIT: usize = 500_000;
/// Degrees of longitude and latitude that measure about a metre at the place of the tests.
const METRE: (f64, f64) = (1.0 / 73_000.0, 1.0 / 111_000.0);
const CORNER: (f64, f64) = (2.31, 48.81);

/// A rectangle of metres from the corner.
fn rectangle(number: usize, [x, y, width, height]: [f64; 4]) -> Value {
    let at = |x: f64, y: f64| json!([CORNER.0 + x * METRE.0, CORNER.1 + y * METRE.1]);
    let ring = [at(x, y), at(x + width, y), at(x + width, y + height), at(x, y + height), at(x, y)];
    json!({ "type": "Feature", "id": format!("p{number}"), "properties": { "n": number },
        "geometry": { "type": "Polygon", "coordinates": [ring] } })
}

/// Adjoining lots of 20 m.
fn lots(side: usize) -> Vec<Value> {
    let lot = |n: usize| [(n % side) as f64 * 20.0, (n / side) as f64 * 20.0, 20.0, 20.0];
    (0..side * side).map(|n| rectangle(n, lot(n))).collect()
}

/// Blocks of a town with lots, houses and fields of very different sizes, between narrow streets.
fn town(side: f64) -> Vec<Value> {
    let mut random = fastrand::Rng::with_seed(7);
    let mut open = vec![[0.0, 0.0, side, side]];
    let mut polygons = Vec::new();
    while let Some([x, y, width, height]) = open.pop() {
        let longer = width.max(height);
        if longer < 12.0 || (longer < side / 4.0 && random.f64() < 0.12) {
            polygons.push([x, y, width, height]);
            continue;
        }
        let street = if longer > 300.0 { 4.0 } else { 0.0 };
        let cut = (longer * (0.35 + 0.3 * random.f64())).round();
        if width >= height {
            open.push([x, y, cut, height]);
            open.push([x + cut + street, y, width - cut - street, height]);
            if street > 0.0 {
                polygons.push([x + cut, y, street, height]);
            }
        } else {
            open.push([x, y, width, cut]);
            open.push([x, y + cut + street, width, height - cut - street]);
            if street > 0.0 {
                polygons.push([x, y + cut, width, street]);
            }
        }
    }
    polygons.into_iter().enumerate().map(|(n, place)| rectangle(n, place)).collect()
}

/// Twice the area of a ring, in units of the tiles of a zoom.
fn true_area(ring: &[groma_geo::Position], zoom: u8) -> f64 {
    let unit = f64::from(1_u32 << (20 - zoom));
    let place = |position: &groma_geo::Position| {
        let (x, y) = grid::project(position.x, position.y);
        (f64::from(x) / unit, f64::from(y) / unit)
    };
    let points: Vec<_> = ring.iter().map(place).collect();
    points.windows(2).map(|pair| pair[0].0 * pair[1].1 - pair[1].0 * pair[0].1).sum::<f64>().abs()
}

/// What a tile paints, and its size in bytes.
async fn painted(workspace: &TestWorkspace, layer: LayerId, tile: TileId) -> (f64, usize) {
    let bytes = workspace.tile(layer, tile).await;
    let mut canvas = Canvas::new();
    for feature in mvt::decode(&bytes).map_or(Vec::new(), |layer| layer.features) {
        canvas.fill(&feature.paths);
    }
    (canvas.painted(), bytes.len())
}

/// Checks the painted area of all tiles.
async fn check_painted_area(workspace: &TestWorkspace, layer: LayerId, what: &str) {
    let features = workspace.features("submissions").await;
    let rings: Vec<_> = features
        .iter()
        .filter_map(|feature| match shape(feature)? {
            Geometry::Polygon(rings) => rings.into_iter().next(),
            _ => None,
        })
        .collect();
    for zoom in ZOOMS {
        let area: f64 = rings.iter().map(|ring| true_area(ring, zoom) / 2.0).sum();
        let mut sum = 0.0;
        for tile in workspace.tiles_of(zoom).await {
            let (painted, bytes) = painted(workspace, layer, tile).await;
            assert!(bytes <= SIZE_LIMIT, "{what}, {tile:?}: {bytes} bytes");
            sum += painted;
        }
        let share = sum / area;
        assert!((0.9..=1.1).contains(&share), "{what}, z{zoom}: {:.1} %", share * 100.0);
    }
}

async fn lots_are_painted_completely_at_every_zoom(fixture: Fixture) {
    const SIDE: usize = 60;
    let layer = fixture.post_all(&lots(SIDE)).await;
    check_painted_area(&fixture, layer, "lots").await;
    // Every tile inside the lots is painted, so no border shows between neighbours.
    let [west, south, east, north] = fixture.layer("submissions").await.bounds.unwrap().0;
    for zoom in ZOOMS {
        let (first, last) = (tile_at((west, north), zoom), tile_at((east, south), zoom));
        for tile in fixture.tiles_of(zoom).await {
            let is_inside = (first.x() + 1..last.x()).contains(&tile.x())
                && (first.y() + 1..last.y()).contains(&tile.y());
            if is_inside {
                let share = painted(&fixture, layer, tile).await.0 / (4096.0 * 4096.0);
                assert!(share > 0.95, "{tile:?}: {:.1} %", share * 100.0);
            }
        }
    }
}

async fn uneven_polygons_are_painted_completely_at_every_zoom(fixture: Fixture) {
    let layer = fixture.post_all(&town(1_500.0)).await;
    check_painted_area(&fixture, layer, "town").await;
}

async fn painted_area_stays_right_after_changes_and_deletions(fixture: Fixture) {
    const SIDE: usize = 40;
    let mut random = fastrand::Rng::with_seed(5);
    let layer = fixture.post_all(&lots(SIDE)).await;
    // A thousand lots get another size. They do not overlap.
    for _ in 0..40 {
        let mut changed = BTreeMap::new();
        for _ in 0..25 {
            let n = random.usize(..SIDE * SIDE);
            let (width, height) = (4.0 + 16.0 * random.f64(), 4.0 + 16.0 * random.f64());
            let (x, y) = ((n % SIDE) as f64 * 20.0, (n / SIDE) as f64 * 20.0);
            let place = [
                x + random.f64() * (20.0 - width),
                y + random.f64() * (20.0 - height),
                width,
                height,
            ];
            changed.insert(n, rectangle(n, place));
        }
        fixture.post_all(&changed.into_values().collect::<Vec<_>>()).await;
    }
    check_painted_area(&fixture, layer, "changed lots").await;
    for feature in fixture.features("submissions").await {
        if random.bool() {
            let now = fixture.tick();
            let deleted =
                fixture.store.delete_geometry(fixture.workspace_id, fixture.actor, feature.id, now);
            deleted.await.unwrap();
        }
    }
    check_painted_area(&fixture, layer, "remaining lots").await;
}

/// A tile without ids.
fn without_ids(bytes: &[u8]) -> Vec<String> {
    let features = mvt::decode(bytes).map_or(Vec::new(), |layer| layer.features);
    let text = |feature: mvt::Feature| {
        format!("{} {:?} {:?}", feature.id.is_some(), feature.paths, feature.properties)
    };
    let mut texts: Vec<String> = features.into_iter().map(text).collect();
    texts.sort_unstable();
    texts
}

async fn tiles_after_changes_are_those_of_a_new_layer(fixture: Fixture) {
    let mut random = fastrand::Rng::with_seed(3);
    let mut features: BTreeMap<usize, Value> = town(700.0).into_iter().enumerate().collect();
    let all: Vec<Value> = features.values().cloned().collect();
    let layer = fixture.post_all(&all).await;
    // Some are moved and resized, in small posts.
    for _ in 0..40 {
        let mut changed = Vec::new();
        for _ in 0..random.usize(1..25) {
            let number = random.usize(..features.len());
            let place = [random.f64() * 700.0, random.f64() * 700.0, random.f64() * 90.0, 10.0];
            changed.push(rectangle(number, place));
            features.insert(number, rectangle(number, place));
        }
        changed.dedup_by_key(|feature| feature["id"].to_string());
        let unique: BTreeMap<String, Value> =
            changed.into_iter().map(|feature| (feature["id"].to_string(), feature)).collect();
        let unique: Vec<Value> = unique.into_values().collect();
        for feature in &unique {
            let number = feature["properties"]["n"].as_u64().unwrap() as usize;
            features.insert(number, feature.clone());
        }
        fixture.post_all(&unique).await;
    }
    // Half of them are deleted.
    let numbers: BTreeSet<usize> = features.keys().copied().filter(|_| random.bool()).collect();
    for feature in fixture.features("submissions").await {
        let properties: Value = serde_json::from_str(&feature.properties).unwrap();
        let number = properties["n"].as_u64().unwrap() as usize;
        if numbers.contains(&number) {
            let now = fixture.tick();
            let deleted =
                fixture.store.delete_geometry(fixture.workspace_id, fixture.actor, feature.id, now);
            deleted.await.unwrap();
            features.remove(&number);
        }
    }
    let fresh = fixture.new_workspace("Afresh").await;
    let left: Vec<Value> = features.into_values().collect();
    let fresh_layer = fresh.post_all(&left).await;
    for zoom in 0..=18 {
        for tile in fixture.tiles_of(zoom).await {
            assert_eq!(
                without_ids(&fixture.tile(layer, tile).await),
                without_ids(&fresh.tile(fresh_layer, tile).await),
                "{tile:?}"
            );
        }
    }
}

async fn lone_polygon_keeps_its_id_and_properties(fixture: Fixture) {
    let places = [[0.0, 0.0, 20.0, 20.0], [40_000.0, 0.0, 20.0, 20.0], [40_030.0, 0.0, 20.0, 20.0]];
    let features: Vec<Value> =
        places.into_iter().enumerate().map(|(n, place)| rectangle(n, place)).collect();
    let layer = fixture.post_all(&features).await;
    let stored = fixture.features("submissions").await;
    for zoom in 0..=18 {
        for (n, feature) in stored.iter().enumerate() {
            let place = start(&shape(feature).unwrap()).unwrap();
            let tile = fixture.tile(layer, tile_at(place, zoom)).await;
            let drawn = mvt::decode(&tile).unwrap().features;
            let is_alone = drawn.iter().any(|one| one.properties.get("n") == Some(&json!(n)));
            // Up to zoom 10 the second and the third are in one cell; from zoom 14 on they are large.
            match (n, zoom) {
                (0, 3..) | (_, 14..) => assert!(is_alone, "{n} at z{zoom}"),
                (1.., 3..=10) => {
                    let counts = drawn.iter().filter_map(|one| one.properties.get("groma_count"));
                    assert_eq!(counts.collect::<Vec<_>>(), [&json!(2)], "z{zoom}");
                }
                _ => {}
            }
        }
    }
}
