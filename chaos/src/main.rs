//! What holds when things break. Each scenario does one thing to the real program, again and again, while
//! writers go on, and compares at the end what was acknowledged with what is there and what came.
//!
//! `make chaos` runs all of them and writes `docs/reliability.md`; `make test` runs them shortly.

mod clients;
mod clock;
mod disk;
mod ending;
mod http;
mod kills;
mod ledger;
mod load;
mod network;
mod office;
mod outage;
mod power;
mod proxy;
mod receiver;
mod receivers;
mod replicas;
mod report;
mod server;
mod trace;

use clap::Parser;
use report::Proof;
use std::{
    path::PathBuf,
    process::ExitCode,
    time::{Duration, Instant},
};

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Breaks things around Groma and looks at what holds.
#[derive(Parser)]
struct Cli {
    /// Fewer times, several at once: for every run of the tests.
    #[arg(long)]
    short: bool,
    /// Write the page here, when all held.
    #[arg(long)]
    report: Option<PathBuf>,
    /// Only these scenarios.
    only: Vec<String>,
}

/// How often things are done.
#[derive(Clone, Copy)]
pub(crate) struct Scale {
    is_short: bool,
}

impl Scale {
    fn pick<T>(self, short: T, long: T) -> T {
        if self.is_short { short } else { long }
    }
}

/// One fault and what is proved about it.
struct Scenario {
    name: &'static str,
    run: fn(Scale) -> Outcome<Vec<Proof>>,
    /// Whether it needs PostgreSQL for itself: it takes it away, or looks at all that it does.
    is_alone: bool,
}

macro_rules! scenario {
    ($name:literal, $module:ident) => {
        scenario!($name, $module, false)
    };
    ($name:literal, $module:ident, $is_alone:expr) => {
        Scenario {
            name: $name,
            run: |scale| runtime()?.block_on($module::run(scale)),
            is_alone: $is_alone,
        }
    };
}

/// In the order of the page.
const SCENARIOS: [Scenario; 10] = [
    scenario!("kills", kills),
    scenario!("power", power, true),
    scenario!("disk", disk),
    scenario!("outage", outage, true),
    scenario!("network", network),
    scenario!("replicas", replicas),
    scenario!("receivers", receivers),
    scenario!("clients", clients),
    scenario!("clock", clock),
    scenario!("ending", ending),
];

fn main() -> ExitCode {
    let cli = Cli::parse();
    let unknown = cli.only.iter().find(|name| SCENARIOS.iter().all(|known| known.name != **name));
    if let Some(name) = unknown {
        let known: Vec<_> = SCENARIOS.iter().map(|scenario| scenario.name).collect();
        eprintln!("chaos: no scenario `{name}`; there are {}", known.join(", "));
        return ExitCode::from(2);
    }
    let is_wanted = |scenario: &&Scenario| {
        cli.only.is_empty() || cli.only.iter().any(|name| name == scenario.name)
    };
    let wanted: Vec<&Scenario> = SCENARIOS.iter().filter(is_wanted).collect();
    let told = run_all(&wanted, Scale { is_short: cli.short });
    let mut proofs = Vec::new();
    let mut has_failed = false;
    for (scenario, outcome) in wanted.iter().zip(told) {
        match outcome {
            Ok(found) => proofs.extend(found),
            Err(error) => {
                eprintln!("chaos: {}: {error}", scenario.name);
                has_failed = true;
            }
        }
    }
    print!("{}", report::table(&proofs));
    if has_failed {
        return ExitCode::FAILURE;
    }
    if let Some(path) = cli.report
        && let Err(error) = write_page(&path, &proofs, cli.short)
    {
        eprintln!("chaos: {}: {error}", path.display());
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

/// Runs those that need PostgreSQL for themselves first, then the others, when it is to be short four
/// at a time.
fn run_all(wanted: &[&Scenario], scale: Scale) -> Vec<Outcome<Vec<Proof>>> {
    let mut told: Vec<_> = wanted.iter().map(|_| None).collect();
    let (alone, together): (Vec<_>, Vec<_>) =
        wanted.iter().enumerate().partition(|(_, scenario)| scenario.is_alone);
    for (place, scenario) in alone {
        told[place] = Some(run_one(scenario, scale));
    }
    let next = parking_lot::Mutex::new(together.into_iter());
    let slots = parking_lot::Mutex::new(&mut told);
    std::thread::scope(|scope| {
        for _ in 0..scale.pick(4, 1) {
            scope.spawn(|| {
                loop {
                    let Some((place, scenario)) = next.lock().next() else { return };
                    let outcome = run_one(scenario, scale);
                    slots.lock()[place] = Some(outcome);
                }
            });
        }
    });
    told.into_iter().map(|outcome| outcome.unwrap_or_else(|| Err("it panicked".into()))).collect()
}

fn run_one(scenario: &Scenario, scale: Scale) -> Outcome<Vec<Proof>> {
    let begun = Instant::now();
    let outcome = (scenario.run)(scale);
    let word = if outcome.is_ok() { "held" } else { "FAILED" };
    eprintln!("chaos: {} {word} after {}", scenario.name, report::seconds(begun.elapsed()));
    outcome
}

fn write_page(path: &std::path::Path, proofs: &[Proof], is_short: bool) -> Outcome {
    let version = "SELECT 'PostgreSQL ' || current_setting('server_version')";
    let postgres = runtime()?.block_on(office::text(&office::server()?, version))?;
    let postgres = postgres.split(" (").next().unwrap_or_default();
    // The folder that a program was built into has the name of its profile.
    let program = std::env::current_exe()?;
    let built = program.parent().and_then(|folder| folder.file_name()?.to_str());
    let sqlite = rusqlite::version();
    let page = report::page(proofs, is_short, built.unwrap_or_default(), postgres, sqlite);
    Ok(std::fs::write(path, page)?)
}

fn runtime() -> Outcome<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build()?)
}

/// Tries until it works, for as long as it may take.
async fn wait_until<T>(
    patience: Duration,
    mut attempt: impl AsyncFnMut() -> Outcome<T>,
) -> Outcome<T> {
    let deadline = Instant::now() + patience;
    loop {
        let is_late = Instant::now() >= deadline;
        match attempt().await {
            Ok(found) => return Ok(found),
            Err(error) if is_late => return Err(format!("not within {patience:?}: {error}").into()),
            Err(_) => tokio::time::sleep(Duration::from_millis(5)).await,
        }
    }
}

/// Fails with these words unless it is so.
fn ensure(is_so: bool, words: impl FnOnce() -> String) -> Outcome {
    if is_so { Ok(()) } else { Err(words().into()) }
}

/// Whether a program is installed.
fn is_installed(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(name).is_file())
}
