//! The OpenAPI document and the page that shows it.

use crate::{
    client::API,
    database::Engine,
    office::{self, Office},
};
use serde_json::{Value, json};
use std::path::Path;

fn printed() -> String {
    office::run(&[], "", &["openapi"]).succeeds()
}

#[test]
fn the_checked_in_document_is_the_programs() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/openapi.json");
    let checked_in = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        checked_in.trim_end() == printed(),
        "docs/openapi.json is not what the program says; make it anew with \
         `cargo run -p groma -- openapi > docs/openapi.json`"
    );
}

#[test]
fn the_served_document_is_the_printed_one_at_its_own_address() {
    let office = Office::start_with(
        Engine::Sqlite,
        &[
            ("GROMA_SERVER__PUBLIC_URL", "https://gis.example.test/"),
            ("GROMA_SERVER__GEO_PUBLIC_URL", "http://127.0.0.1:8081"),
        ],
    );
    let answer = office.main().ask("GET", &format!("{API}/openapi.json")).send();
    let mut served = answer.ok();
    assert!(answer.header("etag").is_some());
    assert_eq!(
        served["servers"],
        json!([{ "url": "https://gis.example.test", "description": "Main API" }])
    );
    let mut printed: Value = serde_json::from_str(&printed()).unwrap();
    served["servers"].take();
    printed["servers"].take();
    assert_eq!(served, printed);
}

#[test]
fn the_document_says_what_every_operation_answers() {
    let document: Value = serde_json::from_str(&printed()).unwrap();
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1"));
    let scheme = &document["components"]["securitySchemes"]["token"];
    assert_eq!((&scheme["type"], &scheme["scheme"]), (&json!("http"), &json!("bearer")));
    let paths = document["paths"].as_object().unwrap();
    assert_eq!(paths.len(), 16);
    for (path, operations) in paths {
        let method = ["get", "post", "delete"].into_iter().find(|m| operations.get(m).is_some());
        let operation = &operations[method.unwrap()];
        let posts = method == Some("post");
        let is_detail = path.contains('{');
        let mut statuses: Vec<_> =
            operation["responses"].as_object().unwrap().keys().cloned().collect();
        statuses.sort();
        let success = if method == Some("delete") { "204" } else { "200" };
        let mut expected = vec![success, "400", "401", "429", "500"];
        if method == Some("get") {
            expected.push("304");
        }
        if !path.ends_with("/statuses") && !path.contains("/layers") {
            expected.push("403");
        }
        if is_detail {
            expected.push("404");
        }
        expected.sort_unstable();
        assert_eq!(statuses, expected, "{path}");
        let parameters: Vec<_> = operation["parameters"]
            .as_array()
            .unwrap()
            .iter()
            .map(|parameter| match parameter["$ref"].as_str() {
                Some(target) => target.rsplit('/').next().unwrap(),
                None => parameter["name"].as_str().unwrap(),
            })
            .collect();
        let expected: &[&str] = match path {
            path if posts && path.contains("/webhooks/") => &["idempotencyKey"],
            _ if posts => &["intoLayer", "folder", "assignment", "idempotencyKey"],
            path if path.contains("/mvt/") => &["layer", "z", "x", "y"],
            path if path.contains("{id}") => &["layer"],
            path if path.ends_with("{key}") => &["key"],
            _ => &["page", "limit", "term"],
        };
        assert_eq!(parameters, expected, "{path}");
    }
    let webhooks = document["webhooks"].as_object().unwrap();
    let events: Vec<_> = webhooks.keys().map(String::as_str).collect();
    assert_eq!(events.len(), 13);
    assert!(events.contains(&"folder.archived") && events.contains(&"budget.deleted"));
    for (event, operations) in webhooks {
        let schema = "/post/requestBody/content/application~1json/schema/$ref";
        let payload = operations.pointer(schema).unwrap().as_str().unwrap();
        let payload = document.pointer(&payload[1..]).unwrap();
        let fields: Vec<_> = payload["properties"].as_object().unwrap().keys().collect();
        assert_eq!(fields, ["id", "event", "workspaceKey", "occurredAt", "data"]);
        assert!(payload["properties"]["event"]["enum"].as_array().unwrap().contains(&json!(event)));
    }
    check_references(&document, &document);
}

/// Every reference points at something.
fn check_references(value: &Value, document: &Value) {
    match value {
        Value::Object(fields) => {
            if let Some(Value::String(target)) = fields.get("$ref") {
                let pointer = target.strip_prefix('#').expect("a reference within the document");
                assert!(document.pointer(pointer).is_some(), "{target} points nowhere");
            }
            fields.values().for_each(|field| check_references(field, document));
        }
        Value::Array(items) => items.iter().for_each(|item| check_references(item, document)),
        _ => {}
    }
}

#[test]
fn every_field_of_an_answer_is_in_the_document_and_required() {
    let office = Office::start(Engine::Sqlite);
    crate::sample::fill(&office);
    office.groma(&["layer", "create", "Parcels"]).succeeds();
    let token = office.master_token();
    let document: Value = serde_json::from_str(&printed()).unwrap();
    for (name, path) in [
        ("Folder", "/folders"),
        ("Assignment", "/assignments"),
        ("Expense", "/expenses"),
        ("Budget", "/budgets"),
        ("Status", "/statuses"),
        ("Layer", "/layers"),
    ] {
        let mut sorted: Vec<Vec<String>> = Vec::new();
        let client = if name == "Layer" { office.geo() } else { office.main() };
        let record = &client.ask("GET", &format!("{API}{path}")).token(&token).send().content()[0];
        let schema = &document["components"]["schemas"][name];
        sorted.push(record.as_object().unwrap().keys().cloned().collect());
        sorted.push(schema["properties"].as_object().unwrap().keys().cloned().collect());
        let required = schema["required"].as_array().unwrap().iter();
        sorted.push(required.map(|name| name.as_str().unwrap().to_owned()).collect());
        // The items of a list are documented as fully as the record alone.
        let envelope = &document["components"]["schemas"][format!("Envelope_{name}")];
        let items = &envelope["properties"]["content"]["items"];
        let items = match items["$ref"].as_str() {
            Some(target) => document.pointer(&target[1..]).unwrap(),
            None => items,
        };
        let required = items["required"].as_array().unwrap().iter();
        sorted.push(required.map(|name| name.as_str().unwrap().to_owned()).collect());
        sorted.iter_mut().for_each(|names| names.sort());
        assert_eq!(sorted[0], sorted[1], "{path}");
        assert_eq!(sorted[0], sorted[2], "{path}");
        assert_eq!(sorted[0], sorted[3], "items of {path}");
    }
}

#[test]
fn the_documentation_page_comes_from_the_program_alone() {
    let office = Office::start(Engine::Sqlite);
    let redirect = office.main().ask("GET", "/docs").send();
    assert!([301, 302, 303, 307, 308].contains(&redirect.status), "{redirect:?}");
    assert_eq!(redirect.header("location"), Some("/docs/"));
    let page = office.main().ask("GET", "/docs/").send();
    assert_eq!(page.status, 200);
    assert!(page.header("content-type").unwrap().starts_with("text/html"));
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.contains("script-src 'self'; ") && policy.contains("frame-ancestors 'none'"));
    assert_eq!(page.header("x-content-type-options"), Some("nosniff"));
    let html = page.text();
    let assets: Vec<_> = ["src=\"", "href=\""]
        .iter()
        .flat_map(|mark| html.split(mark).skip(1).filter_map(|rest| rest.split('"').next()))
        .collect();
    assert!(assets.len() >= 3, "{html}");
    for asset in assets {
        assert!(!asset.contains("//"), "{asset} is somewhere else");
        let path = match asset.strip_prefix("./") {
            Some(name) => format!("/docs/{name}"),
            None if asset.starts_with('/') => asset.to_owned(),
            None => format!("/docs/{asset}"),
        };
        let answer = office.main().ask("GET", &path).send();
        assert_eq!(answer.status, 200, "{path}");
        assert!(!answer.body.is_empty() || path.ends_with(".css"), "{path}");
    }
    assert!(!html.contains("http://") && !html.contains("https://"), "{html}");
    let initializer = office.main().ask("GET", "/docs/swagger-initializer.js").send().text();
    assert!(initializer.contains("/api/public/v1/openapi.json"), "{initializer}");
    assert!(!initializer.contains("petstore"));
    office.main().ask("GET", "/docs/no-such-file.js").send().error(404);
}
