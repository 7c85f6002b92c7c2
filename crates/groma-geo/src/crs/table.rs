//! The tables that `scripts/crs-table` generates from the EPSG register as PROJ reads it.
//!
//! Do not edit the `.tsv` files by hand: the script verifies each line against PROJ.

use std::sync::LazyLock;

/// Supported systems: code, name, area of use, axis order, projection, candidate operations.
static SYSTEMS: LazyLock<Vec<(u32, &str)>> = LazyLock::new(|| index(include_str!("systems.tsv")));

/// Operations: number, EPSG codes, name, accuracy, area of use, restrictions of use, grid files, steps.
static OPERATIONS: LazyLock<Vec<(u32, &str)>> =
    LazyLock::new(|| index(include_str!("operations.tsv")));

/// Unsupported systems: code, name, reason, and a detail of the reason.
static UNSUPPORTED: LazyLock<Vec<(u32, &str)>> =
    LazyLock::new(|| index(include_str!("unsupported.tsv")));

/// A line of the table of systems.
pub(super) struct SystemRow {
    pub(super) name: &'static str,
    pub(super) area: [f64; 4],
    pub(super) is_northing_first: bool,
    /// In a part of PROJ's syntax.
    pub(super) projection: &'static str,
    pub(super) candidates: Vec<Candidate>,
}

/// An operation of a system, in the order in which PROJ lists them.
pub(super) struct Candidate {
    pub(super) operation: OperationRow,
    /// The smallest and the largest x and y for which PROJ uses it; `None` if everywhere.
    pub(super) bounds: Option<[f64; 4]>,
}

/// A line of the table of operations.
pub(super) struct OperationRow {
    pub(super) codes: Vec<u32>,
    pub(super) name: &'static str,
    pub(super) accuracy: Option<f64>,
    pub(super) area: [f64; 4],
    pub(super) is_offshore: bool,
    /// Whether PROJ uses it only if the grids of all other operations are missing.
    pub(super) is_substitute: bool,
    pub(super) grids: Vec<&'static str>,
    pub(super) steps: &'static str,
}

/// A line of the table of unsupported systems.
pub(super) struct UnsupportedRow {
    pub(super) name: &'static str,
    pub(super) reason: &'static str,
    pub(super) detail: &'static str,
}

pub(super) fn system(code: u32) -> Option<SystemRow> {
    let [name, area, axes, projection, candidates] = columns(&SYSTEMS, code)?;
    Some(SystemRow {
        name,
        area: numbers(area)?,
        is_northing_first: axes == "yx",
        projection,
        candidates: candidates.split(' ').map(candidate).collect::<Option<_>>()?,
    })
}

pub(super) fn unsupported(code: u32) -> Option<UnsupportedRow> {
    let [name, reason, detail] = columns(&UNSUPPORTED, code)?;
    Some(UnsupportedRow { name, reason, detail })
}

/// The codes of all systems in the table.
pub(super) fn codes() -> impl Iterator<Item = u32> {
    SYSTEMS.iter().map(|(code, _)| *code)
}

/// Parses `OPERATION` or `OPERATION@MIN_X,MIN_Y,MAX_X,MAX_Y`.
fn candidate(text: &str) -> Option<Candidate> {
    let (number, bounds) = match text.split_once('@') {
        Some((number, bounds)) => (number, Some(numbers(bounds)?)),
        None => (text, None),
    };
    Some(Candidate { operation: operation(number.parse().ok()?)?, bounds })
}

fn operation(number: u32) -> Option<OperationRow> {
    let [codes, name, accuracy, area, restrictions, grids, steps] = columns(&OPERATIONS, number)?;
    Some(OperationRow {
        codes: codes.split(',').filter_map(|code| code.parse().ok()).collect(),
        name,
        accuracy: accuracy.parse().ok(),
        area: numbers(area)?,
        is_offshore: restrictions.contains("offshore"),
        is_substitute: restrictions.contains("substitute"),
        grids: grids.split(',').filter(|name| !name.is_empty()).collect(),
        steps,
    })
}

/// The lines of a table by the number in their first column, in ascending order.
fn index(table: &'static str) -> Vec<(u32, &'static str)> {
    let line = |line: &'static str| {
        let (number, rest) = line.split_once('\t')?;
        Some((number.parse().ok()?, rest))
    };
    table.lines().filter_map(line).collect()
}

/// The columns after the number.
fn columns<const N: usize>(
    table: &[(u32, &'static str)],
    number: u32,
) -> Option<[&'static str; N]> {
    let at = table.binary_search_by_key(&number, |(number, _)| *number).ok()?;
    table[at].1.split('\t').collect::<Vec<_>>().try_into().ok()
}

fn numbers(text: &str) -> Option<[f64; 4]> {
    let numbers: Option<Vec<f64>> = text.split(',').map(|number| number.parse().ok()).collect();
    numbers?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_every_table_is_valid_and_sorted() {
        for table in [&SYSTEMS, &OPERATIONS, &UNSUPPORTED] {
            assert!(table.is_sorted_by(|a, b| a.0 < b.0));
        }
        let lines = |text: &str| text.lines().filter(|line| !line.starts_with('#')).count();
        assert_eq!(SYSTEMS.len(), lines(include_str!("systems.tsv")));
        assert_eq!(OPERATIONS.len(), lines(include_str!("operations.tsv")));
        assert_eq!(UNSUPPORTED.len(), lines(include_str!("unsupported.tsv")));
        assert!(codes().all(|code| system(code).is_some()));
        assert!(UNSUPPORTED.iter().all(|(code, _)| unsupported(*code).is_some()));
    }
}
