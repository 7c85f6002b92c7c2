//! Queryables, sortables and schemas.

use super::{Map, assert_problem, collection, feature, features, link, open, point};
use crate::{
    on_both_engines,
    sample_records::{self, KINDS},
};
use groma_testkit::{Engine, server::WORKSPACE};
use serde_json::{Value, json};

on_both_engines! {
    schemas_follow_the_declared_fields
    schemas_follow_the_data_where_no_field_is_declared
    property_can_be_called_like_the_id
    records_have_schemas
    schemas_of_records_describe_their_documents
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

fn property_can_be_called_like_the_id(engine: Engine) {
    let map = open(engine);
    map.post("", &feature(json!("a"), Value::Null, json!({ "id": 7 })));
    let properties = schema(&map, "/collections/submissions/schema")["properties"].clone();
    assert_eq!(
        (&properties["id"]["type"], &properties["id"]["x-ogc-role"]),
        (&json!("number"), &Value::Null)
    );
    assert_eq!(map.items("id=7").len(), 1);
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

/// Whether a value has the type of a schema. A value that is not known is null.
fn fits(value: &Value, schema: &Value) -> bool {
    match schema["type"].as_str().unwrap() {
        _ if value.is_null() => true,
        "string" => value.is_string(),
        "integer" => value.is_i64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => {
            value.as_array().is_some_and(|list| list.iter().all(|one| fits(one, &schema["items"])))
        }
        "object" => value.as_object().is_some_and(|object| {
            let known = &schema["properties"];
            known.is_null() || object.iter().all(|(name, one)| fits(one, &known[name]))
        }),
        _ => false,
    }
}

fn schemas_of_records_describe_their_documents(engine: Engine) {
    let mut map = open(engine);
    map.token = map.server.create_full_token();
    sample_records::fill(&map.server);
    for (kind, ..) in KINDS {
        let schema = schema(&map, &format!("/collections{kind}/schema"));
        let mut described = schema["properties"].as_object().unwrap().clone();
        assert!(
            described
                .values()
                .all(|one| one["readOnly"] == true || one["format"] == "geometry-polygon")
        );
        described.remove("geometry");
        for item in features(&map.ogc(&format!("/collections{kind}/items"))) {
            let properties = item["properties"].as_object().unwrap();
            assert_eq!(properties.len(), described.len());
            for (name, value) in properties {
                assert!(
                    fits(value, &described[name]),
                    "{kind} {name}: {value} {}",
                    described[name]
                );
            }
        }
        let id = &described["id"];
        assert_eq!((&id["format"], &id["x-ogc-role"]), (&json!("uuid"), &json!("id")));
    }
}
