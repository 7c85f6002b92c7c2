//! What was proved, as a table: on the terminal, and as `docs/reliability.md`.

use std::{
    fmt::{Display, Write},
    time::Duration,
};

/// One fault, on one engine, tried.
pub(crate) struct Proof {
    /// What happens.
    pub(crate) fault: &'static str,
    /// Where it was tried.
    pub(crate) on: String,
    /// How often; none when it could not be tried here.
    pub(crate) tried: Option<u64>,
    /// How many writes or requests were acknowledged meanwhile.
    pub(crate) acknowledged: u64,
    /// How many of them were lost.
    pub(crate) lost: u64,
    /// Of how many deliveries how many came again.
    pub(crate) repeats: Option<(u64, u64)>,
    /// The longest that it took until all was well again.
    pub(crate) recovery: Option<Duration>,
    /// What was seen besides.
    pub(crate) seen: String,
}

impl Proof {
    pub(crate) fn new(fault: &'static str, on: &dyn Display, tried: u64) -> Self {
        Self {
            fault,
            on: on.to_string(),
            tried: Some(tried),
            acknowledged: 0,
            lost: 0,
            repeats: None,
            recovery: None,
            seen: String::new(),
        }
    }

    /// One that could not be tried on this machine.
    pub(crate) fn skipped(fault: &'static str, on: &dyn Display, reason: &str) -> Self {
        Self { tried: None, seen: reason.to_owned(), ..Self::new(fault, on, 0) }
    }

    fn row(&self) -> String {
        let tried = self.tried.map_or("not tried here".to_owned(), grouped);
        let [acknowledged, lost] = match self.tried {
            Some(_) => [grouped(self.acknowledged), grouped(self.lost)],
            None => [String::new(), String::new()],
        };
        let repeats = self.repeats.map_or(String::new(), |(repeats, of)| {
            format!("{} of {}", grouped(repeats), grouped(of))
        });
        let recovery = self.recovery.map_or(String::new(), seconds);
        format!(
            "| {} | {} | {tried} | {acknowledged} | {lost} | {repeats} | {recovery} | {} |",
            self.fault, self.on, self.seen
        )
    }
}

const HEADING: &str = "\
| what happens | on | tried | acknowledged | lost | repeats | well again after | what was seen |
| --- | --- | --- | --- | --- | --- | --- | --- |
";

/// The table of these.
pub(crate) fn table(proofs: &[Proof]) -> String {
    let mut table = HEADING.to_owned();
    for proof in proofs {
        table += &proof.row();
        table.push('\n');
    }
    table
}

/// The whole page.
pub(crate) fn page(
    proofs: &[Proof],
    is_short: bool,
    built: &str,
    postgres: &str,
    sqlite: &str,
) -> String {
    let mut page = String::from(
        "# What holds when things break\n\nWritten by `make chaos`, which tries each fault on the real program and keeps a ledger: every write has an id of its own and makes one version of a folder and one event. «Acknowledged» are the writes (or, where none are made, the requests) that the program said yes to; «lost» are those of them that are not in the database afterwards, and it is an error if there are any, if an event of a committed change does not come, or if one comes that was not committed. A repeat is a delivery that came again, with the same id and bytes. After each, SQLite's `integrity_check` or PostgreSQL's `amcheck` is run. Times are of this one run and tell the order of things, not a promise.\n\n",
    );
    let version = env!("CARGO_PKG_VERSION");
    let _ = writeln!(page, "Groma {version} (built as `{built}`), {postgres}, SQLite {sqlite}.\n");
    if is_short {
        page += "This run was a short one, as `make test` does it; `make chaos` tries each more often.\n\n";
    }
    page += &table(proofs);
    page
}

/// With a comma between thousands.
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

/// A time as one would say it.
pub(crate) fn seconds(time: Duration) -> String {
    if time < Duration::from_secs(1) {
        format!("{} ms", time.as_millis())
    } else {
        format!("{:.1} s", time.as_secs_f64())
    }
}
