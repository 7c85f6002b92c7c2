//! Secrets: replaced with an overlap, sealed at rest, never shown again.

use super::{
    ENDPOINTS, LOCAL, Receiver, change, create, id, open, post, receiver::PATIENCE, webhook,
    webhook_json,
};
use crate::{
    client::API,
    database::Engine,
    office::{Office, WORKSPACE},
    on_both_engines,
};
use serde_json::{Value, json};

const KEY: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
const OTHER_KEY: &str = "ffeeddccbbaa99887766554433221100ffeeddccbbaa99887766554433221100";

fn sealed(engine: Engine) -> Office {
    let key = [("GROMA_WEBHOOKS__ENCRYPTION_KEY", KEY)];
    Office::start_with(engine, &[&LOCAL[..], &key[..]].concat())
}

/// Whether the bytes of a text are anywhere in the office's database.
fn holds(office: &Office, text: &str) -> bool {
    if let Some(path) = office.database().strip_prefix("sqlite:") {
        let files =
            ["", "-wal"].map(|suffix| std::fs::read(format!("{path}{suffix}")).unwrap_or_default());
        return files
            .iter()
            .any(|bytes| bytes.windows(text.len()).any(|part| part == text.as_bytes()));
    }
    let query = format!(
        "SELECT (SELECT count(*) FROM webhook_endpoints e WHERE strpos(encode(e.secret || coalesce(e.previous_secret, ''), 'escape'), '{text}') > 0)
            + (SELECT count(*) FROM replays r WHERE strpos(encode(r.answer, 'escape'), '{text}') > 0)
            + (SELECT count(*) FROM changes c WHERE strpos(coalesce(c.after, '') || coalesce(c.before, ''), '{text}') > 0)"
    );
    crate::database::number(office.database(), &query) > 0
}

on_both_engines! {
    fn while_a_secret_is_replaced_both_sign(engine: Engine) {
        let office = open(engine);
        let receiver = Receiver::start();
        let endpoint = create(&office, &receiver.url("/"), &[]);
        let rotated = webhook_json(&office, &["rotate", id(&endpoint)]);
        assert_ne!(rotated["secret"], endpoint["secret"]);
        change(&office, "F", "x");
        let hit = receiver.wait_for(1).remove(0);
        assert_eq!(hit.header("webhook-signature").unwrap().split(' ').count(), 2);
        assert_eq!(hit.header("x-service-signature").unwrap().split(' ').count(), 1);
        // Replaced with no overlap, only the new one signs.
        let own = "a secret of my own choice";
        let rotate = ["webhook", "rotate", id(&endpoint), "--overlap", "1s", "--secret-from-stdin", "--workspace", WORKSPACE];
        assert_eq!(office.groma_with(&format!("{own}\n"), &rotate).succeeds(), own);
        let shown = webhook_json(&office, &["list"]);
        assert!(shown[0]["previousSecretUntil"].is_string());
    }

    fn with_a_key_no_secret_lies_open(engine: Engine) {
        let office = sealed(engine);
        let token = office.token(&["MANAGE_WEBHOOK"]);
        let path = format!("{API}{ENDPOINTS}");
        let receiver = Receiver::start();
        let body = json!({ "url": receiver.url("/") }).to_string();
        let ask = || {
            let ask = office.main().ask("POST", &path).token(&token).header("Idempotency-Key", "one");
            ask.header("Content-Type", "application/json").body(body.clone()).send()
        };
        let endpoint = ask().ok();
        assert_eq!(ask().ok(), endpoint, "the replay opens");
        let secret = endpoint["secret"].as_str().unwrap();
        assert!(!holds(&office, secret));
        let rotated = webhook(&office, &["rotate", id(&endpoint)]).succeeds();
        assert!(!holds(&office, secret) && !holds(&office, &rotated));
        change(&office, "F", "x");
        assert_eq!(receiver.wait_for(1)[0].header("webhook-signature").unwrap().split(' ').count(), 2);
        let report = office.groma(&["check", "--json"]).json();
        assert_eq!(report["webhookSecrets"], json!({ "open": 0, "sealed": 1, "unreadable": 0 }));
        assert!(!report.to_string().contains(KEY));
    }

    fn a_key_can_come_later(engine: Engine) {
        let mut office = open(engine);
        let token = office.token(&["MANAGE_WEBHOOK"]);
        let path = format!("{API}{ENDPOINTS}");
        let receiver = Receiver::start();
        let body = json!({ "url": receiver.url("/") });
        let ask = |office: &Office| {
            let ask = office.main().ask("POST", &path).token(&token).header("Idempotency-Key", "one");
            ask.header("Content-Type", "application/json").body(body.to_string()).send()
        };
        let endpoint = ask(&office).ok();
        let secret = endpoint["secret"].as_str().unwrap().to_owned();
        assert!(holds(&office, &secret));
        let note = office.groma(&["check"]).succeeds();
        assert!(note.contains("webhooks.encryption_key is not set"), "{note}");
        webhook_encrypt(&office).fails_with("webhooks.encryption_key is not set; set it to the key to encrypt with");
        office.close();
        office.set("GROMA_WEBHOOKS__ENCRYPTION_KEY", KEY);
        let note = office.groma(&["check"]).succeeds();
        assert!(note.contains("1 webhook secrets are stored unencrypted"), "{note}");
        assert_eq!(webhook_encrypt(&office).succeeds(), "1");
        assert_eq!(webhook_encrypt(&office).succeeds(), "0");
        office.open();
        assert_eq!(ask(&office).ok(), endpoint);
        change(&office, "F", "x");
        assert!(receiver.wait_for(1)[0].header("webhook-signature").is_some());
        let report = office.groma(&["check", "--json"]).json();
        assert_eq!(report["webhookSecrets"], json!({ "open": 0, "sealed": 1, "unreadable": 0 }));
    }

    fn with_another_key_nothing_is_sent_unsigned(engine: Engine) {
        let mut office = sealed(engine);
        let receiver = Receiver::start();
        let endpoint = create(&office, &receiver.url("/"), &[]);
        office.close();
        office.set("GROMA_WEBHOOKS__ENCRYPTION_KEY", OTHER_KEY);
        let told = office.groma(&["check"]);
        assert_eq!(told.code, Some(1));
        assert!(told.stderr.contains("1 webhook secrets do not open"), "{told:?}");
        office.open();
        change(&office, "F", "x");
        let shown = crate::office::wait_until(PATIENCE, || {
            let shown = webhook_json(&office, &["deliveries", id(&endpoint)]);
            if shown[0]["attempts"] == 1 { Ok(shown[0].clone()) } else { Err(shown.to_string()) }
        });
        assert!(shown["lastError"].as_str().unwrap().contains("webhooks.encryption_key"), "{shown}");
        assert_eq!(receiver.connections(), 0);
    }

    fn no_secret_is_in_a_log_or_in_the_audit_trail(engine: Engine) {
        let office = open(engine);
        let token = office.token(&["MANAGE_WEBHOOK"]);
        let receiver = Receiver::start();
        let body = json!({ "url": receiver.url("/"), "secret": "a secret that nobody sees" });
        let endpoint: Value = post(&office, &token, &body).ok();
        change(&office, "F", "x");
        receiver.wait_for(1);
        webhook(&office, &["delete", id(&endpoint)]).succeeds();
        assert!(!office.program().log().contains("nobody sees"));
    }
}

fn webhook_encrypt(office: &Office) -> crate::office::Done {
    office.groma(&["webhook", "encrypt"])
}
