//! Webhooks: endpoints over the API, deliveries to a receiver with real sockets, and what an operator
//! sees and mends.

mod addresses;
mod deliveries;
mod endpoints;
mod events;
mod holes;
mod operating;
pub(crate) mod receiver;
mod secrets;

use crate::{
    client::{API, Answer},
    database::Engine,
    office::{NO_LIMIT, Office, WORKSPACE},
};
use receiver::{Hit, Receiver, Reply};
use serde_json::{Value, json};

/// Lets deliveries go to the test's own receivers.
pub(crate) const LOCAL: [(&str, &str); 3] = [
    ("GROMA_WEBHOOKS__ALLOW_HTTP", "true"),
    ("GROMA_WEBHOOKS__ALLOW_NETWORKS", "127.0.0.1/32"),
    NO_LIMIT,
];

const ENDPOINTS: &str = "/webhooks/endpoints";

/// An office that may deliver to receivers of the test.
fn open(engine: Engine) -> Office {
    Office::start_with(engine, &LOCAL)
}

fn post(office: &Office, token: &str, body: &Value) -> Answer {
    let path = format!("{API}{ENDPOINTS}");
    let ask = office.main().ask("POST", &path).token(token);
    ask.header("Content-Type", "application/json").body(body.to_string()).send()
}

fn delete(office: &Office, token: &str, id: &str) -> Answer {
    office.main().ask("DELETE", &format!("{API}{ENDPOINTS}/{id}")).token(token).send()
}

/// Makes an endpoint by command; gives it with its secret.
#[track_caller]
pub(crate) fn create(office: &Office, url: &str, more: &[&str]) -> Value {
    let create = ["webhook", "create", url, "--workspace", WORKSPACE, "--json"];
    office.groma(&[&create[..], more].concat()).json()
}

pub(crate) fn id(endpoint: &Value) -> &str {
    endpoint["id"].as_str().unwrap()
}

/// Runs `groma webhook …` in the office's workspace.
fn webhook(office: &Office, arguments: &[&str]) -> crate::office::Done {
    office.groma(&[&["webhook"], arguments, &["--workspace", WORKSPACE]].concat())
}

#[track_caller]
pub(crate) fn webhook_json(office: &Office, arguments: &[&str]) -> Value {
    webhook(office, &[arguments, &["--json"]].concat()).json()
}

/// One delivery with its attempts.
#[track_caller]
fn detail(office: &Office, delivery: &str) -> Value {
    webhook_json(office, &["deliveries", "--delivery", delivery])
}

/// Waits until a delivery is as wanted.
#[track_caller]
fn wait_for(office: &Office, delivery: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    crate::office::wait_until(receiver::PATIENCE, || {
        let shown = detail(office, delivery);
        if wanted(&shown) { Ok(shown) } else { Err(shown.to_string()) }
    })
}

/// Makes a change, which is one event.
pub(crate) fn change(office: &Office, reference: &str, name: &str) {
    office.import("folders", &[json!({ "reference": reference, "name": name })]);
}

/// The names of the events that came, sorted.
fn names(hits: &[Hit]) -> Vec<String> {
    let mut names: Vec<_> =
        hits.iter().map(|hit| hit.json()["event"].as_str().unwrap().to_owned()).collect();
    names.sort();
    names
}
