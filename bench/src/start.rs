//! The time from the start of the program to its first response with all records, and its idle memory.

use crate::{
    Result,
    profile::Profile,
    records,
    report::{Goal, Part, Row, Unit},
    row::number,
    server::{self, Server},
};
use std::{process::Command, time::Instant};

const PATH: &str = "/api/public/v1/folders/F-000001";

pub(crate) async fn run(profile: &Profile) -> Result<Part> {
    let mut part = Part::new("start", "Start and rest");
    let database = records::load(profile).await?;
    part.note(format!("{} records on SQLite.", number(profile.sizes.all() as f64)));
    let token = server::create_token(&database)?;
    // Builds the program before the measurement.
    drop(Server::start(&database)?);

    let (mut warm, mut own, mut resident) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..profile.rounds {
        let (server, millis) = first_response(&database, &token)?;
        warm.push(millis);
        let (all, its_own) = server.memory()?;
        own.push(its_own as f64);
        resident.push(all as f64);
    }
    let first = "start to first response";
    part.row(Row::new(first, Unit::Millis, &warm).goal(Goal::AtMost(300.0)));
    let mut cold = Vec::new();
    for _ in 0..profile.rounds {
        if drop_page_cache() {
            cold.push(first_response(&database, &token)?.1);
        }
    }
    if cold.is_empty() {
        part.note("Only root can empty the page cache, so the cold start was not measured.");
    } else {
        let work = format!("{first}, empty page cache");
        part.row(Row::new(work, Unit::Millis, &cold).goal(Goal::AtMost(300.0)));
    }
    part.row(Row::new("idle memory, private", Unit::Megabytes, &own).goal(Goal::AtMost(60.0)));
    part.row(Row::new("idle memory, with mapped files", Unit::Megabytes, &resident));
    Ok(part)
}

fn first_response(database: &str, token: &str) -> Result<(Server, f64)> {
    let start = Instant::now();
    let server = Server::launch(database, &[])?;
    server.get(PATH, token)?;
    Ok((server, start.elapsed().as_secs_f64() * 1_000.0))
}

/// Empties the page cache, if allowed.
fn drop_page_cache() -> bool {
    let _ = Command::new("sync").status();
    std::fs::write("/proc/sys/vm/drop_caches", "3").is_ok()
}
