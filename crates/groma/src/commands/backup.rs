//! `groma backup` and `groma restore`.

use super::{CommandError, key_file::KeyFile, print, progress};
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
    let key_file = KeyFile::in_use(settings).filter(|key| key.path.exists());
    let key_file = key_file.map(|key| key.path.display().to_string());
    if options.json {
        let report = json!({ "file": file, "bytes": bytes, "rows": rows, "keyFile": key_file });
        return print(&report.to_string());
    }
    print(&format!("Backup {file} written and verified: {bytes} bytes, {rows} rows."))?;
    match key_file {
        Some(path) => print(&format!(
            "It does not contain the key of webhook secrets, {path}. Keep a copy of that file apart \
             from the backup."
        )),
        None => Ok(()),
    }
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
    let (database, overwrite) = (&settings.database, options.overwrite);
    let report = Store::restore(database, file, overwrite, stamp, clock::now(), on_progress).await;
    bar.finish_and_clear();
    let report = report?;
    let previous = report.kept.map(|path| path.display().to_string());
    if options.json {
        return print(&json!({ "rows": report.rows, "kept": previous }).to_string());
    }
    print(&format!("{} rows restored.", report.rows))?;
    if let Some(previous) = previous {
        print(&format!("The previous database was moved to {previous}."))?;
    }
    match KeyFile::in_use(settings).filter(|key| !key.path.exists()) {
        Some(key) => print(&format!(
            "There is no key of webhook secrets. Copy the key file of the original database to {} \
             before you start the server.",
            key.path.display()
        )),
        None => Ok(()),
    }
}
