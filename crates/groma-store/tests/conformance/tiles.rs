//! Tiles: equal on both engines and in every order of inserts, limited at low zooms and complete at the
//! last.

use crate::{
    Fixture,
    fixture::TestWorkspace,
    on_both_engines,
    sample_geometries::{FeatureGenerator, shape, start, tile_at},
};
use groma_domain::LayerId;
use groma_geo::grid::TileId;
use groma_testkit::{
    Engine,
    mvt::{self, Kind},
};
use serde_json::{Value, json};
use std::collections::BTreeSet;

on_both_engines! {
    every_feature_is_in_its_tile_at_the_last_zoom
    tiles_do_not_depend_on_the_order_of_inserts
    dense_tile_is_reduced_to_the_size_limit_and_never_empty
    towns_are_visible_at_every_zoom
    tile_read_during_writes_is_consistent
    tiles_outside_the_zoom_range_are_empty
}

const LAST_ZOOM: u8 = 18;
/// The size limit of a tile before compression, except at the last zoom.
const SIZE_LIMIT: usize = 500_000;

/// The tiles with features of a layer at every zoom.
async fn tiles_with_features(workspace: &TestWorkspace) -> BTreeSet<(u8, u32, u32)> {
    let features = workspace.features("submissions").await;
    let places = features.iter().filter_map(|feature| start(&shape(feature)?));
    let address = |tile: TileId| (tile.z(), tile.x(), tile.y());
    places.flat_map(|place| (0..=LAST_ZOOM).map(move |z| address(tile_at(place, z)))).collect()
}

async fn features_in(workspace: &TestWorkspace, layer: LayerId, tile: TileId) -> Vec<mvt::Feature> {
    mvt::decode(&workspace.tile(layer, tile).await).map_or(Vec::new(), |layer| {
        assert_eq!(layer.name, "submissions");
        let ids: Vec<u64> = layer.features.iter().filter_map(|one| one.id).collect();
        let distinct: BTreeSet<&u64> = ids.iter().collect();
        assert_eq!(ids.len(), distinct.len(), "{tile:?} has a feature twice");
        layer.features
    })
}

/// Posts random features and returns the layer.
async fn post_random(workspace: &TestWorkspace, seed: u64, posts: usize) -> LayerId {
    let mut generator = FeatureGenerator::new(seed);
    for _ in 1..posts {
        workspace.post(&generator.collection(25)).await;
    }
    workspace.post(&generator.collection(150)).await.layer_id
}

async fn every_feature_is_in_its_tile_at_the_last_zoom(fixture: Fixture) {
    let layer = post_random(&fixture, 1, 12).await;
    let features = fixture.features("submissions").await;
    let mut seen = 0;
    for feature in features {
        let Some(place) = shape(&feature).as_ref().and_then(start) else { continue };
        let properties: Value = serde_json::from_str(&feature.properties).unwrap();
        let shown = features_in(&fixture, layer, tile_at(place, LAST_ZOOM)).await;
        assert!(
            shown.iter().any(|one| one.properties["n"] == properties["n"]),
            "{properties} at {place:?} is missing"
        );
        seen += 1;
    }
    assert!(seen > 80, "too few features: {seen}");
}

/// A new layer with the same features has the same tiles.
async fn tiles_do_not_depend_on_the_order_of_inserts(fixture: Fixture) {
    let layer = post_random(&fixture, 2, 15).await;
    let fresh = fixture.new_workspace("Afresh").await;
    let features: Vec<Value> = fixture
        .features("submissions")
        .await
        .iter()
        .map(|feature| {
            let mut geometry = Vec::new();
            let geometry = shape(feature).map_or(Value::Null, |shape| {
                groma_geo::geojson::write_geometry(&shape, &mut geometry);
                serde_json::from_slice(&geometry).unwrap()
            });
            let properties: Value = serde_json::from_str(&feature.properties).unwrap();
            json!({ "type": "Feature", "geometry": geometry, "properties": properties })
        })
        .collect();
    let body = json!({ "type": "FeatureCollection", "features": features });
    let again = fresh.post(&body).await.layer_id;
    for (z, x, y) in tiles_with_features(&fixture).await {
        let tile = TileId::new(z, x, y).unwrap();
        let (old, new) =
            (features_in(&fixture, layer, tile).await, features_in(&fresh, again, tile).await);
        assert_eq!(old, new, "{z}/{x}/{y}");
    }
}

async fn dense_tile_is_reduced_to_the_size_limit_and_never_empty(fixture: Fixture) {
    const FEATURES: u32 = 30_000;
    let place = (2.35, 48.85);
    let mut random = fastrand::Rng::with_seed(3);
    // A third on one spot, the others within a few hundred metres.
    let features: Vec<Value> = (0..FEATURES)
        .map(|n| {
            let far = if n % 3 == 0 { 0.0 } else { 2e-3 };
            let at = [place.0 + random.f64() * far, place.1 + random.f64() * far];
            json!({ "type": "Feature", "geometry": { "type": "Point", "coordinates": at },
                "properties": { "n": n, "name": format!("Point {n}"), "kind": n % 7, "high": random.f64() } })
        })
        .collect();
    let body = json!({ "type": "FeatureCollection", "features": features });
    let layer = fixture.post(&body).await.layer_id;
    let mut last = 0;
    for z in 0..LAST_ZOOM {
        let bytes = fixture.tile(layer, tile_at(place, z)).await;
        assert!(bytes.len() <= SIZE_LIMIT, "zoom {z} weighs {}", bytes.len());
        let shown = mvt::decode(&bytes).expect("not empty").features.len();
        // Higher zooms show more features, as long as all are in one tile.
        assert!(shown >= last || z > 12, "fewer at zoom {z}: {shown} after {last}");
        last = shown;
    }
    // The tiles of the last zoom have all features.
    let (west, south) = (tile_at(place, LAST_ZOOM).x(), tile_at(place, LAST_ZOOM).y());
    let corner = tile_at((place.0 + 2e-3, place.1 + 2e-3), LAST_ZOOM);
    let mut numbers = BTreeSet::new();
    for x in west..=corner.x() {
        for y in corner.y()..=south {
            let tile = TileId::new(LAST_ZOOM, x, y).unwrap();
            numbers.extend(
                features_in(&fixture, layer, tile)
                    .await
                    .iter()
                    .map(|one| one.properties["n"].to_string()),
            );
        }
    }
    assert_eq!(numbers.len(), FEATURES as usize);
}

/// Small parcels in towns of different sizes: at every zoom each tile with a parcel has features, and a
/// large town has more than a small one.
async fn towns_are_visible_at_every_zoom(fixture: Fixture) {
    let towns = [((2.0, 48.0), 40), ((7.0, 44.0), 20), ((-1.0, 46.0), 3)];
    let mut features = Vec::new();
    for ((x, y), side) in towns {
        for n in 0..side * side {
            let (x, y) = (x + f64::from(n % side) * 5e-4, y + f64::from(n / side) * 5e-4);
            let ring = [[x, y], [x + 4e-4, y], [x + 4e-4, y + 4e-4], [x, y + 4e-4], [x, y]];
            features.push(json!({ "type": "Feature", "properties": { "n": n },
                "geometry": { "type": "Polygon", "coordinates": [ring] } }));
        }
    }
    let body = json!({ "type": "FeatureCollection", "features": features });
    let layer = fixture.post(&body).await.layer_id;
    for (z, x, y) in tiles_with_features(&fixture).await {
        let shown = features_in(&fixture, layer, TileId::new(z, x, y).unwrap()).await;
        assert!(!shown.is_empty(), "{z}/{x}/{y} is empty");
        assert!(shown.iter().all(|one| one.kind == Kind::Polygons));
    }
    for z in 9..14 {
        let mut shown = Vec::new();
        for ((x, y), _) in towns {
            shown.push(features_in(&fixture, layer, tile_at((x + 1e-3, y + 1e-3), z)).await.len());
        }
        assert!(shown[0] > shown[2] && shown[1] > shown[2], "zoom {z}: {shown:?}");
    }
}

/// While features move, each one is in a tile only once.
async fn tile_read_during_writes_is_consistent(fixture: Fixture) {
    let at = |x: f64| {
        let feature = |n: u32| {
            json!({ "type": "Feature", "id": n, "properties": { "n": n, "x": x },
            "geometry": { "type": "Point", "coordinates": [x + f64::from(n) * 3.0, f64::from(n % 5) * 10.0] } })
        };
        json!({ "type": "FeatureCollection", "features": (0..20).map(feature).collect::<Vec<_>>() })
    };
    let layer = fixture.post(&at(-100.0)).await.layer_id;
    let writer = {
        let workspace: TestWorkspace = (*fixture).clone();
        tokio::spawn(async move {
            for turn in 0..30 {
                workspace.post(&at(if turn % 2 == 0 { 50.0 } else { -100.0 })).await;
            }
        })
    };
    let tile = TileId::new(0, 0, 0).unwrap();
    let mut revisions = BTreeSet::new();
    while !writer.is_finished() {
        let read = fixture.store.tile(fixture.workspace_id, layer, tile).await.unwrap().unwrap();
        let features = mvt::decode(&read.bytes).expect("not empty").features;
        assert_eq!(features.len(), 20, "revision {}", read.revision);
        let places: BTreeSet<_> =
            features.iter().map(|one| one.properties["x"].to_string()).collect();
        assert_eq!(places.len(), 1, "revision {}: {places:?}", read.revision);
        revisions.insert(read.revision);
    }
    writer.await.unwrap();
    assert!(revisions.len() > 1, "no tile was read during the writes");
}

async fn tiles_outside_the_zoom_range_are_empty(fixture: Fixture) {
    let layer = post_random(&fixture, 4, 2).await;
    let (min, max) =
        (fixture.layer("submissions").await.min_zoom, fixture.layer("submissions").await.max_zoom);
    assert_eq!((min, max), (0, LAST_ZOOM));
    for z in LAST_ZOOM + 1..=TileId::MAX_ZOOM {
        assert!(fixture.tile(layer, tile_at((2.35, 48.85), z)).await.is_empty(), "zoom {z}");
    }
    assert!(!fixture.tile(layer, tile_at((2.35, 48.85), LAST_ZOOM)).await.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_engines_encode_identical_tiles() {
    for seed in [5, 6] {
        let (sqlite, postgres) =
            tokio::join!(Fixture::open(Engine::Sqlite), Fixture::open(Engine::Postgres));
        let layers = tokio::join!(post_random(&sqlite, seed, 12), post_random(&postgres, seed, 12));
        let tiles = tiles_with_features(&sqlite).await;
        assert!(tiles.len() > 400, "too few features: {}", tiles.len());
        for (z, x, y) in tiles {
            let tile = TileId::new(z, x, y).unwrap();
            let (one, other) =
                tokio::join!(sqlite.tile(layers.0, tile), postgres.tile(layers.1, tile));
            assert!(one == other, "{z}/{x}/{y}: {} and {} bytes", one.len(), other.len());
            mvt::decode(&one);
        }
    }
}
