//! Instructions of the hot paths, counted by callgrind and compared with the record in the repository.
//! Seconds on shared machines differ by a half from run to run; these counts by a thousandth or two,
//! so that a path that costs a tenth more is seen.
//!
//! `guard compare` counts and compares, `guard record` writes the record anew, and `guard work` is what
//! runs under callgrind for the paths that need no program: see [`work`].

mod callgrind;
mod program;
mod record;
mod work;

use callgrind::Callgrind;
use clap::{Parser, Subcommand};
use program::{Asked, Program};
use record::{Counts, Record};
use std::{path::PathBuf, process::ExitCode};
use work::Work;

/// As in the program, whose code runs here too.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// Counts the instructions of the hot paths.
#[derive(Parser)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Count, and fail where a path costs more than the record allows.
    Compare(Measured),
    /// Count, and write the record.
    Record(Measured),
    /// Do a path's work so many times, for callgrind.
    #[command(hide = true)]
    Work { name: Work, times: u64 },
}

/// What is counted.
#[derive(clap::Args)]
struct Measured {
    /// The program, as it was built for this.
    #[arg(long)]
    program: PathBuf,
    /// The record.
    #[arg(long, default_value = "guard/counts.json")]
    record: PathBuf,
}

fn main() -> ExitCode {
    match run(Cli::parse().command) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("guard: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Outcome<ExitCode> {
    match command {
        Command::Work { name, times } => {
            name.run(times)?;
            Ok(ExitCode::SUCCESS)
        }
        Command::Record(measured) => {
            Record::new(count(&measured)?)?.write(&measured.record)?;
            Ok(ExitCode::SUCCESS)
        }
        Command::Compare(measured) => {
            let before = Record::read(&measured.record)?;
            let verdict = before.compare(&count(&measured)?);
            print!("{}", verdict.table);
            if verdict.grew.is_empty() {
                return Ok(ExitCode::SUCCESS);
            }
            for line in verdict.grew {
                eprintln!("guard: {line}");
            }
            eprintln!("guard: where the growth is meant, record it: UPDATE_GUARD=1 scripts/guard");
            Ok(ExitCode::FAILURE)
        }
    }
}

/// The instructions that each path takes once.
fn count(measured: &Measured) -> Outcome<Counts> {
    let callgrind = Callgrind::new()?;
    let mut counts = Counts::new();
    let program = Program::new(&measured.program)?;
    for (asked, instructions) in program.count(&callgrind)? {
        let name = match asked {
            Asked::Detail => "detail",
            Asked::List => "list of 50",
        };
        counts.insert(name.to_owned(), instructions);
    }
    for work in Work::ALL {
        counts.insert(work.name().to_owned(), work.count(&callgrind)?);
    }
    Ok(counts)
}
