//! Bodies of requests that write records.

use super::{changed, fuzz, is_accepted, server};
use groma_testkit::{API, http::Request};

#[test]
fn bodies_of_writes_break_nothing() {
    let (server, _) = server();
    let token = server.create_token(&groma_testkit::server::SCOPES);
    let words = [
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "null",
        "true",
        "1e400",
        "-0",
        "99999999999999999999",
        "\"\"",
        "\"name\":",
        "\"reference\":",
        "\"externalId\":",
        "\"owner\":",
        "\"customFields\":{",
        "\"op\":\"update\"",
        "\"op\":\"unarchive\"",
        "\"kind\":\"budget\"",
        "\"ifVersion\":",
        "\"key\":\"F-000001\"",
        "\"folder\":\"F-000001\"",
        "\\u0000",
        "\\ud800",
        "\u{feff}",
        "F-000001",
        "2026-02-30",
        "\n",
    ];
    let total = || server.get("/folders", &token).ok()["total"].as_u64().unwrap();
    fuzz(
        "writes",
        300,
        |corpus| changed(corpus, &words),
        |body| {
            for (method, path, media_type) in [
                ("POST", "/folders", "application/json"),
                ("POST", "/folders?match=externalId", "application/json"),
                ("PATCH", "/folders/F-000001", "application/merge-patch+json"),
                ("POST", "/bulk", "application/json"),
                ("POST", "/bulk?atomic=false", "application/x-ndjson"),
            ] {
                let request = Request::new(method, &format!("{API}{path}")).token(&token);
                let request = request.header("Content-Type", media_type).body(body);
                let before = total();
                let response = server.main().send(&request).unwrap();
                if is_accepted(&response, &[400, 404, 409]) {
                    let written = response.json();
                    if path.starts_with("/bulk") {
                        let counts = ["applied", "failed"].map(|n| written[n].as_u64().unwrap());
                        let results = written["results"].as_array().unwrap().len() as u64;
                        assert_eq!(counts.iter().sum::<u64>(), results, "{written}");
                    } else {
                        let path = format!("/folders/{}", written["id"].as_str().unwrap());
                        assert_eq!(server.get(&path, &token).ok(), written);
                    }
                } else {
                    assert_eq!(total(), before, "a rejected request wrote something");
                }
            }
        },
    );
}
