//! What is compared with whom: `bench run` measures, keeps the figures under `target/bench` and writes the
//! table of `bench/RESULTS.md`; `bench load` fills a workspace with as many records as one likes.

mod bare;
mod changes;
mod datasette;
mod directus;
mod effort;
mod folders;
mod growth;
mod land;
mod layers;
mod load;
mod machine;
mod martin;
mod mvt;
mod office;
mod plot;
mod postgres;
mod posts;
mod process;
mod receiver;
mod records;
mod report;
mod start;
mod table;
mod tiles;
mod tipg;
mod webhooks;
mod wrk;

use clap::{Parser, Subcommand, ValueEnum};
use effort::Effort;
use groma_store::DatabaseUrl;

/// As in the program, whose code runs here too.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// Measures Groma beside its peers and its limits.
#[derive(Parser)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Measure all parts or some, and write the table (needs `TEST_POSTGRES_URL`).
    Run {
        /// Small data and short rounds: whether everything runs, not how fast it is.
        #[arg(long)]
        quick: bool,
        /// All, when none is named.
        parts: Vec<Measured>,
    },
    /// Fill a workspace named «Bench».
    Load {
        /// Database to fill.
        #[arg(long, default_value = "sqlite:target/bench/groma.db")]
        database: DatabaseUrl,
        #[command(flatten)]
        sizes: load::Sizes,
    },
    /// Measure how costs grow with size, on SQLite, and write `bench/GROWTH.md`.
    Growth(growth::Scale),
    /// Receive deliveries, for `webhooks`.
    #[command(hide = true)]
    Receive,
}

/// The parts, in the order of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Measured {
    /// Detail, list and search on SQLite beside a bare handler, Datasette and Directus.
    Records,
    /// The same on PostgreSQL beside pgbench and Directus.
    Postgres,
    /// Tiles on both beside Martin and TiPg, and geometries posted.
    Tiles,
    /// Durable changes on both beside the disk.
    Changes,
    /// Deliveries on both.
    Webhooks,
    /// Start and memory.
    Start,
}

#[tokio::main]
async fn main() -> Outcome {
    match Cli::parse().command {
        Command::Load { database, sizes } => load::run(&database, &sizes).await,
        Command::Growth(scale) => growth::run(&scale).await,
        Command::Receive => receiver::run().await,
        Command::Run { quick, parts } => {
            run(&if quick { Effort::quick() } else { Effort::whole() }, &parts).await
        }
    }
}

async fn run(effort: &Effort, parts: &[Measured]) -> Outcome {
    let machine = machine::Machine::look(effort)?;
    let all = Measured::value_variants();
    let names = ["records", "postgres", "tiles", "changes", "webhooks", "start"];
    for part in if parts.is_empty() { all } else { parts } {
        let part = match part {
            Measured::Records => records::run(effort).await?,
            Measured::Postgres => postgres::run(effort).await?,
            Measured::Tiles => tiles::run(effort).await?,
            Measured::Changes => changes::run(effort).await?,
            Measured::Webhooks => webhooks::run(effort).await?,
            Measured::Start => start::run(effort).await?,
        };
        part.keep(effort)?;
        table::write(effort, &machine, &names)?;
    }
    Ok(())
}
