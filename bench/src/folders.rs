//! The folders of a loaded workspace for other software: one table with a column per field, and JSON text
//! for structured values. Also checks that another server returns the same folders.

use crate::{Result, process, server::Server};
use groma_domain::{Kind, ListParams, WorkspaceId};
use groma_store::Store;
use serde_json::Value;

/// The fields of a folder, starting with its key.
pub(crate) const COLUMNS: [&str; 19] = [
    "reference",
    "id",
    "workspaceKey",
    "externalId",
    "customFields",
    "createdAt",
    "updatedAt",
    "version",
    "name",
    "description",
    "clientName",
    "statusId",
    "owner",
    "startDate",
    "dueDate",
    "currency",
    "tags",
    "bbox",
    "archivedAt",
];

/// The searched fields.
pub(crate) const SEARCHED: [&str; 3] = ["reference", "name", "description"];

/// A word that occurs in fifty folders.
pub(crate) const TERM: &str = "lighthouse";

/// Calls a function with the column values of every folder.
pub(crate) async fn each(
    store: &Store,
    workspace: WorkspaceId,
    mut take: impl FnMut(Vec<Option<String>>) -> Result,
) -> Result {
    for page in 1.. {
        let params = ListParams { page, limit: 1_000, ..ListParams::default() };
        let page = store.list(workspace, Kind::Folder, &params).await?;
        let parse = |document: &Vec<u8>| serde_json::from_slice(document);
        let folders: Vec<Value> =
            page.documents.iter().map(parse).collect::<serde_json::Result<_>>()?;
        if folders.is_empty() {
            break;
        }
        for folder in folders {
            take(COLUMNS.map(|column| text(&folder[column])).to_vec())?;
        }
    }
    Ok(())
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        value => Some(value.to_string()),
    }
}

/// A running peer with the same folders.
pub(crate) struct Peer {
    pub(crate) name: &'static str,
    pub(crate) process: process::Process,
    pub(crate) token: &'static str,
    /// The paths of a folder by reference, of a page of fifty, and of a search.
    pub(crate) detail: fn(&str) -> String,
    pub(crate) page: fn(u64) -> String,
    pub(crate) term: fn(&str) -> String,
    /// The JSON pointers of the folder, the folders and the total in a response.
    pub(crate) folder_at: &'static str,
    pub(crate) folders_at: &'static str,
    pub(crate) total_at: &'static str,
}

impl Peer {
    /// Fails unless detail, pages and search return the same folders as Groma.
    pub(crate) fn check_agreement(&self, server: &Server, token: &str, folders: u64) -> Result {
        let ours = |path: &str| -> Result<Value> {
            Ok(serde_json::from_slice(
                &server.get(&format!("/api/public/v1/folders{path}"), token)?,
            )?)
        };
        let theirs = |path: &str| -> Result<Value> {
            Ok(serde_json::from_slice(&process::get(self.process.address, path, self.token)?)?)
        };
        let mut compared = Vec::new();
        for page in [1, 2, (folders / 100).clamp(1, 1_000)] {
            let (ours, theirs) =
                (ours(&format!("?limit=50&page={page}"))?, theirs(&(self.page)(page))?);
            compared.push((format!("page {page}"), self.names(&ours, &theirs, false)));
        }
        let (found, theirs_found) = (ours(&format!("?term={TERM}"))?, theirs(&(self.term)(TERM))?);
        compared.push(("term".to_owned(), self.names(&found, &theirs_found, true)));
        let (ours, theirs) = (ours("/F-000007")?, theirs(&(self.detail)("F-000007"))?);
        let theirs = theirs.pointer(self.folder_at);
        compared
            .push(("detail".to_owned(), ((0, vec![name(Some(&ours))]), (0, vec![name(theirs)]))));
        for (what, (ours, theirs)) in compared {
            if ours != theirs || ours.1.is_empty() {
                let name = self.name;
                return Err(format!("{name} does not agree, {what}:\n{ours:?}\n{theirs:?}").into());
            }
        }
        Ok(())
    }

    /// The totals and names of both, sorted if the order is undefined.
    fn names(&self, ours: &Value, theirs: &Value, sorted: bool) -> (Listed, Listed) {
        let listed = |folders: Option<&Value>, total: Option<&Value>| {
            let folders = folders.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
            let mut names: Vec<String> = folders.iter().map(|folder| name(Some(folder))).collect();
            if sorted {
                names.sort();
            }
            (total.and_then(Value::as_u64).unwrap_or_default(), names)
        };
        (
            listed(ours.get("content"), ours.get("total")),
            listed(theirs.pointer(self.folders_at), theirs.pointer(self.total_at)),
        )
    }
}

/// The total and the names of a page.
type Listed = (u64, Vec<String>);

fn name(folder: Option<&Value>) -> String {
    let field = |field| folder.and_then(|folder| folder[field].as_str()).unwrap_or_default();
    format!("{} {}", field("id"), field("name"))
}
