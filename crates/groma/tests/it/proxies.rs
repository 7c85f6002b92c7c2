//! `server.trusted_proxies`: who asks is believed from those alone.

use crate::{
    client::encode,
    database::Engine,
    office::{OWNER, Office, wait_until},
    web::{Browser, password},
};
use serde_json::Value;
use std::time::Duration;

fn office(proxies: &str) -> Office {
    Office::start_with(Engine::Sqlite, &[("GROMA_SERVER__TRUSTED_PROXIES", proxies)])
}

/// Tries to log in with these headers besides; gives the status.
fn log_in(office: &Office, browser: &Browser, password: &str, headers: &[(&str, &str)]) -> u16 {
    let token = browser.get("/login").token();
    let body = format!("_csrf={token}&email={}&password={}", encode(OWNER), encode(password));
    let mut all = vec![
        ("Origin", format!("http://{}", office.main().authority())),
        ("Content-Type", "application/x-www-form-urlencoded".to_owned()),
    ];
    all.extend(headers.iter().map(|(name, value)| (*name, (*value).to_owned())));
    browser.ask("POST", "/login", &all, Some(body.into_bytes())).answer.status
}

/// The address that the list of sessions shows for someone who logged in with these headers.
fn shown(office: &Office, headers: &[(&str, &str)]) -> String {
    let browser = Browser::new(office.main());
    assert_eq!(log_in(office, &browser, password(), headers), 303);
    let page = browser.page("/account");
    let here = page.text.find("this one").expect("this session");
    let rest = &page.text[here..];
    let start = rest.find("hide ref\">").unwrap() + "hide ref\">".len();
    rest[start..].split('<').next().unwrap().to_owned()
}

#[test]
fn nobody_is_believed_by_default_not_even_on_this_machine() {
    let office = office("");
    for headers in [
        [("X-Forwarded-For", "192.0.2.1")],
        [("Forwarded", "for=192.0.2.1")],
        [("X-Real-IP", "192.0.2.1")],
    ] {
        assert_eq!(shown(&office, &headers), "127.0.0.1");
    }
    let elsewhere =
        Office::start_with(Engine::Sqlite, &[("GROMA_SERVER__TRUSTED_PROXIES", "10.0.0.0/8,::1")]);
    assert_eq!(shown(&elsewhere, &[("X-Forwarded-For", "192.0.2.1")]), "127.0.0.1");
}

#[test]
fn a_trusted_proxy_tells_who_asks_and_a_client_cannot_write_itself_in() {
    let office = office("127.0.0.1,10.0.0.0/8");
    for (headers, address) in [
        (&[][..], "127.0.0.1"),
        (&[("X-Forwarded-For", "192.0.2.1")], "192.0.2.1"),
        (&[("X-Forwarded-For", "203.0.113.66, 192.0.2.1")], "192.0.2.1"),
        (&[("X-Forwarded-For", "203.0.113.66, 192.0.2.1, 10.1.2.3")], "192.0.2.1"),
        (&[("Forwarded", "for=203.0.113.66, for=192.0.2.1;proto=http")], "192.0.2.1"),
        (&[("Forwarded", "for=\"[2001:db8::7]:5\"")], "2001:db8::7"),
        // What a proxy passes on unread.
        (&[("X-Forwarded-For", "192.0.2.1"), ("Forwarded", "for=203.0.113.66")], "127.0.0.1"),
        (&[("X-Forwarded-For", "192.0.2.1, nonsense")], "127.0.0.1"),
    ] {
        assert_eq!(shown(&office, headers), address, "{headers:?}");
    }
}

#[test]
fn a_stranger_does_not_escape_the_throttle_by_claiming_other_addresses() {
    let office = office("10.0.0.0/8");
    let stranger = Browser::new(office.main());
    let guess = |n: u32| {
        let claimed = format!("198.51.100.{n}");
        log_in(
            &office,
            &stranger,
            "guess",
            &[("X-Forwarded-For", &claimed), ("Forwarded", &format!("for={claimed}"))],
        )
    };
    for n in 0..10 {
        assert_eq!(guess(n), 400);
    }
    assert_eq!(guess(10), 429);
    let refused = wait_until(Duration::from_secs(10), || {
        let log = office.program().log();
        let mut entries = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let is_refusal = |entry: &Value| {
            entry["message"].as_str().is_some_and(|text| text.starts_with("a login was refused"))
        };
        entries.find(is_refusal).ok_or(log)
    });
    assert_eq!(refused["client"], "127.0.0.1", "the log names who it really was");
}

#[test]
fn forms_come_from_the_host_that_a_trusted_proxy_was_asked_for() {
    let send = |office: &Office, origin: &str, headers: &[(&str, &str)]| {
        let browser = Browser::new(office.main());
        let token = browser.get("/login").token();
        let body = format!("_csrf={token}&email={}&password={}", encode(OWNER), encode(password()));
        let mut all = vec![
            ("Origin", origin.to_owned()),
            ("Content-Type", "application/x-www-form-urlencoded".to_owned()),
        ];
        all.extend(headers.iter().map(|(name, value)| (*name, (*value).to_owned())));
        browser.ask("POST", "/login", &all, Some(body.into_bytes())).answer.status
    };
    let forwarded = [
        ("X-Forwarded-For", "192.0.2.1"),
        ("X-Forwarded-Host", "api.example.org"),
        ("X-Forwarded-Proto", "https"),
    ];
    let behind = office("127.0.0.1");
    assert_eq!(send(&behind, "https://api.example.org", &forwarded), 303);
    assert_eq!(send(&behind, "http://api.example.org", &forwarded), 403, "another scheme");
    assert_eq!(send(&behind, "https://evil.example.org", &forwarded), 403);
    assert_eq!(send(&behind, "https://api.example.org", &[]), 403);
    assert_eq!(send(&office(""), "https://api.example.org", &forwarded), 403, "nobody said so");
}
