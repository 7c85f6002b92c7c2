//! A row of the results: figures, their comparison with a goal, and how they are displayed.

use serde::{Deserialize, Serialize};

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
    Seconds,
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

pub(crate) fn quantile(values: &[f64], part: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let place = (sorted.len() as f64 * part) as usize;
    sorted.get(place.min(sorted.len().saturating_sub(1))).copied().unwrap_or_default()
}

impl Row {
    /// A row for the terminal.
    pub(crate) fn line(&self) -> String {
        let (peer, theirs) = comparison(self);
        format!(
            "{:<44} {:>16}  {peer:<28} {theirs:>16}  {:<20} {} {}",
            self.work,
            figure(self.unit, &self.ours),
            ratio(self),
            goal(self),
            verdict(self)
        )
    }
}

pub(crate) fn comparison(row: &Row) -> (&str, String) {
    match &row.comparison {
        Some(comparison) => (&comparison.peer, figure(row.unit, &comparison.figures)),
        None => ("", String::new()),
    }
}

pub(crate) fn figure(unit: Unit, figures: &[f64]) -> String {
    let Spread { low, median, high } = Spread::of(figures);
    let text = match unit {
        Unit::PerSecond => format!("{}/s", number(median)),
        Unit::Seconds => format!("{} s", number(median)),
        Unit::Millis => format!("{} ms", number(median)),
        Unit::Kilobytes => format!("{} KB", number(median)),
        Unit::Megabytes => format!("{} MB", number(median)),
        Unit::MegabytesPerSecond => format!("{} MB/s", number(median)),
    };
    if figures.len() < 2 || median == 0.0 {
        return text;
    }
    format!("{text} ± {:.0} %", (high - low) / 2.0 / median * 100.0)
}

pub(crate) fn ratio(row: &Row) -> String {
    match row.ratio() {
        Some(Spread { median, .. }) if row.ours.len() < 2 => number(median),
        Some(Spread { low, median, high }) => {
            format!("{} ({}–{})", number(median), number(low), number(high))
        }
        None => String::new(),
    }
}

pub(crate) fn goal(row: &Row) -> String {
    let of_figure = |bound: f64| figure(row.unit, &[bound]);
    match row.goal {
        Some(Goal::AtLeast(bound)) => format!("≥ {}", of_figure(bound)),
        Some(Goal::AtMost(bound)) => format!("≤ {}", of_figure(bound)),
        Some(Goal::RatioAtLeast(bound)) => format!("ratio ≥ {bound}"),
        Some(Goal::RatioAtMost(bound)) => format!("ratio ≤ {bound}"),
        None => String::new(),
    }
}

pub(crate) fn verdict(row: &Row) -> &'static str {
    match row.is_met() {
        Some(true) => "met",
        Some(false) => "**missed**",
        None => "—",
    }
}

/// A number with three significant digits and separated thousands.
pub(crate) fn number(value: f64) -> String {
    let digits = match value.abs() {
        value if value == 0.0 || value >= 99.5 => 0,
        value if value >= 10.0 => 1,
        value if value >= 0.1 => 2,
        value if value >= 0.01 => 3,
        _ => 4,
    };
    let text = format!("{value:.digits$}");
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let mut grouped = String::new();
    for (place, digit) in whole.char_indices() {
        if place > 0 && digit.is_ascii_digit() && (whole.len() - place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped + rest
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
    fn numbers_have_three_significant_digits() {
        let numbers = [1_234_567.8, 999.6, 12.34, 1.234, 0.123, 0.0123, 0.001].map(number);
        assert_eq!(numbers, ["1,234,568", "1,000", "12.3", "1.23", "0.12", "0.012", "0.0010"]);
    }

    #[test]
    fn row_shows_whether_the_goal_was_reached() {
        let row = Row::new("detail", Unit::PerSecond, &[900.0, 1_000.0, 1_100.0])
            .compared_with("bare", &[2_000.0, 2_000.0, 2_000.0])
            .goal(Goal::RatioAtLeast(0.6));
        let line = row.line();
        for part in ["1,000/s ± 10 %", "bare", "0.50 (0.45–0.55)", "ratio ≥ 0.6", "**missed**"]
        {
            assert!(line.contains(part), "{line}");
        }
    }
}
