//! `groma import layer` and `groma export layer` with the formats of other programs.

use crate::on_both_engines;
use groma_testkit::{CommandOutput, Engine, TestServer, server::WORKSPACE};
use serde_json::{Value, json};

on_both_engines! {
    exported_files_change_nothing_when_imported_again
    exported_files_in_another_system_change_nothing_when_imported_again
    moved_vertex_in_another_system_is_the_only_change
    layer_with_many_properties_is_imported_again
    ids_that_differ_in_case_are_different
    features_without_the_field_of_the_ids_are_rejected
    exported_files_create_equal_features_in_another_layer
    edited_copy_updates_replaces_or_only_adds
    dry_run_tells_what_an_import_would_do
    features_are_recognised_by_a_field
    coordinates_of_a_national_grid_come_back_exactly
    csv_has_coordinates_in_columns
    names_of_fields_that_look_like_formulas_are_escaped_in_csv
    columns_of_csv_with_the_geometry_are_chosen
    gpx_has_a_layer_for_each_kind
    broken_files_are_rejected_and_leave_no_layer
    locked_layer_cannot_be_replaced
}

/// The formats that carry ids.
const EXACT: [&str; 4] = ["geojson", "geojsonl", "gpkg", "fgb"];

fn feature(id: &str, geometry: Value, properties: Value) -> Value {
    let mut feature = json!({ "type": "Feature" });
    if !id.is_empty() {
        feature["id"] = json!(id);
    }
    feature["geometry"] = geometry;
    feature["properties"] = properties;
    feature
}

fn collection(features: &[Value]) -> String {
    json!({ "type": "FeatureCollection", "features": features }).to_string()
}

fn square(x: f64, y: f64) -> Value {
    json!([[x, y], [x + 0.01, y], [x + 0.01, y + 0.01], [x, y + 0.01], [x, y]])
}

/// Geometries of every type, and properties that a table cannot hold as they are.
fn difficult_features() -> Vec<Value> {
    let hole = json!([
        [2.002, 48.002],
        [2.002, 48.004],
        [2.004, 48.004],
        [2.004, 48.002],
        [2.002, 48.002]
    ]);
    let point = json!({ "type": "Point", "coordinates": [2.123456789012345, 48.000000000000014] });
    vec![
        feature("a", point.clone(), json!({ "z": 1, "Name": "é 🦀", "name": "lower", "mixed": 1 })),
        feature(
            "b",
            json!({ "type": "Point", "coordinates": [2.0, 48.0, 12.5] }),
            json!({ "name": null, "mixed": "x" }),
        ),
        feature(
            "c",
            json!({ "type": "LineString", "coordinates": [[2.0, 48.0, 5.0], [2.1, 48.1], [2.2, 48.2, 0.0]] }),
            json!({ "big": 9007199254740993_i64, "real": 0.1, "yes": true }),
        ),
        feature(
            "d",
            json!({ "type": "Polygon", "coordinates": [square(2.0, 48.0), hole] }),
            json!({ "nested": { "a": [1, null, "x"] }, "": "no name", "fid": 7, "groma_id": "mine" }),
        ),
        feature(
            "e",
            json!({ "type": "MultiPolygon", "coordinates": [[square(2.0, 48.0), hole], [square(3.0, 48.0)]] }),
            json!({ "yes": false, "real": 1e300, "z": -5, "text": "line\nbreak \"q\"" }),
        ),
        feature(
            "f",
            json!({ "type": "MultiPoint", "coordinates": [[2.0, 48.0], [2.1, 48.1]] }),
            json!({ "real": 2 }),
        ),
        feature(
            "g",
            json!({ "type": "MultiLineString", "coordinates": [[[2.0, 48.0], [2.1, 48.1]], [[2.2, 48.2], [2.3, 48.3]]] }),
            json!({}),
        ),
        feature(
            "h",
            json!({ "type": "GeometryCollection", "geometries": [point, { "type": "MultiPolygon", "coordinates": [[square(2.0, 48.0)]] }] }),
            json!({}),
        ),
        feature("i", Value::Null, json!({ "text": "" })),
        feature("", json!({ "type": "Point", "coordinates": [2.5, 48.5] }), json!({ "z": 3 })),
    ]
}

#[track_caller]
fn import(server: &TestServer, file: &str, more: &[&str]) -> [u64; 4] {
    let output = server
        .run(&[&["import", "layer", file, "--workspace", WORKSPACE, "--json"], more].concat());
    let report: Value =
        serde_json::from_str(&output.stdout).unwrap_or_else(|_| panic!("{file}: {output:?}"));
    assert_eq!(report["rejected"], json!([]), "{file}");
    ["created", "updated", "unchanged", "deleted"].map(|name| report[name].as_u64().unwrap())
}

fn import_text(
    server: &TestServer,
    name: &str,
    contents: impl AsRef<[u8]>,
    more: &[&str],
) -> CommandOutput {
    server.import_file("layer", name, contents, more)
}

#[track_caller]
fn export(server: &TestServer, layer: &str, file: &str) {
    let export = ["export", "layer", file, "--layer", layer, "--workspace", WORKSPACE];
    let output = server.run(&export);
    assert_eq!(output.code, Some(0), "{file}: {output:?}");
    assert!(!server.directory().join(format!("{file}.part")).exists());
}

/// The features of a layer, as GeoJSON.
fn features(server: &TestServer, layer: &str) -> Vec<Value> {
    let text = server.run(&["export", "layer", "-", "--layer", layer]).expect_success();
    let collection: Value = serde_json::from_str(&text).unwrap();
    collection["features"].as_array().unwrap().clone()
}

fn start_with_layer(engine: Engine, features: &[Value]) -> TestServer {
    let server = TestServer::start(engine);
    import_text(&server, "lots.geojson", collection(features), &[]).expect_success();
    server
}

fn exported_files_change_nothing_when_imported_again(engine: Engine) {
    let sent = difficult_features();
    let server = start_with_layer(engine, &sent);
    let before = features(&server, "lots");
    for format in EXACT {
        let file = format!("copy.{format}");
        export(&server, "lots", &file);
        for mode in ["add-and-update", "replace", "add-only"] {
            let counts = import(&server, &file, &["--layer", "lots", "--mode", mode]);
            assert_eq!(counts, [0, 0, sent.len() as u64, 0], "{file} {mode}");
        }
    }
    assert_eq!(features(&server, "lots"), before);
}

/// Exports a layer in a reference system.
#[track_caller]
fn export_in(server: &TestServer, layer: &str, crs: &str, file: &str) {
    let export = ["export", "layer", file, "--layer", layer, "--workspace", WORKSPACE];
    let output = server.run(&[&export[..], &["--crs", crs]].concat());
    assert_eq!(output.code, Some(0), "{file} {crs}: {output:?}");
}

fn exported_files_in_another_system_change_nothing_when_imported_again(engine: Engine) {
    let sent = difficult_features();
    let server = start_with_layer(engine, &sent);
    // A layer with a system of its own, whose features come from a file in that system and from one in WGS 84. The
    // ring is clockwise.
    let ring = json!([
        [652_000.123, 6_862_000.5],
        [652_000.123, 6_862_010.25],
        [652_010.0, 6_862_010.25],
        [652_000.123, 6_862_000.5]
    ]);
    let lot = feature("own", json!({ "type": "Polygon", "coordinates": [ring] }), json!({}));
    let own = json!({ "type": "FeatureCollection", "features": [lot],
        "crs": { "type": "name", "properties": { "name": "EPSG:2154" } } });
    let more = ["--layer", "Own", "--keep-crs"];
    import_text(&server, "own.geojson", own.to_string(), &more).expect_success();
    let more = ["--layer", "own"];
    import_text(&server, "more.geojson", collection(&sent), &more).expect_success();
    for (layer, count) in [("lots", sent.len()), ("own", sent.len() + 1)] {
        let before = features(&server, layer);
        for crs in ["EPSG:2154", "EPSG:3857", "EPSG:25831", "EPSG:4326"] {
            for format in EXACT {
                let file = format!("{layer}.{format}");
                export_in(&server, layer, crs, &file);
                let counts = import(&server, &file, &["--layer", layer, "--mode", "replace"]);
                assert_eq!(counts, [0, 0, count as u64, 0], "{file} {crs}");
            }
        }
        assert_eq!(features(&server, layer), before);
    }
}

fn moved_vertex_in_another_system_is_the_only_change(engine: Engine) {
    let line =
        json!({ "type": "LineString", "coordinates": [[2.5, 48.5], [2.1, 48.1], [2.2, 48.2]] });
    let server = start_with_layer(engine, &[feature("a", line.clone(), json!({}))]);
    let edit = |change: &dyn Fn(&mut Vec<Value>)| {
        export_in(&server, "lots", "EPSG:2154", "copy.geojson");
        let path = server.directory().join("copy.geojson");
        let text = std::fs::read_to_string(&path).unwrap();
        let mut copy: Value = serde_json::from_str(&text).unwrap();
        change(copy["features"][0]["geometry"]["coordinates"].as_array_mut().unwrap());
        std::fs::write(&path, copy.to_string()).unwrap();
        assert_eq!(import(&server, "copy.geojson", &["--layer", "lots"]), [0, 1, 0, 0]);
        features(&server, "lots")[0]["geometry"]["coordinates"].clone()
    };
    let moved = edit(&|positions| {
        positions[1][0] = json!(positions[1][0].as_f64().unwrap() + 1.0);
    });
    assert_eq!((&moved[0], &moved[2]), (&line["coordinates"][0], &line["coordinates"][2]));
    assert_ne!(moved[1], line["coordinates"][1]);
    assert!((moved[1][0].as_f64().unwrap() - 2.1).abs() < 1e-4, "{moved}");
    // With another number of vertices, the geometry is that of the file.
    let shorter = edit(&|positions| drop(positions.remove(1)));
    assert_eq!(shorter.as_array().unwrap().len(), 2);
    assert!((shorter[0][0].as_f64().unwrap() - 2.5).abs() < 1e-8, "{shorter}");
}

fn layer_with_many_properties_is_imported_again(engine: Engine) {
    let place = json!({ "type": "Point", "coordinates": [2.0, 48.0] });
    let wide = |id: &str, from: usize| {
        let names = (from..from + 900).map(|n| (format!("p{n}"), json!(n)));
        feature(id, place.clone(), Value::Object(names.collect()))
    };
    let server = start_with_layer(engine, &[wide("a", 0), wide("b", 900)]);
    for file in ["wide.gpkg", "wide.fgb", "wide.csv"] {
        export(&server, "lots", file);
        let crs: &[&str] = if file == "wide.csv" { &["--crs", "EPSG:4326"] } else { &[] };
        let again = [&["--layer", "lots"], crs].concat();
        assert_eq!(import(&server, file, &again), [0, 0, 2, 0], "{file}");
        let copy = file.replace('.', "-");
        let other = [&["--layer", copy.as_str()], crs].concat();
        assert_eq!(import(&server, file, &other), [2, 0, 0, 0], "{file}");
        // A feature can have fewer properties than its layer has.
        let found = features(&server, &copy);
        assert_eq!(found[1]["properties"].as_object().unwrap().len(), 900, "{file}");
    }
}

fn ids_that_differ_in_case_are_different(engine: Engine) {
    let point =
        |id: &str| feature(id, json!({ "type": "Point", "coordinates": [2.0, 48.0] }), json!({}));
    let server = start_with_layer(engine, &[point("ab"), point("AB"), point("")]);
    let replace = ["--layer", "lots", "--mode", "replace"];
    // Groma's own ids are the same in upper case.
    let own = features(&server, "lots")[2]["id"].as_str().unwrap().to_uppercase();
    std::fs::write(server.directory().join("a.geojson"), collection(&[point("AB"), point(&own)]))
        .unwrap();
    assert_eq!(import(&server, "a.geojson", &replace), [0, 0, 2, 1]);
    assert_eq!(features(&server, "lots")[0]["id"], "AB");
}

fn features_without_the_field_of_the_ids_are_rejected(engine: Engine) {
    let point = |id: &str, properties: Value| {
        feature(id, json!({ "type": "Point", "coordinates": [2.0, 48.0] }), properties)
    };
    let server = start_with_layer(
        engine,
        &[point("a", json!({ "lot": "1" })), point("b", json!({ "name": "x" }))],
    );
    let before = features(&server, "lots");
    let run = |file: &str, field: &str| {
        let import = ["import", "layer", file, "--workspace", WORKSPACE, "--layer", "lots"];
        let more = ["--crs", "EPSG:4326", "--id-field", field, "--keep-good", "--json"];
        server.run(&[&import[..], &more].concat())
    };
    for file in ["copy.geojson", "copy.geojsonl", "copy.kml", "copy.dxf", "copy.gpkg", "copy.fgb"] {
        export(&server, "lots", file);
        let output = run(file, "parcelno");
        assert_eq!(output.code, Some(1), "{file}: {output:?}");
        let message = format!("{file}: there is no field `parcelno`; the fields are ");
        assert!(output.stderr.contains(&message), "{output:?}");
        assert_eq!(features(&server, "lots"), before, "{file}");
    }
    for file in ["copy.geojson", "copy.geojsonl", "copy.kml", "copy.gpkg", "copy.fgb"] {
        let output = run(file, "lot");
        let report: Value = serde_json::from_str(&output.stdout).unwrap();
        let rejected = report["rejected"].as_array().unwrap();
        assert_eq!(rejected.len(), 1, "{file}: {report}");
        let message = "has no value for the field `lot`, which identifies it";
        assert_eq!(rejected[0]["message"], message, "{file}");
    }
    let null = collection(&[point("a", json!({ "lot": "1" })), point("b", json!({ "lot": null }))]);
    let more = ["--layer", "lots", "--id-field", "lot", "--dry-run"];
    let output = import_text(&server, "null.geojson", null, &more);
    let report: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(report["rejected"].as_array().unwrap().len(), 1, "{report}");
}

fn exported_files_create_equal_features_in_another_layer(engine: Engine) {
    let sent: Vec<_> = difficult_features().into_iter().take(8).collect();
    let server = start_with_layer(engine, &sent);
    let geometries = |layer: &str| {
        let mut found: Vec<_> = features(&server, layer)
            .into_iter()
            .map(|one| (one["id"].to_string(), one["geometry"].clone()))
            .collect();
        found.sort_by(|a, b| a.0.cmp(&b.0));
        found
    };
    let before = geometries("lots");
    for (format, more) in [("gpkg", &[][..]), ("fgb", &[]), ("csv", &["--crs", "EPSG:4326"])] {
        let file = format!("copy.{format}");
        export(&server, "lots", &file);
        let target = [&["--layer", format], more].concat();
        assert_eq!(import(&server, &file, &target)[0], sent.len() as u64, "{file}");
        assert_eq!(geometries(format), before, "{file}");
    }
    let names = |layer: &str| -> Vec<Value> {
        features(&server, layer).iter().map(|one| one["properties"]["Name"].clone()).collect()
    };
    assert_eq!(names("gpkg")[0], "é 🦀");
    // Shapefiles have one type of geometry each, KML has no collections of collections.
    export(&server, "lots", "copy.zip");
    for (layer, count) in
        [("Lots_points", 2), ("Lots_lines", 2), ("Lots_polygons", 2), ("Lots_multipoints", 1)]
    {
        let layer = layer.replace("Lots", "lots");
        let counts = import(&server, "copy.zip", &["--source-layer", &layer, "--layer", &layer]);
        assert_eq!(counts[0], count, "{layer}");
    }
    let found = geometries("lots-polygons");
    assert_eq!(found, before[3..5], "polygons");
    export(&server, "lots", "copy.kml");
    assert_eq!(import(&server, "copy.kml", &["--layer", "kml"])[0], sent.len() as u64);
    assert_eq!(geometries("kml")[..2], before[..2]);
    export(&server, "lots", "copy.dxf");
    assert!(import(&server, "copy.dxf", &["--layer", "dxf", "--crs", "EPSG:4326"])[0] > 8);
}

fn edited_copy_updates_replaces_or_only_adds(engine: Engine) {
    let point = |id: &str, x: f64, n: i64| {
        feature(id, json!({ "type": "Point", "coordinates": [x, 48.0] }), json!({ "n": n }))
    };
    let server =
        start_with_layer(engine, &[point("a", 2.0, 1), point("b", 2.1, 1), point("c", 2.2, 1)]);
    let csv = |rows: &str| format!("lon,lat,groma_id,n\n{rows}");
    let counts = |rows: &str, mode: &str| {
        let output =
            import_text(&server, "edit.csv", csv(rows), &["--layer", "lots", "--mode", mode]);
        let report: Value = serde_json::from_str(&output.stdout).unwrap();
        ["created", "updated", "unchanged", "deleted"].map(|name| report[name].as_u64().unwrap())
    };
    assert_eq!(counts("2.0,48,a,5\n2.3,48,d,1\n", "add-only"), [1, 0, 1, 0]);
    assert_eq!(features(&server, "lots")[0]["properties"]["n"], 1);
    assert_eq!(counts("2.0,48,a,5\n2.1,48,b,1\n", "add-and-update"), [0, 1, 1, 0]);
    assert_eq!(features(&server, "lots").len(), 4);
    assert_eq!(counts("2.0,48,a,5\n2.4,48,,1\n2.1,48,b,2\n", "replace"), [1, 1, 1, 2]);
    let left: Vec<_> =
        features(&server, "lots").iter().map(|one| one["properties"]["n"].clone()).collect();
    assert_eq!(left, [5, 2, 1]);
    let both = ["--layer", "lots", "--mode", "replace", "--keep-good"];
    assert_eq!(import_text(&server, "edit.csv", csv(""), &both).code, Some(2));
}

fn dry_run_tells_what_an_import_would_do(engine: Engine) {
    let point = |id: &str, x: f64| {
        feature(id, json!({ "type": "Point", "coordinates": [x, 48.0] }), json!({}))
    };
    let server = start_with_layer(engine, &[point("a", 2.0), point("b", 2.1), point("c", 2.2)]);
    let before = features(&server, "lots");
    let edited = collection(&[point("a", 2.0), point("b", 2.5), point("d", 2.6)]);
    let more = ["--layer", "lots", "--mode", "replace", "--dry-run"];
    let output = import_text(&server, "edit.geojson", &edited, &more);
    let report: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(
        ["created", "updated", "unchanged", "deleted"].map(|name| report[name].clone()),
        [1, 1, 1, 1]
    );
    assert_eq!(features(&server, "lots"), before);
    let output = import_text(&server, "other.geojson", &edited, &["--dry-run"]);
    let report: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(report["created"], 3);
    assert!(server.run(&["layer", "list", "--json"]).json().as_array().unwrap().len() == 1);
}

fn features_are_recognised_by_a_field(engine: Engine) {
    let server = TestServer::start(engine);
    let csv = |rows: &str| format!("lon,lat,parcel,owner\n{rows}");
    let by_parcel = ["--layer", "Lots", "--id-field", "parcel"];
    let counts = |rows: &str| {
        let output = import_text(&server, "lots.csv", csv(rows), &by_parcel);
        let report: Value = serde_json::from_str(&output.stdout).unwrap();
        ["created", "updated", "unchanged"].map(|name| report[name].as_u64().unwrap())
    };
    assert_eq!(counts("2.0,48,0012,Ann\n2.1,48,0013,\n"), [2, 0, 0]);
    assert_eq!(counts("2.0,48,0012,Ann\n2.1,48,0013,Bea\n"), [0, 1, 1]);
    assert_eq!(features(&server, "lots")[0]["id"], "0012");
    let output = import_text(&server, "lots.csv", csv("2.0,48,1,x\n2.1,48,1,y\n"), &by_parcel);
    assert_eq!(output.code, Some(1));
    let message = "lots.csv: feature 2: /id: `1` is already the id of an earlier feature";
    assert!(output.stderr.contains(message), "{output:?}");
    let unknown = ["--layer", "Lots", "--id-field", "lot"];
    import_text(&server, "lots.csv", csv(""), &unknown)
        .expect_error("lots.csv: there is no field `lot`; the fields are parcel, owner");
}

fn coordinates_of_a_national_grid_come_back_exactly(engine: Engine) {
    let server = TestServer::start(engine);
    let csv = "x;y;z;name\n652381,327;6862047,611;35,25;one\n652400.1234;6862000.0001;;two\n";
    let more = ["--layer", "Marks", "--crs", "EPSG:2154", "--keep-crs"];
    import_text(&server, "marks.csv", csv, &more).expect_success();
    let expected =
        [json!([652_381.327, 6_862_047.611, 35.25]), json!([652_400.123_4, 6_862_000.000_1])];
    let coordinates = || -> Vec<Value> {
        features(&server, "marks")
            .iter()
            .map(|one| one["geometry"]["coordinates"].clone())
            .collect()
    };
    assert_eq!(coordinates(), expected);
    for file in ["marks.gpkg", "marks.fgb", "marks.zip"] {
        export(&server, "marks", file);
        assert_eq!(import(&server, file, &["--layer", "marks"]), [0, 0, 2, 0], "{file}");
        let copy = ["--layer", file, "--keep-crs"];
        assert_eq!(import(&server, file, &copy), [2, 0, 0, 0], "{file}");
        let text = server
            .run(&["export", "layer", "-", "--layer", &file.replace('.', "-")])
            .expect_success();
        let copy: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(copy["crs"]["properties"]["name"], "urn:ogc:def:crs:EPSG::2154", "{file}");
        let found: Vec<_> = copy["features"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["geometry"]["coordinates"].clone())
            .collect();
        assert!(expected.iter().all(|one| found.contains(one)), "{file}: {found:?}");
    }
}

fn csv_has_coordinates_in_columns(engine: Engine) {
    let server = TestServer::start(engine);
    import_text(&server, "a.csv", "Longitude,Latitude,code,n\n2.5,48.5,007,1\n", &[])
        .expect_success();
    let found = &features(&server, "a")[0];
    assert_eq!(found["geometry"], json!({ "type": "Point", "coordinates": [2.5, 48.5] }));
    assert_eq!(found["properties"], json!({ "code": "007", "n": 1 }));
    let wkt = "wkt,name\n\"POLYGON ((2 48,3 48,3 49,2 48))\",caf\u{e9}\n0101000000000000000000F03F0000000000000040,wkb\n";
    let latin: Vec<u8> = wkt.chars().map(|letter| letter as u8).collect();
    import_text(&server, "b.csv", latin, &["--crs", "EPSG:4326"]).expect_success();
    let found = features(&server, "b");
    assert_eq!(found[0]["geometry"]["type"], "Polygon");
    assert_eq!(found[0]["properties"]["name"], "café");
    assert_eq!(found[1]["geometry"]["coordinates"], json!([1, 2]));
    import_text(&server, "c.csv", "x,y\n1,2\n", &[]).expect_error(
        "c.csv: the file does not name its reference system; name the reference system with --crs, for example --crs EPSG:2154",
    );
}

fn names_of_fields_that_look_like_formulas_are_escaped_in_csv(engine: Engine) {
    let place = json!({ "type": "Point", "coordinates": [2.0, 48.0] });
    let server = start_with_layer(engine, &[feature("a", place, json!({ "=1+1": "x" }))]);
    export(&server, "lots", "lots.csv");
    let text = std::fs::read_to_string(server.directory().join("lots.csv")).unwrap();
    assert_eq!(text.lines().next(), Some("wkt,groma_id,'=1+1"));
    let target = ["--layer", "copy", "--crs", "EPSG:4326"];
    assert_eq!(import(&server, "lots.csv", &target), [1, 0, 0, 0]);
    assert_eq!(features(&server, "copy")[0]["properties"], json!({ "=1+1": "x" }));
}

fn columns_of_csv_with_the_geometry_are_chosen(engine: Engine) {
    let server = TestServer::start(engine);
    let csv = "x,y,rechts,hoch,form,z\n1,2,2.5,48.5,POINT (3 49),7\n";
    let import = |name: &str, more: &[&str]| {
        import_text(&server, name, csv, &[&["--crs", "EPSG:4326"], more].concat())
    };
    import("a.csv", &["--x-column", "rechts", "--y-column", "hoch"]).expect_success();
    let found = &features(&server, "a")[0];
    assert_eq!(found["geometry"]["coordinates"], json!([2.5, 48.5, 7]));
    assert_eq!(found["properties"], json!({ "x": 1, "y": 2, "form": "POINT (3 49)" }));
    import("b.csv", &["--wkt-column", "form"]).expect_success();
    let found = &features(&server, "b")[0];
    assert_eq!(found["geometry"]["coordinates"], json!([3, 49]));
    assert_eq!(found["properties"]["rechts"], 2.5);
    import("c.csv", &["--wkt-column", "shape"]).expect_error("c.csv: there is no column `shape`");
    import("d.csv", &["--x-column", "x", "--y-column", "x"])
        .expect_error("d.csv: x and y must be in different columns");
    import("e.geojson", &["--wkt-column", "form"])
        .expect_error("e.geojson: only a CSV file has columns with coordinates or WKT");
    import("f.gpkg", &["--wkt-column", "form"])
        .expect_error("f.gpkg: only a CSV file has columns with coordinates or WKT");
    import_text(&server, "g.csv", "rechts,hoch\n1,2\n", &[]).expect_error(
        "g.csv: no column has a geometry; name the columns lon and lat, x and y, or wkt, or choose them with \
         --x-column and --y-column, or --wkt-column",
    );
}

fn gpx_has_a_layer_for_each_kind(engine: Engine) {
    let server = TestServer::start(engine);
    let gpx = r#"<?xml version="1.0"?><gpx xmlns="http://www.topografix.com/GPX/1/1">
        <wpt lat="48.5" lon="2.5"><ele>120.5</ele><name>Mark &amp; 1</name></wpt>
        <trk><name>Walk</name><trkseg><trkpt lat="48" lon="2"/><trkpt lat="48.1" lon="2.1"/></trkseg></trk></gpx>"#;
    import_text(&server, "walk.gpx", gpx, &[]).expect_error(
        "walk.gpx: the file contains several layers; choose one with --source-layer: waypoints, tracks",
    );
    import_text(&server, "walk.gpx", gpx, &["--source-layer", "waypoints"]).expect_success();
    let found = &features(&server, "waypoints")[0];
    assert_eq!(found["geometry"]["coordinates"], json!([2.5, 48.5, 120.5]));
    assert_eq!(found["properties"]["name"], "Mark & 1");
}

fn broken_files_are_rejected_and_leave_no_layer(engine: Engine) {
    let server = start_with_layer(engine, &difficult_features());
    for file in ["copy.gpkg", "copy.fgb", "copy.zip", "copy.kml", "copy.dxf"] {
        export(&server, "lots", file);
        let whole = std::fs::read(server.directory().join(file)).unwrap();
        let half = &whole[..whole.len() * 2 / 3];
        let more = ["--layer", "broken", "--crs", "EPSG:4326", "--source-layer", "lots_points"];
        let more = if file == "copy.zip" { &more[..] } else { &more[..4] };
        let output = import_text(&server, file, half, more);
        assert_eq!(output.code, Some(1), "{file}: {output:?}");
    }
    let bomb = "<?xml version=\"1.0\"?><!DOCTYPE kml [<!ENTITY a \"aaaa\">]><kml>&a;</kml>";
    let output = import_text(&server, "bomb.kml", bomb, &[]);
    assert!(
        output.stderr.contains("document type definitions and entities are not accepted"),
        "{output:?}"
    );
    assert_eq!(server.run(&["layer", "list", "--json"]).json().as_array().unwrap().len(), 1);
}

fn locked_layer_cannot_be_replaced(engine: Engine) {
    let server = start_with_layer(engine, &difficult_features());
    server.run(&["layer", "update", "lots", "--lock"]).expect_success();
    let output =
        import_text(&server, "none.csv", "lon,lat\n", &["--layer", "lots", "--mode", "replace"]);
    assert_eq!(output.code, Some(1), "{output:?}");
    assert_eq!(features(&server, "lots").len(), difficult_features().len());
}
