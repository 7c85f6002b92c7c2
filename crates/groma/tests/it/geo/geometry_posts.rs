//! Posting geometries: the response, replaced features, and corrections.

use super::{Map, collection, feature, point, square, tile_at};
use crate::{
    on_both_engines, sample_records, sample_records::ASSIGNMENT, sample_records::FOLDER,
    sample_records::is_uuid_v7, sample_records::text,
};
use groma_testkit::{Engine, http::percent_encode, mvt};
use serde_json::{Value, json};
use std::io::Read;

/// The numbers of received, created, updated and unchanged features.
#[track_caller]
fn counts(response: &Value) -> [u64; 4] {
    ["received", "created", "updated", "unchanged"].map(|name| response[name].as_u64().unwrap())
}

fn names(response: &Value) -> Vec<&str> {
    response.as_object().unwrap().keys().map(String::as_str).collect()
}

/// The bounding box of a geometry in degrees.
fn bbox(map: &Map, geometry: &Value) -> Value {
    map.post("", &feature(Value::Null, geometry.clone(), json!({})))["bbox"].clone()
}

/// Asserts that two boxes are equal within a centimetre.
#[track_caller]
fn assert_same_box(found: &Value, expected: [f64; 4]) {
    let found: Vec<f64> = found.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect();
    assert_eq!(found.len(), 4);
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-7, "{found} differs from {expected}");
    }
}

on_both_engines! {
    response_has_the_fields_of_the_contract
    every_geojson_type_is_accepted
    feature_with_a_known_id_replaces_the_old_one
    posting_a_file_twice_changes_nothing
    spelling_of_properties_is_no_change
    response_lists_at_most_a_thousand_geometries
    repeated_id_in_a_body_is_rejected
    layer_folder_and_assignment_parameters_must_exist
    one_invalid_feature_rejects_the_whole_body
    at_most_twenty_errors_are_reported_in_order
    unambiguous_mistakes_are_corrected
    legacy_crs_is_reprojected
    legacy_crs_can_follow_the_features
    header_names_the_reference_system
    long_response_is_compressed
    posts_into_a_large_layer_create_and_update_features
}

fn response_has_the_fields_of_the_contract(engine: Engine) {
    let map = Map::open(engine);
    let response = map.post(
        "",
        &collection(&[
            feature(json!(7), point(2.5, 48.5), json!({})),
            feature(Value::Null, square(3.0, 47.0, 0.5), Value::Null),
            feature(json!("gone"), Value::Null, json!({})),
        ]),
    );
    assert_eq!(
        names(&response),
        [
            "layerId",
            "received",
            "created",
            "updated",
            "unchanged",
            "bbox",
            "geometries",
            "truncated",
            "notices",
            "noticeCount"
        ]
    );
    let geometries = response["geometries"].as_array().unwrap();
    let mut ids: Vec<_> = geometries.iter().map(|one| text(&one["id"])).collect();
    assert!(geometries.iter().all(|one| is_uuid_v7(&one["id"])));
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 3);
    let expected = json!({
        "layerId": map.layer("Submissions")["id"], "received": 3, "created": 3, "updated": 0, "unchanged": 0,
        "bbox": [2.5, 47.0, 3.5, 48.5],
        "geometries": [
            { "id": geometries[0]["id"], "externalId": "7", "type": "Point" },
            { "id": geometries[1]["id"], "externalId": null, "type": "Polygon" },
            { "id": geometries[2]["id"], "externalId": "gone", "type": null },
        ],
        "truncated": false, "notices": [], "noticeCount": 0,
    });
    assert_eq!(response, expected);
    let nothing = map.post("", &collection(&[]));
    assert_eq!(
        (counts(&nothing), &nothing["bbox"], &nothing["geometries"]),
        ([0; 4], &Value::Null, &json!([]))
    );
}

fn every_geojson_type_is_accepted(engine: Engine) {
    let map = Map::open(engine);
    let line = json!([[2, 48], [3, 49]]);
    let ring = square(2.0, 48.0, 1.0)["coordinates"].clone();
    let geometries = [
        point(2.0, 48.0),
        json!({ "type": "MultiPoint", "coordinates": line }),
        json!({ "type": "LineString", "coordinates": line }),
        json!({ "type": "MultiLineString", "coordinates": [line] }),
        json!({ "type": "Polygon", "coordinates": ring }),
        json!({ "type": "MultiPolygon", "coordinates": [ring] }),
        json!({ "type": "GeometryCollection", "geometries": [point(2.0, 48.0), { "type": "LineString", "coordinates": line }] }),
    ];
    for geometry in &geometries {
        let bare = map.post("", geometry);
        let one = map.post("", &feature(Value::Null, geometry.clone(), json!({})));
        let many = map.post("", &collection(&[feature(Value::Null, geometry.clone(), json!({}))]));
        for response in [bare, one, many] {
            assert_eq!(counts(&response), [1, 1, 0, 0]);
            assert_eq!(response["geometries"][0]["type"], geometry["type"]);
        }
    }
    assert_eq!(map.count(), 21);
    assert_eq!(map.layer("Submissions")["geometryType"], "Mixed");
}

fn feature_with_a_known_id_replaces_the_old_one(engine: Engine) {
    let map = Map::open(engine);
    let at = |id: Value, x: f64| feature(id, point(x, 48.0), json!({ "x": x }));
    let first = map.post("", &at(json!(1), 2.0));
    assert_eq!(counts(&first), [1, 1, 0, 0]);
    // A number and its text are the same id, and so are two spellings of a number.
    let id = &first["geometries"][0]["id"];
    for (spelling, x) in [(json!("1"), 3.0), (json!(1), 4.0), (json!(1.0), 5.0)] {
        let again = map.post("", &at(spelling.clone(), x));
        assert_eq!(counts(&again), [1, 0, 1, 0], "{spelling}");
        assert_eq!(
            (&again["geometries"][0]["id"], &again["geometries"][0]["externalId"]),
            (id, &json!("1"))
        );
        assert_eq!(again["bbox"], json!([x, 48.0, x, 48.0]));
    }
    assert_eq!(map.count(), 1);
    let layer = text(&first["layerId"]).to_owned();
    assert_eq!(map.features_in(&layer, tile_at(18, 5.0, 48.0))[0].properties["x"], json!(5.0));
    assert_eq!(map.features_in(&layer, tile_at(18, 2.0, 48.0)), []);
    // A different text is a different id, and the same id in another layer is another geometry.
    assert_eq!(counts(&map.post("", &at(json!("1.0"), 2.0))), [1, 1, 0, 0]);
    assert_eq!(counts(&map.post("", &at(json!("01"), 2.0))), [1, 1, 0, 0]);
    map.create_layer("Other");
    assert_eq!(counts(&map.post("?layer=other", &at(json!(1), 2.0))), [1, 1, 0, 0]);
    // A feature without an id is always new.
    for _ in 0..2 {
        assert_eq!(counts(&map.post("", &at(Value::Null, 2.0))), [1, 1, 0, 0]);
    }
    assert_eq!(map.count(), 5);
}

fn posting_a_file_twice_changes_nothing(engine: Engine) {
    let map = Map::open(engine);
    let features: Vec<_> = (0..1500_u32)
        .map(|n| {
            feature(
                json!(n),
                point(f64::from(n % 90), f64::from(n / 90)),
                json!({ "n": n, "s": ["a", null] }),
            )
        })
        .collect();
    let file = collection(&features);
    let first = map.post("", &file);
    let layer = map.layer("Submissions");
    let again = map.post("", &file);
    assert_eq!((counts(&first), counts(&again)), ([1500, 1500, 0, 0], [1500, 0, 0, 1500]));
    assert_eq!((&again["geometries"], &again["bbox"]), (&first["geometries"], &first["bbox"]));
    assert_eq!(map.layer("Submissions"), layer, "the revision has not changed either");
    // One changed feature counts as one update.
    let mut features = features;
    features[777]["properties"]["n"] = json!("other");
    features[778]["geometry"] = Value::Null;
    features.push(feature(Value::Null, point(0.0, 0.0), json!({})));
    assert_eq!(counts(&map.post("", &collection(&features))), [1501, 1, 2, 1498]);
    assert_eq!(map.count(), 1501);
}

fn response_lists_at_most_a_thousand_geometries(engine: Engine) {
    let map = Map::open(engine);
    let features = |count: u32| {
        let features: Vec<_> =
            (0..count).map(|n| feature(json!(n), point(2.0, 48.0), json!({}))).collect();
        collection(&features)
    };
    for (count, listed, truncated) in [(999, 999, false), (1000, 1000, false), (1001, 1000, true)] {
        let response = map.post("", &features(count));
        assert_eq!(response["received"], count);
        let geometries = response["geometries"].as_array().unwrap();
        assert_eq!((geometries.len(), &response["truncated"]), (listed, &json!(truncated)));
        for (number, geometry) in geometries.iter().enumerate() {
            assert_eq!(geometry["externalId"], number.to_string(), "in the order of the request");
        }
    }
    assert_eq!(map.count(), 1001);
}

fn repeated_id_in_a_body_is_rejected(engine: Engine) {
    let map = Map::open(engine);
    map.post("", &feature(json!(1), point(2.0, 48.0), json!({})));
    for (first, second) in [
        (json!(1), json!(1)),
        (json!(1), json!("1")),
        (json!("a"), json!("a")),
        (json!(2.0), json!("2")),
    ] {
        let body = collection(&[
            feature(first, point(2.0, 48.0), json!({})),
            feature(json!("other"), point(2.0, 48.0), json!({})),
            feature(second, point(3.0, 48.0), json!({})),
        ]);
        assert_eq!(map.try_post("", body.to_string()).error_pointers(), ["/features/2/id"]);
    }
    // Also with many features between them.
    let mut features: Vec<_> =
        (0..12_000).map(|n| feature(json!(n), Value::Null, json!({}))).collect();
    features.push(feature(json!("5"), Value::Null, json!({})));
    assert_eq!(
        map.try_post("", collection(&features).to_string()).error_pointers(),
        ["/features/12000/id"]
    );
    assert_eq!(map.count(), 1);
}

fn layer_folder_and_assignment_parameters_must_exist(engine: Engine) {
    let map = Map::open(engine);
    sample_records::fill(&map.server);
    map.post("", &point(2.0, 48.0));
    let body = point(2.0, 48.0).to_string();
    let nobody = uuid::Uuid::now_v7();
    for (query, name) in [
        ("?layer=nowhere".to_owned(), "layer"),
        (format!("?layer={nobody}"), "layer"),
        ("?layer=".to_owned(), "layer"),
        ("?folder=nowhere".to_owned(), "folder"),
        (format!("?folder={nobody}"), "folder"),
        ("?folder=".to_owned(), "folder"),
        ("?assignment=nowhere".to_owned(), "assignment"),
        (format!("?assignment={nobody}"), "assignment"),
        (format!("?folder=F-000001&assignment={ASSIGNMENT}"), "assignment"),
        (format!("?folder={ASSIGNMENT}"), "folder"),
        (format!("?assignment={FOLDER}"), "assignment"),
        ("?layer=submissions&layer=submissions".to_owned(), "layer"),
        (format!("?folder={FOLDER}&folder={FOLDER}"), "folder"),
        ("?layer=%FF".to_owned(), "layer"),
        ("?folder=%00".to_owned(), "folder"),
    ] {
        let message = map.try_post(&query, body.clone()).error(400);
        assert!(message.starts_with(&format!("{name} ")), "{query}: {message}");
    }
    assert_eq!(map.count(), 1);
    for query in [
        "?layer=submissions".to_owned(),
        format!("?folder={FOLDER}"),
        format!("?assignment={ASSIGNMENT}"),
        format!("?folder={FOLDER}&assignment={ASSIGNMENT}&layer=submissions"),
        "?unknown=1&unknown=2".to_owned(),
        format!("?folder={}", percent_encode(FOLDER)),
    ] {
        assert_eq!(counts(&map.try_post(&query, body.clone()).ok()), [1, 1, 0, 0], "{query}");
    }
}

fn one_invalid_feature_rejects_the_whole_body(engine: Engine) {
    let map = Map::open(engine);
    let good = |id: u32| feature(json!(id), point(2.0, 48.0), json!({ "first": true }));
    map.post("", &collection(&[good(0), good(1)]));
    let before = map.layer("Submissions");
    let mut features: Vec<_> = (0..3000).map(good).collect();
    features[0]["properties"]["first"] = json!(false);
    for place in [0, 1500, 2999] {
        let mut features = features.clone();
        features[place]["geometry"]["coordinates"] = json!([0, 91]);
        let spots = map.try_post("", collection(&features).to_string()).error_pointers();
        assert_eq!(spots, [format!("/features/{place}/geometry/coordinates/1")]);
        assert_eq!(map.layer("Submissions"), before);
    }
    assert_eq!(counts(&map.post("", &good(0))), [1, 0, 0, 1]);
}

fn at_most_twenty_errors_are_reported_in_order(engine: Engine) {
    let map = Map::open(engine);
    let bad = |count: usize| {
        let bad =
            feature(Value::Null, json!({ "type": "Point", "coordinates": [0, "x"] }), json!({}));
        let good = feature(Value::Null, point(0.0, 0.0), json!({}));
        let features: Vec<_> =
            (0..=2 * count).map(|n| if n % 2 == 1 { &bad } else { &good }.clone()).collect();
        collection(&features).to_string()
    };
    for (count, reported) in [(1, 1), (3, 3), (20, 20), (21, 20), (500, 20)] {
        let expected: Vec<_> = (0..reported)
            .map(|n| format!("/features/{}/geometry/coordinates/1", 2 * n + 1))
            .collect();
        assert_eq!(map.try_post("", bad(count)).error_pointers(), expected);
    }
}

fn unambiguous_mistakes_are_corrected(engine: Engine) {
    let map = Map::open(engine);
    let (x, y) = (2.0, 48.0);
    let ring = |points: &[[f64; 2]]| json!({ "type": "Polygon", "coordinates": [points] });
    // A ring with the wrong winding order gives the same tile.
    let (right, wrong) = (
        ring(&[[x, y], [x + 1.0, y], [x + 1.0, y + 1.0], [x, y]]),
        ring(&[[x, y], [x + 1.0, y + 1.0], [x + 1.0, y], [x, y]]),
    );
    let layer = text(&map.post("", &feature(json!(1), right, json!({})))["layerId"]).to_owned();
    let area = |map: &Map| mvt::area(&map.features_in(&layer, tile_at(6, x, y))[0].paths[0]);
    let first = area(&map);
    map.post("", &feature(json!(1), wrong, json!({})));
    assert_eq!((area(&map), first > 0), (first, true));
    // Longitudes are wrapped.
    for (sent, stored) in
        [(190.0, -170.0), (-190.0, 170.0), (362.0, 2.0), (-539.0, -179.0), (540.0, 180.0)]
    {
        assert_same_box(&bbox(&map, &point(sent, y)), [stored, y, stored, y]);
    }
    // Geometries that cross the antimeridian are cut there.
    let line = json!({ "type": "LineString", "coordinates": [[170.0, 10.0], [190.0, 10.0]] });
    assert_same_box(&bbox(&map, &line), [-180.0, 10.0, 180.0, 10.0]);
    let response = map
        .post("", &feature(json!("across"), square(179.0, 10.0, 2.0), json!({ "across": true })));
    assert_same_box(&response["bbox"], [-180.0, 10.0, 180.0, 12.0]);
    for (x, expected) in [(179.5, true), (-179.5, true), (0.0, false)] {
        let features = map.features_in(&layer, tile_at(8, x, 11.0));
        let found = features.iter().any(|one| one.properties.contains_key("across"));
        assert_eq!(found, expected, "at {x}");
    }
    // A byte order mark, extra ordinates and unknown members.
    let mut with_mark = b"\xEF\xBB\xBF".to_vec();
    with_mark.extend(point(x, y).to_string().bytes());
    map.try_post("", with_mark).ok();
    let high = json!({ "type": "Point", "coordinates": [x, y, 120.5, 7, 8, 9] });
    assert_eq!(bbox(&map, &high), json!([x, y, x, y]));
    let strangers = json!({
        "type": "FeatureCollection", "name": "x", "totalFeatures": 1, "links": [{ "a": [1] }], "bbox": [0, 0, 1, 1],
        "features": [{ "type": "Feature", "geometry": { "type": "Point", "coordinates": [x, y], "m": {} },
            "properties": null, "when": "now", "title": null }],
    });
    assert_eq!(counts(&map.post("", &strangers)), [1, 1, 0, 0]);
    // Members in an unusual order.
    let turned = r#"{"features":[{"properties":{},"geometry":{"coordinates":[2,48],"type":"Point"},"type":"Feature"}],"type":"FeatureCollection"}"#;
    assert_eq!(counts(&map.try_post("", turned).ok()), [1, 1, 0, 0]);
}

fn spelling_of_properties_is_no_change(engine: Engine) {
    let map = Map::open(engine);
    let body = |properties: &str| {
        format!(r#"{{"type":"Feature","id":"a","geometry":null,"properties":{properties}}}"#)
    };
    let sent = |properties: &str| counts(&map.try_post("", body(properties)).ok());
    assert_eq!(sent(r#"{"a":12.0,"b":{"x":1,"y":[1e2]}}"#), [1, 1, 0, 0]);
    assert_eq!(sent(r#"{"b":{"y":[100],"x":1.0},"a":12}"#), [1, 0, 0, 1]);
    assert_eq!(sent(r#"{"b":{"y":[100],"x":1.0},"a":12.5}"#), [1, 0, 1, 0]);
}

/// As the OGC API does, with the axis order of the authority.
fn header_names_the_reference_system(engine: Engine) {
    let map = Map::open(engine);
    let post = |uri: &str, x: f64, y: f64| {
        let body = feature(Value::Null, point(x, y), json!({}));
        let crs = format!("<http://www.opengis.net/def/crs/{uri}>");
        let headers = [("Content-Type", "application/geo+json"), ("Content-Crs", crs.as_str())];
        map.post_as("", body.to_string(), &headers)
    };
    for (uri, x, y) in [
        ("EPSG/0/2154", 648_237.30, 6_862_271.68),
        ("EPSG/0/4326", 48.8584, 2.2945),
        ("OGC/1.3/CRS84", 2.2945, 48.8584),
    ] {
        let found = post(uri, x, y).ok()["bbox"].clone();
        for (index, expected) in [2.2945, 48.8584].iter().enumerate() {
            let off = found[index].as_f64().unwrap() - expected;
            assert!(off.abs() < 2e-4, "{uri}: {found}");
        }
    }
    let unknown = post("EPSG/0/99999999", 1.0, 2.0);
    assert!(unknown.text().contains("Content-Crs: "), "{}", unknown.text());
    assert_eq!(unknown.status, 400);
}

fn legacy_crs_is_reprojected(engine: Engine) {
    let map = Map::open(engine);
    let in_crs = |name: &str, x: f64, y: f64| {
        let crs = json!({ "type": "name", "properties": { "name": name } });
        let features = [feature(Value::Null, point(x, y), json!({}))];
        json!({ "type": "FeatureCollection", "crs": crs, "features": features })
    };
    // The Eiffel Tower in Lambert-93, in Web Mercator and in degrees.
    for (name, x, y) in [
        ("urn:ogc:def:crs:EPSG::2154", 648_237.30, 6_862_271.68),
        ("EPSG:2154", 648_237.30, 6_862_271.68),
        ("urn:ogc:def:crs:EPSG::3857", 255_422.57, 6_250_868.9),
        ("urn:ogc:def:crs:OGC:1.3:CRS84", 2.2945, 48.8584),
    ] {
        let found = map.post("", &in_crs(name, x, y))["bbox"].clone();
        for (index, expected) in [2.2945, 48.8584].iter().enumerate() {
            let off = found[index].as_f64().unwrap() - expected;
            assert!(off.abs() < 2e-4, "{name}: {found}");
        }
    }
    let response = map.try_post("", in_crs("EPSG:99999999", 1.0, 2.0).to_string());
    assert!(response.error_pointers()[0].starts_with("/crs"));
}

/// GeoPandas writes files like this.
fn legacy_crs_can_follow_the_features(engine: Engine) {
    let map = Map::open(engine);
    let named = |name: &str| json!({ "type": "name", "properties": { "name": name } });
    let features = |geometries: &[Value]| -> Vec<Value> {
        geometries.iter().map(|one| feature(Value::Null, one.clone(), json!({}))).collect()
    };
    let late = |name: &str, geometries: &[Value]| {
        let body = json!({ "type": "FeatureCollection", "features": features(geometries), "crs": named(name) });
        map.try_post("", body.to_string())
    };
    let early = |name: &str, geometries: &[Value]| {
        let body = json!({ "type": "FeatureCollection", "crs": named(name), "features": features(geometries) });
        map.try_post("", body.to_string())
    };
    let tower = point(648_237.30, 6_862_271.68);
    let place = early("EPSG:2154", std::slice::from_ref(&tower)).ok()["bbox"].take();
    // More features than are reported as errors, and more than are kept in memory.
    for count in [1, 30, 100_000] {
        let found = late("urn:ogc:def:crs:EPSG::2154", &vec![tower.clone(); count]).ok();
        assert_eq!((counts(&found), &found["bbox"]), ([count as u64, count as u64, 0, 0], &place));
    }
    let before = map.count();
    // Coordinates in the range of degrees are reprojected too.
    let origin = [point(1.0, 2.0)];
    assert_eq!(late("EPSG:3857", &origin).ok()["bbox"], early("EPSG:3857", &origin).ok()["bbox"]);
    assert_eq!(counts(&late("EPSG:3857", &[]).ok()), [0, 0, 0, 0]);
    assert_eq!(
        late("urn:ogc:def:crs:OGC:1.3:CRS84", &[point(1.0, 2.0)]).ok()["bbox"],
        json!([1.0, 2.0, 1.0, 2.0])
    );
    // Errors are reported as if the CRS came first.
    let far = point(1e12, 1e12);
    assert_eq!(
        late("EPSG:2154", &[tower.clone(), far, tower]).error_pointers(),
        ["/features/1/geometry/coordinates"]
    );
    assert_eq!(
        late("CRS84", &[point(700_000.0, 2.0)]).error_pointers(),
        ["/features/0/geometry/coordinates/0"]
    );
    let unknown = late("EPSG:99999999", &[point(700_000.0, 2.0)]).error_pointers();
    assert_eq!(unknown, ["/features/0/geometry/coordinates/0", "/crs/properties/name"]);
    assert_eq!(map.count(), before + 3);
}

fn long_response_is_compressed(engine: Engine) {
    let map = Map::open(engine);
    let features: Vec<_> =
        (0..50).map(|n| feature(json!(n), point(2.0, 48.0), json!({}))).collect();
    let good = collection(&features).to_string();
    let bad = good.replace("48.0", "98.0");
    for (body, status) in [(good, 200), (bad, 400)] {
        let send = |encoding: &str| {
            let headers = [("Content-Type", "application/geo+json"), ("Accept-Encoding", encoding)];
            map.post_as("", body.clone(), &headers)
        };
        let response = send("gzip");
        assert_eq!((response.status, response.header("content-encoding")), (status, Some("gzip")));
        assert_eq!(response.header("vary"), Some("Accept-Encoding"));
        let mut plain = String::new();
        flate2::read::GzDecoder::new(&response.body[..]).read_to_string(&mut plain).unwrap();
        let response = send("identity");
        assert_eq!((response.status, response.header("content-encoding")), (status, None));
        assert_eq!(response.header("vary"), Some("Accept-Encoding"));
        assert!(serde_json::from_str::<Value>(&plain).is_ok() && plain.len() > 1024, "{plain}");
    }
}

fn posts_into_a_large_layer_create_and_update_features(engine: Engine) {
    const COUNT: u32 = 5_000;
    let map = Map::open(engine);
    let body = |name: &str, place: &dyn Fn(u32) -> (f64, f64)| {
        let one = |n: u32| {
            let (x, y) = place(n);
            feature(json!(format!("{name} {n}")), point(x, y), json!({ "n": n }))
        };
        collection(&(0..COUNT).map(one).collect::<Vec<_>>())
    };
    let field = |n: u32| (2.0 + f64::from(n % 71) * 1e-3, 48.0 + f64::from(n / 71) * 1e-3);
    map.post("", &body("field", &field));
    // Features on one spot, copies of the first ones, and moved features.
    map.post("", &body("spot", &|_| (2.0, 48.0)));
    map.post("", &body("copy", &field));
    map.post("", &body("field", &|n| (field(n).0 + 5e-4, field(n).1)));
    assert_eq!(map.count(), 15_000);
}

#[test]
fn both_engines_give_equal_responses() {
    let maps = [Map::open(Engine::Sqlite), Map::open(Engine::Postgres)];
    let mut names =
        [sample_records::Placeholders::default(), sample_records::Placeholders::default()];
    let bodies = [
        point(2.0, 48.0).to_string(),
        collection(&[
            feature(json!(1), square(2.0, 48.0, 0.1), json!({ "a": 1.50, "b": [1e5, "é"] })),
            feature(json!("é"), Value::Null, json!({ "a": "x" })),
        ])
        .to_string(),
        feature(
            json!("1"),
            point(-179.999_999_9, 85.3),
            json!({ "big": 123_456_789_012_345_678_u64 }),
        )
        .to_string(),
        "{}".to_owned(),
        collection(&vec![json!(7); 30]).to_string(),
        r#"{"type":"Point","coordinates":[0,NaN]}"#.to_owned(),
    ];
    for body in bodies {
        let mut results = Vec::new();
        for index in [0, 1] {
            let response = maps[index].try_post("", body.clone());
            let layers = maps[index].get("/layers");
            let layers = names[index]
                .replace_ids(&layers.text())
                .replace(&maps[index].server.geo().authority(), "geo");
            results.push((response.status, names[index].replace_ids(&response.text()), layers));
        }
        assert_eq!(results[0], results[1], "{body}");
    }
}
