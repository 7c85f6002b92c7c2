//! Features of a layer: pages, filters, single features, and posting back what was read.

use super::{Map, collection, feature, features_in, point, square, tile_at};
use crate::{on_both_engines, sample_records};
use groma_testkit::{API, Engine, Response, server::WORKSPACE};
use serde_json::{Value, json};

on_both_engines! {
    features_are_read_page_by_page
    filters_combine
    invalid_filters_are_rejected
    cursor_of_another_layer_is_rejected
    feature_is_found_by_id_and_by_its_id_in_tiles
    geometry_is_read_and_deleted_by_id
    geometry_that_has_changed_is_not_deleted
    viewers_cannot_delete_geometries
    posting_what_was_read_changes_nothing
    posting_a_changed_feature_updates_it
    id_that_names_a_feature_twice_is_rejected
    heights_and_nulls_are_kept
    suspicious_geometries_are_accepted_with_notices
    coordinates_outside_the_area_of_use_are_noticed
    tilejson_describes_the_values_of_fields
}

/// Points with the ids 0 to `count`, a tenth of a degree apart.
fn points(count: u32) -> Value {
    let points =
        (0..count).map(|n| feature(json!(n), point(f64::from(n) / 10.0, 48.0), json!({ "n": n })));
    collection(&points.collect::<Vec<_>>())
}

/// The body of a successful response.
#[track_caller]
fn geojson(response: &Response) -> Value {
    let content_type = response.header("content-type");
    assert_eq!((response.status, content_type), (200, Some("application/geo+json")));
    response.json()
}

#[track_caller]
fn features(response: &Response) -> Vec<Value> {
    let body = geojson(response);
    assert_eq!(body["type"], "FeatureCollection");
    body["features"].as_array().unwrap().clone()
}

/// A geometry with the same numbers, however they are written.
fn same(geometry: &Value) -> Value {
    serde_json::from_str(&geometry.to_string().replace(".0,", ",").replace(".0]", "]")).unwrap()
}

/// The external ids of the features that a query finds.
#[track_caller]
fn found(map: &Map, query: &str) -> Vec<String> {
    let features = features(&map.get(&format!("/layers/submissions/features?{query}")));
    features.iter().map(|feature| feature["externalId"].as_str().unwrap().to_owned()).collect()
}

fn delete(map: &Map, token: &str, id: &str) -> Response {
    let path = format!("{API}/geometries/{id}");
    map.server.geo().request("DELETE", &path).token(token).send()
}

fn features_are_read_page_by_page(engine: Engine) {
    let map = Map::open(engine);
    map.post("", &points(25));
    let layer = map.layer("Submissions")["id"].as_str().unwrap().to_owned();
    let mut path = format!("/layers/{layer}/features?limit=10");
    let mut ids = Vec::new();
    loop {
        let page = map.get(&path);
        let on_page = features(&page);
        assert!(on_page.len() <= 10);
        ids.extend(on_page.iter().map(|one| one["externalId"].as_str().unwrap().to_owned()));
        let Some(link) = page.header("link") else { break };
        let (url, rel) = link.split_once(">; ").unwrap();
        assert_eq!(rel, "rel=\"next\"");
        path = url.split_once(API).unwrap().1.to_owned();
    }
    assert_eq!(ids, (0..25).map(|n| n.to_string()).collect::<Vec<_>>());
    let first = &features(&map.get("/layers/submissions/features"))[0];
    assert_eq!((&first["type"], &first["geometry"]), (&json!("Feature"), &same(&point(0.0, 48.0))));
    assert_eq!((&first["properties"], &first["layerId"]), (&json!({ "n": 0 }), &json!(layer)));
    for (member, is_null) in [("folderId", true), ("assignmentId", true), ("createdAt", false)] {
        assert_eq!(first[member].is_null(), is_null, "{member}");
    }
    assert_eq!(first["createdAt"], first["updatedAt"]);
    assert_eq!(map.get("/layers/other/features").status, 404);
}

fn filters_combine(engine: Engine) {
    let map = Map::open(engine);
    sample_records::fill(&map.server);
    map.post("", &points(100));
    let folder = json!({ "type": "FeatureCollection", "features": [
        feature(json!("near"), square(5.0, 47.9, 0.05), json!({})),
        feature(json!("far"), square(60.0, 10.0, 0.05), json!({})),
    ] });
    map.post(&format!("?folder={}", sample_records::FOLDER), &folder);
    let none = feature(json!("none"), Value::Null, json!({}));
    map.post("", &none);
    // A small box is looked up in the index, a large one is not.
    assert_eq!(found(&map, "bbox=0.15,47,0.35,49"), ["2", "3"]);
    assert_eq!(found(&map, "bbox=-10,-10,0.15,89"), ["0", "1"]);
    assert_eq!(found(&map, "bbox=4.99,47.8,5.01,47.95"), ["near"]);
    assert_eq!(found(&map, "bbox=179,-10,-179,10"), Vec::<String>::new());
    assert_eq!(found(&map, &format!("folder={}", sample_records::FOLDER)), ["near", "far"]);
    let both = format!("folder={}&bbox=0,0,10,90&limit=1", sample_records::FOLDER);
    assert_eq!(found(&map, &both), ["near"]);
    assert_eq!(found(&map, &format!("assignment={}", sample_records::ASSIGNMENT)).len(), 0);
    let last = features(&map.get("/layers/submissions/features?limit=1000")).pop().unwrap();
    let since = last["updatedAt"].as_str().unwrap();
    assert_eq!(found(&map, &format!("updatedSince={since}")), ["none"]);
}

fn invalid_filters_are_rejected(engine: Engine) {
    let map = Map::open(engine);
    map.post("", &points(1));
    for query in [
        "limit=0",
        "limit=1001",
        "limit=ten",
        "limit=%2B5",
        "cursor=x",
        "cursor=5",
        "bbox=1,2,3",
        "bbox=1,2,3,x",
        "bbox=0,50,1,49",
        "bbox=0,0,0,91",
        "bbox=nan,0,1,1",
        "updatedSince=yesterday",
        "folder=F-999999",
        "assignment=unknown",
        "limit=1&limit=2",
    ] {
        let response = map.get(&format!("/layers/submissions/features?{query}"));
        let name = query.split_once('=').unwrap().0;
        let message = response.error(400);
        assert!(message.starts_with(name), "{query}: {message}");
    }
}

fn cursor_of_another_layer_is_rejected(engine: Engine) {
    let map = Map::open(engine);
    map.create_layer("Other");
    map.post("", &points(2));
    map.post("?layer=other", &points(2));
    let first = map.get("/layers/submissions/features?limit=1");
    let cursor = first.header("link").unwrap().split_once("cursor=").unwrap().1;
    let cursor = cursor.split_once('>').unwrap().0;
    assert_eq!(found(&map, &format!("cursor={cursor}")), ["1"]);
    assert_eq!(found(&map, "cursor="), ["0", "1"]);
    let message = map.get(&format!("/layers/other/features?cursor={cursor}")).error(400);
    assert!(message.contains("to start over, send an empty cursor"), "{message}");
}

fn geometry_that_has_changed_is_not_deleted(engine: Engine) {
    let map = Map::open(engine);
    let posted = map.post("", &points(1));
    let id = posted["geometries"][0]["id"].as_str().unwrap();
    let path = format!("{API}/geometries/{id}");
    let delete = |if_match: &str| {
        let request = map.server.geo().request("DELETE", &path).token(&map.token);
        request.header("If-Match", if_match).send()
    };
    let etag = map.get(&format!("/geometries/{id}")).header("etag").unwrap().to_owned();
    map.post("", &collection(&[feature(json!("0"), point(1.0, 1.0), json!({}))]));
    for outdated in [etag, "\"x\"".to_owned()] {
        let message = delete(&outdated).error(412);
        assert_eq!(message, format!("geometry `{id}` has changed since it was read"));
    }
    assert_eq!(map.count(), 1);
    let etag = map.get(&format!("/geometries/{id}")).header("etag").unwrap().to_owned();
    assert_eq!(delete(&etag).status, 204);
    delete("*").error(404);
    assert_eq!(map.count(), 0);
}

fn feature_is_found_by_id_and_by_its_id_in_tiles(engine: Engine) {
    let map = Map::open(engine);
    let posted = map.post("", &points(3));
    map.create_layer("Other");
    let tile = tile_at(14, 0.1, 48.0);
    let tile_id = features_in(&map.tile("submissions", tile))[0].id.unwrap();
    let id = posted["geometries"][1]["id"].as_str().unwrap();
    let by_id = map.get(&format!("/layers/submissions/features/{id}"));
    assert_eq!(geojson(&by_id)["externalId"], "1");
    let by_tile_id = map.get(&format!("/layers/submissions/features/{tile_id}"));
    assert_eq!(by_tile_id.json(), by_id.json());
    for path in [
        format!("/layers/other/features/{id}"),
        format!("/layers/unknown/features/{id}"),
        "/layers/submissions/features/0".to_owned(),
        "/layers/submissions/features/999999".to_owned(),
        "/layers/submissions/features/x".to_owned(),
        "/layers/submissions/features/0190e5a0-0000-7000-8000-000000000000".to_owned(),
    ] {
        assert_eq!(map.get(&path).status, 404, "{path}");
    }
}

fn geometry_is_read_and_deleted_by_id(engine: Engine) {
    let map = Map::open(engine);
    let posted = map.post("", &points(2));
    let id = posted["geometries"][0]["id"].as_str().unwrap();
    assert_eq!(geojson(&map.get(&format!("/geometries/{id}")))["externalId"], "0");
    assert_eq!(map.get("/geometries/x").status, 404);
    assert_eq!(delete(&map, &map.token, id).status, 204);
    assert_eq!(delete(&map, &map.token, id).status, 404);
    assert_eq!(map.get(&format!("/geometries/{id}")).status, 404);
    assert_eq!(map.count(), 1);
}

fn viewers_cannot_delete_geometries(engine: Engine) {
    let map = Map::open(engine);
    let posted = map.post("", &points(1));
    let id = posted["geometries"][0]["id"].as_str().unwrap();
    let add = ["user", "add", "viewer@example.test", "--workspace", WORKSPACE, "--role", "viewer"];
    assert_eq!(map.server.run_with_input("correct horse battery\n", &add).code, Some(0));
    let viewer = map.server.create_token_for(WORKSPACE, "viewer@example.test", &[]);
    delete(&map, &viewer, id).error(403);
    assert_eq!(map.count(), 1);
}

fn posting_what_was_read_changes_nothing(engine: Engine) {
    let map = Map::open(engine);
    let features = [
        feature(json!("a"), point(1.0, 48.0), json!({ "name": "x", "none": null })),
        json!({ "type": "Feature", "geometry": square(2.0, 48.0, 0.1), "properties": null }),
        json!({ "type": "Feature", "geometry": null, "properties": {} }),
    ];
    map.post("", &collection(&features));
    let read = map.get("/layers/submissions/features").json();
    let posted = map.post("", &read);
    assert_eq!(
        [&posted["created"], &posted["updated"], &posted["unchanged"]],
        [&json!(0), &json!(0), &json!(3)]
    );
    assert_eq!(map.get("/layers/submissions/features").json(), read);
}

fn posting_a_changed_feature_updates_it(engine: Engine) {
    let map = Map::open(engine);
    let without_id = json!({ "type": "Feature", "geometry": point(1.0, 48.0), "properties": {} });
    let id = map.post("", &without_id)["geometries"][0]["id"].as_str().unwrap().to_owned();
    let mut read = map.get(&format!("/geometries/{id}")).json();
    read["geometry"] = point(1.5, 48.5);
    let posted = map.post("", &read);
    assert_eq!((&posted["updated"], &posted["created"]), (&json!(1), &json!(0)));
    assert_eq!(posted["geometries"][0]["id"], json!(id));
    let again = map.get(&format!("/geometries/{id}")).json();
    assert_eq!((&again["geometry"], &again["externalId"]), (&point(1.5, 48.5), &Value::Null));
    // In another layer, the id is unknown and becomes an external id.
    map.create_layer("Other");
    let posted = map.post("?layer=other", &read);
    assert_eq!(
        (&posted["created"], &posted["geometries"][0]["externalId"]),
        (&json!(1), &json!(id))
    );
}

fn id_that_names_a_feature_twice_is_rejected(engine: Engine) {
    let map = Map::open(engine);
    let id = map.post("", &points(1))["geometries"][0]["id"].as_str().unwrap().to_owned();
    let twice = collection(&[
        feature(json!(id), point(1.0, 1.0), json!({})),
        feature(json!("0"), point(2.0, 2.0), json!({})),
    ]);
    let message = map.try_post("", twice.to_string()).error(400);
    assert!(message.contains("second time"), "{message}");
    assert_eq!(map.get(&format!("/geometries/{id}")).json()["geometry"], same(&point(0.0, 48.0)));
    let in_both_cases = collection(&[
        feature(json!(id), point(1.0, 1.0), json!({})),
        feature(json!(id.to_uppercase()), point(2.0, 2.0), json!({})),
    ]);
    let message = map.try_post("", in_both_cases.to_string()).error(400);
    assert!(message.contains("second time"), "{message}");
}

fn heights_and_nulls_are_kept(engine: Engine) {
    let map = Map::open(engine);
    let line =
        json!({ "type": "LineString", "coordinates": [[1, 48, 210.5], [1.1, 48], [1.2, 48, 0]] });
    map.post("", &feature(json!("a"), line.clone(), json!({ "a": null, "b": 1 })));
    map.post("", &feature(json!("b"), line.clone(), json!({ "b": 1 })));
    let read = features(&map.get("/layers/submissions/features"));
    assert_eq!(read[0]["geometry"].to_string(), line.to_string());
    assert_eq!(read[0]["properties"], json!({ "a": null, "b": 1 }));
    assert_eq!(read[1]["properties"], json!({ "b": 1 }));
}

fn suspicious_geometries_are_accepted_with_notices(engine: Engine) {
    let map = Map::open(engine);
    let bow_tie =
        json!({ "type": "Polygon", "coordinates": [[[0, 0], [2, 2], [2, 0], [0, 2], [0, 0]]] });
    let good = feature(json!("good"), square(5.0, 5.0, 1.0), json!({}));
    let posted = map
        .post("", &collection(&[good.clone(), feature(json!("bad"), bow_tie.clone(), json!({}))]));
    assert_eq!((&posted["created"], &posted["noticeCount"]), (&json!(2), &json!(1)));
    assert_eq!(
        posted["notices"],
        json!([{ "pointer": "/features/1/geometry/coordinates/0/2", "message": "crosses or touches itself here" }])
    );
    let many: Vec<_> = (0..30).map(|n| feature(json!(n), bow_tie.clone(), json!({}))).collect();
    let posted = map.post("", &collection(&many));
    assert_eq!(posted["noticeCount"], 30);
    assert_eq!(posted["notices"].as_array().unwrap().len(), 20);
    let posted = map.post("", &good);
    assert_eq!((&posted["notices"], &posted["noticeCount"]), (&json!([]), &json!(0)));
}

fn coordinates_outside_the_area_of_use_are_noticed(engine: Engine) {
    let map = Map::open(engine);
    let post = |coordinates: Value| {
        let body = json!({ "type": "Feature", "properties": {},
            "crs": { "type": "name", "properties": { "name": "EPSG:2154" } },
            "geometry": { "type": "Point", "coordinates": coordinates } });
        map.post("", &body)["notices"].clone()
    };
    assert_eq!(post(json!([652_000.0, 6_862_000.0])), json!([]));
    assert_eq!(
        post(json!([6_862_000.0, 652_000.0])),
        json!([{ "pointer": "/geometry", "message": "lies outside the area of use of EPSG:2154; \
            its axes seem to be swapped: x (east) comes first" }])
    );
    assert_eq!(
        post(json!([652_000.0, 8_862_000.0])),
        json!([{ "pointer": "/geometry", "message": "lies outside the area of use of EPSG:2154" }])
    );
}

fn tilejson_describes_the_values_of_fields(engine: Engine) {
    let map = Map::open(engine);
    let kinds = ["oak", "beech", "oak"];
    let trees = kinds.iter().zip(0..).map(|(kind, n)| {
        feature(json!(n), point(f64::from(n), 48.0), json!({ "kind": kind, "height": n * 2 + 1 }))
    });
    map.post("", &collection(&trees.collect::<Vec<_>>()));
    let stats = |map: &Map| {
        let tilejson = map.get("/layers/submissions/tilejson").ok();
        assert_eq!(tilejson["attribution"], WORKSPACE);
        tilejson["tilestats"].clone()
    };
    let attribute = |attribute: &str, rest: Value| {
        let mut object = json!({ "attribute": attribute, "count": 3 });
        object.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        object
    };
    let expected = json!({ "layerCount": 1, "layers": [{ "layer": "submissions", "count": 3,
        "geometry": "Point", "attributeCount": 2, "attributes": [
            attribute("height", json!({ "type": "number", "min": 1.0, "max": 5.0 })),
            attribute("kind", json!({ "type": "string", "values": ["beech", "oak"] })),
        ] }] });
    assert_eq!(stats(&map), expected);
    map.post("", &feature(json!(1), point(1.0, 48.0), json!({ "kind": "oak", "height": 3 })));
    assert_eq!(stats(&map)["layers"][0]["attributes"][1]["values"], json!(["oak"]));
}
