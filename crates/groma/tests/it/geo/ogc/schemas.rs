//! Queryables, sortables and schemas.

use super::{Map, assert_problem, collection, feature, link, open, point};
use crate::{on_both_engines, sample_records::KINDS};
use groma_testkit::{Engine, server::WORKSPACE};
use serde_json::{Value, json};

on_both_engines! {
    schemas_follow_the_declared_fields
    schemas_follow_the_data_where_no_field_is_declared
    records_have_schemas
}

#[track_caller]
fn schema(map: &Map, path: &str) -> Value {
    let response = map.ogc(path);
    assert_eq!(
        (response.status, response.header("content-type")),
        (200, Some("application/schema+json")),
        "{response:?}"
    );
    let schema = response.json();
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    assert!(schema["$id"].as_str().unwrap().ends_with(path));
    schema
}

fn schemas_follow_the_declared_fields(engine: Engine) {
    let map = open(engine);
    map.create_layer("Plots");
    let fields = json!([
        { "name": "use", "type": "text", "required": true, "choices": ["meadow", "wood"], "default": "wood" },
        { "name": "area", "type": "number", "unit": "m²" },
        { "name": "floors", "type": "integer" },
        { "name": "listed", "type": "boolean" },
        { "name": "surveyed", "type": "date" },
    ]);
    map.server.write_file("fields.json", fields.to_string());
    map.server
        .run(&["layer", "update", "plots", "--workspace", WORKSPACE, "--fields", "fields.json"])
        .expect_success();
    map.post("?layer=plots", &feature(json!(1), point(1.0, 1.0), json!({ "extra": [1] })));
    let items = schema(&map, "/collections/plots/schema");
    assert_eq!(items["required"], json!(["use"]));
    let of = |name: &str| items["properties"][name].clone();
    assert_eq!(of("id")["x-ogc-role"], "id");
    assert_eq!(of("geometry")["x-ogc-role"], "primary-geometry");
    assert_eq!(of("geometry")["format"], "geometry-point-or-multipoint");
    assert_eq!(
        (of("use")["enum"].clone(), of("use")["default"].clone()),
        (json!(["meadow", "wood"]), json!("wood"))
    );
    assert_eq!(
        (of("area")["type"].clone(), of("area")["x-ogc-unit"].clone()),
        (json!("number"), json!("m²"))
    );
    assert_eq!(
        (of("floors")["type"].clone(), of("listed")["type"].clone()),
        (json!("integer"), json!("boolean"))
    );
    assert_eq!(
        (of("surveyed")["type"].clone(), of("surveyed")["format"].clone()),
        (json!("string"), json!("date"))
    );
    let sequence: Vec<_> = items["properties"]
        .as_object()
        .unwrap()
        .values()
        .map(|one| one["x-ogc-propertySeq"].as_u64().unwrap())
        .collect();
    assert!(sequence.is_sorted());
    let queryables = schema(&map, "/collections/plots/queryables");
    assert_eq!(queryables["additionalProperties"], false);
    for name in ["use", "surveyed", "geometry", "updatedAt", "externalId"] {
        assert!(queryables["properties"][name].is_object(), "{name}");
    }
    let sortables = schema(&map, "/collections/plots/sortables");
    assert!(
        sortables["properties"]["area"].is_object()
            && sortables["properties"]["geometry"].is_null()
    );
    let document: Value = map.ogc("/collections/plots").json();
    for name in ["queryables", "sortables", "schema"] {
        let rel = format!("http://www.opengis.net/def/rel/ogc/1.0/{name}");
        assert!(link(&document, &rel).unwrap().ends_with(&format!("/collections/plots/{name}")));
    }
}

fn schemas_follow_the_data_where_no_field_is_declared(engine: Engine) {
    let map = open(engine);
    let values = [json!({ "n": 1, "t": "a", "m": 1 }), json!({ "n": 2.5, "b": true, "m": "x" })];
    let values = values.map(|one| feature(Value::Null, Value::Null, one));
    map.post("", &collection(&values));
    let properties = schema(&map, "/collections/submissions/queryables")["properties"].clone();
    let types = ["n", "t", "b"].map(|name| properties[name]["type"].clone());
    assert_eq!(types, [json!("number"), json!("string"), json!("boolean")]);
    assert!(properties["m"]["type"].is_array());
    for name in ["queryables", "sortables", "schema"] {
        assert_problem(
            &map.ogc(&format!("/collections/unknown/{name}")),
            404,
            "collection `unknown`",
        );
        assert_problem(&map.ogc(&format!("/collections/submissions/{name}?limit=1")), 400, "limit");
    }
}

fn records_have_schemas(engine: Engine) {
    let mut map = open(engine);
    for (kind, ..) in KINDS {
        assert_problem(&map.ogc(&format!("/collections{kind}/queryables")), 403, "");
    }
    map.token = map.server.create_full_token();
    for (kind, ..) in KINDS {
        for name in ["queryables", "sortables", "schema"] {
            let schema = schema(&map, &format!("/collections{kind}/{name}"));
            assert_eq!(schema["properties"]["createdAt"]["format"], "date-time");
        }
    }
    let folders = schema(&map, "/collections/folders/queryables");
    assert_eq!(folders["properties"]["dueDate"]["format"], "date");
    assert!(folders["properties"]["geometry"].is_object());
    let expenses = schema(&map, "/collections/expenses/queryables");
    assert_eq!(expenses["properties"]["amount"]["type"], "number");
    assert!(expenses["properties"]["geometry"].is_null());
}
