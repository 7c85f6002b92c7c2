//! The table of `bench/RESULTS.md`, written anew from everything that is kept.

use crate::{
    Outcome,
    effort::Effort,
    machine::Machine,
    report::{Goal, Part, Peer, Row, Spread, Unit},
};
use std::{fmt::Write as _, path::Path};

/// Writes the table and says where.
pub(crate) fn write(effort: &Effort, machine: &Machine, names: &[&str]) -> Outcome {
    let mut parts = Vec::new();
    for name in names {
        parts.extend(Part::kept(effort, name)?);
    }
    // A quick look is nobody's result.
    let path = if effort.quick {
        format!("{}/RESULTS.md", effort.folder()?)
    } else {
        "bench/RESULTS.md".to_owned()
    };
    std::fs::write(&path, page(effort, machine, &parts)?)?;
    println!("\n{path} is written");
    Ok(())
}

fn page(effort: &Effort, machine: &Machine, parts: &[Part]) -> Outcome<String> {
    let mut page = String::from("# Results\n\n");
    if effort.quick {
        page.push_str("**A quick look: small data, one round of one second. Not a result.**\n\n");
    }
    writeln!(
        page,
        "Written by `make bench`; [README.md](README.md) says what is measured and how. {} of {} s each, \
         in turns, the order turned around every other round (z14 tiles have {}, and what is held beside a bare \
         handler {} of a second); shown are medians, with half of the distance \
         between the lowest and the highest round (±) or both of them. Load and peers are on the same cores. \
         Absolute figures are of this machine on its day; the ratios (ours to theirs) are what is claimed.\n",
        if effort.rounds == 1 {
            "One round".to_owned()
        } else {
            format!("{} rounds", effort.rounds)
        },
        effort.seconds,
        effort.tile_rounds,
        effort.short_rounds
    )?;
    if Path::new("bench/GROWTH.md").exists() {
        page.push_str("How costs grow with size is in [GROWTH.md](GROWTH.md).\n\n");
    }
    goals(&mut page, parts)?;

    writeln!(page, "## Machine\n\n| | |\n| --- | --- |")?;
    for (what, value) in machine.facts() {
        writeln!(page, "| {what} | {value} |")?;
    }
    let mut peers: Vec<&Peer> = Vec::new();
    for peer in parts.iter().flat_map(|part| &part.peers) {
        if !peers.contains(&peer) {
            peers.push(peer);
        }
    }
    writeln!(page, "\n## Whom it is held beside\n\n| | version | run as |\n| --- | --- | --- |")?;
    for peer in peers {
        writeln!(page, "| {} | {} | {} |", peer.name, peer.version, peer.settings)?;
    }
    for part in parts {
        section(&mut page, part)?;
    }
    Ok(page)
}

/// How many goals were reached, and which were not.
fn goals(page: &mut String, parts: &[Part]) -> Outcome {
    let count = |met: bool| {
        let rows = parts.iter().flat_map(|part| &part.rows);
        rows.filter(|row| row.is_met() == Some(met)).count()
    };
    writeln!(page, "Goals: {} met, {} missed.\n", count(true), count(false))?;
    for part in parts {
        for row in part.rows.iter().filter(|row| row.is_met() == Some(false)) {
            let whom = match &row.beside {
                Some(beside) => format!(" beside {}", beside.whom),
                None => String::new(),
            };
            let reached = match row.goal {
                Some(Goal::RatioAtLeast(_) | Goal::RatioAtMost(_)) => ratio(row),
                _ => figure(row.unit, &row.ours),
            };
            writeln!(
                page,
                "- missed in {}: {}{whom}: {reached}, goal {}",
                part.name,
                row.work,
                goal(row)
            )?;
        }
    }
    page.push('\n');
    Ok(())
}

fn section(page: &mut String, part: &Part) -> Outcome {
    writeln!(page, "\n## {}\n", part.title)?;
    writeln!(
        page,
        "`BENCH={}`, commit {} on {}, in {:.0} s.",
        part.name, part.commit, part.day, part.seconds
    )?;
    for note in &part.notes {
        writeln!(page, "{note}")?;
    }
    page.push_str("\n| work | Groma | beside | theirs | ratio | goal | |\n");
    page.push_str("| --- | ---: | --- | ---: | ---: | --- | --- |\n");
    for row in &part.rows {
        let (whom, theirs) = beside(row);
        writeln!(
            page,
            "| {} | {} | {whom} | {theirs} | {} | {} | {} |",
            row.work,
            figure(row.unit, &row.ours),
            ratio(row),
            goal(row),
            verdict(row)
        )?;
    }
    Ok(())
}

/// A row in a line, for the terminal.
pub(crate) fn line(row: &Row) -> String {
    let (whom, theirs) = beside(row);
    format!(
        "{:<44} {:>16}  {whom:<28} {theirs:>16}  {:<20} {} {}",
        row.work,
        figure(row.unit, &row.ours),
        ratio(row),
        goal(row),
        verdict(row)
    )
}

fn beside(row: &Row) -> (&str, String) {
    match &row.beside {
        Some(beside) => (&beside.whom, figure(row.unit, &beside.figures)),
        None => ("", String::new()),
    }
}

fn figure(unit: Unit, figures: &[f64]) -> String {
    let Spread { low, median, high } = Spread::of(figures);
    let text = match unit {
        Unit::PerSecond => format!("{}/s", number(median)),
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

fn ratio(row: &Row) -> String {
    match row.ratio() {
        Some(Spread { median, .. }) if row.ours.len() < 2 => number(median),
        Some(Spread { low, median, high }) => {
            format!("{} ({}–{})", number(median), number(low), number(high))
        }
        None => String::new(),
    }
}

fn goal(row: &Row) -> String {
    let of_figure = |bound: f64| figure(row.unit, &[bound]);
    match row.goal {
        Some(Goal::AtLeast(bound)) => format!("≥ {}", of_figure(bound)),
        Some(Goal::AtMost(bound)) => format!("≤ {}", of_figure(bound)),
        Some(Goal::RatioAtLeast(bound)) => format!("ratio ≥ {bound}"),
        Some(Goal::RatioAtMost(bound)) => format!("ratio ≤ {bound}"),
        None => String::new(),
    }
}

fn verdict(row: &Row) -> &'static str {
    match row.is_met() {
        Some(true) => "met",
        Some(false) => "**missed**",
        None => "—",
    }
}

/// Three figures that count, and thousands apart.
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
    fn numbers_have_three_figures_that_count() {
        let numbers = [1_234_567.8, 999.6, 12.34, 1.234, 0.123, 0.0123, 0.001].map(number);
        assert_eq!(numbers, ["1,234,568", "1,000", "12.3", "1.23", "0.12", "0.012", "0.0010"]);
    }

    #[test]
    fn a_row_says_what_was_reached() {
        let row = Row::new("detail", Unit::PerSecond, &[900.0, 1_000.0, 1_100.0])
            .beside("bare", &[2_000.0, 2_000.0, 2_000.0])
            .goal(Goal::RatioAtLeast(0.6));
        let line = line(&row);
        for part in ["1,000/s ± 10 %", "bare", "0.50 (0.45–0.55)", "ratio ≥ 0.6", "**missed**"]
        {
            assert!(line.contains(part), "{line}");
        }
    }
}
