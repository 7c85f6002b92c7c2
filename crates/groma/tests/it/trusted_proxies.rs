//! `server.trusted_proxies`: only their forwarding headers are trusted.

use crate::{web::Browser, web::password};
use groma_testkit::{
    Engine, TestServer, http::percent_encode, server::OWNER, wait::PATIENCE, wait_until,
};
use serde_json::Value;

fn start_behind(proxies: &str) -> TestServer {
    TestServer::start_with(Engine::Sqlite, &[("GROMA_SERVER__TRUSTED_PROXIES", proxies)])
}

/// Attempts to log in with additional headers and returns the status.
fn log_in(server: &TestServer, browser: &Browser, password: &str, headers: &[(&str, &str)]) -> u16 {
    let token = browser.get("/login").token();
    let body = format!(
        "_csrf={token}&email={}&password={}",
        percent_encode(OWNER),
        percent_encode(password)
    );
    let mut all = vec![
        ("Origin", format!("http://{}", server.main().authority())),
        ("Content-Type", "application/x-www-form-urlencoded".to_owned()),
    ];
    all.extend(headers.iter().map(|(name, value)| (*name, (*value).to_owned())));
    browser.request("POST", "/login", &all, Some(body.into_bytes())).response.status
}

/// The address in the list of sessions after a login with these headers.
fn session_address(server: &TestServer, headers: &[(&str, &str)]) -> String {
    let browser = Browser::new(server.main());
    assert_eq!(log_in(server, &browser, password(), headers), 303);
    let page = browser.page("/account");
    let here = page.text.find("this session").expect("this session");
    let rest = &page.text[here..];
    let start = rest.find("hide-on-phone ref\">").unwrap() + "hide-on-phone ref\">".len();
    rest[start..].split('<').next().unwrap().to_owned()
}

#[test]
fn forwarding_headers_are_ignored_by_default_even_from_localhost() {
    let server = start_behind("");
    for headers in [
        [("X-Forwarded-For", "192.0.2.1")],
        [("Forwarded", "for=192.0.2.1")],
        [("X-Real-IP", "192.0.2.1")],
    ] {
        assert_eq!(session_address(&server, &headers), "127.0.0.1");
    }
    let elsewhere = TestServer::start_with(
        Engine::Sqlite,
        &[("GROMA_SERVER__TRUSTED_PROXIES", "10.0.0.0/8,::1")],
    );
    assert_eq!(session_address(&elsewhere, &[("X-Forwarded-For", "192.0.2.1")]), "127.0.0.1");
}

#[test]
fn trusted_proxy_sets_the_client_address_and_a_client_cannot_forge_it() {
    let server = start_behind("127.0.0.1,10.0.0.0/8");
    for (headers, address) in [
        (&[][..], "127.0.0.1"),
        (&[("X-Forwarded-For", "192.0.2.1")], "192.0.2.1"),
        (&[("X-Forwarded-For", "203.0.113.66, 192.0.2.1")], "192.0.2.1"),
        (&[("X-Forwarded-For", "203.0.113.66, 192.0.2.1, 10.1.2.3")], "192.0.2.1"),
        (&[("Forwarded", "for=203.0.113.66, for=192.0.2.1;proto=http")], "192.0.2.1"),
        (&[("Forwarded", "for=\"[2001:db8::7]:5\"")], "2001:db8::7"),
        // A header that a proxy passes on unchanged.
        (&[("X-Forwarded-For", "192.0.2.1"), ("Forwarded", "for=203.0.113.66")], "127.0.0.1"),
        (&[("X-Forwarded-For", "192.0.2.1, nonsense")], "127.0.0.1"),
    ] {
        assert_eq!(session_address(&server, headers), address, "{headers:?}");
    }
}

#[test]
fn forged_addresses_do_not_evade_login_throttling() {
    let server = start_behind("10.0.0.0/8");
    let stranger = Browser::new(server.main());
    let guess = |n: u32| {
        let claimed = format!("198.51.100.{n}");
        log_in(
            &server,
            &stranger,
            "guess",
            &[("X-Forwarded-For", &claimed), ("Forwarded", &format!("for={claimed}"))],
        )
    };
    for n in 0..10 {
        assert_eq!(guess(n), 400);
    }
    assert_eq!(guess(10), 429);
    let rejected = wait_until(PATIENCE, || {
        let log = server.process().log();
        let mut entries = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let is_rejection = |entry: &Value| {
            entry["message"].as_str().is_some_and(|text| text.starts_with("login rejected"))
        };
        entries.find(is_rejection).ok_or(log)
    });
    assert_eq!(rejected["client"], "127.0.0.1", "the log has the real address");
}

#[test]
fn form_origin_must_match_the_host_that_a_trusted_proxy_forwards() {
    let send = |server: &TestServer, origin: &str, headers: &[(&str, &str)]| {
        let browser = Browser::new(server.main());
        let token = browser.get("/login").token();
        let body = format!(
            "_csrf={token}&email={}&password={}",
            percent_encode(OWNER),
            percent_encode(password())
        );
        let mut all = vec![
            ("Origin", origin.to_owned()),
            ("Content-Type", "application/x-www-form-urlencoded".to_owned()),
        ];
        all.extend(headers.iter().map(|(name, value)| (*name, (*value).to_owned())));
        browser.request("POST", "/login", &all, Some(body.into_bytes())).response.status
    };
    let forwarded = [
        ("X-Forwarded-For", "192.0.2.1"),
        ("X-Forwarded-Host", "api.example.org"),
        ("X-Forwarded-Proto", "https"),
    ];
    let behind = start_behind("127.0.0.1");
    assert_eq!(send(&behind, "https://api.example.org", &forwarded), 303);
    assert_eq!(send(&behind, "http://api.example.org", &forwarded), 403, "a different scheme");
    assert_eq!(send(&behind, "https://evil.example.org", &forwarded), 403);
    assert_eq!(send(&behind, "https://api.example.org", &[]), 403);
    assert_eq!(
        send(&start_behind(""), "https://api.example.org", &forwarded),
        403,
        "the proxy is not trusted"
    );
}
