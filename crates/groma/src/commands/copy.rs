//! `groma copy`: copies all data from one database to another.

use super::{CommandError, key_file::KeyFile, print, progress};
use crate::{clock, settings::Settings};
use groma_store::{DatabaseUrl, Store};
use serde_json::{Map, Value, json};

pub(super) async fn run(
    settings: &Settings,
    from: Option<DatabaseUrl>,
    to: Option<DatabaseUrl>,
    rehearsal: bool,
    as_json: bool,
) -> Result<(), CommandError> {
    let from = from.unwrap_or_else(|| settings.database.clone());
    let to = to.unwrap_or_else(|| settings.database.clone());
    if from == to {
        return Err(CommandError::usage("--from and --to must name different databases"));
    }
    let bar = progress::bar("Copying", "rows");
    let on_progress = {
        let bar = bar.clone();
        move |progress| progress::update(&bar, progress)
    };
    let report = Store::copy(&from, &to, rehearsal, clock::now(), on_progress).await;
    bar.finish_and_clear();
    let tables = report?.tables;
    let rows: u64 = tables.iter().map(|(_, rows)| rows).sum();
    if as_json {
        let tables: Map<String, Value> =
            tables.into_iter().map(|(name, rows)| (name.to_owned(), rows.into())).collect();
        return print(&json!({ "rows": rows, "tables": tables }).to_string());
    }
    let tables = tables.iter().filter(|(_, rows)| *rows > 0).count();
    print(&format!("{rows} rows in {tables} tables copied and verified."))?;
    match KeyFile::of(&from).filter(|key| key.path.exists()) {
        Some(key) => print(&format!(
            "Webhook secrets stay encrypted: set webhooks.encryption_key to the content of {}.",
            key.path.display()
        )),
        None => Ok(()),
    }
}
