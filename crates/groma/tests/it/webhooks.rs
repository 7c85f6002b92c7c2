//! Webhooks: the API for endpoints, deliveries to a real receiver, and the operator's commands.

mod endpoints;
mod events;
mod management;
mod operations;
mod receiver_failures;
mod retries;
mod secrets;
mod ssrf;

use groma_testkit::{
    API, CommandOutput, Engine, Response, TestServer, receiver::ReceivedRequest,
    server::NO_RATE_LIMIT, server::WORKSPACE, wait::PATIENCE, wait_until,
};
use serde_json::{Value, json};

/// Allows deliveries to receivers on this machine, and turns the rate limit off.
pub(crate) const LOCAL_RECEIVERS: [(&str, &str); 3] = [
    ("GROMA_WEBHOOKS__ALLOW_HTTP", "true"),
    ("GROMA_WEBHOOKS__ALLOW_NETWORKS", "127.0.0.1/32"),
    NO_RATE_LIMIT,
];

const ENDPOINTS: &str = "/webhooks/endpoints";

/// A server that can deliver to receivers on this machine.
fn start(engine: Engine) -> TestServer {
    TestServer::start_with(engine, &LOCAL_RECEIVERS)
}

fn post(server: &TestServer, token: &str, body: &Value) -> Response {
    let path = format!("{API}{ENDPOINTS}");
    let request = server.main().request("POST", &path).token(token);
    request.header("Content-Type", "application/json").body(body.to_string()).send()
}

fn delete(server: &TestServer, token: &str, id: &str) -> Response {
    server.main().request("DELETE", &format!("{API}{ENDPOINTS}/{id}")).token(token).send()
}

/// Creates an endpoint by command and returns it with its secret.
#[track_caller]
pub(crate) fn create_endpoint(server: &TestServer, url: &str, more: &[&str]) -> Value {
    let create = ["webhook", "create", url, "--workspace", WORKSPACE, "--json"];
    server.run(&[&create[..], more].concat()).json()
}

pub(crate) fn id(endpoint: &Value) -> &str {
    endpoint["id"].as_str().unwrap()
}

/// Runs `groma webhook …` in the server's workspace.
fn webhook(server: &TestServer, arguments: &[&str]) -> CommandOutput {
    server.run(&[&["webhook"], arguments, &["--workspace", WORKSPACE]].concat())
}

#[track_caller]
pub(crate) fn webhook_json(server: &TestServer, arguments: &[&str]) -> Value {
    webhook(server, &[arguments, &["--json"]].concat()).json()
}

/// One delivery with its attempts.
#[track_caller]
fn detail(server: &TestServer, delivery: &str) -> Value {
    webhook_json(server, &["deliveries", "--delivery", delivery])
}

/// Waits until a delivery meets a condition.
#[track_caller]
fn wait_for_delivery(
    server: &TestServer,
    delivery: &str,
    condition: impl Fn(&Value) -> bool,
) -> Value {
    wait_until(PATIENCE, || {
        let found = detail(server, delivery);
        if condition(&found) { Ok(found) } else { Err(found.to_string()) }
    })
}

/// Creates or updates a folder, which is one event.
pub(crate) fn save_folder(server: &TestServer, reference: &str, name: &str) {
    server.import("folders", &[json!({ "reference": reference, "name": name })]);
}

/// The sorted names of the received events.
fn event_names(requests: &[ReceivedRequest]) -> Vec<String> {
    let mut names: Vec<_> = requests
        .iter()
        .map(|request| request.json()["event"].as_str().unwrap().to_owned())
        .collect();
    names.sort();
    names
}
