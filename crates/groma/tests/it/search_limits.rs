//! Expensive searches: they end, and they do not slow down other workspaces.

use crate::{on_both_engines, web::Browser};
use groma_testkit::{API, Engine, TestServer, server::NO_RATE_LIMIT, server::WORKSPACE};
use serde_json::json;
use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

const LARGE: u32 = 12_000;
const SEARCH: &str = "/folders?term=ab";
const TOO_LONG: &str = "The search took too long; use a longer term or a narrower filter";

/// A server whose workspace has many folders that a search of two letters finds.
fn start_large(engine: Engine, settings: &[(&str, &str)]) -> TestServer {
    let server = TestServer::start_with(engine, &[&[NO_RATE_LIMIT], settings].concat());
    let folder = |number| {
        let name = format!("abbey lab slab {number} cabin");
        json!({ "reference": format!("AB-{number}"), "name": name, "description": name })
    };
    server.import("folders", &(0..LARGE).map(folder).collect::<Vec<_>>());
    server
}

on_both_engines! {
    fn search_that_takes_too_long_ends_with_a_clear_message(engine: Engine) {
        let mut server = start_large(engine, &[("GROMA_LIMITS__SEARCH_MILLIS", "1")]);
        let token = server.create_full_token();
        server.get(SEARCH, &token).assert_error(400, TOO_LONG);
        // The next request on the same connection has no limit.
        server.get("/folders?limit=100", &token).ok();
        server.get("/folders/AB-1", &token).ok();
        let browser = Browser::of_owner(&server);
        let page = browser.get("/folders?q=ab");
        assert_eq!(page.response.status, 503, "{}", page.text);
        page.shows("This search took too long. Type more characters, or add a filter.");
        // Commands have no limit.
        server.run(&["export", "folders", "folders.csv", "--workspace", WORKSPACE]).expect_success();
        server.stop();
        server.set_env("GROMA_LIMITS__SEARCH_MILLIS", "60000");
        server.serve();
        assert_eq!(server.get(SEARCH, &token).ok()["total"], LARGE);
    }

    fn search_for_features_that_takes_too_long_ends(engine: Engine) {
        let mut server = TestServer::start_with(engine, &[NO_RATE_LIMIT]);
        let token = server.create_full_token();
        let point = |number: u32| {
            let coordinates = [f64::from(number % 100) / 100.0, f64::from(number / 100) / 100.0];
            let properties = json!({ "name": format!("abbey {number}") });
            let geometry = json!({ "type": "Point", "coordinates": coordinates });
            json!({ "type": "Feature", "geometry": geometry, "properties": properties })
        };
        let features: Vec<_> = (0..LARGE).map(point).collect();
        let collection = json!({ "type": "FeatureCollection", "features": features }).to_string();
        let file = server.write_file("abbeys.geojson", collection);
        server.run(&["import", "layer", file.to_str().unwrap()]).expect_success();
        let layer = server.run(&["layer", "list", "--json"]).json()[0]["id"].clone();
        let layer = layer.as_str().unwrap();
        let searches = [
            format!("/ogc/collections/{layer}/items?filter=externalId+LIKE+%27%25cabin%25%27"),
            format!("/ogc/collections/{layer}/items?sortby=-createdAt"),
            format!("/ogc/collections/{layer}/items?datetime=2999-01-01T00:00:00Z/.."),
            format!("{API}/layers/{layer}/features?updatedSince=2999-01-01T00:00:00Z"),
        ];
        let get = |server: &TestServer, path: &str| {
            server.geo().request("GET", path).token(&token).send()
        };
        for search in &searches {
            assert_eq!(get(&server, search).status, 200, "{search}");
        }
        server.stop();
        server.set_env("GROMA_LIMITS__SEARCH_MILLIS", "1");
        server.serve();
        for search in &searches {
            let response = get(&server, search);
            assert_eq!(response.status, 400, "{search}: {}", response.text());
            assert!(response.text().contains(TOO_LONG), "{search}: {}", response.text());
        }
        let table = format!("/map/layers/{layer}/table?q=cabin");
        assert_eq!(Browser::of_owner(&server).get(&table).response.status, 503);
        // Pages in the order of creation have no limit, and neither have exports.
        for page in [
            format!("/ogc/collections/{layer}/items?limit=10000"),
            format!("{API}/layers/{layer}/features?limit=1000"),
        ] {
            assert_eq!(get(&server, &page).status, 200, "{page}");
        }
        server.run(&["export", "layer", "abbeys-again.geojson", "--layer", layer]).expect_success();
    }

    fn looping_member_does_not_slow_down_another_workspace(engine: Engine) {
        let server = start_large(engine, &[]);
        server.create_workspace("North office");
        let row = json!({ "reference": "N-1", "name": "abbey" });
        server.import_into("North office", "folders", &[row]);
        let looping = server.create_token(&["READ_FOLDER"]);
        let other = server.create_token_in("North office", &["READ_FOLDER"]);
        let is_over = AtomicBool::new(false);
        let slowest = thread::scope(|scope| {
            for _ in 0..12 {
                scope.spawn(|| {
                    while !is_over.load(Ordering::Relaxed) {
                        let response = server.get(SEARCH, &looping);
                        assert!([200, 429].contains(&response.status), "{}", response.text());
                    }
                });
            }
            let times = (0..20).map(|_| {
                let start = Instant::now();
                assert_eq!(server.get(SEARCH, &other).ok()["total"], 1);
                server.get("/folders/N-1", &other).ok();
                start.elapsed()
            });
            let slowest = times.max();
            is_over.store(true, Ordering::Relaxed);
            slowest
        });
        assert!(slowest.unwrap() < Duration::from_secs(10), "{slowest:?}");
    }

    fn member_cannot_run_more_searches_at_once_than_allowed(engine: Engine) {
        let limits = [
            ("GROMA_LIMITS__SEARCHES_PER_MEMBER", "1"),
            ("GROMA_LIMITS__SEARCHES_PER_WORKSPACE", "1"),
        ];
        let server = start_large(engine, &limits);
        let token = server.create_token(&["READ_FOLDER"]);
        // They wait for one another.
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let path = format!("{API}/folders?term=abbey&limit=1");
                    let response = server.main().request("GET", &path).token(&token).send();
                    assert!([200, 429].contains(&response.status), "{}", response.text());
                    let retry = response.header("retry-after");
                    assert_eq!(retry, (response.status == 429).then_some("1"));
                });
            }
        });
        server.get(SEARCH, &token).ok();
    }

    fn user_who_opens_too_many_pages_waits(engine: Engine) {
        let mut server = TestServer::start(engine);
        let browser = Browser::of_owner(&server);
        browser.page("/");
        server.stop();
        server.set_env("GROMA_LIMITS__PAGES_PER_MINUTE", "3");
        server.serve();
        let browser = Browser::of_owner(&server);
        let statuses: Vec<_> = (0..6).map(|_| browser.get("/account").response.status).collect();
        assert!(statuses.starts_with(&[200]) && statuses.ends_with(&[429]), "{statuses:?}");
        browser.get("/").shows("You have opened too many pages in the last minute.");
        // Others are not affected.
        assert_eq!(Browser::new(server.main()).get("/login").response.status, 200);
    }
}
