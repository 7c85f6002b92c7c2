//! The time from the start to the first response.

use super::client::Client;
use crate::{Result, report::median, server::Server};
use std::{path::Path, process::Command, time::Instant};

/// The location of the database file at the start.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum File {
    /// In the page cache, as after a restart of the program.
    InMemory,
    /// Only on disk, as after a restart of the machine.
    OnDisk,
}

const STARTS: usize = 7;

/// The median of some starts, in milliseconds.
pub(crate) fn median_of(file: &Path, token: &str, state: File) -> Result<f64> {
    let mut times = Vec::new();
    for _ in 0..STARTS {
        if state == File::OnDisk {
            drop_from_cache(file)?;
        }
        times.push(one(file, token)?);
    }
    Ok(median(&times))
}

fn one(file: &Path, token: &str) -> Result<f64> {
    let start = Instant::now();
    let server = Server::launch(&super::url(file), &[])?;
    Client::new(server.main, token).get("/api/public/v1/folders?limit=50")?;
    Ok(start.elapsed().as_secs_f64() * 1_000.0)
}

/// Drops a file from the page cache.
fn drop_from_cache(file: &Path) -> Result {
    let from = format!("if={}", file.display());
    let done =
        Command::new("dd").args([&from, "iflag=nocache", "count=0", "status=none"]).status()?;
    if done.success() { Ok(()) } else { Err("dd could not drop the file from memory".into()) }
}
