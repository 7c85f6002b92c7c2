//! Writes features to a file in one of the formats. Features are collected in a temporary file first, because
//! most formats begin with the fields and the type of the geometries of all features.

use crate::{
    FileError, LayerFormat,
    error::Result,
    formats,
    output::{Link, OutputLayer, Spool, parse},
    schema::Schema,
};
use groma_geo::{Crs, Geometry, wkb};
use std::{
    fs::File,
    io::{BufWriter, Seek, Write},
};

/// A feature to be written.
pub struct OutputFeature<'a> {
    /// Its external id, or else its id.
    pub id: &'a str,
    /// Its geometry, in the reference system of the file.
    pub geometry: Option<&'a Geometry>,
    /// Its properties as JSON.
    pub properties: &'a str,
    /// The values of the links of its layer.
    pub links: &'a [Option<String>],
}

/// Collects the features of a file.
pub struct LayerWriter {
    format: LayerFormat,
    layer: OutputLayer,
    spool: BufWriter<File>,
}

impl LayerWriter {
    /// A writer of a layer with this name, in this format and reference system.
    pub fn new(format: LayerFormat, name: &str, crs: Crs) -> Result<Self> {
        let spool = BufWriter::with_capacity(1 << 18, tempfile::tempfile()?);
        let (name, schema) = (name.to_owned(), Schema::default());
        Ok(Self { format, layer: OutputLayer { name, links: Vec::new(), crs, schema }, spool })
    }

    /// Adds columns that link features to the rows of other tables, and lets properties beyond the limit of columns
    /// share one. Only tables of a [`GeoPackageWriter`](crate::GeoPackageWriter) have them.
    #[must_use]
    pub fn with_links(mut self, links: &[Link]) -> Self {
        self.layer.links = links.to_vec();
        self.layer.schema.allows_surplus = !links.is_empty();
        self
    }

    /// Adds a feature.
    pub fn write(&mut self, feature: &OutputFeature<'_>) -> Result<()> {
        let OutputFeature { id, geometry, properties, links } = feature;
        let fields = parse(properties)?;
        self.layer.schema.add(id, *geometry, &fields)?;
        let geometry = geometry.map(wkb::to_wkb).unwrap_or_default();
        let links = (0..self.layer.links.len()).map(|index| links.get(index)?.as_deref());
        let links = links.map(|id| id.unwrap_or_default().as_bytes());
        for part in [id.as_bytes(), &geometry, properties.as_bytes()].into_iter().chain(links) {
            self.spool.write_all(&(part.len() as u64).to_le_bytes())?;
            self.spool.write_all(part)?;
        }
        Ok(())
    }

    /// Writes the file. Returns what the format could not hold.
    pub fn finish(self, out: &mut dyn Write) -> Result<Vec<String>> {
        let format = self.format;
        let (layer, spool) = self.into_parts()?;
        formats::write(format, &layer, spool, out)
    }

    /// The layer and its features.
    pub(crate) fn into_parts(self) -> Result<(OutputLayer, Spool)> {
        let mut file =
            self.spool.into_inner().map_err(|error| FileError::Io(error.into_error()))?;
        file.rewind()?;
        Ok((self.layer, Spool::new(file)))
    }
}
