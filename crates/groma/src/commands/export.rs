//! `groma export`: writes a file that `groma import` can read. Linked records are identified by
//! reference, statuses by name and people by email address, so that the file can be imported into
//! another workspace.

use super::{CommandError, find_workspace, private_file, record_file::file_format};
use crate::{
    cli::{ExportRecords, RecordFormat},
    clock,
};
use groma_domain::{Kind, ListParams, RecordId, WorkspaceId, list::MAX_LIMIT, reference::Key};
use groma_files::{csv_cell, xlsx::SheetWriter};
use groma_store::{NewSecurityEntry, Store};
use serde_json::{Map, Value};
use std::{
    collections::HashMap,
    io::{BufWriter, Write},
    path::Path,
};

/// The number of records read at a time.
const CHUNK_SIZE: u32 = 1_000;
/// The maximum number of cached references.
const MAX_CACHED_REFERENCES: usize = 100_000;

pub(super) async fn run(store: &Store, export: ExportRecords) -> Result<(), CommandError> {
    let workspace = find_workspace(store, &export.workspace).await?.id;
    let entry = NewSecurityEntry::new("export.created", clock::now()).in_workspace(workspace);
    let kind = export.kind.record_kind().map_or("statuses", Kind::plural);
    store.log_security(entry.with_details(serde_json::json!({ "kind": kind }))).await?;
    let to_stdout = export.file.as_os_str() == "-";
    let format = match export.format {
        None if to_stdout => RecordFormat::Ndjson,
        format => file_format(&export.file, format)?,
    };
    if to_stdout {
        let mut out = Output::new(format, kind, std::io::stdout().lock());
        return write(store, workspace, &export, &mut out).await.and_then(|()| out.finish());
    }
    // The file appears once it is complete.
    let part = export.file.with_added_extension("part");
    let with_path =
        |error: std::io::Error| CommandError::new(format!("{}: {error}", export.file.display()));
    let mut out =
        Output::new(format, kind, BufWriter::new(private_file::create(&part).map_err(with_path)?));
    write(store, workspace, &export, &mut out).await?;
    out.finish()?;
    std::fs::rename(&part, Path::new(&export.file)).map_err(with_path)
}

async fn write<W: Write>(
    store: &Store,
    workspace: WorkspaceId,
    export: &ExportRecords,
    out: &mut Output<W>,
) -> Result<(), CommandError> {
    let statuses = statuses(store, workspace).await?;
    let Some(kind) = export.kind.record_kind() else {
        return statuses.into_iter().try_for_each(|status| out.write_row(status));
    };
    let mut resolver =
        NameResolver { store, workspace, statuses: HashMap::new(), references: HashMap::new() };
    for status in &statuses {
        let text =
            |name: &str| status.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        resolver.statuses.insert(text("id"), text("name"));
    }
    let mut after = 0;
    loop {
        let records = store.export(workspace, kind, after, CHUNK_SIZE).await?;
        let Some(last) = records.last() else { return Ok(()) };
        after = last.position;
        for record in records {
            let fields: Map<String, Value> =
                serde_json::from_slice(&record.document).map_err(CommandError::new)?;
            out.write_row(resolver.add_names(fields).await?)?;
        }
    }
}

async fn statuses(
    store: &Store,
    workspace: WorkspaceId,
) -> Result<Vec<Map<String, Value>>, CommandError> {
    let mut statuses: Vec<Map<String, Value>> = Vec::new();
    for page in 1.. {
        let params = ListParams { page, limit: MAX_LIMIT, ..ListParams::default() };
        let page = store.statuses(workspace, &params).await?;
        if page.documents.is_empty() {
            break;
        }
        for document in &page.documents {
            statuses.push(serde_json::from_slice(document).map_err(CommandError::new)?);
        }
    }
    Ok(statuses)
}

/// Resolves the IDs of linked records and statuses to references and names.
struct NameResolver<'s> {
    store: &'s Store,
    workspace: WorkspaceId,
    statuses: HashMap<String, String>,
    references: HashMap<RecordId, String>,
}

impl NameResolver<'_> {
    /// Adds the references and names of linked records and statuses to a record.
    async fn add_names(
        &mut self,
        fields: Map<String, Value>,
    ) -> Result<Map<String, Value>, CommandError> {
        let mut record = Map::new();
        for (name, value) in fields {
            let id = value.as_str();
            let resolved = match name.as_str() {
                "statusId" => Some(("status", id.and_then(|id| self.statuses.get(id)).cloned())),
                "folderId" => Some(("folder", self.reference(Kind::Folder, id).await?)),
                "assignmentId" => Some(("assignment", self.reference(Kind::Assignment, id).await?)),
                "budgetId" => Some(("budget", self.reference(Kind::Budget, id).await?)),
                _ => None,
            };
            record.insert(name, value);
            if let Some((name, value)) = resolved {
                record.insert(name.to_owned(), value.map_or(Value::Null, Value::String));
            }
        }
        Ok(record)
    }

    async fn reference(
        &mut self,
        kind: Kind,
        id: Option<&str>,
    ) -> Result<Option<String>, CommandError> {
        let Some(id) = id.and_then(|id| id.parse::<RecordId>().ok()) else { return Ok(None) };
        if let Some(reference) = self.references.get(&id) {
            return Ok(Some(reference.clone()));
        }
        let Some(document) = self.store.get(self.workspace, kind, &Key::Id(id)).await? else {
            return Ok(None);
        };
        let document: Map<String, Value> =
            serde_json::from_slice(&document).map_err(CommandError::new)?;
        let reference =
            document.get("reference").and_then(Value::as_str).unwrap_or_default().to_owned();
        if self.references.len() >= MAX_CACHED_REFERENCES {
            self.references.clear();
        }
        self.references.insert(id, reference.clone());
        Ok(Some(reference))
    }
}

/// Writes rows in one of the formats.
enum Output<W: Write> {
    Csv {
        writer: Box<csv::Writer<W>>,
        has_header: bool,
    },
    Json {
        writer: W,
        rows: u64,
    },
    Ndjson {
        writer: W,
    },
    /// The sheet is created with the first row, which has the names of the columns.
    Xlsx {
        writer: W,
        name: &'static str,
        sheet: Option<Box<SheetWriter>>,
    },
}

impl<W: Write> Output<W> {
    fn new(format: RecordFormat, name: &'static str, writer: W) -> Self {
        match format {
            RecordFormat::Csv => {
                Self::Csv { writer: Box::new(csv::Writer::from_writer(writer)), has_header: false }
            }
            RecordFormat::Json => Self::Json { writer, rows: 0 },
            RecordFormat::Ndjson => Self::Ndjson { writer },
            RecordFormat::Xlsx => Self::Xlsx { writer, name, sheet: None },
        }
    }

    fn write_row(&mut self, mut fields: Map<String, Value>) -> Result<(), CommandError> {
        match self {
            Self::Csv { writer, has_header } => {
                remove_ids(&mut fields);
                if !*has_header {
                    writer.write_record(fields.keys()).map_err(CommandError::new)?;
                    *has_header = true;
                }
                let cells = fields.iter().map(|(name, value)| csv_cell::escape(cell(name, value)));
                writer.write_record(cells).map_err(CommandError::new)
            }
            Self::Json { writer, rows } => {
                write!(
                    writer,
                    "{}{}",
                    if *rows == 0 { "[\n" } else { ",\n" },
                    Value::Object(fields)
                )?;
                *rows += 1;
                Ok(())
            }
            Self::Ndjson { writer } => Ok(writeln!(writer, "{}", Value::Object(fields))?),
            Self::Xlsx { name, sheet, .. } => {
                remove_ids(&mut fields);
                let sheet = match sheet {
                    Some(sheet) => sheet,
                    None => {
                        let columns: Vec<_> = fields.keys().map(String::as_str).collect();
                        let new = SheetWriter::new(name, &columns).map_err(CommandError::new)?;
                        sheet.insert(Box::new(new))
                    }
                };
                let cells: Vec<Value> =
                    fields.iter().map(|(name, value)| sheet_cell(name, value)).collect();
                sheet.write(&cells).map_err(CommandError::new)
            }
        }
    }

    fn finish(self) -> Result<(), CommandError> {
        match self {
            Self::Csv { mut writer, .. } => Ok(writer.flush()?),
            Self::Json { mut writer, rows } => {
                writeln!(writer, "{}", if rows == 0 { "[]" } else { "\n]" })?;
                Ok(writer.flush()?)
            }
            Self::Ndjson { mut writer } => Ok(writer.flush()?),
            Self::Xlsx { mut writer, name, sheet } => {
                let sheet = match sheet {
                    Some(sheet) => sheet,
                    None => Box::new(SheetWriter::new(name, &[]).map_err(CommandError::new)?),
                };
                sheet.finish(&mut writer).map_err(CommandError::new)?;
                Ok(writer.flush()?)
            }
        }
    }
}

/// A table names linked records and statuses by their reference and name only.
fn remove_ids(fields: &mut Map<String, Value>) {
    for id in ["statusId", "folderId", "assignmentId", "budgetId"] {
        fields.shift_remove(id);
    }
}

/// A value as a cell of a workbook: numbers stay numbers.
fn sheet_cell(name: &str, value: &Value) -> Value {
    match value {
        Value::Number(_) | Value::Bool(_) | Value::Null => value.clone(),
        other => match cell(name, other) {
            text if text.is_empty() => Value::Null,
            text => Value::String(text),
        },
    }
}

/// A value as a table cell.
fn cell(name: &str, value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        // A person is identified by email address.
        Value::Object(person) if name != "customFields" => {
            person.get("email").and_then(Value::as_str).unwrap_or_default().to_owned()
        }
        Value::Object(fields) if fields.is_empty() => String::new(),
        Value::Array(items) if name == "assignees" => {
            items.iter().map(|person| cell("person", person)).collect::<Vec<_>>().join(", ")
        }
        Value::Array(items) if items.is_empty() => String::new(),
        other => other.to_string(),
    }
}
