//! How long the program takes from its start to its first answer with all the records there, and what it
//! takes while nobody asks.

use crate::{
    Outcome,
    effort::Effort,
    office::{self, Office},
    records,
    report::{Goal, Part, Row, Unit},
    table::number,
};
use std::{process::Command, time::Instant};

const PATH: &str = "/api/public/v1/folders/F-000001";

pub(crate) async fn run(effort: &Effort) -> Outcome<Part> {
    let mut part = Part::new("start", "Start and rest");
    let database = records::load(effort).await?;
    part.note(format!("{} records on SQLite.", number(effort.sizes.all() as f64)));
    let token = office::token(&database)?;
    // Builds it, so that no build is in the figures.
    drop(Office::start(&database)?);

    let (mut warm, mut own, mut resident) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..effort.rounds {
        let (office, millis) = first_answer(&database, &token)?;
        warm.push(millis);
        let (all, its_own) = office.memory()?;
        own.push(its_own as f64);
        resident.push(all as f64);
    }
    let first = "start to first answer";
    part.row(Row::new(first, Unit::Millis, &warm).goal(Goal::AtMost(300.0)));
    let mut cold = Vec::new();
    for _ in 0..effort.rounds {
        if forget_files() {
            cold.push(first_answer(&database, &token)?.1);
        }
    }
    if cold.is_empty() {
        part.note("The system's cache of files can be emptied by root alone, so it was not.");
    } else {
        let work = format!("{first}, no file in the system's cache");
        part.row(Row::new(work, Unit::Millis, &cold).goal(Goal::AtMost(300.0)));
    }
    part.row(Row::new("memory idle, its own", Unit::Megabytes, &own).goal(Goal::AtMost(60.0)));
    part.row(Row::new("memory idle, with the mapped file", Unit::Megabytes, &resident));
    Ok(part)
}

fn first_answer(database: &str, token: &str) -> Outcome<(Office, f64)> {
    let begun = Instant::now();
    let office = Office::launch(database, &[])?;
    office.get(PATH, token)?;
    Ok((office, begun.elapsed().as_secs_f64() * 1_000.0))
}

/// Empties the system's cache of files, where that is allowed.
fn forget_files() -> bool {
    let _ = Command::new("sync").status();
    std::fs::write("/proc/sys/vm/drop_caches", "3").is_ok()
}
