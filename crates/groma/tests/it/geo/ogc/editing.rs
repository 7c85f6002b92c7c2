//! Creating, replacing, updating and deleting features.

use super::{Map, OGC, assert_problem, feature, features, link, open, page, point, points, square};
use crate::{geo::tile_at, on_both_engines};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use groma_testkit::{
    Engine, Response,
    server::{OWNER, WORKSPACE},
};
use serde_json::{Value, json};

on_both_engines! {
    feature_is_created
    id_of_a_new_feature_must_be_new
    feature_is_replaced
    feature_is_updated_property_by_property
    feature_is_deleted
    invalid_bodies_are_rejected_by_pointer
    media_types_are_checked
    geometries_have_the_type_of_the_layer
    declared_fields_are_checked
    coordinates_are_read_in_the_system_of_the_header
    layer_keeps_coordinates_in_its_own_system_exactly
    client_can_prefer_the_feature_in_the_response
    repeated_post_returns_the_first_response
    suspicious_geometries_are_noticed
    options_tell_the_methods_of_the_token
    preflight_needs_no_token
    those_who_cannot_edit_are_rejected
    records_are_only_read
    basic_authentication_of_other_sites_cannot_write
    many_features_are_saved_one_by_one
    tile_shows_the_change_at_once
}

const ITEMS: &str = "/collections/submissions/items";
const GEOJSON: (&str, &str) = ("Content-Type", "application/geo+json");
const MERGE_PATCH: (&str, &str) = ("Content-Type", "application/merge-patch+json");

impl Map {
    /// Sends a body with the token; `path` is the part after `/ogc`.
    pub(super) fn send_ogc(
        &self,
        method: &str,
        path: &str,
        body: &str,
        headers: &[(&str, &str)],
    ) -> Response {
        let path = format!("{OGC}{path}");
        let request = self.server.geo().request(method, &path).token(&self.token).body(body);
        headers.iter().fold(request, |request, (name, value)| request.header(name, *value)).send()
    }

    /// Creates a feature in the layer Submissions; returns its path.
    #[track_caller]
    pub(super) fn create_item(&self, feature: &Value) -> String {
        let response = self.send_ogc("POST", ITEMS, &feature.to_string(), &[GEOJSON]);
        assert_eq!(response.status, 201, "{response:?}");
        let location = response.header("location").unwrap();
        location.split_once(OGC).unwrap().1.to_owned()
    }

    /// The feature at a path, without links.
    #[track_caller]
    pub(super) fn item(&self, path: &str) -> Value {
        let response = self.ogc(path);
        assert_eq!(response.status, 200, "{response:?}");
        let mut item: Value = serde_json::from_slice(&response.body).unwrap();
        item.as_object_mut().unwrap().remove("links");
        item
    }

    #[track_caller]
    pub(super) fn patch_item(
        &self,
        path: &str,
        patch: &Value,
        headers: &[(&str, &str)],
    ) -> Response {
        self.send_ogc("PATCH", path, &patch.to_string(), &[&[MERGE_PATCH], headers].concat())
    }
}

/// The body of a response.
#[track_caller]
fn body(response: &Response) -> Value {
    serde_json::from_slice(&response.body).unwrap()
}

/// The pointers of a problem.
#[track_caller]
fn pointers(response: &Response) -> Vec<String> {
    let errors = body(response)["errors"].as_array().unwrap().clone();
    errors.iter().map(|error| error["pointer"].as_str().unwrap().to_owned()).collect()
}

fn open_with_layer(engine: Engine) -> Map {
    let map = open(engine);
    map.create_layer("Submissions");
    map
}

fn feature_is_created(engine: Engine) {
    let map = open_with_layer(engine);
    let new = feature(Value::Null, point(2.5, 48.25), json!({ "name": "a", "none": null }));
    let response = map.send_ogc("POST", ITEMS, &new.to_string(), &[GEOJSON]);
    assert_eq!(response.status, 201, "{response:?}");
    let location = response.header("location").unwrap();
    let path = location.split_once(OGC).unwrap().1;
    let id = path.strip_prefix(ITEMS).unwrap().strip_prefix('/').unwrap();
    let created = body(&response);
    assert_eq!((&created["id"], &created["externalId"]), (&json!(id), &Value::Null));
    let item = map.ogc(path);
    assert_eq!(item.header("etag"), response.header("etag"));
    let read = map.item(path);
    assert_eq!(read["geometry"].to_string(), new["geometry"].to_string());
    assert_eq!(read["properties"], new["properties"]);
    assert_eq!(map.count(), 1);
    // The slug can also be the ID of the layer.
    let layer = map.layer("Submissions")["id"].as_str().unwrap().to_owned();
    let path = format!("/collections/{layer}/items");
    assert_eq!(map.send_ogc("POST", &path, &new.to_string(), &[GEOJSON]).status, 201);
    assert_problem(
        &map.send_ogc("POST", "/collections/none/items", &new.to_string(), &[GEOJSON]),
        404,
        "collection `none` not found",
    );
    assert_problem(
        &map.send_ogc("POST", ITEMS, &new.to_string(), &[GEOJSON, ("If-Match", "*")]),
        400,
        "If-Match",
    );
    // Clients may add the format to every address.
    let response = map.send_ogc("POST", &format!("{ITEMS}?f=json"), &new.to_string(), &[GEOJSON]);
    assert_eq!(response.status, 201, "{response:?}");
    let unknown = map.send_ogc("POST", &format!("{ITEMS}?x=1"), &new.to_string(), &[GEOJSON]);
    assert_problem(&unknown, 400, "x is unknown");
}

fn id_of_a_new_feature_must_be_new(engine: Engine) {
    let map = open_with_layer(engine);
    let path = map.create_item(&feature(json!("a"), point(1.0, 1.0), json!({ "n": 1 })));
    let created = map.item(&path);
    assert_eq!(created["externalId"], "a");
    for id in [json!("a"), created["id"].clone()] {
        let again = feature(id, point(2.0, 2.0), json!({ "n": 2 })).to_string();
        let response = map.send_ogc("POST", ITEMS, &again, &[GEOJSON]);
        assert_problem(&response, 409, "/id: ");
        assert_eq!(pointers(&response), ["/id"]);
    }
    assert_eq!((map.item(&path), map.count()), (created.clone(), 1));
    // In another layer, the ID is a new one.
    map.create_layer("Other");
    let other = feature(created["id"].clone(), point(2.0, 2.0), json!({})).to_string();
    let response = map.send_ogc("POST", "/collections/other/items", &other, &[GEOJSON]);
    assert_eq!((response.status, &body(&response)["externalId"]), (201, &created["id"]));
}

fn feature_is_replaced(engine: Engine) {
    let map = open_with_layer(engine);
    let path = map.create_item(&feature(json!("a"), point(1.0, 1.0), json!({ "n": 1, "m": 1 })));
    let before = map.item(&path);
    // The ID in the body is ignored.
    let points = json!({ "type": "MultiPoint", "coordinates": [[5.0, 5.0], [6.0, 5.0]] });
    let new = feature(json!("b"), points, json!({ "n": 2 })).to_string();
    let response = map.send_ogc("PUT", &path, &new, &[GEOJSON]);
    assert_eq!((response.status, response.header("location")), (200, None), "{response:?}");
    let after = map.item(&path);
    for member in ["id", "externalId", "createdAt"] {
        assert_eq!(after[member], before[member], "{member}");
    }
    assert_eq!(after["properties"], json!({ "n": 2 }));
    assert_eq!(after["geometry"]["type"], "MultiPoint");
    assert_eq!(response.header("etag"), map.ogc(&path).header("etag"));
    // What was read can be sent back.
    let etag = map.ogc(&path).header("etag").unwrap().to_owned();
    assert_eq!(map.send_ogc("PUT", &path, &after.to_string(), &[GEOJSON]).status, 200);
    assert_eq!(map.ogc(&path).header("etag"), Some(etag.as_str()));
    map.create_layer("Other");
    for missing in [
        format!("{ITEMS}/unknown_id"),
        format!("{ITEMS}/0190e5a0-0000-7000-8000-000000000000"),
        path.replace("submissions", "other"),
    ] {
        let response = map.send_ogc("PUT", &missing, &new, &[GEOJSON, ("If-Match", "\"xyz\"")]);
        assert_problem(&response, 404, "item `");
    }
    assert_eq!(map.count(), 1);
}

fn feature_is_updated_property_by_property(engine: Engine) {
    let map = open_with_layer(engine);
    let properties = json!({ "a": 1, "b": "x", "c": { "d": 1 } });
    let path = map.create_item(&feature(json!("a"), point(1.0, 1.0), properties));
    let patch = json!({ "properties": { "b": null, "c": { "e": 2 }, "f": 1.10 } });
    let response = map.patch_item(&path, &patch, &[]);
    assert_eq!(response.status, 200, "{response:?}");
    let expected = json!({ "a": 1, "b": null, "c": { "e": 2 }, "f": 1.10 });
    let item = map.item(&path);
    assert_eq!((&item["properties"], &item["geometry"]), (&expected, &map.item(&path)["geometry"]));
    assert_eq!(item["geometry"]["coordinates"], json!([1, 1]));
    assert_eq!(response.header("etag"), map.ogc(&path).header("etag"));
    let moved = json!({ "type": "Feature", "id": item["id"], "geometry": point(3.5, 4.5) });
    let moved = map.send_ogc("PATCH", &path, &moved.to_string(), &[GEOJSON]);
    assert_eq!(moved.status, 200, "{moved:?}");
    let item = map.item(&path);
    assert_eq!((&item["geometry"], &item["properties"]), (&point(3.5, 4.5), &expected));
    assert_eq!(map.patch_item(&path, &json!({ "geometry": null }), &[]).status, 200);
    assert_eq!(map.item(&path)["geometry"], Value::Null);
    // Nothing changes.
    let etag = map.ogc(&path).header("etag").unwrap().to_owned();
    assert_eq!(map.patch_item(&path, &json!({}), &[]).status, 200);
    assert_eq!(map.patch_item(&path, &json!({ "properties": { "b": null } }), &[]).status, 200);
    assert_eq!(map.ogc(&path).header("etag"), Some(etag.as_str()));
    let other = json!({ "id": "other", "properties": {} });
    assert_eq!(pointers(&map.patch_item(&path, &other, &[])), ["/id"]);
    let missing = map.patch_item(&format!("{ITEMS}/unknown_id"), &json!({}), &[]);
    assert_problem(&missing, 404, "item `unknown_id` not found");
}

fn feature_is_deleted(engine: Engine) {
    let map = open_with_layer(engine);
    let path = map.create_item(&feature(Value::Null, point(1.0, 1.0), json!({})));
    assert_eq!(map.send_ogc("DELETE", &path, "", &[]).status, 204);
    assert_problem(&map.send_ogc("DELETE", &path, "", &[]), 404, "item `");
    assert_problem(&map.ogc(&path), 404, "item `");
    assert_eq!(map.count(), 0);
}

fn invalid_bodies_are_rejected_by_pointer(engine: Engine) {
    let map = open_with_layer(engine);
    let path = map.create_item(&feature(Value::Null, point(1.0, 1.0), json!({ "a": 1 })));
    let before = map.item(&path);
    let outside = feature(Value::Null, point(1.0, 91.0), json!({}));
    for (invalid, pointer) in [
        (points(2), "/type"),
        (point(1.0, 1.0), "/type"),
        (outside, "/geometry/coordinates/1"),
        (json!({ "type": "Feature", "geometry": null }), ""),
        (json!({ "type": "Feature", "geometry": 1, "properties": {} }), "/geometry"),
        (json!([]), ""),
    ] {
        let invalid = invalid.to_string();
        for (method, path) in [("POST", ITEMS), ("PUT", path.as_str())] {
            let response = map.send_ogc(method, path, &invalid, &[GEOJSON]);
            assert_problem(&response, 400, "");
            assert_eq!(pointers(&response), [pointer], "{invalid}");
        }
    }
    for (invalid, pointer) in [
        (json!({ "properties": null }), "/properties"),
        (json!({ "properties": [] }), "/properties"),
        (json!({ "geometry": point(181e3, 1.0) }), "/geometry/coordinates/0"),
        (json!({ "type": "Point" }), "/type"),
        (json!([]), ""),
    ] {
        let response = map.patch_item(&path, &invalid, &[]);
        assert_problem(&response, 400, "");
        assert_eq!(pointers(&response), [pointer], "{invalid}");
    }
    let text = "{\"properties\":{\"a\":2}";
    assert_problem(&map.send_ogc("PATCH", &path, text, &[MERGE_PATCH]), 400, "");
    assert_eq!((map.item(&path), map.count()), (before, 1));
}

fn media_types_are_checked(engine: Engine) {
    let map = open_with_layer(engine);
    let new = feature(Value::Null, point(1.0, 1.0), json!({})).to_string();
    let path = map.create_item(&feature(Value::Null, point(1.0, 1.0), json!({})));
    for (method, path) in [("POST", ITEMS), ("PUT", path.as_str()), ("PATCH", path.as_str())] {
        let send =
            |media_type: &str| map.send_ogc(method, path, &new, &[("Content-Type", media_type)]);
        let rejected = send("text/plain");
        assert_problem(&rejected, 415, "Content-Type must be ");
        let accepted = if method == "PATCH" { "accept-patch" } else { "accept-post" };
        assert!(rejected.header(accepted).unwrap().contains("application/geo+json"));
        assert!(send("application/json").status < 300, "{method}");
        assert_problem(&map.send_ogc(method, path, &new, &[]), 400, "Content-Type must be ");
        assert!(send("application/geo+json; charset=utf-8").status < 300, "{method}");
    }
    assert_problem(&map.send_ogc("PUT", &path, &new, &[MERGE_PATCH]), 415, "Content-Type");
}

fn geometries_have_the_type_of_the_layer(engine: Engine) {
    let line = |x: f64| json!({ "type": "LineString", "coordinates": [[x, 1.0], [x, 2.0]] });
    let multi =
        |kind: &str, part: &Value| json!({ "type": kind, "coordinates": [part["coordinates"]] });
    let all = [
        ("Point", point(1.0, 1.0), multi("MultiPoint", &point(2.0, 1.0))),
        ("LineString", line(1.0), multi("MultiLineString", &line(2.0))),
        ("Polygon", square(5.0, 5.0, 0.5), multi("MultiPolygon", &square(6.0, 5.0, 0.5))),
    ];
    let collections = json!({ "type": "GeometryCollection", "geometries": [point(1.0, 1.0)] });
    for (kind, geometry, multiple) in &all {
        let map = open_with_layer(engine);
        // An empty layer and one whose features have no geometries take any.
        map.create_item(&feature(Value::Null, Value::Null, json!({})));
        let path = map.create_item(&feature(Value::Null, geometry.clone(), json!({ "n": 1 })));
        map.create_item(&feature(Value::Null, multiple.clone(), json!({})));
        let before = (map.item(&path), map.count());
        let others = all.iter().filter(|(other, ..)| other != kind);
        let others = others.flat_map(|(_, one, many)| [one, many]).chain([&collections]);
        for other in others {
            let whole = feature(Value::Null, other.clone(), json!({ "n": 2 })).to_string();
            let patch = json!({ "geometry": other, "properties": { "n": 2 } });
            for response in [
                map.send_ogc("POST", ITEMS, &whole, &[GEOJSON]),
                map.send_ogc("PUT", &path, &whole, &[GEOJSON]),
                map.patch_item(&path, &patch, &[]),
            ] {
                let expected = format!("/geometry: must be a {kind} or Multi{kind}");
                assert_problem(&response, 400, &expected);
                assert_eq!(pointers(&response), ["/geometry"]);
            }
        }
        assert_eq!((map.item(&path), map.count()), before);
        assert_eq!(map.layer("Submissions")["geometryType"], **kind);
        assert_eq!(map.patch_item(&path, &json!({ "geometry": multiple }), &[]).status, 200);
        assert_eq!(map.patch_item(&path, &json!({ "geometry": null }), &[]).status, 200);
        let schema = map.ogc("/collections/submissions/schema").json();
        let format = format!("geometry-{0}-or-multi{0}", kind.to_lowercase());
        assert_eq!(schema["properties"]["geometry"]["format"], format.as_str());
    }
    // A posted document may mix types; then a layer takes any.
    let map = open_with_layer(engine);
    map.create_item(&feature(Value::Null, point(1.0, 1.0), json!({})));
    map.post("", &feature(json!("a"), line(1.0), json!({})));
    for (_, geometry, multiple) in &all {
        map.create_item(&feature(Value::Null, geometry.clone(), json!({})));
        map.create_item(&feature(Value::Null, multiple.clone(), json!({})));
    }
    assert_eq!(map.layer("Submissions")["geometryType"], "Mixed");
}

fn declared_fields_are_checked(engine: Engine) {
    let map = open_with_layer(engine);
    let fields = json!([
        { "name": "use", "type": "text", "required": true, "choices": ["meadow", "wood"] },
        { "name": "floors", "type": "integer", "default": 1 },
    ]);
    map.server.write_file("fields.json", fields.to_string());
    let update =
        ["layer", "update", "submissions", "--workspace", WORKSPACE, "--fields", "fields.json"];
    map.server.run(&update).expect_success();
    let post = |properties: Value| {
        let new = feature(Value::Null, point(1.0, 1.0), properties).to_string();
        map.send_ogc("POST", ITEMS, &new, &[GEOJSON])
    };
    let rejected = post(json!({ "use": "town", "floors": 1.5 }));
    assert_problem(&rejected, 400, "");
    assert_eq!(pointers(&rejected), ["/properties/use", "/properties/floors"]);
    assert_eq!(pointers(&post(json!({}))), ["/properties/use"]);
    let path = map.create_item(&feature(Value::Null, point(1.0, 1.0), json!({ "use": "wood" })));
    assert_eq!(map.item(&path)["properties"], json!({ "use": "wood", "floors": 1 }));
    let rejected = map.patch_item(&path, &json!({ "properties": { "use": 1 } }), &[]);
    assert_eq!((rejected.status, pointers(&rejected)), (400, vec!["/properties/use".to_owned()]));
    let patch = json!({ "properties": { "floors": 3 } });
    assert_eq!(map.patch_item(&path, &patch, &[]).status, 200);
    assert_eq!(map.item(&path)["properties"], json!({ "use": "wood", "floors": 3 }));
}

const EPSG: &str = "http://www.opengis.net/def/crs/EPSG/0/";

fn coordinates_are_read_in_the_system_of_the_header(engine: Engine) {
    let map = open_with_layer(engine);
    let create = |x: f64, y: f64, crs: &str| {
        let new = feature(Value::Null, point(x, y), json!({})).to_string();
        map.send_ogc("POST", ITEMS, &new, &[GEOJSON, ("Content-Crs", crs)])
    };
    // With and without brackets: QGIS sends none.
    for (x, y, crs) in [
        (2.25, 48.5, "<http://www.opengis.net/def/crs/OGC/1.3/CRS84>".to_owned()),
        (48.5, 2.25, format!("<{EPSG}4326>")),
        (48.5, 2.25, format!("{EPSG}4326")),
    ] {
        let response = create(x, y, &crs);
        assert_eq!(response.status, 201, "{crs}: {response:?}");
        let path = response.header("location").unwrap().split_once(OGC).unwrap().1.to_owned();
        assert_eq!(map.item(&path)["geometry"], point(2.25, 48.5), "{crs}");
        let moved = json!({ "geometry": { "type": "Point", "coordinates": [y + 1.0, x + 1.0] } });
        let swapped =
            if crs.contains("4326") { "OGC:CRS84".to_owned() } else { format!("<{EPSG}4326>") };
        assert_eq!(map.patch_item(&path, &moved, &[("Content-Crs", &swapped)]).status, 200);
        assert_eq!(map.item(&path)["geometry"], point(3.25, 49.5), "{crs}");
    }
    let response = create(250_468.855_61, 6_190_443.809_67, &format!("<{EPSG}3857>"));
    let path = response.header("location").unwrap().split_once(OGC).unwrap().1.to_owned();
    let found = &map.item(&path)["geometry"]["coordinates"];
    for (index, expected) in [2.25, 48.5].into_iter().enumerate() {
        assert!((found[index].as_f64().unwrap() - expected).abs() < 1e-6, "{found}");
    }
    // Latitude first: the pointer is that of the body.
    assert_eq!(pointers(&create(95.0, 2.0, &format!("<{EPSG}4326>"))), ["/geometry/coordinates/0"]);
    assert_problem(&create(1.0, 1.0, &format!("<{EPSG}2154>")), 400, "Content-Crs must be one of");
}

fn layer_keeps_coordinates_in_its_own_system_exactly(engine: Engine) {
    let map = open(engine);
    map.server.run(&["layer", "create", "Own", "--crs", "EPSG:3035"]).expect_success();
    let items = "/collections/own/items";
    let own = format!("<{EPSG}3035>");
    // Northing first.
    let at = json!({ "type": "Point", "coordinates": [3_210_000.123_4, 4_321_000.567_8, 12.5] });
    let new = feature(Value::Null, at.clone(), json!({ "n": 1 })).to_string();
    let response = map.send_ogc("POST", items, &new, &[GEOJSON, ("Content-Crs", &own)]);
    assert_eq!(response.status, 201, "{response:?}");
    let path = response.header("location").unwrap().split_once(OGC).unwrap().1.to_owned();
    let read = |path: &str| map.item(&format!("{path}?crs={EPSG}3035"))["geometry"].to_string();
    assert_eq!(read(&path), at.to_string());
    // An update of a property does not touch them.
    assert_eq!(map.patch_item(&path, &json!({ "properties": { "n": 2 } }), &[]).status, 200);
    assert_eq!(read(&path), at.to_string());
    let moved = json!({ "type": "Point", "coordinates": [3_210_001.1, 4_321_001.3] });
    let patch = json!({ "geometry": moved });
    assert_eq!(map.patch_item(&path, &patch, &[("Content-Crs", &own)]).status, 200);
    assert_eq!(read(&path), moved.to_string());
}

fn client_can_prefer_the_feature_in_the_response(engine: Engine) {
    let map = open_with_layer(engine);
    let prefer = ("Prefer", "handling=strict, return=representation");
    let new = feature(Value::Null, point(2.25, 48.5), json!({ "n": 1 }));
    let response = map.send_ogc("POST", ITEMS, &new.to_string(), &[GEOJSON, prefer]);
    assert_eq!(
        (response.status, response.header("preference-applied")),
        (201, Some("return=representation"))
    );
    let path = response.header("location").unwrap().split_once(OGC).unwrap().1.to_owned();
    let item = map.ogc(&path);
    assert_eq!(response.body, item.body);
    for header in ["content-type", "etag", "content-crs"] {
        assert_eq!(response.header(header), item.header(header), "{header}");
    }
    let path = format!("{path}?crs={EPSG}4326");
    let response = map.patch_item(&path, &json!({ "properties": { "n": 2 } }), &[prefer]);
    assert_eq!((response.status, &response.body), (200, &map.ogc(&path).body));
    assert_eq!(body(&response)["geometry"]["coordinates"], json!([48.5, 2.25]));
    assert_eq!(response.header("content-crs"), Some(format!("<{EPSG}4326>").as_str()));
}

fn repeated_post_returns_the_first_response(engine: Engine) {
    let map = open_with_layer(engine);
    let new = feature(Value::Null, point(1.0, 1.0), json!({})).to_string();
    let send = || map.send_ogc("POST", ITEMS, &new, &[GEOJSON, ("Idempotency-Key", "one")]);
    let first = send();
    assert_eq!((first.status, first.header("idempotent-replayed")), (201, None));
    let again = send();
    assert_eq!((again.status, again.header("idempotent-replayed")), (201, Some("true")));
    assert_eq!(again.header("location"), first.header("location"));
    assert_eq!((&again.body, map.count()), (&first.body, 1));
    let other = feature(Value::Null, point(2.0, 1.0), json!({})).to_string();
    let other = map.send_ogc("POST", ITEMS, &other, &[GEOJSON, ("Idempotency-Key", "one")]);
    assert_problem(&other, 400, "");
}

fn suspicious_geometries_are_noticed(engine: Engine) {
    let map = open_with_layer(engine);
    let bow_tie =
        json!({ "type": "Polygon", "coordinates": [[[0, 0], [2, 2], [2, 0], [0, 2], [0, 0]]] });
    let new = feature(Value::Null, bow_tie, json!({})).to_string();
    let created = body(&map.send_ogc("POST", ITEMS, &new, &[GEOJSON]));
    assert_eq!(created["noticeCount"], 1);
    assert_eq!(created["notices"][0]["pointer"], "/geometry/coordinates/0/2");
}

fn options_tell_the_methods_of_the_token(engine: Engine) {
    let mut map = open_with_layer(engine);
    let options = |map: &Map, path: &str| {
        let response = map.send_ogc("OPTIONS", path, "", &[]);
        assert_eq!(response.status, 200, "{response:?}");
        let header = |name: &str| response.header(name).map(str::to_owned);
        (header("allow").unwrap(), header("accept-post").or(header("accept-patch")))
    };
    let read = ("GET, HEAD, OPTIONS".to_owned(), None);
    // The item need not exist.
    let item = format!("{ITEMS}/unknown_id");
    let post_types = "application/geo+json, application/json".to_owned();
    assert_eq!(options(&map, ITEMS), ("GET, HEAD, OPTIONS, POST".to_owned(), Some(post_types)));
    let patch_types =
        "application/merge-patch+json, application/geo+json, application/json".to_owned();
    let all = "GET, HEAD, OPTIONS, PUT, PATCH, DELETE".to_owned();
    assert_eq!(options(&map, &item), (all, Some(patch_types)));
    assert_problem(&map.send_ogc("OPTIONS", "/collections/none/items", "", &[]), 404, "collection");
    assert_eq!(map.ogc("/conformance").status, 200);
    let update = ["layer", "update", "submissions", "--workspace", WORKSPACE];
    map.server.run(&[&update[..], &["--lock"]].concat()).expect_success();
    assert_eq!([options(&map, ITEMS), options(&map, &item)], [read.clone(), read.clone()]);
    map.server.run(&[&update[..], &["--unlock"]].concat()).expect_success();
    let scopes = "READ_FOLDER,READ_ASSIGNMENT,READ_EXPENSE,READ_BUDGET";
    let create = ["token", "create", "--workspace", WORKSPACE, "--user", OWNER, "--name", "reader"];
    let more = ["--scopes", scopes, "--read-only"];
    map.token = map.server.run(&[&create[..], &more].concat()).expect_success();
    for path in [ITEMS, item.as_str(), "/collections/folders/items", "/collections/budgets/items/x"]
    {
        assert_eq!(options(&map, path), read, "{path}");
    }
    let anonymous = map.server.geo().request("OPTIONS", &format!("{OGC}{ITEMS}")).send();
    assert_problem(&anonymous, 401, "Missing Authorization header");
}

fn preflight_needs_no_token(engine: Engine) {
    let map = open(engine);
    for path in [
        "",
        "/collections",
        ITEMS,
        "/collections/submissions/items/x",
        "/collections/folders/items",
    ] {
        let path = format!("{OGC}{path}");
        let request = map.server.geo().request("OPTIONS", &path).header("Origin", "https://x.test");
        let response = request.header("Access-Control-Request-Method", "PUT").send();
        assert_eq!(response.status, 204, "{path}");
        assert_eq!(response.header("access-control-allow-origin"), Some("*"));
        assert!(response.header("access-control-allow-methods").unwrap().contains("PUT"));
        let headers = response.header("access-control-allow-headers").unwrap();
        assert!(headers.contains("Content-Crs") && headers.contains("If-Match"), "{headers}");
    }
}

fn those_who_cannot_edit_are_rejected(engine: Engine) {
    let mut map = open_with_layer(engine);
    let path = map.create_item(&feature(json!("a"), point(1.0, 1.0), json!({ "n": 1 })));
    let before = map.item(&path);
    let owner = map.token.clone();
    let reject = |map: &Map, detail: &str| {
        let new = feature(Value::Null, point(1.0, 1.0), json!({})).to_string();
        for (method, path) in [("POST", ITEMS), ("PUT", &path), ("PATCH", &path), ("DELETE", &path)]
        {
            assert_problem(&map.send_ogc(method, path, &new, &[GEOJSON]), 403, detail);
        }
    };
    let add = ["user", "add", "viewer@example.test", "--workspace", WORKSPACE, "--role", "viewer"];
    assert_eq!(map.server.run_with_input("correct horse battery\n", &add).code, Some(0));
    map.token = map.server.create_token_for(WORKSPACE, "viewer@example.test", &[]);
    reject(&map, "Changing features requires the role editor");
    map.token = owner;
    let update = ["layer", "update", "submissions", "--workspace", WORKSPACE];
    map.server.run(&[&update[..], &["--lock"]].concat()).expect_success();
    reject(&map, "layer `submissions` is locked");
    assert_eq!((map.item(&path), map.count()), (before, 1));
}

fn records_are_only_read(engine: Engine) {
    let mut map = open(engine);
    map.token = map.server.create_full_token();
    for (method, path) in [
        ("POST", "/collections/folders/items"),
        ("PUT", "/collections/folders/items/x"),
        ("PATCH", "/collections/expenses/items/x"),
        ("DELETE", "/collections/budgets/items/x"),
    ] {
        let response = map.send_ogc(method, path, "{}", &[GEOJSON]);
        assert_problem(&response, 405, "The method is not allowed here");
        assert!(response.header("allow").unwrap().contains("GET"));
    }
}

fn basic_authentication_of_other_sites_cannot_write(engine: Engine) {
    let map = open_with_layer(engine);
    let basic = format!("Basic {}", BASE64_STANDARD.encode(format!("x:{}", map.token)));
    let bearer = format!("Bearer {}", map.token);
    let post = |authorization: &str, headers: &[(&str, &str)]| {
        let path = format!("{OGC}{ITEMS}");
        let new = feature(Value::Null, point(1.0, 1.0), json!({})).to_string();
        let request = map.server.geo().request("POST", &path).body(new);
        let request = request.header(GEOJSON.0, GEOJSON.1).header("Authorization", authorization);
        headers.iter().fold(request, |request, (name, value)| request.header(name, *value)).send()
    };
    let own = format!("http://{}", map.server.geo().authority());
    for allowed in [&[][..], &[("Sec-Fetch-Site", "same-origin")], &[("Origin", own.as_str())]] {
        assert_eq!(post(&basic, allowed).status, 201, "{allowed:?}");
    }
    for other in [
        &[("Sec-Fetch-Site", "cross-site")][..],
        &[("Sec-Fetch-Site", "same-site"), ("Origin", own.as_str())],
        &[("Origin", "https://x.test")],
        &[("Origin", "null")],
    ] {
        assert_problem(&post(&basic, other), 403, "Requests of other sites");
        assert_eq!(post(&bearer, other).status, 201, "{other:?}");
    }
    let challenge = |headers: &[(&str, &str)]| {
        let response = post("Bearer svc_0", headers);
        assert_eq!(response.status, 401);
        let mut challenges = response.headers.get_all("www-authenticate").iter();
        challenges.any(|value| value.as_bytes().starts_with(b"Basic"))
    };
    assert!(challenge(&[]) && !challenge(&[("Sec-Fetch-Mode", "cors")]));
}

fn many_features_are_saved_one_by_one(engine: Engine) {
    let map = Map::open_with(engine, &[("GROMA_LIMITS__REQUESTS_PER_MINUTE", "100")]);
    map.create_layer("Submissions");
    for n in 0..500 {
        let path = map.create_item(&feature(
            Value::Null,
            point(f64::from(n) / 10.0, 1.0),
            json!({ "n": n }),
        ));
        assert_eq!(map.ogc(&path).status, 200);
    }
    let body = page(&map.ogc(&format!("{ITEMS}?limit=1")));
    assert_eq!(body["numberMatched"], 500);
    assert!(link(&body, "next").is_some());
}

fn tile_shows_the_change_at_once(engine: Engine) {
    let map = open_with_layer(engine);
    let tile = tile_at(14, 2.1, 48.1);
    let count = || map.features_in("submissions", tile).len();
    let path = map.create_item(&feature(Value::Null, point(2.1, 48.1), json!({ "n": 1 })));
    assert_eq!(count(), 1);
    assert_eq!(map.patch_item(&path, &json!({ "geometry": point(50.0, 1.0) }), &[]).status, 200);
    assert_eq!(count(), 0);
    let back = feature(Value::Null, point(2.1, 48.1), json!({ "n": 1 })).to_string();
    assert_eq!(map.send_ogc("PUT", &path, &back, &[GEOJSON]).status, 200);
    assert_eq!(count(), 1);
    assert_eq!(map.send_ogc("DELETE", &path, "", &[]).status, 204);
    assert_eq!(count(), 0);
    assert!(features(&map.ogc(ITEMS)).is_empty());
}
