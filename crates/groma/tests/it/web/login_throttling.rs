//! Failed logins are limited, without locking out the owner of the account.

use super::{Browser, password};
use crate::on_both_engines;
use groma_testkit::{
    Engine, Response, TestServer, http::percent_encode, postgres, server::OWNER, wait::PATIENCE,
};
use serde_json::json;
use std::time::{SystemTime, UNIX_EPOCH};

on_both_engines! {
    fn guessing_delays_strangers_and_a_known_device_can_still_log_in(engine: Engine) {
        let server = TestServer::start_with(engine, &[PROXY]);
        let owner = Browser::of_owner(&server);
        owner.submit("/", "/logout", &[]);
        // Each failure doubles the delay, so strangers are soon rejected, however slow the machine is.
        let stranger = Browser::new(server.main());
        let addresses = (0..40).map(|n| format!("203.0.113.{n}"));
        let rejected = addresses.map(|address| log_in(&server, &stranger, OWNER, &address, "guess"));
        let rejected: Vec<_> = rejected.skip_while(|response| response.status == 400).collect();
        assert!((20..=30).contains(&rejected.len()), "the first 10 are not delayed");
        let seconds = rejected[0].header("retry-after").unwrap().parse::<u64>().unwrap();
        assert!((1..=900).contains(&seconds), "{seconds}");
        let text = rejected[0].text();
        assert!(text.contains("Too many attempts. Try again in"), "{text}");
        assert_eq!(log_in(&server, &owner, OWNER, "203.0.113.7", password()).status, 303);
    }

    fn delayed_account_rejects_the_right_password_of_a_stranger(engine: Engine) {
        let server = TestServer::start_with(engine, &[PROXY]);
        add_failures(&server, engine, &format!("account {OWNER}"), 30);
        let stranger = Browser::new(server.main());
        let response = log_in(&server, &stranger, OWNER, "203.0.113.1", password());
        assert_eq!(response.status, 429);
        let seconds = response.header("retry-after").unwrap().parse::<u64>().unwrap();
        assert!((600..=900).contains(&seconds), "{seconds}");
        assert!(response.text().contains("15 minutes") || response.text().contains("14 minutes"));
        // Of the rejected logins, only the first is in the security log.
        assert_eq!(log_in(&server, &stranger, OWNER, "203.0.113.2", password()).status, 429);
        let entry = server.run(&["security-log", "--json", "--action", "login.throttled"]).json();
        assert_eq!((&entry["subject"], &entry["address"]), (&json!(OWNER), &json!("203.0.113.1")));
    }

    fn networks_of_ipv6_are_limited(engine: Engine) {
        let server = TestServer::start_with(engine, &[PROXY]);
        add_failures(&server, engine, "address 2001:db8:1:2::/64", 100);
        add_failures(&server, engine, "address 2001:db8:2::/48", 400);
        add_failures(&server, engine, "address 192.0.2.7/32", 100);
        let stranger = Browser::new(server.main());
        let statuses = |addresses: &[&str]| -> Vec<u16> {
            let log_in = |address: &&str| log_in(&server, &stranger, OWNER, address, "guess").status;
            addresses.iter().map(log_in).collect()
        };
        let rejected = ["2001:db8:1:2::1", "2001:db8:1:2:ffff::9", "2001:db8:2:7::1", "192.0.2.7"];
        assert_eq!(statuses(&rejected), [429; 4]);
        assert_eq!(statuses(&["[::ffff:192.0.2.7]"]), [429], "an IPv4 address has two forms");
        assert_eq!(statuses(&["2001:db8:1:3::1", "2001:db8:3:7::1", "192.0.2.8"]), [400; 3]);
    }
}

const PROXY: (&str, &str) = ("GROMA_SERVER__TRUSTED_PROXIES", "127.0.0.1");

fn log_in(
    server: &TestServer,
    browser: &Browser,
    email: &str,
    address: &str,
    password: &str,
) -> Response {
    let token = browser.get("/login").token();
    let (email, password) = (percent_encode(email), percent_encode(password));
    let body = format!("_csrf={token}&email={email}&password={password}");
    let headers = [
        ("Origin", format!("http://{}", server.main().authority())),
        ("Content-Type", "application/x-www-form-urlencoded".to_owned()),
        ("X-Forwarded-For", address.to_owned()),
    ];
    browser.request("POST", "/login", &headers, Some(body.into_bytes())).response
}

/// Adds logins that have just failed.
fn add_failures(server: &TestServer, engine: Engine, bucket: &str, count: u32) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis();
    let row = format!("('{bucket}', {now}, {now} + 900000)");
    let rows = vec![row; count as usize].join(", ");
    let insert = format!("INSERT INTO login_attempts (bucket, at, expires_at) VALUES {rows}");
    match engine {
        Engine::Sqlite => {
            let path = server.database_url().strip_prefix("sqlite:").unwrap();
            let database = rusqlite::Connection::open(path).unwrap();
            database.busy_timeout(PATIENCE).unwrap();
            database.execute_batch(&insert).unwrap();
        }
        Engine::Postgres => postgres::execute(server.database_url(), &insert).unwrap(),
    }
}
