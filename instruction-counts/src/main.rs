//! Counts the instructions of the hot paths with callgrind and compares them with the recorded counts.
//! Times on shared machines vary by half from run to run; these counts vary by a thousandth or two, so a
//! path that costs a tenth more is noticed.
//!
//! `compare` counts and compares, `record` writes the counts, and `run` executes a workload of
//! [`library`] under callgrind.

mod callgrind;
mod library;
mod record;
mod server;

use callgrind::Callgrind;
use clap::{Parser, Subcommand};
use groma_testkit::Result;
use library::Workload;
use record::{Counts, Record};
use std::{path::PathBuf, process::ExitCode};

/// The same allocator as in the program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Counts the instructions of the hot paths.
#[derive(Parser)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Count, and fail if a path costs more than the record allows.
    Compare(Options),
    /// Count, and write the record.
    Record(Options),
    /// Run a workload this number of times, under callgrind.
    #[command(hide = true)]
    Run { workload: Workload, times: u64 },
}

#[derive(clap::Args)]
struct Options {
    /// The program to measure.
    #[arg(long)]
    program: PathBuf,
    /// The recorded counts.
    #[arg(long, default_value = "instruction-counts/counts.json")]
    record: PathBuf,
}

fn main() -> ExitCode {
    match run(Cli::parse().command) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("instruction-counts: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Result<ExitCode> {
    match command {
        Command::Run { workload, times } => {
            workload.run(times)?;
            Ok(ExitCode::SUCCESS)
        }
        Command::Record(options) => {
            Record::new(count(&options)?)?.write(&options.record)?;
            Ok(ExitCode::SUCCESS)
        }
        Command::Compare(options) => {
            let recorded = Record::read(&options.record)?;
            let comparison = recorded.compare(&count(&options)?);
            print!("{}", comparison.table);
            if comparison.failures.is_empty() {
                return Ok(ExitCode::SUCCESS);
            }
            for line in comparison.failures {
                eprintln!("instruction-counts: {line}");
            }
            eprintln!(
                "instruction-counts: If the growth is intended, record it: \
                 UPDATE_COUNTS=1 scripts/instruction-counts"
            );
            Ok(ExitCode::FAILURE)
        }
    }
}

/// The instructions of one execution of each path.
fn count(options: &Options) -> Result<Counts> {
    let callgrind = Callgrind::new()?;
    let server = server::MeasuredServer::new(&options.program)?;
    let mut counts = server.count(&callgrind)?;
    for workload in Workload::ALL {
        counts.insert(workload.name().to_owned(), workload.count(&callgrind)?);
    }
    Ok(counts)
}
