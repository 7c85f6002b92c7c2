//! Protection against SSRF: addresses that a delivery never reaches.

use super::{LOCAL_RECEIVERS, create_endpoint, id, post, save_folder, webhook, webhook_json};
use crate::{on_both_engines, web::Browser};
use groma_testkit::{
    CommandOutput, Engine, Receiver, TestServer, server::WORKSPACE, wait::PATIENCE, wait_until,
};
use serde_json::{Value, json};

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

#[track_caller]
fn assert_usage_error(output: &CommandOutput, message: &str) {
    output.expect_usage_error();
    assert!(output.stderr.contains(message), "{output:?}");
}

/// Creates an endpoint as if the operator allowed every network.
#[track_caller]
fn create_unchecked(server: &TestServer, url: &str) -> Value {
    let program = server.program().clone();
    let program = program.env("GROMA_WEBHOOKS__ALLOW_NETWORKS", "0.0.0.0/0, ::/0");
    program.run(&["webhook", "create", url, "--workspace", WORKSPACE, "--json"]).json()
}

on_both_engines! {
    local_address_in_a_url_is_rejected_at_once
    disguised_local_addresses_are_not_reached
    only_allowed_networks_are_reached
}

fn local_address_in_a_url_is_rejected_at_once(engine: Engine) {
    let server = TestServer::start_with(engine, &[LOCAL_RECEIVERS[0], LOCAL_RECEIVERS[2]]);
    let token = server.create_token(&["MANAGE_WEBHOOK"]);
    let browser = Browser::of_owner(&server);
    let message = "must not contain a private or local address";
    for host in ["127.0.0.1", "0x7f.1", "[::1]", "10.0.0.1", "169.254.169.254", "[fd12::1]"] {
        let url = format!("http://{host}:8080/hook");
        let response = post(&server, &token, &json!({ "url": url }));
        assert_eq!(response.status, 400, "{host}");
        assert!(response.text().contains(message), "{host}: {}", response.text());
        assert_usage_error(&webhook(&server, &["create", &url]), message);
        let new = "/settings/webhooks/new";
        let page = browser.send_form(new, new, &[("url", &url), ("event", "*")]);
        assert_eq!(page.response.status, 400, "{host}");
        assert_eq!(page.error_of("url"), Some("Must not contain a private or local address"));
    }
    let endpoint = create_endpoint(&server, "https://hooks.example.test/", &[]);
    let update = ["update", id(&endpoint), "--url", "http://127.0.0.1/"];
    assert_usage_error(&webhook(&server, &update), message);
    assert_eq!(webhook_json(&server, &["list"]).as_array().unwrap().len(), 1);
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
        .map(|host| create_unchecked(&server, &format!("http://{host}:{port}/")))
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
    let other = create_unchecked(&server, &format!("http://127.0.0.9:{port}/"));
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
