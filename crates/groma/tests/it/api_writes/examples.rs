//! The examples of the OpenAPI document: sent to a server, those of requests do what the document says, and the
//! responses look like their examples.

use super::{post, send, start};
use crate::{on_both_engines, sample_records};
use groma_testkit::{API, Engine, Response, TestServer, http::Request};
use serde_json::{Value, json};
use uuid::Uuid;

on_both_engines! {
    examples_of_bodies_are_accepted
    examples_of_lists_and_records_look_like_responses
    examples_of_the_geo_api_look_like_responses
    examples_of_lines_look_like_responses
}

/// Asserts that a value has the fields that its schema requires, and no others.
fn assert_fields(document: &Value, response: &Value, value: &Value) {
    let content = &response["content"]["application/json"];
    assert_fields_of(document, &content["schema"]["$ref"], value);
    assert_same_shape(&content["example"], value, "");
}

/// Asserts that a response is the example of its operation, except for ids, references and times.
#[track_caller]
fn assert_is_example(operation: &Value, response: &Value) {
    let example = &operation["responses"]["200"]["content"]["application/json"]["example"];
    assert_eq!(normalized(example, ""), normalized(response, ""));
}

/// A value with the same text in place of all ids, references, secrets and times.
fn normalized(value: &Value, name: &str) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, field)| (name.clone(), normalized(field, name)));
            Value::Object(fields.collect())
        }
        Value::Array(items) => items.iter().map(|item| normalized(item, name)).collect(),
        Value::String(text) if text.parse::<Uuid>().is_ok() => json!("id"),
        Value::String(text) if text.len() == 24 && text.ends_with('Z') => json!("time"),
        Value::String(_) if ["reference", "secret"].contains(&name) => json!(name),
        value => value.clone(),
    }
}

/// The members of objects that clients choose.
const FREE: [&str; 4] = ["/customFields", "/properties", "/fields", "/data"];

/// Asserts that a value has the members of an example, of the same types. Either can be null.
#[track_caller]
fn assert_same_shape(example: &Value, value: &Value, at: &str) {
    match (example, value) {
        (Value::Null, _) | (_, Value::Null) if !at.is_empty() => {}
        (Value::Object(one), Value::Object(other)) => {
            let names = |fields: &serde_json::Map<String, Value>| {
                let mut names: Vec<_> = fields.keys().cloned().collect();
                names.sort();
                names
            };
            if FREE.iter().any(|end| at.ends_with(end)) {
                return;
            }
            assert_eq!(names(one), names(other), "{at}: {value}");
            for (name, field) in one {
                assert_same_shape(field, &other[name], &format!("{at}/{name}"));
            }
        }
        (Value::Array(one), Value::Array(other)) => {
            for (index, (example, item)) in one.iter().zip(other).enumerate() {
                assert_same_shape(example, item, &format!("{at}/{index}"));
            }
        }
        (Value::String(_), Value::String(_))
        | (Value::Number(_), Value::Number(_))
        | (Value::Bool(_), Value::Bool(_)) => {}
        _ => panic!("{at}: {example} is no example of {value}"),
    }
}

/// Asserts that a response looks like the example of its operation.
#[track_caller]
fn assert_like_example(document: &Value, method: &str, route: &str, response: &Response) {
    assert_eq!(response.status, 200, "{method} {route}: {}", response.text());
    let responses = &document["paths"][format!("{API}{route}")][method]["responses"];
    let content = responses["200"]["content"].as_object().unwrap();
    let example = &content.values().next().unwrap()["example"];
    assert_same_shape(example, &response.json(), "");
}

fn assert_fields_of(document: &Value, reference: &Value, value: &Value) {
    let schema = document.pointer(&reference.as_str().unwrap()[1..]).unwrap();
    for name in schema["required"].as_array().unwrap() {
        assert!(value.get(name.as_str().unwrap()).is_some(), "{name} in {value}");
    }
    for name in value.as_object().unwrap().keys() {
        assert!(schema["properties"].get(name).is_some(), "{name} in {schema}");
    }
}

/// The example of the body of an operation.
fn example(document: &Value, operation: &Value) -> Option<Value> {
    let contents = operation["requestBody"]["content"].as_object()?;
    let schema = contents.values().find_map(|content| content["schema"]["$ref"].as_str())?;
    Some(document.pointer(&schema[1..]).unwrap()["example"].clone())
}

fn webhook_examples_are_accepted(server: &TestServer, token: &str, document: &Value) {
    let root = "/webhooks/endpoints";
    let operation =
        |path: &str, method: &str| &document["paths"][format!("{API}{root}{path}")][method];
    let create = operation("", "post");
    let created = post(server, token, root, &example(document, create).unwrap()).ok();
    assert_fields(document, &create["responses"]["200"], &created);
    assert_is_example(create, &created);
    let path = format!("{root}/{}", created["id"].as_str().unwrap());
    for (method, route) in [("patch", ""), ("post", "/rotate"), ("post", "/redeliver")] {
        let operation = operation(&format!("/{{key}}{route}"), method);
        let body = example(document, operation).unwrap();
        let path = format!("{path}{route}");
        let request = match method {
            "patch" => Request::patch(&path, token, &body),
            _ => Request::post(&path, token, &body),
        };
        let response = send(server, &request).ok();
        assert_fields(document, &operation["responses"]["200"], &response);
        if method == "patch" {
            assert_is_example(operation, &response);
        }
    }
    let tested = post(server, token, &format!("{path}/test"), &json!({})).ok();
    assert_fields(document, &operation("/{key}/test", "post")["responses"]["200"], &tested);
    let delivery = format!("{path}/deliveries/{}", tested["id"].as_str().unwrap());
    let again = post(server, token, &format!("{delivery}/redeliver"), &json!({}));
    let route = format!("{root}/{{key}}/deliveries/{{id}}/redeliver");
    assert_like_example(document, "post", &route, &again);
    let lists = [
        (root.to_owned(), root.to_owned()),
        (format!("{root}/{{key}}/deliveries"), format!("{path}/deliveries")),
    ];
    for (route, path) in lists {
        assert_like_example(document, "get", &route, &server.get(&path, token));
    }
    for (route, path) in [("/{key}", path), ("/{key}/deliveries/{id}", delivery)] {
        let response = &operation(route, "get")["responses"]["200"];
        assert_fields(document, response, &server.get(&path, token).ok());
    }
}

fn examples_of_bodies_are_accepted(engine: Engine) {
    let (server, token) = start(engine);
    // What the examples refer to.
    let folder = json!({ "name": "Harbour", "reference": "F-000123" });
    post(&server, &token, "/folders", &folder).ok();
    let budget =
        json!({ "name": "Fuel", "folder": "F-000123", "reference": "B-000123", "amount": 1 });
    post(&server, &token, "/budgets", &budget).ok();
    let document = server.main().request("GET", &format!("{API}/openapi.json")).send().ok();
    let example = |operation: &Value| example(&document, operation);
    let mut tried = 0;
    for kind in ["folders", "assignments", "expenses", "budgets", "statuses"] {
        let path = format!("{API}/{kind}");
        let operation = &document["paths"][&path]["post"];
        let created = post(&server, &token, &format!("/{kind}"), &example(operation).unwrap()).ok();
        assert_fields(&document, &operation["responses"]["200"], &created);
        assert_is_example(operation, &created);
        let operation = &document["paths"][format!("{path}/{{key}}")]["patch"];
        let body = example(operation).unwrap();
        let path = format!("/{kind}/{}", created["id"].as_str().unwrap());
        let updated = send(&server, &Request::patch(&path, &token, &body)).ok();
        assert_fields(&document, &operation["responses"]["200"], &updated);
        assert_is_example(operation, &updated);
        assert_ne!(updated, created, "{body}");
        tried += 2;
    }
    let operation = &document["paths"][format!("{API}/bulk")]["post"];
    let done = post(&server, &token, "/bulk", &example(operation).unwrap()).ok();
    assert_fields(&document, &operation["responses"]["200"], &done);
    assert_eq!(done["failed"], 0);
    assert_eq!(tried, 10);
    webhook_examples_are_accepted(&server, &token, &document);
    for path in ["/me", "/members", "/changes"] {
        let operation = &document["paths"][format!("{API}{path}")]["get"];
        assert_fields(&document, &operation["responses"]["200"], &server.get(path, &token).ok());
    }
    for change in server.get("/changes", &token).content() {
        assert_fields_of(&document, &json!("#/components/schemas/Change"), &change);
    }
}

fn openapi_document(server: &TestServer) -> Value {
    server.main().request("GET", &format!("{API}/openapi.json")).send().ok()
}

fn examples_of_lists_and_records_look_like_responses(engine: Engine) {
    let (server, token) = start(engine);
    sample_records::fill(&server);
    let document = openapi_document(&server);
    for kind in ["folders", "assignments", "expenses", "budgets", "statuses", "members"] {
        let list = server.get(&format!("/{kind}"), &token);
        assert_like_example(&document, "get", &format!("/{kind}"), &list);
        if kind != "members" {
            let id = list.column("id").pop().unwrap();
            let response = server.get(&format!("/{kind}/{id}"), &token);
            assert_like_example(&document, "get", &format!("/{kind}/{{key}}"), &response);
        }
    }
    for action in ["archive", "unarchive"] {
        let path = format!("/folders/{}/{action}", sample_records::FOLDER);
        let response = post(&server, &token, &path, &json!({}));
        assert_like_example(&document, "post", &format!("/folders/{{key}}/{action}"), &response);
    }
}

fn examples_of_the_geo_api_look_like_responses(engine: Engine) {
    let (server, token) = start(engine);
    server.run(&["layer", "create", "Parcels"]).expect_success();
    let document = openapi_document(&server);
    let example = document["components"]["schemas"]["GeoJson"]["example"].to_string();
    let path = format!("{API}/geometries/geojson?layer=parcels");
    let request = server.geo().request("POST", &path).token(&token);
    let posted = request.header("Content-Type", "application/geo+json").body(example).send();
    assert_like_example(&document, "post", "/geometries/geojson", &posted);
    let id = posted.json()["geometries"][0]["id"].as_str().unwrap().to_owned();
    for (route, path) in [
        ("/layers", "/layers".to_owned()),
        ("/layers/{id}", "/layers/parcels".to_owned()),
        ("/layers/{id}/tilejson", "/layers/parcels/tilejson".to_owned()),
        ("/layers/{id}/features", "/layers/parcels/features".to_owned()),
        ("/layers/{id}/features/{feature}", format!("/layers/parcels/features/{id}")),
        ("/geometries/{key}", format!("/geometries/{id}")),
    ] {
        let request = server.geo().request("GET", &format!("{API}{path}")).token(&token);
        assert_like_example(&document, "get", route, &request.send());
    }
}

fn examples_of_lines_look_like_responses(engine: Engine) {
    let (server, token) = start(engine);
    post(&server, &token, "/folders", &json!({ "name": "Harbour", "reference": "F-000123" })).ok();
    let document = openapi_document(&server);
    let bulk = &document["paths"][format!("{API}/bulk")]["post"];
    let lines = "application/x-ndjson";
    let body = bulk["requestBody"]["content"][lines]["example"].as_str().unwrap();
    let request = Request::new("POST", &format!("{API}/bulk")).token(&token);
    let request = request.header("Content-Type", lines).header("Accept", lines);
    let response = send(&server, &request.body(body.as_bytes()));
    assert_eq!(response.status, 200, "{}", response.text());
    let example = bulk["responses"]["200"]["content"][lines]["example"].as_str().unwrap();
    let parse = |text: &str| text.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    let (example, results): (Vec<Value>, Vec<Value>) = (parse(example), parse(&response.text()));
    assert_same_shape(&example.into(), &results.into(), "");
}
