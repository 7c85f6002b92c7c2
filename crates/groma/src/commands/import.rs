//! `groma import` of records.

use super::{
    CommandError, find_workspace,
    input::{import_error, open_rereadable, with_path},
    print,
    progress::ProgressBars,
    record_format, rejected_rows,
};
use crate::{
    cli::{ImportRecords, RecordFormat},
    import::{ImportError, RecordFile, RecordImport, RejectedRow, run_blocking, summary},
};
use groma_store::{Actor, ImportResult, Store};
use serde_json::{Value, json};
use std::{collections::HashMap, sync::Arc};

pub(super) async fn run(store: &Store, import: ImportRecords) -> Result<(), CommandError> {
    let workspace = find_workspace(store, &import.workspace).await?.id;
    let format = record_format(&import.file, import.format)?;
    if import.sheet.is_some() && format != RecordFormat::Xlsx {
        return Err(CommandError::new("--sheet can only be used with an Excel workbook (XLSX)"));
    }
    let failed = |error: ImportError| import_error(&import.file, &error);
    let path = import.file.clone();
    let file = run_blocking(move || open_rereadable(&path)).await.map_err(failed)?;
    let file = file.map_err(|error| with_path(&import.file, &error))?;
    let job = RecordImport {
        store: store.clone(),
        workspace,
        actor: Actor::Operator,
        kind: import.kind,
        file: Arc::new(RecordFile::new(file, format, import.sheet.clone())),
        columns: HashMap::new(),
        keep_good: import.keep_good,
        max_rows: u64::MAX,
        describe: Box::new(ToString::to_string),
        job: None,
        progress: Arc::new(ProgressBars::default()),
    };
    reject_unknown_columns(&job, &import)?;
    let mut checked = job.check().await.map_err(failed)?;
    let can_write = checked.is_complete && (checked.rejected.is_empty() || import.keep_good);
    let mut counts = checked.expected;
    if !import.dry_run {
        counts = match can_write {
            true => job.write(&mut checked).await.map_err(failed)?,
            false => ImportResult::default(),
        };
    }
    let rejected = checked.rejected.iter().map(|row| (row.line, row.reason.clone()));
    for line in rejected_rows::lines(&format!("{}:", import.file.display()), rejected) {
        eprintln!("{line}");
    }
    let rejected = checked.rejected.len();
    if import.json {
        print(&to_json(counts, &checked.rejected).to_string())?;
    } else if import.dry_run {
        let ImportResult { created, updated, unchanged, .. } = counts;
        print(&format!(
            "{} rows checked, {rejected} rejected. The import would create {created} and update {updated}; \
             {unchanged} are unchanged.",
            checked.total
        ))?;
    } else {
        print(&format!("{}, {rejected} rejected", summary(&counts)))?;
    }
    match rejected {
        0 => Ok(()),
        rejected if !checked.is_complete => Err(CommandError::new(format!(
            "the check stopped after {rejected} rejected rows; nothing was imported"
        ))),
        _ if import.keep_good && !import.dry_run => Ok(()),
        1 => Err(CommandError::new("1 row was rejected; nothing was imported")),
        rejected => {
            Err(CommandError::new(format!("{rejected} rows were rejected; nothing was imported")))
        }
    }
}

/// Reports an unknown column once instead of for every row.
fn reject_unknown_columns(job: &RecordImport, import: &ImportRecords) -> Result<(), CommandError> {
    let unknown = job.unknown_columns().map_err(|error| with_path(&import.file, &error))?;
    let noun = match unknown.len() {
        0 => return Ok(()),
        1 => "unknown column",
        _ => "unknown columns",
    };
    let unknown: Vec<_> = unknown.iter().map(|column| format!("`{column}`")).collect();
    let (file, unknown) = (import.file.display(), unknown.join(", "));
    Err(CommandError::new(format!("{file}: {noun} {unknown}; nothing was imported")))
}

fn to_json(counts: ImportResult, rejected: &[RejectedRow]) -> Value {
    let rejected = rejected.iter().map(|row| json!({ "line": row.line, "message": row.reason }));
    json!({
        "created": counts.created,
        "updated": counts.updated,
        "unchanged": counts.unchanged,
        "rejected": Vec::from_iter(rejected),
    })
}
