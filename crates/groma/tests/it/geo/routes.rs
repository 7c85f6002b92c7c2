//! The rows of the table that are on this address: no scope, but a token; the rate counted together
//! with the other address; what every answer has.

use super::{GEOJSON, Map, TILE, feature, point, tile_path};
use crate::{
    client::{API, Answer},
    database::Engine,
    office::{NO_LIMIT, OWNER, Office, PASSWORD, WORKSPACE},
    on_both_engines,
    sample::{is_uuid_v7, text},
};
use serde_json::{Value, json};

/// Method and path of every route.
fn routes(layer: &str) -> [(&'static str, String); 5] {
    [
        ("GET", "/layers".to_owned()),
        ("GET", format!("/layers/{layer}")),
        ("GET", format!("/layers/{layer}/tilejson")),
        ("GET", tile_path(layer, (0, 0, 0))),
        ("POST", GEOJSON.to_owned()),
    ]
}

/// Sends a good request to a route; a POST sends a point.
fn ask(office: &Office, method: &str, path: &str, token: Option<&str>) -> Answer {
    let path = format!("{API}{path}");
    let mut ask = office.geo().ask(method, &path);
    if let Some(token) = token {
        ask = ask.token(token);
    }
    if method == "POST" {
        ask = ask.header("Content-Type", "application/geo+json").body(point(2.0, 48.0).to_string());
    }
    ask.send()
}

fn remaining(answer: &Answer) -> Option<u64> {
    answer.header("x-ratelimit-remaining")?.parse().ok()
}

on_both_engines! {
    fn every_route_asks_for_a_token_and_for_no_scope(engine: Engine) {
        let map = Map::open(engine);
        let layer = text(&map.post("", &point(2.0, 48.0))["layerId"]).to_owned();
        for (method, path) in routes(&layer) {
            let without = ask(&map.office, method, &path, None);
            without.is_error(401, "Missing Authorization header");
            assert_eq!(without.header("www-authenticate"), Some("Bearer"));
            ask(&map.office, method, &path, Some("svc_x")).is_error(401, "Malformed token");
            let unknown = format!("svc_{}", "0".repeat(48));
            ask(&map.office, method, &path, Some(&unknown)).is_error(401, "Unknown or revoked token");
            let answer = ask(&map.office, method, &path, Some(&map.token));
            assert_eq!(answer.status, 200, "{method} {path}: {}", answer.text());
        }
    }

    fn a_viewer_reads_but_does_not_post_and_is_told_so(engine: Engine) {
        let map = Map::open(engine);
        let layer = text(&map.post("", &point(2.0, 48.0))["layerId"]).to_owned();
        for role in ["viewer", "editor", "admin"] {
            let email = format!("{role}@example.test");
            let add = ["user", "add", &email, "--workspace", WORKSPACE, "--role", role];
            assert_eq!(map.office.groma_with(PASSWORD, &add).code, Some(0));
            let token = map.office.token_of(WORKSPACE, &email, &[]);
            for (method, path) in routes(&layer) {
                let answer = ask(&map.office, method, &path, Some(&token));
                if (role, method) == ("viewer", "POST") {
                    let message = answer.error(403);
                    assert!(message.contains("editor") && message.contains("viewer"), "{message}");
                } else {
                    assert_eq!(answer.status, 200, "{role}: {method} {path}");
                }
            }
        }
        assert_eq!(map.count(), 3);
        // The role of the moment counts, not the one that the token was made with.
        let token = map.office.token_of(WORKSPACE, "editor@example.test", &[]);
        ask(&map.office, "POST", GEOJSON, Some(&token)).ok();
        map.office
            .groma(&["user", "add", "editor@example.test", "--workspace", WORKSPACE, "--role", "viewer"])
            .succeeds();
        let refused = crate::office::wait_until(std::time::Duration::from_secs(1), || {
            let answer = ask(&map.office, "POST", GEOJSON, Some(&token));
            if answer.status == 200 { Err("it is still taken".to_owned()) } else { Ok(answer) }
        });
        refused.error(403);
    }

    fn a_viewer_is_refused_before_the_body_is_looked_at(engine: Engine) {
        let map = Map::open(engine);
        let add = ["user", "add", "v@example.test", "--workspace", WORKSPACE, "--role", "viewer"];
        assert_eq!(map.office.groma_with(PASSWORD, &add).code, Some(0));
        let token = map.office.token_of(WORKSPACE, "v@example.test", &[]);
        let path = format!("{API}{GEOJSON}?layer=nowhere");
        let ask = map.office.geo().ask("POST", &path).token(&token);
        ask.header("Content-Type", "text/plain").body("nonsense").send().error(403);
    }

    fn the_rate_counts_over_both_addresses_together(engine: Engine) {
        let office = Office::start_with(engine, &[("GROMA_LIMITS__REQUESTS_PER_MINUTE", "12")]);
        let token = office.token(&["READ_FOLDER"]);
        let layer = text(&ask(&office, "POST", GEOJSON, Some(&token)).ok()["layerId"]).to_owned();
        let mut left = 11;
        for (method, path) in routes(&layer) {
            left -= 1;
            assert_eq!(remaining(&ask(&office, method, &path, Some(&token))), Some(left), "{path}");
            left -= 1;
            assert_eq!(remaining(&office.get("/folders", &token)), Some(left));
        }
        // What is wrong counts as well.
        assert_eq!(remaining(&ask(&office, "GET", "/layers?page=0", Some(&token))), Some(0));
        for (method, path) in routes(&layer) {
            let refused = ask(&office, method, &path, Some(&token));
            refused.is_error(429, "Rate limit exceeded: 12 requests per minute");
            assert!(refused.header("retry-after").is_some());
        }
        office.get("/folders", &token).error(429);
    }

    fn the_wrong_method_is_an_unknown_route(engine: Engine) {
        let map = Map::open(engine);
        let id = uuid::Uuid::now_v7().to_string();
        for (known, path) in routes(&id) {
            for method in ["GET", "POST", "PUT", "PATCH", "DELETE"] {
                if method != known {
                    let path = format!("{API}{path}");
                    let ask = map.office.geo().ask(method, &path);
                    let answer = if method == "GET" { ask } else { ask.body("{}") }.send();
                    answer.is_error(404, "No such route");
                }
            }
        }
        for path in ["/layers/", "/layers/x/mvt", "/layers/x/mvt/0/0", "/layers/x/mvt/0/0/0/0", "/layers/x/y",
            "/layers/x/mvt/0/0/", "/geometries", "/geometries/", "/geometries/geojson/", "/folders"] {
            map.get(path).is_error(404, "No such route");
        }
    }

    fn each_address_has_its_own_routes(engine: Engine) {
        let map = Map::open(engine);
        let layer = text(&map.post("", &point(2.0, 48.0))["layerId"]).to_owned();
        let token = map.office.master_token();
        for (method, path) in routes(&layer) {
            let path = format!("{API}{path}");
            let ask = map.office.main().ask(method, &path).token(&token);
            let answer = if method == "POST" { ask.body("{}") } else { ask }.send();
            answer.is_error(404, "No such route");
        }
    }

    fn head_answers_as_get_without_a_body(engine: Engine) {
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
            let head = map.office.geo().ask("HEAD", &format!("{API}{path}")).token(&map.token).send();
            assert_eq!((head.status, head.body.len()), (get.status, 0), "{path}");
            for name in ["content-type", "etag", "vary", "content-length", "cache-control"] {
                assert_eq!(head.header(name), get.header(name), "{name} of {path}");
            }
        }
    }

    fn other_origins_may_read_every_answer_and_post(engine: Engine) {
        let map = Map::open(engine);
        let layer = text(&map.post("", &point(2.0, 48.0))["layerId"]).to_owned();
        for (method, path) in routes(&layer) {
            let preflight = map.office.geo()
                .ask("OPTIONS", &format!("{API}{path}"))
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
            let answers = [
                ask(&map.office, method, &path, Some(&map.token)),
                ask(&map.office, method, &path, None),
                preflight,
            ];
            for answer in answers {
                assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
                assert_eq!(answer.header("access-control-allow-credentials"), None);
                assert!(is_uuid_v7(&json!(answer.header("x-request-id").unwrap())));
                let exposed = answer.header("access-control-expose-headers").unwrap();
                for name in ["ETag", "X-Request-Id", "X-RateLimit-Remaining", "Idempotent-Replayed"] {
                    assert!(exposed.contains(name), "{name}");
                }
            }
        }
        let known = map.get_with(&tile_path(&layer, (0, 0, 0)), &[("If-None-Match", "*")]);
        assert_eq!((known.status, known.header("access-control-allow-origin")), (304, Some("*")));
    }

    fn a_layer_of_another_workspace_is_not_there(engine: Engine) {
        let map = Map::open(engine);
        let layer = text(&map.post("", &feature(json!(1), point(2.0, 48.0), json!({})))["layerId"]).to_owned();
        let create = ["workspace", "create", "Next door", "--owner", OWNER];
        map.office.groma(&create).succeeds();
        let token = map.office.token_in("Next door", &[]);
        let listed = ask(&map.office, "GET", "/layers", Some(&token)).ok();
        assert_eq!((&listed["total"], &listed["content"]), (&json!(0), &json!([])));
        for (method, path) in routes(&layer).iter().filter(|(_, path)| path.contains(&layer)) {
            let answer = ask(&map.office, method, path, Some(&token));
            answer.is_error(404, &format!("layer `{layer}` not found"));
        }
        let answer = ask(&map.office, "POST", &format!("{GEOJSON}?layer={layer}"), Some(&token));
        assert!(answer.error(400).starts_with("layer "));
        // Each has its own layer of submissions, and ids in it.
        let own = ask(&map.office, "POST", GEOJSON, Some(&token)).ok();
        assert_ne!(own["layerId"], json!(layer));
        assert_eq!((&own["created"], map.count()), (&json!(1), 1));
    }
}

#[test]
fn a_database_that_is_gone_for_a_while_is_a_500_that_tells_nothing() {
    let map = Map::open(Engine::Postgres);
    let layer = text(&map.post("", &point(2.0, 48.0))["layerId"]).to_owned();
    map.office.without_database(|| {
        for (method, path) in routes(&layer) {
            let answer = ask(&map.office, method, &path, Some(&map.token));
            answer.is_error(500, "Internal server error");
        }
    });
    crate::office::wait_until(std::time::Duration::from_secs(10), || {
        let answer = map.get("/layers");
        if answer.status == 200 { Ok(()) } else { Err(answer.text()) }
    });
    for (method, path) in routes(&layer) {
        assert_eq!(ask(&map.office, method, &path, Some(&map.token)).status, 200);
    }
    assert_eq!(map.count(), 2, "what failed was not kept");
}

#[test]
fn the_document_lists_the_routes_with_the_address_that_serves_them() {
    let office = Office::start_with(
        Engine::Sqlite,
        &[
            NO_LIMIT,
            ("GROMA_SERVER__PUBLIC_URL", "https://gis.example.test"),
            ("GROMA_SERVER__GEO_PUBLIC_URL", "https://tiles.example.test/"),
        ],
    );
    let document = office.main().ask("GET", &format!("{API}/openapi.json")).send().ok();
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
    let mut known = routes("{id}").map(|(method, path)| {
        let path = path.replace("/0/0/0", "/{z}/{x}/{y}");
        (method.to_owned(), format!("{API}{path}"))
    });
    known.sort();
    found.sort();
    assert_eq!(found, known);
    let tile = &paths[&format!("{API}/layers/{{id}}/mvt/{{z}}/{{x}}/{{y}}")]["get"];
    assert!(tile["responses"]["200"]["content"][TILE].is_object(), "{tile}");
}
