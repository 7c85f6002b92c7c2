//! From nothing to the first answer.

use super::client::Client;
use crate::{Outcome, office::Office, report::median};
use std::{path::Path, process::Command, time::Instant};

/// Where the database is when the program starts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum File {
    /// In the system's memory, as after a restart of the program.
    InMemory,
    /// Not there, as after a restart of the machine.
    OnDisk,
}

const STARTS: usize = 7;

/// The median of some starts, in milliseconds.
pub(crate) fn median_of(file: &Path, token: &str, state: File) -> Outcome<f64> {
    let mut times = Vec::new();
    for _ in 0..STARTS {
        if state == File::OnDisk {
            forget(file)?;
        }
        times.push(one(file, token)?);
    }
    Ok(median(&times))
}

fn one(file: &Path, token: &str) -> Outcome<f64> {
    let begun = Instant::now();
    let office = Office::launch(&super::url(file), &[])?;
    Client::new(office.main, token)?.get("/api/public/v1/folders?limit=50")?;
    Ok(begun.elapsed().as_secs_f64() * 1_000.0)
}

/// Asks the system to drop what it holds of the file.
fn forget(file: &Path) -> Outcome {
    let from = format!("if={}", file.display());
    let done =
        Command::new("dd").args([&from, "iflag=nocache", "count=0", "status=none"]).status()?;
    if done.success() { Ok(()) } else { Err("dd could not drop the file from memory".into()) }
}
