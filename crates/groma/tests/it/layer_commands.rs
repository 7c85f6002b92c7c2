//! `groma layer`, `groma import layer`, `groma export layer`.

use crate::{
    client::API,
    database::Engine,
    mvt,
    office::{Done, NO_LIMIT, Office, WORKSPACE, wait_until},
    on_both_engines,
    sample::{self, ASSIGNMENT, FOLDER, is_time, is_uuid_v7, text},
};
use serde_json::{Value, json};
use std::time::Duration;

const PARIS: (f64, f64) = (2.3522, 48.8566);

fn point(id: impl Into<Value>, x: f64, y: f64) -> Value {
    json!({ "type": "Feature", "id": id.into(), "geometry": { "type": "Point", "coordinates": [x, y] },
        "properties": { "name": "a point", "size": 1 } })
}

/// One feature a line, so that lines can be told.
fn collection(features: &[Value]) -> String {
    let lines: Vec<_> = features.iter().map(ToString::to_string).collect();
    format!("{{\"type\":\"FeatureCollection\",\"features\":[\n{}\n]}}\n", lines.join(",\n"))
}

fn sequence(features: &[Value]) -> String {
    features.iter().map(|feature| format!("{feature}\n")).collect()
}

/// Imports a file with these contents, and says how it went.
fn import(office: &Office, name: &str, contents: impl AsRef<[u8]>, more: &[&str]) -> Done {
    office.import_file("layer", name, contents, more)
}

/// How many were created, updated, unchanged and rejected.
#[track_caller]
fn counts(done: &Done) -> [u64; 4] {
    let report: Value =
        serde_json::from_str(&done.stdout).unwrap_or_else(|error| panic!("{error}: {done:?}"));
    let count = |name: &str| report[name].as_u64().unwrap();
    let rejected = report["rejected"].as_array().unwrap().len() as u64;
    [count("created"), count("updated"), count("unchanged"), rejected]
}

fn layers(office: &Office) -> Vec<Value> {
    office.groma(&["layer", "list", "--json"]).json().as_array().unwrap().clone()
}

#[track_caller]
fn layer(office: &Office, slug: &str) -> Value {
    let found = layers(office).into_iter().find(|layer| layer["slug"] == slug);
    found.unwrap_or_else(|| panic!("no layer {slug}"))
}

/// The text of an exported layer.
#[track_caller]
fn exported(office: &Office, layer: &str, format: &str) -> String {
    let export = ["export", "layer", "-", "--layer", layer, "--format", format];
    let mut text = office.groma(&export).succeeds();
    text.push('\n');
    text
}

/// The features of a layer, as an export tells them.
#[track_caller]
fn features(office: &Office, layer: &str) -> Vec<Value> {
    let collection: Value = serde_json::from_str(&exported(office, layer, "geojson")).unwrap();
    assert_eq!(collection["type"], "FeatureCollection");
    collection["features"].as_array().unwrap().clone()
}

/// Shapes and properties that are easy to get wrong.
fn hard_features() -> Vec<Value> {
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
    fn a_layer_is_made_listed_and_deleted(engine: Engine) {
        let office = Office::start(engine);
        let made = office.groma(&["layer", "create", "Réseau d'eau, 2e", "--workspace", WORKSPACE, "--json"]).json();
        assert!(is_uuid_v7(&made["id"]) && is_time(&made["createdAt"]), "{made}");
        assert_eq!((&made["slug"], &made["name"]), (&json!("reseau-d-eau-2e"), &json!("Réseau d'eau, 2e")));
        assert_eq!((&made["featureCount"], &made["geometryType"], &made["bounds"]), (&json!(0), &json!(null), &json!(null)));
        let id = office.groma(&["layer", "create", "Parcels"]).succeeds();
        assert!(is_uuid_v7(&json!(id)));
        office.groma(&["layer", "create", "parcels!"]).fails_with("name gives the slug `parcels`, which is taken");
        office.groma(&["layer", "create", "  "]).fails_with("name must not be empty");
        let listed = layers(&office);
        assert_eq!(listed[0], made);
        assert_eq!((listed.len(), text(&listed[1]["id"])), (2, id.as_str()));
        let table = office.groma(&["layer", "list"]).succeeds();
        assert!(table.starts_with("ID ") && table.contains("reseau-d-eau-2e"), "{table}");
        office.groma(&["layer", "delete", "Parcels"]).fails_with("layer `Parcels` not found");
        office.groma(&["layer", "delete", &id]).succeeds();
        office.groma(&["layer", "delete", &id]).fails_with(&format!("layer `{id}` not found"));
        office.groma(&["layer", "delete", "reseau-d-eau-2e", "--workspace", WORKSPACE]).succeeds();
        assert_eq!(layers(&office), [] as [Value; 0]);
    }

    fn a_layer_belongs_to_its_workspace(engine: Engine) {
        let office = Office::start(engine);
        office.create_workspace("Other");
        office.groma(&["layer", "create", "Parcels", "--workspace", "Other"]).succeeds();
        office.groma(&["layer", "create", "Parcels", "--workspace", WORKSPACE]).succeeds();
        office.groma(&["layer", "delete", "parcels", "--workspace", "Other"]).succeeds();
        let left = office.groma(&["layer", "list", "--workspace", WORKSPACE, "--json"]).json();
        assert_eq!(left.as_array().unwrap().len(), 1);
        let export = ["export", "layer", "-", "--layer", "parcels", "--workspace", "Other"];
        office.groma(&export).fails_with("layer `parcels` not found");
    }

    fn a_layer_is_named_after_its_file(engine: Engine) {
        let office = Office::start(engine);
        let file = collection(&[point("a", 1.0, 2.0), point("b", 3.0, 4.0)]);
        let report = import(&office, "Chêne, parcelles.geojson", &file, &[]).json();
        let made = layer(&office, "chene-parcelles");
        assert_eq!((&made["id"], &made["name"]), (&report["layerId"], &json!("Chêne, parcelles")));
        assert_eq!((&made["featureCount"], &made["geometryType"]), (&json!(2), &json!("Point")));
        assert_eq!((&made["bounds"], &made["fields"]), (&json!([1.0, 2.0, 3.0, 4.0]), &json!({ "name": "string", "size": "number" })));
        import(&office, "CHENE - Parcelles.json", &file, &[]).succeeds();
        import(&office, "x.geojson", &file, &["--layer", "chene-parcelles"]).succeeds();
        import(&office, "x.geojson", &file, &["--layer", "Chêne, parcelles"]).succeeds();
        import(&office, "x.geojson", &file, &["--layer", text(&made["id"])]).succeeds();
        assert_eq!(layers(&office).len(), 1);
        import(&office, "x.geojson", &file, &["--layer", "Another"]).succeeds();
        assert_eq!(layer(&office, "another")["featureCount"], 2);
        let none = "0190e5a0-0000-7000-8000-000000000000";
        import(&office, "x.geojson", &file, &["--layer", none]).fails_with(&format!("layer `{none}` not found"));
        import(&office, "!.geojson", &file, &[]).fails_with("layer `!`: name must hold a letter or a digit, and not have the shape of a UUID");
    }

    fn importing_twice_changes_nothing(engine: Engine) {
        let office = Office::start(engine);
        let file = collection(&hard_features());
        let all = hard_features().len() as u64;
        assert_eq!(counts(&import(&office, "hard.geojson", &file, &[])), [all, 0, 0, 0]);
        let before = layers(&office);
        assert_eq!(counts(&import(&office, "hard.geojson", &file, &[])), [0, 0, all, 0]);
        assert_eq!(layers(&office), before, "not even the revision moved");
        let changed = file.replace("no place", "a place");
        assert_eq!(counts(&import(&office, "hard.geojson", changed, &[])), [0, 1, all - 1, 0]);
        let done = office.groma(&["import", "layer", "hard.geojson"]);
        assert_eq!(done.succeeds(), format!("0 created, 0 updated, {all} unchanged, 0 rejected"));
    }

    fn every_ending_tells_its_format(engine: Engine) {
        let office = Office::start(engine);
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
            let done = import(&office, name, contents, &["--layer", name]);
            assert_eq!(counts(&done), [2, 0, 0, 0], "{name}");
        }
        let done = import(&office, "a.txt", &one, &[]);
        done.fails_with("a.txt: unknown format; set --format to geojson or geojsonseq");
        assert_eq!(counts(&import(&office, "a.txt", &one, &["--format", "geojson"])), [2, 0, 0, 0]);
        assert_eq!(counts(&import(&office, "a.txt", &many, &["--format", "geojsonseq"])), [0, 0, 2, 0]);
        import(&office, "nothing.geojson", collection(&[]), &[]).succeeds();
        assert_eq!(layer(&office, "nothing")["featureCount"], 0);
        office.groma(&["import", "layer", "nowhere.geojson"]).fails();
    }

    fn standard_input_is_a_file_too(engine: Engine) {
        let office = Office::start(engine);
        let file = sequence(&[point(1, 1.0, 2.0), point(2, 3.0, 4.0)]);
        let import = ["import", "layer", "-", "--layer", "Piped", "--format", "geojsonseq", "--json"];
        assert_eq!(counts(&office.groma_with(&file, &import)), [2, 0, 0, 0]);
        assert_eq!(layer(&office, "piped")["featureCount"], 2);
        office.groma_with(&file, &["import", "layer", "-", "--layer", "Piped"]).fails_with("-: unknown format; set --format to geojson or geojsonseq");
    }

    fn a_bad_feature_is_told_by_its_line_and_nothing_is_kept(engine: Engine) {
        let office = Office::start(engine);
        let bad = json!({ "type": "Feature", "id": "bad", "properties": null,
            "geometry": { "type": "LineString", "coordinates": [[1.0, 2.0], [1.0, 200.0]] } });
        let features = [point("a", 1.0, 2.0), bad, point("c", 3.0, 4.0), point("a", 5.0, 6.0)];
        for (name, contents, lines, pointers) in [
            ("one.geojson", collection(&features), [3, 5], ["/features/1/geometry/coordinates/1/1", "/features/3/id"]),
            ("many.geojsonl", sequence(&features), [2, 4], ["/geometry/coordinates/1/1", "/id"]),
        ] {
            let done = import(&office, name, &contents, &[]);
            assert_eq!(done.code, Some(1), "{done:?}");
            assert_eq!(counts(&done), [0, 0, 0, 2]);
            let report: Value = serde_json::from_str(&done.stdout).unwrap();
            assert_eq!(report["layerId"], json!(null));
            let told: Vec<_> = done.stderr.lines().collect();
            for (index, (line, pointer)) in lines.iter().zip(pointers).enumerate() {
                let rejected = &report["rejected"][index];
                assert_eq!((&rejected["line"], text(&rejected["pointer"])), (&json!(line), pointer));
                let message = text(&rejected["message"]);
                assert_eq!(told[index], format!("{name}:{line}: {pointer}: {message}"));
            }
            assert_eq!(told[2], "groma: 2 features were rejected; nothing was imported");
            assert_eq!(layers(&office), [] as [Value; 0], "not even the layer is made");
        }
    }

    fn what_is_good_is_kept_when_asked_for(engine: Engine) {
        let office = Office::start(engine);
        let bad = json!({ "type": "Feature", "id": "b", "properties": {}, "geometry": { "type": "Point", "coordinates": [] } });
        let features = [point("a", 1.0, 2.0), bad, point("c", 3.0, 4.0)];
        let done = import(&office, "mixed.geojson", collection(&features), &["--keep-good"]);
        assert_eq!((done.code, counts(&done)), (Some(0), [2, 0, 0, 1]));
        assert_eq!(done.stderr.lines().count(), 1, "{}", done.stderr);
        assert!(done.stderr.starts_with("mixed.geojson:3: /features/1/geometry/coordinates"), "{}", done.stderr);
        let ids: Vec<_> = self::features(&office, "mixed").iter().map(|f| f["id"].clone()).collect();
        assert_eq!(ids, ["a", "c"]);
        let broken = sequence(&features).replace("\"id\":\"b\"", "\"id\":\"b\",,");
        let done = import(&office, "broken.ndjson", broken, &["--keep-good"]);
        assert_eq!((done.code, counts(&done)), (Some(0), [2, 0, 0, 1]), "a line that is no JSON is one bad feature");
    }

    fn a_file_that_breaks_off_is_not_kept_in_part(engine: Engine) {
        let office = Office::start(engine);
        let whole = collection(&[point("a", 1.0, 2.0), point("b", 3.0, 4.0)]);
        let cut = &whole[..whole.len() - 20];
        for more in [&[][..], &["--keep-good"]] {
            let done = import(&office, "cut.geojson", cut, more);
            assert_eq!(done.code, Some(1), "{done:?}");
            assert_eq!(done.stderr.lines().count(), 2, "{}", done.stderr);
        }
        let done = import(&office, "cut.geojson", "no JSON at all", &["--keep-good"]);
        assert!(done.stderr.ends_with("\ngroma: cut.geojson: the file could not be read to the end; nothing was imported\n"), "{}", done.stderr);
        assert_eq!(layers(&office), [] as [Value; 0]);
    }

    fn a_dry_run_keeps_nothing(engine: Engine) {
        let office = Office::start(engine);
        let file = collection(&[point("a", 1.0, 2.0), point("b", 3.0, 4.0)]);
        let done = import(&office, "dry.geojson", &file, &["--dry-run"]);
        assert_eq!((done.code, counts(&done)), (Some(0), [0, 0, 0, 0]));
        let done = office.groma(&["import", "layer", "dry.geojson", "--dry-run"]);
        assert_eq!(done.succeeds(), "2 features checked, 0 rejected.");
        assert_eq!(layers(&office), [] as [Value; 0]);
        let bad = file.replace("[1.0,2.0]", "[1.0]");
        let done = import(&office, "dry.geojson", bad, &["--dry-run", "--keep-good"]);
        assert_eq!((done.code, counts(&done)), (Some(1), [0, 0, 0, 1]));
        assert_eq!(layers(&office), [] as [Value; 0]);
    }

    fn other_reference_systems_are_brought_to_wgs_84(engine: Engine) {
        let office = Office::start(engine);
        let lambert = collection(&[point("a", 652469.02, 6862035.26)]);
        import(&office, "paris.geojson", &lambert, &["--crs", "EPSG:2154"]).succeeds();
        let at = features(&office, "paris")[0]["geometry"]["coordinates"].clone();
        let (x, y) = (at[0].as_f64().unwrap(), at[1].as_f64().unwrap());
        assert!((x - PARIS.0).abs() < 1e-6 && (y - PARIS.1).abs() < 1e-6, "{at}");
        // What the file itself says counts for more.
        let named = json!({ "type": "FeatureCollection", "crs": { "type": "name", "properties": { "name": "EPSG:4326" } },
            "features": [point("b", 2.0, 48.0)] });
        import(&office, "named.geojson", named.to_string(), &["--crs", "EPSG:2154"]).succeeds();
        assert_eq!(features(&office, "named")[0]["geometry"]["coordinates"], json!([2, 48]));
        // Also when it says so at its end.
        let crs = json!({ "type": "name", "properties": { "name": "urn:ogc:def:crs:EPSG::2154" } });
        let features_first: Vec<_> = (0..30).map(|n| point(n, 652469.02, 6862035.26)).collect();
        let late = json!({ "type": "FeatureCollection", "features": features_first, "crs": crs });
        assert_eq!(counts(&import(&office, "late.geojson", late.to_string(), &[])), [30, 0, 0, 0]);
        assert_eq!(features(&office, "late")[29]["geometry"]["coordinates"], at);
        assert_eq!(import(&office, "metres.geojson", &lambert, &[]).code, Some(1));
        import(&office, "paris.geojson", &lambert, &["--crs", "EPSG:999999"]).is_wrong_usage();
        import(&office, "paris.geojson", &lambert, &["--crs", "Lambert"]).is_wrong_usage();
    }

    fn features_belong_to_the_folder_that_is_named(engine: Engine) {
        let office = Office::start_with(engine, &[NO_LIMIT]);
        sample::fill(&office);
        let token = office.master_token();
        let folder = format!("/folders/{FOLDER}");
        let file = collection(&[point("a", 1.0, 2.0), point("b", 3.0, 4.0)]);
        import(&office, "a.geojson", &file, &["--folder", FOLDER]).succeeds();
        office.within_a_second(&folder, &token, |answer| answer.ok()["bbox"] == json!([1.0, 2.0, 3.0, 4.0]));
        let file = collection(&[point("a", -1.0, 2.0)]);
        import(&office, "b.geojson", &file, &["--assignment", ASSIGNMENT]).succeeds();
        office.within_a_second(&folder, &token, |answer| answer.ok()["bbox"] == json!([-1.0, 2.0, 3.0, 4.0]));
        import(&office, "c.geojson", &file, &["--folder", "nowhere"]).fails_with("folder `nowhere` not found");
        import(&office, "c.geojson", &file, &["--assignment", "nowhere"]).fails_with("assignment `nowhere` not found");
        let elsewhere = ["--folder", "F-000001", "--assignment", ASSIGNMENT];
        import(&office, "c.geojson", &file, &elsewhere).fails_with("assignment belongs to another folder");
        assert_eq!(layers(&office).len(), 2, "no layer is left of an import that was refused");
    }

    fn an_export_reads_back_as_the_same_features(engine: Engine) {
        let office = Office::start(engine);
        let mut sent = hard_features();
        let mut bare = point("", 9.0, 9.0);
        bare.as_object_mut().unwrap().remove("id");
        sent.push(bare);
        import(&office, "a.geojson", collection(&sent), &[]).succeeds();
        let before = exported(&office, "a", "geojson");
        for (file, copy) in [("copy.geojson", "copy"), ("copy.geojsonl", "lines")] {
            office.groma(&["export", "layer", file, "--layer", "a", "--workspace", WORKSPACE]).succeeds();
            assert!(!office.folder().join(format!("{file}.part")).exists());
            let import = ["import", "layer", file, "--layer", copy, "--json"];
            let all = sent.len() as u64;
            assert_eq!(counts(&office.groma(&import)), [all, 0, 0, 0]);
            assert_eq!(exported(&office, copy, "geojson"), before, "{file}");
            assert_eq!(counts(&office.groma(&import)), [0, 0, all, 0]);
        }
        let read = features(&office, "a");
        for (sent, read) in sent.iter().zip(&read).take(hard_features().len()) {
            assert_eq!((&sent["id"], &sent["properties"]), (&read["id"], &read["properties"]));
            assert_eq!(plain(&sent["geometry"]), plain(&read["geometry"]));
        }
        assert!(is_uuid_v7(&read[read.len() - 1]["id"]));
        let lines = exported(&office, "a", "geojsonseq");
        assert_eq!(lines.lines().count(), sent.len());
        assert!(lines.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()));
    }

    fn an_empty_layer_is_exported_as_such(engine: Engine) {
        let office = Office::start(engine);
        office.groma(&["layer", "create", "Empty"]).succeeds();
        assert_eq!(features(&office, "empty"), [] as [Value; 0]);
        assert_eq!(office.groma(&["export", "layer", "-", "--layer", "empty", "--format", "geojsonseq"]).succeeds(), "");
        office.groma(&["export", "layer", "-", "--layer", "nothing"]).fails_with("layer `nothing` not found");
        office.groma(&["export", "layer", "x.txt", "--layer", "empty"]).fails_with("x.txt: unknown format; set --format to geojson or geojsonseq");
    }

    fn a_large_file_goes_in_in_parts(engine: Engine) {
        let office = Office::start(engine);
        let at = |n: u32| point(n, f64::from(n % 200) * 0.01, f64::from(n / 200) * 0.01);
        let all: Vec<_> = (0..10_500).map(at).collect();
        assert_eq!(counts(&import(&office, "large.geojsonl", sequence(&all), &[])), [10_500, 0, 0, 0]);
        let large = layer(&office, "large");
        assert_eq!((&large["featureCount"], &large["revision"]), (&json!(10_500), &json!(3)), "two parts");
        let exported = exported(&office, "large", "geojsonseq");
        assert_eq!(exported.lines().count(), 10_500);
        assert_eq!(counts(&import(&office, "large.geojsonl", exported, &[])), [0, 0, 10_500, 0]);
    }

    fn a_running_server_shows_it_within_a_second(engine: Engine) {
        let office = Office::start_with(engine, &[NO_LIMIT]);
        let token = office.token(&[]);
        let get = |path: &str| office.geo().ask("GET", &format!("{API}{path}")).token(&token).send();
        assert_eq!(get("/layers").ok()["total"], 0);
        let within_a_second = |path: &str, wanted: &dyn Fn(&crate::client::Answer) -> bool| {
            wait_until(Duration::from_secs(1), || {
                let answer = get(path);
                if wanted(&answer) { Ok(answer) } else { Err(format!("{path}: {answer:?}")) }
            })
        };
        import(&office, "live.geojson", collection(&[point(1, PARIS.0, PARIS.1)]), &[]).succeeds();
        let shown = within_a_second("/layers", &|answer| answer.ok()["total"] == 1).content();
        assert_eq!((&shown[0]["slug"], &shown[0]["featureCount"]), (&json!("live"), &json!(1)));
        let tile = format!("/layers/{}/mvt/0/0/0", text(&shown[0]["id"]));
        let count = |answer: &crate::client::Answer| mvt::read(&answer.body).map_or(0, |layer| layer.features.len());
        within_a_second(&tile, &|answer| count(answer) == 1);
        import(&office, "live.geojson", collection(&[point(2, 100.0, 10.0)]), &[]).succeeds();
        within_a_second(&tile, &|answer| count(answer) == 2);
        office.groma(&["layer", "delete", "live"]).succeeds();
        within_a_second(&tile, &|answer| answer.status == 404);
    }
}

/// A geometry with its numbers as numbers: `2` and `2.0` are the same.
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
fn flags_that_do_not_go_with_the_kind_are_wrong_usage() {
    let office = Office::closed(Engine::Sqlite, &[]);
    for usage in [
        &["import", "folders", "a.csv", "--layer", "x"][..],
        &["import", "folders", "a.csv", "--crs", "EPSG:2154"],
        &["import", "expenses", "a.csv", "--folder", "x"],
        &["import", "expenses", "a.csv", "--assignment", "x"],
        &["import", "folders", "a.csv", "--format", "geojson"],
        &["import", "layer", "a.csv", "--format", "csv"],
        &["import", "layer", "-", "--format", "geojson"],
        &["import", "layers", "a.geojson"],
        &["export", "layer", "a.geojson"],
        &["export", "folders", "a.csv", "--layer", "x"],
        &["layer"],
        &["layer", "create"],
        &["layer", "delete"],
    ] {
        office.groma(usage).is_wrong_usage();
    }
}
