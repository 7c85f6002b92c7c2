//! A consumer of the change feed that catches up from the first change.

use super::Engine;
use crate::{
    Result,
    report::{Goal, Part, Row, Unit},
    row::number,
    server::{Server, send},
};
use groma_testkit::{Client, http::Request};
use serde::{Deserialize, de::IgnoredAny};
use std::time::Instant;

/// A page of changes.
#[derive(Deserialize)]
struct Changes {
    content: Vec<IgnoredAny>,
    next: String,
    more: bool,
}

/// Reads at least this number of changes.
pub(super) fn measure(
    part: &mut Part,
    engine: &Engine,
    server: &Server,
    token: &str,
    changes: u64,
) -> Result {
    let client = Client::new(server.main);
    let memory = || -> Result<f64> { Ok(server.memory()?.1 as f64) };
    let (before, mut first_tenth) = (memory()?, None);
    let (mut read, mut after) = (0, String::new());
    let start = Instant::now();
    loop {
        let path = format!("/changes?limit=1000&after={after}");
        let page: Changes = serde_json::from_slice(&send(&client, &Request::get(&path, token))?)?;
        read += page.content.len() as u64;
        if first_tenth.is_none() && read >= changes / 10 {
            first_tenth = Some(memory()?);
        }
        if !page.more {
            break;
        }
        after = page.next;
    }
    let rate = read as f64 / start.elapsed().as_secs_f64();
    if read < changes {
        return Err(format!("the feed has {read} of {changes} changes").into());
    }
    let work = format!("backlog of {} changes read, {}", number(read as f64), engine.name);
    part.row(Row::new(work, Unit::PerSecond, &[rate]).goal(Goal::AtLeast(50_000.0)));
    let work = format!("memory after the last tenth, {}", engine.name);
    let row = Row::new(work, Unit::Megabytes, &[memory()?]);
    let first_tenth = first_tenth.unwrap_or(before);
    part.row(row.clone().compared_with("before", &[before]));
    part.row(row.compared_with("after the first", &[first_tenth]).goal(Goal::RatioAtMost(1.2)));
    Ok(())
}
