//! Tokens: their form, the four ways in which one is refused, and how soon.

use crate::{
    client::API,
    office::{NO_LIMIT, OWNER, Office, WORKSPACE, wait_until},
    on_both_engines,
    sample::{is_time, is_uuid_v7},
};
use serde_json::{Value, json};
use std::time::Duration;

const FOLDERS: &str = "/api/public/v1/folders";

on_both_engines! {
    fn a_token_is_the_prefix_and_48_lowercase_hexadecimal_characters(engine: Engine) {
        let office = Office::start(engine);
        let token = office.token(&["READ_FOLDER"]);
        let hex = token.strip_prefix("svc_").expect("the prefix");
        assert_eq!(hex.len(), 48);
        assert!(hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')));
        office.get("/folders", &token).ok();
        assert_ne!(office.token(&["READ_FOLDER"]), token);
    }

    fn the_prefix_is_a_setting(engine: Engine) {
        let office = Office::start_with(engine, &[("GROMA_SERVICE__TOKEN_PREFIX", "acme")]);
        let token = office.token(&["READ_FOLDER"]);
        assert!(token.starts_with("acme_") && token.len() == 5 + 48, "{token}");
        office.get("/folders", &token).ok();
        office.get("/folders", &token.replace("acme", "svc")).is_error(401, "Malformed token");
    }

    fn each_reason_for_a_401_has_its_message(engine: Engine) {
        let office = Office::start(engine);
        let token = office.token(&["READ_FOLDER"]);
        let refused = |header: Option<String>, message: &str| {
            let header = header.map(|value| format!("Authorization: {value}\r\n"));
            let request = format!(
                "GET {FOLDERS} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{}\r\n",
                header.unwrap_or_default()
            );
            let answer = office.main().send_raw(request.as_bytes());
            answer.is_error(401, message);
            assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
            let counted = answer.headers.keys().any(|name| name.as_str().contains("ratelimit"));
            assert!(!counted, "a 401 tells nothing of a rate");
        };
        refused(None, "Missing Authorization header");
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
            refused(Some(malformed), "Malformed token");
        }
        refused(Some(format!("Bearer svc_{}", "0".repeat(48))), "Unknown or revoked token");
    }

    fn the_scheme_is_read_without_regard_to_case(engine: Engine) {
        let office = Office::start(engine);
        let token = office.token(&["READ_FOLDER"]);
        for scheme in ["Bearer", "bearer", "BEARER"] {
            let header = format!("{scheme} {token}");
            office.main().ask("GET", FOLDERS).header("Authorization", header).send().ok();
        }
    }

    fn two_authorization_headers_are_malformed(engine: Engine) {
        let office = Office::start(engine);
        let token = office.token(&["READ_FOLDER"]);
        let twice = format!("Authorization: Bearer {token}\r\n").repeat(2);
        let request = format!("GET {FOLDERS} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{twice}\r\n");
        office.main().send_raw(request.as_bytes()).is_error(401, "Malformed token");
    }

    fn a_token_in_the_address_opens_nothing(engine: Engine) {
        let office = Office::start(engine);
        let token = office.token(&["READ_FOLDER"]);
        let path = format!("{FOLDERS}?access_token={token}&token={token}");
        office.main().ask("GET", &path).send().is_error(401, "Missing Authorization header");
    }

    fn an_expired_token_says_so(engine: Engine) {
        let office = Office::start_with(engine, &[NO_LIMIT]);
        let create = ["token", "create", "--workspace", WORKSPACE, "--user", OWNER, "--name", "brief"];
        let create = [&create[..], &["--scopes", "READ_FOLDER", "--expires", "1s"]].concat();
        let token = office.groma(&create).succeeds();
        let answer = wait_until(Duration::from_secs(5), || {
            let answer = office.get("/folders", &token);
            if answer.status == 200 { Err(answer.text()) } else { Ok(answer) }
        });
        answer.is_error(401, "Token has expired");
        assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
    }

    fn a_token_that_has_not_expired_yet_opens(engine: Engine) {
        let office = Office::start(engine);
        let create = ["token", "create", "--user", OWNER, "--name", "n", "--scopes", "READ_FOLDER"];
        for expires in ["90d", "12h", "30m", "45s"] {
            let token = office.groma(&[&create[..], &["--expires", expires]].concat()).succeeds();
            office.get("/folders", &token).ok();
        }
        for wrong in ["", "90", "d", "0d", "-1d", "1.5d", "1w", "99999999d"] {
            let expires = format!("--expires={wrong}");
            let done = office.groma(&[&create[..], &[&expires]].concat());
            done.is_wrong_usage();
            assert!(done.stderr.contains("must be a duration, for example 90d or 12h"), "{}", done.stderr);
        }
    }

    fn a_revoked_token_is_refused_within_a_second(engine: Engine) {
        let office = Office::start_with(engine, &[NO_LIMIT]);
        let token = office.token(&["READ_FOLDER"]);
        let other = office.token(&["READ_FOLDER"]);
        office.get("/folders", &token).ok();
        let tokens = office.groma(&["token", "list", "--json"]).json();
        let id = tokens[0]["id"].as_str().unwrap();
        office.groma(&["token", "revoke", id]).succeeds();
        let answer = office.within_a_second("/folders", &token, |answer| answer.status != 200);
        answer.is_error(401, "Unknown or revoked token");
        assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
        office.get("/folders", &other).ok();
        let tokens = office.groma(&["token", "list", "--json"]).json();
        assert!(is_time(&tokens[0]["revokedAt"]));
        assert_eq!(tokens[1]["revokedAt"], Value::Null);
    }

    fn a_token_made_beside_the_server_opens_at_once(engine: Engine) {
        let office = Office::start(engine);
        for _ in 0..3 {
            office.get("/folders", &office.token(&["READ_FOLDER"])).ok();
        }
    }

    fn a_token_ends_with_its_workspace(engine: Engine) {
        let office = Office::start_with(engine, &[NO_LIMIT]);
        office.create_workspace("Second");
        let token = office.token_in("Second", &["READ_FOLDER"]);
        let stays = office.token(&["READ_FOLDER"]);
        office.get("/folders", &token).ok();
        office.groma(&["workspace", "delete", "Second"]).succeeds();
        let answer = office.within_a_second("/folders", &token, |answer| answer.status != 200);
        answer.is_error(401, "Unknown or revoked token");
        office.get("/folders", &stays).ok();
    }

    fn only_administrators_grant_the_webhook_scope(engine: Engine) {
        let office = Office::start(engine);
        for (role, may) in [("viewer", false), ("editor", false), ("admin", true), ("owner", true)] {
            let user = format!("{role}@example.test");
            office.groma(&["user", "add", &user, "--role", role]).succeeds();
            let create = ["token", "create", "--user", &user, "--name", "n", "--scopes"];
            let token = office.groma(&[&create[..], &["READ_FOLDER"]].concat()).succeeds();
            office.get("/folders", &token).ok();
            let done = office.groma(&[&create[..], &["MANAGE_WEBHOOK"]].concat());
            if may {
                done.succeeds();
            } else {
                done.fails_with("needs the role admin");
            }
        }
    }

    fn a_token_needs_a_member_as_owner(engine: Engine) {
        let office = Office::start(engine);
        office.import("folders", &[json!({ "name": "x", "owner": "person@example.test" })]);
        let create = |user: &str| {
            office.groma(&["token", "create", "--user", user, "--name", "n", "--scopes", ""])
        };
        create("stranger@example.test").fails_with("member `stranger@example.test` not found");
        create("person@example.test").fails_with("member `person@example.test` not found");
        create(&OWNER.to_uppercase()).succeeds();
    }

    fn the_list_of_tokens_shows_all_but_the_token(engine: Engine) {
        let office = Office::start(engine);
        let token = office.token(&["READ_FOLDER", "READ_BUDGET"]);
        let done = office.groma(&["token", "list", "--json"]);
        let tokens = done.json();
        let [row] = tokens.as_array().unwrap().as_slice() else { panic!("{tokens}") };
        assert!(is_uuid_v7(&row["id"]) && is_time(&row["createdAt"]));
        assert_eq!(row["name"], "test");
        assert_eq!(row["workspace"], WORKSPACE);
        assert_eq!(row["owner"], OWNER);
        assert_eq!(row["scopes"], json!(["READ_FOLDER", "READ_BUDGET"]));
        assert_eq!([&row["expiresAt"], &row["revokedAt"], &row["lastUsedAt"]], [&Value::Null; 3]);
        let table = office.groma(&["token", "list"]).succeeds();
        assert!(table.contains("READ_FOLDER,READ_BUDGET"));
        for output in [done.stdout, table] {
            assert!(!output.contains(&token) && !output.contains("svc_"));
        }
    }

    fn the_last_use_is_kept_when_the_program_ends(engine: Engine) {
        let mut office = Office::start(engine);
        let token = office.token(&["READ_FOLDER"]);
        office.get("/folders", &token).ok();
        assert_eq!(office.close(), Some(0));
        let tokens = office.groma(&["token", "list", "--json"]).json();
        assert!(is_time(&tokens[0]["lastUsedAt"]), "{tokens}");
    }

    fn a_created_token_is_printed_alone_or_as_json(engine: Engine) {
        let office = Office::start(engine);
        let create = ["token", "create", "--user", OWNER, "--name", "CI job", "--scopes", "READ_FOLDER"];
        let done = office.groma(&create);
        assert_eq!(done.succeeds().lines().count(), 1);
        let made = office.groma(&[&create[..], &["--json"]].concat()).json();
        assert!(is_uuid_v7(&made["id"]));
        assert_eq!(made["name"], "CI job");
        let path = format!("{API}/folders");
        office.main().ask("GET", &path).token(made["token"].as_str().unwrap()).send().ok();
    }

    fn the_token_is_in_no_log(engine: Engine) {
        let mut office = Office::closed(engine, &[]);
        office.create_workspace(WORKSPACE);
        office.open_with(&[("RUST_LOG", "debug")]);
        let token = office.token(&["READ_FOLDER"]);
        office.get("/folders", &token).ok();
        office.get("/folders/missing", &token).error(404);
        office.get("/folders", &format!("{token}0")).error(401);
        assert!(!office.program().log().contains(&token[4..]));
    }
}
