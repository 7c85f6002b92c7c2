//! Protection against SSRF: addresses that a delivery never reaches.

use super::{LOCAL_RECEIVERS, create_endpoint, id, save_folder, webhook_json};
use crate::on_both_engines;
use groma_testkit::{Engine, Receiver, TestServer, wait::PATIENCE, wait_until};
use serde_json::Value;

/// Waits until every endpoint had one attempt, and returns the last error of each.
#[track_caller]
fn last_errors(server: &TestServer, endpoints: &[Value]) -> Vec<String> {
    let tried = |endpoint: &Value| {
        wait_until(PATIENCE, || {
            let deliveries = webhook_json(server, &["deliveries", id(endpoint)]);
            if deliveries[0]["attempts"] == 1 {
                Ok(deliveries[0]["lastError"].as_str().unwrap_or("none").to_owned())
            } else {
                Err(deliveries.to_string())
            }
        })
    };
    endpoints.iter().map(tried).collect()
}

on_both_engines! {
    disguised_local_addresses_are_not_reached
    only_allowed_networks_are_reached
}

fn disguised_local_addresses_are_not_reached(engine: Engine) {
    // HTTP is allowed, so only the address can be the reason.
    let server = TestServer::start_with(engine, &[LOCAL_RECEIVERS[0], LOCAL_RECEIVERS[2]]);
    let receiver = Receiver::start();
    let port = receiver.port();
    let hosts = [
        "127.0.0.1",
        "0.0.0.0",
        "[::]",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::127.0.0.1]",
        "0x7f.1",
        "2130706433",
        "0177.0.0.1",
        "127.1",
        "①②⑦.0.0.1",
        "localhost",
        "localhost.",
        "LOCALHOST",
        "127.0.0.1.",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
        "169.254.169.254",
        "10.0.0.1",
        "192.168.1.1",
    ];
    let endpoints: Vec<_> = hosts
        .iter()
        .map(|host| create_endpoint(&server, &format!("http://{host}:{port}/"), &[]))
        .collect();
    save_folder(&server, "F", "x");
    for (host, error) in hosts.iter().zip(last_errors(&server, &endpoints)) {
        let is_rejected = error == "webhooks may not reach the address of this host";
        // A system without IPv6 may fail to resolve the name instead.
        assert!(is_rejected || error.contains("cannot resolve"), "{host}: {error}");
    }
    assert_eq!(receiver.connections(), 0);
}

fn only_allowed_networks_are_reached(engine: Engine) {
    let networks = ("GROMA_WEBHOOKS__ALLOW_NETWORKS", "127.0.0.0/30, 10.9.0.0/16");
    let server = TestServer::start_with(engine, &[LOCAL_RECEIVERS[0], networks]);
    let receiver = Receiver::start();
    let port = receiver.port();
    let other = create_endpoint(&server, &format!("http://127.0.0.9:{port}/"), &[]);
    create_endpoint(&server, &format!("http://127.0.0.1:{port}/"), &[]);
    save_folder(&server, "F", "x");
    receiver.wait_for(1);
    assert_eq!(last_errors(&server, &[other]), ["webhooks may not reach the address of this host"]);
    assert_eq!(receiver.connections(), 1);
}

#[test]
fn proxies_of_the_environment_are_ignored() {
    let proxy = Receiver::start();
    let address = proxy.url("");
    let names =
        ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];
    let environment: Vec<_> = names.iter().map(|name| (*name, address.as_str())).collect();
    let server =
        TestServer::start_with(Engine::Sqlite, &[&LOCAL_RECEIVERS[..], &environment].concat());
    let receiver = Receiver::start();
    create_endpoint(&server, &receiver.url("/"), &[]);
    create_endpoint(&server, "http://hooks.invalid/", &[]);
    save_folder(&server, "F", "x");
    receiver.wait_for(1);
    let endpoints = webhook_json(&server, &["list"]);
    assert_eq!(
        last_errors(&server, &[endpoints[1].clone()]),
        ["cannot resolve the host name hooks.invalid"]
    );
    assert_eq!(proxy.connections(), 0);
}
