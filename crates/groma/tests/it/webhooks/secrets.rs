//! Secrets: rotation with an overlap, encryption at rest, and no disclosure.

use super::{
    ENDPOINTS, LOCAL_RECEIVERS, create_endpoint, id, post, save_folder, start, webhook,
    webhook_json,
};
use crate::{backup::sqlite_path, on_both_engines};
use groma_testkit::{
    API, CommandOutput, Engine, Receiver, TestServer, postgres, server::WORKSPACE, wait::PATIENCE,
    wait_until,
};
use serde_json::{Value, json};
use std::{fs::Permissions, os::unix::fs::PermissionsExt, path::PathBuf};

const KEY: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
const OTHER_KEY: &str = "ffeeddccbbaa99887766554433221100ffeeddccbbaa99887766554433221100";

fn start_with_key(engine: Engine) -> TestServer {
    let key = [("GROMA_WEBHOOKS__ENCRYPTION_KEY", KEY)];
    TestServer::start_with(engine, &[&LOCAL_RECEIVERS[..], &key[..]].concat())
}

/// Whether the server's database contains a text anywhere.
fn database_contains(server: &TestServer, text: &str) -> bool {
    if let Some(path) = server.database_url().strip_prefix("sqlite:") {
        let files =
            ["", "-wal"].map(|suffix| std::fs::read(format!("{path}{suffix}")).unwrap_or_default());
        return files
            .iter()
            .any(|bytes| bytes.windows(text.len()).any(|part| part == text.as_bytes()));
    }
    let query = format!(
        "SELECT (SELECT count(*) FROM webhook_endpoints e WHERE strpos(encode(e.secret || coalesce(e.previous_secret, ''), 'escape'), '{text}') > 0)
            + (SELECT count(*) FROM idempotency_keys k WHERE strpos(encode(k.response, 'escape'), '{text}') > 0)
            + (SELECT count(*) FROM audit_log a WHERE strpos(coalesce(a.after, '') || coalesce(a.before, ''), '{text}') > 0)"
    );
    postgres::query_number(server.database_url(), &query).unwrap() > 0
}

on_both_engines! {
    both_secrets_sign_during_the_overlap
    secrets_are_encrypted_with_a_key
    key_in_the_settings_can_be_changed
    wrong_key_stops_deliveries_instead_of_sending_unsigned
    secrets_are_not_in_the_log_or_the_audit_log
}

fn both_secrets_sign_during_the_overlap(engine: Engine) {
    let server = start(engine);
    let receiver = Receiver::start();
    let endpoint = create_endpoint(&server, &receiver.url("/"), &[]);
    let rotated = webhook_json(&server, &["rotate", id(&endpoint)]);
    assert_ne!(rotated["secret"], endpoint["secret"]);
    save_folder(&server, "F", "x");
    let request = receiver.wait_for(1).remove(0);
    assert_eq!(request.header("webhook-signature").unwrap().split(' ').count(), 2);
    assert_eq!(request.header("x-service-signature").unwrap().split(' ').count(), 1);
    // Without an overlap only the new secret signs.
    let own = "a secret of my own choice";
    let rotate = [
        "webhook",
        "rotate",
        id(&endpoint),
        "--overlap",
        "1s",
        "--secret-from-stdin",
        "--workspace",
        WORKSPACE,
    ];
    assert_eq!(server.run_with_input(&format!("{own}\n"), &rotate).expect_success(), own);
    let found = webhook_json(&server, &["list"]);
    assert!(found[0]["previousSecretUntil"].is_string());
}

fn secrets_are_encrypted_with_a_key(engine: Engine) {
    let server = start_with_key(engine);
    let token = server.create_token(&["MANAGE_WEBHOOK"]);
    let path = format!("{API}{ENDPOINTS}");
    let receiver = Receiver::start();
    let body = json!({ "url": receiver.url("/") }).to_string();
    let request = || {
        let request =
            server.main().request("POST", &path).token(&token).header("Idempotency-Key", "one");
        request.header("Content-Type", "application/json").body(body.clone()).send()
    };
    let endpoint = request().ok();
    assert_eq!(request().ok(), endpoint, "the stored response is decrypted");
    let secret = endpoint["secret"].as_str().unwrap();
    assert!(!database_contains(&server, secret));
    let rotated = webhook(&server, &["rotate", id(&endpoint)]).expect_success();
    assert!(!database_contains(&server, secret) && !database_contains(&server, &rotated));
    save_folder(&server, "F", "x");
    assert_eq!(receiver.wait_for(1)[0].header("webhook-signature").unwrap().split(' ').count(), 2);
    let report = server.run(&["check", "--json"]).json();
    assert_eq!(report["webhookSecrets"], json!({ "plain": 0, "encrypted": 1, "unreadable": 0 }));
    assert!(!report.to_string().contains(KEY));
}

#[test]
fn existing_secrets_can_be_encrypted_later() {
    let mut server = start(Engine::Postgres);
    let warning = "webhook secrets are stored unencrypted: webhooks.encryption_key is not set";
    assert!(server.process().log().contains(warning));
    let token = server.create_token(&["MANAGE_WEBHOOK"]);
    let path = format!("{API}{ENDPOINTS}");
    let receiver = Receiver::start();
    let body = json!({ "url": receiver.url("/") });
    let request = |server: &TestServer| {
        let request =
            server.main().request("POST", &path).token(&token).header("Idempotency-Key", "one");
        request.header("Content-Type", "application/json").body(body.to_string()).send()
    };
    let endpoint = request(&server).ok();
    let secret = endpoint["secret"].as_str().unwrap().to_owned();
    assert!(database_contains(&server, &secret));
    let note = server.run(&["check"]).expect_success();
    assert!(
        note.contains(
            "warning     webhooks.encryption_key is not set, so webhook secrets are stored unencrypted"
        ),
        "{note}"
    );
    webhook_encrypt(&server)
        .expect_error("webhooks.encryption_key is not set; set it to the key to encrypt with");
    server.stop();
    server.set_env("GROMA_WEBHOOKS__ENCRYPTION_KEY", KEY);
    let note = server.run(&["check"]).expect_success();
    assert!(note.contains("1 webhook secrets are stored unencrypted"), "{note}");
    assert_eq!(webhook_encrypt(&server).expect_success(), "1");
    let entry = server.run(&["security-log", "--json", "--action", "webhook.encrypted"]).json();
    assert_eq!(entry["details"], json!({ "encrypted": 1 }));
    assert_eq!(webhook_encrypt(&server).expect_success(), "0");
    server.serve();
    assert_eq!(request(&server).ok(), endpoint);
    save_folder(&server, "F", "x");
    assert!(receiver.wait_for(1)[0].header("webhook-signature").is_some());
    let report = server.run(&["check", "--json"]).json();
    assert_eq!(report["webhookSecrets"], json!({ "plain": 0, "encrypted": 1, "unreadable": 0 }));
}

fn key_in_the_settings_can_be_changed(engine: Engine) {
    let mut server = start_with_key(engine);
    let receiver = Receiver::start();
    let endpoint = create_endpoint(&server, &receiver.url("/"), &[]);
    webhook(&server, &["rotate", id(&endpoint)]).expect_success();
    server.stop();
    server.set_env("GROMA_WEBHOOKS__ENCRYPTION_KEY", OTHER_KEY);
    server.run(&["webhook", "rekey"]).expect_error(
        "1 secrets are encrypted with another key; restore it as webhooks.previous_encryption_key",
    );
    server.set_env("GROMA_WEBHOOKS__PREVIOUS_ENCRYPTION_KEY", KEY);
    // A server with both keys reads the secrets before, while and after they change.
    server.serve();
    save_folder(&server, "F1", "x");
    receiver.wait_for(1);
    assert_eq!(server.run(&["webhook", "rekey"]).expect_success(), "1");
    save_folder(&server, "F2", "x");
    receiver.wait_for(2);
    server.stop();
    server.set_env("GROMA_WEBHOOKS__PREVIOUS_ENCRYPTION_KEY", "");
    server.serve();
    save_folder(&server, "F3", "x");
    let signatures = receiver.wait_for(3)[2].header("webhook-signature").unwrap().to_owned();
    assert_eq!(signatures.split(' ').count(), 2, "the previous secret was encrypted again too");
}

/// The key file of a server, and its content.
fn key_file(server: &TestServer) -> (PathBuf, String) {
    let path = sqlite_path(server).with_added_extension("key");
    let key = std::fs::read_to_string(&path).unwrap();
    (path, key)
}

#[test]
fn first_start_on_sqlite_creates_a_private_key() {
    let mut server = start(Engine::Sqlite);
    let (path, key) = key_file(&server);
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(key.trim().len(), 64);
    let receiver = Receiver::start();
    let endpoint = create_endpoint(&server, &receiver.url("/"), &[]);
    assert!(!database_contains(&server, endpoint["secret"].as_str().unwrap()));
    server.stop();
    server.serve();
    assert_eq!(key_file(&server).1, key);
    save_folder(&server, "F", "x");
    assert!(receiver.wait_for(1)[0].header("webhook-signature").is_some());
    let report = server.run(&["check", "--json"]).json();
    assert_eq!(report["webhookSecrets"], json!({ "plain": 0, "encrypted": 1, "unreadable": 0 }));
    std::fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
    let warning = server.run(&["check"]).expect_success();
    assert!(warning.contains("other users can read it"), "{warning}");
    // The setting can take over, because the key of the file still decrypts.
    server.stop();
    server.set_env("GROMA_WEBHOOKS__ENCRYPTION_KEY", KEY);
    assert_eq!(server.run(&["webhook", "rekey"]).expect_success(), "1");
    std::fs::remove_file(&path).unwrap();
    server.serve();
    save_folder(&server, "F2", "x");
    assert!(receiver.wait_for(2)[1].header("webhook-signature").is_some());
}

#[test]
fn plain_secrets_on_sqlite_are_encrypted_at_the_next_start() {
    let mut server = start(Engine::Sqlite);
    let endpoint = create_endpoint(&server, "https://hooks.example.test/", &[]);
    let secret = endpoint["secret"].as_str().unwrap();
    server.stop();
    let path = sqlite_path(&server);
    let database = rusqlite::Connection::open(&path).unwrap();
    database.execute("UPDATE webhook_endpoints SET secret = CAST(?1 AS BLOB)", [secret]).unwrap();
    drop(database);
    assert!(database_contains(&server, secret));
    server.serve();
    let report = server.run(&["check", "--json"]).json();
    assert_eq!(report["webhookSecrets"], json!({ "plain": 0, "encrypted": 1, "unreadable": 0 }));
}

#[test]
fn key_file_is_replaced_and_an_interrupted_change_is_finished() {
    let mut server = start(Engine::Sqlite);
    let receiver = Receiver::start();
    create_endpoint(&server, &receiver.url("/"), &[]);
    let rekey = |server: &TestServer| server.run(&["webhook", "rekey"]);
    assert!(rekey(&server).expect_failure().contains("already in use"));
    server.stop();
    let (path, old) = key_file(&server);
    let next = path.with_added_extension("new");
    assert!(!next.exists());
    assert_eq!(rekey(&server).expect_success(), "1");
    let (_, new) = key_file(&server);
    assert_ne!(new, old);
    assert!(!next.exists());
    let mut count = 0;
    let mut deliver = |server: &TestServer| {
        count += 1;
        save_folder(server, &format!("F{count}"), "x");
        assert!(receiver.wait_for(count)[count - 1].header("webhook-signature").is_some());
    };
    server.serve();
    deliver(&server);
    server.stop();
    // Before the secrets changed: the new key exists already.
    std::fs::write(&next, format!("{KEY}\n")).unwrap();
    server.serve();
    deliver(&server);
    let warning = server.run(&["check"]).expect_success();
    assert!(warning.contains("was interrupted"), "{warning}");
    server.stop();
    assert_eq!(rekey(&server).expect_success(), "1");
    assert_eq!(key_file(&server).1.trim(), KEY);
    // After the secrets changed: the file still has the old key.
    std::fs::rename(&path, &next).unwrap();
    std::fs::write(&path, &new).unwrap();
    server.serve();
    deliver(&server);
    server.stop();
    assert_eq!(rekey(&server).expect_success(), "1");
    server.serve();
    deliver(&server);
    assert!(!next.exists());
}

fn wrong_key_stops_deliveries_instead_of_sending_unsigned(engine: Engine) {
    let mut server = start_with_key(engine);
    let receiver = Receiver::start();
    let endpoint = create_endpoint(&server, &receiver.url("/"), &[]);
    server.stop();
    server.set_env("GROMA_WEBHOOKS__ENCRYPTION_KEY", OTHER_KEY);
    let output = server.run(&["check"]);
    assert_eq!(output.code, Some(1));
    assert!(output.stderr.contains("1 webhook secrets cannot be decrypted"), "{output:?}");
    server.serve();
    save_folder(&server, "F", "x");
    let found = wait_until(PATIENCE, || {
        let found = webhook_json(&server, &["deliveries", id(&endpoint)]);
        if found[0]["attempts"] == 1 { Ok(found[0].clone()) } else { Err(found.to_string()) }
    });
    assert!(found["lastError"].as_str().unwrap().contains("webhooks.encryption_key"), "{found}");
    assert_eq!(receiver.connections(), 0);
}

fn secrets_are_not_in_the_log_or_the_audit_log(engine: Engine) {
    let server = start(engine);
    let token = server.create_token(&["MANAGE_WEBHOOK"]);
    let receiver = Receiver::start();
    let body = json!({ "url": receiver.url("/"), "secret": "a secret that must stay hidden" });
    let endpoint: Value = post(&server, &token, &body).ok();
    save_folder(&server, "F", "x");
    receiver.wait_for(1);
    webhook(&server, &["delete", id(&endpoint)]).expect_success();
    assert!(!server.process().log().contains("must stay hidden"));
}

fn webhook_encrypt(server: &TestServer) -> CommandOutput {
    server.run(&["webhook", "encrypt"])
}
