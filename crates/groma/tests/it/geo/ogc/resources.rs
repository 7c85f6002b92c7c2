//! The landing page, conformance, the OpenAPI document and collections; authentication and rate limits.

use super::{Map, OGC, assert_problem, link, open, points};
use crate::{on_both_engines, sample_records::KINDS};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use groma_testkit::{Engine, Response};
use serde_json::{Value, json};

on_both_engines! {
    every_link_of_the_landing_page_leads_somewhere
    conformance_declares_what_holds
    openapi_document_needs_no_token
    collections_are_layers_and_readable_records
    layer_is_described_as_collection
    errors_are_problem_details
    token_is_also_the_password_of_basic_authentication
    layers_and_records_have_separate_rate_limits
    names_of_records_are_reserved
    scripts_of_other_origins_can_read
}

fn get(map: &Map, path: &str, authorization: Option<&str>) -> Response {
    let request = map.server.geo().request("GET", path);
    match authorization {
        Some(authorization) => request.header("Authorization", authorization).send(),
        None => request.send(),
    }
}

/// The path of a URL of this server.
fn path(url: &str) -> &str {
    url.find(OGC).map(|index| &url[index + OGC.len()..]).unwrap()
}

#[track_caller]
fn json_body(response: &Response) -> Value {
    assert_eq!((response.status, response.header("content-type")), (200, Some("application/json")));
    response.json()
}

fn every_link_of_the_landing_page_leads_somewhere(engine: Engine) {
    let map = open(engine);
    let landing = json_body(&map.ogc(""));
    assert_eq!(json_body(&map.ogc("/")), landing);
    assert_eq!(json_body(&map.ogc("?f=json")), landing);
    let rels: Vec<_> =
        landing["links"].as_array().unwrap().iter().map(|link| &link["rel"]).collect();
    let schemes = "http://www.opengis.net/def/rel/ogc/1.0/tiling-schemes";
    let expected =
        ["self", "alternate", "service-desc", "service-doc", "conformance", "data", schemes];
    assert_eq!(rels, expected);
    for link in landing["links"].as_array().unwrap() {
        let response = map.ogc(path(link["href"].as_str().unwrap()));
        let media_type = response.header("content-type").unwrap();
        assert_eq!(response.status, 200);
        assert!(media_type.starts_with(link["type"].as_str().unwrap()), "{media_type}");
    }
}

fn conformance_declares_what_holds(engine: Engine) {
    let map = open(engine);
    let classes = json_body(&map.ogc("/conformance"))["conformsTo"].clone();
    let classes: Vec<_> =
        classes.as_array().unwrap().iter().map(|class| class.as_str().unwrap()).collect();
    let features = "http://www.opengis.net/spec/ogcapi-features";
    for class in [
        "1/1.0/conf/core",
        "1/1.0/conf/oas30",
        "1/1.0/conf/geojson",
        "1/1.0/conf/html",
        "2/1.0/conf/crs",
        "4/1.0/conf/create-replace-delete",
        "4/1.0/conf/update",
        "4/1.0/conf/optimistic-locking-etags",
        "4/1.0/conf/features",
        "5/1.0/conf/returnables-and-receivables",
    ] {
        assert!(classes.contains(&format!("{features}-{class}").as_str()), "{class}");
    }
    assert!(!classes.iter().any(|class| class.ends_with("/gmlsf0")));
}

fn openapi_document_needs_no_token(engine: Engine) {
    let map = open(engine);
    let response = get(&map, "/ogc/api", None);
    let media_type = "application/vnd.oai.openapi+json;version=3.0";
    assert_eq!((response.status, response.header("content-type")), (200, Some(media_type)));
    let document = response.json();
    assert_eq!(document["openapi"], "3.0.3");
    assert!(document["servers"][0]["url"].as_str().unwrap().ends_with("/ogc"));
    for (path, operations) in document["paths"].as_object().unwrap() {
        assert!(operations["get"]["operationId"].is_string(), "{path}");
    }
}

fn collections_are_layers_and_readable_records(engine: Engine) {
    let map = open(engine);
    map.create_layer("Boundary stones");
    let ids = |token: &str| {
        let response = map.server.geo().request("GET", "/ogc/collections").token(token).send();
        let collections = json_body(&response)["collections"].as_array().unwrap().clone();
        collections.iter().map(|one| one["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(ids(&map.token), ["boundary-stones"]);
    let full = map.server.create_full_token();
    assert_eq!(ids(&full), ["boundary-stones", "folders", "assignments", "expenses", "budgets"]);
    let list = json_body(&map.ogc("/collections"));
    for collection in list["collections"].as_array().unwrap() {
        assert_eq!(&json_body(&map.ogc(path(link(collection, "self").unwrap()))), collection);
        assert_eq!(map.ogc(path(link(collection, "items").unwrap())).status, 200);
    }
    for (kind, scope, _) in KINDS {
        let path = format!("/ogc/collections{kind}");
        let response = map.server.geo().request("GET", &path).token(&map.token).send();
        assert_problem(&response, 403, &format!("Token missing required scope: {scope}"));
        let token = map.server.create_token(&[scope]);
        let response = map.server.geo().request("GET", &path).token(&token).send();
        assert_eq!(json_body(&response)["id"], kind[1..]);
    }
    // Not around the scope either.
    assert_problem(&map.ogc("/collections/f%6Flders/items"), 404, "collection `folders` not found");
}

fn layer_is_described_as_collection(engine: Engine) {
    let map = open(engine);
    let id = map.create_layer("Submissions");
    let empty = json_body(&map.ogc("/collections/submissions"));
    assert_eq!((&empty["id"], &empty["title"]), (&json!("submissions"), &json!("Submissions")));
    assert!(empty["extent"]["spatial"].is_null());
    map.post("", &points(3));
    let layer = json_body(&map.ogc("/collections/submissions"));
    assert_eq!(layer["extent"]["spatial"]["bbox"], json!([[0.0, 48.0, 0.2, 48.0]]));
    let crs84 = "http://www.opengis.net/def/crs/OGC/1.3/CRS84";
    assert_eq!((&layer["crs"][0], &layer["storageCrs"]), (&json!(crs84), &json!(crs84)));
    assert_eq!(layer["extent"]["spatial"]["crs"], crs84);
    assert_eq!(json_body(&map.ogc(&format!("/collections/{id}"))), layer);
}

fn errors_are_problem_details(engine: Engine) {
    let map = open(engine);
    map.post("", &points(1));
    assert_problem(&map.ogc("/collections/nowhere"), 404, "collection `nowhere` not found");
    assert_problem(&map.ogc("/collections/nowhere/items"), 404, "collection `nowhere` not found");
    assert_problem(&map.ogc("/nowhere"), 404, "No such route");
    for path in ["", "/conformance", "/api", "/collections", "/collections/submissions"] {
        assert_problem(&map.ogc(&format!("{path}?x=1")), 400, "x is unknown");
        assert_problem(&map.ogc(&format!("{path}?f=xml")), 400, "f must be json");
    }
    let id = map.items("")[0]["id"].as_str().unwrap().to_owned();
    assert_problem(
        &map.ogc(&format!("/collections/submissions/items/{id}?x=1")),
        400,
        "x is unknown",
    );
    let post = map.server.geo().request("POST", "/ogc/collections").token(&map.token).send();
    assert_problem(&post, 405, "The method is not allowed here");
    assert_eq!(post.header("allow"), Some("GET,HEAD"));
    assert_problem(&get(&map, "/ogc", None), 401, "Missing Authorization header");
    assert_problem(&get(&map, "/ogc/collections", Some("Bearer x")), 401, "Malformed token");
}

fn token_is_also_the_password_of_basic_authentication(engine: Engine) {
    let map = open(engine);
    let token = map.server.create_full_token();
    for path in ["/ogc", "/ogc/collections", "/ogc/collections/folders/items"] {
        // In UTF-8, in Latin-1, and without a name.
        for user in ["Zo\u{eb}".as_bytes(), b"Zo\xeb", b""] {
            let credentials = [user, b":", token.as_bytes()].concat();
            let basic = format!("Basic {}", BASE64_STANDARD.encode(credentials));
            assert_eq!(get(&map, path, Some(&basic)).status, 200, "{path} {user:?}");
        }
        let challenges = get(&map, path, None).header_values("www-authenticate").join(", ");
        assert_eq!(challenges, "Bearer, Basic realm=\"Groma\", charset=\"UTF-8\"");
    }
}

fn layers_and_records_have_separate_rate_limits(engine: Engine) {
    let limits = [
        ("GROMA_LIMITS__REQUESTS_PER_MINUTE", "3"),
        ("GROMA_LIMITS__MAP_REQUESTS_PER_MINUTE", "20"),
    ];
    let mut map = Map::open_with(engine, &limits);
    map.token = map.server.create_full_token();
    map.server.run(&["layer", "create", "Parcels"]).expect_success();
    for left in (0..20).rev() {
        let response = map.ogc("/collections/parcels/items");
        assert_eq!(response.status, 200);
        assert_eq!(response.header("x-ratelimit-remaining"), Some(left.to_string().as_str()));
    }
    assert_problem(&map.ogc("/collections"), 429, "Rate limit exceeded: 20 requests per minute");
    for _ in 0..3 {
        assert_eq!(map.ogc("/collections/folders/items").status, 200);
    }
    let rejected = map.ogc("/collections/folders");
    assert_problem(&rejected, 429, "Rate limit exceeded: 3 requests per minute");
    assert!(rejected.header("retry-after").is_some());
}

fn names_of_records_are_reserved(engine: Engine) {
    let map = open(engine);
    for name in ["Folders", "Assignments", "Expenses", "Budgets"] {
        map.create_layer(name);
        assert_eq!(map.layer(name)["slug"], format!("{}-layer", name.to_lowercase()));
    }
    assert_eq!(map.ogc("/collections/budgets-layer/items").status, 200);
}

fn scripts_of_other_origins_can_read(engine: Engine) {
    let map = open(engine);
    let preflight = map.server.geo().request("OPTIONS", "/ogc/collections");
    let preflight = preflight.header("Origin", "https://x.test");
    let preflight = preflight.header("Access-Control-Request-Method", "GET").send();
    assert_eq!(preflight.status, 204);
    assert_eq!(preflight.header("access-control-allow-origin"), Some("*"));
    assert_eq!(map.ogc("/collections").header("access-control-allow-origin"), Some("*"));
}
