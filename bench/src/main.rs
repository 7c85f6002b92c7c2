//! Benchmarks: `bench run` measures, stores the results under `target/bench` and writes
//! `bench/RESULTS.md`; `bench load` fills a workspace with any number of records.

mod api;
mod bare;
mod changes;
mod commands;
mod dataset;
mod datasette;
mod directus;
mod files;
mod folders;
mod growth;
mod layers;
mod load;
mod machine;
mod martin;
mod mvt;
mod ogc;
mod plot;
mod postgres;
mod posts;
mod process;
mod profile;
mod receiver;
mod records;
mod report;
mod row;
mod server;
mod start;
mod table;
mod tiles;
mod tipg;
mod webhooks;
mod wrk;

use clap::{Parser, Subcommand, ValueEnum};
use groma_store::DatabaseUrl;
use groma_testkit::Result;
use profile::Profile;

/// The same allocator as in the program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Measures Groma and comparable software.
#[derive(Parser)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Measure all or some parts and write the table (needs `TEST_POSTGRES_URL`).
    Run {
        /// Use small data and short rounds, to check that everything runs.
        #[arg(long)]
        quick: bool,
        /// The parts to measure; all by default.
        parts: Vec<PartName>,
    },
    /// Fill a workspace named Bench.
    Load {
        /// The database to fill.
        #[arg(long, default_value = "sqlite:target/bench/groma.db")]
        database: DatabaseUrl,
        #[command(flatten)]
        sizes: load::Sizes,
    },
    /// Measure how costs grow with the size of the data, on SQLite, and write `bench/GROWTH.md`.
    Growth(growth::Scale),
    /// Receive deliveries for the part `webhooks`.
    #[command(hide = true)]
    Receive,
}

/// The parts, in the order of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum PartName {
    /// Detail, list and search on SQLite, compared with a bare handler, Datasette and Directus.
    Records,
    /// The same on PostgreSQL, compared with pgbench and Directus.
    Postgres,
    /// Tiles on both engines, compared with Martin and TiPg, and posted geometries.
    Tiles,
    /// Items and edits by the OGC API on both engines, compared with TiPg.
    Ogc,
    /// Durable changes on both engines, compared with the disk.
    Changes,
    /// Writes, bulk writes and the change feed through the API on both engines.
    Api,
    /// Imports and exports of files on both engines, compared with ogr2ogr.
    Files,
    /// Deliveries on both engines.
    Webhooks,
    /// Start and memory.
    Start,
}

#[tokio::main]
async fn main() -> Result {
    match Cli::parse().command {
        Command::Load { database, sizes } => load::run(&database, &sizes).await,
        Command::Growth(scale) => growth::run(&scale).await,
        Command::Receive => receiver::run().await,
        Command::Run { quick, parts } => {
            run(&if quick { Profile::quick() } else { Profile::full() }, &parts).await
        }
    }
}

async fn run(profile: &Profile, parts: &[PartName]) -> Result {
    let machine = machine::Machine::inspect(profile)?;
    let all = PartName::value_variants();
    let names =
        ["records", "postgres", "tiles", "ogc", "changes", "api", "files", "webhooks", "start"];
    for part in if parts.is_empty() { all } else { parts } {
        let part = match part {
            PartName::Records => records::run(profile).await?,
            PartName::Postgres => postgres::run(profile).await?,
            PartName::Tiles => tiles::run(profile).await?,
            PartName::Ogc => ogc::run(profile).await?,
            PartName::Changes => changes::run(profile).await?,
            PartName::Api => api::run(profile).await?,
            PartName::Files => files::run(profile).await?,
            PartName::Webhooks => webhooks::run(profile).await?,
            PartName::Start => start::run(profile).await?,
        };
        part.save(profile)?;
        table::write(profile, &machine, &names)?;
    }
    Ok(())
}
