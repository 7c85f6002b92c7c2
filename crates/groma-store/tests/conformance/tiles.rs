//! Tiles: the same on both engines and whatever way the features came; small at low zooms, whole at
//! the last.

use crate::{
    Engine, Office,
    atlas::{Surveyor, shape, start, tile_over},
    mvt::{self, Kind},
    office::Desk,
    on_both_engines,
};
use groma_domain::LayerId;
use groma_geo::grid::TileId;
use serde_json::{Value, json};
use std::{collections::BTreeSet, sync::Arc};

on_both_engines! {
    at_the_last_zoom_every_feature_is_in_the_tile_over_it
    the_way_features_came_does_not_show
    a_crowd_is_thinned_to_what_a_tile_may_weigh_and_never_to_nothing
    a_town_is_seen_from_every_zoom
    a_tile_is_of_one_moment
    zooms_outside_the_layers_are_empty
    a_vicinity_has_all_that_its_tiles_show_unless_that_is_a_crowd
}

const LAST_ZOOM: u8 = 18;
/// What a tile may weigh before compression, but for the last zoom.
const BUDGET: usize = 500_000;

/// The tiles over the features of a layer at every zoom.
async fn tiles_over(desk: &Desk) -> BTreeSet<(u8, u32, u32)> {
    let features = desk.features("submissions").await;
    let places = features.iter().filter_map(|feature| start(&shape(feature)?));
    let address = |tile: TileId| (tile.z(), tile.x(), tile.y());
    places.flat_map(|place| (0..=LAST_ZOOM).map(move |z| address(tile_over(place, z)))).collect()
}

async fn drawn(desk: &Desk, layer: LayerId, tile: TileId) -> Vec<mvt::Feature> {
    mvt::read(&desk.tile(layer, tile).await).map_or(Vec::new(), |layer| {
        assert_eq!(layer.name, "submissions");
        let ids: BTreeSet<u64> = layer.features.iter().map(|one| one.id).collect();
        assert_eq!(ids.len(), layer.features.len(), "{tile:?} shows something twice");
        layer.features
    })
}

/// Tells a story of so many posts; gives the layer.
async fn story(desk: &Desk, seed: u64, posts: usize) -> LayerId {
    let mut surveyor = Surveyor::new(seed);
    for _ in 1..posts {
        desk.post(&surveyor.collection(25)).await;
    }
    desk.post(&surveyor.collection(150)).await.layer_id
}

async fn at_the_last_zoom_every_feature_is_in_the_tile_over_it(office: Office) {
    let layer = story(&office, 1, 12).await;
    let features = office.features("submissions").await;
    let mut seen = 0;
    for feature in features {
        let Some(place) = shape(&feature).as_ref().and_then(start) else { continue };
        let properties: Value = serde_json::from_str(&feature.properties).unwrap();
        let shown = drawn(&office, layer, tile_over(place, LAST_ZOOM)).await;
        assert!(
            shown.iter().any(|one| one.properties["n"] == properties["n"]),
            "{properties} at {place:?} is missing"
        );
        seen += 1;
    }
    assert!(seen > 80, "a dull story: {seen}");
}

/// A fresh layer with the same features has the same tiles: which features are drawn depends on
/// which there are, not on how they came to be there.
async fn the_way_features_came_does_not_show(office: Office) {
    let layer = story(&office, 2, 15).await;
    let fresh = office.neighbour("Afresh").await;
    let features: Vec<Value> = office
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
    for (z, x, y) in tiles_over(&office).await {
        let tile = TileId::new(z, x, y).unwrap();
        let (old, new) = (drawn(&office, layer, tile).await, drawn(&fresh, again, tile).await);
        assert_eq!(old, new, "{z}/{x}/{y}");
    }
}

async fn a_crowd_is_thinned_to_what_a_tile_may_weigh_and_never_to_nothing(office: Office) {
    const CROWD: u32 = 30_000;
    let place = (2.35, 48.85);
    let mut random = fastrand::Rng::with_seed(3);
    // A third on one spot, the others within some hundred metres.
    let features: Vec<Value> = (0..CROWD)
        .map(|n| {
            let far = if n % 3 == 0 { 0.0 } else { 2e-3 };
            let at = [place.0 + random.f64() * far, place.1 + random.f64() * far];
            json!({ "type": "Feature", "geometry": { "type": "Point", "coordinates": at },
                "properties": { "n": n, "name": format!("Point {n}"), "kind": n % 7, "high": random.f64() } })
        })
        .collect();
    let body = json!({ "type": "FeatureCollection", "features": features });
    let layer = office.post(&body).await.layer_id;
    let mut last = 0;
    for z in 0..LAST_ZOOM {
        let bytes = office.tile(layer, tile_over(place, z)).await;
        assert!(bytes.len() <= BUDGET, "zoom {z} weighs {}", bytes.len());
        let shown = mvt::read(&bytes).expect("not empty").features.len();
        // Closer, more is seen, as long as all of it is in the tile.
        assert!(shown >= last || z > 12, "fewer at zoom {z}: {shown} after {last}");
        last = shown;
    }
    // All of them, in the tiles of the last zoom.
    let (west, south) = (tile_over(place, LAST_ZOOM).x(), tile_over(place, LAST_ZOOM).y());
    let corner = tile_over((place.0 + 2e-3, place.1 + 2e-3), LAST_ZOOM);
    let mut numbers = BTreeSet::new();
    for x in west..=corner.x() {
        for y in corner.y()..=south {
            let tile = TileId::new(LAST_ZOOM, x, y).unwrap();
            numbers.extend(
                drawn(&office, layer, tile).await.iter().map(|one| one.properties["n"].to_string()),
            );
        }
    }
    assert_eq!(numbers.len(), CROWD as usize);
}

/// Parcels of a few metres in towns of different sizes: at each zoom each tile over a parcel shows
/// something, a large town more than a small one.
async fn a_town_is_seen_from_every_zoom(office: Office) {
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
    let layer = office.post(&body).await.layer_id;
    for (z, x, y) in tiles_over(&office).await {
        let shown = drawn(&office, layer, TileId::new(z, x, y).unwrap()).await;
        assert!(!shown.is_empty(), "{z}/{x}/{y} is empty");
        assert!(shown.iter().all(|one| one.kind == Kind::Polygons));
    }
    for z in 9..14 {
        let mut shown = Vec::new();
        for ((x, y), _) in towns {
            shown.push(drawn(&office, layer, tile_over((x + 1e-3, y + 1e-3), z)).await.len());
        }
        assert!(shown[0] > shown[2] && shown[1] > shown[2], "zoom {z}: {shown:?}");
    }
}

/// While features move back and forth, each is at one place at a time.
async fn a_tile_is_of_one_moment(office: Office) {
    let at = |x: f64| {
        let feature = |n: u32| {
            json!({ "type": "Feature", "id": n, "properties": { "n": n, "x": x },
            "geometry": { "type": "Point", "coordinates": [x + f64::from(n) * 3.0, f64::from(n % 5) * 10.0] } })
        };
        json!({ "type": "FeatureCollection", "features": (0..20).map(feature).collect::<Vec<_>>() })
    };
    let layer = office.post(&at(-100.0)).await.layer_id;
    let writer = {
        let desk: Desk = (*office).clone();
        tokio::spawn(async move {
            for turn in 0..30 {
                desk.post(&at(if turn % 2 == 0 { 50.0 } else { -100.0 })).await;
            }
        })
    };
    let tile = TileId::new(0, 0, 0).unwrap();
    let mut revisions = BTreeSet::new();
    while !writer.is_finished() {
        let read = office.store.tile(office.workspace, layer, tile).await.unwrap().unwrap();
        let features = mvt::read(&read.bytes).expect("not empty").features;
        assert_eq!(features.len(), 20, "revision {}", read.revision);
        let places: BTreeSet<_> =
            features.iter().map(|one| one.properties["x"].to_string()).collect();
        assert_eq!(places.len(), 1, "revision {}: {places:?}", read.revision);
        revisions.insert(read.revision);
    }
    writer.await.unwrap();
    assert!(revisions.len() > 1, "nothing was read meanwhile");
}

async fn zooms_outside_the_layers_are_empty(office: Office) {
    let layer = story(&office, 4, 2).await;
    let (min, max) =
        (office.layer("submissions").await.min_zoom, office.layer("submissions").await.max_zoom);
    assert_eq!((min, max), (0, LAST_ZOOM));
    for z in LAST_ZOOM + 1..=TileId::MAX_ZOOM {
        assert!(office.tile(layer, tile_over((2.35, 48.85), z)).await.is_empty(), "zoom {z}");
    }
    assert!(!office.tile(layer, tile_over((2.35, 48.85), LAST_ZOOM)).await.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_engines_draw_the_same_bytes() {
    for seed in [5, 6] {
        let (sqlite, postgres) =
            tokio::join!(Office::open(Engine::Sqlite), Office::open(Engine::Postgres));
        let layers = tokio::join!(story(&sqlite, seed, 12), story(&postgres, seed, 12));
        let tiles = tiles_over(&sqlite).await;
        assert!(tiles.len() > 400, "a dull story: {}", tiles.len());
        for (z, x, y) in tiles {
            let tile = TileId::new(z, x, y).unwrap();
            let (one, other) =
                tokio::join!(sqlite.tile(layers.0, tile), postgres.tile(layers.1, tile));
            assert!(one == other, "{z}/{x}/{y}: {} and {} bytes", one.len(), other.len());
            mvt::read(&one);
        }
    }
}

async fn a_vicinity_has_all_that_its_tiles_show_unless_that_is_a_crowd(office: Office) {
    // In the middle of one of zoom 16.
    let place = (2.335, 48.855);
    let point = |n: u32| {
        let at = [place.0 + f64::from(n % 200) * 2e-5, place.1 + f64::from(n / 200) * 2e-5];
        json!({ "type": "Feature", "geometry": { "type": "Point", "coordinates": at }, "properties": { "n": n } })
    };
    // A shape that is kept apart.
    let around = |n: u32| {
        let angle = f64::from(n % 500) / 500.0 * std::f64::consts::TAU;
        [place.0 + angle.cos() * 1e-2, place.1 + angle.sin() * 1e-2]
    };
    let ring: Vec<[f64; 2]> = (0..=500).map(around).collect();
    let long = json!({ "type": "Feature", "geometry": { "type": "Polygon", "coordinates": [ring] }, "properties": {} });
    let post = async |features: Vec<Value>| {
        office.post(&json!({ "type": "FeatureCollection", "features": features })).await.layer_id
    };
    let layer = post((0..2_000).map(point).chain([long]).collect()).await;
    let tile = tile_over(place, 16);
    let vicinity = Arc::new(office.vicinity(layer, tile).await.expect("not a crowd"));
    let remembered = async |tile| vicinity.clone().tile(tile).await.unwrap();
    assert!(vicinity.weight() > 2_000 * 20, "{}", vicinity.weight());
    let (first_x, first_y) = (tile.x() / 4 * 4, tile.y() / 4 * 4);
    let mut shown = 0;
    for n in 0..16 {
        let tile = TileId::new(16, first_x + n % 4, first_y + n / 4).unwrap();
        let drawn = office.tile(layer, tile).await;
        assert_eq!(remembered(tile).await.bytes, drawn, "{tile:?}");
        shown += mvt::read(&drawn).map_or(0, |layer| layer.features.len());
    }
    assert!(shown > 2_000, "{shown}");
    assert!(office.vicinity(layer, tile_over(place, 12)).await.is_none());
    // What is posted is in the next one.
    post((2_000..2_100).map(point).collect()).await;
    assert!(office.vicinity(layer, tile).await.unwrap().revision() > vicinity.revision());
    assert_eq!(remembered(tile).await.revision, vicinity.revision());
    post((2_100..40_000).map(point).collect()).await;
    assert!(office.vicinity(layer, tile).await.is_none(), "a crowd");
    assert!(!office.tile(layer, tile).await.is_empty());
}
