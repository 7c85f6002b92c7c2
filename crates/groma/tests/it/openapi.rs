//! The OpenAPI document and its documentation page.

use groma_testkit::{API, Engine, TestServer, program};
use serde_json::{Value, json};
use std::path::Path;

fn printed() -> String {
    program::run(&[], "", &["openapi"]).expect_success()
}

#[test]
fn checked_in_document_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/openapi.json");
    let checked_in = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        checked_in.trim_end() == printed(),
        "docs/openapi.json is not what the program says; make it anew with \
         `cargo run -p groma -- openapi > docs/openapi.json`"
    );
}

#[test]
fn served_document_equals_the_printed_one_with_its_own_server_url() {
    let server = TestServer::start_with(
        Engine::Sqlite,
        &[
            ("GROMA_SERVER__PUBLIC_URL", "https://gis.example.test/"),
            ("GROMA_SERVER__GEO_PUBLIC_URL", "http://127.0.0.1:8081"),
        ],
    );
    let response = server.main().request("GET", &format!("{API}/openapi.json")).send();
    let mut served = response.ok();
    assert!(response.header("etag").is_some());
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
fn document_lists_the_responses_of_every_operation() {
    let document: Value = serde_json::from_str(&printed()).unwrap();
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1"));
    let scheme = &document["components"]["securitySchemes"]["token"];
    assert_eq!((&scheme["type"], &scheme["scheme"]), (&json!("http"), &json!("bearer")));
    let paths = document["paths"].as_object().unwrap();
    assert_eq!(paths.len(), 33);
    let operations = paths.iter().flat_map(|(path, item)| {
        let methods = ["get", "post", "patch", "delete"].into_iter();
        methods.filter_map(move |method| Some((path, method, item.get(method)?)))
    });
    for (path, method, operation) in operations {
        let mut statuses: Vec<_> =
            operation["responses"].as_object().unwrap().keys().map(String::as_str).collect();
        statuses.sort_unstable();
        let mut expected = expected_statuses(path, method);
        expected.sort_unstable();
        assert_eq!(statuses, expected, "{method} {path}");
        let parameters: Vec<_> = operation["parameters"]
            .as_array()
            .unwrap()
            .iter()
            .map(|parameter| match parameter["$ref"].as_str() {
                Some(target) => target.rsplit('/').next().unwrap(),
                None => parameter["name"].as_str().unwrap(),
            })
            .collect();
        for content in [&operation["requestBody"], &operation["responses"]["200"]]
            .iter()
            .filter_map(|body| body["content"].as_object())
            .flatten()
        {
            let (media_type, content) = content;
            let has_example = !content["example"].is_null();
            assert_eq!(has_example, !media_type.contains("vector-tile"), "{method} {path}");
        }
        let expected = expected_parameters(path, method);
        match expected.ends_with(&["term"]) {
            // Lists of records have filters too.
            true => assert!(parameters.starts_with(expected), "{method} {path}: {parameters:?}"),
            false => assert_eq!(parameters, expected, "{method} {path}"),
        }
    }
    let webhooks = document["webhooks"].as_object().unwrap();
    let events: Vec<_> = webhooks.keys().map(String::as_str).collect();
    assert_eq!(events.len(), 19);
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

/// Whether a route writes records or statuses.
fn is_write(path: &str, method: &str) -> bool {
    let roots = ["/folders", "/assignments", "/expenses", "/budgets", "/statuses", "/bulk"];
    let path = path.strip_prefix(API).unwrap();
    method != "get" && roots.iter().any(|root| path.starts_with(root))
}

fn is_webhook_patch(path: &str, method: &str) -> bool {
    method == "patch" && path.contains("/webhooks/")
}

fn expected_statuses(path: &str, method: &str) -> Vec<&'static str> {
    let success = if method == "delete" { "204" } else { "200" };
    let mut expected = vec![success, "400", "401", "429", "500"];
    if method == "get" && !path.ends_with("/stream") {
        expected.push("304");
    }
    let is_open = ["/statuses", "/layers", "/geometries/"];
    let is_open = path.ends_with("/me") || is_open.iter().any(|open| path.contains(open));
    if method != "get" || !is_open {
        expected.push("403");
    }
    if path.contains('{') {
        expected.push("404");
    }
    let is_geometry = path.contains("/geometries/") && method == "delete";
    if is_write(path, method) || is_geometry {
        expected.push("409");
    }
    let is_create = method == "post" && !path.ends_with("archive") && !path.ends_with("/bulk");
    if (is_write(path, method) && !is_create) || is_geometry {
        expected.push("412");
    }
    if path.ends_with("/bulk") {
        expected.push("404");
    }
    if is_webhook_patch(path, method) {
        expected.extend(["409", "412"]);
    }
    if path.ends_with("/{key}/test") || path.ends_with("/{id}/redeliver") {
        expected.push("409");
    }
    expected
}

fn expected_parameters(path: &str, method: &str) -> &'static [&'static str] {
    let is_status = path.contains("/statuses");
    if is_write(path, method) {
        return match method {
            "post" if path.ends_with("/bulk") => &["atomic", "idempotencyKey"],
            "post" if path.ends_with("archive") => &["key", "ifMatch", "idempotencyKey"],
            "post" if is_status => &["idempotencyKey"],
            "post" => &["match", "idempotencyKey"],
            "delete" if is_status => &["key", "replacement", "ifMatch"],
            _ => &["key", "ifMatch"],
        };
    }
    match path {
        path if is_webhook_patch(path, method) => &["key", "ifMatch"],
        path if method == "post" && path.ends_with("/webhooks/endpoints") => &["idempotencyKey"],
        path if method == "post" && path.contains("/deliveries/{id}") => {
            &["key", "id", "idempotencyKey"]
        }
        path if method == "post" && path.contains("/webhooks/") => &["key", "idempotencyKey"],
        path if path.ends_with("/deliveries") => {
            &["key", "page", "listCursor", "limit", "deliveryStatus", "event"]
        }
        path if path.ends_with("/deliveries/{id}") => &["key", "id"],
        _ if method == "post" => &["intoLayer", "folder", "assignment", "idempotencyKey"],
        path if path.ends_with("/features") => {
            &["layer", "featureLimit", "cursor", "bbox", "folder", "assignment", "updatedSince"]
        }
        path if path.contains("/features/") => &["layer", "feature"],
        path if path.contains("/mvt/") => &["layer", "z", "x", "y"],
        path if path.contains("{id}") => &["layer"],
        path if method == "delete" && path.contains("/geometries/") => &["key", "ifMatch"],
        path if path.ends_with("{key}") => &["key"],
        path if path.ends_with("/me") => &[],
        path if path.ends_with("/changes") => &["after", "kinds", "changeLimit", "wait"],
        path if path.ends_with("/stream") => &["after", "kinds", "lastEventId"],
        _ => &["page", "listCursor", "limit", "term"],
    }
}

/// Asserts that every reference resolves.
fn check_references(value: &Value, document: &Value) {
    match value {
        Value::Object(fields) => {
            if let Some(Value::String(target)) = fields.get("$ref") {
                let pointer = target.strip_prefix('#').expect("a reference within the document");
                assert!(document.pointer(pointer).is_some(), "{target} does not resolve");
            }
            fields.values().for_each(|field| check_references(field, document));
        }
        Value::Array(items) => items.iter().for_each(|item| check_references(item, document)),
        _ => {}
    }
}

#[test]
fn every_response_field_is_documented_and_required() {
    let server = TestServer::start(Engine::Sqlite);
    crate::sample_records::fill(&server);
    server.run(&["layer", "create", "Parcels"]).expect_success();
    let token = server.create_full_token();
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
        let client = if name == "Layer" { server.geo() } else { server.main() };
        let record =
            &client.request("GET", &format!("{API}{path}")).token(&token).send().content()[0];
        let schema = &document["components"]["schemas"][name];
        sorted.push(record.as_object().unwrap().keys().cloned().collect());
        sorted.push(schema["properties"].as_object().unwrap().keys().cloned().collect());
        let required = schema["required"].as_array().unwrap().iter();
        sorted.push(required.map(|name| name.as_str().unwrap().to_owned()).collect());
        // The records of a list are documented as fully as a single record.
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
        assert_eq!(sorted[0], sorted[3], "records of {path}");
    }
}

#[test]
fn documentation_page_loads_nothing_from_other_hosts() {
    // The documentation is complete on a server without the web application.
    let server = TestServer::start_with(Engine::Sqlite, &[("GROMA_SERVER__ROLES", "main")]);
    let redirect = server.main().request("GET", "/docs").send();
    assert!([301, 302, 303, 307, 308].contains(&redirect.status), "{redirect:?}");
    assert_eq!(redirect.header("location"), Some("/docs/"));
    let page = server.main().request("GET", "/docs/").send();
    assert_eq!(page.status, 200);
    assert!(page.header("content-type").unwrap().starts_with("text/html"));
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.contains("script-src 'self'; style-src 'self'; "), "{policy}");
    assert!(policy.contains("frame-ancestors 'none'") && !policy.contains("unsafe"), "{policy}");
    assert_eq!(page.header("x-content-type-options"), Some("nosniff"));
    let html = page.text();
    let links: Vec<_> = ["src=\"", "href=\""]
        .iter()
        .flat_map(|mark| html.split(mark).skip(1).filter_map(|rest| rest.split('"').next()))
        .collect();
    assert!(links.iter().any(|link| link.ends_with(".css")), "{html}");
    let mut paths: Vec<_> = links.iter().filter(|link| !link.starts_with('#')).collect();
    paths.sort_unstable();
    paths.dedup();
    for path in paths {
        assert!(path.starts_with('/') && !path.starts_with("//"), "{path} is on another host");
        let path = path.split('#').next().unwrap();
        let response = server.main().request("GET", path).send();
        assert_eq!(response.status, 200, "{path}");
    }
    for anchor in links.iter().filter_map(|link| link.strip_prefix('#')) {
        assert!(html.contains(&format!("id=\"{anchor}\"")), "nothing has the id {anchor}");
    }
    server.main().request("GET", "/docs/no-such-file.js").send().error(404);
}

#[test]
fn documentation_page_shows_every_operation_schema_and_event() {
    let server = TestServer::start(Engine::Sqlite);
    let request = server.main().request("GET", "/docs/");
    let french = request.header("Accept-Language", "fr").send().text();
    let html = server.main().request("GET", "/docs/").send().text();
    assert!(html.contains("<html lang=\"en\"") && french.contains("<html lang=\"fr\""));
    assert!(french.contains("Documentation de l’API"));
    assert!(
        french.contains("<p lang=\"en\">Read and write the records of a workspace"),
        "{french}"
    );
    let document: Value = serde_json::from_str(&printed()).unwrap();
    for (path, item) in document["paths"].as_object().unwrap() {
        for method in ["get", "post", "patch", "delete"] {
            let Some(operation) = item.get(method) else { continue };
            let id = operation["operationId"].as_str().unwrap();
            let article = html.split(&format!("<article id=\"{id}\"")).nth(1).unwrap();
            let article = article.split("</article>").next().unwrap();
            assert!(article.contains(&format!("<code>{path}</code>")), "{id}");
            assert!(article.contains(&format!("{}</b>", method.to_uppercase())), "{id}");
            assert!(article.contains("curl ") && article.contains("Bearer $TOKEN"), "{id}");
            // curl sends a GET, or a POST with a body, unless it is told otherwise.
            let has_body = operation["requestBody"].is_object();
            let is_implied = method == if has_body { "post" } else { "get" };
            let option = format!("-X {}", method.to_uppercase());
            assert_eq!(article.contains(&option), !is_implied, "{id}");
            let shows_response = article.contains("<pre tabindex");
            assert_eq!(shows_response, method != "delete" && id != "getTile", "{id}");
            let scope = operation["security"][0]["token"][0].as_str();
            assert!(article.contains(scope.unwrap_or("Any token")), "{id}");
            for status in operation["responses"].as_object().unwrap().keys() {
                assert!(article.contains(&format!("<code>{status}</code>")), "{id}: {status}");
            }
        }
    }
    for name in document["components"]["schemas"].as_object().unwrap().keys() {
        assert!(html.contains(&format!("id=\"schema-{name}\"")), "{name}");
    }
    for event in document["webhooks"].as_object().unwrap().keys() {
        assert!(html.contains(&format!("<code>{event}</code>")), "{event}");
    }
}
