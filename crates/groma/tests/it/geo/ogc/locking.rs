//! Conditions of changes, concurrent edits, and the events of changes.

use super::{Map, OGC, assert_problem, feature, link, open, point};
use crate::on_both_engines;
use groma_testkit::{Engine, Receiver, http::Request, server::NO_RATE_LIMIT};
use serde_json::{Value, json};
use std::{collections::HashMap, thread};

on_both_engines! {
    change_can_require_an_unchanged_feature
    every_system_and_encoding_has_its_own_etag
    systems_have_their_own_etag_where_coordinates_are_the_same
    operator_can_require_conditions
    no_acknowledged_edit_is_lost
    edits_of_different_properties_lose_nothing
    changes_are_events
}

const ITEMS: &str = "/collections/submissions/items";
const GEOJSON: (&str, &str) = ("Content-Type", "application/geo+json");

fn open_with_item(engine: Engine, environment: &[(&str, &str)]) -> (Map, String) {
    let map = Map::open_with(engine, environment);
    map.create_layer("Submissions");
    let path = map.create_item(&feature(json!("a"), point(1.0, 1.0), json!({ "n": 0 })));
    (map, path)
}

#[track_caller]
fn etag(map: &Map, path: &str) -> String {
    map.ogc(path).header("etag").unwrap().to_owned()
}

fn change_can_require_an_unchanged_feature(engine: Engine) {
    let (map, path) = open_with_item(engine, &[]);
    let old = etag(&map, &path);
    let put = |headers: &[(&str, &str)]| {
        let new = feature(Value::Null, point(1.0, 1.0), json!({ "n": 1 })).to_string();
        map.send_ogc("PUT", &path, &new, &[&[GEOJSON], headers].concat())
    };
    let patch = |n: u32, headers: &[(&str, &str)]| {
        map.patch_item(&path, &json!({ "properties": { "n": n } }), headers)
    };
    assert_eq!(put(&[("If-Match", &old)]).status, 200);
    let current = etag(&map, &path);
    assert_ne!(current, old);
    let stale: &[(&str, &str)] = &[("If-Match", &old)];
    let excluded: &[(&str, &str)] = &[("If-None-Match", &current)];
    let weak = format!("W/{current}");
    for headers in [
        stale,
        excluded,
        &[("If-None-Match", "*")],
        &[("If-Match", "\"0\"")],
        &[("If-Match", &weak)],
    ] {
        let changed = "item `";
        assert_problem(&put(headers), 412, changed);
        assert_problem(&patch(5, headers), 412, changed);
        assert_problem(&map.send_ogc("DELETE", &path, "", headers), 412, changed);
    }
    assert_eq!(map.item(&path)["properties"], json!({ "n": 1 }));
    assert_eq!(patch(2, &[("If-Match", &format!("\"x\", {current}"))]).status, 200);
    assert_eq!(patch(3, &[("If-Match", "*"), ("If-None-Match", &current)]).status, 200);
    let current = etag(&map, &path);
    assert_eq!(map.send_ogc("DELETE", &path, "", &[("If-Match", &current)]).status, 204);
    assert_problem(&patch(4, &[("If-Match", &current)]), 404, "item `");
}

fn every_system_and_encoding_has_its_own_etag(engine: Engine) {
    let map = open(engine);
    map.server.run(&["layer", "create", "Submissions", "--crs", "EPSG:2154"]).expect_success();
    let path =
        map.create_item(&feature(Value::Null, point(2.0, 48.0), json!({ "n": "x".repeat(4_000) })));
    let mut etags = Vec::new();
    for crs in ["", "?crs=EPSG:4326", "?crs=EPSG:3857", "?crs=EPSG:2154"] {
        for encoding in ["identity", "gzip", "br", "zstd"] {
            let path = format!("{path}{crs}");
            let read = map.ogc_with(&path, &[("Accept-Encoding", encoding)]);
            etags.push(read.header("etag").unwrap().to_owned());
        }
    }
    let mut distinct = etags.clone();
    distinct.sort();
    distinct.dedup();
    assert_eq!(distinct.len(), 16, "{etags:?}");
    for etag in &etags {
        let patch = json!({ "properties": {} });
        assert_eq!(map.patch_item(&path, &patch, &[("If-Match", etag)]).status, 200, "{etag}");
    }
    map.patch_item(&path, &json!({ "properties": { "m": 1 } }), &[]);
    for etag in &etags {
        assert_problem(&map.patch_item(&path, &json!({}), &[("If-Match", etag)]), 412, "item `");
    }
}

fn systems_have_their_own_etag_where_coordinates_are_the_same(engine: Engine) {
    let map = open(engine);
    map.create_layer("Submissions");
    for geometry in [Value::Null, point(0.0, 0.0)] {
        let path = map.create_item(&feature(Value::Null, geometry, json!({ "n": 0 })));
        let mut etags = Vec::new();
        for crs in ["", "?crs=EPSG:4326", "?crs=EPSG:3857"] {
            let path = format!("{path}{crs}");
            etags.push(etag(&map, &path));
            // The link to the feature itself leads to the same document.
            let item: Value = serde_json::from_slice(&map.ogc(&path).body).unwrap();
            let own = link(&item, "self").unwrap().split_once(OGC).unwrap().1;
            assert_eq!(map.ogc(own).body, map.ogc(&path).body, "{own}");
        }
        for (index, etag) in etags.iter().enumerate() {
            assert!(!etags[..index].contains(etag), "{etags:?}");
            let patch = json!({ "properties": { "n": 0 } });
            assert_eq!(map.patch_item(&path, &patch, &[("If-Match", etag)]).status, 200, "{etag}");
        }
    }
}

fn operator_can_require_conditions(engine: Engine) {
    let (map, path) = open_with_item(engine, &[("GROMA_OGC__REQUIRE_IF_MATCH", "true")]);
    let patch = json!({ "properties": { "n": 1 } });
    let required = "If-Match is required";
    assert_problem(&map.patch_item(&path, &patch, &[]), 428, required);
    assert_problem(&map.send_ogc("DELETE", &path, "", &[]), 428, required);
    let new = feature(Value::Null, point(1.0, 1.0), json!({})).to_string();
    assert_problem(&map.send_ogc("PUT", &path, &new, &[GEOJSON]), 428, required);
    let current = etag(&map, &path);
    assert_eq!(map.patch_item(&path, &patch, &[("If-Match", &current)]).status, 200);
}

/// A sequence of numbers that looks random and is always the same.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// All changes of features.
fn changes(map: &Map, token: &str) -> Vec<Value> {
    let (mut all, mut after) = (Vec::new(), String::new());
    loop {
        let path = format!("/changes?kinds=geometry&limit=1000&after={after}");
        let page = map.server.main().send(&Request::get(&path, token)).unwrap().ok();
        all.extend(page["content"].as_array().unwrap().clone());
        page["next"].as_str().unwrap().clone_into(&mut after);
        if page["more"] == json!(false) {
            return all;
        }
    }
}

fn no_acknowledged_edit_is_lost(engine: Engine) {
    const FEATURES: u64 = 20;
    const CLIENTS: u64 = 4;
    let map = open(engine);
    map.create_layer("Submissions");
    let paths: Vec<String> = (0..FEATURES)
        .map(|n| map.create_item(&feature(json!(n), point(1.0, 1.0), json!({ "edit": "start" }))))
        .collect();
    // Each client reads a feature and replaces what it read, which the new value names.
    let edit = |client: u64| {
        let mut numbers = Numbers(client + 1);
        let mut acknowledged = Vec::new();
        for round in 0..40 {
            let path = &paths[numbers.below(FEATURES) as usize];
            let read = map.ogc(path);
            let etag = read.header("etag").unwrap().to_owned();
            let before: Value = serde_json::from_slice(&read.body).unwrap();
            let before = before["properties"]["edit"].as_str().unwrap().to_owned();
            let after = format!("{client}-{round}");
            let properties = json!({ "edit": after, "before": before });
            let headers = [("If-Match", etag.as_str())];
            let response = match numbers.below(2) {
                0 => map.patch_item(path, &json!({ "properties": properties }), &headers),
                _ => {
                    let new = feature(Value::Null, point(1.0, 1.0), properties).to_string();
                    map.send_ogc("PUT", path, &new, &[GEOJSON, headers[0]])
                }
            };
            match response.status {
                200 => acknowledged.push((path.clone(), before, after)),
                412 => {}
                _ => panic!("{response:?}"),
            }
        }
        acknowledged
    };
    let acknowledged: Vec<(String, String, String)> = thread::scope(|scope| {
        let clients: Vec<_> =
            (0..CLIENTS).map(|client| scope.spawn(move || edit(client))).collect();
        clients.into_iter().flat_map(|client| client.join().unwrap()).collect()
    });
    assert!(acknowledged.len() > 40, "{}", acknowledged.len());
    // The history has every acknowledged edit and no other, and each follows the one that its client had read.
    let mut history: HashMap<String, Vec<String>> = HashMap::new();
    for change in changes(&map, &map.token) {
        let (id, properties) = (&change["data"]["id"], &change["data"]["properties"]);
        let path = format!("{ITEMS}/{}", id.as_str().unwrap());
        let edits = history.entry(path).or_default();
        if let Some(before) = edits.last() {
            assert_eq!(
                &properties["before"],
                &json!(before),
                "an edit overwrote one that it had not seen"
            );
        }
        edits.push(properties["edit"].as_str().unwrap().to_owned());
    }
    let edits: usize = history.values().map(|edits| edits.len() - 1).sum();
    assert_eq!(edits, acknowledged.len());
    for (path, before, after) in &acknowledged {
        let edits = &history[path];
        let at =
            edits.iter().position(|edit| edit == after).expect("an acknowledged edit is missing");
        assert_eq!(&edits[at - 1], before);
    }
    for (path, edits) in &history {
        assert_eq!(map.item(path)["properties"]["edit"], json!(edits.last().unwrap()));
    }
}

fn edits_of_different_properties_lose_nothing(engine: Engine) {
    let (map, path) = open_with_item(engine, &[]);
    thread::scope(|scope| {
        for name in ["a", "b"] {
            let (map, path) = (&map, &path);
            scope.spawn(move || {
                for n in 0..30 {
                    let patch = json!({ "properties": { (format!("{name}{n}")): n } });
                    assert_eq!(map.patch_item(path, &patch, &[]).status, 200);
                }
            });
        }
    });
    let properties = map.item(&path)["properties"].clone();
    for n in 0..30 {
        for name in ["a", "b"] {
            assert_eq!(properties[format!("{name}{n}")], json!(n), "{name}{n}");
        }
    }
}

fn changes_are_events(engine: Engine) {
    let receivers = [
        ("GROMA_WEBHOOKS__ALLOW_HTTP", "true"),
        ("GROMA_WEBHOOKS__ALLOW_NETWORKS", "127.0.0.0/8"),
        NO_RATE_LIMIT,
    ];
    let mut map = Map::open_with(engine, &receivers);
    map.create_layer("Submissions");
    map.token = map.server.create_full_token();
    let receiver = Receiver::start();
    let endpoint = json!({ "url": receiver.url("/"), "events": ["geometry.*"] });
    let created = Request::post("/webhooks/endpoints", &map.token, &endpoint);
    assert_eq!(map.server.main().send(&created).unwrap().status, 200);
    let path = map.create_item(&feature(json!("a"), point(1.0, 1.0), json!({ "n": 0 })));
    let mut documents = vec![map.item(&path)];
    map.patch_item(&path, &json!({ "properties": { "n": 1 } }), &[]);
    documents.push(map.item(&path));
    let new = feature(Value::Null, point(2.0, 2.0), json!({ "n": 2 })).to_string();
    map.send_ogc("PUT", &path, &new, &[GEOJSON]);
    documents.push(map.item(&path));
    // Nothing changes, so there is no event.
    map.send_ogc("PUT", &path, &new, &[GEOJSON]);
    map.send_ogc("DELETE", &path, "", &[]);
    documents.push(documents[2].clone());
    let changes = changes(&map, &map.token);
    let names: Vec<_> = changes.iter().map(|change| change["event"].as_str().unwrap()).collect();
    let expected = ["geometry.created", "geometry.updated", "geometry.updated", "geometry.deleted"];
    assert_eq!(names, expected);
    for (change, document) in changes.iter().zip(&documents) {
        assert_eq!(&change["data"], document);
        assert_eq!(change["actor"]["type"], "token");
    }
    let mut delivered: Vec<String> = receiver
        .wait_for(4)
        .iter()
        .map(|delivery| delivery.json()["event"].as_str().unwrap().to_owned())
        .collect();
    delivered.sort();
    let mut expected: Vec<_> = expected.to_vec();
    expected.sort_unstable();
    assert_eq!(delivered, expected);
}
