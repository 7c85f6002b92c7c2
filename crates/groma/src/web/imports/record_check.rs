//! Checks and imports files of records.

use super::{
    check_error::CheckError,
    options::{ImportOptions, Target},
    preview::{Finding, LISTED_REJECTIONS, Preview, PreviewProblem, Samples},
    progress::JobProgress,
    received_file::ReceivedFile,
    record_fields::field_of_column,
    rejected_file::{Columns, RejectedFile},
};
use crate::{
    cli::{RecordFileKind, RecordFormat},
    import::{ImportError, MAX_TRANSACTION_ROWS, RecordFile, RecordImport, run_blocking},
};
use groma_domain::{ImportJobId, Kind};
use groma_files::LayerFormat;
use groma_geo::{Message, message};
use groma_store::ImportJob;
use std::{collections::HashMap, fs::File, path::Path, sync::Arc};

/// How many rows are read for the samples of columns.
const SAMPLED_ROWS: usize = 200;

/// Checks a file of records and describes it. Returns the file of the rows that were rejected.
pub(super) async fn check_records(
    received: &ReceivedFile,
    options: &ImportOptions,
    progress: &Arc<JobProgress>,
    preview: &mut Preview,
) -> Result<Vec<u8>, CheckError> {
    let (kind, mut import) = record_import(received, options, progress, None).await?;
    let file = import.file.clone();
    let sheets = run_blocking(move || file.sheets()).await?;
    let sheets = sheets.map_err(|error| CheckError::of_file(error, false))?;
    let has_sheets = sheets.len() > 1;
    if has_sheets {
        preview.sheets = sheets;
    }
    let file = import.file.clone();
    let columns = run_blocking(move || file.columns()).await?;
    // A header that cannot be read is no header of features, either.
    let columns = columns.map_err(|error| CheckError::of_file(error, has_sheets))?;
    let file = import.file.clone();
    let samples = run_blocking(move || {
        let mut samples = Samples::default();
        for column in columns.iter().flatten() {
            samples.add_field(column);
        }
        let mut left = SAMPLED_ROWS;
        // What is wrong with the file, its check finds.
        let _ = file.read(&mut |row| {
            if let Ok(values) = &row.values {
                samples.add(values);
            }
            left -= 1;
            if left == 0 { Err(ImportError::Cancelled) } else { Ok(()) }
        });
        samples.into_fields()
    });
    preview.fields = samples.await?;
    let mut unknown = Vec::new();
    for field in &mut preview.fields {
        field.becomes = match options.fields.iter().find(|(name, _)| *name == field.name) {
            Some((_, becomes)) => becomes.clone(),
            None => field_of_column(received.t, kind, &field.name),
        };
        let is_chosen = options.fields.iter().any(|(name, _)| *name == field.name);
        if field.becomes.is_none() && !is_chosen {
            unknown.push(field.name.clone());
        }
    }
    if !unknown.is_empty() {
        preview.problem = Some(PreviewProblem::ChooseColumns(unknown));
        return Ok(Vec::new());
    }
    import.columns = columns_of(preview);
    let has_choice = has_sheets || LayerFormat::of_path(&received.path).is_some();
    let checked = import.check().await;
    let checked = checked.map_err(|error| CheckError::of_file(error, has_choice))?;
    if !checked.is_complete {
        let message = received.t.msg("import-too-many-rows").arg("max", MAX_TRANSACTION_ROWS);
        preview.problem = Some(PreviewProblem::Unusable(message.into()));
        return Ok(Vec::new());
    }
    let mut rejected = RejectedFile::new(received.t, Columns::Line);
    for row in &checked.rejected {
        let finding = Finding { feature: None, line: Some(row.line), message: row.reason.clone() };
        rejected.add(&finding);
        if preview.rejected.len() < LISTED_REJECTIONS {
            preview.rejected.push(finding);
        }
    }
    preview.is_complete = true;
    preview.total = checked.total;
    preview.rejected_count = checked.rejected.len() as u64;
    preview.created = checked.expected.created;
    preview.updated = checked.expected.updated;
    preview.unchanged = checked.expected.unchanged;
    Ok(rejected.into_bytes())
}

/// Imports a checked file.
pub(super) async fn import_records(
    received: &ReceivedFile,
    options: &ImportOptions,
    progress: &Arc<JobProgress>,
    job: &ImportJob,
) -> Result<(), ImportError> {
    let preview = job.preview.as_deref().unwrap_or_default();
    let preview: Preview = serde_json::from_str(preview)
        .map_err(|error| ImportError::File(Message::untranslated(error)))?;
    let (_, mut import) = record_import(received, options, progress, Some(received.job)).await?;
    import.columns = columns_of(&preview);
    let mut checked = import.check().await?;
    if !checked.is_complete || (!checked.rejected.is_empty() && !options.keep_good) {
        return Err(ImportError::FileChanged);
    }
    import.write(&mut checked).await.map(drop)
}

fn columns_of(preview: &Preview) -> HashMap<String, Option<String>> {
    preview.fields.iter().map(|field| (field.name.clone(), field.becomes.clone())).collect()
}

async fn record_import(
    received: &ReceivedFile,
    options: &ImportOptions,
    progress: &Arc<JobProgress>,
    job: Option<ImportJobId>,
) -> Result<(Kind, RecordImport), ImportError> {
    let plural = match &options.target {
        Target::Records(plural) => plural.as_str(),
        Target::Layer(_) | Target::NewLayer(_) => "",
    };
    let kind = Target::record_kind(plural).unwrap_or(RecordFileKind::Folders);
    let format = RecordFormat::of_path(&received.path).ok_or_else(|| {
        let extension = Path::new(&received.name).extension().unwrap_or_default();
        ImportError::File(message!(
            "A {extension} file cannot contain records. Use CSV, XLSX, JSON or NDJSON.",
            extension = extension.to_string_lossy()
        ))
    })?;
    let path = received.path.clone();
    let file = run_blocking(move || File::open(path)).await??;
    let import = RecordImport {
        store: received.store.clone(),
        workspace: received.workspace,
        actor: received.actor,
        kind,
        file: Arc::new(RecordFile::new(file, format, options.sheet.clone())),
        columns: HashMap::new(),
        keep_good: options.keep_good,
        max_rows: MAX_TRANSACTION_ROWS,
        describe: Box::new(received.row_message()),
        job,
        progress: progress.clone(),
    };
    Ok((kind.record_kind().unwrap_or(Kind::Folder), import))
}
