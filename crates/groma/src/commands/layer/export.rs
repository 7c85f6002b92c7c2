//! `groma export layer`: what `groma import layer` reads back as the same features. Links to folders
//! and assignments are left out, so that a file also makes sense in another workspace.

use super::format_of;
use crate::{
    cli::{ExportLayer, LayerFormat},
    commands::{Failure, workspace_of},
};
use groma_domain::{WorkspaceId, layer::LayerKey};
use groma_geo::{geojson::write_geometry, wkb};
use groma_store::{ExportedFeature, Store};
use std::{
    fs::File,
    io::{self, Write},
};

/// How many features are read at a time.
const CHUNK: u32 = 1_000;

pub(in crate::commands) async fn run(store: &Store, export: ExportLayer) -> Result<(), Failure> {
    let to_stdout = export.file.as_os_str() == "-";
    let format = match export.format {
        None if to_stdout => LayerFormat::GeoJson,
        given => format_of(&export.file, given)?,
    };
    let workspace = workspace_of(store, &export.at).await?.id;
    let found = store.layer(workspace, &LayerKey::parse(&export.layer)).await?;
    let none = || Failure::new(format!("layer `{}` not found", export.layer));
    let layer = LayerKey::Id(found.ok_or_else(none)?.id);
    if to_stdout {
        return match write(store, workspace, &layer, format, &mut io::stdout().lock()).await? {
            // A reader that went away has seen enough.
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
            _ => Ok(()),
        };
    }
    // The file appears when it is whole.
    let part = export.file.with_added_extension("part");
    let named = |error: io::Error| Failure::new(format!("{}: {error}", export.file.display()));
    let mut file = File::create(&part).map_err(named)?;
    write(store, workspace, &layer, format, &mut file).await?.map_err(named)?;
    std::fs::rename(&part, &export.file).map_err(named)
}

async fn write(
    store: &Store,
    workspace: WorkspaceId,
    layer: &LayerKey,
    format: LayerFormat,
    out: &mut impl Write,
) -> Result<io::Result<()>, Failure> {
    let (before, between, behind) = match format {
        LayerFormat::GeoJson => {
            ("{\"type\":\"FeatureCollection\",\"features\":[\n", ",\n", "\n]}\n")
        }
        LayerFormat::GeoJsonSeq => ("", "\n", "\n"),
    };
    let mut text = before.as_bytes().to_vec();
    let mut after = 0;
    loop {
        let features = store.features(workspace, layer, after, CHUNK).await?;
        for feature in &features {
            if after > 0 {
                text.extend_from_slice(between.as_bytes());
            }
            write_feature(feature, &mut text)?;
            after = feature.seq;
        }
        if features.is_empty() {
            let is_blank = text.is_empty() && after == 0;
            text.extend_from_slice(if is_blank { b"" } else { behind.as_bytes() });
            return Ok(out.write_all(&text).and_then(|()| out.flush()));
        }
        if let Err(error) = out.write_all(&text) {
            return Ok(Err(error));
        }
        text.clear();
    }
}

fn write_feature(feature: &ExportedFeature, text: &mut Vec<u8>) -> Result<(), Failure> {
    let id = feature.external_id.clone().unwrap_or_else(|| feature.id.to_string());
    text.extend_from_slice(b"{\"type\":\"Feature\",\"id\":");
    serde_json::to_writer(&mut *text, &id).map_err(Failure::new)?;
    text.extend_from_slice(b",\"geometry\":");
    match &feature.geometry {
        Some(bytes) => write_geometry(&wkb::from_wkb(bytes).map_err(Failure::new)?, text),
        None => text.extend_from_slice(b"null"),
    }
    text.extend_from_slice(b",\"properties\":");
    text.extend_from_slice(feature.properties.as_bytes());
    text.push(b'}');
    Ok(())
}
