//! From nothing to the first answer.

use super::client::{Client, median};
use crate::{
    Outcome,
    office::{free_port, program},
};
use std::{
    net::SocketAddr,
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

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
pub(crate) async fn median_of(file: &Path, token: &str, state: File) -> Outcome<f64> {
    let mut times = Vec::new();
    for _ in 0..STARTS {
        if state == File::OnDisk {
            forget(file)?;
        }
        times.push(one(file, token).await?);
    }
    Ok(median(times))
}

async fn one(file: &Path, token: &str) -> Outcome<f64> {
    let address = SocketAddr::from(([127, 0, 0, 1], free_port()?));
    let begun = Instant::now();
    let mut running = Running(
        Command::new(program())
            .args(["--database", &super::url(file), "serve"])
            .env("GROMA_SERVER__LISTEN", address.to_string())
            .env("GROMA_SERVER__GEO_LISTEN", "127.0.0.1:0")
            .stderr(Stdio::null())
            .spawn()?,
    );
    loop {
        let client = Client::new(address, token);
        if let Ok(mut client) = client {
            client.get("/api/public/v1/folders?limit=50")?;
            return Ok(begun.elapsed().as_secs_f64() * 1_000.0);
        }
        if let Some(status) = running.0.try_wait()? {
            return Err(format!("the program ended with {status}").into());
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// Ended when dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Asks the system to drop what it holds of the file.
fn forget(file: &Path) -> Outcome {
    let from = format!("if={}", file.display());
    let done =
        Command::new("dd").args([&from, "iflag=nocache", "count=0", "status=none"]).status()?;
    if done.success() { Ok(()) } else { Err("dd could not drop the file from memory".into()) }
}
