//! `groma copy`: everything from one database into another.

use super::{
    Failure,
    backup::{progress, show},
    print,
};
use crate::settings::Settings;
use groma_store::{DatabaseUrl, Store};
use serde_json::{Map, Value, json};

pub(super) async fn run(
    settings: &Settings,
    from: Option<DatabaseUrl>,
    to: Option<DatabaseUrl>,
    rehearsal: bool,
    as_json: bool,
) -> Result<(), Failure> {
    let from = from.unwrap_or_else(|| settings.database.clone());
    let to = to.unwrap_or_else(|| settings.database.clone());
    if from == to {
        return Err(Failure::wrong_usage("--from and --to name the same database"));
    }
    let bar = progress("Copying", "rows");
    let shown = bar.clone();
    let report = Store::copy(&from, &to, rehearsal, move |progress| show(&shown, progress)).await;
    bar.finish_and_clear();
    let tables = report?.tables;
    let rows: u64 = tables.iter().map(|(_, rows)| rows).sum();
    if as_json {
        let tables: Map<String, Value> =
            tables.into_iter().map(|(name, rows)| (name.to_owned(), rows.into())).collect();
        return print(&json!({ "rows": rows, "tables": tables }).to_string());
    }
    let tables = tables.iter().filter(|(_, rows)| *rows > 0).count();
    print(&format!("{rows} rows of {tables} tables copied, and counted on both sides"))
}
