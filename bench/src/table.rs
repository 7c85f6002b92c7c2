//! The table of `bench/RESULTS.md`, written from all stored results.

use crate::{
    Result,
    machine::Machine,
    profile::Profile,
    report::{Part, Peer},
    row::{Goal, comparison, figure, goal, ratio, verdict},
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
