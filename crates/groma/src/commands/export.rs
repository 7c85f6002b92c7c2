//! `groma export`: writes a file of records that `groma import` can read, or a whole workspace.

use super::{CommandError, find_workspace, private_file, record_format};
use crate::{
    cli::{ExportRecords, ExportWorkspace, RecordFormat},
    clock,
    export::{RecordExport, RecordSelection, WorkspaceExport},
};
use groma_store::{NewSecurityEntry, Store};
use std::{fs::File, io, io::BufWriter, path::Path};

pub(super) async fn run(store: &Store, export: ExportRecords) -> Result<(), CommandError> {
    let workspace = find_workspace(store, &export.workspace).await?.id;
    let selection =
        export.kind.record_kind().map_or(RecordSelection::Statuses, RecordSelection::all);
    let entry = NewSecurityEntry::new("export.created", clock::now()).in_workspace(workspace);
    let details = serde_json::json!({ "kind": selection.plural() });
    store.log_security(entry.with_details(details)).await?;
    let to_stdout = export.file.as_os_str() == "-";
    let format = match export.format {
        None if to_stdout => RecordFormat::Ndjson,
        format => record_format(&export.file, format)?,
    };
    let records = RecordExport { store: store.clone(), workspace, selection, format };
    if to_stdout {
        return Ok(records.write(std::io::stdout().lock()).await?);
    }
    let write = async |_: &Path, file| records.write(BufWriter::new(file)).await;
    private_file::export(&export.file, write).await
}

pub(super) async fn workspace(store: &Store, export: ExportWorkspace) -> Result<(), CommandError> {
    let to_stdout = export.file.as_os_str() == "-";
    let extension = export.file.extension().and_then(|extension| extension.to_str());
    if !to_stdout && !extension.is_some_and(|extension| extension.eq_ignore_ascii_case("gpkg")) {
        let message = "a workspace is exported to a GeoPackage: name a file that ends with .gpkg";
        return Err(CommandError::new(message));
    }
    let workspace = find_workspace(store, &export.workspace).await?.id;
    let entry = NewSecurityEntry::new("export.created", clock::now()).in_workspace(workspace);
    let details = serde_json::json!({ "kind": "workspace" });
    store.log_security(entry.with_details(details)).await?;
    let content = WorkspaceExport { store: store.clone(), workspace };
    if to_stdout {
        let directory = tempfile::tempdir()?;
        let path = directory.path().join("workspace.gpkg");
        content.write(&path).await?;
        return match io::copy(&mut File::open(&path)?, &mut io::stdout().lock()) {
            // A closed pipe is not an error.
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
            _ => Ok(()),
        };
    }
    private_file::export(&export.file, async |part: &Path, _| content.write(part).await).await
}
