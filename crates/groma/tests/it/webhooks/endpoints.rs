//! `POST` and `DELETE /webhooks/endpoints`.

use super::{ENDPOINTS, LOCAL, delete, id, open, post, webhook, webhook_json};
use crate::{
    client::{API, Answer},
    office::{Office, WORKSPACE},
    on_both_engines,
    sample::{is_time, is_uuid_v7},
};
use serde_json::{Value, json};

const URL: &str = "https://hooks.example.test/groma?key=1";

fn post_keyed(office: &Office, token: &str, key: &str, body: &Value) -> Answer {
    let path = format!("{API}{ENDPOINTS}");
    let ask = office.main().ask("POST", &path).token(token).header("Idempotency-Key", key);
    ask.header("Content-Type", "application/json").body(body.to_string()).send()
}

fn member(office: &Office, role: &str) -> String {
    let email = format!("{role}@example.test");
    let add = ["user", "add", &email, "--workspace", WORKSPACE, "--role", role];
    office.groma_with("\n", &add).succeeds();
    email
}

on_both_engines! {
    fn a_new_endpoint_has_the_promised_fields_and_its_secret_this_once(engine: Engine) {
        let office = Office::start(engine);
        let token = office.token(&["MANAGE_WEBHOOK"]);
        let answer = post(&office, &token, &json!({ "url": URL }));
        let endpoint = answer.ok();
        let names: Vec<_> = endpoint.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(names, ["id", "url", "description", "events", "enabled", "disabledReason",
            "createdAt", "updatedAt", "secret"]);
        assert!(is_uuid_v7(&endpoint["id"]) && is_time(&endpoint["createdAt"]));
        assert_eq!(endpoint["updatedAt"], endpoint["createdAt"]);
        assert_eq!((&endpoint["url"], &endpoint["events"]), (&json!(URL), &json!(["*"])));
        assert_eq!((&endpoint["enabled"], &endpoint["disabledReason"]), (&json!(true), &Value::Null));
        let secret = endpoint["secret"].as_str().unwrap();
        assert!(secret.starts_with("whsec_") && secret.len() == 6 + 44, "{secret}");
        assert!(answer.header("x-ratelimit-limit").is_some() && answer.header("x-request-id").is_some());
        let listed = webhook_json(&office, &["list"]);
        assert_eq!(listed[0]["id"], endpoint["id"]);
        assert!(!listed.to_string().contains(secret), "it is shown once");
    }

    fn what_is_given_is_kept(engine: Engine) {
        let office = Office::start(engine);
        let token = office.token(&["MANAGE_WEBHOOK"]);
        let body = json!({ "url": URL, "events": ["folder.*", "expense.created"], "description": "Ledger",
            "secret": "a secret of my own", "enabled": false, "unknown": { "x": [1] } });
        let endpoint = post(&office, &token, &body).ok();
        for name in ["url", "events", "description", "secret"] {
            assert_eq!(endpoint[name], body[name]);
        }
        assert_eq!(endpoint["enabled"], true);
    }

    fn a_wrong_body_is_told_by_pointers(engine: Engine) {
        let office = Office::start(engine);
        let token = office.token(&["MANAGE_WEBHOOK"]);
        let long = format!("https://a.test/{}", "x".repeat(2_048));
        for (body, spots) in [
            (json!({}), vec!["/url"]),
            (json!({ "url": null }), vec!["/url"]),
            (json!({ "url": 7 }), vec!["/url"]),
            (json!({ "url": "http://a.test" }), vec!["/url"]),
            (json!({ "url": "ftp://a.test" }), vec!["/url"]),
            (json!({ "url": "https://user:word@a.test" }), vec!["/url"]),
            (json!({ "url": "https://a.test/#x" }), vec!["/url"]),
            (json!({ "url": long }), vec!["/url"]),
            (json!({ "url": URL, "events": [] }), vec!["/events"]),
            (json!({ "url": URL, "events": "*" }), vec!["/events"]),
            (json!({ "url": URL, "events": ["folder.created", "folder.moved", "folder.created"] }),
                vec!["/events/1", "/events/2"]),
            (json!({ "url": URL, "secret": "short" }), vec!["/secret"]),
            (json!({ "url": URL, "secret": " leading space here" }), vec!["/secret"]),
            (json!({ "url": URL, "secret": "é".repeat(20) }), vec!["/secret"]),
            (json!({ "url": "x", "secret": 1, "events": 1 }), vec!["/url", "/secret", "/events"]),
            (json!([]), vec![""]),
            (json!("x"), vec![""]),
        ] {
            assert_eq!(post(&office, &token, &body).spots(), spots, "{body}");
        }
        let path = format!("{API}{ENDPOINTS}");
        let send = |kind: &str, body: Vec<u8>| {
            office.main().ask("POST", &path).token(&token).header("Content-Type", kind).body(body).send()
        };
        assert_eq!(send("application/json", b"{".to_vec()).spots(), [""]);
        let message = send("text/plain", b"{}".to_vec()).error(400);
        assert_eq!(message, "Content-Type must be application/json");
        let message = send("application/json", vec![b' '; 100_000]).error(400);
        assert_eq!(message, "The body is larger than 65536 bytes");
        assert_eq!(webhook_json(&office, &["list"]), json!([]));
    }

    fn http_is_taken_where_the_operator_allows_it(engine: Engine) {
        let office = open(engine);
        let token = office.token(&["MANAGE_WEBHOOK"]);
        post(&office, &token, &json!({ "url": "http://a.test:8080/x" })).ok();
    }

    fn it_takes_the_scope_and_an_administrator(engine: Engine) {
        let office = Office::start(engine);
        let others = office.token(&["READ_FOLDER", "READ_ASSIGNMENT", "READ_EXPENSE", "READ_BUDGET"]);
        let message = "Token missing required scope: MANAGE_WEBHOOK";
        post(&office, &others, &json!({})).is_error(403, message);
        delete(&office, &others, "x").is_error(403, message);
        let path = format!("{API}{ENDPOINTS}");
        office.main().ask("POST", &path).send().is_error(401, "Missing Authorization header");
        let admin = member(&office, "admin");
        let token = office.token_of(WORKSPACE, &admin, &["MANAGE_WEBHOOK"]);
        let endpoint = post(&office, &token, &json!({ "url": URL })).ok();
        // Taken back, the role takes the scope's effect along.
        let demote = ["user", "add", &admin, "--workspace", WORKSPACE, "--role", "editor"];
        office.groma(&demote).succeeds();
        crate::office::wait_until(std::time::Duration::from_secs(1), || {
            let answer = post(&office, &token, &json!({ "url": URL }));
            if answer.status == 403 { Ok(()) } else { Err(answer.text()) }
        });
        let message = delete(&office, &token, id(&endpoint)).error(403);
        assert!(message.contains("admin"), "{message}");
        let editor = member(&office, "editor");
        let grant = ["token", "create", "--workspace", WORKSPACE, "--user", &editor, "--name", "x",
            "--scopes", "MANAGE_WEBHOOK"];
        assert_eq!(office.groma(&grant).fails(), "needs the role admin");
    }

    fn a_deleted_endpoint_is_gone_and_deleting_it_again_is_a_404(engine: Engine) {
        let office = Office::start(engine);
        let token = office.token(&["MANAGE_WEBHOOK"]);
        let endpoint = post(&office, &token, &json!({ "url": URL })).ok();
        let answer = delete(&office, &token, id(&endpoint));
        assert_eq!((answer.status, answer.body.len()), (204, 0));
        let not_found = format!("webhook endpoint `{}` not found", id(&endpoint));
        delete(&office, &token, id(&endpoint)).is_error(404, &not_found);
        delete(&office, &token, "nonsense").is_error(404, "webhook endpoint `nonsense` not found");
        assert_eq!(webhook_json(&office, &["list"]), json!([]));
        webhook(&office, &["enable", id(&endpoint)]).fails_with(&not_found);
        // That of another workspace is not there either.
        office.create_workspace("Other");
        let other = office.token_in("Other", &["MANAGE_WEBHOOK"]);
        let theirs = post(&office, &other, &json!({ "url": URL })).ok();
        delete(&office, &token, id(&theirs)).error(404);
        assert_eq!(delete(&office, &other, id(&theirs)).status, 204);
    }

    fn a_workspace_has_at_most_fifty(engine: Engine) {
        let office = Office::start_with(engine, &LOCAL);
        let token = office.token(&["MANAGE_WEBHOOK"]);
        let made: Vec<_> = (0..50).map(|_| post(&office, &token, &json!({ "url": URL })).ok()).collect();
        let message = post(&office, &token, &json!({ "url": URL })).error(400);
        assert!(message.contains("at most 50"), "{message}");
        assert_eq!(delete(&office, &token, id(&made[7])).status, 204);
        post(&office, &token, &json!({ "url": URL })).ok();
    }

    fn the_first_answer_is_given_again_with_its_secret(engine: Engine) {
        let mut office = Office::start(engine);
        let token = office.token(&["MANAGE_WEBHOOK"]);
        let body = json!({ "url": URL });
        let first = post_keyed(&office, &token, "one", &body);
        assert_eq!(first.header("idempotent-replayed"), None);
        office.kill();
        office.open();
        for _ in 0..2 {
            let again = post_keyed(&office, &token, "one", &body);
            assert_eq!(again.header("idempotent-replayed"), Some("true"));
            assert_eq!(again.ok(), first.ok());
        }
        assert_eq!(webhook_json(&office, &["list"]).as_array().unwrap().len(), 1);
        let message = post_keyed(&office, &token, "one", &json!({ "url": "https://b.test" })).error(400);
        assert!(message.starts_with("Idempotency-Key "), "{message}");
        post_keyed(&office, &token, "a b", &body).error(400);
        post_keyed(&office, &token, "two", &json!({})).spots();
        post_keyed(&office, &token, "two", &body).ok();
    }
}
