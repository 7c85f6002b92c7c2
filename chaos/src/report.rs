//! The results as a table, on the terminal and in `docs/reliability.md`.

use std::{
    fmt::{Display, Write},
    time::Duration,
};

/// The result of a scenario on one engine.
pub(crate) struct ScenarioResult {
    /// The fault.
    pub(crate) fault: &'static str,
    /// The engine.
    pub(crate) engine: String,
    /// The number of rounds; `None` if the scenario cannot run here.
    pub(crate) rounds: Option<u64>,
    /// The number of acknowledged writes or requests.
    pub(crate) acknowledged: u64,
    /// The number of lost ones.
    pub(crate) lost: u64,
    /// The numbers of repeated and of all deliveries.
    pub(crate) repeats: Option<(u64, u64)>,
    /// The longest time to recovery.
    pub(crate) recovery: Option<Duration>,
    /// Further observations.
    pub(crate) details: String,
}

impl ScenarioResult {
    pub(crate) fn new(fault: &'static str, engine: &dyn Display, rounds: u64) -> Self {
        Self {
            fault,
            engine: engine.to_string(),
            rounds: Some(rounds),
            acknowledged: 0,
            lost: 0,
            repeats: None,
            recovery: None,
            details: String::new(),
        }
    }

    /// A scenario that cannot run on this machine.
    pub(crate) fn skipped(fault: &'static str, engine: &dyn Display, reason: &str) -> Self {
        Self { rounds: None, details: reason.to_owned(), ..Self::new(fault, engine, 0) }
    }

    fn row(&self) -> String {
        let rounds = self.rounds.map_or("not run".to_owned(), grouped);
        let [acknowledged, lost] = match self.rounds {
            Some(_) => [grouped(self.acknowledged), grouped(self.lost)],
            None => [String::new(), String::new()],
        };
        let repeats = self.repeats.map_or(String::new(), |(repeats, of)| {
            format!("{} of {}", grouped(repeats), grouped(of))
        });
        let recovery = self.recovery.map_or(String::new(), format_time);
        format!(
            "| {} | {} | {rounds} | {acknowledged} | {lost} | {repeats} | {recovery} | {} |",
            self.fault, self.engine, self.details
        )
    }
}

const HEADING: &str = "\
| fault | engine | rounds | acknowledged | lost | repeats | recovery | details |
| --- | --- | --- | --- | --- | --- | --- | --- |
";

/// The table of results.
pub(crate) fn table(results: &[ScenarioResult]) -> String {
    let mut table = HEADING.to_owned();
    for result in results {
        table += &result.row();
        table.push('\n');
    }
    table
}

/// The whole report.
pub(crate) fn page(
    results: &[ScenarioResult],
    is_short: bool,
    profile: &str,
    postgres: &str,
    sqlite: &str,
) -> String {
    let mut page = String::from(
        "# Reliability\n\n`make chaos` writes this page. It injects each fault into the real program during writes. Every write has its own id and creates one feature, one version of a folder and one event.\n\n- *Acknowledged*: the writes (or requests, where nothing is written) with a successful response.\n- *Lost*: acknowledged writes that are not in the database afterwards. A scenario fails if there is one, if the event of a committed change does not arrive, or if an event of an uncommitted change arrives.\n- *Repeats*: deliveries that were sent again, with the same id and body.\n\nAfter each fault SQLite's `integrity_check` or PostgreSQL's `amcheck` verifies the database. The times are of a single run: they show the order of magnitude and are not a guarantee.\n\n",
    );
    let version = env!("CARGO_PKG_VERSION");
    let _ = writeln!(page, "Groma {version} (profile `{profile}`), {postgres}, SQLite {sqlite}.\n");
    if is_short {
        page += "This was a short run, as in `make test`; `make chaos` runs more rounds.\n\n";
    }
    page += &table(results);
    page
}

/// A number with commas between thousands.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A time in milliseconds or seconds.
pub(crate) fn format_time(time: Duration) -> String {
    if time < Duration::from_secs(1) {
        format!("{} ms", time.as_millis())
    } else {
        format!("{:.1} s", time.as_secs_f64())
    }
}
