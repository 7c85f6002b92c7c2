//! Writes a file that `groma import layer` reads back as the same features. Links to folders and assignments are
//! omitted, so that the file can be imported elsewhere.

use super::ExportError;
use groma_domain::{
    Layer, RecordId, WorkspaceId,
    layer::{LayerCrs, LayerKey},
};
use groma_files::{LayerFormat, LayerWriter, Link, OutputFeature};
use groma_geo::{Crs, CrsError, Geometry, geojson::write_geometry, wkb};
use groma_store::{FeatureQuery, LayerFeature, Store};
use std::io::Write;

/// The number of features read at a time.
const CHUNK_SIZE: u32 = 1_000;

/// An export of the features of a layer.
pub(crate) struct LayerExport {
    pub(crate) store: Store,
    pub(crate) workspace: WorkspaceId,
    pub(crate) layer: Layer,
    /// Only the features of this folder.
    pub(crate) folder: Option<RecordId>,
    /// The reference system of the file.
    pub(crate) crs: Crs,
    pub(crate) format: LayerFormat,
}

impl LayerExport {
    /// The reference system of a file: the one that was chosen, or else that of the layer.
    pub(crate) fn crs_of_file(
        layer: &Layer,
        format: LayerFormat,
        chosen: Option<Crs>,
    ) -> Result<Crs, CrsError> {
        match chosen {
            Some(crs) => Ok(crs),
            // KML knows no other.
            None if format == LayerFormat::Kml => Ok(Crs::WGS84),
            None => layer.crs.system(),
        }
    }

    /// Writes the file. Returns what the format could not hold.
    pub(crate) async fn write(&self, out: &mut impl Write) -> Result<Vec<String>, ExportError> {
        match self.format {
            LayerFormat::GeoJson | LayerFormat::GeoJsonSeq => {
                self.write_geojson(out).await?;
                Ok(Vec::new())
            }
            _ => self.write_columns(out).await,
        }
    }

    /// Writes a format in which all features have the same fields.
    async fn write_columns(&self, out: &mut impl Write) -> Result<Vec<String>, ExportError> {
        let notices = self.collect(&[]).await?.finish(out)?;
        out.flush()?;
        Ok(notices)
    }

    /// Collects the features, with the columns of their folder and assignment if these are given.
    pub(super) async fn collect(&self, links: &[Link]) -> Result<LayerWriter, ExportError> {
        let name = self.layer.name.as_str();
        let mut writer = LayerWriter::new(self.format, name, self.crs.clone())?.with_links(links);
        let mut after = Some(0);
        while let Some(position) = after {
            let features;
            (features, after) = self.read(position).await?;
            for feature in &features {
                let id = feature.external_id.clone().unwrap_or_else(|| feature.id.to_string());
                let geometry = self.geometry(feature)?;
                let (geometry, properties) = (geometry.as_ref(), feature.properties.as_str());
                let ids = [feature.folder, feature.assignment].map(|id| Some(id?.to_string()));
                writer.write(&OutputFeature { id: &id, geometry, properties, links: &ids })?;
            }
        }
        Ok(writer)
    }

    async fn write_geojson(&self, out: &mut impl Write) -> Result<(), ExportError> {
        let crs = self.crs_member();
        let (prefix, separator, suffix) = match self.format {
            LayerFormat::GeoJson => {
                (format!("{{\"type\":\"FeatureCollection\",{crs}\"features\":[\n"), ",\n", "\n]}\n")
            }
            _ => (String::new(), "\n", "\n"),
        };
        out.write_all(prefix.as_bytes())?;
        let mut is_first = true;
        let mut text = Vec::new();
        let mut after = Some(0);
        while let Some(position) = after {
            let features;
            (features, after) = self.read(position).await?;
            for feature in &features {
                if !is_first {
                    text.extend_from_slice(separator.as_bytes());
                }
                is_first = false;
                self.write_feature(feature, &mut text)?;
            }
            out.write_all(&text)?;
            text.clear();
        }
        if !(is_first && prefix.is_empty()) {
            out.write_all(suffix.as_bytes())?;
        }
        Ok(out.flush()?)
    }

    /// The features after a position, and the position to continue after.
    async fn read(&self, after: u64) -> Result<(Vec<LayerFeature>, Option<u64>), ExportError> {
        let (store, key) = (&self.store, LayerKey::Id(self.layer.id));
        if self.folder.is_some() {
            let query = FeatureQuery {
                after,
                limit: CHUNK_SIZE,
                folder: self.folder,
                ..FeatureQuery::default()
            };
            let page = store.find_features(self.workspace, &key, &query).await?;
            return Ok(page.map_or_else(Default::default, |page| (page.features, page.next)));
        }
        let features = store.features(self.workspace, &key, after, CHUNK_SIZE).await?;
        let next = features.last().map(|feature| feature.position);
        Ok((features, next))
    }

    /// The member that names the reference system, as in GeoJSON before RFC 7946.
    fn crs_member(&self) -> String {
        self.crs.code().map_or_else(String::new, |code| {
            let name = format!("urn:ogc:def:crs:EPSG::{code}");
            format!("\"crs\":{{\"type\":\"name\",\"properties\":{{\"name\":\"{name}\"}}}},")
        })
    }

    fn write_feature(&self, feature: &LayerFeature, text: &mut Vec<u8>) -> Result<(), ExportError> {
        let id = feature.external_id.clone().unwrap_or_else(|| feature.id.to_string());
        text.extend_from_slice(b"{\"type\":\"Feature\",");
        if matches!(self.format, LayerFormat::GeoJsonSeq) {
            text.extend_from_slice(self.crs_member().as_bytes());
        }
        text.extend_from_slice(b"\"id\":");
        serde_json::to_writer(&mut *text, &id).map_err(ExportError::damaged)?;
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
    fn geometry(&self, feature: &LayerFeature) -> Result<Option<Geometry>, ExportError> {
        let read = |wkb: &Vec<u8>| wkb::from_wkb(wkb).map_err(ExportError::damaged);
        let is_own = self.layer.crs == LayerCrs::from(self.crs.clone());
        if let Some(original) = feature.original.as_ref().filter(|_| is_own) {
            return read(original).map(Some);
        }
        let Some(geometry) = feature.geometry.as_ref().map(read).transpose()? else {
            return Ok(None);
        };
        let outside = || ExportError::OutsideArea { feature: feature.id, crs: self.crs.clone() };
        self.crs.geometry_from_wgs84(&geometry, None).ok_or_else(outside).map(Some)
    }
}
