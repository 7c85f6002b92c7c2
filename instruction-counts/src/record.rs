//! The recorded counts, and the comparison with new ones.

use groma_testkit::Result;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, fmt::Write as _, path::Path, process::Command};

/// The number of instructions by path.
pub(crate) type Counts = BTreeMap<String, u64>;

/// The counts in the repository.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Record {
    /// The compiler, because another one may generate different code.
    compiler: String,
    instructions: Counts,
}

/// The result of a comparison.
pub(crate) struct Comparison {
    /// One line for each path.
    pub(crate) table: String,
    /// One line for each path that costs too much or exists on one side only.
    pub(crate) failures: Vec<String>,
}

/// The accepted growth of a path. Counts on the same machine vary by at most 0.2 %; the rest is an
/// estimated margin for another C library, processor or compiler. One more allocation per field or one
/// more query exceeds it.
const TOLERANCE: f64 = 0.05;

impl Record {
    /// A record of these counts with the installed compiler.
    pub(crate) fn new(instructions: Counts) -> Result<Self> {
        Ok(Self { compiler: compiler()?, instructions })
    }

    pub(crate) fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read(path)
            .map_err(|error| format!("{}: {error}; record the counts first", path.display()))?;
        Ok(serde_json::from_slice(&text)?)
    }

    pub(crate) fn write(&self, path: &Path) -> Result {
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        Ok(std::fs::write(path, text)?)
    }

    /// Compares new counts with this record.
    pub(crate) fn compare(&self, now: &Counts) -> Comparison {
        let (mut table, mut failures) = (String::new(), Vec::new());
        for (name, count) in now {
            let Some(before) = self.instructions.get(name) else {
                failures.push(format!("`{name}` is not in the record"));
                continue;
            };
            let growth = *count as f64 / *before as f64 - 1.0;
            // A lower count becomes the new limit only when it is recorded.
            let hint = if growth < -TOLERANCE { "; record the lower count" } else { "" };
            let _ = writeln!(
                table,
                "  {name:<14} {count:>12} instructions, {:>+6.1} %{hint}",
                growth * 100.0
            );
            if growth > TOLERANCE {
                failures.push(format!(
                    "`{name}` takes {:.1} % more instructions than recorded ({count} instead of {before}); {:.0} % is allowed",
                    growth * 100.0,
                    TOLERANCE * 100.0
                ));
            }
        }
        for name in self.instructions.keys().filter(|name| !now.contains_key(*name)) {
            failures.push(format!("`{name}` is in the record but was not counted"));
        }
        if !failures.is_empty() && compiler().is_ok_and(|compiler| compiler != self.compiler) {
            failures.push(format!(
                "the record was made with {}, which is not the installed compiler",
                self.compiler
            ));
        }
        Comparison { table, failures }
    }
}

fn compiler() -> Result<String> {
    let output = Command::new("rustc").arg("--version").output()?;
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(detail: u64) -> Counts {
        Counts::from([("detail".to_owned(), detail), ("sign".to_owned(), 5_000)])
    }

    #[test]
    fn growth_above_the_tolerance_is_a_failure() {
        let record = Record::new(counts(100_000)).unwrap();
        assert!(record.compare(&counts(100_000)).failures.is_empty());
        assert!(record.compare(&counts(104_900)).failures.is_empty());
        let less = record.compare(&counts(50_000));
        assert!(less.failures.is_empty() && less.table.contains("-50.0 %; record the lower count"));
        assert_eq!(
            record.compare(&counts(110_000)).failures,
            [
                "`detail` takes 10.0 % more instructions than recorded (110000 instead of 100000); 5 % is allowed"
            ]
        );
    }

    #[test]
    fn path_on_one_side_only_is_a_failure() {
        let record = Record::new(counts(100_000)).unwrap();
        let mut other = counts(100_000);
        let sign = other.remove("sign").unwrap();
        other.insert("verify".to_owned(), sign);
        assert_eq!(
            record.compare(&other).failures,
            ["`verify` is not in the record", "`sign` is in the record but was not counted"]
        );
    }

    #[test]
    fn written_record_can_be_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("counts.json");
        Record::new(counts(7)).unwrap().write(&path).unwrap();
        assert_eq!(Record::read(&path).unwrap().instructions, counts(7));
    }
}
