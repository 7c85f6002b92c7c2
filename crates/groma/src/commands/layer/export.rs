//! `groma export layer`: writes a file that `groma import layer` reads back as the same features.
//! Links to folders and assignments are omitted, so that the file can be imported elsewhere.

use super::file_format;
use crate::{
    cli::ExportLayer,
    clock,
    commands::{CommandError, find_workspace, private_file},
};
use groma_domain::{
    Layer, WorkspaceId,
    layer::{LayerCrs, LayerKey},
};
use groma_files::{FileError, LayerFormat, LayerWriter, OutputFeature};
use groma_geo::{Crs, Geometry, geojson::write_geometry, wkb};
use groma_store::{LayerFeature, NewSecurityEntry, Store};
use std::io::{self, Write};

/// The number of features read at a time.
const CHUNK_SIZE: u32 = 1_000;

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
    let crs = match export.crs {
        Some(crs) => crs,
        // KML knows no other.
        None if format == LayerFormat::Kml => Crs::WGS84,
        None => layer.crs.system().map_err(CommandError::new)?,
    };
    let entry = NewSecurityEntry::new("export.created", clock::now()).in_workspace(workspace);
    store.log_security(entry.with_details(serde_json::json!({ "layer": layer.slug }))).await?;
    let job = ExportJob { store, workspace, layer, crs, format };
    if to_stdout {
        return match job.write(&mut io::stdout().lock()).await? {
            // A closed pipe is not an error.
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
            _ => Ok(()),
        };
    }
    // The file appears once it is complete.
    let part = export.file.with_added_extension("part");
    let with_path =
        |error: io::Error| CommandError::new(format!("{}: {error}", export.file.display()));
    let mut file = private_file::create(&part).map_err(with_path)?;
    job.write(&mut file).await?.map_err(with_path)?;
    std::fs::rename(&part, &export.file).map_err(with_path)
}

struct ExportJob<'a> {
    store: &'a Store,
    workspace: WorkspaceId,
    layer: Layer,
    /// The reference system of the file.
    crs: Crs,
    format: LayerFormat,
}

impl ExportJob<'_> {
    async fn write(&self, out: &mut impl Write) -> Result<io::Result<()>, CommandError> {
        match self.format {
            LayerFormat::GeoJson | LayerFormat::GeoJsonSeq => self.write_geojson(out).await,
            _ => self.write_columns(out).await,
        }
    }

    /// Writes a format in which all features have the same fields.
    async fn write_columns(&self, out: &mut impl Write) -> Result<io::Result<()>, CommandError> {
        let name = self.layer.name.as_str();
        let mut writer =
            LayerWriter::new(self.format, name, self.crs.clone()).map_err(CommandError::new)?;
        let key = LayerKey::Id(self.layer.id);
        let mut after = 0;
        loop {
            let features = self.store.features(self.workspace, &key, after, CHUNK_SIZE).await?;
            let Some(last) = features.last() else { break };
            after = last.position;
            for feature in &features {
                let id = feature.external_id.clone().unwrap_or_else(|| feature.id.to_string());
                let geometry = self.geometry(feature)?;
                let (geometry, properties) = (geometry.as_ref(), feature.properties.as_str());
                let feature = OutputFeature { id: &id, geometry, properties };
                writer.write(&feature).map_err(CommandError::new)?;
            }
        }
        match writer.finish(out) {
            Ok(notices) => {
                notices.iter().for_each(|notice| eprintln!("notice: {notice}"));
                Ok(out.flush())
            }
            Err(FileError::Io(error)) => Ok(Err(error)),
            Err(error) => Err(CommandError::new(error)),
        }
    }

    async fn write_geojson(&self, out: &mut impl Write) -> Result<io::Result<()>, CommandError> {
        let crs = self.crs_member();
        let (prefix, separator, suffix) = match self.format {
            LayerFormat::GeoJson => {
                (format!("{{\"type\":\"FeatureCollection\",{crs}\"features\":[\n"), ",\n", "\n]}\n")
            }
            _ => (String::new(), "\n", "\n"),
        };
        let key = LayerKey::Id(self.layer.id);
        let mut text = prefix.into_bytes();
        let mut after = 0;
        loop {
            let features = self.store.features(self.workspace, &key, after, CHUNK_SIZE).await?;
            for feature in &features {
                if after > 0 {
                    text.extend_from_slice(separator.as_bytes());
                }
                self.write_feature(feature, &mut text)?;
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

    /// The member that names the reference system, as in GeoJSON before RFC 7946.
    fn crs_member(&self) -> String {
        self.crs.code().map_or_else(String::new, |code| {
            let name = format!("urn:ogc:def:crs:EPSG::{code}");
            format!("\"crs\":{{\"type\":\"name\",\"properties\":{{\"name\":\"{name}\"}}}},")
        })
    }

    fn write_feature(
        &self,
        feature: &LayerFeature,
        text: &mut Vec<u8>,
    ) -> Result<(), CommandError> {
        let id = feature.external_id.clone().unwrap_or_else(|| feature.id.to_string());
        text.extend_from_slice(b"{\"type\":\"Feature\",");
        if matches!(self.format, LayerFormat::GeoJsonSeq) {
            text.extend_from_slice(self.crs_member().as_bytes());
        }
        text.extend_from_slice(b"\"id\":");
        serde_json::to_writer(&mut *text, &id).map_err(CommandError::new)?;
        text.extend_from_slice(b",\"geometry\":");
        match self.geometry(feature)? {
            Some(geometry) => write_geometry(&geometry, text),
            None => text.extend_from_slice(b"null"),
        }
        text.extend_from_slice(b",\"properties\":");
        text.extend_from_slice(feature.properties.as_bytes());
        text.push(b'}');
        Ok(())
    }

    /// The geometry in the reference system of the file.
    fn geometry(&self, feature: &LayerFeature) -> Result<Option<Geometry>, CommandError> {
        let read = |wkb: &Vec<u8>| wkb::from_wkb(wkb).map_err(CommandError::new);
        let is_own = self.layer.crs == LayerCrs::from(self.crs.clone());
        if let Some(original) = feature.original.as_ref().filter(|_| is_own) {
            return read(original).map(Some);
        }
        let Some(geometry) = feature.geometry.as_ref().map(read).transpose()? else {
            return Ok(None);
        };
        let outside = || {
            let (id, crs) = (feature.id, &self.crs);
            CommandError::new(format!(
                "feature {id} is outside the area in which {crs} can be used"
            ))
        };
        self.crs.geometry_from_wgs84(&geometry, None).ok_or_else(outside).map(Some)
    }
}
