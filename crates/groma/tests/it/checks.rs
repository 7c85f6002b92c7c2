//! The order of checks: route, token, rate, scope, parameters, record. Of two things that are wrong
//! the earlier is told.

use crate::{client::API, office::Office, on_both_engines, sample};

on_both_engines! {
    fn an_unknown_route_is_told_before_a_missing_token(engine: Engine) {
        let office = Office::start(engine);
        let unknown = [
            "/", "/api", "/api/public/v1", "/api/public/v1/", "/api/public/v2/folders",
            "/api/public/v1/folder", "/api/public/v1/folders/", "/api/public/v1/folders/a/b",
            "/api/public/v1/Folders", "/api/public/v1/statuses/x", "/api/public/v1/layer",
            "/api/public/v1//folders", "/api/public/v1/%66olders/",
        ];
        for path in unknown.into_iter().skip(1) {
            for client in [office.main(), office.geo()] {
                client.ask("GET", path).send().is_error(404, "No such route");
                client.ask("GET", path).header("Authorization", "Bearer x").send().error(404);
            }
        }
        for path in ["/", "/api/public/v1/folders", "/api/public/v1/openapi.json", "/docs/"] {
            office.geo().ask("GET", path).send().is_error(404, "No such route");
        }
    }

    fn the_wrong_method_is_an_unknown_route(engine: Engine) {
        let office = Office::start(engine);
        let token = office.master_token();
        let paths = ["folders", "folders/x", "assignments", "expenses/x", "budgets", "statuses", "openapi.json"];
        for path in paths {
            for method in ["POST", "PUT", "PATCH", "DELETE", "TRACE"] {
                let request = format!(
                    "{method} {API}/{path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 0\r\n"
                );
                let bare = office.main().send_raw(format!("{request}\r\n").as_bytes());
                bare.is_error(404, "No such route");
                let with_token = format!("{request}Authorization: Bearer {token}\r\n\r\n");
                let answer = office.main().send_raw(with_token.as_bytes());
                answer.is_error(404, "No such route");
                assert_eq!(answer.header("x-ratelimit-limit"), None, "it does not count");
            }
        }
        office.main().ask("DELETE", "/docs/").send().error(404);
    }

    fn the_token_is_checked_before_scope_parameters_and_record(engine: Engine) {
        let office = Office::start(engine);
        for path in ["/folders?page=0", "/folders/missing", "/expenses?limit=abc&page=0"] {
            office.get(path, "svc_nonsense").is_error(401, "Malformed token");
        }
    }

    fn the_rate_is_checked_before_scope_parameters_and_record(engine: Engine) {
        let office = Office::start_with(engine, &[("GROMA_LIMITS__REQUESTS_PER_MINUTE", "2")]);
        let token = office.token(&["READ_FOLDER"]);
        office.get("/folders", &token).ok();
        office.get("/statuses", &token).ok();
        for path in ["/folders", "/folders?page=0", "/folders/missing", "/expenses", "/expenses?page=0"] {
            let message = "Rate limit exceeded: 2 requests per minute";
            office.get(path, &token).is_error(429, message);
        }
        let unknown = format!("svc_{}", "0".repeat(48));
        office.get("/folders", &unknown).error(401);
        office.get("/nowhere", &token).error(404);
    }

    fn the_scope_is_checked_before_parameters_and_record(engine: Engine) {
        let office = Office::start(engine);
        let token = office.token(&["READ_FOLDER"]);
        for path in ["/expenses?page=0", "/expenses?term=%FF", "/expenses/missing", "/expenses/%FF"] {
            office.get(path, &token).is_error(403, "Token missing required scope: READ_EXPENSE");
        }
    }

    fn parameters_are_checked_before_the_record(engine: Engine) {
        let office = Office::start(engine);
        sample::fill(&office);
        let token = office.master_token();
        office.get("/folders/%FF", &token).is_error(400, "key must be valid UTF-8");
        office.get("/folders/missing?page=0", &token).is_error(404, "folder `missing` not found");
    }
}
