//! The examples of the OpenAPI document: sent to a server, they do what the document says.

use super::{post, send, start};
use crate::on_both_engines;
use groma_testkit::{API, Engine, TestServer, http::Request};
use serde_json::{Value, json};

on_both_engines! {
    examples_of_bodies_are_accepted
}

/// Asserts that a value has the fields that its schema requires, and no others.
fn assert_fields(document: &Value, response: &Value, value: &Value) {
    let schema = &response["content"]["application/json"]["schema"];
    assert_fields_of(document, &schema["$ref"], value);
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
    let path = format!("{root}/{}", created["id"].as_str().unwrap());
    for (method, route) in [("patch", ""), ("post", "/rotate"), ("post", "/redeliver")] {
        let operation = operation(&format!("/{{key}}{route}"), method);
        let body = example(document, operation).unwrap();
        let path = format!("{path}{route}");
        let request = match method {
            "patch" => Request::patch(&path, token, &body),
            _ => Request::post(&path, token, &body),
        };
        assert_fields(document, &operation["responses"]["200"], &send(server, &request).ok());
    }
    let tested = post(server, token, &format!("{path}/test"), &json!({})).ok();
    assert_fields(document, &operation("/{key}/test", "post")["responses"]["200"], &tested);
    let delivery = format!("{path}/deliveries/{}", tested["id"].as_str().unwrap());
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
        let operation = &document["paths"][format!("{path}/{{key}}")]["patch"];
        let body = example(operation).unwrap();
        let path = format!("/{kind}/{}", created["id"].as_str().unwrap());
        let updated = send(&server, &Request::patch(&path, &token, &body)).ok();
        assert_fields(&document, &operation["responses"]["200"], &updated);
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
