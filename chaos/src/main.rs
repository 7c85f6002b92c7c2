//! Fault injection. Each scenario breaks one thing around the program, again and again, while writers
//! continue, and finally compares the acknowledged writes with the database and the received events.
//!
//! `make chaos` runs all scenarios and writes `docs/reliability.md`; `make test` runs a short version.

#![expect(clippy::expect_used, reason = "a scenario fails by panicking when its setup fails")]

mod abuse;
mod clients;
mod clock;
mod disk;
mod event_receiver;
mod fixture;
mod kills;
mod ledger;
mod load;
mod login;
mod memory;
mod mirror;
mod network;
mod outage;
mod postgres_server;
mod power;
mod proxy;
mod rate_window;
mod receivers;
mod replicas;
mod report;
mod revoked_rights;
mod shutdown;
mod trace;

use clap::Parser;
use groma_testkit::{Result, postgres};
use report::ScenarioResult;
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    process::ExitCode,
    time::Instant,
};

/// Breaks things around Groma and verifies that it recovers.
#[derive(Parser)]
struct Cli {
    /// Run fewer rounds, several scenarios at once, and skip those that wait for minutes.
    #[arg(long)]
    short: bool,
    /// Write the report to this file if all scenarios pass.
    #[arg(long)]
    report: Option<PathBuf>,
    /// Run only these scenarios.
    only: Vec<String>,
}

/// The number of rounds: few in a short run, many otherwise.
#[derive(Clone, Copy)]
pub(crate) struct Scale {
    is_short: bool,
}

impl Scale {
    fn pick<T>(self, short: T, long: T) -> T {
        if self.is_short { short } else { long }
    }
}

/// A fault and its verification.
struct Scenario {
    name: &'static str,
    run: fn(Scale) -> Result<Vec<ScenarioResult>>,
    /// Whether no other scenario can run at the same time: because it disturbs PostgreSQL for all, or takes
    /// too long beside others.
    is_exclusive: bool,
    /// Whether a short run skips it.
    is_long: bool,
}

macro_rules! scenario {
    ($module:ident) => {
        Scenario {
            name: stringify!($module),
            run: |scale| runtime()?.block_on($module::run(scale)),
            is_exclusive: false,
            is_long: false,
        }
    };
}

/// In the order of the report.
const SCENARIOS: [Scenario; 15] = [
    scenario!(kills),
    scenario!(mirror),
    Scenario { is_exclusive: true, ..scenario!(power) },
    scenario!(disk),
    Scenario { is_exclusive: true, ..scenario!(outage) },
    scenario!(network),
    scenario!(replicas),
    scenario!(receivers),
    scenario!(clients),
    scenario!(abuse),
    scenario!(revoked_rights),
    scenario!(clock),
    Scenario { is_long: true, ..scenario!(rate_window) },
    Scenario { is_exclusive: true, ..scenario!(memory) },
    scenario!(shutdown),
];

fn main() -> ExitCode {
    let cli = Cli::parse();
    let unknown = cli.only.iter().find(|name| SCENARIOS.iter().all(|known| known.name != **name));
    if let Some(name) = unknown {
        let known: Vec<_> = SCENARIOS.iter().map(|scenario| scenario.name).collect();
        eprintln!("chaos: unknown scenario `{name}`. Choose from {}.", known.join(", "));
        return ExitCode::from(2);
    }
    let is_selected = |scenario: &&Scenario| match cli.only.is_empty() {
        true => !(cli.short && scenario.is_long),
        false => cli.only.iter().any(|name| name == scenario.name),
    };
    let selected: Vec<&Scenario> = SCENARIOS.iter().filter(is_selected).collect();
    let outcomes = run_all(&selected, Scale { is_short: cli.short });
    let mut results = Vec::new();
    let mut failures = Vec::new();
    for (scenario, outcome) in selected.iter().zip(outcomes) {
        match outcome {
            Ok(found) => results.extend(found),
            Err(error) => failures.push(format!("chaos: {} failed: {error}", scenario.name)),
        }
    }
    print!("{}", report::table(&results));
    if !failures.is_empty() {
        eprintln!("{}", failures.join("\n"));
        return ExitCode::FAILURE;
    }
    if let Some(path) = cli.report
        && let Err(error) = write_report(&path, &results, cli.short)
    {
        eprintln!("chaos: {}: {error}", path.display());
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

/// Runs the exclusive scenarios first, then the others, four at a time in a short run.
fn run_all(selected: &[&Scenario], scale: Scale) -> Vec<Result<Vec<ScenarioResult>>> {
    let mut outcomes: Vec<_> = selected.iter().map(|_| None).collect();
    let (exclusive, shared): (Vec<_>, Vec<_>) =
        selected.iter().enumerate().partition(|(_, scenario)| scenario.is_exclusive);
    for (index, scenario) in exclusive {
        outcomes[index] = Some(run_one(scenario, scale));
    }
    let queue = parking_lot::Mutex::new(shared.into_iter());
    let slots = parking_lot::Mutex::new(&mut outcomes);
    std::thread::scope(|scope| {
        for _ in 0..scale.pick(4, 1) {
            scope.spawn(|| {
                loop {
                    let Some((index, scenario)) = queue.lock().next() else { return };
                    let outcome = run_one(scenario, scale);
                    slots.lock()[index] = Some(outcome);
                }
            });
        }
    });
    outcomes.into_iter().map(|outcome| outcome.unwrap_or_else(|| Err("not run".into()))).collect()
}

fn run_one(scenario: &Scenario, scale: Scale) -> Result<Vec<ScenarioResult>> {
    let start = Instant::now();
    // A panic is the failure of this scenario only; its message is on standard error already.
    let outcome = catch_unwind(AssertUnwindSafe(|| (scenario.run)(scale)))
        .unwrap_or_else(|_| Err("panicked, with the message above".into()));
    let word = if outcome.is_ok() { "passed" } else { "FAILED" };
    eprintln!("chaos: {} {word} after {}", scenario.name, report::format_time(start.elapsed()));
    outcome
}

fn write_report(path: &std::path::Path, results: &[ScenarioResult], is_short: bool) -> Result {
    let version = "SELECT 'PostgreSQL ' || current_setting('server_version')";
    let postgres = postgres::query_text(&postgres::server_url()?, version)?;
    let postgres = postgres.split(" (").next().unwrap_or_default();
    // The directory of a built executable has the name of its profile.
    let executable = std::env::current_exe()?;
    let profile = executable.parent().and_then(|directory| directory.file_name()?.to_str());
    let sqlite = rusqlite::version();
    let page = report::page(results, is_short, profile.unwrap_or_default(), postgres, sqlite);
    Ok(std::fs::write(path, page)?)
}

fn runtime() -> Result<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build()?)
}

/// Fails with a message unless a condition holds.
fn ensure(condition: bool, message: impl FnOnce() -> String) -> Result {
    if condition { Ok(()) } else { Err(message().into()) }
}

/// Whether a program is installed.
fn is_installed(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(name).is_file())
}
