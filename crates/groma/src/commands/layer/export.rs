//! `groma export layer`: writes a file that `groma import layer` reads back as the same features.
//! Links to folders and assignments are omitted, so that the file can be imported elsewhere.

use super::file_format;
use crate::{
    cli::{ExportLayer, LayerFormat},
    commands::{CommandError, find_workspace},
};
use groma_domain::{WorkspaceId, layer::LayerKey};
use groma_geo::{geojson::write_geometry, wkb};
use groma_store::{ExportedFeature, Store};
use std::{
    fs::File,
    io::{self, Write},
};

/// The number of features read at a time.
const CHUNK_SIZE: u32 = 1_000;

pub(in crate::commands) async fn run(
    store: &Store,
    export: ExportLayer,
) -> Result<(), CommandError> {
    let to_stdout = export.file.as_os_str() == "-";
    let format = match export.format {
        None if to_stdout => LayerFormat::GeoJson,
        format => file_format(&export.file, format)?,
    };
    let workspace = find_workspace(store, &export.workspace).await?.id;
    let layer = store.layer(workspace, &LayerKey::parse(&export.layer)).await?;
    let not_found = || CommandError::new(format!("layer `{}` not found", export.layer));
    let layer = LayerKey::Id(layer.ok_or_else(not_found)?.id);
    if to_stdout {
        return match write(store, workspace, &layer, format, &mut io::stdout().lock()).await? {
            // A closed pipe is not an error.
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
            _ => Ok(()),
        };
    }
    // The file appears once it is complete.
    let part = export.file.with_added_extension("part");
    let with_path =
        |error: io::Error| CommandError::new(format!("{}: {error}", export.file.display()));
    let mut file = File::create(&part).map_err(with_path)?;
    write(store, workspace, &layer, format, &mut file).await?.map_err(with_path)?;
    std::fs::rename(&part, &export.file).map_err(with_path)
}

async fn write(
    store: &Store,
    workspace: WorkspaceId,
    layer: &LayerKey,
    format: LayerFormat,
    out: &mut impl Write,
) -> Result<io::Result<()>, CommandError> {
    let (prefix, separator, suffix) = match format {
        LayerFormat::GeoJson => {
            ("{\"type\":\"FeatureCollection\",\"features\":[\n", ",\n", "\n]}\n")
        }
        LayerFormat::GeoJsonSeq => ("", "\n", "\n"),
    };
    let mut text = prefix.as_bytes().to_vec();
    let mut after = 0;
    loop {
        let features = store.features(workspace, layer, after, CHUNK_SIZE).await?;
        for feature in &features {
            if after > 0 {
                text.extend_from_slice(separator.as_bytes());
            }
            write_feature(feature, &mut text)?;
            after = feature.position;
        }
        if features.is_empty() {
            let is_empty = text.is_empty() && after == 0;
            text.extend_from_slice(if is_empty { b"" } else { suffix.as_bytes() });
            return Ok(out.write_all(&text).and_then(|()| out.flush()));
        }
        if let Err(error) = out.write_all(&text) {
            return Ok(Err(error));
        }
        text.clear();
    }
}

fn write_feature(feature: &ExportedFeature, text: &mut Vec<u8>) -> Result<(), CommandError> {
    let id = feature.external_id.clone().unwrap_or_else(|| feature.id.to_string());
    text.extend_from_slice(b"{\"type\":\"Feature\",\"id\":");
    serde_json::to_writer(&mut *text, &id).map_err(CommandError::new)?;
    text.extend_from_slice(b",\"geometry\":");
    match &feature.geometry {
        Some(bytes) => write_geometry(&wkb::from_wkb(bytes).map_err(CommandError::new)?, text),
        None => text.extend_from_slice(b"null"),
    }
    text.extend_from_slice(b",\"properties\":");
    text.extend_from_slice(feature.properties.as_bytes());
    text.push(b'}');
    Ok(())
}
