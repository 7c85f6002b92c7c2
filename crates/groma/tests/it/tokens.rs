//! Tokens: their format, the four reasons to reject one, and how soon a change takes effect.

use crate::{on_both_engines, sample_records::is_time, sample_records::is_uuid_v7};
use groma_testkit::{
    API, Engine, TestServer, server::NO_RATE_LIMIT, server::OWNER, server::WORKSPACE,
    wait::PATIENCE, wait_until,
};
use serde_json::{Value, json};

const FOLDERS: &str = "/api/public/v1/folders";

on_both_engines! {
    token_is_a_prefix_and_48_lowercase_hexadecimal_digits
    token_prefix_is_a_setting
    each_reason_for_a_401_has_its_own_message
    authorization_scheme_is_case_insensitive
    repeated_authorization_header_is_malformed
    token_in_the_query_is_ignored
    expired_token_is_rejected
    unexpired_token_is_accepted
    revoked_token_is_rejected
    token_created_by_another_process_works_immediately
    token_of_a_deleted_workspace_is_rejected
    only_administrators_can_grant_the_webhook_scope
    token_owner_must_be_a_member
    token_list_shows_everything_but_the_secret
    last_use_is_stored_on_shutdown
    created_token_is_printed_alone_or_as_json
    token_is_not_logged
    read_only_token_changes_nothing
    lifetime_is_limited_by_the_settings_and_the_workspace
    service_account_owns_tokens
}

fn token_is_a_prefix_and_48_lowercase_hexadecimal_digits(engine: Engine) {
    let server = TestServer::start(engine);
    let token = server.create_token(&["READ_FOLDER"]);
    let hex = token.strip_prefix("svc_").expect("the token prefix");
    assert_eq!(hex.len(), 48);
    assert!(hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')));
    server.get("/folders", &token).ok();
    assert_ne!(server.create_token(&["READ_FOLDER"]), token);
}

fn token_prefix_is_a_setting(engine: Engine) {
    let server = TestServer::start_with(engine, &[("GROMA_SERVICE__TOKEN_PREFIX", "acme")]);
    let token = server.create_token(&["READ_FOLDER"]);
    assert!(token.starts_with("acme_") && token.len() == 5 + 48, "{token}");
    server.get("/folders", &token).ok();
    server.get("/folders", &token.replace("acme", "svc")).assert_error(401, "Malformed token");
}

fn each_reason_for_a_401_has_its_own_message(engine: Engine) {
    let server = TestServer::start(engine);
    let token = server.create_token(&["READ_FOLDER"]);
    let assert_rejected = |header: Option<String>, message: &str| {
        let header = header.map(|value| format!("Authorization: {value}\r\n"));
        let request = format!(
            "GET {FOLDERS} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{}\r\n",
            header.unwrap_or_default()
        );
        let response = server.main().send_raw(request.as_bytes());
        response.assert_error(401, message);
        assert_eq!(response.header("www-authenticate"), Some("Bearer"));
        let counted = response.headers.keys().any(|name| name.as_str().contains("ratelimit"));
        assert!(!counted, "a 401 has no rate limit headers");
    };
    assert_rejected(None, "Missing Authorization header");
    for malformed in [
        String::new(),
        "Bearer".to_owned(),
        "Bearer ".to_owned(),
        token.clone(),
        format!("Basic {token}"),
        format!("Bearer{token}"),
        format!("Bearer {}", &token[..token.len() - 1]),
        format!("Bearer {token}0"),
        format!("Bearer {}", token.to_uppercase()),
        format!("Bearer {}", token.replace("svc", "ghp")),
        format!("Bearer svc_{}", "g".repeat(48)),
        format!("Bearer svc_{}", "é".repeat(24)),
        format!("Bearer {token} {token}"),
        format!("Bearer {token},"),
        format!("Bearer \"{token}\""),
    ] {
        assert_rejected(Some(malformed), "Malformed token");
    }
    assert_rejected(Some(format!("Bearer svc_{}", "0".repeat(48))), "Unknown or revoked token");
}

fn authorization_scheme_is_case_insensitive(engine: Engine) {
    let server = TestServer::start(engine);
    let token = server.create_token(&["READ_FOLDER"]);
    for scheme in ["Bearer", "bearer", "BEARER"] {
        let header = format!("{scheme} {token}");
        server.main().request("GET", FOLDERS).header("Authorization", header).send().ok();
    }
}

fn repeated_authorization_header_is_malformed(engine: Engine) {
    let server = TestServer::start(engine);
    let token = server.create_token(&["READ_FOLDER"]);
    let twice = format!("Authorization: Bearer {token}\r\n").repeat(2);
    let request = format!("GET {FOLDERS} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{twice}\r\n");
    server.main().send_raw(request.as_bytes()).assert_error(401, "Malformed token");
}

fn token_in_the_query_is_ignored(engine: Engine) {
    let server = TestServer::start(engine);
    let token = server.create_token(&["READ_FOLDER"]);
    let path = format!("{FOLDERS}?access_token={token}&token={token}");
    server.main().request("GET", &path).send().assert_error(401, "Missing Authorization header");
}

fn expired_token_is_rejected(engine: Engine) {
    let server = TestServer::start_with(engine, &[NO_RATE_LIMIT]);
    let create = ["token", "create", "--workspace", WORKSPACE, "--user", OWNER, "--name", "brief"];
    let create = [&create[..], &["--scopes", "READ_FOLDER", "--expires", "1s"]].concat();
    let token = server.run(&create).expect_success();
    let response = wait_until(PATIENCE, || {
        let response = server.get("/folders", &token);
        if response.status == 200 { Err(response.text()) } else { Ok(response) }
    });
    response.assert_error(401, "Token has expired");
    assert_eq!(response.header("www-authenticate"), Some("Bearer"));
}

fn unexpired_token_is_accepted(engine: Engine) {
    let server = TestServer::start(engine);
    let create = ["token", "create", "--user", OWNER, "--name", "n", "--scopes", "READ_FOLDER"];
    for expires in ["90d", "12h", "30m", "45s"] {
        let token = server.run(&[&create[..], &["--expires", expires]].concat()).expect_success();
        server.get("/folders", &token).ok();
    }
    for wrong in ["", "90", "d", "0d", "-1d", "1.5d", "1w", "99999999d"] {
        let expires = format!("--expires={wrong}");
        let output = server.run(&[&create[..], &[&expires]].concat());
        output.expect_usage_error();
        assert!(
            output.stderr.contains("must be a duration, for example 90d or 12h"),
            "{}",
            output.stderr
        );
    }
}

fn revoked_token_is_rejected(engine: Engine) {
    let server = TestServer::start_with(engine, &[NO_RATE_LIMIT]);
    let token = server.create_token(&["READ_FOLDER"]);
    let other = server.create_token(&["READ_FOLDER"]);
    server.get("/folders", &token).ok();
    let tokens = server.run(&["token", "list", "--json"]).json();
    let id = tokens[0]["id"].as_str().unwrap();
    server.run(&["token", "revoke", id]).expect_success();
    let response = server.get_until("/folders", &token, |response| response.status != 200);
    response.assert_error(401, "Unknown or revoked token");
    assert_eq!(response.header("www-authenticate"), Some("Bearer"));
    server.get("/folders", &other).ok();
    let tokens = server.run(&["token", "list", "--json"]).json();
    assert!(is_time(&tokens[0]["revokedAt"]));
    assert_eq!(tokens[1]["revokedAt"], Value::Null);
}

fn token_created_by_another_process_works_immediately(engine: Engine) {
    let server = TestServer::start(engine);
    for _ in 0..3 {
        server.get("/folders", &server.create_token(&["READ_FOLDER"])).ok();
    }
}

fn token_of_a_deleted_workspace_is_rejected(engine: Engine) {
    let server = TestServer::start_with(engine, &[NO_RATE_LIMIT]);
    server.create_workspace("Second");
    let token = server.create_token_in("Second", &["READ_FOLDER"]);
    let stays = server.create_token(&["READ_FOLDER"]);
    server.get("/folders", &token).ok();
    server.run(&["workspace", "delete", "Second"]).expect_success();
    let response = server.get_until("/folders", &token, |response| response.status != 200);
    response.assert_error(401, "Unknown or revoked token");
    server.get("/folders", &stays).ok();
}

fn only_administrators_can_grant_the_webhook_scope(engine: Engine) {
    let server = TestServer::start(engine);
    for (role, may) in [("viewer", false), ("editor", false), ("admin", true), ("owner", true)] {
        let user = format!("{role}@example.test");
        server.run(&["user", "add", &user, "--role", role]).expect_success();
        let create = ["token", "create", "--user", &user, "--name", "n", "--scopes"];
        let token = server.run(&[&create[..], &["READ_FOLDER"]].concat()).expect_success();
        server.get("/folders", &token).ok();
        let output = server.run(&[&create[..], &["MANAGE_WEBHOOK"]].concat());
        if may {
            output.expect_success();
        } else {
            output.expect_error("this action requires the admin role");
        }
    }
}

fn token_owner_must_be_a_member(engine: Engine) {
    let server = TestServer::start(engine);
    server.import("folders", &[json!({ "name": "x", "owner": "person@example.test" })]);
    let create = |user: &str| {
        server.run(&["token", "create", "--user", user, "--name", "n", "--scopes", ""])
    };
    create("stranger@example.test").expect_error("member `stranger@example.test` not found");
    create("person@example.test").expect_error("member `person@example.test` not found");
    create(&OWNER.to_uppercase()).expect_success();
}

fn token_list_shows_everything_but_the_secret(engine: Engine) {
    let server = TestServer::start(engine);
    let token = server.create_token(&["READ_FOLDER", "READ_BUDGET"]);
    let output = server.run(&["token", "list", "--json"]);
    let tokens = output.json();
    let [row] = tokens.as_array().unwrap().as_slice() else { panic!("{tokens}") };
    assert!(is_uuid_v7(&row["id"]) && is_time(&row["createdAt"]));
    assert_eq!(row["name"], "test");
    assert_eq!(row["workspace"], WORKSPACE);
    assert_eq!(row["owner"], OWNER);
    assert_eq!(row["scopes"], json!(["READ_FOLDER", "READ_BUDGET"]));
    assert_eq!([&row["expiresAt"], &row["revokedAt"], &row["lastUsedAt"]], [&Value::Null; 3]);
    let table = server.run(&["token", "list"]).expect_success();
    assert!(table.contains("READ_FOLDER,READ_BUDGET"));
    for output in [output.stdout, table] {
        assert!(!output.contains(&token) && !output.contains("svc_"));
    }
}

fn last_use_is_stored_on_shutdown(engine: Engine) {
    let mut server = TestServer::start(engine);
    let token = server.create_token(&["READ_FOLDER"]);
    server.get("/folders", &token).ok();
    assert_eq!(server.stop(), Some(0));
    let tokens = server.run(&["token", "list", "--json"]).json();
    assert!(is_time(&tokens[0]["lastUsedAt"]), "{tokens}");
}

fn created_token_is_printed_alone_or_as_json(engine: Engine) {
    let server = TestServer::start(engine);
    let create =
        ["token", "create", "--user", OWNER, "--name", "CI job", "--scopes", "READ_FOLDER"];
    let output = server.run(&create);
    assert_eq!(output.expect_success().lines().count(), 1);
    let created = server.run(&[&create[..], &["--json"]].concat()).json();
    assert!(is_uuid_v7(&created["id"]));
    assert_eq!(created["name"], "CI job");
    let path = format!("{API}/folders");
    server.main().request("GET", &path).token(created["token"].as_str().unwrap()).send().ok();
}

fn token_is_not_logged(engine: Engine) {
    let mut server = TestServer::stopped(engine, &[]);
    server.create_workspace(WORKSPACE);
    server.serve_with(&[("RUST_LOG", "debug")]);
    let token = server.create_token(&["READ_FOLDER"]);
    server.get("/folders", &token).ok();
    server.get("/folders/missing", &token).error(404);
    server.get("/folders", &format!("{token}0")).error(401);
    assert!(!server.process().log().contains(&token[4..]));
}

fn read_only_token_changes_nothing(engine: Engine) {
    let server = TestServer::start_with(engine, &[NO_RATE_LIMIT]);
    let create = ["token", "create", "--workspace", WORKSPACE, "--user", OWNER, "--name", "reader"];
    let scopes = ["--scopes", "READ_FOLDER,MANAGE_WEBHOOK", "--read-only"];
    let token = server.run(&[&create[..], &scopes].concat()).expect_success();
    server.get("/folders", &token).ok();
    let point = json!({ "type": "Point", "coordinates": [2, 48] }).to_string();
    let post = server.geo().request("POST", &format!("{API}/geometries/geojson")).token(&token);
    let post = post.header("Content-Type", "application/json").body(point).send();
    post.assert_error(403, "Token is read-only");
    let endpoint = json!({ "url": "https://hooks.example/", "events": ["*"] }).to_string();
    let post = server.main().request("POST", &format!("{API}/webhooks/endpoints")).token(&token);
    let post = post.header("Content-Type", "application/json").body(endpoint).send();
    post.assert_error(403, "Token is read-only");
    let tokens = server.run(&["token", "list", "--json"]).json();
    assert_eq!(tokens[0]["readOnly"], true);
    let list = crate::web::Browser::of_owner(&server).page("/settings/tokens");
    list.shows("Read-only");
    list.shows("127.0.0.1");
}

fn lifetime_is_limited_by_the_settings_and_the_workspace(engine: Engine) {
    let limit = ("GROMA_SECURITY__MAX_TOKEN_DAYS", "60");
    let server = TestServer::start_with(engine, &[NO_RATE_LIMIT, limit]);
    let create = |expires: &[&str]| {
        let create =
            ["token", "create", "--workspace", WORKSPACE, "--user", OWNER, "--name", "short"];
        server.run(&[&create[..], &["--scopes", ""], expires].concat())
    };
    create(&[]).expect_error("expiresAt must be at most 60 days from now");
    create(&["--expires", "61d"]).expect_error("expiresAt must be at most 60 days from now");
    let long = create(&["--expires", "60d"]).expect_success();
    let browser = crate::web::Browser::of_owner(&server);
    let page = browser.page("/settings/tokens/new");
    page.shows("60 days");
    page.hides("90 days");
    page.hides("Never");
    let save = [("name", WORKSPACE), ("currency", "EUR"), ("maxTokenDays", "7")];
    browser.submit("/settings/workspace", "/settings/workspace", &save);
    create(&["--expires", "8d"]).expect_error("expiresAt must be at most 7 days from now");
    let fields = [("name", "Week"), ("expires", "60"), ("scope", "READ_FOLDER")];
    let rejected = browser.send_form("/settings/tokens/new", "/settings/tokens/new", &fields);
    assert_eq!(rejected.response.status, 400);
    let fields = [("name", "Week"), ("expires", "7"), ("scope", "READ_FOLDER")];
    let created = browser.send_form("/settings/tokens/new", "/settings/tokens/new", &fields);
    assert_eq!(created.response.status, 200);
    // The token of 60 days ends with the lower limit of the workspace.
    let me = server.get("/me", &long).ok();
    let tokens = server.run(&["token", "list", "--json"]).json();
    let row = tokens.as_array().unwrap().iter().find(|row| row["id"] == me["token"]["id"]).unwrap();
    let millis =
        |time: &Value| time.as_str().unwrap().parse::<jiff::Timestamp>().unwrap().as_millisecond();
    assert_eq!(millis(&row["expiresAt"]) - millis(&row["createdAt"]), 7 * 24 * 60 * 60 * 1_000);
    assert_eq!(me["token"]["expiresAt"], row["expiresAt"]);
    let list = browser.page("/settings/tokens");
    list.shows("1 token was created for longer than 7 days");
    list.shows("by the longest lifetime");
}

fn service_account_owns_tokens(engine: Engine) {
    let server = TestServer::start_with(engine, &[NO_RATE_LIMIT]);
    let add = ["user", "add-service", "Nightly export", "--workspace", WORKSPACE];
    server
        .run(&[&add[..], &["--role", "owner"]].concat())
        .expect_error("role must not be owner: a service account cannot log in");
    let account = server.run(&[&add[..], &["--role", "viewer"]].concat()).expect_success();
    let token = server.create_token_for(WORKSPACE, &account, &["READ_FOLDER"]);
    server.get("/folders", &token).ok();
    let browser = crate::web::Browser::of_owner(&server);
    browser.page("/settings/members").shows("Service account");
    // A service account cannot log in.
    let stranger = crate::web::Browser::new(server.main());
    assert_eq!(stranger.log_in(&account, "any password").response.status, 400);
    let fields = [("name", "Backup"), ("role", "viewer")];
    browser.submit("/settings/members", "/settings/service-accounts", &fields);
    let form = browser.page("/settings/tokens/new");
    form.shows("Backup");
    let option = form.text.split("<option").find(|option| option.contains(">Backup")).unwrap();
    let id = option.split("value=\"").nth(1).unwrap().split('"').next().unwrap();
    let fields = [("name", "b"), ("owner", id), ("expires", "30"), ("scope", "READ_FOLDER")];
    let created = browser.send_form("/settings/tokens/new", "/settings/tokens/new", &fields);
    assert_eq!(created.response.status, 200);
    let tokens = server.run(&["token", "list", "--json"]).json();
    assert!(tokens[1]["owner"].as_str().unwrap().ends_with("@service.invalid"));
    // Its role can be changed, and removing it revokes its tokens.
    let role = format!("/settings/members/{id}/role");
    browser.submit("/settings/members", &role, &[("role", "editor")]);
    browser.submit("/settings/members", &format!("/settings/members/{id}/remove"), &[]);
    let tokens = server.run(&["token", "list", "--json"]).json();
    assert!(is_time(&tokens[1]["revokedAt"]));
}
