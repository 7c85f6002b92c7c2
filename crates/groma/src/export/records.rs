//! Writes a file that `groma import` can read. Linked records are identified by reference, statuses by name and
//! people by email address, so that the file can be imported into another workspace.

use super::{ExportError, record_file::RecordFileWriter};
use crate::cli::RecordFormat;
use groma_domain::{Kind, ListParams, RecordId, WorkspaceId, list::MAX_LIMIT, reference::Key};
use groma_store::{RecordQuery, Sort, Store};
use serde_json::{Map, Value};
use std::{collections::HashMap, io::Write};

/// The number of records read at a time.
const CHUNK_SIZE: u32 = 1_000;
/// The maximum number of cached references.
const MAX_CACHED_REFERENCES: usize = 100_000;

/// What a file of records contains.
#[derive(Clone, Debug)]
pub(crate) enum RecordSelection {
    Statuses,
    /// The records that match a query, in its order.
    Records(Box<RecordQuery>),
}

impl RecordSelection {
    /// All records of a kind, the oldest first.
    pub(crate) fn all(kind: Kind) -> Self {
        Self::Records(Box::new(RecordQuery { sort: Sort::OLDEST, ..RecordQuery::all(kind) }))
    }

    /// The plural of the kind, as in commands and addresses.
    pub(crate) fn plural(&self) -> &'static str {
        match self {
            Self::Statuses => "statuses",
            Self::Records(query) => query.kind.plural(),
        }
    }
}

/// An export of records or statuses.
pub(crate) struct RecordExport {
    pub(crate) store: Store,
    pub(crate) workspace: WorkspaceId,
    pub(crate) selection: RecordSelection,
    pub(crate) format: RecordFormat,
}

impl RecordExport {
    pub(crate) async fn write(&self, out: impl Write) -> Result<(), ExportError> {
        let Self { store, workspace, selection, format } = self;
        let workspace = *workspace;
        let mut file = RecordFileWriter::new(*format, selection.plural(), out);
        let statuses = statuses(store, workspace).await?;
        let RecordSelection::Records(query) = selection else {
            statuses.into_iter().try_for_each(|status| file.write_row(status))?;
            return file.finish();
        };
        let mut resolver =
            NameResolver { store, workspace, statuses: HashMap::new(), references: HashMap::new() };
        for status in &statuses {
            let text = |name: &str| {
                status.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
            };
            resolver.statuses.insert(text("id"), text("name"));
        }
        let mut reader = store.read_records(workspace, (**query).clone()).await?;
        loop {
            let records = reader.next(CHUNK_SIZE).await?;
            if records.is_empty() {
                return file.finish();
            }
            for record in records {
                let fields: Map<String, Value> =
                    serde_json::from_slice(&record.document).map_err(ExportError::damaged)?;
                file.write_row(resolver.add_names(fields).await?)?;
            }
        }
    }
}

pub(super) async fn statuses(
    store: &Store,
    workspace: WorkspaceId,
) -> Result<Vec<Map<String, Value>>, ExportError> {
    let mut statuses: Vec<Map<String, Value>> = Vec::new();
    for page in 1.. {
        let params = ListParams { page, limit: MAX_LIMIT, ..ListParams::default() };
        let page = store.statuses(workspace, &params).await?;
        if page.documents.is_empty() {
            break;
        }
        for document in &page.documents {
            statuses.push(serde_json::from_slice(document).map_err(ExportError::damaged)?);
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
    ) -> Result<Map<String, Value>, ExportError> {
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
    ) -> Result<Option<String>, ExportError> {
        let Some(id) = id.and_then(|id| id.parse::<RecordId>().ok()) else { return Ok(None) };
        if let Some(reference) = self.references.get(&id) {
            return Ok(Some(reference.clone()));
        }
        let Some(document) = self.store.get(self.workspace, kind, &Key::Id(id)).await? else {
            return Ok(None);
        };
        let document: Map<String, Value> =
            serde_json::from_slice(&document).map_err(ExportError::damaged)?;
        let reference =
            document.get("reference").and_then(Value::as_str).unwrap_or_default().to_owned();
        if self.references.len() >= MAX_CACHED_REFERENCES {
            self.references.clear();
        }
        self.references.insert(id, reference.clone());
        Ok(Some(reference))
    }
}
