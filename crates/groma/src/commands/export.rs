//! `groma export`: what `groma import` reads back. Links are written by reference, statuses by name,
//! people by address, so that a file also makes sense in another workspace.

use super::{Failure, files, workspace_of};
use crate::cli::{Export, Format};
use groma_domain::{Kind, ListParams, RecordId, WorkspaceId, list::MAX_LIMIT, reference::Key};
use groma_store::Store;
use serde_json::{Map, Value};
use std::{
    collections::HashMap,
    fs::File,
    io::{BufWriter, Write},
    path::Path,
};

/// How many records are read at a time.
const CHUNK: u32 = 1_000;
/// How many references are remembered.
const REMEMBERED: usize = 100_000;

pub(super) async fn run(store: &Store, export: Export) -> Result<(), Failure> {
    let workspace = workspace_of(store, &export.at).await?.id;
    let to_stdout = export.file.as_os_str() == "-";
    let format = match export.format {
        None if to_stdout => Format::Ndjson,
        given => files::format_of(&export.file, given)?,
    };
    if to_stdout {
        let mut out = Output::new(format, std::io::stdout().lock());
        return write(store, workspace, &export, &mut out).await.and_then(|()| out.finish());
    }
    // The file appears when it is whole.
    let part = export.file.with_added_extension("part");
    let named = |error: std::io::Error| Failure::new(format!("{}: {error}", export.file.display()));
    let mut out = Output::new(format, BufWriter::new(File::create(&part).map_err(named)?));
    write(store, workspace, &export, &mut out).await?;
    out.finish()?;
    std::fs::rename(&part, Path::new(&export.file)).map_err(named)
}

async fn write<W: Write>(
    store: &Store,
    workspace: WorkspaceId,
    export: &Export,
    out: &mut Output<W>,
) -> Result<(), Failure> {
    let statuses = statuses(store, workspace).await?;
    let Some(kind) = export.kind.record() else {
        return statuses.into_iter().try_for_each(|status| out.row(status));
    };
    let mut names =
        Names { store, workspace, statuses: HashMap::new(), references: HashMap::new() };
    for status in &statuses {
        let text =
            |name: &str| status.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        names.statuses.insert(text("id"), text("name"));
    }
    let mut after = 0;
    loop {
        let records = store.export(workspace, kind, after, CHUNK).await?;
        let Some(last) = records.last() else { return Ok(()) };
        after = last.seq;
        for record in records {
            let fields: Map<String, Value> =
                serde_json::from_slice(&record.json).map_err(Failure::new)?;
            out.row(names.named(fields).await?)?;
        }
    }
}

async fn statuses(
    store: &Store,
    workspace: WorkspaceId,
) -> Result<Vec<Map<String, Value>>, Failure> {
    let mut statuses: Vec<Map<String, Value>> = Vec::new();
    for page in 1.. {
        let params = ListParams { page, limit: MAX_LIMIT, term: None };
        let mut found = store.statuses(workspace, &params, b"[".to_vec()).await?;
        found.body.push(b']');
        let found: Vec<_> = serde_json::from_slice(&found.body).map_err(Failure::new)?;
        if found.is_empty() {
            break;
        }
        statuses.extend(found);
    }
    Ok(statuses)
}

/// Finds the names of what ids point at.
struct Names<'s> {
    store: &'s Store,
    workspace: WorkspaceId,
    statuses: HashMap<String, String>,
    references: HashMap<RecordId, String>,
}

impl Names<'_> {
    /// The record with names beside its ids.
    async fn named(&mut self, fields: Map<String, Value>) -> Result<Map<String, Value>, Failure> {
        let mut named = Map::new();
        for (name, value) in fields {
            let id = value.as_str();
            let beside = match name.as_str() {
                "statusId" => Some(("status", id.and_then(|id| self.statuses.get(id)).cloned())),
                "folderId" => Some(("folder", self.reference(Kind::Folder, id).await?)),
                "assignmentId" => Some(("assignment", self.reference(Kind::Assignment, id).await?)),
                "budgetId" => Some(("budget", self.reference(Kind::Budget, id).await?)),
                _ => None,
            };
            named.insert(name, value);
            if let Some((name, value)) = beside {
                named.insert(name.to_owned(), value.map_or(Value::Null, Value::String));
            }
        }
        Ok(named)
    }

    async fn reference(&mut self, kind: Kind, id: Option<&str>) -> Result<Option<String>, Failure> {
        let Some(id) = id.and_then(|id| id.parse::<RecordId>().ok()) else { return Ok(None) };
        if let Some(known) = self.references.get(&id) {
            return Ok(Some(known.clone()));
        }
        let Some(document) = self.store.get(self.workspace, kind, &Key::Id(id)).await? else {
            return Ok(None);
        };
        let document: Map<String, Value> =
            serde_json::from_slice(&document.text).map_err(Failure::new)?;
        let reference =
            document.get("reference").and_then(Value::as_str).unwrap_or_default().to_owned();
        if self.references.len() >= REMEMBERED {
            self.references.clear();
        }
        self.references.insert(id, reference.clone());
        Ok(Some(reference))
    }
}

/// Writes rows in one of the formats.
enum Output<W: Write> {
    Csv { writer: Box<csv::Writer<W>>, has_heading: bool },
    Json { writer: W, rows: u64 },
    Ndjson { writer: W },
}

impl<W: Write> Output<W> {
    fn new(format: Format, writer: W) -> Self {
        match format {
            Format::Csv => {
                Self::Csv { writer: Box::new(csv::Writer::from_writer(writer)), has_heading: false }
            }
            Format::Json => Self::Json { writer, rows: 0 },
            Format::Ndjson => Self::Ndjson { writer },
        }
    }

    fn row(&mut self, mut fields: Map<String, Value>) -> Result<(), Failure> {
        match self {
            Self::Csv { writer, has_heading } => {
                // In a table the ids of what is named would only be in the way.
                for id in ["statusId", "folderId", "assignmentId", "budgetId"] {
                    fields.shift_remove(id);
                }
                if !*has_heading {
                    writer.write_record(fields.keys()).map_err(Failure::new)?;
                    *has_heading = true;
                }
                let cells = fields.iter().map(|(name, value)| cell(name, value));
                writer.write_record(cells).map_err(Failure::new)
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
        }
    }

    fn finish(self) -> Result<(), Failure> {
        match self {
            Self::Csv { mut writer, .. } => Ok(writer.flush()?),
            Self::Json { mut writer, rows } => {
                writeln!(writer, "{}", if rows == 0 { "[]" } else { "\n]" })?;
                Ok(writer.flush()?)
            }
            Self::Ndjson { mut writer } => Ok(writer.flush()?),
        }
    }
}

/// A value as one cell of a table.
fn cell(name: &str, value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        // A person is their address.
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
