//! The table of `bench/RESULTS.md`, written from all stored results.

use crate::{
    Result,
    machine::Machine,
    profile::Profile,
    report::{Goal, Part, Peer, Row, Spread, Unit},
};
use std::{fmt::Write as _, path::Path};

/// Writes the table and prints its path.
pub(crate) fn write(profile: &Profile, machine: &Machine, names: &[&str]) -> Result {
    let mut parts = Vec::new();
    for name in names {
        parts.extend(Part::load(profile, name)?);
    }
    // The results of a quick run are not meaningful.
    let path = if profile.is_quick {
        format!("{}/RESULTS.md", profile.directory()?)
    } else {
        "bench/RESULTS.md".to_owned()
    };
    std::fs::write(&path, page(profile, machine, &parts)?)?;
    println!("\nwrote {path}");
    Ok(())
}

fn page(profile: &Profile, machine: &Machine, parts: &[Part]) -> Result<String> {
    let mut page = String::from("# Results\n\n");
    if profile.is_quick {
        page.push_str("**Quick run: small data, one round of one second. The results are not meaningful.**\n\n");
    }
    writeln!(
        page,
        "`make bench` writes this page; [README.md](README.md) describes the method. {} of {} s each, in turn, in \
         reverse order in every second round (z14 tiles: {} rounds; comparisons with a bare handler: {} rounds of one \
         second). The figures are medians, with half of the range (±) or the whole range. Load generator and servers \
         share the cores. Absolute figures depend on this machine and day; compare the ratios.\n",
        if profile.rounds == 1 {
            "One round".to_owned()
        } else {
            format!("{} rounds", profile.rounds)
        },
        profile.seconds,
        profile.tile_rounds,
        profile.short_rounds
    )?;
    if Path::new("bench/GROWTH.md").exists() {
        page.push_str("[GROWTH.md](GROWTH.md) shows how costs grow with the size of the data.\n\n");
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
    writeln!(page, "\n## Compared software\n\n| | version | configuration |\n| --- | --- | --- |")?;
    for peer in peers {
        writeln!(page, "| {} | {} | {} |", peer.name, peer.version, peer.settings)?;
    }
    for part in parts {
        section(&mut page, part)?;
    }
    Ok(page)
}

/// The number of goals that were reached, and the missed ones.
fn goals(page: &mut String, parts: &[Part]) -> Result {
    let count = |met: bool| {
        let rows = parts.iter().flat_map(|part| &part.rows);
        rows.filter(|row| row.is_met() == Some(met)).count()
    };
    writeln!(page, "Goals: {} met, {} missed.\n", count(true), count(false))?;
    for part in parts {
        for row in part.rows.iter().filter(|row| row.is_met() == Some(false)) {
            let peer = match &row.comparison {
                Some(comparison) => format!(" compared with {}", comparison.peer),
                None => String::new(),
            };
            let reached = match row.goal {
                Some(Goal::RatioAtLeast(_) | Goal::RatioAtMost(_)) => ratio(row),
                _ => figure(row.unit, &row.ours),
            };
            writeln!(
                page,
                "- missed in {}: {}{peer}: {reached}, goal {}",
                part.name,
                row.work,
                goal(row)
            )?;
        }
    }
    page.push('\n');
    Ok(())
}

fn section(page: &mut String, part: &Part) -> Result {
    writeln!(page, "\n## {}\n", part.title)?;
    writeln!(
        page,
        "`BENCH={}`, commit {} on {}, in {:.0} s.",
        part.name, part.commit, part.day, part.seconds
    )?;
    for note in &part.notes {
        writeln!(page, "{note}")?;
    }
    page.push_str("\n| work | Groma | compared with | result | ratio | goal | |\n");
    page.push_str("| --- | ---: | --- | ---: | ---: | --- | --- |\n");
    for row in &part.rows {
        let (peer, theirs) = comparison(row);
        writeln!(
            page,
            "| {} | {} | {peer} | {theirs} | {} | {} | {} |",
            row.work,
            figure(row.unit, &row.ours),
            ratio(row),
            goal(row),
            verdict(row)
        )?;
    }
    Ok(())
}

/// A row for the terminal.
pub(crate) fn line(row: &Row) -> String {
    let (peer, theirs) = comparison(row);
    format!(
        "{:<44} {:>16}  {peer:<28} {theirs:>16}  {:<20} {} {}",
        row.work,
        figure(row.unit, &row.ours),
        ratio(row),
        goal(row),
        verdict(row)
    )
}

fn comparison(row: &Row) -> (&str, String) {
    match &row.comparison {
        Some(comparison) => (&comparison.peer, figure(row.unit, &comparison.figures)),
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
    fn numbers_have_three_significant_digits() {
        let numbers = [1_234_567.8, 999.6, 12.34, 1.234, 0.123, 0.0123, 0.001].map(number);
        assert_eq!(numbers, ["1,234,568", "1,000", "12.3", "1.23", "0.12", "0.012", "0.0010"]);
    }

    #[test]
    fn row_shows_whether_the_goal_was_reached() {
        let row = Row::new("detail", Unit::PerSecond, &[900.0, 1_000.0, 1_100.0])
            .compared_with("bare", &[2_000.0, 2_000.0, 2_000.0])
            .goal(Goal::RatioAtLeast(0.6));
        let line = line(&row);
        for part in ["1,000/s ± 10 %", "bare", "0.50 (0.45–0.55)", "ratio ≥ 0.6", "**missed**"]
        {
            assert!(line.contains(part), "{line}");
        }
    }
}
