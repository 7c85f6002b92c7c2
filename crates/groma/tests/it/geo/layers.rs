//! Layers: list, detail, statistics and TileJSON.

use super::{Map, collection, feature, point, square};
use crate::{
    on_both_engines, sample_records::is_time, sample_records::is_uuid_v7, sample_records::text,
};
use groma_testkit::{Engine, http::percent_encode};
use serde_json::{Value, json};

on_both_engines! {
    submissions_layer_is_created_by_the_first_post
    layer_has_the_fields_of_the_contract
    empty_layer_has_no_bounds_and_no_geometry_type
    geometry_type_and_fields_follow_the_features
    bounds_shrink_when_a_feature_moves
    revision_increases_only_with_changes
    layers_support_the_list_parameters
    unknown_layer_returns_404
    tilejson_has_everything_that_a_map_needs
    layers_and_tilejson_have_an_etag
}

fn submissions_layer_is_created_by_the_first_post(engine: Engine) {
    let map = Map::open(engine);
    let empty = json!({ "content": [], "total": 0, "page": 1, "size": 50, "pages": 0 });
    assert_eq!(map.get("/layers").ok(), empty);
    // Neither a GET nor a rejected POST creates it.
    map.get("/layers/submissions").assert_error(404, "layer `submissions` not found");
    map.try_post("", "{}").error_pointers();
    map.try_post("?layer=submissions", point(2.0, 48.0).to_string()).error(400);
    assert_eq!(map.get("/layers").ok(), empty);
    let posted = map.post("", &point(2.0, 48.0));
    let layer = map.layer("Submissions");
    assert_eq!(layer["id"], posted["layerId"]);
    assert_eq!(layer["slug"], "submissions");
    // Later posts use the same layer, also with the `layer` parameter.
    for query in ["", "?layer=submissions", &format!("?layer={}", text(&layer["id"]))] {
        assert_eq!(map.post(query, &point(3.0, 48.0))["layerId"], layer["id"]);
    }
    assert_eq!((map.get("/layers").ok()["total"].clone(), map.count()), (json!(1), 4));
}

fn layer_has_the_fields_of_the_contract(engine: Engine) {
    let geo_url = ("GROMA_SERVER__GEO_PUBLIC_URL", "https://tiles.example.test/geo/");
    let map = Map::open_with(engine, &[geo_url]);
    let id = map.create_layer("Parcelles – Chêne");
    map.post(
        "?layer=parcelles-chene",
        &collection(&[
            feature(
                json!(1),
                square(2.0, 48.0, 0.5),
                json!({ "n": 1, "s": "a", "b": true, "none": null, "mixed": 1, "list": [1] }),
            ),
            feature(
                json!(2),
                square(3.0, 47.0, 0.5),
                json!({ "n": 1.5, "mixed": "x", "object": {} }),
            ),
        ]),
    );
    let layer = map.get(&format!("/layers/{id}")).ok();
    for time in ["createdAt", "updatedAt"] {
        assert!(is_time(&layer[time]), "{layer}");
    }
    assert!(is_uuid_v7(&layer["id"]));
    let color = text(&layer["color"]);
    assert!(color.len() == 7 && color.starts_with('#'), "{color}");
    let expected = json!({
        "id": id, "slug": "parcelles-chene", "name": "Parcelles – Chêne", "description": null,
        "geometryType": "Polygon", "sourceLayer": "parcelles-chene", "minZoom": 0, "maxZoom": 18,
        "crs": "OGC:CRS84", "bounds": [2.0, 47.0, 3.5, 48.5], "featureCount": 2,
        "fields": { "b": "boolean", "list": "string", "mixed": "string", "n": "number", "object": "string", "s": "string" },
        "color": color,
        "tileUrl": format!("https://tiles.example.test/geo/api/public/v1/layers/{id}/mvt/{{z}}/{{x}}/{{y}}"),
        "createdAt": layer["createdAt"], "updatedAt": layer["updatedAt"], "revision": 2,
    });
    assert_eq!(layer, expected);
    // The list has the same representation.
    assert_eq!(map.get("/layers").content(), [layer]);
}

fn empty_layer_has_no_bounds_and_no_geometry_type(engine: Engine) {
    let map = Map::open(engine);
    let id = map.create_layer("Empty");
    let layer = map.get(&format!("/layers/{id}")).ok();
    for (field, value) in [
        ("geometryType", Value::Null),
        ("bounds", Value::Null),
        ("featureCount", json!(0)),
        ("fields", json!({})),
        ("revision", json!(1)),
    ] {
        assert_eq!(layer[field], value, "{field}");
    }
    // A feature without a geometry counts, but has no bounds.
    map.post("?layer=empty", &feature(json!("a"), Value::Null, json!({ "k": "v" })));
    let layer = map.get(&format!("/layers/{id}")).ok();
    for (field, value) in [
        ("geometryType", Value::Null),
        ("bounds", Value::Null),
        ("featureCount", json!(1)),
        ("fields", json!({ "k": "string" })),
        ("revision", json!(2)),
    ] {
        assert_eq!(layer[field], value, "{field}");
    }
}

fn geometry_type_and_fields_follow_the_features(engine: Engine) {
    let map = Map::open(engine);
    let line = json!({ "type": "LineString", "coordinates": [[2, 48], [3, 49]] });
    let points = json!({ "type": "MultiPoint", "coordinates": [[2, 48], [3, 49]] });
    let lines = json!({ "type": "MultiLineString", "coordinates": [[[2, 48], [3, 49]]] });
    let polygons =
        json!({ "type": "MultiPolygon", "coordinates": [square(2.0, 48.0, 1.0)["coordinates"]] });
    let both = json!({ "type": "GeometryCollection", "geometries": [point(2.0, 48.0), line] });
    for (geometry, kind) in [
        (point(2.0, 48.0), json!("Point")),
        (points, json!("Point")),
        (line.clone(), json!("LineString")),
        (lines, json!("LineString")),
        (square(2.0, 48.0, 1.0), json!("Polygon")),
        (polygons, json!("Polygon")),
        (both, json!("Mixed")),
        (Value::Null, Value::Null),
    ] {
        let name =
            text(&geometry["type"].as_str().map_or(json!("Point"), |name| json!(name))).to_owned();
        map.post("", &feature(json!("one"), geometry, json!({ name.clone(): 1 })));
        let layer = map.layer("Submissions");
        assert_eq!(layer["geometryType"], kind, "{name}");
        assert_eq!(
            layer["fields"],
            json!({ name: "number" }),
            "the fields of the replaced feature are gone"
        );
    }
    map.post(
        "",
        &collection(&[
            feature(json!("one"), point(2.0, 48.0), json!({})),
            feature(json!("two"), line, json!({})),
        ]),
    );
    assert_eq!(map.layer("Submissions")["geometryType"], "Mixed");
}

fn bounds_shrink_when_a_feature_moves(engine: Engine) {
    let map = Map::open(engine);
    let at = |id: u32, x: f64, y: f64| feature(json!(id), point(x, y), json!({}));
    map.post("", &collection(&[at(1, -10.0, -20.0), at(2, 0.0, 0.0), at(3, 30.0, 40.0)]));
    let bounds = || map.layer("Submissions")["bounds"].clone();
    assert_eq!(bounds(), json!([-10.0, -20.0, 30.0, 40.0]));
    map.post("", &at(3, 5.0, 5.0));
    assert_eq!(bounds(), json!([-10.0, -20.0, 5.0, 5.0]));
    map.post("", &collection(&[at(1, 1.0, 1.0), feature(json!(3), Value::Null, json!({}))]));
    assert_eq!(bounds(), json!([0.0, 0.0, 1.0, 1.0]));
}

fn revision_increases_only_with_changes(engine: Engine) {
    let map = Map::open(engine);
    let one = feature(json!(1), point(2.0, 48.0), json!({ "a": 1 }));
    map.post("", &one);
    let before = map.layer("Submissions");
    // A repeated post, a rejected post and a GET change nothing.
    assert_eq!(map.post("", &one)["unchanged"], 1);
    map.post("", &collection(&[]));
    map.try_post("", "{}").error_pointers();
    assert_eq!(map.layer("Submissions"), before);
    map.post("", &feature(json!(1), point(2.0, 48.0), json!({ "a": 2 })));
    let after = map.layer("Submissions");
    assert_eq!(after["revision"].as_u64(), before["revision"].as_u64().map(|was| was + 1));
    assert!(text(&after["updatedAt"]) > text(&before["updatedAt"]));
    assert_eq!(after["createdAt"], before["createdAt"]);
}

fn layers_support_the_list_parameters(engine: Engine) {
    let map = Map::open(engine);
    let names = ["Chêne", "CHENE nord", "Points", "Réseau d'eau", "Zone 5"];
    for name in names {
        map.create_layer(name);
    }
    assert_eq!(map.get("/layers").column("name"), names);
    let page = map.get("/layers?limit=2&page=2").ok();
    assert_eq!(
        (&page["total"], &page["page"], &page["size"], &page["pages"]),
        (&json!(5), &json!(2), &json!(2), &json!(3))
    );
    assert_eq!(map.get("/layers?limit=2&page=2").column("name"), names[2..4]);
    assert_eq!(map.get("/layers?limit=2&page=9").content(), [] as [Value; 0]);
    for (term, found) in [
        ("chene", &names[..2]),
        ("CHÊNE", &names[..2]),
        ("reseau", &names[3..4]),
        ("5", &names[4..]),
        ("", &names[..]),
        ("zzz", &[]),
        // Only the name is searched, not the slug.
        ("d-eau", &[]),
    ] {
        assert_eq!(
            map.get(&format!("/layers?term={}", percent_encode(term))).column("name"),
            found,
            "{term}"
        );
    }
    let one = map.get("/layers?term=chene&limit=1").ok();
    assert_eq!((&one["total"], &one["pages"]), (&json!(2), &json!(2)));
    for (query, message) in [
        ("?page=0", "page must be a whole number from 1 to 2147483647"),
        ("?limit=101", "limit must be a whole number from 1 to 100"),
        ("?limit=", "limit must be a whole number from 1 to 100"),
    ] {
        map.get(&format!("/layers{query}")).assert_error(400, message);
    }
    map.get("/layers?page=1&page=1").error(400);
    assert_eq!(map.get("/layers?unknown=1").ok()["total"], 5);
}

fn unknown_layer_returns_404(engine: Engine) {
    let map = Map::open(engine);
    let nobody = uuid::Uuid::now_v7().to_string();
    for id in [&nobody, "nowhere", "0", "%20", "%C3%A9"] {
        for rest in ["", "/tilejson", "/mvt/0/0/0"] {
            let message = map.get(&format!("/layers/{id}{rest}")).error(404);
            assert!(message.starts_with("layer `"), "{message}");
        }
    }
    map.get("/layers/%FF").assert_error(400, "id must be valid UTF-8");
}

fn tilejson_has_everything_that_a_map_needs(engine: Engine) {
    let map = Map::open(engine);
    let id = map.create_layer("Parcels");
    let empty = map.get(&format!("/layers/{id}/tilejson")).ok();
    assert_eq!(
        empty.get("bounds"),
        None,
        "no bounds rather than null, which TileJSON does not know"
    );
    map.post(
        "?layer=parcels",
        &feature(
            json!(1),
            square(2.0, 48.0, 0.5),
            json!({ "area": 12.5, "owner": "x", "built": false }),
        ),
    );
    let tilejson = map.get(&format!("/layers/{id}/tilejson")).ok();
    let layer = map.get(&format!("/layers/{id}")).ok();
    // TileJSON 3.0 requires tilejson, tiles, and vector_layers with their id and fields.
    assert_eq!(tilejson["tilejson"], "3.0.0");
    let tiles = layer["tileUrl"].as_str().unwrap().replace("/api/public/v1/layers/", "/maps/");
    assert_eq!(tilejson["tiles"], json!([tiles.replace("/mvt/", "/")]));
    assert_eq!(tilejson["center"], json!([2.25, 48.25, 9.0]));
    let vector_layers = tilejson["vector_layers"].as_array().unwrap();
    assert_eq!(vector_layers.len(), 1);
    assert_eq!(vector_layers[0]["id"], layer["sourceLayer"]);
    assert_eq!(
        vector_layers[0]["fields"],
        json!({ "area": "Number", "built": "Boolean", "owner": "String" })
    );
    assert_eq!(tilejson["bounds"], layer["bounds"]);
    for object in [&tilejson, &vector_layers[0]] {
        assert_eq!((&object["minzoom"], &object["maxzoom"]), (&json!(0), &json!(18)));
    }
    assert_eq!((&tilejson["scheme"], &tilejson["name"]), (&json!("xyz"), &json!("Parcels")));
    let no_nulls =
        |object: &Value| object.as_object().unwrap().values().all(|value| !value.is_null());
    assert!(no_nulls(&tilejson) && no_nulls(&vector_layers[0]), "{tilejson}");
}

fn layers_and_tilejson_have_an_etag(engine: Engine) {
    let map = Map::open(engine);
    let id = text(&map.post("", &point(2.0, 48.0))["layerId"]).to_owned();
    for path in ["/layers".to_owned(), format!("/layers/{id}"), format!("/layers/{id}/tilejson")] {
        let first = map.get(&path);
        let tag = first.header("etag").expect("an ETag").to_owned();
        assert_eq!(first.header("vary"), Some("Accept-Encoding"));
        let known = map.get_with(&path, &[("If-None-Match", &tag)]);
        assert_eq!((known.status, known.body.len()), (304, 0), "{path}");
        map.post("", &feature(json!(path.clone()), point(2.0, 48.5), json!({ path.clone(): 1 })));
        assert_eq!(map.get_with(&path, &[("If-None-Match", &tag)]).status, 200, "{path}");
    }
}
