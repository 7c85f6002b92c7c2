//! What was measured, as data: every part fills a `Part` with rows, which is kept under `target/bench`, so
//! that a run of one part leaves the others as they were, each with the commit and the day it is of. How
//! it looks as a table is `table.rs`.

use crate::{Outcome, effort::Effort, machine};
use serde::{Deserialize, Serialize};
use std::time::Instant;

/// One line of the table: what we do, whom it is held beside, and what was to be reached.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Row {
    pub(crate) work: String,
    pub(crate) unit: Unit,
    /// One figure a round.
    pub(crate) ours: Vec<f64>,
    pub(crate) beside: Option<Beside>,
    pub(crate) goal: Option<Goal>,
}

/// The other one, in the same rounds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Beside {
    pub(crate) whom: String,
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

/// What is to be reached, by our figure or by the ratio of ours to theirs.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) enum Goal {
    AtLeast(f64),
    AtMost(f64),
    RatioAtLeast(f64),
    RatioAtMost(f64),
}

/// The median of some rounds, with the lowest and the highest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spread {
    pub(crate) low: f64,
    pub(crate) median: f64,
    pub(crate) high: f64,
}

impl Row {
    pub(crate) fn new(work: impl Into<String>, unit: Unit, ours: &[f64]) -> Self {
        Self { work: work.into(), unit, ours: ours.to_vec(), beside: None, goal: None }
    }

    pub(crate) fn beside(mut self, whom: &str, figures: &[f64]) -> Self {
        self.beside = Some(Beside { whom: whom.to_owned(), figures: figures.to_vec() });
        self
    }

    pub(crate) fn goal(mut self, goal: impl Into<Option<Goal>>) -> Self {
        self.goal = goal.into();
        self
    }

    /// Ours to theirs, round by round where both were measured in the same ones.
    pub(crate) fn ratio(&self) -> Option<Spread> {
        let theirs = &self.beside.as_ref()?.figures;
        let middle = median(theirs);
        let is_paired = theirs.len() == self.ours.len();
        let beside = |round: usize| if is_paired { theirs[round] } else { middle };
        let ratios: Vec<f64> =
            self.ours.iter().enumerate().map(|(round, ours)| ours / beside(round)).collect();
        Some(Spread::of(&ratios)).filter(|ratio| ratio.high.is_finite())
    }

    /// Whether the goal was reached; none where there is no goal, or nothing to hold it against.
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

/// Someone or something that we are held beside.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Peer {
    pub(crate) name: String,
    pub(crate) version: String,
    /// How it is run.
    pub(crate) settings: String,
}

/// What one part of the bench found.
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
    begun: Option<Instant>,
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
            begun: Some(Instant::now()),
        }
    }

    /// Adds a row, and shows it to whoever waits.
    pub(crate) fn row(&mut self, row: Row) {
        println!("  {}", crate::table::line(&row));
        self.rows.push(row);
    }

    /// Something that a reader of the rows must know.
    pub(crate) fn note(&mut self, text: impl Into<String>) {
        self.notes.push(text.into());
    }

    pub(crate) fn peer(&mut self, name: &str, version: impl Into<String>, settings: &str) {
        let (name, settings) = (name.to_owned(), settings.to_owned());
        self.peers.push(Peer { name, version: version.into(), settings });
    }

    pub(crate) fn keep(mut self, effort: &Effort) -> Outcome {
        self.seconds = self.begun.map_or(0.0, |begun| begun.elapsed().as_secs_f64());
        let folder = format!("{}/results", effort.folder()?);
        std::fs::create_dir_all(&folder)?;
        std::fs::write(format!("{folder}/{}.json", self.name), serde_json::to_vec_pretty(&self)?)?;
        Ok(())
    }

    /// What is known of a part, if it was ever measured, and by a bench that kept it in this shape.
    pub(crate) fn kept(effort: &Effort, name: &str) -> Outcome<Option<Self>> {
        let kept = std::fs::read(format!("{}/results/{name}.json", effort.folder()?));
        Ok(kept.ok().and_then(|kept| serde_json::from_slice(&kept).ok()))
    }
}

/// Measures each in turn, the order turned around every other round.
pub(crate) fn in_turns<const N: usize>(
    rounds: usize,
    measures: [&dyn Fn() -> Outcome<f64>; N],
) -> Outcome<[Vec<f64>; N]> {
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
    fn a_ratio_is_the_median_of_the_rounds_ratios() {
        let row =
            Row::new("x", Unit::PerSecond, &[10.0, 40.0, 30.0]).beside("y", &[10.0, 20.0, 10.0]);
        let ratio = row.ratio().unwrap();
        assert_eq!((ratio.low, ratio.median, ratio.high), (1.0, 2.0, 3.0));
        let once = Row::new("x", Unit::Millis, &[10.0, 40.0, 30.0]).beside("y", &[10.0]);
        assert_eq!(once.ratio().unwrap().median, 3.0);
    }

    #[test]
    fn a_goal_without_a_figure_to_hold_it_against_is_open() {
        let row = |goal| Row::new("x", Unit::PerSecond, &[5.0]).goal(goal);
        assert_eq!(row(Goal::AtLeast(5.0)).is_met(), Some(true));
        assert_eq!(row(Goal::AtMost(4.0)).is_met(), Some(false));
        assert_eq!(row(Goal::RatioAtLeast(1.0)).is_met(), None);
        assert_eq!(row(Goal::RatioAtLeast(1.0)).beside("y", &[0.0]).is_met(), None);
        assert_eq!(row(Goal::RatioAtMost(2.0)).beside("y", &[1.0]).is_met(), Some(false));
    }

    #[test]
    fn every_other_round_turns_the_order_around() {
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
