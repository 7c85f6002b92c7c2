//! How much is measured: the whole, in some twenty minutes, or a quick look in two, which tells whether
//! everything runs and little else.

use crate::{Outcome, load::Sizes};
use std::{process::Command, time::Duration};

/// Where everything is kept that a run makes: data, logs, peers, figures.
pub(crate) const HOME: &str = "target/bench";

/// Connections of the load, whoever answers.
pub(crate) const CONNECTIONS: u32 = 16;

#[derive(Clone, Debug)]
pub(crate) struct Effort {
    pub(crate) quick: bool,
    /// Rounds of each measurement; the order is turned around every other one.
    pub(crate) rounds: usize,
    /// Rounds of z14 tiles, where everybody's figures vary most.
    pub(crate) tile_rounds: usize,
    /// Rounds of one second beside a bare handler: where both answer in microseconds, a moment in which
    /// the machine is slow is soon over for both.
    pub(crate) short_rounds: usize,
    /// Seconds of each measurement in each round.
    pub(crate) seconds: u32,
    /// Records on SQLite.
    pub(crate) sizes: Sizes,
    /// Folders on PostgreSQL.
    pub(crate) postgres_folders: u64,
    /// Tokens that share the requests there.
    pub(crate) tokens: u64,
    /// Parcels, and as many points.
    pub(crate) parcels: u64,
    /// Changes made in a round as fast as they go, on SQLite; a third of them on PostgreSQL.
    pub(crate) changes: u64,
    /// Changes made in a round at 100 a second.
    pub(crate) beats: u64,
    /// Changes made beside a crowd of endpoints, at 20 a second.
    pub(crate) crowd: u64,
    /// Deliveries that wait when the program starts.
    pub(crate) backlog: u64,
}

impl Effort {
    pub(crate) fn whole() -> Self {
        Self {
            quick: false,
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
            beats: 600,
            crowd: 300,
            backlog: 1_000_000,
        }
    }

    pub(crate) fn quick() -> Self {
        Self {
            quick: true,
            rounds: 1,
            tile_rounds: 1,
            short_rounds: 1,
            seconds: 1,
            sizes: Sizes { folders: 20_000, assignments: 2_000, budgets: 200, expenses: 2_000 },
            postgres_folders: 4_000,
            tokens: 500,
            parcels: 20_000,
            changes: 3_000,
            beats: 100,
            crowd: 20,
            backlog: 20_000,
        }
    }

    /// The folder of this effort's data: what a quick look loads is not for the whole.
    pub(crate) fn folder(&self) -> Outcome<String> {
        let folder = if self.quick { format!("{HOME}/quick") } else { HOME.to_owned() };
        std::fs::create_dir_all(&folder)?;
        Ok(folder)
    }

    /// The address of a SQLite file that is kept from run to run.
    pub(crate) fn sqlite(&self, name: &str) -> Outcome<String> {
        Ok(format!("sqlite:{}/{name}.db", self.folder()?))
    }

    /// The address of a new SQLite file.
    pub(crate) fn new_sqlite(&self, name: &str) -> Outcome<String> {
        for suffix in ["", "-wal", "-shm"] {
            let _ = std::fs::remove_file(format!("{}/{name}.db{suffix}", self.folder()?));
        }
        self.sqlite(name)
    }

    /// The address of a database on the server that is kept from run to run, made when it is missing.
    pub(crate) fn postgres(&self, name: &str) -> Outcome<String> {
        let (server, name) = (server()?, self.postgres_name(name));
        let (base, _) = server.rsplit_once('/').ok_or("TEST_POSTGRES_URL names no database")?;
        match psql(&server, &format!("CREATE DATABASE {name}")) {
            Err(complaint) if !complaint.to_string().contains("already exists") => Err(complaint),
            _ => Ok(format!("{base}/{name}")),
        }
    }

    /// The address of a new database on the server.
    pub(crate) fn new_postgres(&self, name: &str) -> Outcome<String> {
        let drop = format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.postgres_name(name));
        psql(&server()?, &drop)?;
        self.postgres(name)
    }

    fn postgres_name(&self, name: &str) -> String {
        format!("bench_{name}{}", if self.quick { "_quick" } else { "" })
    }
}

fn server() -> Outcome<String> {
    std::env::var("TEST_POSTGRES_URL")
        .map_err(|_| "TEST_POSTGRES_URL is not set: run `make bench`".into())
}

/// Has PostgreSQL tidy up after a load at once, not while something is measured.
pub(crate) fn settle(database: &str) -> Outcome {
    psql(database, "VACUUM ANALYZE")?;
    psql(database, "CHECKPOINT").map(drop)
}

/// Waits until PostgreSQL works for nobody: what a peer goes on with after a round is not to be in the
/// next one's figures.
pub(crate) fn quiet(database: &str) -> Outcome {
    let busy = "SELECT count(*) FROM pg_stat_activity
        WHERE state = 'active' AND backend_type = 'client backend' AND pid <> pg_backend_pid()";
    while psql(database, busy)? != "0" {
        std::thread::park_timeout(Duration::from_millis(50));
    }
    Ok(())
}

/// What PostgreSQL answers.
pub(crate) fn psql(database: &str, sql: &str) -> Outcome<String> {
    let done = Command::new("psql").args([database, "-qAtc", sql]).output()?;
    if done.status.success() {
        Ok(String::from_utf8(done.stdout)?.trim().to_owned())
    } else {
        Err(String::from_utf8_lossy(&done.stderr).into())
    }
}
