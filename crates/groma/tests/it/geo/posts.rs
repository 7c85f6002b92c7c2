//! Posting geometries: what is answered, what replaces what, what is put right on the way.

use super::{Map, collection, feature, point, square, tile_at};
use crate::{
    client::encode,
    database::Engine,
    on_both_engines,
    sample::{self, ASSIGNMENT, FOLDER, is_uuid_v7, text},
};
use serde_json::{Value, json};
use std::io::Read;

/// The counts of an answer: received, created, updated, unchanged.
#[track_caller]
fn counts(answer: &Value) -> [u64; 4] {
    ["received", "created", "updated", "unchanged"].map(|name| answer[name].as_u64().unwrap())
}

fn names(answer: &Value) -> Vec<&str> {
    answer.as_object().unwrap().keys().map(String::as_str).collect()
}

/// What a map shows of one geometry at zoom 18: its box, in degrees.
fn bbox(map: &Map, geometry: &Value) -> Value {
    map.post("", &feature(Value::Null, geometry.clone(), json!({})))["bbox"].clone()
}

/// Whether the two boxes are the same, up to a centimetre.
#[track_caller]
fn same_place(found: &Value, wanted: [f64; 4]) {
    let found: Vec<f64> = found.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect();
    assert_eq!(found.len(), 4);
    for (found, wanted) in found.iter().zip(wanted) {
        assert!((found - wanted).abs() < 1e-7, "{found} is not {wanted}");
    }
}

on_both_engines! {
    fn the_answer_has_the_fields_of_the_contract(engine: Engine) {
        let map = Map::open(engine);
        let answer = map.post("", &collection(&[
            feature(json!(7), point(2.5, 48.5), json!({})),
            feature(Value::Null, square(3.0, 47.0, 0.5), Value::Null),
            feature(json!("gone"), Value::Null, json!({})),
        ]));
        assert_eq!(names(&answer), ["layerId", "received", "created", "updated", "unchanged", "bbox", "geometries", "truncated"]);
        let geometries = answer["geometries"].as_array().unwrap();
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
            "truncated": false,
        });
        assert_eq!(answer, expected);
        let nothing = map.post("", &collection(&[]));
        assert_eq!((counts(&nothing), &nothing["bbox"], &nothing["geometries"]), ([0; 4], &Value::Null, &json!([])));
    }

    fn every_type_of_geojson_is_taken(engine: Engine) {
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
            for answer in [bare, one, many] {
                assert_eq!(counts(&answer), [1, 1, 0, 0]);
                assert_eq!(answer["geometries"][0]["type"], geometry["type"]);
            }
        }
        assert_eq!(map.count(), 21);
        assert_eq!(map.layer("Submissions")["geometryType"], "Mixed");
    }

    fn a_feature_with_an_id_replaces_the_one_it_names(engine: Engine) {
        let map = Map::open(engine);
        let at = |id: Value, x: f64| feature(id, point(x, 48.0), json!({ "x": x }));
        let first = map.post("", &at(json!(1), 2.0));
        assert_eq!(counts(&first), [1, 1, 0, 0]);
        // A number and its text are one id; so are two spellings of a number.
        let id = &first["geometries"][0]["id"];
        for (spelling, x) in [(json!("1"), 3.0), (json!(1), 4.0), (json!(1.0), 5.0)] {
            let again = map.post("", &at(spelling.clone(), x));
            assert_eq!(counts(&again), [1, 0, 1, 0], "{spelling}");
            assert_eq!((&again["geometries"][0]["id"], &again["geometries"][0]["externalId"]), (id, &json!("1")));
            assert_eq!(again["bbox"], json!([x, 48.0, x, 48.0]));
        }
        assert_eq!(map.count(), 1);
        let layer = text(&first["layerId"]).to_owned();
        assert_eq!(map.drawn(&layer, tile_at(18, 5.0, 48.0))[0].properties["x"], json!(5.0));
        assert_eq!(map.drawn(&layer, tile_at(18, 2.0, 48.0)), []);
        // Another text is another id, and in another layer it is another geometry.
        assert_eq!(counts(&map.post("", &at(json!("1.0"), 2.0))), [1, 1, 0, 0]);
        assert_eq!(counts(&map.post("", &at(json!("01"), 2.0))), [1, 1, 0, 0]);
        map.make_layer("Other");
        assert_eq!(counts(&map.post("?layer=other", &at(json!(1), 2.0))), [1, 1, 0, 0]);
        // Without an id it is always a new one.
        for _ in 0..2 {
            assert_eq!(counts(&map.post("", &at(Value::Null, 2.0))), [1, 1, 0, 0]);
        }
        assert_eq!(map.count(), 5);
    }

    fn posting_a_file_twice_is_safe(engine: Engine) {
        let map = Map::open(engine);
        let features: Vec<_> = (0..1500_u32)
            .map(|n| feature(json!(n), point(f64::from(n % 90), f64::from(n / 90)), json!({ "n": n, "s": ["a", null] })))
            .collect();
        let file = collection(&features);
        let first = map.post("", &file);
        let layer = map.layer("Submissions");
        let again = map.post("", &file);
        assert_eq!((counts(&first), counts(&again)), ([1500, 1500, 0, 0], [1500, 0, 0, 1500]));
        assert_eq!((&again["geometries"], &again["bbox"]), (&first["geometries"], &first["bbox"]));
        assert_eq!(map.layer("Submissions"), layer, "not even its revision");
        // One of them changed: one counts as changed.
        let mut features = features;
        features[777]["properties"]["n"] = json!("other");
        features[778]["geometry"] = Value::Null;
        features.push(feature(Value::Null, point(0.0, 0.0), json!({})));
        assert_eq!(counts(&map.post("", &collection(&features))), [1501, 1, 2, 1498]);
        assert_eq!(map.count(), 1501);
    }

    fn the_list_is_cut_at_a_thousand(engine: Engine) {
        let map = Map::open(engine);
        let features = |count: u32| {
            let features: Vec<_> = (0..count).map(|n| feature(json!(n), point(2.0, 48.0), json!({}))).collect();
            collection(&features)
        };
        for (count, listed, truncated) in [(999, 999, false), (1000, 1000, false), (1001, 1000, true)] {
            let answer = map.post("", &features(count));
            assert_eq!(answer["received"], count);
            let geometries = answer["geometries"].as_array().unwrap();
            assert_eq!((geometries.len(), &answer["truncated"]), (listed, &json!(truncated)));
            for (number, geometry) in geometries.iter().enumerate() {
                assert_eq!(geometry["externalId"], number.to_string(), "in the order they were sent");
            }
        }
        assert_eq!(map.count(), 1001);
    }

    fn the_same_id_twice_in_a_body_is_refused(engine: Engine) {
        let map = Map::open(engine);
        map.post("", &feature(json!(1), point(2.0, 48.0), json!({})));
        for (first, second) in [(json!(1), json!(1)), (json!(1), json!("1")), (json!("a"), json!("a")), (json!(2.0), json!("2"))] {
            let body = collection(&[
                feature(first, point(2.0, 48.0), json!({})),
                feature(json!("other"), point(2.0, 48.0), json!({})),
                feature(second, point(3.0, 48.0), json!({})),
            ]);
            assert_eq!(map.try_post("", body.to_string()).spots(), ["/features/2/id"]);
        }
        // Also when there are many between them.
        let mut features: Vec<_> = (0..12_000).map(|n| feature(json!(n), Value::Null, json!({}))).collect();
        features.push(feature(json!("5"), Value::Null, json!({})));
        assert_eq!(map.try_post("", collection(&features).to_string()).spots(), ["/features/12000/id"]);
        assert_eq!(map.count(), 1);
    }

    fn what_a_parameter_names_must_be_there(engine: Engine) {
        let map = Map::open(engine);
        sample::fill(&map.office);
        map.post("", &point(2.0, 48.0));
        let body = point(2.0, 48.0).to_string();
        let nobody = uuid::Uuid::now_v7();
        for (query, name) in [
            ("?layer=nowhere".to_owned(), "layer"), (format!("?layer={nobody}"), "layer"), ("?layer=".to_owned(), "layer"),
            ("?folder=nowhere".to_owned(), "folder"), (format!("?folder={nobody}"), "folder"), ("?folder=".to_owned(), "folder"),
            ("?assignment=nowhere".to_owned(), "assignment"), (format!("?assignment={nobody}"), "assignment"),
            (format!("?folder=F-000001&assignment={ASSIGNMENT}"), "assignment"),
            (format!("?folder={ASSIGNMENT}"), "folder"), (format!("?assignment={FOLDER}"), "assignment"),
            ("?layer=submissions&layer=submissions".to_owned(), "layer"),
            (format!("?folder={FOLDER}&folder={FOLDER}"), "folder"),
            ("?layer=%FF".to_owned(), "layer"), ("?folder=%00".to_owned(), "folder"),
        ] {
            let message = map.try_post(&query, body.clone()).error(400);
            assert!(message.starts_with(&format!("{name} ")), "{query}: {message}");
        }
        assert_eq!(map.count(), 1);
        for query in [
            "?layer=submissions".to_owned(), format!("?folder={FOLDER}"), format!("?assignment={ASSIGNMENT}"),
            format!("?folder={FOLDER}&assignment={ASSIGNMENT}&layer=submissions"), "?unknown=1&unknown=2".to_owned(),
            format!("?folder={}", encode(FOLDER)),
        ] {
            assert_eq!(counts(&map.try_post(&query, body.clone()).ok()), [1, 1, 0, 0], "{query}");
        }
    }

    fn one_bad_feature_and_nothing_is_kept(engine: Engine) {
        let map = Map::open(engine);
        let good = |id: u32| feature(json!(id), point(2.0, 48.0), json!({ "first": true }));
        map.post("", &collection(&[good(0), good(1)]));
        let before = map.layer("Submissions");
        let mut features: Vec<_> = (0..3000).map(good).collect();
        features[0]["properties"]["first"] = json!(false);
        for place in [0, 1500, 2999] {
            let mut features = features.clone();
            features[place]["geometry"]["coordinates"] = json!([0, 91]);
            let spots = map.try_post("", collection(&features).to_string()).spots();
            assert_eq!(spots, [format!("/features/{place}/geometry/coordinates/1")]);
            assert_eq!(map.layer("Submissions"), before);
        }
        assert_eq!(counts(&map.post("", &good(0))), [1, 0, 0, 1]);
    }

    fn up_to_twenty_spots_are_told_in_their_order(engine: Engine) {
        let map = Map::open(engine);
        let bad = |count: usize| {
            let bad = feature(Value::Null, json!({ "type": "Point", "coordinates": [0, "x"] }), json!({}));
            let good = feature(Value::Null, point(0.0, 0.0), json!({}));
            let features: Vec<_> = (0..=2 * count).map(|n| if n % 2 == 1 { &bad } else { &good }.clone()).collect();
            collection(&features).to_string()
        };
        for (count, told) in [(1, 1), (3, 3), (20, 20), (21, 20), (500, 20)] {
            let expected: Vec<_> = (0..told).map(|n| format!("/features/{}/geometry/coordinates/1", 2 * n + 1)).collect();
            assert_eq!(map.try_post("", bad(count)).spots(), expected);
        }
    }

    fn what_needs_no_guess_is_put_right(engine: Engine) {
        let map = Map::open(engine);
        let (x, y) = (2.0, 48.0);
        let ring = |points: &[[f64; 2]]| json!({ "type": "Polygon", "coordinates": [points] });
        // A ring that runs the wrong way is drawn like the other.
        let (right, wrong) = (
            ring(&[[x, y], [x + 1.0, y], [x + 1.0, y + 1.0], [x, y]]),
            ring(&[[x, y], [x + 1.0, y + 1.0], [x + 1.0, y], [x, y]]),
        );
        let layer = text(&map.post("", &feature(json!(1), right, json!({})))["layerId"]).to_owned();
        let area = |map: &Map| crate::mvt::area(&map.drawn(&layer, tile_at(6, x, y))[0].paths[0]);
        let first = area(&map);
        map.post("", &feature(json!(1), wrong, json!({})));
        assert_eq!((area(&map), first > 0), (first, true));
        // Longitudes are wrapped.
        for (sent, kept) in [(190.0, -170.0), (-190.0, 170.0), (362.0, 2.0), (-539.0, -179.0), (540.0, 180.0)] {
            same_place(&bbox(&map, &point(sent, y)), [kept, y, kept, y]);
        }
        // Shapes across the antimeridian are cut there.
        let line = json!({ "type": "LineString", "coordinates": [[170.0, 10.0], [190.0, 10.0]] });
        same_place(&bbox(&map, &line), [-180.0, 10.0, 180.0, 10.0]);
        let answer = map.post("", &feature(json!("across"), square(179.0, 10.0, 2.0), json!({ "across": true })));
        same_place(&answer["bbox"], [-180.0, 10.0, 180.0, 12.0]);
        for (x, shown) in [(179.5, true), (-179.5, true), (0.0, false)] {
            let features = map.drawn(&layer, tile_at(8, x, 11.0));
            let found = features.iter().any(|one| one.properties.contains_key("across"));
            assert_eq!(found, shown, "at {x}");
        }
        // A byte order mark, heights and more, strangers.
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
        // Everything in another order.
        let turned = r#"{"features":[{"properties":{},"geometry":{"coordinates":[2,48],"type":"Point"},"type":"Feature"}],"type":"FeatureCollection"}"#;
        assert_eq!(counts(&map.try_post("", turned).ok()), [1, 1, 0, 0]);
    }

    fn a_legacy_crs_is_reprojected(engine: Engine) {
        let map = Map::open(engine);
        let in_crs = |name: &str, x: f64, y: f64| {
            let crs = json!({ "type": "name", "properties": { "name": name } });
            let features = [feature(Value::Null, point(x, y), json!({}))];
            json!({ "type": "FeatureCollection", "crs": crs, "features": features })
        };
        // The Eiffel tower: by IGN's Lambert-93, in Web Mercator, in degrees.
        for (name, x, y) in [
            ("urn:ogc:def:crs:EPSG::2154", 648_237.30, 6_862_271.68),
            ("EPSG:2154", 648_237.30, 6_862_271.68),
            ("urn:ogc:def:crs:EPSG::3857", 255_422.57, 6_250_868.9),
            ("urn:ogc:def:crs:OGC:1.3:CRS84", 2.2945, 48.8584),
        ] {
            let found = map.post("", &in_crs(name, x, y))["bbox"].clone();
            for (index, wanted) in [2.2945, 48.8584].iter().enumerate() {
                let off = found[index].as_f64().unwrap() - wanted;
                assert!(off.abs() < 2e-4, "{name}: {found}");
            }
        }
        let answer = map.try_post("", in_crs("EPSG:99999999", 1.0, 2.0).to_string());
        assert!(answer.spots()[0].starts_with("/crs"));
    }

    /// As GeoPandas writes it.
    fn a_legacy_crs_may_stand_behind_the_features(engine: Engine) {
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
        // More than would be told of if they were wrong, and more than is kept in memory.
        for count in [1, 30, 100_000] {
            let found = late("urn:ogc:def:crs:EPSG::2154", &vec![tower.clone(); count]).ok();
            assert_eq!((counts(&found), &found["bbox"]), ([count as u64, count as u64, 0, 0], &place));
        }
        let before = map.count();
        // What would pass for degrees is not taken for them.
        let origin = [point(1.0, 2.0)];
        assert_eq!(late("EPSG:3857", &origin).ok()["bbox"], early("EPSG:3857", &origin).ok()["bbox"]);
        assert_eq!(counts(&late("EPSG:3857", &[]).ok()), [0, 0, 0, 0]);
        assert_eq!(late("urn:ogc:def:crs:OGC:1.3:CRS84", &[point(1.0, 2.0)]).ok()["bbox"], json!([1.0, 2.0, 1.0, 2.0]));
        // What is wrong is told as if it stood before them.
        let far = point(1e12, 1e12);
        assert_eq!(late("EPSG:2154", &[tower.clone(), far, tower]).spots(), ["/features/1/geometry/coordinates"]);
        assert_eq!(late("CRS84", &[point(700_000.0, 2.0)]).spots(), ["/features/0/geometry/coordinates/0"]);
        let unknown = late("EPSG:99999999", &[point(700_000.0, 2.0)]).spots();
        assert_eq!(unknown, ["/features/0/geometry/coordinates/0", "/crs/properties/name"]);
        assert_eq!(map.count(), before + 3);
    }

    fn a_long_answer_comes_compressed(engine: Engine) {
        let map = Map::open(engine);
        let features: Vec<_> = (0..50).map(|n| feature(json!(n), point(2.0, 48.0), json!({}))).collect();
        let good = collection(&features).to_string();
        let bad = good.replace("48.0", "98.0");
        for (body, status) in [(good, 200), (bad, 400)] {
            let send = |encoding: &str| {
                let headers = [("Content-Type", "application/geo+json"), ("Accept-Encoding", encoding)];
                map.post_as("", body.clone(), &headers)
            };
            let answer = send("gzip");
            assert_eq!((answer.status, answer.header("content-encoding")), (status, Some("gzip")));
            assert_eq!(answer.header("vary"), Some("Accept-Encoding"));
            let mut plain = String::new();
            flate2::read::GzDecoder::new(&answer.body[..]).read_to_string(&mut plain).unwrap();
            let answer = send("identity");
            assert_eq!((answer.status, answer.header("content-encoding")), (status, None));
            assert_eq!(answer.header("vary"), Some("Accept-Encoding"));
            assert!(serde_json::from_str::<Value>(&plain).is_ok() && plain.len() > 1024, "{plain}");
        }
    }

    /// What a post takes depends on what it brings, not on what the layer holds already.
    fn a_post_into_a_full_layer_costs_what_it_brings(engine: Engine) {
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
        let before = map.office.program().peak_memory();
        // A crowd on one spot; then the field again, and each of it a little to the side.
        map.post("", &body("crowd", &|_| (2.0, 48.0)));
        map.post("", &body("more", &field));
        map.post("", &body("field", &|n| (field(n).0 + 5e-4, field(n).1)));
        let grown = map.office.program().peak_memory() - before;
        assert!(grown < 150 << 20, "it took {grown} bytes");
        assert_eq!(map.count(), 15_000);
    }
}

#[test]
fn both_engines_answer_alike() {
    let maps = [Map::open(Engine::Sqlite), Map::open(Engine::Postgres)];
    let mut names = [sample::Names::default(), sample::Names::default()];
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
        let mut said = Vec::new();
        for index in [0, 1] {
            let answer = maps[index].try_post("", body.clone());
            let layers = maps[index].get("/layers");
            let layers = names[index]
                .shorten(&layers.text())
                .replace(&maps[index].office.geo().authority(), "geo");
            said.push((answer.status, names[index].shorten(&answer.text()), layers));
        }
        assert_eq!(said[0], said[1], "{body}");
    }
}
