//! What every answer of either listener has: a request id, CORS, the error body; and HEAD.

use crate::{
    client::{API, Answer},
    office::{NO_LIMIT, Office},
    on_both_engines,
    sample::{self, FOLDER, is_uuid_v7},
};
use serde_json::json;

const FOLDERS: &str = "/api/public/v1/folders";

fn request_id(answer: &Answer) -> String {
    let ids: Vec<_> = answer.headers.get_all("x-request-id").iter().collect();
    assert_eq!(ids.len(), 1);
    ids[0].to_str().unwrap().to_owned()
}

fn exposes(answer: &Answer, name: &str) -> bool {
    let exposed = answer.header("access-control-expose-headers").unwrap_or_default();
    exposed.split(',').any(|one| one.trim().eq_ignore_ascii_case(name))
}

on_both_engines! {
    fn head_answers_as_get_without_a_body(engine: Engine) {
        let office = Office::start_with(engine, &[NO_LIMIT]);
        sample::fill(&office);
        let token = office.master_token();
        for path in ["/folders", "/folders/CHENE-1", "/statuses", "/folders/missing", "/folders?page=0", "/openapi.json", "/nowhere"] {
            let path = format!("{API}{path}");
            let get = office.main().ask("GET", &path).token(&token).send();
            let head = office.main().ask("HEAD", &path).token(&token).send();
            assert_eq!((head.status, head.body.len()), (get.status, 0), "{path}");
            for name in ["content-type", "etag", "vary", "content-length", "cache-control"] {
                assert_eq!(head.header(name), get.header(name), "{name} of {path}");
            }
        }
        let head = office.main().ask("HEAD", FOLDERS).send();
        assert_eq!((head.status, head.header("www-authenticate")), (401, Some("Bearer")));
        let tag = office.get("/folders", &token).header("etag").unwrap().to_owned();
        let head = office.main().ask("HEAD", FOLDERS).token(&token).header("If-None-Match", tag).send();
        assert_eq!(head.status, 304);
    }

    fn every_answer_has_a_request_id(engine: Engine) {
        let office = Office::start(engine);
        let token = office.token(&["READ_FOLDER"]);
        let mut seen = Vec::new();
        for (client, method, path) in [
            (office.main(), "GET", FOLDERS), (office.main(), "GET", "/api/public/v1/expenses"),
            (office.main(), "GET", "/api/public/v1/folders?page=0"), (office.main(), "GET", "/api/public/v1/folders/x"),
            (office.main(), "GET", "/nowhere"), (office.main(), "OPTIONS", FOLDERS),
            (office.main(), "GET", "/api/public/v1/openapi.json"), (office.main(), "GET", "/docs/"),
            (office.geo(), "GET", "/api/public/v1/layers"), (office.geo(), "GET", "/"),
        ] {
            let id = request_id(&client.ask(method, path).token(&token).send());
            assert!(is_uuid_v7(&json!(id)), "{id}");
            assert!(!seen.contains(&id));
            seen.push(id);
        }
        let id = request_id(&office.main().ask("GET", FOLDERS).send());
        assert!(is_uuid_v7(&json!(id)));
    }

    fn a_sane_request_id_is_kept_and_another_replaced(engine: Engine) {
        let office = Office::start(engine);
        let longest = "x".repeat(128);
        for sane in ["abc", "a-b_c.d", "019a8b7c-0000-7000-8000-000000000000", "1", &longest] {
            for client in [office.main(), office.geo()] {
                let answer = client.ask("GET", "/nowhere").header("X-Request-Id", sane).send();
                assert_eq!(request_id(&answer), sane);
            }
        }
        let too_long = "x".repeat(129);
        for insane in ["", " ", "a b", "<script>", "a\"b", "{}", "a;b", "a,b", &too_long] {
            let answer = office.main().ask("GET", "/nowhere").header("X-Request-Id", insane).send();
            assert!(is_uuid_v7(&json!(request_id(&answer))), "{insane}");
        }
        let request = b"GET /nowhere HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Request-Id: caf\xC3\xA9\r\n\r\n";
        assert!(is_uuid_v7(&json!(request_id(&office.main().send_raw(request)))));
    }

    fn other_origins_may_read_every_answer(engine: Engine) {
        let office = Office::start(engine);
        sample::fill(&office);
        let token = office.token(&["READ_FOLDER"]);
        let answers = [
            office.get("/folders", &token),
            office.get(&format!("/folders/{FOLDER}"), &token),
            office.get("/folders?page=0", &token),
            office.get("/folders", "nonsense"),
            office.get("/expenses", &token),
            office.get("/folders/missing", &token),
            office.get("/nowhere", &token),
            office.get("/openapi.json", &token),
            office.geo().ask("GET", "/api/public/v1/layers").send(),
            office.main().ask("GET", FOLDERS).token(&token).header("If-None-Match", "*").send(),
        ];
        for answer in answers {
            assert_eq!(answer.header("access-control-allow-origin"), Some("*"), "{answer:?}");
            assert_eq!(answer.header("access-control-allow-credentials"), None);
            for name in ["ETag", "X-Request-Id", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "RateLimit", "RateLimit-Policy", "Retry-After"] {
                assert!(exposes(&answer, name), "{name}");
            }
        }
        let docs = office.main().ask("GET", "/docs/").send();
        assert_eq!(docs.header("access-control-allow-origin"), None, "CORS is for the API");
    }

    fn a_preflight_needs_no_token(engine: Engine) {
        let office = Office::start(engine);
        for (client, path) in [
            (office.main(), FOLDERS), (office.main(), "/api/public/v1/folders/x"),
            (office.main(), "/api/public/v1/openapi.json"), (office.geo(), "/api/public/v1/layers"),
            (office.geo(), "/api/public/v1/geometries/geojson"),
        ] {
            let answer = client
                .ask("OPTIONS", path)
                .header("Origin", "https://app.example.test")
                .header("Access-Control-Request-Method", "GET")
                .header("Access-Control-Request-Headers", "authorization")
                .send();
            assert!([200, 204].contains(&answer.status), "{answer:?}");
            assert_eq!(answer.body.len(), 0);
            assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
            assert_eq!(answer.header("access-control-allow-credentials"), None);
            let allowed = |header: &str, word: &str| {
                let words = answer.header(header).unwrap_or_default();
                words.split(',').any(|one| one.trim().eq_ignore_ascii_case(word))
            };
            for name in ["Authorization", "Content-Type", "If-None-Match", "Idempotency-Key"] {
                assert!(allowed("access-control-allow-headers", name), "{name}");
            }
            for method in ["GET", "POST", "DELETE"] {
                assert!(allowed("access-control-allow-methods", method), "{method}");
            }
        }
    }

    fn options_on_an_unknown_route_is_a_404(engine: Engine) {
        let office = Office::start(engine);
        for (client, path) in [
            (office.main(), "/api/public/v1/nowhere"), (office.main(), "/api/public/v1/folders/a/b"),
            (office.main(), "/api/public/"), (office.main(), "/api/public/v1/layers"),
            (office.geo(), "/api/public/v1/folders"), (office.main(), "/docs/"), (office.main(), "/nowhere"),
        ] {
            client.ask("OPTIONS", path).send().is_error(404, "No such route");
        }
    }

    fn a_body_on_a_get_changes_nothing(engine: Engine) {
        let office = Office::start(engine);
        let token = office.token(&["READ_FOLDER"]);
        let request = format!(
            "GET {FOLDERS} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nContent-Length: 5\r\n\r\n{{}}}}}}"
        );
        let answer = office.main().send_raw(request.as_bytes());
        assert_eq!(answer.ok()["total"], 0);
    }

    fn the_routes_are_the_main_listeners_alone(engine: Engine) {
        let office = Office::start(engine);
        let token = office.master_token();
        for path in ["/folders", "/statuses", "/openapi.json"] {
            let path = format!("{API}{path}");
            let answer = office.geo().ask("GET", &path).token(&token).send();
            answer.is_error(404, "No such route");
        }
    }

    fn an_address_of_many_kilobytes_is_answered_in_form(engine: Engine) {
        let office = Office::start(engine);
        let token = office.token(&["READ_FOLDER"]);
        let long = "x".repeat(60_000);
        office.get(&format!("/folders/{long}"), &token).error(404);
        let message = office.get(&format!("/folders?term={long}"), &token).error(400);
        assert_eq!(message, "term must have at most 200 characters");
        office.get(&format!("/folders?other={long}"), &token).ok();
    }
}
