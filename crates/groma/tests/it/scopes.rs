//! Which scope opens which route: the document's word, the seed's table and the program's behaviour
//! are compared with each other.

use crate::{
    client::API,
    office::{NO_LIMIT, Office, SCOPES},
    on_both_engines,
    sample::{self, KINDS},
};
use serde_json::Value;

/// The seed's table of endpoints, as far as there are routes for it, and the two that link to tiles.
const TABLE: [(&str, &str, Option<&str>); 16] = [
    ("GET", "/folders", Some("READ_FOLDER")),
    ("GET", "/folders/{key}", Some("READ_FOLDER")),
    ("GET", "/assignments", Some("READ_ASSIGNMENT")),
    ("GET", "/assignments/{key}", Some("READ_ASSIGNMENT")),
    ("GET", "/expenses", Some("READ_EXPENSE")),
    ("GET", "/expenses/{key}", Some("READ_EXPENSE")),
    ("GET", "/budgets", Some("READ_BUDGET")),
    ("GET", "/budgets/{key}", Some("READ_BUDGET")),
    ("GET", "/statuses", None),
    ("POST", "/webhooks/endpoints", Some("MANAGE_WEBHOOK")),
    ("DELETE", "/webhooks/endpoints/{key}", Some("MANAGE_WEBHOOK")),
    ("GET", "/layers", None),
    ("GET", "/layers/{id}", None),
    ("GET", "/layers/{id}/tilejson", None),
    ("GET", "/layers/{id}/mvt/{z}/{x}/{y}", None),
    ("POST", "/geometries/geojson", None),
];

/// The routes of the document: method, path below the prefix, scope.
fn documented(office: &Office) -> Vec<(String, String, Option<String>)> {
    let document = office.main().ask("GET", &format!("{API}/openapi.json")).send().ok();
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
            let path = path.strip_prefix(API).expect("the prefix").to_owned();
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

on_both_engines! {
    fn the_document_names_the_scopes_of_the_seeds_table(engine: Engine) {
        let office = Office::start(engine);
        let mut documented = documented(&office);
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

    fn each_route_opens_with_its_scope_and_with_no_other(engine: Engine) {
        let office = Office::start_with(engine, &[NO_LIMIT]);
        sample::fill(&office);
        let with: Vec<_> = SCOPES.iter().map(|scope| office.token(&[scope])).collect();
        let without: Vec<_> = SCOPES
            .iter()
            .map(|scope| {
                let others: Vec<_> = SCOPES.iter().copied().filter(|s| s != scope).collect();
                office.token(&others)
            })
            .collect();
        let bare = office.token(&[]);
        // Those of the Geo API ask for none, and are asked for it in `geo::routes`; those of webhooks
        // change something, and are in `webhooks::endpoints`.
        let reads_on_main = |(method, path, _): &(String, String, _)| {
            method == "GET" && !path.starts_with("/layers")
        };
        for (method, path, scope) in documented(&office).into_iter().filter(reads_on_main) {
            let full_path = format!("{API}{}", real_path(&path));
            let ask = |token: &str| office.main().ask(&method, &full_path).token(token).send();
            let unauthorized = office.main().ask(&method, &full_path).send();
            unauthorized.is_error(401, "Missing Authorization header");
            let Some(scope) = scope else {
                ask(&bare).ok();
                continue;
            };
            let message = format!("Token missing required scope: {scope}");
            ask(&bare).is_error(403, &message);
            for (index, granted) in SCOPES.iter().enumerate() {
                if *granted == scope {
                    ask(&with[index]).ok();
                    ask(&without[index]).is_error(403, &message);
                } else {
                    ask(&with[index]).is_error(403, &message);
                    ask(&without[index]).ok();
                }
            }
        }
    }
}
