//! Where a delivery never goes.

use super::{LOCAL, Receiver, change, create, id, receiver::PATIENCE, webhook_json};
use crate::{database::Engine, office::Office, on_both_engines};
use serde_json::Value;

/// Waits until every endpoint was tried once; gives what was told of each.
#[track_caller]
fn told(office: &Office, endpoints: &[Value]) -> Vec<String> {
    let tried = |endpoint: &Value| {
        crate::office::wait_until(PATIENCE, || {
            let shown = webhook_json(office, &["deliveries", id(endpoint)]);
            if shown[0]["attempts"] == 1 {
                Ok(shown[0]["lastError"].as_str().unwrap_or("none").to_owned())
            } else {
                Err(shown.to_string())
            }
        })
    };
    endpoints.iter().map(tried).collect()
}

on_both_engines! {
    fn no_disguise_of_an_address_of_this_machine_is_reached(engine: Engine) {
        // http is allowed, so that nothing but the address stands in the way.
        let office = Office::start_with(engine, &[LOCAL[0], LOCAL[2]]);
        let receiver = Receiver::start();
        let port = receiver.port();
        let hosts = [
            "127.0.0.1", "0.0.0.0", "[::]", "[::1]", "[::ffff:127.0.0.1]", "[::127.0.0.1]", "0x7f.1",
            "2130706433", "0177.0.0.1", "127.1", "①②⑦.0.0.1", "localhost", "localhost.", "LOCALHOST",
            "127.0.0.1.", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "169.254.169.254", "10.0.0.1", "192.168.1.1",
        ];
        let endpoints: Vec<_> =
            hosts.iter().map(|host| create(&office, &format!("http://{host}:{port}/"), &[])).collect();
        change(&office, "F", "x");
        for (host, told) in hosts.iter().zip(told(&office, &endpoints)) {
            let is_refused = told.ends_with("is not an address that webhooks may reach");
            // A system without IPv6 may not know a name for the address either.
            assert!(is_refused || told.contains("cannot be resolved"), "{host}: {told}");
        }
        assert_eq!(receiver.connections(), 0);
    }

    fn a_network_that_is_named_is_reached_and_no_other(engine: Engine) {
        let networks = ("GROMA_WEBHOOKS__ALLOW_NETWORKS", "127.0.0.0/30, 10.9.0.0/16");
        let office = Office::start_with(engine, &[LOCAL[0], networks]);
        let receiver = Receiver::start();
        let port = receiver.port();
        let other = create(&office, &format!("http://127.0.0.9:{port}/"), &[]);
        create(&office, &format!("http://127.0.0.1:{port}/"), &[]);
        change(&office, "F", "x");
        receiver.wait_for(1);
        assert_eq!(told(&office, &[other]), ["127.0.0.9 is not an address that webhooks may reach"]);
        assert_eq!(receiver.connections(), 1);
    }
}

#[test]
fn no_proxy_of_the_environment_is_asked() {
    let proxy = Receiver::start();
    let address = proxy.url("");
    let names =
        ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];
    let environment: Vec<_> = names.iter().map(|name| (*name, address.as_str())).collect();
    let office = Office::start_with(Engine::Sqlite, &[&LOCAL[..], &environment].concat());
    let receiver = Receiver::start();
    create(&office, &receiver.url("/"), &[]);
    create(&office, "http://hooks.invalid/", &[]);
    change(&office, "F", "x");
    receiver.wait_for(1);
    let endpoints = webhook_json(&office, &["list"]);
    assert_eq!(
        told(&office, &[endpoints[1].clone()]),
        ["the name hooks.invalid cannot be resolved"]
    );
    assert_eq!(proxy.connections(), 0);
}
