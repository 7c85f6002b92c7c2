//! The routes of the Geo API: they need a token but no scope, and share the rate limit with the main
//! address.

use super::{GEOJSON, Map, TILE, feature, point, tile_path};
use crate::{on_both_engines, sample_records::is_uuid_v7, sample_records::text};
use groma_testkit::{
    API, Engine, Response, TestServer, server::NO_RATE_LIMIT, server::OWNER, server::PASSWORD,
    server::WORKSPACE, wait::PATIENCE, wait_until,
};
use serde_json::{Value, json};

/// The method and path of every route except those of single features.
fn routes(layer: &str) -> [(&'static str, String); 6] {
    [
        ("GET", "/layers".to_owned()),
        ("GET", format!("/layers/{layer}")),
        ("GET", format!("/layers/{layer}/tilejson")),
        ("GET", tile_path(layer, (0, 0, 0))),
        ("GET", format!("/layers/{layer}/features")),
        ("POST", GEOJSON.to_owned()),
    ]
}

/// Sends a valid request to a route; a POST sends a point.
fn request(server: &TestServer, method: &str, path: &str, token: Option<&str>) -> Response {
    let path = format!("{API}{path}");
    let mut request = server.geo().request(method, &path);
    if let Some(token) = token {
        request = request.token(token);
    }
    if method == "POST" {
        request = request
            .header("Content-Type", "application/geo+json")
            .body(point(2.0, 48.0).to_string());
    }
    request.send()
}

fn remaining(response: &Response) -> Option<u64> {
    response.header("x-ratelimit-remaining")?.parse().ok()
}

on_both_engines! {
    every_route_needs_a_token_and_no_scope
    viewer_can_read_but_not_post
    viewer_is_rejected_before_the_body_is_read
    both_addresses_share_the_rate_limit
    wrong_method_is_an_unknown_route
    each_address_serves_its_own_routes_only
    head_responds_like_get_without_a_body
    every_response_allows_other_origins
    layer_of_another_workspace_returns_404
}

fn every_route_needs_a_token_and_no_scope(engine: Engine) {
    let map = Map::open(engine);
    let layer = text(&map.post("", &point(2.0, 48.0))["layerId"]).to_owned();
    for (method, path) in routes(&layer) {
        let without = request(&map.server, method, &path, None);
        without.assert_error(401, "Missing Authorization header");
        assert_eq!(without.header("www-authenticate"), Some("Bearer"));
        request(&map.server, method, &path, Some("svc_x")).assert_error(401, "Malformed token");
        let unknown = format!("svc_{}", "0".repeat(48));
        request(&map.server, method, &path, Some(&unknown))
            .assert_error(401, "Unknown or revoked token");
        let response = request(&map.server, method, &path, Some(&map.token));
        assert_eq!(response.status, 200, "{method} {path}: {}", response.text());
    }
}

fn viewer_can_read_but_not_post(engine: Engine) {
    let map = Map::open(engine);
    let layer = text(&map.post("", &point(2.0, 48.0))["layerId"]).to_owned();
    for role in ["viewer", "editor", "admin"] {
        let email = format!("{role}@example.test");
        let add = ["user", "add", &email, "--workspace", WORKSPACE, "--role", role];
        assert_eq!(map.server.run_with_input(PASSWORD, &add).code, Some(0));
        let token = map.server.create_token_for(WORKSPACE, &email, &[]);
        for (method, path) in routes(&layer) {
            let response = request(&map.server, method, &path, Some(&token));
            if (role, method) == ("viewer", "POST") {
                let message = response.error(403);
                assert!(message.contains("editor") && message.contains("viewer"), "{message}");
            } else {
                assert_eq!(response.status, 200, "{role}: {method} {path}");
            }
        }
    }
    assert_eq!(map.count(), 3);
    // The current role counts, not the role when the token was created.
    let token = map.server.create_token_for(WORKSPACE, "editor@example.test", &[]);
    request(&map.server, "POST", GEOJSON, Some(&token)).ok();
    map.server
        .run(&["user", "add", "editor@example.test", "--workspace", WORKSPACE, "--role", "viewer"])
        .expect_success();
    let rejected = wait_until(PATIENCE, || {
        let response = request(&map.server, "POST", GEOJSON, Some(&token));
        if response.status == 200 { Err("it is still taken".to_owned()) } else { Ok(response) }
    });
    rejected.error(403);
}

fn viewer_is_rejected_before_the_body_is_read(engine: Engine) {
    let map = Map::open(engine);
    let add = ["user", "add", "v@example.test", "--workspace", WORKSPACE, "--role", "viewer"];
    assert_eq!(map.server.run_with_input(PASSWORD, &add).code, Some(0));
    let token = map.server.create_token_for(WORKSPACE, "v@example.test", &[]);
    let path = format!("{API}{GEOJSON}?layer=nowhere");
    let request = map.server.geo().request("POST", &path).token(&token);
    request.header("Content-Type", "text/plain").body("nonsense").send().error(403);
}

fn both_addresses_share_the_rate_limit(engine: Engine) {
    let server = TestServer::start_with(engine, &[("GROMA_LIMITS__REQUESTS_PER_MINUTE", "14")]);
    let token = server.create_token(&["READ_FOLDER"]);
    let layer = text(&request(&server, "POST", GEOJSON, Some(&token)).ok()["layerId"]).to_owned();
    let mut left = 13;
    for (method, path) in routes(&layer) {
        left -= 1;
        assert_eq!(remaining(&request(&server, method, &path, Some(&token))), Some(left), "{path}");
        left -= 1;
        assert_eq!(remaining(&server.get("/folders", &token)), Some(left));
    }
    // Invalid requests count as well.
    assert_eq!(remaining(&request(&server, "GET", "/layers?page=0", Some(&token))), Some(0));
    for (method, path) in routes(&layer) {
        let rejected = request(&server, method, &path, Some(&token));
        rejected.assert_error(429, "Rate limit exceeded: 14 requests per minute");
        assert!(rejected.header("retry-after").is_some());
    }
    server.get("/folders", &token).error(429);
}

fn wrong_method_is_an_unknown_route(engine: Engine) {
    let map = Map::open(engine);
    let id = uuid::Uuid::now_v7().to_string();
    for (known, path) in routes(&id) {
        for method in ["GET", "POST", "PUT", "PATCH", "DELETE"] {
            if method != known {
                let path = format!("{API}{path}");
                let request = map.server.geo().request(method, &path);
                let response = if method == "GET" { request } else { request.body("{}") }.send();
                response.assert_error(404, "No such route");
            }
        }
    }
    for path in [
        "/layers/",
        "/layers/x/mvt",
        "/layers/x/mvt/0/0",
        "/layers/x/mvt/0/0/0/0",
        "/layers/x/y",
        "/layers/x/mvt/0/0/",
        "/geometries",
        "/geometries/",
        "/geometries/geojson/",
        "/folders",
    ] {
        map.get(path).assert_error(404, "No such route");
    }
}

fn each_address_serves_its_own_routes_only(engine: Engine) {
    let map = Map::open(engine);
    let layer = text(&map.post("", &point(2.0, 48.0))["layerId"]).to_owned();
    let token = map.server.create_full_token();
    for (method, path) in routes(&layer) {
        let path = format!("{API}{path}");
        let request = map.server.main().request(method, &path).token(&token);
        let response = if method == "POST" { request.body("{}") } else { request }.send();
        response.assert_error(404, "No such route");
    }
}

fn head_responds_like_get_without_a_body(engine: Engine) {
    let map = Map::open(engine);
    let layer = text(&map.post("", &point(2.0, 48.0))["layerId"]).to_owned();
    let mut paths: Vec<_> = routes(&layer).into_iter().filter(|route| route.0 == "GET").collect();
    for path in ["/layers/x", "/layers?page=0", "/nowhere"] {
        paths.push(("GET", path.to_owned()));
    }
    paths.push(("GET", tile_path(&layer, (18, 0, 0))));
    paths.push(("GET", tile_path(&layer, (3, 8, 0))));
    for (_, path) in paths {
        let get = map.get(&path);
        let head =
            map.server.geo().request("HEAD", &format!("{API}{path}")).token(&map.token).send();
        assert_eq!((head.status, head.body.len()), (get.status, 0), "{path}");
        for name in ["content-type", "etag", "vary", "content-length", "cache-control"] {
            assert_eq!(head.header(name), get.header(name), "{name} of {path}");
        }
    }
}

fn every_response_allows_other_origins(engine: Engine) {
    let map = Map::open(engine);
    let layer = text(&map.post("", &point(2.0, 48.0))["layerId"]).to_owned();
    for (method, path) in routes(&layer) {
        let preflight = map
            .server
            .geo()
            .request("OPTIONS", &format!("{API}{path}"))
            .header("Origin", "https://map.example.test")
            .header("Access-Control-Request-Method", method)
            .header("Access-Control-Request-Headers", "authorization,content-type,idempotency-key")
            .send();
        assert!([200, 204].contains(&preflight.status), "{preflight:?}");
        assert!(preflight.header("access-control-allow-methods").unwrap().contains(method));
        let allowed = preflight.header("access-control-allow-headers").unwrap().to_lowercase();
        for name in ["authorization", "content-type", "if-none-match", "idempotency-key"] {
            assert!(allowed.contains(name), "{name}");
        }
        let responses = [
            request(&map.server, method, &path, Some(&map.token)),
            request(&map.server, method, &path, None),
            preflight,
        ];
        for response in responses {
            assert_eq!(response.header("access-control-allow-origin"), Some("*"));
            assert_eq!(response.header("access-control-allow-credentials"), None);
            assert!(is_uuid_v7(&json!(response.header("x-request-id").unwrap())));
            let exposed = response.header("access-control-expose-headers").unwrap();
            for name in ["ETag", "X-Request-Id", "X-RateLimit-Remaining", "Idempotent-Replayed"] {
                assert!(exposed.contains(name), "{name}");
            }
        }
    }
    let known = map.get_with(&tile_path(&layer, (0, 0, 0)), &[("If-None-Match", "*")]);
    assert_eq!((known.status, known.header("access-control-allow-origin")), (304, Some("*")));
}

fn layer_of_another_workspace_returns_404(engine: Engine) {
    let map = Map::open(engine);
    let layer =
        text(&map.post("", &feature(json!(1), point(2.0, 48.0), json!({})))["layerId"]).to_owned();
    let create = ["workspace", "create", "Next door", "--owner", OWNER];
    map.server.run(&create).expect_success();
    let token = map.server.create_token_in("Next door", &[]);
    let listed = request(&map.server, "GET", "/layers", Some(&token)).ok();
    assert_eq!((&listed["total"], &listed["content"]), (&json!(0), &json!([])));
    for (method, path) in routes(&layer).iter().filter(|(_, path)| path.contains(&layer)) {
        let response = request(&map.server, method, path, Some(&token));
        response.assert_error(404, &format!("layer `{layer}` not found"));
    }
    let response = request(&map.server, "POST", &format!("{GEOJSON}?layer={layer}"), Some(&token));
    assert!(response.error(400).starts_with("layer "));
    // Each workspace has its own submissions layer and ids.
    let own = request(&map.server, "POST", GEOJSON, Some(&token)).ok();
    assert_ne!(own["layerId"], json!(layer));
    assert_eq!((&own["created"], map.count()), (&json!(1), 1));
}

#[test]
fn unreachable_database_returns_500_without_details_until_it_is_back() {
    let map = Map::open(Engine::Postgres);
    let layer = text(&map.post("", &point(2.0, 48.0))["layerId"]).to_owned();
    map.server.without_database(|| {
        for (method, path) in routes(&layer) {
            let response = request(&map.server, method, &path, Some(&map.token));
            response.assert_error(500, "Internal server error");
        }
    });
    wait_until(PATIENCE, || {
        let response = map.get("/layers");
        if response.status == 200 { Ok(()) } else { Err(response.text()) }
    });
    for (method, path) in routes(&layer) {
        assert_eq!(request(&map.server, method, &path, Some(&map.token)).status, 200);
    }
    assert_eq!(map.count(), 2, "the failed post stored nothing");
}

#[test]
fn document_lists_the_routes_with_the_geo_address() {
    let server = TestServer::start_with(
        Engine::Sqlite,
        &[
            NO_RATE_LIMIT,
            ("GROMA_SERVER__PUBLIC_URL", "https://gis.example.test"),
            ("GROMA_SERVER__GEO_PUBLIC_URL", "https://tiles.example.test/"),
        ],
    );
    let document = server.main().request("GET", &format!("{API}/openapi.json")).send().ok();
    let on_geo = |path: &Value| path["servers"][0]["url"] == "https://tiles.example.test";
    let paths = document["paths"].as_object().unwrap();
    let mut found: Vec<_> = Vec::new();
    for (path, item) in paths {
        assert_eq!(item.get("servers").is_some(), on_geo(item), "{path}");
        for (method, operation) in item.as_object().unwrap() {
            if on_geo(item) && method != "servers" {
                assert_eq!(operation["security"], json!([{ "token": [] }]), "{path}");
                found.push((method.to_uppercase(), path.clone()));
            }
        }
    }
    let single = [
        ("GET", "/layers/{id}/features/{feature}".to_owned()),
        ("GET", "/geometries/{key}".to_owned()),
        ("DELETE", "/geometries/{key}".to_owned()),
    ];
    let mut known: Vec<_> = routes("{id}")
        .into_iter()
        .chain(single)
        .map(|(method, path)| {
            let path = path.replace("/0/0/0", "/{z}/{x}/{y}");
            (method.to_owned(), format!("{API}{path}"))
        })
        .collect();
    known.sort();
    found.sort();
    assert_eq!(found, known);
    let tile = &paths[&format!("{API}/layers/{{id}}/mvt/{{z}}/{{x}}/{{y}}")]["get"];
    assert!(tile["responses"]["200"]["content"][TILE].is_object(), "{tile}");
}
