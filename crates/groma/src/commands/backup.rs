//! `groma backup` and `groma restore`.

use super::{Failure, print};
use crate::{cli::Keeping, settings::Settings};
use groma_store::{Progress, Store};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::json;
use std::path::Path;

pub(super) async fn backup(settings: &Settings, file: &Path, how: &Keeping) -> Result<(), Failure> {
    let bar = progress("Copying", "pages");
    let shown = bar.clone();
    let tell = move |progress| show(&shown, progress);
    let report = Store::backup(&settings.database, file, how.overwrite, tell).await;
    bar.finish_and_clear();
    let report = report?;
    let (name, bytes, rows) = (file.display().to_string(), report.bytes, report.rows);
    if how.json {
        return print(&json!({ "file": name, "bytes": bytes, "rows": rows }).to_string());
    }
    print(&format!("{name}: {bytes} bytes, {rows} rows, checked"))
}

pub(super) async fn restore(
    settings: &Settings,
    file: &Path,
    how: &Keeping,
) -> Result<(), Failure> {
    let bar = progress("Copying", "pages");
    let shown = bar.clone();
    let tell = move |progress| show(&shown, progress);
    let stamp = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%S%3fZ").to_string();
    let report = Store::restore(&settings.database, file, how.overwrite, stamp, tell).await;
    bar.finish_and_clear();
    let report = report?;
    let kept = report.kept.map(|path| path.display().to_string());
    if how.json {
        return print(&json!({ "rows": report.rows, "kept": kept }).to_string());
    }
    print(&format!("{} rows restored", report.rows))?;
    match kept {
        Some(kept) => print(&format!("what was there before is now {kept}")),
        None => Ok(()),
    }
}

/// A bar on a terminal, nothing elsewhere.
pub(super) fn progress(what: &'static str, unit: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    let template =
        format!("{{msg}} {{wide_bar}} {{human_pos}} of {{human_len}} {unit}, {{eta}} left");
    if let Ok(style) = ProgressStyle::with_template(&template) {
        bar.set_style(style);
    }
    bar.set_message(what);
    bar
}

pub(super) fn show(bar: &ProgressBar, progress: Progress) {
    match progress {
        Progress::Copying { done, total } => {
            bar.set_length(total);
            bar.set_position(done);
        }
        Progress::Checking => bar.set_message("Checking"),
    }
}
