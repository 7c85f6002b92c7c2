//! Tiles: paths, headers, ETags and contents.

use super::{Map, TILE, Tile, collection, feature, features_in, point, square, tile_at, tile_path};
use crate::{on_both_engines, sample_records::text};
use groma_testkit::{API, Engine, Response, mvt, mvt::Kind, wait::PATIENCE, wait_until};
use serde_json::{Value, json};
use std::{
    f64::consts::PI,
    io::Read,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    thread,
};

const PARIS: (f64, f64) = (2.3522, 48.8566);

/// A server with a grid of points around Paris, and their layer.
fn start_with_points(engine: Engine, count: u32) -> (Map, String) {
    let map = Map::open(engine);
    let layer = post_points(&map, count);
    (map, layer)
}

fn post_points(map: &Map, count: u32) -> String {
    let at = |index: u32| {
        let (across, down) = (f64::from(index % 40) * 1e-3, f64::from(index / 40) * 1e-3);
        feature(json!(index), point(PARIS.0 + across, PARIS.1 + down), json!({ "n": index }))
    };
    let features: Vec<_> = (0..count).map(at).collect();
    text(&map.post("", &collection(&features))["layerId"]).to_owned()
}

fn tile_of_paris(z: u8) -> Tile {
    tile_at(z, PARIS.0, PARIS.1)
}

fn etag(response: &Response) -> String {
    let tag = response.header("etag").expect("an ETag");
    assert!(tag.starts_with('"') && tag.ends_with('"') && tag.len() > 2, "{tag} is not strong");
    tag.to_owned()
}

fn decompress(response: &Response) -> Vec<u8> {
    let body = &response.body[..];
    let mut plain = Vec::new();
    match response.header("content-encoding") {
        None => plain.extend_from_slice(body),
        Some("gzip") => drop(flate2::read::GzDecoder::new(body).read_to_end(&mut plain).unwrap()),
        Some("br") => drop(brotli::Decompressor::new(body, 4096).read_to_end(&mut plain).unwrap()),
        Some("zstd") => zstd::stream::copy_decode(body, &mut plain).unwrap(),
        Some(other) => panic!("{other} was not requested"),
    }
    plain
}

on_both_engines! {
    tile_has_its_media_type_and_must_be_revalidated
    out_of_range_tile_returns_400_with_the_bounds
    tile_without_features_is_an_empty_200
    equal_tiles_have_equal_etags_also_after_a_restart
    each_encoding_has_its_own_etag
    layer_can_be_named_by_its_slug_and_a_tile_by_its_suffix
    new_geometry_is_in_the_next_tile
    new_geometry_is_in_the_next_tile_under_concurrent_reads
    geometry_keeps_its_id_at_every_zoom_and_after_updates
    properties_keep_their_types_in_tiles
    geometry_types_are_kept_in_tiles
    tiles_do_not_depend_on_the_cache_size
    concurrent_requests_get_equal_tiles
    concurrent_requests_beyond_the_last_zoom_succeed
    tile_of_a_dense_area_is_complete
    deleted_layer_has_no_tiles
}

fn tile_has_its_media_type_and_must_be_revalidated(engine: Engine) {
    let (map, layer) = start_with_points(engine, 10);
    for tile in [(0, 0, 0), tile_of_paris(14), (5, 0, 0), (24, 0, 0)] {
        let response = map.tile(&layer, tile);
        assert_eq!((response.status, response.header("content-type")), (200, Some(TILE)));
        assert_eq!(response.header("cache-control"), Some("private, no-cache"));
        assert_eq!(response.header("vary"), Some("Accept-Encoding"));
        etag(&response);
    }
    let counts = mvt::decode(&map.tile(&layer, tile_of_paris(14)).body).unwrap();
    assert_eq!(counts.name, map.layer("Submissions")["sourceLayer"]);
}

fn out_of_range_tile_returns_400_with_the_bounds(engine: Engine) {
    let (map, layer) = start_with_points(engine, 1);
    let nobody = uuid::Uuid::now_v7().to_string();
    for (address, name, most) in [
        ("25/0/0", "z", 24),
        ("99999999999999999999/0/0", "z", 24),
        ("-1/0/0", "z", 24),
        ("a/0/0", "z", 24),
        ("1.5/0/0", "z", 24),
        ("+1/0/0", "z", 24),
        ("%20/0/0", "z", 24),
        ("0x1/0/0", "z", 24),
        ("1e1/0/0", "z", 24),
        ("0/1/0", "x", 0),
        ("0/0/1", "y", 0),
        ("3/8/0", "x", 7),
        ("3/0/8", "y", 7),
        ("3/-1/0", "x", 7),
        ("3/0/-1", "y", 7),
        ("3/0/y", "y", 7),
        ("24/16777216/0", "x", 16_777_215),
        ("24/0/16777216", "y", 16_777_215),
        ("24/4294967296/0", "x", 16_777_215),
        ("3/0/0.png", "y", 7),
        ("3/0.mvt/0", "x", 7),
        ("3/0/0.mvt.mvt", "y", 7),
    ] {
        let message = format!("{name} must be a whole number from 0 to {most}");
        map.get(&format!("/layers/{layer}/mvt/{address}")).assert_error(400, &message);
        // Parameters are checked before the layer.
        map.get(&format!("/layers/{nobody}/mvt/{address}")).assert_error(400, &message);
    }
    for (z, last) in [(0, 0), (3, 7), (18, 262_143), (19, 524_287), (24, 16_777_215)] {
        assert_eq!(map.tile(&layer, (z, last, last)).status, 200);
    }
}

fn layer_can_be_named_by_its_slug_and_a_tile_by_its_suffix(engine: Engine) {
    let (map, layer) = start_with_points(engine, 10);
    let (z, x, y) = tile_of_paris(14);
    let expected = map.get(&format!("/layers/{layer}/mvt/{z}/{x}/{y}"));
    assert!(!expected.body.is_empty());
    for path in [
        format!("{layer}/mvt/{z}/{x}/{y}.mvt"),
        format!("{layer}/mvt/{z}/{x}/{y}.pbf"),
        format!("submissions/mvt/{z}/{x}/{y}"),
        format!("submissions/mvt/{z}/{x}/{y}.pbf"),
    ] {
        let response = map.get(&format!("/layers/{path}"));
        assert_eq!((response.status, &response.body), (200, &expected.body), "{path}");
    }
    for path in ["", "/tilejson"] {
        let by_id = map.get(&format!("/layers/{layer}{path}"));
        assert_eq!(map.get(&format!("/layers/submissions{path}")).json(), by_id.json());
    }
    map.get("/layers/nowhere/mvt/0/0/0").assert_error(404, "layer `nowhere` not found");
}

fn tile_without_features_is_an_empty_200(engine: Engine) {
    let (map, layer) = start_with_points(engine, 10);
    let empty = map.create_layer("Empty");
    for (layer, tile) in [
        (&layer, (3, 0, 0)),
        (&layer, (18, 1, 1)),
        (&layer, tile_of_paris(19)),
        (&layer, tile_of_paris(24)),
        (&empty, (0, 0, 0)),
        (&empty, (18, 5, 5)),
    ] {
        let response =
            map.get_with(&tile_path(layer, tile), &[("Accept-Encoding", "gzip, br, zstd")]);
        assert_eq!(
            (response.status, response.body.len(), response.header("content-type")),
            (200, 0, Some(TILE))
        );
        assert_eq!(response.header("content-encoding"), None, "an empty body is not compressed");
        let tag = etag(&response);
        assert_eq!(map.get_with(&tile_path(layer, tile), &[("If-None-Match", &tag)]).status, 304);
    }
    // The layer's maximum zoom is the last one with features.
    assert!(!map.features_in(&layer, tile_of_paris(18)).is_empty());
}

fn equal_tiles_have_equal_etags_also_after_a_restart(engine: Engine) {
    let (mut map, layer) = start_with_points(engine, 300);
    let tiles = [(0, 0, 0), tile_of_paris(10), tile_of_paris(14), tile_of_paris(18)];
    let first: Vec<_> = tiles.iter().map(|tile| map.tile(&layer, *tile)).collect();
    for (tile, first) in tiles.iter().zip(&first) {
        let again = map.tile(&layer, *tile);
        assert_eq!((&again.body, etag(&again)), (&first.body, etag(first)));
    }
    assert_eq!(map.server.stop(), Some(0));
    map.server.serve();
    for (tile, first) in tiles.iter().zip(&first) {
        let again = map.tile(&layer, *tile);
        assert_eq!((&again.body, etag(&again)), (&first.body, etag(first)));
    }
    // A change elsewhere creates a new revision but keeps the tile and its ETag.
    map.post("", &point(-60.0, -30.0));
    for (tile, first) in tiles.iter().zip(&first).skip(1) {
        assert_eq!(etag(&map.tile(&layer, *tile)), etag(first), "{tile:?}");
    }
}

fn each_encoding_has_its_own_etag(engine: Engine) {
    let (map, layer) = start_with_points(engine, 300);
    let path = tile_path(&layer, tile_of_paris(10));
    let plain = map.get(&path);
    assert_eq!(plain.header("content-encoding"), None);
    assert!(plain.body.len() > 1000);
    let mut tags = vec![etag(&plain)];
    for encoding in ["gzip", "br", "zstd"] {
        let wish = ("Accept-Encoding", encoding);
        let response = map.get_with(&path, &[wish]);
        assert_eq!((response.status, response.header("content-encoding")), (200, Some(encoding)));
        assert_eq!(response.header("vary"), Some("Accept-Encoding"));
        assert_eq!(response.header("content-type"), Some(TILE));
        assert!(response.body.len() < plain.body.len());
        assert_eq!(decompress(&response), plain.body);
        let tag = etag(&response);
        assert!(!tags.contains(&tag));
        let known = map.get_with(&path, &[wish, ("If-None-Match", &tag)]);
        assert_eq!((known.status, known.body.len(), etag(&known)), (304, 0, tag.clone()));
        assert_eq!(known.header("vary"), Some("Accept-Encoding"));
        assert_eq!(map.get_with(&path, &[wish, ("If-None-Match", &tags[0])]).status, 200);
        assert_eq!(map.get_with(&path, &[("If-None-Match", &tag)]).status, 200);
        tags.push(tag);
    }
    // Every tile that is not empty is compressed, however small.
    let small = map.get_with(&tile_path(&layer, tile_of_paris(18)), &[("Accept-Encoding", "gzip")]);
    assert_eq!(small.header("content-encoding"), Some("gzip"));
    assert_eq!(
        features_in(&map.tile(&layer, tile_of_paris(18))),
        decode_features(&decompress(&small))
    );
}

fn new_geometry_is_in_the_next_tile(engine: Engine) {
    let (map, layer) = start_with_points(engine, 5);
    let tile = tile_of_paris(14);
    let mut tag = etag(&map.tile(&layer, tile));
    for number in 0..10_u32 {
        let at = point(PARIS.0 + f64::from(number) * 1e-4, PARIS.1 - 1e-4);
        map.post("", &feature(json!(1000 + number), at, json!({ "new": number })));
        let response = map.get_with(&tile_path(&layer, tile), &[("If-None-Match", &tag)]);
        let features = features_in(&response);
        let is_new =
            |feature: &&mvt::Feature| feature.properties.get("new") == Some(&json!(number));
        assert_eq!(features.iter().filter(is_new).count(), 1, "{number}");
        tag = etag(&response);
    }
    // A replaced geometry disappears from its old position.
    let features = map.features_in(&layer, tile).len();
    map.post("", &feature(json!(1000), point(-60.0, -30.0), json!({ "new": "moved" })));
    assert_eq!(map.features_in(&layer, tile).len(), features - 1);
    assert_eq!(map.features_in(&layer, tile_at(14, -60.0, -30.0)).len(), 1);
}

fn new_geometry_is_in_the_next_tile_under_concurrent_reads(engine: Engine) {
    let (map, layer) = start_with_points(engine, 5);
    let path = tile_path(&layer, tile_of_paris(14));
    let (request, is_over) = (|| features_in(&map.get(&path)).len(), AtomicBool::new(false));
    let counts = thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !is_over.load(Relaxed) {
                    request();
                }
            });
        }
        let counts = |number: u32| -> Vec<usize> {
            let at = point(PARIS.0 + f64::from(number) * 1e-4, PARIS.1 - 1e-4);
            map.post("", &feature(Value::Null, at, json!({ "new": number })));
            let threads = [(); 3].map(|()| scope.spawn(request));
            threads.into_iter().filter_map(|one| one.join().ok()).collect()
        };
        let counts: Vec<_> = (0..20).map(counts).collect();
        is_over.store(true, Relaxed);
        counts
    });
    let expected: Vec<_> = (6..26).map(|features| vec![features; 3]).collect();
    assert_eq!(counts, expected);
}

fn geometry_keeps_its_id_at_every_zoom_and_after_updates(engine: Engine) {
    let map = Map::open(engine);
    let park =
        |side: f64| feature(json!("park"), square(PARIS.0, PARIS.1, side), json!({ "park": true }));
    let layer = text(
        &map.post(
            "",
            &collection(&[
                feature(json!("tower"), point(2.2945, 48.8584), json!({ "park": false })),
                park(0.01),
            ]),
        )["layerId"],
    )
    .to_owned();
    let ids = |map: &Map| {
        let mut ids: Vec<u64> = Vec::new();
        for z in 0..=18 {
            let features = map.features_in(&layer, tile_of_paris(z));
            ids.extend(
                features
                    .iter()
                    .filter(|f| f.properties.get("park") == Some(&json!(true)))
                    .filter_map(|f| f.id),
            );
        }
        assert_eq!(ids.len(), 19, "the geometry is in its tile at every zoom");
        ids.dedup();
        ids
    };
    let first = ids(&map);
    assert_eq!(first.len(), 1);
    map.post("", &park(0.02));
    assert_eq!(ids(&map), first);
    // A feature that has no geometry for a while keeps its id too.
    map.post("", &feature(json!("park"), Value::Null, json!({ "park": true })));
    map.post("", &park(0.01));
    assert_eq!(ids(&map), first);
}

fn properties_keep_their_types_in_tiles(engine: Engine) {
    let map = Map::open(engine);
    let properties = json!({
        "text": "Chêne", "empty": "", "int": 7, "negative": -7, "large": 9_007_199_254_740_993_u64,
        "double": 1.5, "whole": 2.0, "yes": true, "no": false, "none": null,
        "list": [1, "a", null], "object": { "a": { "b": 1 } },
    });
    let layer = text(
        &map.post("", &feature(json!(1), point(PARIS.0, PARIS.1), properties.clone()))["layerId"],
    )
    .to_owned();
    let counts = map.features_in(&layer, tile_of_paris(12)).remove(0);
    let mut expected = properties;
    let fields = expected.as_object_mut().unwrap();
    fields.remove("none");
    fields["list"] = json!("[1,\"a\",null]");
    fields["object"] = json!("{\"a\":{\"b\":1}}");
    assert_eq!(json!(counts.properties), expected);
}

fn geometry_types_are_kept_in_tiles(engine: Engine) {
    let map = Map::open(engine);
    let (x, y) = PARIS;
    let line = json!([[x, y], [x + 0.01, y + 0.01]]);
    let hole = json!({ "type": "Polygon", "coordinates": [
        [[x, y], [x + 0.02, y], [x + 0.02, y + 0.02], [x, y + 0.02], [x, y]],
        [[x + 0.005, y + 0.005], [x + 0.015, y + 0.005], [x + 0.015, y + 0.015], [x + 0.005, y + 0.015], [x + 0.005, y + 0.005]],
    ] });
    let far = square(x + 0.03, y, 0.01);
    let shapes = [
        (point(x, y), vec![(Kind::Points, 1)]),
        (json!({ "type": "MultiPoint", "coordinates": line }), vec![(Kind::Points, 1)]),
        (json!({ "type": "LineString", "coordinates": line }), vec![(Kind::Lines, 1)]),
        (
            json!({ "type": "MultiLineString", "coordinates": [line, [[x, y + 0.01], [x + 0.01, y]]] }),
            vec![(Kind::Lines, 2)],
        ),
        (hole.clone(), vec![(Kind::Polygons, 2)]),
        (
            json!({ "type": "MultiPolygon", "coordinates": [hole["coordinates"], far["coordinates"]] }),
            vec![(Kind::Polygons, 3)],
        ),
        (
            json!({ "type": "GeometryCollection", "geometries": [
            hole, point(x, y), { "type": "LineString", "coordinates": line },
        ] }),
            vec![(Kind::Points, 1), (Kind::Lines, 1), (Kind::Polygons, 2)],
        ),
    ];
    for (geometry, paths) in shapes {
        let layer =
            text(&map.post("", &feature(json!(1), geometry.clone(), json!({ "k": 1 })))["layerId"])
                .to_owned();
        let mut features = map.features_in(&layer, tile_of_paris(10));
        features.sort_by_key(|feature| feature.kind);
        let counts: Vec<_> =
            features.iter().map(|feature| (feature.kind, feature.paths.len())).collect();
        assert_eq!(counts, paths, "{geometry}");
        assert!(features.iter().all(|feature| feature.properties["k"] == json!(1)));
        for rings in
            features.iter().filter(|feature| feature.kind == Kind::Polygons).map(|f| &f.paths)
        {
            let signs: Vec<_> = rings.iter().map(|ring| mvt::area(ring) > 0).collect();
            assert_eq!(
                signs,
                [true, false, true][..rings.len()],
                "inner rings have the opposite winding order"
            );
        }
    }
}

fn tiles_do_not_depend_on_the_cache_size(engine: Engine) {
    let (mut map, layer) = start_with_points(engine, 300);
    let tiles: Vec<Tile> = (0..=18).map(tile_of_paris).collect();
    let bodies =
        |map: &Map| tiles.iter().map(|tile| map.tile(&layer, *tile).body).collect::<Vec<_>>();
    let usual = bodies(&map);
    for bytes in ["0", "4000"] {
        map.server.kill();
        map.server.serve_with(&[("GROMA_LIMITS__TILE_CACHE_BYTES", bytes)]);
        assert!(bodies(&map) == usual && bodies(&map) == usual, "a cache of {bytes} bytes");
    }
}

fn concurrent_requests_get_equal_tiles(engine: Engine) {
    let (map, layer) = start_with_points(engine, 500);
    let path = tile_path(&layer, tile_of_paris(10));
    let responses: Vec<Response> = thread::scope(|scope| {
        let (map, path) = (&map, &path);
        let request = |index: usize| {
            let encoding = ["identity", "gzip", "br", "zstd"][index % 4];
            scope.spawn(move || map.get_with(path, &[("Accept-Encoding", encoding)]))
        };
        let threads: Vec<_> = (0..32).map(request).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let first = decompress(&responses[0]);
    for response in &responses {
        assert!(response.status == 200 && decompress(response) == first);
    }
}

fn concurrent_requests_beyond_the_last_zoom_succeed(engine: Engine) {
    let (map, layer) = start_with_points(engine, 10);
    let (z, x, y) = tile_of_paris(20);
    thread::scope(|scope| {
        let (map, layer) = (&map, &layer);
        for column in 0..64 {
            scope.spawn(move || {
                for row in 0..4 {
                    let response = map.tile(layer, (z, x + column, y + row));
                    assert_eq!((response.status, response.body.len()), (200, 0));
                }
            });
        }
    });
}

fn tile_of_a_dense_area_is_complete(engine: Engine) {
    const FEATURES: u32 = 12_000;
    let map = Map::open(engine);
    let (z, x, y) = tile_of_paris(18);
    let across = f64::from(1_u32 << z);
    let west = f64::from(x) / across * 360.0 - 180.0;
    let middle = (PI * (1.0 - 2.0 * (f64::from(y) + 0.5) / across)).sinh().atan().to_degrees();
    let at = |index: u32| {
        let (column, row) = (f64::from(index % 120), f64::from(index / 120));
        point(west + 1e-4 + column * 8e-6, middle + (row - 50.0) * 5e-6)
    };
    let features: Vec<_> =
        (0..FEATURES).map(|index| feature(json!(index), at(index), json!({}))).collect();
    let layer = text(&map.post("", &collection(&features))["layerId"]).to_owned();
    assert_eq!(map.features_in(&layer, (z, x, y)).len(), FEATURES as usize);
}

fn deleted_layer_has_no_tiles(engine: Engine) {
    let (map, layer) = start_with_points(engine, 10);
    assert!(!map.features_in(&layer, tile_of_paris(14)).is_empty());
    map.server.run(&["layer", "delete", "submissions"]).expect_success();
    let response = wait_until(PATIENCE, || {
        let response = map.tile(&layer, tile_of_paris(14));
        if response.status == 200 { Err("it is still there".to_owned()) } else { Ok(response) }
    });
    response.assert_error(404, &format!("layer `{layer}` not found"));
    // The next post creates a new submissions layer.
    assert_ne!(post_points(&map, 1), layer);
    assert_eq!(map.count(), 1);
}

fn decode_features(bytes: &[u8]) -> Vec<mvt::Feature> {
    mvt::decode(bytes).map_or(Vec::new(), |layer| layer.features)
}

#[test]
fn both_engines_encode_identical_tiles() {
    let maps = [start_with_points(Engine::Sqlite, 400), start_with_points(Engine::Postgres, 400)];
    for z in 0..=18 {
        let [one, other] = [0, 1].map(|index| maps[index].0.tile(&maps[index].1, tile_of_paris(z)));
        assert_eq!((&one.body, etag(&one)), (&other.body, etag(&other)), "zoom {z}");
        assert!(!one.body.is_empty());
    }
}

#[test]
fn new_geometry_is_in_the_next_tile_of_another_replica() {
    let (map, layer) = start_with_points(Engine::Postgres, 5);
    let second = map.server.start_replica();
    let path = format!("{}{}", API, tile_path(&layer, tile_of_paris(14)));
    let request = || features_in(&second.geo().request("GET", &path).token(&map.token).send());
    assert_eq!(request().len(), 5);
    for number in 0..10_u32 {
        let at = point(PARIS.0 + f64::from(number) * 1e-4, PARIS.1 - 1e-4);
        map.post("", &feature(Value::Null, at, json!({ "new": number })));
        let features = request();
        assert_eq!(features.len(), 6 + number as usize);
        assert!(features.iter().any(|one| one.properties.get("new") == Some(&json!(number))));
        assert_eq!(map.features_in(&layer, tile_of_paris(14)), features);
    }
}
