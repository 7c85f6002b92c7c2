//! Map tiles: the tiles of the API at shorter addresses, with Basic authentication and a rate limit of
//! their own.

use super::{Map, feature, point};
use crate::on_both_engines;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use groma_testkit::{Engine, http::Response};
use serde_json::json;

on_both_engines! {
    map_tiles_are_the_tiles_of_the_api
    token_is_the_password_of_basic_authentication
    map_tiles_have_their_own_rate_limit
    scripts_of_other_origins_can_read_map_tiles
}

const TILE: &str = "14/8287/5688";

fn open(engine: Engine, settings: &[(&str, &str)]) -> Map {
    let map = Map::open_with(engine, settings);
    map.post("", &feature(json!("a"), point(2.1, 48.1), json!({ "n": 1 })));
    map
}

fn get(map: &Map, path: &str, headers: &[(&str, &str)]) -> Response {
    let request = map.server.geo().request("GET", path);
    headers.iter().fold(request, |request, (name, value)| request.header(name, *value)).send()
}

fn bearer(map: &Map) -> String {
    format!("Bearer {}", map.token)
}

fn map_tiles_are_the_tiles_of_the_api(engine: Engine) {
    let map = open(engine, &[]);
    let authorization = bearer(&map);
    let token = [("Authorization", authorization.as_str())];
    let id = map.layer("Submissions")["id"].as_str().unwrap().to_owned();
    let expected = map.get(&format!("/layers/{id}/mvt/{TILE}"));
    assert!(!expected.body.is_empty());
    for layer in [id.as_str(), "submissions"] {
        for suffix in ["", ".mvt", ".pbf"] {
            let tile = get(&map, &format!("/maps/{layer}/{TILE}{suffix}"), &token);
            assert_eq!((tile.status, &tile.body), (200, &expected.body));
            assert_eq!(tile.header("content-type"), expected.header("content-type"));
        }
        let tilejson = get(&map, &format!("/maps/{layer}.json"), &token).json();
        assert_eq!(tilejson, map.get(&format!("/layers/{id}/tilejson")).json());
        let tiles = tilejson["tiles"][0].as_str().unwrap();
        assert!(tiles.ends_with(&format!("/maps/{id}/{{z}}/{{x}}/{{y}}")), "{tiles}");
    }
    get(&map, "/maps/submissions", &token).assert_error(404, "No such route");
    get(&map, "/maps/nowhere.json", &token).assert_error(404, "layer `nowhere` not found");
    get(&map, "/maps/submissions/3/9/0", &token)
        .assert_error(400, "x must be a whole number from 0 to 7");
}

fn token_is_the_password_of_basic_authentication(engine: Engine) {
    let map = open(engine, &[]);
    let path = format!("/maps/submissions/{TILE}");
    let basic = |text: &str| format!("Basic {}", BASE64_STANDARD.encode(text));
    for user in ["", "anyone", "a user with spaces"] {
        let credentials = basic(&format!("{user}:{}", map.token));
        assert_eq!(get(&map, &path, &[("Authorization", &credentials)]).status, 200, "{user}");
        // Only here.
        let api = format!("/api/public/v1/layers/submissions/mvt/{TILE}");
        get(&map, &api, &[("Authorization", &credentials)]).assert_error(401, "Malformed token");
    }
    for (credentials, message) in [
        (basic(&map.token), "Malformed token"),
        ("Basic !".to_owned(), "Malformed token"),
        (basic(&format!("{}:", map.token)), "Malformed token"),
        (basic(&format!("x:svc_{}", "0".repeat(48))), "Unknown or revoked token"),
    ] {
        let response = get(&map, &path, &[("Authorization", &credentials)]);
        response.assert_error(401, message);
    }
    let challenges = |headers: &[(&str, &str)]| {
        let response = get(&map, &path, headers);
        assert_eq!(response.status, 401);
        response.header_values("www-authenticate").join(", ")
    };
    let both = "Bearer, Basic realm=\"Groma\", charset=\"UTF-8\"";
    assert_eq!(challenges(&[]), both);
    assert_eq!(challenges(&[("Sec-Fetch-Mode", "navigate")]), both);
    assert_eq!(challenges(&[("Sec-Fetch-Mode", "cors")]), "Bearer");
}

fn map_tiles_have_their_own_rate_limit(engine: Engine) {
    let limits = [
        ("GROMA_LIMITS__REQUESTS_PER_MINUTE", "5"),
        ("GROMA_LIMITS__MAP_REQUESTS_PER_MINUTE", "20"),
    ];
    let map = open(engine, &limits);
    let authorization = bearer(&map);
    let token = [("Authorization", authorization.as_str())];
    let path = format!("/maps/submissions/{TILE}");
    for left in (0..20).rev() {
        let tile = get(&map, &path, &token);
        assert_eq!(tile.status, 200);
        assert_eq!(tile.header("x-ratelimit-limit"), Some("20"));
        assert_eq!(tile.header("x-ratelimit-remaining"), Some(left.to_string().as_str()));
    }
    let rejected = get(&map, &path, &token);
    rejected.assert_error(429, "Rate limit exceeded: 20 requests per minute");
    assert!(rejected.header("retry-after").is_some());
    // The post was the first of the five.
    for _ in 0..4 {
        assert_eq!(map.get("/layers").status, 200);
    }
    map.get("/layers").assert_error(429, "Rate limit exceeded: 5 requests per minute");
}

fn scripts_of_other_origins_can_read_map_tiles(engine: Engine) {
    let map = open(engine, &[]);
    let path = format!("/maps/submissions/{TILE}.pbf");
    let preflight = map.server.geo().request("OPTIONS", &path).header("Origin", "https://x.test");
    let preflight = preflight.header("Access-Control-Request-Method", "GET").send();
    assert_eq!(preflight.status, 204);
    assert_eq!(preflight.header("access-control-allow-origin"), Some("*"));
    let tile = get(&map, &path, &[("Authorization", &bearer(&map)), ("Origin", "https://x.test")]);
    assert_eq!((tile.status, tile.header("access-control-allow-origin")), (200, Some("*")));
}
