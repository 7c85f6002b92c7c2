//! Writes of single records by many connections, and of many records in one request.

use super::{Engine, FOLDERS};
use crate::{
    Result, machine,
    profile::Profile,
    report::{Goal, Part, Row, Unit},
    server::{Server, send},
    wrk,
};
use groma_testkit::{API, Client, http::Request};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const CONNECTIONS: u32 = 64;
/// The operations of a bulk request.
pub(super) const OPERATIONS: u64 = 1_000;
/// Each round writes values of its own, so that every change is one.
const ROUND: u64 = 10_000_000;

pub(super) fn measure(
    profile: &Profile,
    part: &mut Part,
    engine: &Engine,
    server: &Server,
    tokens: &[&str],
) -> Result {
    let (mut single, mut bulk, mut syncs) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..profile.rounds as u64 {
        let first = round * ROUND;
        syncs.push(machine::sync_rate(profile)?);
        let script = script(tokens, first);
        single
            .push(wrk::run_script(server.main, &script, CONNECTIONS, profile.seconds)?.per_second);
        bulk.push(bulk_rate(profile, server, tokens[0], first + ROUND / 2)?);
    }
    let row = |work: &str, figures: &[f64]| {
        let work = format!("{work}, {}", engine.name);
        Row::new(work, Unit::PerSecond, figures).compared_with("fdatasync", &syncs)
    };
    part.row(row("writes, 64 connections", &single).goal(Goal::AtLeast(engine.writes)));
    part.row(row("records written in bulk", &bulk).goal(engine.bulk.map(Goal::AtLeast)));
    Ok(())
}

/// A script for wrk whose requests create and change folders in turn.
fn script(tokens: &[&str], first: u64) -> String {
    let tokens: String = tokens.iter().map(|token| format!("'Bearer {token}',\n")).collect();
    format!(
        r#"local tokens = {{
{tokens}}}
local headers = {{ ['Content-Type'] = 'application/json' }}
local create = '{{"name":"Survey %d","externalId":"erp-%d","clientName":"Town council",' ..
  '"startDate":"2026-05-04","tags":["survey"]}}'
local n = {first}
request = function()
  n = n + 1
  headers['Authorization'] = tokens[n % #tokens + 1]
  if n % 2 == 0 then
    return wrk.format('POST', '{API}/folders', headers, string.format(create, n, n))
  end
  local path = string.format('{API}/folders/F-%06d', n % {FOLDERS} + 1)
  return wrk.format('PATCH', path, headers, string.format('{{"clientName":"Client %d"}}', n))
end
"#
    )
}

/// The rate of records written by bulk requests, one at a time.
fn bulk_rate(profile: &Profile, server: &Server, token: &str, first: u64) -> Result<f64> {
    let client = Client::new(server.main);
    let (mut written, mut time) = (0, Duration::ZERO);
    while time < Duration::from_secs(profile.seconds.into()) {
        let numbers = first + written..first + written + OPERATIONS;
        let operations: Vec<Value> = numbers.map(operation).collect();
        let request = Request::post("/bulk", token, &Value::from(operations));
        let start = Instant::now();
        send(&client, &request)?;
        time += start.elapsed();
        written += OPERATIONS;
    }
    Ok(written as f64 / time.as_secs_f64())
}

/// Creates a folder or changes one, in turn.
fn operation(n: u64) -> Value {
    if n.is_multiple_of(2) {
        return json!({ "op": "create", "kind": "folder", "data": {
            "name": format!("Survey {n}"), "externalId": format!("erp-{n}"), "clientName": "Town council",
            "startDate": "2026-05-04", "tags": ["survey"],
        } });
    }
    json!({ "op": "update", "kind": "folder", "key": format!("F-{:06}", n % FOLDERS + 1),
        "data": { "clientName": format!("Client {n}") } })
}
