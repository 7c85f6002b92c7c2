//! Layers with a reference system of their own: coordinates come back exactly as they were sent.

use crate::on_both_engines;
use groma_testkit::{API, Engine, TestServer, server::NO_RATE_LIMIT};
use serde_json::{Value, json};

on_both_engines! {
    coordinates_come_back_with_the_same_digits
    unmoved_vertices_stay_exact_when_edited_in_wgs84
    geometry_in_another_system_is_transformed
    new_layer_keeps_the_system_of_the_file
    unsupported_systems_are_rejected
}

/// Systems, each with a position in its area of use, to the millimetre or finer.
const SYSTEMS: [(&str, f64, f64); 5] = [
    ("EPSG:2154", 652_381.327, 6_862_047.611),
    ("EPSG:2056", 2_600_072.341_2, 1_199_545.017_3),
    ("EPSG:31370", 148_931.219, 170_502.883),
    ("EPSG:27700", 530_034.567, 180_380.123),
    ("EPSG:5514", -742_013.289, -1_043_251.774),
];

/// A polygon, a line with heights of which one is missing, and a point.
fn features(x: f64, y: f64) -> Vec<Value> {
    let exact = |value: f64| (value * 1e4).round() / 1e4;
    let at = |dx: f64, dy: f64| json!([exact(x + dx), exact(y + dy)]);
    let high = |dx: f64, dy: f64, z: f64| json!([exact(x + dx), exact(y + dy), z]);
    let feature = |id: &str, kind: &str, coordinates: Value| {
        json!({ "type": "Feature", "id": id,
        "properties": { "id": id }, "geometry": { "type": kind, "coordinates": coordinates } })
    };
    vec![
        feature(
            "lot",
            "Polygon",
            json!([[
                at(0.0, 0.0),
                at(31.4159, 0.0),
                at(31.4159, 27.1828),
                at(0.0, 27.1828),
                at(0.0, 0.0)
            ]]),
        ),
        feature(
            "fence",
            "LineString",
            json!([high(0.0, 0.0, 412.125), at(10.0001, 0.0), high(20.0003, 5.0, 0.0)]),
        ),
        feature("mark", "Point", at(0.1234, 0.4321)),
    ]
}

fn file(crs: &str, features: &[Value]) -> String {
    json!({ "type": "FeatureCollection",
        "crs": { "type": "name", "properties": { "name": crs } }, "features": features })
    .to_string()
}

fn export(server: &TestServer, layer: &str, more: &[&str]) -> String {
    server.run(&[&["export", "layer", "-", "--layer", layer], more].concat()).expect_success()
}

/// The geometries of an exported file, in their order.
fn geometries(text: &str) -> Vec<Value> {
    let file: Value = serde_json::from_str(text).unwrap();
    let features = file["features"].as_array().unwrap();
    features.iter().map(|feature| feature["geometry"].clone()).collect()
}

/// Created, updated and unchanged features of an import.
fn import(server: &TestServer, layer: &str, contents: &str) -> [u64; 3] {
    let output = server.import_file("layer", "file.geojson", contents, &["--layer", layer]);
    let report: Value =
        serde_json::from_str(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    ["created", "updated", "unchanged"].map(|name| report[name].as_u64().unwrap())
}

fn post(server: &TestServer, layer: &str, body: &str) -> Value {
    let path = format!("{API}/geometries/geojson?layer={layer}");
    let request = server.geo().request("POST", &path).token(&server.create_token(&[]));
    request.header("Content-Type", "application/json").body(body).send().ok()
}

fn numbers(geometry: &Value) -> Vec<f64> {
    match geometry {
        Value::Array(items) => items.iter().flat_map(numbers).collect(),
        other => other.as_f64().into_iter().collect(),
    }
}

fn coordinates_come_back_with_the_same_digits(engine: Engine) {
    let server = TestServer::start_with(engine, &[NO_RATE_LIMIT]);
    for (crs, x, y) in SYSTEMS {
        let slug = crs.to_lowercase().replace(':', "-");
        server.run(&["layer", "create", crs, "--crs", crs]).expect_success();
        let features = features(x, y);
        let sent: Vec<_> = features.iter().map(|feature| feature["geometry"].clone()).collect();
        assert_eq!(import(&server, &slug, &file(crs, &features)), [3, 0, 0], "{crs}");
        let exported = export(&server, &slug, &[]);
        for (before, after) in sent.iter().zip(geometries(&exported)) {
            assert_eq!(numbers(&after["coordinates"]), numbers(&before["coordinates"]), "{crs}");
        }
        assert_eq!(import(&server, &slug, &exported), [0, 0, 3], "{crs}");
        let sequence = export(&server, &slug, &["--format", "geojsonseq"]);
        let again = server.import_file("layer", "f.geojsonl", &sequence, &["--layer", &slug]);
        assert_eq!(again.json()["unchanged"], 3, "{crs}");
        let posted = post(&server, &slug, &exported);
        assert_eq!((&posted["unchanged"], &posted["notices"]), (&json!(3), &json!([])), "{crs}");
        // In WGS 84, too, nothing changes.
        let in_wgs84 = export(&server, &slug, &["--crs", "OGC:CRS84"]);
        assert_eq!(import(&server, &slug, &in_wgs84), [0, 0, 3], "{crs}");
        assert_eq!(export(&server, &slug, &[]), exported, "{crs}");
    }
}

fn unmoved_vertices_stay_exact_when_edited_in_wgs84(engine: Engine) {
    let server = TestServer::start_with(engine, &[NO_RATE_LIMIT]);
    let (crs, x, y) = SYSTEMS[0];
    server.run(&["layer", "create", "Lots", "--crs", crs]).expect_success();
    let lot = &features(x, y)[..1];
    import(&server, "lots", &file(crs, lot));
    let mut in_wgs84: Value =
        serde_json::from_str(&export(&server, "lots", &["--crs", "OGC:CRS84"])).unwrap();
    let corner = &mut in_wgs84["features"][0]["geometry"]["coordinates"][0][2];
    *corner = json!([corner[0].as_f64().unwrap() + 0.001, corner[1].as_f64().unwrap()]);
    assert_eq!(import(&server, "lots", &in_wgs84.to_string()), [0, 1, 0]);
    let ring = |geometry: &Value| numbers(&geometry["coordinates"][0]);
    let (before, after) =
        (ring(&lot[0]["geometry"]), ring(&geometries(&export(&server, "lots", &[]))[0]));
    assert_eq!((&after[..4], &after[6..]), (&before[..4], &before[6..]));
    assert!((after[4] - before[4] - 73.0).abs() < 1.0, "{after:?}");
}

fn geometry_in_another_system_is_transformed(engine: Engine) {
    let server = TestServer::start_with(engine, &[NO_RATE_LIMIT]);
    server.run(&["layer", "create", "Marks", "--crs", "EPSG:2154"]).expect_success();
    let point = json!({ "type": "Feature", "id": "a", "properties": {},
        "geometry": { "type": "Point", "coordinates": [2.3522, 48.8566] } });
    post(&server, "marks", &point.to_string());
    let own = numbers(&geometries(&export(&server, "marks", &[]))[0]["coordinates"]);
    assert!((own[0] - 652_469.02).abs() < 0.01 && (own[1] - 6_862_035.26).abs() < 0.01, "{own:?}");
    let wgs84 = geometries(&export(&server, "marks", &["--crs", "EPSG:4326"]));
    assert_eq!(wgs84[0], point["geometry"]);
}

fn new_layer_keeps_the_system_of_the_file(engine: Engine) {
    let server = TestServer::start(engine);
    let (crs, x, y) = SYSTEMS[3];
    let contents = file(crs, &features(x, y));
    let keep = ["--layer", "Kept", "--keep-crs"];
    server.import_file("layer", "a.geojson", &contents, &keep).expect_success();
    server.import_file("layer", "a.geojson", &contents, &["--layer", "Plain"]).expect_success();
    let layers = server.run(&["layer", "list", "--json"]).json();
    assert_eq!((&layers[0]["crs"], &layers[1]["crs"]), (&json!("EPSG:27700"), &json!("OGC:CRS84")));
    assert!(export(&server, "kept", &[]).contains("urn:ogc:def:crs:EPSG::27700"));
    assert!(!export(&server, "plain", &[]).contains("crs"));
}

fn unsupported_systems_are_rejected(engine: Engine) {
    let server = TestServer::start(engine);
    for crs in ["EPSG:99999", "EPSG:4978", "Lambert"] {
        let output = server.run(&["layer", "create", "Lots", "--crs", crs]);
        assert_eq!(output.code, Some(2), "{output:?}");
        assert!(output.stderr.contains(crs), "{output:?}");
    }
}
