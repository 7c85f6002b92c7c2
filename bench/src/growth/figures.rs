//! The stored results, and the plots and the page made from them.

use super::lines::{Expected, GROUPS, Group, Line};
use crate::{
    Result, machine,
    plot::{self, Plot, grouped, short},
    server::cargo_profile,
};
use serde_json::{Value, json};
use std::{collections::BTreeMap, fmt::Write as _};

const FIGURES: &str = "bench/growth/figures.json";
const PAGE: &str = "bench/GROWTH.md";
/// Explanations written by hand.
const EXPLAINED: &str = "bench/growth/explained.md";
/// The growth that noise on a shared machine can cause.
const NOISE: f64 = 1.3;

/// Costs by size and line.
pub(crate) struct Figures {
    build: String,
    machine: String,
    sizes: BTreeMap<u64, BTreeMap<String, f64>>,
}

impl Figures {
    /// The stored results of the same build on the same machine.
    pub(crate) fn read() -> Result<Self> {
        let (build, machine) = (cargo_profile(), machine::describe()?);
        let mut sizes = BTreeMap::new();
        if let Ok(text) = std::fs::read(FIGURES) {
            let stored: Value = serde_json::from_slice(&text)?;
            if stored["build"] == build.as_str() && stored["machine"] == machine.as_str() {
                sizes = serde_json::from_value(stored["sizes"].clone())?;
            }
        }
        Ok(Self { build, machine, sizes })
    }

    pub(crate) fn add(&mut self, size: u64, line: &str, cost: f64) {
        println!("  {:>10}  {line:<16} {}", grouped(size), short(cost));
        self.sizes.entry(size).or_default().insert(line.to_owned(), cost);
    }

    /// Writes the figures, the plots and the page.
    pub(crate) fn write(&self) -> Result {
        std::fs::create_dir_all("bench/growth")?;
        let stored = json!({ "build": self.build, "machine": self.machine, "sizes": self.sizes });
        std::fs::write(FIGURES, format!("{stored:#}\n"))?;
        for group in &GROUPS {
            if let Some(svg) = self.plot(group).svg() {
                std::fs::write(format!("bench/growth/{}.svg", group.file), svg)?;
            }
        }
        let explained = std::fs::read_to_string(EXPLAINED)?;
        Ok(std::fs::write(PAGE, self.page(&explained)?)?)
    }

    fn plot(&self, group: &Group) -> Plot {
        let drawn =
            |line: &Line| plot::Line { name: line.name.to_owned(), points: self.points(line.key) };
        Plot {
            title: group.title.to_owned(),
            across: "records, or features".to_owned(),
            up: group.up.to_owned(),
            lines: group.lines.iter().map(drawn).collect(),
        }
    }

    fn points(&self, key: &str) -> Vec<(f64, f64)> {
        let point =
            |(size, costs): (&u64, &BTreeMap<String, f64>)| Some((*size as f64, *costs.get(key)?));
        self.sizes.iter().filter_map(point).collect()
    }

    fn page(&self, explained: &str) -> Result<String> {
        let mut page = String::from(
            "# Growth\n\n\
             `make bench-growth` writes this page; select sizes with `GROWTH_SIZES=10000,100000`. All figures are \
             medians on SQLite, with one request at a time over a persistent connection. The client, the webhook \
             receiver and the server share the CPU cores. Times depend on the machine; compare how they grow.\n\n",
        );
        writeln!(page, "Machine: {}. Build: {}.", self.machine, self.build_name())?;
        page.push_str(
            "\nThe column *growth* shows by which factor a cost grows when the size grows tenfold (the slope of \
             the line through all points on logarithmic axes). The column *expected* shows the factor that the \
             design implies. ▲ marks growth above the expected factor and above the measurement noise.\n\n\
             A workspace can have at most 50 endpoints.\n",
        );
        // A group without results has no plot.
        for group in GROUPS.iter().filter(|group| self.plot(group).svg().is_some()) {
            write!(page, "\n## {}\n\n![{0}, plotted](growth/{}.svg)\n\n", group.title, group.file)?;
            self.table(group, &mut page)?;
        }
        write!(page, "\n## Explanations\n\n{explained}")?;
        Ok(page)
    }

    fn table(&self, group: &Group, page: &mut String) -> std::fmt::Result {
        write!(page, "| {} |", group.up)?;
        for size in self.sizes.keys() {
            write!(page, " {} |", grouped(*size))?;
        }
        page.push_str(" growth | expected | reason |\n| --- |");
        page.push_str(&" ---: |".repeat(self.sizes.len() + 2));
        page.push_str(" --- |\n");
        for line in group.lines {
            write!(page, "| {} |", line.name)?;
            for costs in self.sizes.values() {
                let cost = costs.get(line.key).map_or_else(|| "–".to_owned(), |cost| short(*cost));
                write!(page, " {cost} |")?;
            }
            let must = match line.expected {
                Expected::By(factor) => Some(factor),
                Expected::As(key) => growth(&self.points(key)),
            };
            let grown = growth(&self.points(line.key));
            let is_more = grown.zip(must).is_some_and(|(grown, must)| grown > must * NOISE);
            let mark = if is_more { "▲ " } else { "" };
            let times = |factor: Option<f64>| {
                factor.map_or_else(|| "–".to_owned(), |factor| format!("× {factor:.2}"))
            };
            writeln!(page, " {mark}{} | {} | {} |", times(grown), times(must), line.reason)?;
        }
        Ok(())
    }

    fn build_name(&self) -> &str {
        match self.build.as_str() {
            "release" => "release",
            "quick" => "quick, without link-time optimization",
            other => other,
        }
    }
}

/// The growth of the costs at ten times the size; `None` with fewer than two points.
fn growth(points: &[(f64, f64)]) -> Option<f64> {
    let logs: Vec<(f64, f64)> = points
        .iter()
        .filter(|(_, cost)| *cost > 0.0)
        .map(|(size, cost)| (size.log10(), cost.log10()))
        .collect();
    if logs.len() < 2 {
        return None;
    }
    let count = logs.len() as f64;
    let mean_size = logs.iter().map(|(size, _)| size).sum::<f64>() / count;
    let mean_cost = logs.iter().map(|(_, cost)| cost).sum::<f64>() / count;
    let rise: f64 = logs.iter().map(|(size, cost)| (size - mean_size) * (cost - mean_cost)).sum();
    let run: f64 = logs.iter().map(|(size, _)| (size - mean_size).powi(2)).sum();
    (run > 0.0).then(|| 10_f64.powf(rise / run))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_is_the_slope_over_all_sizes() {
        let near = |growth: Option<f64>, wanted: f64| (growth.unwrap() - wanted).abs() < 1e-6;
        assert!(near(growth(&[(1e4, 0.1), (1e5, 0.1), (1e6, 0.1)]), 1.0));
        assert!(near(growth(&[(1e4, 0.1), (1e5, 1.0), (1e6, 10.0)]), 10.0));
        assert!(near(growth(&[(1e4, 2.0), (1e6, 8.0)]), 2.0));
        assert!(growth(&[(1e4, 2.0)]).is_none());
    }

    #[test]
    fn faster_growth_than_expected_is_marked() {
        let costs = |few: f64, many: f64| {
            BTreeMap::from([("term/few".to_owned(), few), ("term/many".to_owned(), many)])
        };
        let sizes = BTreeMap::from([(10_000, costs(1.0, 1.0)), (100_000, costs(2.0, 10.0))]);
        let figures = Figures { build: "quick".into(), machine: "a machine".into(), sizes };
        let page = figures.page("All of it.\n").unwrap();
        assert!(page.contains("| 50 hits | 1 | 2 | ▲ × 2.00 | × 1.00 |"), "{page}");
        assert!(
            page.contains("| hits in an eighth of the records | 1 | 10 | × 10.00 | × 10.00 |"),
            "{page}"
        );
    }
}
