//! `groma backup` and `groma restore`.

use super::{CommandError, print, progress};
use crate::{cli::BackupOptions, clock, settings::Settings};
use groma_store::Store;
use serde_json::json;
use std::path::Path;

pub(super) async fn backup(
    settings: &Settings,
    file: &Path,
    options: &BackupOptions,
) -> Result<(), CommandError> {
    let bar = progress::bar("Copying", "pages");
    let on_progress = {
        let bar = bar.clone();
        move |progress| progress::update(&bar, progress)
    };
    let (database, overwrite) = (&settings.database, options.overwrite);
    let report = Store::backup(database, file, overwrite, clock::now(), on_progress).await;
    bar.finish_and_clear();
    let report = report?;
    let (file, bytes, rows) = (file.display().to_string(), report.bytes, report.rows);
    if options.json {
        return print(&json!({ "file": file, "bytes": bytes, "rows": rows }).to_string());
    }
    print(&format!("Backup {file} written and verified: {bytes} bytes, {rows} rows."))
}

pub(super) async fn restore(
    settings: &Settings,
    file: &Path,
    options: &BackupOptions,
) -> Result<(), CommandError> {
    let bar = progress::bar("Copying", "pages");
    let on_progress = {
        let bar = bar.clone();
        move |progress| progress::update(&bar, progress)
    };
    let stamp = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%S%3fZ").to_string();
    let report =
        Store::restore(&settings.database, file, options.overwrite, stamp, on_progress).await;
    bar.finish_and_clear();
    let report = report?;
    let previous = report.kept.map(|path| path.display().to_string());
    if options.json {
        return print(&json!({ "rows": report.rows, "kept": previous }).to_string());
    }
    print(&format!("{} rows restored.", report.rows))?;
    match previous {
        Some(previous) => print(&format!("The previous database was moved to {previous}.")),
        None => Ok(()),
    }
}
