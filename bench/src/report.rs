//! The results as data. Every part is stored under `target/bench` with its commit and date, so that a run
//! of one part keeps the others. `table.rs` formats them.

use crate::{Result, machine, profile::Profile};
use serde::{Deserialize, Serialize};
use std::time::Instant;

/// A row of the table: our figures, those of a peer, and the goal.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Row {
    pub(crate) work: String,
    pub(crate) unit: Unit,
    /// One figure per round.
    pub(crate) ours: Vec<f64>,
    pub(crate) comparison: Option<Comparison>,
    pub(crate) goal: Option<Goal>,
}

/// The figures of a peer in the same rounds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Comparison {
    pub(crate) peer: String,
    pub(crate) figures: Vec<f64>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) enum Unit {
    PerSecond,
    Millis,
    Kilobytes,
    Megabytes,
    MegabytesPerSecond,
}

/// A goal for our figure or for its ratio to the peer's.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) enum Goal {
    AtLeast(f64),
    AtMost(f64),
    RatioAtLeast(f64),
    RatioAtMost(f64),
}

/// The median, minimum and maximum of some rounds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spread {
    pub(crate) low: f64,
    pub(crate) median: f64,
    pub(crate) high: f64,
}

impl Row {
    pub(crate) fn new(work: impl Into<String>, unit: Unit, ours: &[f64]) -> Self {
        Self { work: work.into(), unit, ours: ours.to_vec(), comparison: None, goal: None }
    }

    pub(crate) fn compared_with(mut self, peer: &str, figures: &[f64]) -> Self {
        self.comparison = Some(Comparison { peer: peer.to_owned(), figures: figures.to_vec() });
        self
    }

    pub(crate) fn goal(mut self, goal: impl Into<Option<Goal>>) -> Self {
        self.goal = goal.into();
        self
    }

    /// The ratio of our figures to the peer's, per round if both have the same rounds.
    pub(crate) fn ratio(&self) -> Option<Spread> {
        let theirs = &self.comparison.as_ref()?.figures;
        let middle = median(theirs);
        let is_paired = theirs.len() == self.ours.len();
        let denominator = |round: usize| if is_paired { theirs[round] } else { middle };
        let ratios: Vec<f64> =
            self.ours.iter().enumerate().map(|(round, ours)| ours / denominator(round)).collect();
        Some(Spread::of(&ratios)).filter(|ratio| ratio.high.is_finite())
    }

    /// Whether the goal was reached; `None` without a goal or without figures to compare.
    pub(crate) fn is_met(&self) -> Option<bool> {
        let ours = median(&self.ours);
        match self.goal? {
            Goal::AtLeast(bound) => Some(ours >= bound),
            Goal::AtMost(bound) => Some(ours <= bound),
            Goal::RatioAtLeast(bound) => Some(self.ratio()?.median >= bound),
            Goal::RatioAtMost(bound) => Some(self.ratio()?.median <= bound),
        }
    }
}

impl Spread {
    pub(crate) fn of(figures: &[f64]) -> Self {
        let mut sorted = figures.to_vec();
        sorted.sort_by(f64::total_cmp);
        let at = |place: usize| sorted.get(place).copied().unwrap_or_default();
        Self { low: at(0), median: at(sorted.len() / 2), high: at(sorted.len().saturating_sub(1)) }
    }
}

pub(crate) fn median(figures: &[f64]) -> f64 {
    Spread::of(figures).median
}

/// Software that we compare with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Peer {
    pub(crate) name: String,
    pub(crate) version: String,
    /// Its configuration.
    pub(crate) settings: String,
}

/// The results of one part of the benchmark.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Part {
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) commit: String,
    pub(crate) day: String,
    pub(crate) seconds: f64,
    pub(crate) notes: Vec<String>,
    pub(crate) peers: Vec<Peer>,
    pub(crate) rows: Vec<Row>,
    #[serde(skip)]
    start: Option<Instant>,
}

impl Part {
    pub(crate) fn new(name: &str, title: &str) -> Self {
        println!("\n{title}");
        Self {
            name: name.to_owned(),
            title: title.to_owned(),
            commit: machine::commit(),
            day: jiff::Timestamp::now().strftime("%F").to_string(),
            seconds: 0.0,
            notes: Vec::new(),
            peers: Vec::new(),
            rows: Vec::new(),
            start: Some(Instant::now()),
        }
    }

    /// Adds a row and prints it.
    pub(crate) fn row(&mut self, row: Row) {
        println!("  {}", crate::table::line(&row));
        self.rows.push(row);
    }

    /// Adds a note for the reader.
    pub(crate) fn note(&mut self, text: impl Into<String>) {
        self.notes.push(text.into());
    }

    pub(crate) fn peer(&mut self, name: &str, version: impl Into<String>, settings: &str) {
        let (name, settings) = (name.to_owned(), settings.to_owned());
        self.peers.push(Peer { name, version: version.into(), settings });
    }

    pub(crate) fn save(mut self, profile: &Profile) -> Result {
        self.seconds = self.start.map_or(0.0, |start| start.elapsed().as_secs_f64());
        let directory = format!("{}/results", profile.directory()?);
        std::fs::create_dir_all(&directory)?;
        std::fs::write(
            format!("{directory}/{}.json", self.name),
            serde_json::to_vec_pretty(&self)?,
        )?;
        Ok(())
    }

    /// The stored results of a part; `None` if there are none in this format.
    pub(crate) fn load(profile: &Profile, name: &str) -> Result<Option<Self>> {
        let stored = std::fs::read(format!("{}/results/{name}.json", profile.directory()?));
        Ok(stored.ok().and_then(|stored| serde_json::from_slice(&stored).ok()))
    }
}

/// Runs the measurements in turn, in reverse order in every second round.
pub(crate) fn in_turns<const N: usize>(
    rounds: usize,
    measures: [&dyn Fn() -> Result<f64>; N],
) -> Result<[Vec<f64>; N]> {
    let mut figures = [const { Vec::new() }; N];
    for round in 0..rounds {
        let mut order: Vec<usize> = (0..N).collect();
        if round % 2 == 1 {
            order.reverse();
        }
        for who in order {
            figures[who].push(measures[who]()?);
        }
    }
    Ok(figures)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratio_is_the_median_of_the_ratios_per_round() {
        let row = Row::new("x", Unit::PerSecond, &[10.0, 40.0, 30.0])
            .compared_with("y", &[10.0, 20.0, 10.0]);
        let ratio = row.ratio().unwrap();
        assert_eq!((ratio.low, ratio.median, ratio.high), (1.0, 2.0, 3.0));
        let once = Row::new("x", Unit::Millis, &[10.0, 40.0, 30.0]).compared_with("y", &[10.0]);
        assert_eq!(once.ratio().unwrap().median, 3.0);
    }

    #[test]
    fn goal_without_a_figure_to_compare_is_undecided() {
        let row = |goal| Row::new("x", Unit::PerSecond, &[5.0]).goal(goal);
        assert_eq!(row(Goal::AtLeast(5.0)).is_met(), Some(true));
        assert_eq!(row(Goal::AtMost(4.0)).is_met(), Some(false));
        assert_eq!(row(Goal::RatioAtLeast(1.0)).is_met(), None);
        assert_eq!(row(Goal::RatioAtLeast(1.0)).compared_with("y", &[0.0]).is_met(), None);
        assert_eq!(row(Goal::RatioAtMost(2.0)).compared_with("y", &[1.0]).is_met(), Some(false));
    }

    #[test]
    fn every_second_round_reverses_the_order() {
        let order = std::cell::RefCell::new(String::new());
        let measure = |name| {
            let order = &order;
            move || {
                order.borrow_mut().push(name);
                Ok(0.0)
            }
        };
        in_turns(3, [&measure('a'), &measure('b')]).unwrap();
        assert_eq!(*order.borrow(), "abbaab");
    }
}
