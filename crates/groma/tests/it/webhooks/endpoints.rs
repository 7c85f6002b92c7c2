//! `POST` and `DELETE /webhooks/endpoints`.

use super::{
    ENDPOINTS, LOCAL_RECEIVERS, create_endpoint, delete, id, post, save_folder, start, webhook,
    webhook_json,
};
use crate::{on_both_engines, sample_records::is_time, sample_records::is_uuid_v7, web::Browser};
use groma_testkit::{
    API, Engine, Receiver, Response, TestServer, server::WORKSPACE, wait::PATIENCE, wait_until,
};
use serde_json::{Value, json};

const URL: &str = "https://hooks.example.test/groma?key=1";

fn post_with_key(server: &TestServer, token: &str, key: &str, body: &Value) -> Response {
    let path = format!("{API}{ENDPOINTS}");
    let request = server.main().request("POST", &path).token(token).header("Idempotency-Key", key);
    request.header("Content-Type", "application/json").body(body.to_string()).send()
}

fn add_member(server: &TestServer, role: &str) -> String {
    let email = format!("{role}@example.test");
    let add = ["user", "add", &email, "--workspace", WORKSPACE, "--role", role];
    server.run_with_input("\n", &add).expect_success();
    email
}

on_both_engines! {
    created_endpoint_has_the_fields_of_the_contract_and_its_secret
    given_fields_are_stored
    invalid_body_is_reported_with_pointers
    http_url_is_accepted_if_the_setting_allows_it
    http_endpoint_stops_while_the_setting_forbids_http
    creating_an_endpoint_needs_the_scope_and_the_admin_role
    deleting_a_deleted_endpoint_returns_404
    workspace_can_have_at_most_fifty_endpoints
    repeated_request_returns_the_first_response_with_its_secret
}

fn created_endpoint_has_the_fields_of_the_contract_and_its_secret(engine: Engine) {
    let server = TestServer::start(engine);
    let token = server.create_token(&["MANAGE_WEBHOOK"]);
    let response = post(&server, &token, &json!({ "url": URL }));
    assert_eq!(response.header("cache-control"), Some("no-store"));
    let endpoint = response.ok();
    let names: Vec<_> = endpoint.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "id",
            "url",
            "description",
            "events",
            "filter",
            "enabled",
            "disabledReason",
            "createdAt",
            "updatedAt",
            "secret"
        ]
    );
    assert!(is_uuid_v7(&endpoint["id"]) && is_time(&endpoint["createdAt"]));
    assert_eq!(endpoint["updatedAt"], endpoint["createdAt"]);
    assert_eq!((&endpoint["url"], &endpoint["events"]), (&json!(URL), &json!(["*"])));
    assert_eq!((&endpoint["enabled"], &endpoint["disabledReason"]), (&json!(true), &Value::Null));
    let secret = endpoint["secret"].as_str().unwrap();
    assert!(secret.starts_with("whsec_") && secret.len() == 6 + 44, "{secret}");
    assert!(
        response.header("x-ratelimit-limit").is_some() && response.header("x-request-id").is_some()
    );
    let listed = webhook_json(&server, &["list"]);
    assert_eq!(listed[0]["id"], endpoint["id"]);
    assert!(!listed.to_string().contains(secret), "the secret is shown only once");
}

fn given_fields_are_stored(engine: Engine) {
    let server = TestServer::start(engine);
    let token = server.create_token(&["MANAGE_WEBHOOK"]);
    let body = json!({ "url": URL, "events": ["folder.*", "expense.created"], "description": "Ledger",
        "secret": "a secret of my own", "enabled": false, "unknown": { "x": [1] } });
    let endpoint = post(&server, &token, &body).ok();
    for name in ["url", "events", "description", "secret"] {
        assert_eq!(endpoint[name], body[name]);
    }
    assert_eq!(endpoint["enabled"], true);
}

fn invalid_body_is_reported_with_pointers(engine: Engine) {
    let server = TestServer::start(engine);
    let token = server.create_token(&["MANAGE_WEBHOOK"]);
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
        (
            json!({ "url": URL, "events": ["folder.created", "folder.moved", "folder.created"] }),
            vec!["/events/1", "/events/2"],
        ),
        (json!({ "url": URL, "secret": "short" }), vec!["/secret"]),
        (json!({ "url": URL, "secret": " leading space here" }), vec!["/secret"]),
        (json!({ "url": URL, "secret": "é".repeat(20) }), vec!["/secret"]),
        (json!({ "url": "x", "secret": 1, "events": 1 }), vec!["/url", "/secret", "/events"]),
        (json!([]), vec![""]),
        (json!("x"), vec![""]),
    ] {
        assert_eq!(post(&server, &token, &body).error_pointers(), spots, "{body}");
    }
    let path = format!("{API}{ENDPOINTS}");
    let send = |kind: &str, body: Vec<u8>| {
        server
            .main()
            .request("POST", &path)
            .token(&token)
            .header("Content-Type", kind)
            .body(body)
            .send()
    };
    assert_eq!(send("application/json", b"{".to_vec()).error_pointers(), [""]);
    let message = send("text/plain", b"{}".to_vec()).error(400);
    assert_eq!(message, "Content-Type must be application/json");
    let message = send("application/json", vec![b' '; 100_000]).error(400);
    assert_eq!(message, "The body is larger than 65536 bytes");
    assert_eq!(webhook_json(&server, &["list"]), json!([]));
}

fn http_url_is_accepted_if_the_setting_allows_it(engine: Engine) {
    let server = start(engine);
    let token = server.create_token(&["MANAGE_WEBHOOK"]);
    post(&server, &token, &json!({ "url": "http://a.test:8080/x" })).ok();
}

fn http_endpoint_stops_while_the_setting_forbids_http(engine: Engine) {
    let mut server = start(engine);
    let receiver = Receiver::start();
    let http = create_endpoint(&server, &receiver.url("/"), &[]);
    create_endpoint(&server, URL, &["--events", "budget.*"]);
    let mine = create_endpoint(&server, "http://hooks.example.test/", &["--events", "budget.*"]);
    webhook(&server, &["disable", id(&mine)]).expect_success();
    server.stop();
    save_folder(&server, "F1", "waiting");
    server.set_env("GROMA_WEBHOOKS__ALLOW_HTTP", "false");
    server.serve();
    let listed = webhook_json(&server, &["list"]);
    assert_eq!((&listed[0]["enabled"], &listed[1]["enabled"]), (&json!(false), &json!(true)));
    assert_eq!(listed[0]["disabledReason"], "The operator does not allow http URLs");
    assert_eq!(listed[2]["disabledReason"], "Disabled by the operator");
    let browser = Browser::of_owner(&server);
    let page = format!("/settings/webhooks/{}", id(&http));
    browser.page(&page).shows("the operator does not allow http URLs");
    let enabled = browser.send_form(&page, &format!("{page}/enable"), &[]);
    assert_eq!(enabled.response.status, 400);
    enabled.shows("The operator does not allow http URLs. Change the URL to https first.");
    let error = webhook(&server, &["enable", id(&http)]).expect_failure();
    assert!(error.starts_with("webhooks.allow_http is off"), "{error}");
    // Even if a command with other settings enables it, nothing is sent.
    let program = server.program().clone().env("GROMA_WEBHOOKS__ALLOW_HTTP", "true");
    program.run(&["webhook", "enable", id(&http), "--workspace", WORKSPACE]).expect_success();
    save_folder(&server, "F2", "refused");
    wait_until(PATIENCE, || {
        let deliveries = webhook_json(&server, &["deliveries", id(&http)]);
        let errors: Vec<_> =
            deliveries.as_array().unwrap().iter().map(|one| one["lastError"].clone()).collect();
        let is_refused = |error: &Value| error == "The operator does not allow http URLs";
        if errors.iter().all(is_refused) { Ok(()) } else { Err(format!("{errors:?}")) }
    });
    assert_eq!(receiver.connections(), 0);
    server.stop();
    server.serve();
    server.stop();
    server.set_env("GROMA_WEBHOOKS__ALLOW_HTTP", "true");
    server.serve();
    let listed = webhook_json(&server, &["list"]);
    assert_eq!((&listed[0]["enabled"], &listed[2]["enabled"]), (&json!(true), &json!(false)));
    save_folder(&server, "F3", "sent");
    receiver.wait_for(1);
}

fn creating_an_endpoint_needs_the_scope_and_the_admin_role(engine: Engine) {
    let server = TestServer::start(engine);
    let others =
        server.create_token(&["READ_FOLDER", "READ_ASSIGNMENT", "READ_EXPENSE", "READ_BUDGET"]);
    let message = "Token missing required scope: MANAGE_WEBHOOK";
    post(&server, &others, &json!({})).assert_error(403, message);
    delete(&server, &others, "x").assert_error(403, message);
    let path = format!("{API}{ENDPOINTS}");
    server.main().request("POST", &path).send().assert_error(401, "Missing Authorization header");
    let admin = add_member(&server, "admin");
    let token = server.create_token_for(WORKSPACE, &admin, &["MANAGE_WEBHOOK"]);
    let endpoint = post(&server, &token, &json!({ "url": URL })).ok();
    // Without the role the scope has no effect.
    let demote = ["user", "add", &admin, "--workspace", WORKSPACE, "--role", "editor"];
    server.run(&demote).expect_success();
    wait_until(PATIENCE, || {
        let response = post(&server, &token, &json!({ "url": URL }));
        if response.status == 403 { Ok(()) } else { Err(response.text()) }
    });
    let message = delete(&server, &token, id(&endpoint)).error(403);
    assert!(message.contains("admin"), "{message}");
    let editor = add_member(&server, "editor");
    let grant = [
        "token",
        "create",
        "--workspace",
        WORKSPACE,
        "--user",
        &editor,
        "--name",
        "x",
        "--scopes",
        "MANAGE_WEBHOOK",
    ];
    assert_eq!(server.run(&grant).expect_failure(), "this action requires the admin role");
}

fn deleting_a_deleted_endpoint_returns_404(engine: Engine) {
    let server = TestServer::start(engine);
    let token = server.create_token(&["MANAGE_WEBHOOK"]);
    let endpoint = post(&server, &token, &json!({ "url": URL })).ok();
    let response = delete(&server, &token, id(&endpoint));
    assert_eq!((response.status, response.body.len()), (204, 0));
    let not_found = format!("webhook endpoint `{}` not found", id(&endpoint));
    delete(&server, &token, id(&endpoint)).assert_error(404, &not_found);
    delete(&server, &token, "nonsense").assert_error(404, "webhook endpoint `nonsense` not found");
    assert_eq!(webhook_json(&server, &["list"]), json!([]));
    webhook(&server, &["enable", id(&endpoint)]).expect_error(&not_found);
    // An endpoint of another workspace is not found either.
    server.create_workspace("Other");
    let other = server.create_token_in("Other", &["MANAGE_WEBHOOK"]);
    let theirs = post(&server, &other, &json!({ "url": URL })).ok();
    delete(&server, &token, id(&theirs)).error(404);
    assert_eq!(delete(&server, &other, id(&theirs)).status, 204);
}

fn workspace_can_have_at_most_fifty_endpoints(engine: Engine) {
    let server = TestServer::start_with(engine, &LOCAL_RECEIVERS);
    let token = server.create_token(&["MANAGE_WEBHOOK"]);
    let created: Vec<_> =
        (0..50).map(|_| post(&server, &token, &json!({ "url": URL })).ok()).collect();
    let message = post(&server, &token, &json!({ "url": URL })).error(400);
    assert!(message.contains("at most 50"), "{message}");
    assert_eq!(delete(&server, &token, id(&created[7])).status, 204);
    post(&server, &token, &json!({ "url": URL })).ok();
}

fn repeated_request_returns_the_first_response_with_its_secret(engine: Engine) {
    let mut server = TestServer::start(engine);
    let token = server.create_token(&["MANAGE_WEBHOOK"]);
    let body = json!({ "url": URL });
    let first = post_with_key(&server, &token, "one", &body);
    assert_eq!(first.header("idempotent-replayed"), None);
    server.kill();
    server.serve();
    for _ in 0..2 {
        let again = post_with_key(&server, &token, "one", &body);
        assert_eq!(again.header("idempotent-replayed"), Some("true"));
        assert_eq!(again.header("cache-control"), Some("no-store"));
        assert_eq!(again.ok(), first.ok());
    }
    assert_eq!(webhook_json(&server, &["list"]).as_array().unwrap().len(), 1);
    let message =
        post_with_key(&server, &token, "one", &json!({ "url": "https://b.test" })).error(400);
    assert!(message.starts_with("Idempotency-Key "), "{message}");
    post_with_key(&server, &token, "a b", &body).error(400);
    post_with_key(&server, &token, "two", &json!({})).error_pointers();
    post_with_key(&server, &token, "two", &body).ok();
}
