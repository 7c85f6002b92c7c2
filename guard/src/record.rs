//! The record of what each path cost, and what is more than that.

use crate::Outcome;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, fmt::Write as _, path::Path, process::Command};

/// Instructions by path.
pub(crate) type Counts = BTreeMap<String, u64>;

/// What is kept in the repository.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Record {
    /// The compiler that made what was counted: another one may make something else of the same code.
    compiler: String,
    instructions: Counts,
}

/// What a comparison came to.
pub(crate) struct Verdict {
    /// A line for every path.
    pub(crate) table: String,
    /// A line for every path that costs too much, or that only one side knows.
    pub(crate) grew: Vec<String>,
}

/// By how much of what was recorded a path may grow unnoticed. Counted again on the same machine, none
/// differs by more than two thousandths. The rest is room for another C library, processor (`memcpy`
/// chooses by both) or compiler, guessed and not measured; what is worth a look, an allocation for every
/// field or a query more, should be above.
const TOLERANCE: f64 = 0.05;

impl Record {
    /// These counts, made by the compiler that is here.
    pub(crate) fn new(instructions: Counts) -> Outcome<Self> {
        Ok(Self { compiler: compiler()?, instructions })
    }

    pub(crate) fn read(path: &Path) -> Outcome<Self> {
        let text = std::fs::read(path)
            .map_err(|error| format!("{}: {error}; record it first", path.display()))?;
        Ok(serde_json::from_slice(&text)?)
    }

    pub(crate) fn write(&self, path: &Path) -> Outcome {
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        Ok(std::fs::write(path, text)?)
    }

    /// What `now` is beside this.
    pub(crate) fn compare(&self, now: &Counts) -> Verdict {
        let (mut table, mut grew) = (String::new(), Vec::new());
        for (name, count) in now {
            let Some(before) = self.instructions.get(name) else {
                grew.push(format!("«{name}» is not in the record"));
                continue;
            };
            let growth = *count as f64 / *before as f64 - 1.0;
            // Less is welcome, and held on to only when it is recorded.
            let hint = if growth < -TOLERANCE { "; record it, so that it stays" } else { "" };
            let _ = writeln!(
                table,
                "  {name:<14} {count:>12} instructions, {:>+6.1} %{hint}",
                growth * 100.0
            );
            if growth > TOLERANCE {
                grew.push(format!(
                    "«{name}» takes {:.1} % more instructions than recorded, {count} for {before}; {:.0} % are allowed",
                    growth * 100.0,
                    TOLERANCE * 100.0
                ));
            }
        }
        for name in self.instructions.keys().filter(|name| !now.contains_key(*name)) {
            grew.push(format!("«{name}» is in the record and was not counted"));
        }
        if !grew.is_empty() && compiler().is_ok_and(|compiler| compiler != self.compiler) {
            grew.push(format!("the record was made with {}, which is not here", self.compiler));
        }
        Verdict { table, grew }
    }
}

fn compiler() -> Outcome<String> {
    let told = Command::new("rustc").arg("--version").output()?;
    Ok(String::from_utf8(told.stdout)?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(detail: u64) -> Counts {
        Counts::from([("detail".to_owned(), detail), ("sign".to_owned(), 5_000)])
    }

    #[test]
    fn a_path_that_costs_a_tenth_more_is_told_with_by_how_much() {
        let record = Record::new(counts(100_000)).unwrap();
        assert!(record.compare(&counts(100_000)).grew.is_empty());
        assert!(record.compare(&counts(104_900)).grew.is_empty());
        let less = record.compare(&counts(50_000));
        assert!(less.grew.is_empty() && less.table.contains("-50.0 %; record it"));
        assert_eq!(
            record.compare(&counts(110_000)).grew,
            [
                "«detail» takes 10.0 % more instructions than recorded, 110000 for 100000; 5 % are allowed"
            ]
        );
    }

    #[test]
    fn a_path_that_only_one_side_knows_is_told() {
        let record = Record::new(counts(100_000)).unwrap();
        let mut other = counts(100_000);
        let sign = other.remove("sign").unwrap();
        other.insert("verify".to_owned(), sign);
        assert_eq!(
            record.compare(&other).grew,
            ["«verify» is not in the record", "«sign» is in the record and was not counted"]
        );
    }

    #[test]
    fn what_is_written_is_what_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("counts.json");
        Record::new(counts(7)).unwrap().write(&path).unwrap();
        assert_eq!(Record::read(&path).unwrap().instructions, counts(7));
    }
}
