//! What is compared with whom: `bench all` runs everything and prints tables of ratios; `bench load`
//! fills a workspace with as many records as one likes.

mod bare;
mod land;
mod load;
mod martin;
mod office;
mod postgres;
mod receiver;
mod records;
mod tiles;
mod webhooks;
mod wrk;

use clap::{Parser, Subcommand};
use groma_store::DatabaseUrl;

/// As in the program, whose code runs here too.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// Measures Groma beside the bare framework and the bare database.
#[derive(Parser)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Load, then measure records on SQLite and on PostgreSQL.
    All(load::Sizes),
    /// Fill a workspace named «Bench».
    Load {
        /// Database to fill.
        #[arg(long, default_value = "sqlite:target/bench/groma.db")]
        database: DatabaseUrl,
        #[command(flatten)]
        sizes: load::Sizes,
        /// Records written in one change.
        #[arg(long, default_value_t = load::BATCH)]
        batch: u64,
    },
    /// Measure detail, list, deep pages and search on SQLite.
    Records(load::Sizes),
    /// Measure the same on PostgreSQL beside pgbench (needs `TEST_POSTGRES_URL`).
    Postgres(load::Sizes),
    /// Measure tiles on SQLite and PostgreSQL beside Martin (needs `TEST_POSTGRES_URL`).
    Tiles(tiles::Extent),
    /// Measure deliveries on SQLite and PostgreSQL (needs `TEST_POSTGRES_URL`).
    Webhooks(webhooks::Scale),
    /// Receive deliveries, for `webhooks`.
    #[command(hide = true)]
    Receive,
}

#[tokio::main]
async fn main() -> Outcome {
    match Cli::parse().command {
        Command::Load { database, sizes, batch } => load::run(&database, &sizes, batch).await,
        Command::Records(sizes) => records::run(&sizes).await,
        Command::Postgres(sizes) => postgres::run(&sizes).await,
        Command::Tiles(extent) => tiles::run(&extent).await,
        Command::Webhooks(scale) => webhooks::run(&scale).await,
        Command::Receive => receiver::run().await,
        Command::All(sizes) => {
            records::run(&sizes).await?;
            postgres::run(&sizes).await?;
            tiles::run(&tiles::Extent { parcels: sizes.folders }).await?;
            webhooks::run(&webhooks::Scale::default()).await
        }
    }
}
