//! The results as data. Every part is stored under `target/bench` with its commit and date, so that a run
//! of one part keeps the others. `table.rs` formats them.

pub(crate) use crate::row::{Goal, Row, Unit, median, quantile};

use crate::{Result, machine, profile::Profile};
use serde::{Deserialize, Serialize};
use std::time::Instant;

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
        println!("  {}", row.line());
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
