//! The amount of data and rounds: a full run of about twenty minutes, or a quick one of two minutes that
//! checks that everything runs.

use crate::{Result, load::Sizes};
use std::{process::Command, time::Duration};

/// The directory for data, logs, peers and results.
pub(crate) const DIRECTORY: &str = "target/bench";

/// The number of concurrent connections.
pub(crate) const CONNECTIONS: u32 = 16;

#[derive(Clone, Debug)]
pub(crate) struct Profile {
    pub(crate) is_quick: bool,
    /// Rounds of each measurement; the order is reversed in every second one.
    pub(crate) rounds: usize,
    /// Rounds of z14 tiles, which vary most.
    pub(crate) tile_rounds: usize,
    /// Rounds of one second with a bare handler. Short rounds spread slow moments of the machine evenly.
    pub(crate) short_rounds: usize,
    /// Seconds of each measurement in each round.
    pub(crate) seconds: u32,
    /// Records on SQLite.
    pub(crate) sizes: Sizes,
    /// Folders on PostgreSQL.
    pub(crate) postgres_folders: u64,
    /// Tokens on PostgreSQL, which share the requests.
    pub(crate) tokens: u64,
    /// Parcels, and the same number of points.
    pub(crate) parcels: u64,
    /// Changes per round at full speed on SQLite; a third of them on PostgreSQL.
    pub(crate) changes: u64,
    /// Changes per round at 100 per second.
    pub(crate) paced_changes: u64,
    /// Changes with many endpoints, at 20 per second.
    pub(crate) many_endpoint_changes: u64,
    /// Deliveries that wait at the start of the program.
    pub(crate) backlog: u64,
}

impl Profile {
    pub(crate) fn full() -> Self {
        Self {
            is_quick: false,
            rounds: 3,
            tile_rounds: 5,
            short_rounds: 15,
            seconds: 3,
            sizes: Sizes {
                folders: 1_000_000,
                assignments: 300_000,
                budgets: 20_000,
                expenses: 100_000,
            },
            postgres_folders: 200_000,
            tokens: 2_000,
            parcels: 1_000_000,
            changes: 30_000,
            paced_changes: 600,
            many_endpoint_changes: 300,
            backlog: 1_000_000,
        }
    }

    pub(crate) fn quick() -> Self {
        Self {
            is_quick: true,
            rounds: 1,
            tile_rounds: 1,
            short_rounds: 1,
            seconds: 1,
            sizes: Sizes { folders: 20_000, assignments: 2_000, budgets: 200, expenses: 2_000 },
            postgres_folders: 4_000,
            tokens: 500,
            parcels: 20_000,
            changes: 3_000,
            paced_changes: 100,
            many_endpoint_changes: 20,
            backlog: 20_000,
        }
    }

    /// The directory of this profile's data.
    pub(crate) fn directory(&self) -> Result<String> {
        let directory =
            if self.is_quick { format!("{DIRECTORY}/quick") } else { DIRECTORY.to_owned() };
        std::fs::create_dir_all(&directory)?;
        Ok(directory)
    }

    /// The URL of a SQLite file that the next run reuses.
    pub(crate) fn sqlite(&self, name: &str) -> Result<String> {
        Ok(format!("sqlite:{}/{name}.db", self.directory()?))
    }

    /// The URL of a new SQLite file.
    pub(crate) fn new_sqlite(&self, name: &str) -> Result<String> {
        for suffix in ["", "-wal", "-shm"] {
            let _ = std::fs::remove_file(format!("{}/{name}.db{suffix}", self.directory()?));
        }
        self.sqlite(name)
    }

    /// The URL of a PostgreSQL database that the next run reuses, created if it is missing.
    pub(crate) fn postgres(&self, name: &str) -> Result<String> {
        let (server, name) = (server()?, self.postgres_name(name));
        let (base, _) = server.rsplit_once('/').ok_or("TEST_POSTGRES_URL names no database")?;
        match psql(&server, &format!("CREATE DATABASE {name}")) {
            Err(error) if !error.to_string().contains("already exists") => Err(error),
            _ => Ok(format!("{base}/{name}")),
        }
    }

    /// The URL of a new PostgreSQL database.
    pub(crate) fn new_postgres(&self, name: &str) -> Result<String> {
        let drop = format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.postgres_name(name));
        psql(&server()?, &drop)?;
        self.postgres(name)
    }

    fn postgres_name(&self, name: &str) -> String {
        format!("bench_{name}{}", if self.is_quick { "_quick" } else { "" })
    }
}

fn server() -> Result<String> {
    std::env::var("TEST_POSTGRES_URL")
        .map_err(|_| "TEST_POSTGRES_URL is not set: run `make bench`".into())
}

/// Runs vacuum and a checkpoint, so that PostgreSQL does not during a measurement.
pub(crate) fn vacuum(database: &str) -> Result {
    psql(database, "VACUUM ANALYZE")?;
    psql(database, "CHECKPOINT").map(drop)
}

/// Waits until PostgreSQL has no active query, because a peer may continue to work after a round.
pub(crate) fn wait_until_idle(database: &str) -> Result {
    let busy = "SELECT count(*) FROM pg_stat_activity
        WHERE state = 'active' AND backend_type = 'client backend' AND pid <> pg_backend_pid()";
    while psql(database, busy)? != "0" {
        std::thread::park_timeout(Duration::from_millis(50));
    }
    Ok(())
}

/// The output of a query.
pub(crate) fn psql(database: &str, sql: &str) -> Result<String> {
    let done = Command::new("psql").args([database, "-qAtc", sql]).output()?;
    if done.status.success() {
        Ok(String::from_utf8(done.stdout)?.trim().to_owned())
    } else {
        Err(String::from_utf8_lossy(&done.stderr).into())
    }
}
