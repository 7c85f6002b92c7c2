//! Filtered, sorted lists of a large workspace of which few records match.

use super::Engine;
use crate::{
    Result,
    load::JOB_TYPES,
    report::{Goal, Part, Row, Unit, quantile},
    server::{Server, send},
};
use groma_testkit::{Client, http::Request};
use serde_json::Value;
use std::time::Instant;

/// The requests of a row. The first of each query are a warm-up.
const REQUESTS: usize = 200;
/// Lists with more matches are not part of the goal.
const MOST_MATCHES: u64 = 10_000;

pub(super) fn measure(part: &mut Part, engine: &Engine, server: &Server, token: &str) -> Result {
    let tag = |n: usize| JOB_TYPES[n % JOB_TYPES.len()].replace(' ', "%20");
    let owner_and_tag = |n: usize| {
        format!("owner=field.crew.{}@example.test&tag={}&sort=name", n % 40, tag(n / 40))
    };
    let term_and_client =
        |n: usize| format!("term={}&clientName=Town%20council&sort=-updatedAt", 100 + n * 37 % 900);
    for (name, query) in [
        ("owner and tag, by name", &owner_and_tag as &dyn Fn(usize) -> String),
        ("term and client, last changed first", &term_and_client),
    ] {
        let p99 = slowest(server, token, query)?;
        let work = format!("folders filtered by {name}, p99, {}", engine.name);
        part.row(Row::new(work, Unit::Millis, &[p99]).goal(Goal::AtMost(50.0)));
    }
    Ok(())
}

/// The time that 99 of 100 requests take at most, in milliseconds.
fn slowest(server: &Server, token: &str, query: &dyn Fn(usize) -> String) -> Result<f64> {
    let client = Client::new(server.main);
    let mut times = Vec::new();
    for n in 0..REQUESTS + REQUESTS / 10 {
        let request = Request::get(&format!("/folders?limit=50&{}", query(n)), token);
        let start = Instant::now();
        let page: Value = serde_json::from_slice(&send(&client, &request)?)?;
        times.push(start.elapsed().as_secs_f64() * 1_000.0);
        match page["total"].as_u64() {
            Some(1..=MOST_MATCHES) => {}
            total => return Err(format!("{}: {total:?} matches", query(n)).into()),
        }
    }
    Ok(quantile(&times[REQUESTS / 10..], 0.99))
}
