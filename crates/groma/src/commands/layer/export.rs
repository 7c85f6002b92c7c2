//! `groma export layer`: writes a file that `groma import layer` reads back as the same features.

use super::file_format;
use crate::{
    cli::ExportLayer,
    clock,
    commands::{CommandError, find_workspace, private_file},
    export::{ExportError, LayerExport},
};
use groma_domain::layer::LayerKey;
use groma_files::LayerFormat;
use groma_store::{NewSecurityEntry, Store};
use std::{fs::File, io, path::Path};

pub(in crate::commands) async fn run(
    store: &Store,
    export: ExportLayer,
) -> Result<(), CommandError> {
    let to_stdout = export.file.as_os_str() == "-";
    let format = match export.format {
        None if to_stdout => LayerFormat::GeoJson,
        format => file_format(&export.file, format, true)?,
    };
    let workspace = find_workspace(store, &export.workspace).await?.id;
    let layer = store.layer(workspace, &LayerKey::parse(&export.layer)).await?;
    let not_found = || CommandError::new(format!("layer `{}` not found", export.layer));
    let layer = layer.ok_or_else(not_found)?;
    let crs = LayerExport::crs_of_file(&layer, format, export.crs).map_err(CommandError::new)?;
    let entry = NewSecurityEntry::new("export.created", clock::now()).in_workspace(workspace);
    store.log_security(entry.with_details(serde_json::json!({ "layer": layer.slug }))).await?;
    let export_layer =
        LayerExport { store: store.clone(), workspace, layer, folder: None, crs, format };
    if to_stdout {
        return match export_layer.write(&mut io::stdout().lock()).await {
            // A closed pipe is not an error.
            Err(ExportError::Io(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            Err(error) => Err(error.into()),
            Ok(notices) => {
                print_notices(&notices);
                Ok(())
            }
        };
    }
    let write = async |_: &Path, mut file: File| export_layer.write(&mut file).await;
    print_notices(&private_file::export(&export.file, write).await?);
    Ok(())
}

fn print_notices(notices: &[String]) {
    notices.iter().for_each(|notice| eprintln!("notice: {notice}"));
}
