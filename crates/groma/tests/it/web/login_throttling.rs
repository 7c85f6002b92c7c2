//! Failed logins are limited, without locking out the owner of the account.

use super::{Browser, password};
use crate::on_both_engines;
use groma_testkit::{TestServer, http::percent_encode, server::OWNER};

on_both_engines! {
    fn guessing_is_throttled_and_a_known_device_can_still_log_in(engine: Engine) {
        let server = TestServer::start_with(engine, &[("GROMA_SERVER__TRUSTED_PROXIES", "127.0.0.1")]);
        let owner = Browser::of_owner(&server);
        owner.submit("/", "/logout", &[]);
        let stranger = Browser::new(server.main());
        let from = |page: &Browser, address: &str, password: &str| {
            let token = page.get("/login").token();
            let origin = format!("http://{}", server.main().authority());
            let body = format!("_csrf={token}&email={}&password={}", percent_encode(OWNER), percent_encode(password));
            let headers = [
                ("Origin", origin),
                ("Content-Type", "application/x-www-form-urlencoded".to_owned()),
                ("X-Forwarded-For", format!("192.0.2.1, {address}")),
            ];
            page.request("POST", "/login", &headers, Some(body.into_bytes())).response.status
        };
        for _ in 0..10 {
            assert_eq!(from(&stranger, "198.51.100.7", "guess"), 400);
        }
        assert_eq!(from(&stranger, "198.51.100.7", "guess"), 429);
        assert_eq!(from(&stranger, "198.51.100.7", password()), 429, "the right password is rejected too");
        // Other addresses and the owner's known device are counted separately.
        assert_eq!(from(&stranger, "198.51.100.8", "guess"), 400);
        assert_eq!(from(&owner, "198.51.100.7", password()), 303);
        // Guessing from many addresses locks the account, but not for the known device.
        for n in 0..100 {
            let _ = from(&stranger, &format!("203.0.113.{n}"), "guess");
        }
        assert_eq!(from(&stranger, "198.51.100.99", password()), 429);
        owner.submit("/", "/logout", &[]);
        assert_eq!(from(&owner, "198.51.100.7", password()), 303, "the known device can log in");
    }
}
