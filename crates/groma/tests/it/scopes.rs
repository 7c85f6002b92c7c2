//! The scope of each route: the OpenAPI document, the contract's table and the program agree.

use crate::{on_both_engines, sample_records, sample_records::KINDS};
use groma_testkit::{API, Engine, TestServer, server::NO_RATE_LIMIT, server::SCOPES};
use serde_json::Value;

/// The contract's table of endpoints, the two routes that link to tiles, those of single features, and those
/// that write.
const TABLE: [(&str, &str, Option<&str>); 52] = [
    ("GET", "/folders", Some("READ_FOLDER")),
    ("GET", "/folders/{key}", Some("READ_FOLDER")),
    ("GET", "/assignments", Some("READ_ASSIGNMENT")),
    ("GET", "/assignments/{key}", Some("READ_ASSIGNMENT")),
    ("GET", "/expenses", Some("READ_EXPENSE")),
    ("GET", "/expenses/{key}", Some("READ_EXPENSE")),
    ("GET", "/budgets", Some("READ_BUDGET")),
    ("GET", "/budgets/{key}", Some("READ_BUDGET")),
    ("GET", "/statuses", None),
    ("GET", "/statuses/{key}", None),
    ("POST", "/folders", Some("WRITE_FOLDER")),
    ("PATCH", "/folders/{key}", Some("WRITE_FOLDER")),
    ("DELETE", "/folders/{key}", Some("WRITE_FOLDER")),
    ("POST", "/folders/{key}/archive", Some("WRITE_FOLDER")),
    ("POST", "/folders/{key}/unarchive", Some("WRITE_FOLDER")),
    ("POST", "/assignments", Some("WRITE_ASSIGNMENT")),
    ("PATCH", "/assignments/{key}", Some("WRITE_ASSIGNMENT")),
    ("DELETE", "/assignments/{key}", Some("WRITE_ASSIGNMENT")),
    ("POST", "/expenses", Some("WRITE_EXPENSE")),
    ("PATCH", "/expenses/{key}", Some("WRITE_EXPENSE")),
    ("DELETE", "/expenses/{key}", Some("WRITE_EXPENSE")),
    ("POST", "/budgets", Some("WRITE_BUDGET")),
    ("PATCH", "/budgets/{key}", Some("WRITE_BUDGET")),
    ("DELETE", "/budgets/{key}", Some("WRITE_BUDGET")),
    ("POST", "/statuses", Some("MANAGE_STATUS")),
    ("PATCH", "/statuses/{key}", Some("MANAGE_STATUS")),
    ("DELETE", "/statuses/{key}", Some("MANAGE_STATUS")),
    ("POST", "/bulk", None),
    // The scopes of the feed depend on its parameters.
    ("GET", "/changes", None),
    ("GET", "/changes/stream", None),
    ("GET", "/me", None),
    ("GET", "/members", Some("READ_MEMBER")),
    ("POST", "/webhooks/endpoints", Some("MANAGE_WEBHOOK")),
    ("DELETE", "/webhooks/endpoints/{key}", Some("MANAGE_WEBHOOK")),
    ("GET", "/webhooks/endpoints", Some("MANAGE_WEBHOOK")),
    ("GET", "/webhooks/endpoints/{key}", Some("MANAGE_WEBHOOK")),
    ("PATCH", "/webhooks/endpoints/{key}", Some("MANAGE_WEBHOOK")),
    ("POST", "/webhooks/endpoints/{key}/rotate", Some("MANAGE_WEBHOOK")),
    ("POST", "/webhooks/endpoints/{key}/test", Some("MANAGE_WEBHOOK")),
    ("GET", "/webhooks/endpoints/{key}/deliveries", Some("MANAGE_WEBHOOK")),
    ("GET", "/webhooks/endpoints/{key}/deliveries/{id}", Some("MANAGE_WEBHOOK")),
    ("POST", "/webhooks/endpoints/{key}/deliveries/{id}/redeliver", Some("MANAGE_WEBHOOK")),
    ("POST", "/webhooks/endpoints/{key}/redeliver", Some("MANAGE_WEBHOOK")),
    ("GET", "/layers", None),
    ("GET", "/layers/{id}", None),
    ("GET", "/layers/{id}/tilejson", None),
    ("GET", "/layers/{id}/mvt/{z}/{x}/{y}", None),
    ("GET", "/layers/{id}/features", None),
    ("GET", "/layers/{id}/features/{feature}", None),
    ("POST", "/geometries/geojson", None),
    ("GET", "/geometries/{key}", None),
    ("DELETE", "/geometries/{key}", None),
];

/// The method, path without the prefix, and scope of each documented route.
fn documented(server: &TestServer) -> Vec<(String, String, Option<String>)> {
    let document = server.main().request("GET", &format!("{API}/openapi.json")).send().ok();
    let mut routes = Vec::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in
            operations.as_object().unwrap().iter().filter(|(m, _)| *m != "servers")
        {
            let security = operation["security"].as_array().unwrap();
            assert_eq!(security.len(), 1, "{path} needs a token");
            let scopes = security[0]["token"].as_array().unwrap();
            assert!(scopes.len() <= 1);
            let scope = scopes.first().and_then(Value::as_str).map(str::to_owned);
            let path = path.strip_prefix(API).expect("a path with the API prefix").to_owned();
            routes.push((method.to_uppercase(), path, scope));
        }
    }
    routes
}

fn real_path(path: &str) -> String {
    let (_, _, reference) =
        KINDS.into_iter().find(|kind| path.starts_with(kind.0)).unwrap_or(("", "", ""));
    path.replace("{key}", reference)
}

/// The id of a status, which has no reference.
fn with_status(server: &TestServer, path: String) -> String {
    if !path.starts_with("/statuses/") {
        return path;
    }
    let token = server.create_token(&[]);
    format!("/statuses/{}", server.get("/statuses", &token).column("id")[0])
}

on_both_engines! {
    document_has_the_scopes_of_the_contract
    each_route_accepts_its_scope_and_no_other
}

fn document_has_the_scopes_of_the_contract(engine: Engine) {
    let server = TestServer::start(engine);
    let mut documented = documented(&server);
    let mut table: Vec<_> = TABLE
        .iter()
        .map(|(method, path, scope)| {
            ((*method).to_owned(), (*path).to_owned(), scope.map(str::to_owned))
        })
        .collect();
    documented.sort();
    table.sort();
    assert_eq!(documented, table);
}

fn each_route_accepts_its_scope_and_no_other(engine: Engine) {
    let server = TestServer::start_with(engine, &[NO_RATE_LIMIT]);
    sample_records::fill(&server);
    let with: Vec<_> = SCOPES.iter().map(|scope| server.create_token(&[scope])).collect();
    let without: Vec<_> = SCOPES
        .iter()
        .map(|scope| {
            let others: Vec<_> = SCOPES.iter().copied().filter(|s| s != scope).collect();
            server.create_token(&others)
        })
        .collect();
    let bare = server.create_token(&[]);
    let real_path = |path: &str| with_status(&server, real_path(path));
    // `geo::routes` tests the Geo API, which needs no scope; `webhooks` tests routes that write, and those
    // of one endpoint; `changes` tests the feed.
    let elsewhere = ["/layers", "/geometries", "/webhooks/endpoints/", "/changes"];
    let is_elsewhere = |path: &str| elsewhere.iter().any(|prefix| path.starts_with(prefix));
    let reads_on_main =
        |(method, path, _): &(String, String, _)| method == "GET" && !is_elsewhere(path);
    for (method, path, scope) in documented(&server).into_iter().filter(reads_on_main) {
        let full_path = format!("{API}{}", real_path(&path));
        let request = |token: &str| server.main().request(&method, &full_path).token(token).send();
        let unauthorized = server.main().request(&method, &full_path).send();
        unauthorized.assert_error(401, "Missing Authorization header");
        let Some(scope) = scope else {
            request(&bare).ok();
            continue;
        };
        let message = format!("Token missing required scope: {scope}");
        request(&bare).assert_error(403, &message);
        for (index, granted) in SCOPES.iter().enumerate() {
            if *granted == scope {
                request(&with[index]).ok();
                request(&without[index]).assert_error(403, &message);
            } else {
                request(&with[index]).assert_error(403, &message);
                request(&without[index]).ok();
            }
        }
    }
}
