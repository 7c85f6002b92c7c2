//! `groma layer`, `groma import layer` and `groma export layer`.

use crate::{
    on_both_engines, sample_records, sample_records::ASSIGNMENT, sample_records::FOLDER,
    sample_records::is_time, sample_records::is_uuid_v7, sample_records::text,
};
use groma_testkit::{
    API, CommandOutput, Engine, Response, TestServer, mvt, server::NO_RATE_LIMIT,
    server::WORKSPACE, wait::PATIENCE, wait_until,
};
use serde_json::{Value, json};

const PARIS: (f64, f64) = (2.3522, 48.8566);

fn point(id: impl Into<Value>, x: f64, y: f64) -> Value {
    json!({ "type": "Feature", "id": id.into(), "geometry": { "type": "Point", "coordinates": [x, y] },
        "properties": { "name": "a point", "size": 1 } })
}

/// A collection with one feature per line.
fn collection(features: &[Value]) -> String {
    let lines: Vec<_> = features.iter().map(ToString::to_string).collect();
    format!("{{\"type\":\"FeatureCollection\",\"features\":[\n{}\n]}}\n", lines.join(",\n"))
}

fn sequence(features: &[Value]) -> String {
    features.iter().map(|feature| format!("{feature}\n")).collect()
}

/// Imports a file with these contents.
fn import(
    server: &TestServer,
    name: &str,
    contents: impl AsRef<[u8]>,
    more: &[&str],
) -> CommandOutput {
    server.import_file("layer", name, contents, more)
}

/// The numbers of created, updated, unchanged and rejected features.
#[track_caller]
fn counts(output: &CommandOutput) -> [u64; 4] {
    let report: Value =
        serde_json::from_str(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"));
    let count = |name: &str| report[name].as_u64().unwrap();
    let rejected = report["rejected"].as_array().unwrap().len() as u64;
    [count("created"), count("updated"), count("unchanged"), rejected]
}

fn layers(server: &TestServer) -> Vec<Value> {
    server.run(&["layer", "list", "--json"]).json().as_array().unwrap().clone()
}

#[track_caller]
fn layer(server: &TestServer, slug: &str) -> Value {
    let found = layers(server).into_iter().find(|layer| layer["slug"] == slug);
    found.unwrap_or_else(|| panic!("layer {slug} not found"))
}

/// An exported layer as text.
#[track_caller]
fn exported(server: &TestServer, layer: &str, format: &str) -> String {
    let export = ["export", "layer", "-", "--layer", layer, "--format", format];
    let mut text = server.run(&export).expect_success();
    text.push('\n');
    text
}

/// The features of an exported layer.
#[track_caller]
fn features(server: &TestServer, layer: &str) -> Vec<Value> {
    let collection: Value = serde_json::from_str(&exported(server, layer, "geojson")).unwrap();
    assert_eq!(collection["type"], "FeatureCollection");
    collection["features"].as_array().unwrap().clone()
}

/// Geometries and properties that are difficult to store exactly.
fn difficult_features() -> Vec<Value> {
    let feature = |id: &str, geometry: Value, properties: Value| json!({ "type": "Feature", "id": id, "geometry": geometry, "properties": properties });
    let ring = json!([[2.0, 48.0], [2.1, 48.0], [2.1, 48.1], [2.0, 48.1], [2.0, 48.0]]);
    let hole = json!([[2.02, 48.02], [2.02, 48.04], [2.04, 48.04], [2.04, 48.02], [2.02, 48.02]]);
    vec![
        feature("point", json!({ "type": "Point", "coordinates": [0.1, -1e-7] }), json!({})),
        feature(
            "height",
            json!({ "type": "Point", "coordinates": [2.123456789012, 48.000000000001, 12.5] }),
            json!({ "n": 1e100, "big": 12345678901234567u64, "small": -0.5, "text": "line\nbreak \"q\" é 🦀" }),
        ),
        feature(
            "points",
            json!({ "type": "MultiPoint", "coordinates": [[1.0, 2.0], [3.0, 4.0]] }),
            json!({ "nested": { "a": [1, "b", null] }, "null": null, "yes": true }),
        ),
        feature(
            "line",
            json!({ "type": "LineString", "coordinates": [[1.0, 2.0, 5.0], [3.0, 4.0, -6.25]] }),
            json!({ "": "empty name" }),
        ),
        feature(
            "lines",
            json!({ "type": "MultiLineString", "coordinates": [[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]]] }),
            json!({}),
        ),
        feature("hole", json!({ "type": "Polygon", "coordinates": [ring, hole] }), json!({})),
        feature(
            "polygons",
            json!({ "type": "MultiPolygon", "coordinates": [[ring, hole], [[[5.0, 5.0], [6.0, 5.0], [6.0, 6.0], [5.0, 5.0]]]] }),
            json!({}),
        ),
        feature(
            "collection",
            json!({ "type": "GeometryCollection", "geometries": [
                { "type": "Point", "coordinates": [1.0, 1.0] }, { "type": "LineString", "coordinates": [[1.0, 1.0], [2.0, 2.0]] }] }),
            json!({}),
        ),
        feature("nowhere", Value::Null, json!({ "why": "no place" })),
    ]
}

on_both_engines! {
    layer_can_be_created_listed_and_deleted
    layer_belongs_to_its_workspace
    layer_is_named_after_its_file
    importing_twice_changes_nothing
    file_extension_selects_the_format
    layer_can_be_imported_from_standard_input
    invalid_feature_is_reported_with_its_line_and_nothing_is_stored
    keep_good_stores_the_valid_features
    truncated_file_is_rejected_as_a_whole
    dry_run_stores_nothing
    other_reference_systems_are_reprojected_to_wgs_84
    features_are_linked_to_the_given_folder
    export_and_import_keep_features_equal
    empty_layer_can_be_exported
    large_file_is_imported_in_batches
    running_server_shows_an_import_by_another_process
}

fn layer_can_be_created_listed_and_deleted(engine: Engine) {
    let server = TestServer::start(engine);
    let created = server
        .run(&["layer", "create", "Réseau d'eau, 2e", "--workspace", WORKSPACE, "--json"])
        .json();
    assert!(is_uuid_v7(&created["id"]) && is_time(&created["createdAt"]), "{created}");
    assert_eq!(
        (&created["slug"], &created["name"]),
        (&json!("reseau-d-eau-2e"), &json!("Réseau d'eau, 2e"))
    );
    assert_eq!(
        (&created["featureCount"], &created["geometryType"], &created["bounds"]),
        (&json!(0), &json!(null), &json!(null))
    );
    let id = server.run(&["layer", "create", "Parcels"]).expect_success();
    assert!(is_uuid_v7(&json!(id)));
    server
        .run(&["layer", "create", "parcels!"])
        .expect_error("name gives the slug `parcels`, which is already in use");
    server.run(&["layer", "create", "  "]).expect_error("name must not be empty");
    let listed = layers(&server);
    assert_eq!(listed[0], created);
    assert_eq!((listed.len(), text(&listed[1]["id"])), (2, id.as_str()));
    let table = server.run(&["layer", "list"]).expect_success();
    assert!(table.starts_with("ID ") && table.contains("reseau-d-eau-2e"), "{table}");
    server.run(&["layer", "delete", "Parcels"]).expect_error("layer `Parcels` not found");
    server.run(&["layer", "delete", &id]).expect_success();
    server.run(&["layer", "delete", &id]).expect_error(&format!("layer `{id}` not found"));
    server.run(&["layer", "delete", "reseau-d-eau-2e", "--workspace", WORKSPACE]).expect_success();
    assert_eq!(layers(&server), [] as [Value; 0]);
}

fn layer_belongs_to_its_workspace(engine: Engine) {
    let server = TestServer::start(engine);
    server.create_workspace("Other");
    server.run(&["layer", "create", "Parcels", "--workspace", "Other"]).expect_success();
    server.run(&["layer", "create", "Parcels", "--workspace", WORKSPACE]).expect_success();
    server.run(&["layer", "delete", "parcels", "--workspace", "Other"]).expect_success();
    let left = server.run(&["layer", "list", "--workspace", WORKSPACE, "--json"]).json();
    assert_eq!(left.as_array().unwrap().len(), 1);
    let export = ["export", "layer", "-", "--layer", "parcels", "--workspace", "Other"];
    server.run(&export).expect_error("layer `parcels` not found");
}

fn layer_is_named_after_its_file(engine: Engine) {
    let server = TestServer::start(engine);
    let file = collection(&[point("a", 1.0, 2.0), point("b", 3.0, 4.0)]);
    let report = import(&server, "Chêne, parcelles.geojson", &file, &[]).json();
    let created = layer(&server, "chene-parcelles");
    assert_eq!(
        (&created["id"], &created["name"]),
        (&report["layerId"], &json!("Chêne, parcelles"))
    );
    assert_eq!((&created["featureCount"], &created["geometryType"]), (&json!(2), &json!("Point")));
    assert_eq!(
        (&created["bounds"], &created["fields"]),
        (&json!([1.0, 2.0, 3.0, 4.0]), &json!({ "name": "string", "size": "number" }))
    );
    import(&server, "CHENE - Parcelles.json", &file, &[]).expect_success();
    import(&server, "x.geojson", &file, &["--layer", "chene-parcelles"]).expect_success();
    import(&server, "x.geojson", &file, &["--layer", "Chêne, parcelles"]).expect_success();
    import(&server, "x.geojson", &file, &["--layer", text(&created["id"])]).expect_success();
    assert_eq!(layers(&server).len(), 1);
    import(&server, "x.geojson", &file, &["--layer", "Another"]).expect_success();
    assert_eq!(layer(&server, "another")["featureCount"], 2);
    let none = "0190e5a0-0000-7000-8000-000000000000";
    import(&server, "x.geojson", &file, &["--layer", none])
        .expect_error(&format!("layer `{none}` not found"));
    import(&server, "!.geojson", &file, &[]).expect_error(
        "layer `!`: name must contain a letter or a digit, and must not look like a UUID",
    );
}

fn importing_twice_changes_nothing(engine: Engine) {
    let server = TestServer::start(engine);
    let file = collection(&difficult_features());
    let all = difficult_features().len() as u64;
    assert_eq!(counts(&import(&server, "hard.geojson", &file, &[])), [all, 0, 0, 0]);
    let before = layers(&server);
    assert_eq!(counts(&import(&server, "hard.geojson", &file, &[])), [0, 0, all, 0]);
    assert_eq!(layers(&server), before, "the revision has not changed either");
    let changed = file.replace("no place", "a place");
    assert_eq!(counts(&import(&server, "hard.geojson", changed, &[])), [0, 1, all - 1, 0]);
    let output = server.run(&["import", "layer", "hard.geojson"]).expect_success();
    let (counts, published) = output.split_once('\n').unwrap();
    assert_eq!(counts, format!("0 created, 0 updated, {all} unchanged, 0 rejected"));
    let millis = published.strip_prefix("Published in ").and_then(|it| it.strip_suffix(" ms."));
    assert!(millis.unwrap().parse::<u64>().is_ok(), "{published}");
}

fn file_extension_selects_the_format(engine: Engine) {
    let server = TestServer::start(engine);
    let features = [point(1, 1.0, 2.0), point("2", 3.0, 4.0)];
    let (one, many) = (collection(&features), sequence(&features));
    let separated = many.replace("{\"type\":\"Feature\"", "\u{1e}{\"type\":\"Feature\"");
    for (name, contents) in [
        ("a.geojson", &one),
        ("a.json", &one),
        ("b.GeoJSON", &one),
        ("a.geojsonl", &many),
        ("a.ndjson", &many),
        ("a.jsonl", &many),
        ("a.geojsons", &separated),
    ] {
        let output = import(&server, name, contents, &["--layer", name]);
        assert_eq!(counts(&output), [2, 0, 0, 0], "{name}");
    }
    let output = import(&server, "a.txt", &one, &[]);
    output.expect_error("a.txt: unknown format; supported are geojson, geojsonseq, gpkg, shapefile, flatgeobuf, csv, kml, gpx, dxf; convert the file with `ogr2ogr -f GPKG out.gpkg a.txt`");
    assert_eq!(counts(&import(&server, "a.txt", &one, &["--format", "geojson"])), [2, 0, 0, 0]);
    assert_eq!(counts(&import(&server, "a.txt", &many, &["--format", "geojsonseq"])), [0, 0, 2, 0]);
    import(&server, "nothing.geojson", collection(&[]), &[]).expect_success();
    assert_eq!(layer(&server, "nothing")["featureCount"], 0);
    server.run(&["import", "layer", "nowhere.geojson"]).expect_failure();
}

fn layer_can_be_imported_from_standard_input(engine: Engine) {
    let server = TestServer::start(engine);
    let file = sequence(&[point(1, 1.0, 2.0), point(2, 3.0, 4.0)]);
    let import = ["import", "layer", "-", "--layer", "Piped", "--format", "geojsonseq", "--json"];
    assert_eq!(counts(&server.run_with_input(&file, &import)), [2, 0, 0, 0]);
    assert_eq!(layer(&server, "piped")["featureCount"], 2);
    server
        .run_with_input(&file, &["import", "layer", "-", "--layer", "Piped"])
        .expect_error("-: unknown format; set --format to one of geojson, geojsonseq, gpkg, shapefile, flatgeobuf, csv, kml, gpx, dxf");
}

fn invalid_feature_is_reported_with_its_line_and_nothing_is_stored(engine: Engine) {
    let server = TestServer::start(engine);
    let bad = json!({ "type": "Feature", "id": "bad", "properties": null,
        "geometry": { "type": "LineString", "coordinates": [[1.0, 2.0], [1.0, 200.0]] } });
    let features = [point("a", 1.0, 2.0), bad, point("c", 3.0, 4.0), point("a", 5.0, 6.0)];
    for (name, contents, numbers, pointers) in [
        (
            "one.geojson",
            collection(&features),
            [3, 5],
            ["/features/1/geometry/coordinates/1/1", "/features/3/id"],
        ),
        ("many.geojsonl", sequence(&features), [2, 4], ["/geometry/coordinates/1/1", "/id"]),
    ] {
        let output = import(&server, name, &contents, &[]);
        assert_eq!(output.code, Some(1), "{output:?}");
        assert_eq!(counts(&output), [0, 0, 0, 2]);
        let report: Value = serde_json::from_str(&output.stdout).unwrap();
        assert_eq!(report["layerId"], json!(null));
        let lines: Vec<_> = output.stderr.lines().collect();
        for (index, (line, pointer)) in numbers.iter().zip(pointers).enumerate() {
            let rejected = &report["rejected"][index];
            assert_eq!((&rejected["line"], text(&rejected["pointer"])), (&json!(line), pointer));
            let message = text(&rejected["message"]);
            assert_eq!(lines[index], format!("{name}:{line}: {pointer}: {message}"));
        }
        assert_eq!(lines[2], "groma: 2 features were rejected; nothing was imported");
        assert_eq!(layers(&server), [] as [Value; 0], "no layer is created either");
    }
}

fn keep_good_stores_the_valid_features(engine: Engine) {
    let server = TestServer::start(engine);
    let bad = json!({ "type": "Feature", "id": "b", "properties": {}, "geometry": { "type": "Point", "coordinates": [] } });
    let features = [point("a", 1.0, 2.0), bad, point("c", 3.0, 4.0)];
    let output = import(&server, "mixed.geojson", collection(&features), &["--keep-good"]);
    assert_eq!((output.code, counts(&output)), (Some(0), [2, 0, 0, 1]));
    assert_eq!(output.stderr.lines().count(), 1, "{}", output.stderr);
    assert!(
        output.stderr.starts_with("mixed.geojson:3: /features/1/geometry/coordinates"),
        "{}",
        output.stderr
    );
    let ids: Vec<_> = self::features(&server, "mixed").iter().map(|f| f["id"].clone()).collect();
    assert_eq!(ids, ["a", "c"]);
    let broken = sequence(&features).replace("\"id\":\"b\"", "\"id\":\"b\",,");
    let output = import(&server, "broken.ndjson", broken, &["--keep-good"]);
    assert_eq!(
        (output.code, counts(&output)),
        (Some(0), [2, 0, 0, 1]),
        "a line that is no JSON is one bad feature"
    );
}

fn truncated_file_is_rejected_as_a_whole(engine: Engine) {
    let server = TestServer::start(engine);
    let whole = collection(&[point("a", 1.0, 2.0), point("b", 3.0, 4.0)]);
    let cut = &whole[..whole.len() - 20];
    for more in [&[][..], &["--keep-good"]] {
        let output = import(&server, "cut.geojson", cut, more);
        assert_eq!(output.code, Some(1), "{output:?}");
        assert_eq!(output.stderr.lines().count(), 2, "{}", output.stderr);
    }
    let output = import(&server, "cut.geojson", "no JSON at all", &["--keep-good"]);
    assert!(
        output.stderr.ends_with(
            "\ngroma: cut.geojson: the file could not be read to the end; nothing was imported\n"
        ),
        "{}",
        output.stderr
    );
    assert_eq!(layers(&server), [] as [Value; 0]);
}

fn dry_run_stores_nothing(engine: Engine) {
    let server = TestServer::start(engine);
    let file = collection(&[point("a", 1.0, 2.0), point("b", 3.0, 4.0)]);
    let output = import(&server, "dry.geojson", &file, &["--dry-run"]);
    assert_eq!((output.code, counts(&output)), (Some(0), [2, 0, 0, 0]));
    let output = server.run(&["import", "layer", "dry.geojson", "--dry-run"]);
    assert_eq!(
        output.expect_success(),
        "2 features checked, 0 rejected. The import would create 2, update 0 and delete 0; 0 are unchanged."
    );
    assert_eq!(layers(&server), [] as [Value; 0]);
    let bad = file.replace("[1.0,2.0]", "[1.0]");
    let output = import(&server, "dry.geojson", bad, &["--dry-run", "--keep-good"]);
    assert_eq!((output.code, counts(&output)), (Some(1), [1, 0, 0, 1]));
    assert_eq!(layers(&server), [] as [Value; 0]);
}

fn other_reference_systems_are_reprojected_to_wgs_84(engine: Engine) {
    let server = TestServer::start(engine);
    let lambert = collection(&[point("a", 652469.02, 6862035.26)]);
    import(&server, "paris.geojson", &lambert, &["--crs", "EPSG:2154"]).expect_success();
    let at = features(&server, "paris")[0]["geometry"]["coordinates"].clone();
    let (x, y) = (at[0].as_f64().unwrap(), at[1].as_f64().unwrap());
    assert!((x - PARIS.0).abs() < 1e-6 && (y - PARIS.1).abs() < 1e-6, "{at}");
    // The file's own reference system takes precedence.
    let named = json!({ "type": "FeatureCollection", "crs": { "type": "name", "properties": { "name": "EPSG:4326" } },
        "features": [point("b", 2.0, 48.0)] });
    import(&server, "named.geojson", named.to_string(), &["--crs", "EPSG:2154"]).expect_success();
    assert_eq!(features(&server, "named")[0]["geometry"]["coordinates"], json!([2, 48]));
    // It can also be at the end of the file.
    let crs = json!({ "type": "name", "properties": { "name": "urn:ogc:def:crs:EPSG::2154" } });
    let features_first: Vec<_> = (0..30).map(|n| point(n, 652469.02, 6862035.26)).collect();
    let late = json!({ "type": "FeatureCollection", "features": features_first, "crs": crs });
    assert_eq!(counts(&import(&server, "late.geojson", late.to_string(), &[])), [30, 0, 0, 0]);
    assert_eq!(features(&server, "late")[29]["geometry"]["coordinates"], at);
    assert_eq!(import(&server, "metres.geojson", &lambert, &[]).code, Some(1));
    import(&server, "paris.geojson", &lambert, &["--crs", "EPSG:999999"]).expect_usage_error();
    import(&server, "paris.geojson", &lambert, &["--crs", "Lambert"]).expect_usage_error();
}

fn features_are_linked_to_the_given_folder(engine: Engine) {
    let server = TestServer::start_with(engine, &[NO_RATE_LIMIT]);
    sample_records::fill(&server);
    let token = server.create_full_token();
    let folder = format!("/folders/{FOLDER}");
    let file = collection(&[point("a", 1.0, 2.0), point("b", 3.0, 4.0)]);
    import(&server, "a.geojson", &file, &["--folder", FOLDER]).expect_success();
    server.get_until(&folder, &token, |response| {
        response.ok()["bbox"] == json!([1.0, 2.0, 3.0, 4.0])
    });
    let file = collection(&[point("a", -1.0, 2.0)]);
    import(&server, "b.geojson", &file, &["--assignment", ASSIGNMENT]).expect_success();
    server.get_until(&folder, &token, |response| {
        response.ok()["bbox"] == json!([-1.0, 2.0, 3.0, 4.0])
    });
    import(&server, "c.geojson", &file, &["--folder", "nowhere"])
        .expect_error("folder `nowhere` not found");
    import(&server, "c.geojson", &file, &["--assignment", "nowhere"])
        .expect_error("assignment `nowhere` not found");
    let elsewhere = ["--folder", "F-000001", "--assignment", ASSIGNMENT];
    import(&server, "c.geojson", &file, &elsewhere)
        .expect_error("assignment belongs to another folder");
    assert_eq!(layers(&server).len(), 2, "a rejected import leaves no layer");
}

fn export_and_import_keep_features_equal(engine: Engine) {
    let server = TestServer::start(engine);
    let mut sent = difficult_features();
    let mut bare = point("", 9.0, 9.0);
    bare.as_object_mut().unwrap().remove("id");
    sent.push(bare);
    import(&server, "a.geojson", collection(&sent), &[]).expect_success();
    let before = exported(&server, "a", "geojson");
    for (file, copy) in [("copy.geojson", "copy"), ("copy.geojsonl", "lines")] {
        server
            .run(&["export", "layer", file, "--layer", "a", "--workspace", WORKSPACE])
            .expect_success();
        assert!(!server.directory().join(format!("{file}.part")).exists());
        let import = ["import", "layer", file, "--layer", copy, "--json"];
        let all = sent.len() as u64;
        assert_eq!(counts(&server.run(&import)), [all, 0, 0, 0]);
        assert_eq!(exported(&server, copy, "geojson"), before, "{file}");
        assert_eq!(counts(&server.run(&import)), [0, 0, all, 0]);
    }
    let read = features(&server, "a");
    for (sent, read) in sent.iter().zip(&read).take(difficult_features().len()) {
        assert_eq!((&sent["id"], &sent["properties"]), (&read["id"], &read["properties"]));
        assert_eq!(plain(&sent["geometry"]), plain(&read["geometry"]));
    }
    assert!(is_uuid_v7(&read[read.len() - 1]["id"]));
    let lines = exported(&server, "a", "geojsonseq");
    assert_eq!(lines.lines().count(), sent.len());
    assert!(lines.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()));
}

fn empty_layer_can_be_exported(engine: Engine) {
    let server = TestServer::start(engine);
    server.run(&["layer", "create", "Empty"]).expect_success();
    assert_eq!(features(&server, "empty"), [] as [Value; 0]);
    assert_eq!(
        server
            .run(&["export", "layer", "-", "--layer", "empty", "--format", "geojsonseq"])
            .expect_success(),
        ""
    );
    server
        .run(&["export", "layer", "-", "--layer", "nothing"])
        .expect_error("layer `nothing` not found");
    server
        .run(&["export", "layer", "x.txt", "--layer", "empty"])
        .expect_error("x.txt: unknown format; set --format to one of geojson, geojsonseq, gpkg, shapefile, flatgeobuf, csv, kml, dxf");
}

fn large_file_is_imported_in_batches(engine: Engine) {
    let server = TestServer::start(engine);
    let at = |n: u32| point(n, f64::from(n % 200) * 0.01, f64::from(n / 200) * 0.01);
    let all: Vec<_> = (0..10_500).map(at).collect();
    assert_eq!(counts(&import(&server, "large.geojsonl", sequence(&all), &[])), [10_500, 0, 0, 0]);
    let large = layer(&server, "large");
    assert_eq!(
        (&large["featureCount"], &large["revision"]),
        (&json!(10_500), &json!(2)),
        "published once"
    );
    let exported = exported(&server, "large", "geojsonseq");
    assert_eq!(exported.lines().count(), 10_500);
    assert_eq!(counts(&import(&server, "large.geojsonl", exported, &[])), [0, 0, 10_500, 0]);
}

fn running_server_shows_an_import_by_another_process(engine: Engine) {
    let server = TestServer::start_with(engine, &[NO_RATE_LIMIT]);
    let token = server.create_token(&[]);
    let get =
        |path: &str| server.geo().request("GET", &format!("{API}{path}")).token(&token).send();
    assert_eq!(get("/layers").ok()["total"], 0);
    let get_until = |path: &str, condition: &dyn Fn(&Response) -> bool| {
        wait_until(PATIENCE, || {
            let response = get(path);
            if condition(&response) { Ok(response) } else { Err(format!("{path}: {response:?}")) }
        })
    };
    import(&server, "live.geojson", collection(&[point(1, PARIS.0, PARIS.1)]), &[])
        .expect_success();
    let layers_now = get_until("/layers", &|response| response.ok()["total"] == 1).content();
    assert_eq!(
        (&layers_now[0]["slug"], &layers_now[0]["featureCount"]),
        (&json!("live"), &json!(1))
    );
    let tile = format!("/layers/{}/mvt/0/0/0", text(&layers_now[0]["id"]));
    let count =
        |response: &Response| mvt::decode(&response.body).map_or(0, |layer| layer.features.len());
    get_until(&tile, &|response| count(response) == 1);
    import(&server, "live.geojson", collection(&[point(2, 100.0, 10.0)]), &[]).expect_success();
    get_until(&tile, &|response| count(response) == 2);
    server.run(&["layer", "delete", "live"]).expect_success();
    get_until(&tile, &|response| response.status == 404);
}

/// A geometry with normalized numbers: `2` equals `2.0`.
fn plain(value: &Value) -> Value {
    match value {
        Value::Number(number) => json!(number.as_f64()),
        Value::Array(items) => items.iter().map(plain).collect(),
        Value::Object(members) => {
            members.iter().map(|(name, value)| (name.clone(), plain(value))).collect()
        }
        other => other.clone(),
    }
}

#[test]
fn options_of_another_kind_are_usage_errors() {
    let server = TestServer::stopped(Engine::Sqlite, &[]);
    for usage in [
        &["import", "folders", "a.csv", "--layer", "x"][..],
        &["import", "folders", "a.csv", "--crs", "EPSG:2154"],
        &["import", "expenses", "a.csv", "--folder", "x"],
        &["import", "expenses", "a.csv", "--assignment", "x"],
        &["import", "folders", "a.csv", "--format", "geojson"],
        &["import", "layer", "a.xlsx", "--format", "xlsx"],
        &["import", "folders", "a.csv", "--mode", "replace"],
        &["import", "folders", "a.csv", "--id-field", "x"],
        &["import", "folders", "a.csv", "--source-layer", "x"],
        &["import", "folders", "a.csv", "--wkt-column", "x"],
        &["import", "folders", "a.csv", "--x-column", "x", "--y-column", "y"],
        &["import", "layer", "a.csv", "--x-column", "x"],
        &["import", "layer", "a.csv", "--x-column", "x", "--y-column", "y", "--wkt-column", "z"],
        &["import", "layer", "a.csv", "--sheet", "x"],
        &["import", "layer", "-", "--format", "geojson"],
        &["import", "layers", "a.geojson"],
        &["export", "layer", "a.geojson"],
        &["export", "folders", "a.csv", "--layer", "x"],
        &["layer"],
        &["layer", "create"],
        &["layer", "delete"],
    ] {
        server.run(usage).expect_usage_error();
    }
}
